"""The routes back to protected values: which evidence each looks at, and its best trial for every variable.

A reader of a text knows what is said in it of its own record: an income, a town or a day that stands in a remark. So
categories are looked for by their names, as words of the text; numbers and days by where they stand: the first, the
second, the last one, or the one behind the same word. A reader who would take the wrong number most of the time is no
danger; whether what is read there is right, the audit counts.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing import evidence as held
from sfumato.auditing.evidence import Evidence
from sfumato.auditing.findings import Name
from sfumato.auditing.releases import OtherColumn, mean_of
from sfumato.auditing.targets import Floats, Integers, Target
from sfumato.auditing.trials import Trial, best_of, read_off, screened, share, tried
from sfumato.table.dates import day_of
from sfumato.table.microdata import Microdata
from sfumato.table.sums import relation

Ranked = tuple[float, tuple[str, ...]]  # a share restored, and the columns that restore it
RouteResult = list[Trial] | str  # the best trial of each variable, or why there is none

MAX_VALUES_TO_COMBINE = 500  # different values up to which a column is combined with others
PAIRED = (4_000, 500)  # records that teach, and values tried, when combinations are looked through
MAX_PAIRS = 4_500  # pairs of columns tried in all
MAX_RESTORED_ALONE = 0.95  # a column that restores so much alone is combined with no other
# a combination must restore so much more than one of its columns, or a set of four than one of three
MIN_GAIN_OF_COMBINING = 0.05
MAX_COLUMNS_TOGETHER = 6  # columns at most in a combination

MIN_WORDS_OF_TEXT = 1.5  # words that a text has at least, on average; less is a category or an id
MAX_WORDS_OF_CATEGORY = 4  # words of a category that is looked for in a text
MAX_NUMBERS_OF_TEXT = 4  # numbers of a text that are tried, from the left
MAX_WORDS_BEFORE = 4  # words behind which a number is looked for
_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(
    r"(?<![\w.,])[+-]?\d{1,3}(?:[ '\u00a0\u202f]\d{3})+(?:[.,]\d+)?(?![\w])|(?<![\w.,])[+-]?\d+(?:[.,]\d+)*"
)
_DAY = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b|\b(\d{1,2})([./-])(\d{1,2})\5(\d{4})\b")


@dataclass(frozen=True, eq=False)
class Setting:
    """Both tables with their records in the order of the protected one, what is protected, and what lies beside it.

    ``units`` numbers the original's households; ``beside`` holds the columns of other releases.
    """

    original: Microdata
    protected: Microdata
    targets: tuple[Target, ...]
    units: Integers | None
    near: float
    beside: tuple[OtherColumn, ...] | None
    notes: list[str]

    @property
    def apart(self) -> int:
        """How far apart two records must be in the file to be no neighbours: beyond any household, near in rank."""
        records = len(self.protected)
        return min(max(10, int(np.ceil(self.near / 2 * records))), max(records // 4, 1))

    @cached_property
    def columns(self) -> list[Evidence]:
        """The columns that are neither weight nor id, as evidence; those with one value tell nothing."""
        return [one for one in (held.column(self.protected, name) for name in self.named) if held.informative(one)]

    def patterns(self, names: list[str]) -> list[Evidence]:
        """What ids, and texts of which most records have their own, may tell."""
        found = (one for name in names for one in held.ids(self.protected, name, self.apart))
        return [one for one in found if held.informative(one)]

    @property
    def named(self) -> list[str]:
        """The columns that are neither weight nor id."""
        apart = {*held.id_names(self.original, self.protected)}
        apart |= {name for table in (self.original, self.protected) if (name := table.schema.weight) is not None}
        return [name for name in self.protected.names if name not in apart]


def weight(setting: Setting) -> RouteResult:
    """Records with the same weight, or the next lower and higher one."""
    name = setting.original.schema.weight or setting.protected.schema.weight
    if name is None or name not in setting.protected.columns:
        return "the file has no survey weight"
    evidence = held.column(setting.protected, name)
    if not held.informative(evidence):
        return "all weights are equal"
    return [tried(target, evidence) for target in setting.targets if target.name != name]


def order(setting: Setting) -> RouteResult:
    """The records before and after."""
    if len(setting.protected) < 3:
        return "there are fewer than three records"
    return [tried(target, held.rows(setting.protected, setting.apart)) for target in setting.targets]


def household(setting: Setting) -> RouteResult:
    """The other members of the household, found by its id or without it."""
    found = held.household(setting.original, setting.protected, setting.units)
    if found is None:
        return "the file shows no households"
    evidence, how = found
    if setting.original.schema.household is not None and evidence.shown == ("neighbouring rows",):
        setting.notes.append(f"the file has no household id; households were found as {how}")
    trials = [tried(target, evidence) for target in setting.targets if target.told.present.any()]
    return trials or "of no protected variable anything is published that members could share"


def ids(setting: Setting) -> RouteResult:
    """The order of ids, and the beginnings of those that are texts."""
    names = held.id_names(setting.original, setting.protected)
    if not names:
        return "the file has no id"
    patterns = setting.patterns(names)
    if not patterns:
        return "the ids are all alike"
    return [_best([tried(target, one) for one in patterns])[0] for target in setting.targets]


def columns(setting: Setting) -> RouteResult:
    """Every other column by itself: copies, what another column determines, and the order of texts."""
    texts = [name for name in setting.named if held.counting(setting.protected, name)]
    offered = [*setting.columns, *setting.patterns(texts)]
    found = []
    for target in setting.targets:
        others = [one for one in offered if one.columns != (target.name,)]
        found += _best([best_of(target, (one for one in others if one.ties == ties)) for ties in (True, False)])
    return found or "there is no other column that tells records apart"


def combinations_of(setting: Setting) -> RouteResult:
    """Two columns together, a third that adds to the best two, and further ones as long as they add."""
    most = max(min(MAX_VALUES_TO_COMBINE, len(setting.protected) // 4), 2)
    few = [one for one in setting.columns if len(np.unique(one.codes)) <= most]
    if len(few) < 3:
        return "there are fewer than three columns with few different values"
    room = max(int(np.sqrt(2 * MAX_PAIRS / max(len(setting.targets), 1))), 6)
    if len(few) > room:
        setting.notes.append(
            f"combinations: for each variable the {room} of {len(few)} columns that tell most alone were combined"
        )
    if len(setting.protected) > PAIRED[0]:
        setting.notes.append(
            f"combinations were looked for on a sample of {PAIRED[0]:,} records, the best tried on all"
        )
    found = [combined(target, few, room) for target in setting.targets]
    trials = [trial for trial in found if trial is not None]
    return trials or "no combination tells more than one of its columns alone"


def combined(target: Target, few: list[Evidence], room: int) -> Trial | None:
    """Try pairs of the columns that tell most alone, and further ones with the best; None where they add nothing."""
    alone = screened(target, [one for one in few if one.shown != (target.name,)])
    singles = [one for one, restored in alone if restored < MAX_RESTORED_ALONE][:room]
    most = max((restored for _, restored in alone if restored < MAX_RESTORED_ALONE), default=0.0)
    if len(singles) < 2:
        return None
    part, rows = target.part(*PAIRED)
    small = {one.shown: one.part(rows) for one in singles}
    pairs = [joined(*two) for two in combinations(small.values(), 2)]
    ranked = sorted(((share(part, one), one.shown) for one in pairs), key=_best_first)
    wider, tests = _widened(part, small, ranked[0])
    whole = {one.shown: one for one in singles}
    finalists = [joined(*(whole[name,] for name in shown)) for _, shown in (*ranked[:2], *wider)]
    final = [tried(target, one) for one in finalists]
    chosen = max(final, key=lambda trial: (round(trial.share, 3), -len(trial.evidence.shown)))
    if chosen.share <= most + MIN_GAIN_OF_COMBINING:
        return None
    return replace(chosen, tests=len(pairs) + tests)


def _widened(part: Target, small: Mapping[tuple[str, ...], Evidence], best: Ranked) -> tuple[list[Ranked], int]:
    """Return the best set of three columns, of four and so on while that tells more; and how many sets were tried."""
    found: list[Ranked] = []
    tests = 0
    while len(best[1]) < min(MAX_COLUMNS_TOGETHER, len(small)):
        wider = [joined(*(small[n,] for n in best[1]), one) for one in small.values() if one.shown[0] not in best[1]]
        tests += len(wider)
        widest = min(((share(part, one), one.shown) for one in wider), key=_best_first)
        if found and widest[0] <= best[0] + MIN_GAIN_OF_COMBINING:
            break
        found.append(widest)
        best = widest
    return found, tests


def _best_first(entry: Ranked) -> Ranked:
    return -entry[0], entry[1]


def joined(*parts: Evidence) -> Evidence:
    """Return several columns as one piece of evidence, in alphabetical order, so that theirs does not matter."""
    parts = tuple(sorted(parts, key=lambda part: part.shown))
    codes = parts[0].codes
    for part in parts[1:]:
        codes = codes * part.number + part.codes
    if len(parts) > 1 and int(codes.max(initial=0)) > 4 * len(codes):
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    blanks = [part.blank for part in parts if part.blank is not None]
    blank = np.logical_or.reduce(blanks) if blanks else None
    return Evidence(tuple(sorted(name for part in parts for name in part.shown)), codes, ordered=False, blank=blank)


def sums(setting: Setting) -> RouteResult:
    """Sums, differences, products and quotients of other columns."""
    schema = setting.original.schema
    amounts = schema.analysed("numeric", "date")  # a stay is the difference of two dates
    published = {name: setting.protected.columns[name] for name in amounts if _kept(setting, name)}
    if not published:
        return "there are no other numbers"
    originals = {name: setting.original.columns[name] for name in amounts}
    touched = {target.name for target in setting.targets}
    found = []
    for target in setting.targets:
        name = target.name
        if not target.number:
            continue
        others = {n: originals[n] for n in published if n != name}
        factors = schema.analysed("numeric") if schema[name].kind == "numeric" else ()
        holds = relation(originals[name], others, touched - {name}, factors)
        if holds is not None:
            trial = read_off(target, holds.applied(published), str(holds), parts=holds.parts)
            found.append(replace(trial, holds=holds.holds, checked=holds.records))
    return found or "no protected variable is a sum or a product of other columns"


def _kept(setting: Setting, name: str) -> bool:
    before, after = setting.original.schema, setting.protected.schema
    return name in after and after[name].kind == before[name].kind


def text(setting: Setting) -> RouteResult:
    """What a remark says of its own record: the name of a town, an amount, a day."""
    named = {name: held for name in setting.named if (held := texts_of(setting.protected, name))}
    if not named:
        return "the file has no text of several words"
    found: list[Trial] = []
    for target in setting.targets:
        trials: list[Trial | None] = []
        for name, texts in named.items():
            codes = setting.protected.columns[name].astype(np.int64)
            for read, where in answers(target, texts, codes) if name != target.name else ():
                trials.append(read_off(target, read, f"{where} of {name}", parts=(name,)))
        found += _best(trials)
    return found or "no text names a value"


def beside(setting: Setting) -> RouteResult:
    """The columns of other releases, together with the class that this one publishes."""
    if setting.beside is None:
        return "no other release was given"
    offered = [one.evidence for one in setting.beside if held.informative(one.evidence)]
    found = []
    for target in setting.targets:
        trials = [best_of(target, offered)]
        namesakes = [one for one in setting.beside if one.name == target.name]
        for one in namesakes:
            told = one.read_off(target)
            trials += [None if told is None else read_off(target, told, *one.evidence.shown)]
        if len(namesakes) > 1:  # classes of several releases intersect
            trials.append(tried(target, joined(*(one.evidence for one in namesakes))))
        averaged = _averaged(target, namesakes)
        if averaged is not None:
            trials.append(read_off(target, averaged, f"the average of {target.name} over the releases"))
        found += _best(trials)
    return found or "the other releases cannot be linked to this one, or tell nothing"


def _averaged(target: Target, namesakes: list[OtherColumn]) -> Floats | None:
    """Return the mean of a number over all releases that publish it; None where only one does."""
    numbers = [told for one in namesakes if (told := one.read_off(target)) is not None and target.number]
    numbers += [target.shown] if target.shown is not None else []
    return mean_of(numbers) if len(numbers) > 1 else None


def _best(trials: list[Trial | None]) -> list[Trial]:
    """Return the best of some trials, if there is any, as the best of all that was tried."""
    made = [trial for trial in trials if trial is not None]
    if not made:
        return []
    return [replace(max(made, key=lambda trial: trial.share), tests=sum(trial.tests for trial in made))]


ROUTES: Mapping[Name, Any] = {
    "weight": weight,
    "order": order,
    "household": household,
    "ids": ids,
    "columns": columns,
    "combinations": combinations_of,
    "sums": sums,
    "text": text,
    "beside": beside,
}


def texts_of(data: Microdata, name: str) -> list[str]:
    """Return the different texts of a column that consists of texts of several words; an empty list for any other."""
    variable = data.schema[name]
    texts = [category for category in variable.categories if isinstance(category, str)]
    if variable.kind != "nominal" or not texts or len(texts) < len(variable.categories):
        return []
    words = sum(len(_WORD.findall(text)) for text in texts)
    return texts if words >= MIN_WORDS_OF_TEXT * len(texts) else []


def answers(target: Target, texts: list[str], codes: Integers) -> Iterator[tuple[NDArray[np.generic], str]]:
    """Yield what a column of texts may say of a variable, for each record, and in which place of the text it stands."""
    if not target.number:
        found = _named(target, texts)
        if (found >= 0).any():
            yield np.append(found, -1)[codes], "words"
        return
    for read, what in ((_numbers, "number"), (_days, "day")):
        held = [read(text) for text in texts]
        longest = max(map(len, held), default=0)
        for place in range(min(longest, MAX_NUMBERS_OF_TEXT)):
            yield _taken([one[place][1] if len(one) > place else None for one in held], codes), f"{what} {place + 1}"
        if longest > MAX_NUMBERS_OF_TEXT:
            yield _taken([one[-1][1] if one else None for one in held], codes), f"last {what}"
        before = Counter(word for one in held for word in {word for word, _ in one if word})
        for word, _ in before.most_common(MAX_WORDS_BEFORE) if longest > 1 else ():
            behind = [next((value for one, value in entries if one == word), None) for entries in held]
            yield _taken(behind, codes), f"{what} behind {word!r}"


def _named(target: Target, texts: list[str]) -> Integers:
    """Return for each text the category that it names: of several the rarest, for that says most of the record."""
    place: dict[tuple[str, ...], int] = {}
    for code, level in enumerate(
        target.truth.levels.tolist()
    ):  # the commonest first, so the rarest of two namesakes stays
        words = tuple(_WORD.findall(str(level).casefold()))
        if words and len("".join(words)) > 1 and len(words) <= MAX_WORDS_OF_CATEGORY:
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
