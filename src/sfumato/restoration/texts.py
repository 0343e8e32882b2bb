"""What a text says of its own record: an income, a town or a day that stands in a remark.

A reader of a text knows what is said in it. So categories are looked for by their names, as words of the text; numbers
and days by where they stand: the first, the second, the last one, or the one behind the same word. A reader who would
take the wrong number most of the time is no danger; whether what is read there is right, the audit counts.
"""

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dates import day_of
from sfumato.data.microdata import Microdata
from sfumato.restoration.aims import Aim

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

WORDS = 1.5  # words that a text has at least, on average; less is a category or an id
LONGEST = 4  # words of a category that is looked for in a text
PLACES = 4  # numbers of a text that are tried, from the left
BEFORE = 4  # words behind which a number is looked for

_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(
    r"(?<![\w.,])[+-]?\d{1,3}(?:[ '\u00a0\u202f]\d{3})+(?:[.,]\d+)?(?![\w])|(?<![\w.,])[+-]?\d+(?:[.,]\d+)*"
)
_DAY = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b|\b(\d{1,2})([./-])(\d{1,2})\5(\d{4})\b")


def texts_of(data: Microdata, name: str) -> list[str]:
    """Return the different texts of a column that consists of texts of several words; an empty list for any other."""
    variable = data.schema[name]
    texts = [category for category in variable.categories if isinstance(category, str)]
    if variable.kind != "nominal" or not texts or len(texts) < len(variable.categories):
        return []
    words = sum(len(_WORD.findall(text)) for text in texts)
    return texts if words >= WORDS * len(texts) else []


def answers(aim: Aim, texts: list[str], codes: Integers) -> Iterator[tuple[NDArray[np.generic], str]]:
    """Yield what a column of texts may say of a variable, for each record, and in which place of the text it stands."""
    if not aim.number:
        found = _named(aim, texts)
        if (found >= 0).any():
            yield np.append(found, -1)[codes], "words"
        return
    for read, what in ((_numbers, "number"), (_days, "day")):
        held = [read(text) for text in texts]
        longest = max(map(len, held), default=0)
        for place in range(min(longest, PLACES)):
            yield _taken([one[place][1] if len(one) > place else None for one in held], codes), f"{what} {place + 1}"
        if longest > PLACES:
            yield _taken([one[-1][1] if one else None for one in held], codes), f"last {what}"
        before = Counter(word for one in held for word in {word for word, _ in one if word})
        for word, _ in before.most_common(BEFORE) if longest > 1 else ():
            behind = [next((value for one, value in entries if one == word), None) for entries in held]
            yield _taken(behind, codes), f"{what} behind {word!r}"


def _named(aim: Aim, texts: list[str]) -> Integers:
    """Return for each text the category that it names: of several the rarest, for that says most of the record."""
    place: dict[tuple[str, ...], int] = {}
    for code, level in enumerate(
        aim.truth.levels.tolist()
    ):  # the commonest first, so the rarest of two namesakes stays
        words = tuple(_WORD.findall(str(level).casefold()))
        if words and len("".join(words)) > 1 and len(words) <= LONGEST:
            place[words] = code
    longest = max(map(len, place), default=0)
    found = np.full(len(texts), -1, dtype=np.int64)
    for at, text in enumerate(texts):
        said = _WORD.findall(text.casefold())
        for start in range(len(said)):
            for length in range(1, longest + 1):
                found[at] = max(found[at], place.get(tuple(said[start : start + length]), -1))
    return found


def _numbers(text: str) -> list[tuple[str, float]]:
    """Return the numbers of a text in their order, each with the word before it.

    >>> _numbers("earns 2,345.50 a month, aged 41; rent 1 200 EUR")
    [('earns', 2345.5), ('aged', 41.0), ('rent', 1200.0)]
    """
    read = ((before, _number(match.group())) for before, match in _after_words(_DIGITS, text))
    return [(before, value) for before, value in read if value is not None]


def _after_words(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield where a text matches, each with the last word before it; one pass over words and matches."""
    words = _WORD.finditer(text)
    word, last = next(words, None), ""
    for match in pattern.finditer(text):
        while word is not None and word.end() <= match.start():
            last, word = word.group(), next(words, None)
        yield last.casefold(), match


def _number(text: str) -> float | None:
    """Read a number as written: of two kinds of signs the last is the decimal one; a comma before three digits is none.

    >>> [_number(text) for text in ("1.234,5", "1,234", "12,5", "1 200", "3.4.5")]
    [1234.5, 1234.0, 12.5, 1200.0, None]
    """
    plain = re.sub(r"[ '\u00a0\u202f]", "", text)
    signs = re.findall(r"[.,]", plain)
    if len(set(signs)) == 2:
        plain = plain.replace("," if plain.rfind(",") < plain.rfind(".") else ".", "")
    elif len(signs) > 1 or re.search(r"[,]\d{3}$", plain):
        plain = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", plain)
    try:
        return float(plain.replace(",", "."))
    except ValueError:
        return None


def _days(text: str) -> list[tuple[str, float]]:
    """Return the days of a text, in days since 1970, each with the word before it; the day first, or the month if not.

    >>> _days("born 02.01.1970 in Bonn, moved on 1970-01-04")
    [('born', 1.0), ('on', 3.0)]
    """
    import datetime as dt

    found = []
    for before, match in _after_words(_DAY, text):
        year, month, day, first, _, second, last = match.groups()
        numbers = (int(year), int(month), int(day)) if year else (int(last), int(second), int(first))
        for one in (numbers, (numbers[0], numbers[2], numbers[1])):
            try:
                value = day_of(dt.date(*one))
            except ValueError:
                continue
            if value is not None:
                found.append((before, value))
                break
    return found


def _taken(values: list[float | None], codes: Integers) -> Floats:
    return np.array([np.nan if value is None else value for value in (*values, None)], dtype=np.float64)[codes]
