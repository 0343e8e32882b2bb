"""Candidates that fit a table: composed from the roles and kinds of its variables and from what is bounded.

The order is that of practice (IHSN, *Introduction to Statistical Disclosure Control*): the keys are made coarser, step
by step; what is still rare is blanked or, where the risk is not a count over keys, randomised; then amounts are masked,
and keys that stayed numbers. A step that would change nothing is left out, and so is a candidate that touches no
variable which a bounded risk reads.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from sfumato import parameters
from sfumato.compare.clauses import clause, clauses, sentence
from sfumato.compare.coarsening import Ladders, Stage
from sfumato.compare.figures import listed
from sfumato.core import Measure, Method
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.methods import (
    MDAV,
    PRAM,
    IndividualRanking,
    LocalSuppression,
    Noise,
    RankSwapping,
    RecordSwapping,
    Rounding,
    Shuffling,
    TopBottomCoding,
)
from sfumato.methods.local_suppression import MOST_KEYS
from sfumato.risk import KAnonymity

SPARED = frozenset(("sex", "gender", "age"))  # rarely suppressed: nearly every table is by sex and age
WORTH = 3  # other values that are blanked rather than one of these
MANY = 20  # different values from which a number is an amount, whatever its role
# of all key values, and of the key that loses most: the shares that may be blank, from the least coarse stage on
BLANK = ((0.045, 0.15), (0.045, 0.05), (0.01, 0.02), (0.005, 0.01))
SPARE = ((0.045, 1.0), (0.03, 1.0), (0.02, 1.0))  # where a table has too few records for these
TOP = 0.01  # the share of records whose amounts are coded at the top


@dataclass(frozen=True)
class Candidate:
    """A way to protect a table, and one sentence on what it does."""

    method: Method
    why: str


@dataclass(frozen=True)
class Part:
    """Some steps of a candidate, and a clause of its sentence."""

    steps: tuple[Method, ...]
    clause: str


@dataclass(frozen=True, eq=False)
class _Table:
    """A table seen with the eyes of who protects it."""

    data: Microdata
    keys: tuple[str, ...]
    amounts: tuple[str, ...]  # numbers that are no keys, each of which may tell a person by itself

    def of(self, *kinds: str) -> tuple[str, ...]:
        """Name the keys of these kinds."""
        return tuple(name for name in self.keys if self.data.schema[name].kind in kinds)


def compose(
    data: Microdata, measures: Sequence[Measure], bounds: Mapping[str, float], *, breadth: int = 1
) -> tuple[Candidate, ...]:
    """Return candidates that fit a table, some 15 at ``breadth`` 1, more at 2 and 3.

    ``measures`` are those that will judge, ``bounds`` those that decide by class name or repr. The keys are the
    variables of that role, or those that a bounded measure names. Where a bounded measure has a ``k``, that many
    records are made alike; else 3, 5 and 10 are tried.

    >>> import sfumato
    >>> found = compose(sfumato.household_survey(500), [sfumato.KAnonymity()], {"KAnonymity": 0.0})
    >>> 10 <= len(found) <= 20
    True
    """
    parameters.one_of(_Breadth(breadth), "breadth", (1, 2, 3))
    bounded = [m for m in measures if {repr(m), type(m).__name__} & set(bounds) and m.about.purpose == "risk"]
    judging = bounded or [m for m in measures if m.about.purpose == "risk"]
    table = _seen(data, judging)
    if not table.keys or (judging and all(map(_of_numbers_only, judging))):
        made = _of_numbers(table, judging, breadth)
    else:
        made = _of_keys(table, judging, breadth)
    touching = (candidate for candidate in made if _touches(candidate.method, data, bounded))
    return tuple({repr(candidate.method): candidate for candidate in touching}.values())


@dataclass(frozen=True)
class _Breadth:
    breadth: int


def _seen(data: Microdata, judging: Iterable[Measure]) -> _Table:
    schema = data.schema
    named = {name for m in judging if m.about.keys for name in m.variables or ()}
    known = named | set(schema.analysed(role="key"))
    keys = tuple(name for name in schema.analysed() if name in known)
    if not keys and not schema.analysed("numeric"):
        keys = schema.analysed()  # categories alone, and no role told
    amounts = tuple(
        name
        for name in schema.analysed("numeric")
        if name not in keys
        and (found := np.unique(data.columns[name][~data.missing(name)])).size > 1
        and (schema[name].role == "confidential" or found.size > MANY)
    )
    keys = tuple(name for name in keys if _varies(data, name))
    return _Table(data, keys, amounts)


def _of_numbers_only(measure: Measure) -> bool:
    return measure.about.kinds == ("numeric",)


def _varies(data: Microdata, name: str) -> bool:
    return np.unique(data.columns[name][~data.missing(name)]).size > 1


# what is done to the keys


def _of_keys(table: _Table, judging: Sequence[Measure], breadth: int) -> Iterator[Candidate]:
    """Cross what is done to the keys with what is done to the amounts: all for the first few, then one or two each."""
    keys = list(_keys_treated(table, judging, breadth))
    compared = any(map(_of_numbers_only, judging))  # amounts too are what an intruder compares
    masked = _numbers_masked(table.data, table.amounts, breadth) if compared else _amounts_masked(table, breadth)
    amounts = list(masked) or [Part((), "")]
    whole = breadth if compared else 2 + breadth
    for place, first in enumerate(keys):
        several = amounts if place < whole else [amounts[(place + i) % len(amounts)] for i in range(breadth)]
        for then in several:
            if first.steps or then.steps:
                yield _joined(first, then)


def _keys_treated(table: _Table, judging: Sequence[Measure], breadth: int) -> Iterator[Part]:
    ladders = Ladders.of(table.data, table.keys)
    stated = sorted({int(k) for m in judging if (k := getattr(m, "k", None)) is not None}, reverse=True)
    ks = stated[:1] or [KAnonymity().k, 5, 10]
    dear = {name: float(WORTH) for name in table.keys if _spared(name)}
    every = len(stated) > 0
    for place, k in enumerate(ks):
        alike = ladders.climb(k, {})
        enough = BLANK[: 2 + breadth] if every or not place else BLANK[1:2]
        yield from _suppressed(table, ladders, alike, k, enough)
        if dear and (every or place == 1 or breadth > 1):
            yield from _suppressed(table, ladders, ladders.climb(k, dear), k, BLANK[1:3], kept=tuple(dear))
    if not all(m.about.keys for m in judging) or breadth == 3:  # counts over keys say nothing of randomised ones
        yield from _randomised(table, ladders, ladders.climb(ks[0], dear), breadth)


def _suppressed(
    table: _Table,
    ladders: Ladders,
    stages: Sequence[Stage],
    k: int,
    enough: Sequence[tuple[float, float]],
    kept: tuple[str, ...] = (),
) -> Iterator[Part]:
    """Coarsen until few values need to be blanked, and blank these; the first stage for each meaning of few."""
    if len(table.keys) > MOST_KEYS or len(table.data) < k:
        return
    worth = {name: WORTH for name in table.keys if _spared(name)}
    importance = worth if 0 < len(worth) < len(table.keys) else None
    step = LocalSuppression(k, importance=importance, variables=_unless_keys(table))
    lost: dict[int, list[float]] = {}  # of each stage looked at, the share of each key's values that is blanked

    def reached(all_: float, worst: float) -> int | None:
        for place, stage in enumerate(stages):
            if stage.small > all_ * len(table.data) * len(table.keys):
                continue  # of each record in a small class one value goes at least
            if place not in lost:
                lost[place] = _blank(table.data, (*ladders.recodings(stage), step))
            if np.mean(lost[place]) <= all_ and max(lost[place]) <= worst:
                return place
        return None

    found = [place for limits in (*enough, *SPARE) if (place := reached(*limits)) is not None]
    if not found:
        found = [len(stages) - 1]  # the coarsest there is
        lost[found[0]] = _blank(table.data, (*ladders.recodings(stages[-1]), step))
    for place in list(dict.fromkeys(found))[: len(enough)]:
        recodings, share = ladders.recodings(stages[place]), float(np.mean(lost[place]))
        rest = (
            f"{100 * share:.1f} % of key values are blanked, where fewer than {k} records look alike" if share else ""
        )
        said = "; ".join(filter(None, (_coarser(ladders, stages[place], kept), rest)))
        yield Part((*recodings, step) if share else recodings, said)


def _unless_keys(table: _Table) -> tuple[str, ...] | None:
    """Name the keys, unless a method takes them by itself."""
    return None if table.keys == table.data.schema.analysed(role="key") else table.keys


def _blank(data: Microdata, steps: Iterable[Method]) -> list[float]:
    """Return the share of each key's values that the last step blanks; all of them where it does not apply."""
    try:
        for step in steps:
            before, data = data, step.protect(data)
    except NotApplicable:  # of a key that is not coarse enough yet to be counted
        return [1.0]
    return [float((data.missing(n) & ~before.missing(n)).mean()) for n in step.masked(before)]


