"""Short names, by which candidates are told apart in a few words, and what a method does in a sentence.

Both are made of the words that a method has of itself (``in_words`` and ``short`` in ``core.py``).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial

from sfumato.composition import clauses, runs
from sfumato.core import Method
from sfumato.display import MAX_DETAIL, Phrase, shortened
from sfumato.table.schema import Schema

MAX_NAME_LENGTH = 40  # characters of a short name
Run = tuple[Method, ...]  # steps that are told together


def in_words(method: Method, schema: Schema | None = None) -> str:
    """Say in one sentence what a method, or a chain of them, does to the file.

    With the ``schema`` it is known which recoded variables are ordered and which lose their rare categories.

    >>> from sfumato import GlobalRecoding, LocalSuppression
    >>> in_words(GlobalRecoding(bins={"age": (30, 60)}) + LocalSuppression(3))
    'Age is given in 3 bands (<30 to 60+); key values are blanked where fewer than 3 records look alike.'
    """
    return sentence(clauses(method.steps, schema))


def sentence(parts: Iterable[str]) -> str:
    """Make a sentence of clauses."""
    said = "; ".join(filter(None, parts))
    return f"{said[:1].upper()}{said[1:]}."


def short_names(methods: Mapping[str, Method | None], *, whole: bool = False) -> dict[str, str]:
    """Return a short name for each candidate by its label; a table protected elsewhere (None) keeps its label.

    A method whose repr is short keeps it. Other names say the steps and their main parameters; of several recodings
    "coarse 1" is the finest. If that is too long, words go first, then parameters and steps that all share. Names that
    coincide get what differs, or else a number. The order of the candidates changes nothing. ``whole``: the same words,
    not cut where they are longer than a column has room for.

    >>> from sfumato import MDAV, GlobalRecoding, LocalSuppression
    >>> keys = tuple("abcdef")
    >>> wide = [GlobalRecoding(groups=g, rare=0.1, variables=keys) + LocalSuppression(3) for g in (5, 3)]
    >>> list(short_names({str(method): method for method in (*wide, MDAV(3))}).values())
    ['coarse 1 · suppress k=3', 'coarse 2 · suppress k=3', 'MDAV(k=3)']
    """
    made = {label: method for label, method in methods.items() if method is not None}
    told = {label: repr(method) for label, method in made.items()}
    long = {label: method for label, method in made.items() if len(told[label]) > MAX_NAME_LENGTH}
    told |= _described(long, whole=whole)
    taken = {label for label in methods if label not in made}
    same: dict[str, list[str]] = {}
    for label in sorted(made, key=lambda label: (told[label], repr(made[label]), label)):
        same.setdefault(told[label], []).append(label)
    alone = {name for name, sharing in same.items() if len(sharing) == 1 and name not in taken}
    taken |= alone
    for name, sharing in same.items():
        if name not in alone:
            told |= _told_apart(name, {label: made[label] for label in sharing}, taken, whole=whole)
    return {label: told.get(label, label) for label in methods}


def _described(methods: Mapping[str, Method], *, whole: bool) -> dict[str, str]:
    """Name methods by their steps: the fullest wording at which all of them are short, or else the briefest, cut."""
    of_method = {label: list(runs(method.steps, short=True)) for label, method in methods.items()}
    short = _numbered({run: type(run[0]).run_in_short(run) for several in of_method.values() for run in several})
    phrases = {label: [short[run] for run in several] for label, several in of_method.items()}
    told = dict.fromkeys(phrases, "")
    for worded in _wordings(list(phrases.values())):
        joined = {label: " · ".join(filter(None, map(worded, several))) for label, several in phrases.items()}
        told |= {label: name for label, name in joined.items() if name}
        if all(len(name) <= MAX_NAME_LENGTH for name in told.values()):
            break
    return told if whole else {label: shortened(name, MAX_NAME_LENGTH) for label, name in told.items()}


def _numbered(short: Mapping[Run, Phrase]) -> dict[Run, Phrase]:
    """Number recodings, the finest first, if there are several."""
    lost = {run: phrase.detail_lost for run, phrase in short.items() if phrase.detail_lost is not None}
    order = sorted(lost, key=lambda run: (lost[run], repr(run))) if len(lost) > 1 else []
    numbered = {run: Phrase(short[run].brief, short[run].brief, str(number)) for number, run in enumerate(order, 1)}
    return {run: replace(phrase, detail_lost=None) for run, phrase in {**short, **numbered}.items()}


def _wordings(names: Sequence[Sequence[Phrase]]) -> Iterator[Callable[[Phrase], str]]:
    """Return ways to write phrases, from full to brief: with few words, without parameters and steps that all share."""
    yield partial(_worded, words=True)
    values: dict[str, set[str]] = {}
    places: dict[str, int] = {}  # of the steps of names that are too long
    for several in names:
        too_long = len(" · ".join(map(_worded, several))) > MAX_NAME_LENGTH
        for place, one in enumerate(several):
            values.setdefault(one.brief, set()).add(one.detail)
            if too_long and one.brief and one.detail:
                places[one.brief] = min(place, places.get(one.brief, place))
    shared = [brief for brief in sorted(places, key=lambda b: (places[b], b)) if len(values[brief]) == 1]
    for number in range(len(shared) + 1):
        yield partial(_worded, bare=shared[:number])
    common = set(names[0]).intersection(*names) if names else set()
    yield partial(_worded, bare=shared, without=common)


def _worded(
    phrase: Phrase, *, words: bool = False, bare: Collection[str] = (), without: Collection[Phrase] = ()
) -> str:
    """Write a phrase: with all its words, or briefly and ``bare`` of its parameter, or not at all."""
    if phrase in without:
        return ""
    if words:
        return f"{phrase.words} {phrase.detail}".strip()
    return phrase.brief if phrase.brief in bare else f"{phrase.brief} {phrase.detail}".strip()


def _told_apart(name: str, methods: Mapping[str, Method], taken: set[str], *, whole: bool) -> dict[str, str]:
    """Add to a name what differs between the methods that share it, or a number; enter what is used as taken."""
    most = len(name) + MAX_NAME_LENGTH if whole else MAX_NAME_LENGTH
    added = _differences(list(methods.values()))
    told = {}
    for place, label in enumerate(methods):
        told[label] = shortened(name, most - len(added[place])) + added[place]
        number = 1
        while told[label] in taken:
            number += 1
            told[label] = shortened(name, most - len(f" ({number})")) + f" ({number})"
        taken.add(told[label])
    return told


def _differences(methods: list[Method]) -> list[str]:
    """Return the values of the first parameter that tells all of these methods apart; nothing if none does."""
    chains = [method.steps for method in methods]
    kinds = {tuple(type(step) for step in chain) for chain in chains}
    if len(kinds) == 1:
        for steps in zip(*chains, strict=True):
            for entry in fields(steps[0]):
                found = [_valued(entry.name, getattr(step, entry.name)) for step in steps]
                if len(set(found)) == len(found) and all(len(text) <= MAX_DETAIL for text in found):
                    return [f" ({text})" for text in found]
    return [""] * len(methods)


def _valued(parameter: str, value: object) -> str:
    """Write a parameter: variables by their names, or by how many they are.

    >>> _valued("variables", ("age", "sex")), _valued("importance", {"age": 3}), _valued("by", "mean")
    ('age, sex', 'age 3', 'by=mean')
    """
    if parameter == "variables" and isinstance(value, tuple):
        names = ", ".join(value)
        return names if len(names) <= MAX_DETAIL else f"{len(value)} variables"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return f"{parameter}={value}"
