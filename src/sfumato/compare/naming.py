"""Short names of candidates: what each one does, in a few words, such that no two are called the same."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import partial, singledispatch
from itertools import groupby

from sfumato.compare.clauses import in_words, removed_together, steps_of
from sfumato.compare.figures import written
from sfumato.composition import Within
from sfumato.core import Method
from sfumato.data.date_bands import Span
from sfumato.methods import (
    PRAM,
    GlobalRecoding,
    IndividualRanking,
    LocalSuppression,
    Noise,
    RankSwapping,
    RecordSwapping,
    Rounding,
    Sampling,
    Shuffling,
    TopBottomCoding,
    VariableRemoval,
    WeightMasking,
)

__all__ = ["LONGEST", "in_words", "short_names"]

LONGEST = 40  # characters of a short name
DETAIL = 16  # characters of a parameter in it
CENTURY = 36_525  # days that a date is taken to run over, where recodings are put in order
FINEST = 1000  # categories that a variable which is not recoded is taken to have, where recodings are put in order
Run = tuple[GlobalRecoding, ...]


@dataclass(frozen=True)
class Phrase:
    """A step in a few words, in fewer, and the value of its main parameter."""

    words: str
    brief: str
    detail: str = ""


def short_names(methods: Mapping[str, Method | None]) -> dict[str, str]:
    """Return a short name for each candidate by its label; a table protected elsewhere (None) keeps its label.

    A method whose repr is short keeps it. Other names say the steps and their main parameters; of several recodings
    "coarse 1" is the finest. If that is too long, words go first, then parameters and steps that all share. Names that
    coincide get what differs, or else a number. The order of the candidates changes nothing.

    >>> from sfumato import MDAV, GlobalRecoding, LocalSuppression
    >>> keys = tuple("abcdef")
    >>> wide = [GlobalRecoding(groups=g, rare=0.1, variables=keys) + LocalSuppression(3) for g in (5, 3)]
    >>> list(short_names({str(method): method for method in (*wide, MDAV(3))}).values())
    ['coarse 1 · suppress k=3', 'coarse 2 · suppress k=3', 'MDAV(k=3)']
    """
    made = {label: method for label, method in methods.items() if method is not None}
    told = {label: repr(method) for label, method in made.items()}
    long = {label: method for label, method in made.items() if len(told[label]) > LONGEST}
    told |= _described(long)
    taken = {label for label in methods if label not in made}
    same: dict[str, list[str]] = {}
    for label in sorted(made, key=lambda label: (told[label], repr(made[label]), label)):
        same.setdefault(told[label], []).append(label)
    alone = {name for name, labels in same.items() if len(labels) == 1 and name not in taken}
    taken |= alone
    for name, labels in same.items():
        if name not in alone:
            told |= _told_apart(name, {label: made[label] for label in labels}, taken)
    return {label: told.get(label, label) for label in methods}


def _described(methods: Mapping[str, Method]) -> dict[str, str]:
    """Name methods by their steps: the fullest wording at which all of them are short, or else the briefest, cut."""
    order = _by_coarseness(run for method in methods.values() for run in _runs(method))
    phrases = {label: _phrases(method, order) for label, method in methods.items()}
    told = dict.fromkeys(phrases, "")
    for worded in _wordings(list(phrases.values())):
        joined = {label: " · ".join(filter(None, map(worded, several))) for label, several in phrases.items()}
        told |= {label: name for label, name in joined.items() if name}
        if all(len(name) <= LONGEST for name in told.values()):
            break
    return {label: _cut(name, LONGEST) for label, name in told.items()}


def _wordings(names: Sequence[Sequence[Phrase]]) -> Iterator[Callable[[Phrase], str]]:
    """Return ways to write phrases, from full to brief: with few words, without parameters and steps that all share."""
    yield partial(_worded, words=True)
    values: dict[str, set[str]] = {}
    places: dict[str, int] = {}  # of the steps of names that are too long
    for several in names:
        too_long = len(" · ".join(map(_worded, several))) > LONGEST
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


def _told_apart(name: str, methods: Mapping[str, Method], taken: set[str]) -> dict[str, str]:
    """Add to a name what differs between the methods that share it, or a number; enter what is used as taken."""
    added = _differences(list(methods.values()))
    told = {}
    for place, label in enumerate(methods):
        told[label] = _cut(name, LONGEST - len(added[place])) + added[place]
        number = 1
        while told[label] in taken:
            number += 1
            told[label] = _cut(name, LONGEST - len(f" ({number})")) + f" ({number})"
        taken.add(told[label])
    return told


def _differences(methods: list[Method]) -> list[str]:
    """Return the values of the first parameter that tells all of these methods apart; nothing if none does."""
    chains = [steps_of(method) for method in methods]
    kinds = {tuple(type(step) for step in chain) for chain in chains}
    if len(kinds) == 1:
        for steps in zip(*chains, strict=True):
            for entry in fields(steps[0]):
                found = [_valued(entry.name, getattr(step, entry.name)) for step in steps]
                if len(set(found)) == len(found) and all(len(text) <= DETAIL for text in found):
                    return [f" ({text})" for text in found]
    return [""] * len(methods)


def _valued(parameter: str, value: object) -> str:
    """Write a parameter: variables by their names, or by how many they are.

    >>> _valued("variables", ("age", "sex")), _valued("importance", {"age": 3}), _valued("by", "mean")
    ('age, sex', 'age 3', 'by=mean')
    """
    if parameter == "variables" and isinstance(value, tuple):
        names = ", ".join(value)
        return names if len(names) <= DETAIL else f"{len(value)} variables"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return f"{parameter}={value}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


# recodings, from the finest to the coarsest


def _runs(method: Method) -> list[Run]:
    """Return the recodings of a method that follow each other."""
    found = groupby(steps_of(method), lambda step: isinstance(step, GlobalRecoding))
    return [
        tuple(step for step in run if isinstance(step, GlobalRecoding)) for is_recoding, run in found if is_recoding
    ]


def _by_coarseness(runs: Iterable[Run]) -> dict[Run, int]:
    """Number recodings from 1, the finest first."""
    return {run: number for number, run in enumerate(sorted(set(runs), key=lambda r: (_coarseness(r), repr(r))), 1)}


def _coarseness(run: Run) -> float:
    """Return how much detail a recoding takes: the sum over its variables of the logs of categories lost.

    What is not known without the data is counted as it would be in most tables: a share below which categories are rare
    leaves no more than one over it.
    """
    taken = 0.0
    for step in run:
        left: list[float] = [len(bins) + 1 for bins in (step.bins or {}).values() if isinstance(bins, tuple | Mapping)]
        spans = [Span.of(bins) for bins in (step.bins or {}).values() if isinstance(bins, str)]
        left += [CENTURY / span.days for span in spans if span is not None]
        left += [len(set(groups.values())) for groups in (step.map or {}).values()]
        several = 1 if step.variables is None else len(step.variables)
        left += [1 / share for share in (step.rare.values() if isinstance(step.rare, Mapping) else ())]
        each = [float(n) for n in (step.groups, 1 / step.rare if isinstance(step.rare, float) else None) if n]
        if each:
            taken += several * math.log(FINEST / (sum(each) / len(each)))
        taken += sum(math.log(FINEST / max(n, 1)) for n in left)
    return taken


# steps in a few words


def _phrases(method: Method, order: Mapping[Run, int]) -> list[Phrase]:
    """Return the steps of a method in a few words each; recodings and suppressions in a row are one."""
    said = []
    for _, run in groupby(steps_of(method), lambda step: isinstance(step, GlobalRecoding)):
        steps = tuple(run)
        recodings = tuple(step for step in steps if isinstance(step, GlobalRecoding))
        if recodings:
            said.append(_coarse(recodings, order[recodings] if len(order) > 1 else None))
        else:
            said += _unrecoded(steps)
    return said


def _unrecoded(steps: Iterable[Method]) -> Iterator[Phrase]:
    for _, run in groupby(steps, lambda step: isinstance(step, LocalSuppression)):
        several = tuple(run)
        if isinstance(several[0], LocalSuppression):
            told = dict.fromkeys(_suppressing(step) for step in several if isinstance(step, LocalSuppression))
            yield Phrase("suppress", "", "/".join(told).replace("/k=", "/"))
        else:
            yield from map(phrase, removed_together(several))


def _suppressing(step: LocalSuppression) -> str:
    """Say by what a suppression is bounded: the k of each set of keys, the scenarios, a risk.

    >>> _suppressing(LocalSuppression(sets=((("town", "age"), 3), (("job",), 5)), risk=0.1))
    'k=3/5 risk 0.1'
    """
    ks = [] if step.k is None else [step.k]
    if isinstance(step.sets, tuple):
        ks = [max(own, step.k or 1) for _, own in step.sets]
    said = ["scenarios"] if step.sets == "scenarios" else []
    said += [f"k={'/'.join(map(str, dict.fromkeys(ks)))}"] if ks else []
    return " ".join([*said, *([f"risk {step.risk:g}"] if step.risk is not None else [])])


def _coarse(run: Run, number: int | None) -> Phrase:
    """Name a recoding: by its place among several, or else by its variables."""
    if number is not None:
        return Phrase("coarse", "coarse", str(number))
    names = [n for step in run for n in step.named()]
    names += [n for step in run for n in step.variables or ()]
    listed = ", ".join(dict.fromkeys(names)) or "keys"
    return Phrase(f"recode {listed if len(listed) <= DETAIL else f'{len(set(names))} variables'}", "coarse")


@singledispatch
def phrase(method: Method) -> Phrase:
    """Name a step by its class and what differs from the defaults, the first parameter by its value alone.

    >>> from sfumato import MDAV
    >>> phrase(MDAV(5, variables=("income",)))
    Phrase(words='MDAV', brief='MDAV', detail='5')
    """
    said = []
    for place, entry in enumerate(entry for entry in fields(method) if entry.name != "variables"):
        value = getattr(method, entry.name)
        if entry.default is MISSING or value != entry.default:
            said.append(str(value) if place == 0 else f"{entry.name}={value}")
    name = type(method).__name__
    return Phrase(name, name, _cut(", ".join(said), DETAIL))


@phrase.register
def _(method: Within) -> Phrase:
    said = _phrases(method.method, dict.fromkeys(_runs(method.method), 1))
    by = _cut(", ".join(method.by) or method.inside, DETAIL)
    words = " · ".join(filter(None, (one.words for one in said)))
    brief = " · ".join(filter(None, (one.brief for one in said)))
    detail = " ".join(filter(None, (one.detail for one in said)))
    return Phrase(f"by {by}: {words}", f"by {by}: {brief}".rstrip(), detail)


@phrase.register
def _(method: PRAM) -> Phrase:
    return Phrase("PRAM", "PRAM", "" if method.retention is None else written(1 - method.retention, "share"))


@phrase.register
def _(method: RecordSwapping) -> Phrase:
    what = ", ".join(method.variables or ())
    return Phrase(f"swap {what}".strip() if len(what) <= DETAIL else "swap", "swap", written(method.share, "share"))


@phrase.register
def _(method: TopBottomCoding) -> Phrase:
    words = {"both": "ends", "top": "top", "bottom": "bottom"}[method.ends]
    if method.share is None:
        words = "ends" if method.top and method.bottom else "top" if method.top else "bottom"
    return Phrase(words, words, written(method.share, "share") if isinstance(method.share, float) else "")


@phrase.register
def _(method: Rounding) -> Phrase:
    words = "random round" if method.random else "round"
    if isinstance(method.base, Mapping):
        return Phrase(words, "round")
    return Phrase(words, "round", f"{method.base:g}" if method.base is not None else f"{method.scale:g} sd")


@phrase.register
def _(method: IndividualRanking) -> Phrase:
    return Phrase("rank means", "rank means", str(method.k))


@phrase.register
def _(method: RankSwapping) -> Phrase:
    return Phrase("rank swap", "rank swap", written(method.p, "share"))


@phrase.register
def _(method: Noise) -> Phrase:
    return Phrase("noise", "noise", f"{method.scale:g} sd")


@phrase.register
def _(method: Shuffling) -> Phrase:
    given = "" if method.given is None else f"given {len(method.given)}"
    return Phrase("shuffle", "shuffle", given)


@phrase.register
def _(method: Sampling) -> Phrase:
    return Phrase("sample", "sample", "" if isinstance(method.fraction, Mapping) else written(method.fraction, "share"))


@phrase.register
def _(method: VariableRemoval) -> Phrase:
    what = ", ".join(method.variables or ("identifiers",))
    what = what if len(what) <= DETAIL else f"{len(method.variables or ())} variables"
    return Phrase(f"remove {what}", f"remove {what}")


@phrase.register
def _(method: WeightMasking) -> Phrase:
    detail = {"classes": f"{method.classes} classes", "noise": f"noise {method.scale:g}", "margins": "raked"}[
        method.how
    ]
    return Phrase("weights", "weights", detail)
