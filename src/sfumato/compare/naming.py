"""What a method does to the file, in words: in a clause that needs no knowledge of methods, and in a short name.

``clause`` takes any method and needs no figure of the data. A class has a clause of its own if one is registered below;
any other, a plug-in's say, is told by its title. ``short_names`` tells candidates apart in a few words.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import partial, singledispatch
from itertools import groupby, pairwise
from typing import Any

from sfumato.compare.figures import listed, written
from sfumato.composition import Chain, Within
from sfumato.core import Method
from sfumato.methods import (
    JPEG,
    MDAV,
    PRAM,
    CARTSynthesis,
    CorrelatedNoise,
    DateShift,
    DistributionDistortion,
    GlobalRecoding,
    GroupedMicroaggregation,
    GroupedSwapping,
    IndividualRanking,
    KimNoise,
    LocalRecoding,
    LocalSuppression,
    Noise,
    NormalSynthesis,
    OptimalRecoding,
    ProjectionMicroaggregation,
    RankSwapping,
    RecordSwapping,
    Resampling,
    ResidualNoise,
    Rounding,
    Sampling,
    Shuffling,
    TopBottomCoding,
    VariableRemoval,
    WeightMasking,
)
from sfumato.table.date_bands import Span, labels
from sfumato.table.dates import day_of
from sfumato.table.schema import Schema

MAX_NAMED_VARIABLES = 3  # variables that a clause names
KINDS = {  # what is masked if no variable is named
    frozenset(["numeric"]): "all numbers",
    frozenset(["ordinal", "nominal"]): "all categories",
    frozenset(["numeric", "ordinal"]): "all numbers and ordered categories",
    frozenset(["date"]): "all dates",
    frozenset(["numeric", "date"]): "all numbers and dates",
    frozenset(["numeric", "ordinal", "date"]): "all numbers, dates and ordered categories",
}
MAX_NAME_LENGTH = 40  # characters of a short name
DETAIL = 16  # characters of a parameter in it
CENTURY = 36_525  # days that a date is taken to run over, where recodings are put in order
FINEST = 1000  # categories that a variable which is not recoded is taken to have, where recodings are put in order
Run = tuple[GlobalRecoding, ...]


def in_words(method: Method, schema: Schema | None = None) -> str:
    """Say in one sentence what a method, or a chain of them, does to the file.

    With the ``schema`` it is known which recoded variables are ordered and which lose their rare categories.

    >>> in_words(GlobalRecoding(bins={"age": (30, 60)}) + LocalSuppression(3))
    'Age is given in 3 bands (<30 to 60+); key values are blanked where fewer than 3 records look alike.'
    """
    return sentence(clauses(steps_of(method), schema))


def clauses(steps: Iterable[Method], schema: Schema | None = None) -> tuple[str, ...]:
    """Say what each step does; recodings that follow each other are one, variables are named once.

    >>> clauses([Noise(0.1, variables=("pay", "rent")), Rounding(5, variables=("pay", "rent"))])[1]
    'these are rounded to multiples of 5'
    """
    said: list[str] = []
    before: tuple[str, ...] | None = None
    for recodings, run in groupby(steps, lambda step: isinstance(step, GlobalRecoding)):
        if recodings:
            said.append(recoded([step for step in run if isinstance(step, GlobalRecoding)], schema))
            continue
        for step in removed_together(run):
            again = step.variables is not None and step.variables == before and len(step.variables) > 1
            said.append(clause(step).replace(named(step), "these", 1) if again else clause(step))
            before = step.variables
    return tuple(said)


def removed_together(steps: Iterable[Method]) -> Iterable[Method]:
    """Put removals of named variables that follow each other together: nothing is lost by saying them at once."""
    for removal, run in groupby(steps, lambda step: isinstance(step, VariableRemoval) and bool(step.variables)):
        several = list(run)
        if removal and len(several) > 1:
            yield VariableRemoval(variables=tuple(dict.fromkeys(n for step in several for n in step.variables or ())))
        else:
            yield from several


def sentence(parts: Iterable[str]) -> str:
    """Make a sentence of clauses."""
    said = "; ".join(filter(None, parts))
    return f"{said[:1].upper()}{said[1:]}."


def steps_of(method: Method) -> tuple[Method, ...]:
    """Return the steps of a chain, or the method itself."""
    return method.steps if isinstance(method, Chain) else (method,)


def inside(method: Method) -> tuple[Method, ...]:
    """Return the methods that a method is made of: of a chain its steps, of blocks what is done in each.

    >>> [type(part).__name__ for part in inside((Noise(0.1) + MDAV(3)).within("region") + Rounding(5))]
    ['Noise', 'MDAV', 'Rounding']
    """
    if isinstance(method, Within):
        return inside(method.method)
    return tuple(part for step in steps_of(method) for part in inside(step)) if isinstance(method, Chain) else (method,)


def recoded(steps: Sequence[GlobalRecoding], schema: Schema | None = None) -> str:
    """Say which variables are made coarser, and how coarse.

    >>> recoded([GlobalRecoding(5, variables=("income",)), GlobalRecoding(rare=0.05, variables=("region", "job"))])
    'income is given in 5 groups, region and job with the smallest categories merged'
    """
    ways: dict[str, list[str]] = {}
    for step in steps:
        for name, way in _ways(step, schema):
            ways.setdefault(way, []).append(name)
    (way, names), *rest = ways.items()
    others = (f"{listed(tuple(named), len(named))} {other}" for other, named in rest)
    verb = "are" if len(names) > 1 or names[0].endswith(" keys") else "is"
    return ", ".join([f"{listed(tuple(names), len(names))} {verb} given {way}", *others])


def _ways(step: GlobalRecoding, schema: Schema | None) -> Iterable[tuple[str, str]]:
    """Return how each variable of a recoding is given."""
    for name, bins in (step.bins or {}).items():
        yield name, _bands(bins)
    stated = step.named()
    by_share = step.rare if isinstance(step.rare, Mapping) else {}
    for name in stated:
        if name not in (step.bins or ()):
            yield name, "with the smallest categories merged" if name in by_share else "in broader categories"
    groups = f"in {step.groups} groups" if step.groups is not None else ""
    rare = "with the smallest categories merged" if isinstance(step.rare, float) else ""
    for name in (n for n in step.variables or () if n not in stated):
        if not (groups and rare):
            yield name, groups or rare
        elif schema is None or name not in schema:
            yield name, "in fewer categories"
        else:
            yield name, rare if schema[name].kind == "nominal" else groups
    if step.variables is None and groups:
        yield "ordered keys", groups
    if step.variables is None and rare:
        yield "other keys", rare


def _bands(bins: float | str | tuple[Any, ...] | Mapping[str, object]) -> str:
    """Say in which bands a number or a date is given: a width or span, cuts, or classes by name.

    >>> _bands(5), _bands((18,)), _bands((20, 30, 40, 50)), _bands({"young": (0, 30), "old": (30, None)})
    ('in bands of 5', 'in 2 bands (<18 and 18+)', 'in 5 bands of 10 (<20 to 50+)', 'in 2 bands')
    >>> _bands("month"), _bands("10 years"), _bands(("1950-01-01", "1970-01-01", "1990-01-01"))
    ('by month', 'by 10 years', 'in 4 bands (<1950 to 1990+)')
    """
    if isinstance(bins, Mapping):
        return f"in {len(bins)} bands"
    if not isinstance(bins, tuple):
        return f"by {bins}" if isinstance(bins, str) else f"in bands of {bins:g}"
    between = "and" if len(bins) == 1 else "to"
    if isinstance(bins[0], str):
        names = labels([-math.inf, *(float(day_of(cut) or 0.0) for cut in bins), math.inf])
        return f"in {len(names)} bands ({names[0]} {between} {names[-1]})"
    widths = {round(b - a, 9) for a, b in pairwise(bins)}
    width = f" of {widths.pop():g}" if len(bins) > 2 and len(widths) == 1 else ""
    return f"in {len(bins) + 1} bands{width} (<{bins[0]:g} {between} {bins[-1]:g}+)"


def named(method: Method, stated: Iterable[str] = ()) -> str:
    """Name what a method works on: its variables, or all of its kinds."""
    names = tuple(stated) or method.variables
    if names:
        return listed(names, MAX_NAMED_VARIABLES)
    return KINDS.get(frozenset(method.about.kinds), "all variables")


def _are(method: Method, stated: Iterable[str] = ()) -> str:
    names = tuple(stated) or method.variables or ("all", "of them")
    return f"{named(method, stated)} {'is' if len(names) == 1 else 'are'}"


@singledispatch
def clause(method: Method) -> str:
    """Say what one method does.

    >>> clause(RankSwapping(0.05, variables=("income", "wealth")))
    'income and wealth are swapped between records within 5 % of the ranks'
    """
    title = method.about.title
    title = title if title[1:2].isupper() else title[:1].lower() + title[1:]
    return f"{title} is applied to {named(method)}"


@clause.register
def _(method: Within) -> str:
    said = "; ".join(clauses(steps_of(method.method)))
    return f"{said}, within each {method.inside} by itself"


@clause.register
def _(method: GlobalRecoding) -> str:
    return recoded([method])


@clause.register
def _(method: LocalSuppression) -> str:
    what = f"values of {listed(method.variables, MAX_NAMED_VARIABLES)}" if method.variables else "key values"
    worth = method.importance or {}
    most = max(worth.values(), default=1.0)
    last = tuple(name for name, value in worth.items() if value == most > 1)
    spared = f", {listed(last, MAX_NAMED_VARIABLES)} last" if last else ""
    capped = ", ".join(
        f"{written(share, 'share')} of {name}" if share else f"none of {name}"
        for name, share in (method.caps or {}).items()
    )
    return f"{what} are blanked where {_too_few(method)}{spared}{f', at most {capped}' if capped else ''}"


@clause.register
def _(method: OptimalRecoding) -> str:
    asked = [f"at least {method.k} records look alike"] if method.k is not None else []
    asked += ["every scenario finds enough records alike"] if method.sets is not None else []
    asked += ["what a class tells of confidential values is bounded"] if method.l or method.t else []
    asked += [f"no individual risk is above {method.risk:g}"] if method.risk is not None else []
    what = listed(method.variables, MAX_NAMED_VARIABLES) if method.variables else "the keys"
    whole = f", at most {written(method.suppression, 'share')} of the records blanked" if method.suppression else ""
    return f"{what} are given at the levels that lose least while {' and '.join(asked)}{whole}"


@clause.register
def _(method: LocalRecoding) -> str:
    what = listed(method.variables, MAX_NAMED_VARIABLES) if method.variables else "the keys"
    return f"{what} are made coarser record by record, as far as {method.k} records must look alike"


def _too_few(method: LocalSuppression) -> str:
    """Say when values are blanked.

    >>> _too_few(LocalSuppression(sets=((("town", "age"), 3), (("job",), 5)), risk=0.1))
    'fewer than 3 records look alike in town and age, or fewer than 5 in job, or the individual risk is above 0.1'
    """
    which = f" in any {method.subsets} of them" if method.subsets else ""
    k, sets = method.k or 1, method.sets
    said = []
    if sets == "scenarios":
        said.append("fewer records look alike than a scenario asks for")
    elif sets is not None:
        (keys, first), *others = sets
        said.append(f"fewer than {max(first, k)} records look alike in {listed(keys)}{which}")
        said += [f"fewer than {max(own, k)} in {listed(keys)}" for keys, own in others]
    if method.k is not None and (sets is None or sets == "scenarios"):
        said.append(f"fewer than {k} {'do' if said else 'records look alike'}{which}")
    if method.risk is not None:
        said.append(f"the individual risk is above {method.risk:g}")
    return ", or ".join(said)


@clause.register
def _(method: PRAM) -> str:
    names = tuple(method.transition or ())
    if method.retention is None:
        return f"categories of {named(method, names)} are changed by chance (PRAM)"
    kept = ", their frequencies kept" if method.invariant else ""
    what = "the categories" if method.variables is None else f"the categories of {named(method)}"
    return f"{written(1 - method.retention, 'share')} of {what} are changed by chance{kept} (PRAM)"


@clause.register
def _(method: RecordSwapping) -> str:
    what = listed(method.variables, MAX_NAMED_VARIABLES) if method.variables else "the place"
    verb = "are" if method.variables and len(method.variables) > 1 else "is"
    return f"{what} {verb} exchanged between {written(method.share, 'share')} of the units, the rarest first"


@clause.register
def _(method: TopBottomCoding) -> str:
    by = {"limit": "a limit", "mean": "their mean", "median": "their median"}[method.by]
    ends = {"both": "largest and smallest", "top": "largest", "bottom": "smallest"}[method.ends]
    if isinstance(method.share, float):
        return f"the {ends} {written(method.share, 'share')} of {named(method)} are replaced by {by}"
    shares = tuple(method.share or ())
    if not shares:
        ends = " and ".join(word for word, limits in (("largest", method.top), ("smallest", method.bottom)) if limits)
    names = dict.fromkeys((*shares, *(method.top or ()), *(method.bottom or ())))
    return f"the {ends} values of {named(method, names)} are replaced by {by}"


@clause.register
def _(method: Rounding) -> str:
    how = " by chance up or down" if method.random else ""
    if isinstance(method.base, Mapping):
        return f"{_are(method, method.base)} rounded{how}"
    grid = (
        f"multiples of {method.base:g}" if method.base is not None else f"steps of {method.scale:g} standard deviations"
    )
    return f"{_are(method)} rounded{how} to {grid}"


@clause.register
def _(method: IndividualRanking) -> str:
    several = method.variables is None or len(method.variables) > 1
    what = "each number" if method.variables is None else f"each of {named(method)}" if several else named(method)
    return f"{what} is replaced by the mean of {method.k} neighbours in rank"


@clause.register(MDAV)
@clause.register(ProjectionMicroaggregation)
def _(method: MDAV | ProjectionMicroaggregation) -> str:
    means, near = ("the mean", "it") if method.variables and len(method.variables) == 1 else ("the means", "all of it")
    return f"{_are(method)} replaced by {means} of {method.k} records that are near in {near}"


@clause.register
def _(method: GroupedMicroaggregation) -> str:
    return f"{_are(method)} replaced by means within {written(method.alpha, 'share')} of the ranks"


@clause.register(RankSwapping)
@clause.register(GroupedSwapping)
def _(method: RankSwapping | GroupedSwapping) -> str:
    within = method.p if isinstance(method, RankSwapping) else method.alpha
    return f"{_are(method)} swapped between records within {written(within, 'share')} of the ranks"


@clause.register
def _(method: DateShift) -> str:
    return f"{_are(method)} moved by up to {method.days:,} days, all dates of a unit alike"


@clause.register
def _(method: Noise) -> str:
    return f"noise of {method.scale:g} standard deviations is added to {named(method)}"


@clause.register(CorrelatedNoise)
@clause.register(KimNoise)
def _(method: CorrelatedNoise | KimNoise) -> str:
    spread = math.sqrt(method.c if isinstance(method, CorrelatedNoise) else method.alpha)
    return f"noise of {spread:.2g} standard deviations, correlated as the data are, is added to {named(method)}"


@clause.register
def _(method: ResidualNoise) -> str:
    return f"{clause(method.of)}; noise gives back the spread that this took"


@clause.register(NormalSynthesis)
@clause.register(DistributionDistortion)
def _(method: NormalSynthesis | DistributionDistortion) -> str:
    kind = "normal distributions" if isinstance(method, NormalSynthesis) else "fitted distributions"
    return f"{_are(method)} replaced by draws from {kind}"


@clause.register
def _(method: Resampling) -> str:
    tables = "a resampled table" if method.t == 1 else f"{method.t} resampled tables"
    return f"{_are(method)} replaced by values of the same rank in {tables}"


@clause.register
def _(method: Shuffling) -> str:
    what = named(method) if method.variables else "the confidential numbers"
    return f"all values of {what} are exchanged so that only ranks hang together"


@clause.register
def _(method: JPEG) -> str:
    return f"{_are(method)} compressed like a picture, with quality {method.quality}"


@clause.register
def _(method: CARTSynthesis) -> str:
    return f"{_are(method)} replaced by synthetic values, drawn from trees fitted to the data"


@clause.register
def _(method: Sampling) -> str:
    share = "a random part" if isinstance(method.fraction, Mapping) else f"a random {written(method.fraction, 'share')}"
    return f"{share} of the records is kept"


@clause.register
def _(method: VariableRemoval) -> str:
    return f"{_are(method)} removed" if method.variables else "what names a unit is removed"


@clause.register
def _(method: WeightMasking) -> str:
    if method.how == "classes":
        return f"survey weights take at most {method.classes} values"
    return "survey weights are noisy" if method.how == "noise" else "survey weights are raked anew to margins"


# Short names: what each candidate does, in a few words, such that no two are called the same.


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
    long = {label: method for label, method in made.items() if len(told[label]) > MAX_NAME_LENGTH}
    told |= _described(long)
    taken = {label for label in methods if label not in made}
    same: dict[str, list[str]] = {}
    for label in sorted(made, key=lambda label: (told[label], repr(made[label]), label)):
        same.setdefault(told[label], []).append(label)
    alone = {name for name, sharing in same.items() if len(sharing) == 1 and name not in taken}
    taken |= alone
    for name, sharing in same.items():
        if name not in alone:
            told |= _told_apart(name, {label: made[label] for label in sharing}, taken)
    return {label: told.get(label, label) for label in methods}


def _described(methods: Mapping[str, Method]) -> dict[str, str]:
    """Name methods by their steps: the fullest wording at which all of them are short, or else the briefest, cut."""
    order = _by_coarseness(run for method in methods.values() for run in _runs(method))
    phrases = {label: _phrases(method, order) for label, method in methods.items()}
    told = dict.fromkeys(phrases, "")
    for worded in _wordings(list(phrases.values())):
        joined = {label: " · ".join(filter(None, map(worded, several))) for label, several in phrases.items()}
        told |= {label: name for label, name in joined.items() if name}
        if all(len(name) <= MAX_NAME_LENGTH for name in told.values()):
            break
    return {label: _cut(name, MAX_NAME_LENGTH) for label, name in told.items()}


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


def _told_apart(name: str, methods: Mapping[str, Method], taken: set[str]) -> dict[str, str]:
    """Add to a name what differs between the methods that share it, or a number; enter what is used as taken."""
    added = _differences(list(methods.values()))
    told = {}
    for place, label in enumerate(methods):
        told[label] = _cut(name, MAX_NAME_LENGTH - len(added[place])) + added[place]
        number = 1
        while told[label] in taken:
            number += 1
            told[label] = _cut(name, MAX_NAME_LENGTH - len(f" ({number})")) + f" ({number})"
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