def _randomised(table: _Table, ladders: Ladders, stages: Sequence[Stage], breadth: int) -> Iterator[Part]:
    """Coarsen half of the way, and exchange categories or places by chance."""
    half = stages[len(stages) // 2]
    said, recodings = _coarser(ladders, half), ladders.recodings(half)
    banded = {name for step in recodings for name in step.masked(table.data)}
    names = tuple(name for name in table.keys if name in banded or table.data.schema[name].kind != "numeric")
    if names:
        for retention in (0.9, 0.8, 0.7)[: 1 + breadth]:
            only = None if names == table.data.schema.analysed(role="key") else names
            changed = PRAM(retention, invariant=True, variables=only)
            yield Part((*recodings, changed), "; ".join(filter(None, (said, clause(changed)))))
    places = table.of("nominal")
    if places and len(table.keys) > 1:
        for share in (0.1, 0.2)[:breadth]:
            swap = RecordSwapping(share, variables=places[:1], keys=tuple(n for n in table.keys if n != places[0]))
            yield Part((*recodings, swap), "; ".join(filter(None, (said, clause(swap)))))


# what is done to numbers


def _of_numbers(table: _Table, judging: Sequence[Measure], breadth: int) -> Iterator[Candidate]:
    """Mask the numbers as numbers, and the categories beside them, where what judges sees numbers only."""
    numbers = (*table.of("numeric"), *table.amounts)
    categories = _Table(table.data, table.of("ordinal", "nominal"), ())
    beside = [Part((), "")]
    if categories.keys:
        beside = list(_keys_treated(categories, judging, 1))[:breadth] or beside
    for first in beside:
        for then in _numbers_masked(table.data, numbers, breadth):
            yield _joined(first, then)
    if not numbers:
        yield from (Candidate(_chained(part.steps), sentence([part.clause])) for part in beside if part.steps)


def _numbers_masked(data: Microdata, names: tuple[str, ...], breadth: int) -> Iterator[Part]:
    """Return ways to mask numbers that an intruder may compare with his own, from mild to strong."""
    if not names:
        return
    for p in ((0.02, 0.05, 0.1, 0.2, 0.3), (0.02, 0.03, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3))[breadth > 1]:
        yield _told(RankSwapping(p, variables=names))
    for k in ((3, 5, 10, 20), (3, 4, 5, 7, 10, 15, 20, 30))[breadth > 1]:
        if k <= len(data):
            yield _told(MDAV(k, variables=names))
    for k in (5, 20)[: 2 if breadth > 1 else 1]:
        yield _told(IndividualRanking(k, variables=names))
    for scale in ((0.1, 0.2, 0.5), (0.05, 0.1, 0.15, 0.2, 0.3, 0.5))[breadth > 1]:
        yield _told(Noise(scale, variables=names))
    if len(names) > 1:
        yield _told(Shuffling(variables=names))
    for share in (0.02, 0.05, 0.1)[:breadth]:
        coded = _top(data, names, share)
        if coded is not None:
            yield _told(coded, *_round(data, names, 0.2))


def _amounts_masked(table: _Table, breadth: int) -> Iterator[Part]:
    """Return ways to mask amounts: none leaves exact, and the largest are coded or averaged."""
    names, data = table.amounts, table.data
    if not names:
        return
    coded = _top(data, names, TOP)
    top = () if coded is None else (coded,)
    for scale in (0.1, 0.05, 0.2)[:breadth]:
        grid = _round(data, names, scale)
        if grid:
            yield _told(*top, *grid)
    for k in (5, 3, 10)[:breadth]:
        if k <= len(data):
            yield _told(IndividualRanking(k, variables=names))
    for p in (0.05, 0.02, 0.1)[:breadth]:
        yield _told(*top, RankSwapping(p, variables=names))
    for k in (5, 3, 10)[:breadth]:
        if k <= len(data) and len(names) > 1:
            yield _told(MDAV(k, variables=names))


def _told(*steps: Method) -> Part:
    """Return steps with what they do."""
    return Part(steps, "; ".join(clauses(steps)))


def _top(data: Microdata, names: tuple[str, ...], share: float) -> TopBottomCoding | None:
    """Return the coding of the largest values, where it changes any."""
    coding = TopBottomCoding(share, ends="top", by="mean", variables=names)
    after = coding.protect(data)
    moved = tuple(n for n in names if not np.array_equal(after.columns[n], data.columns[n], equal_nan=True))
    return TopBottomCoding(share, ends="top", by="mean", variables=moved) if moved else None


def _round(data: Microdata, names: tuple[str, ...], scale: float) -> tuple[Rounding, ...]:
    """Return the rounding to a share of the standard deviation, of those numbers that it changes."""
    rounding = Rounding(scale=scale, variables=names)
    after = rounding.protect(data)
    moved = tuple(n for n in names if not np.array_equal(after.columns[n], data.columns[n], equal_nan=True))
    return (Rounding(scale=scale, variables=moved),) if moved else ()


# sentences and checks


def _joined(first: Part, then: Part) -> Candidate:
    return Candidate(_chained((*first.steps, *then.steps)), sentence((first.clause, then.clause)))


def _chained(steps: tuple[Method, ...]) -> Method:
    return reduce(add, steps)


def _coarser(ladders: Ladders, stage: Stage, kept: tuple[str, ...] = ()) -> str:
    """Say which keys are made coarser, and how coarse."""
    made = {name: ladders.rungs[name][place].categories for name, place in stage.rungs.items() if place}
    if not made:
        return ""
    fine = f", {listed(kept)} as fine as can be" if kept else ""
    (first, left), *others = made.items()
    said = [f"{first} is given in {left}", *(f"{name} in {number}" for name, number in others)]
    return f"{', '.join(said)} categories{fine}"


def _spared(name: str) -> bool:
    return bool(SPARED & set(re.split(r"[^a-z]+", name.lower())))


def _touches(method: Method, data: Microdata, bounded: Iterable[Measure]) -> bool:
    """Tell whether a method masks something that each bounded risk reads."""
    masked = set(method.masked(data))
    return all(masked & set(_read(measure, data)) for measure in bounded)


def _read(measure: Measure, data: Microdata) -> tuple[str, ...]:
    """Name the variables that a measure reads in a table."""
    if measure.variables is not None:
        return measure.variables
    if measure.about.keys and data.schema.analysed(role="key"):
        return data.schema.analysed(role="key")
    return data.schema.analysed(*measure.about.kinds)
