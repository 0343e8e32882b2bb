"""Candidates that fit a table: composed from the roles and kinds of its variables and from what is bounded.

The order is that of practice (IHSN, *Introduction to Statistical Disclosure Control*): the keys are made coarser, step
by step; what is still rare is blanked or, where the risk is not a count over keys, randomised; then amounts are masked,
and keys that stayed numbers. A step that would change nothing is left out, and so is a candidate that touches no
variable which a bounded risk reads. Where the schema has scenarios, the keys of each are counted by themselves, with
the scenario's k.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, islice, product
from operator import add

import numpy as np

from sfumato import parameters
from sfumato.arguments import entries, require, require_bounds, require_whole
from sfumato.compare.coarsening import KeySet, Ladders, Stage, found_among, judged, kept_apart, read_by, wanted
from sfumato.compare.figures import listed
from sfumato.compare.naming import sentence
from sfumato.composition import clauses
from sfumato.core import Measure, Method
from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import frequencies
from sfumato.kernels.groups import classes
from sfumato.kernels.suppression import MAX_KEYS
from sfumato.methods import (
    MDAV,
    PRAM,
    IndividualRanking,
    LocalSuppression,
    Noise,
    OptimalRecoding,
    RankSwapping,
    RecordSwapping,
    Rounding,
    Shuffling,
    TopBottomCoding,
    VariableRemoval,
)
from sfumato.pair import Half
from sfumato.pair.keys import countable
from sfumato.risk.exposed_amounts import RECORDS_PER_EXTREME, ExposedAmounts
from sfumato.table.households import household_level
from sfumato.table.keys import key_codes
from sfumato.table.microdata import Microdata

Measures = Collection[Measure]
SPARED = frozenset(("sex", "gender", "age"))  # rarely suppressed: nearly every table is by sex and age
WORTH = 3  # other values that are blanked rather than one of these
MIN_VALUES_OF_AMOUNT = 20  # different values from which a number is an amount, whatever its role
# of all key values, and of the key that loses most: the shares that may be blank, from the least coarse stage on
BLANK = ((0.045, 0.15), (0.045, 0.05), (0.01, 0.02), (0.005, 0.01))
RETENTIONS = (0.9, 0.8, 0.7)  # the probability that a category stays where categories are changed by chance
GOALS = (0.85, 0.5, 0.3)  # of a bound on who is found: what blanks and other columns give away comes on top
REFINED = (0.85, 0.5)  # the same where keys are kept as fine as they may be
PERSONS_ALONE = 8  # candidates that do nothing for households, where these are bounded
AMOUNTS = 3  # treatments of amounts for each way to keep households apart
BLANK_IN_SMALL_TABLES = ((0.045, 1.0), (0.03, 1.0), (0.02, 1.0))  # where a table has too few records for these
SUPPRESSION = (0.02, 0.05)  # the share of records that may lose all their keys
CROWDS = (1.5, 3.0)  # times as many records alike as a guess among them asks for: other columns tell more than that
USUAL_HEIGHT = 3  # of a hierarchy that is made for want of one
MAX_NODES = 1_000_000  # choices of levels that a candidate is worth
TOP = 0.01  # the share of records whose amounts are coded at the top
MAX_TOP = 0.1  # the largest such share


@dataclass(frozen=True)
class Candidate:
    """A way to protect a table, and one sentence on what it does."""

    method: Method
    why: str


@dataclass(frozen=True, eq=False)
class _Table:
    """A table seen with the eyes of who protects it."""

    data: Microdata
    keys: tuple[str, ...]
    amounts: tuple[str, ...]  # numbers that are no keys, each of which may tell a person by itself
    known_about: tuple[str, ...] = ()  # those amounts that an intruder knows about, but not exactly
    found: float = 0.0  # the share of records that may be found, where such a risk is bounded
    sampled: bool = False  # whether there are more records, so that classes are larger than they seem
    single: float = 0.0  # the largest chance that a single record may have, where that is bounded

    def of(self, *kinds: str) -> tuple[str, ...]:
        """Name the keys of these kinds."""
        return tuple(name for name in self.keys if self.data.schema[name].kind in kinds)


@dataclass(frozen=True)
class _Part:
    """Some steps of a candidate, and a clause of its sentence."""

    steps: tuple[Method, ...]
    clause: str


@dataclass(frozen=True)
class _Blanked:
    """The share of each key's values that is blanked, and the sets of keys that ask for it."""

    shares: tuple[float, ...]
    sets: tuple[KeySet, ...]

    @property
    def mean(self) -> float:
        """The share of all key values."""
        return float(np.mean(self.shares))


def compose(
    data: Microdata,
    measures: Sequence[Measure],
    bounds: Mapping[str, float] | None,
    *,
    breadth: int = 1,
    done: Measures = (),
    whole: int = 0,
) -> tuple[Candidate, ...]:
    """Return candidates that fit a table, some 10 to 25 at ``breadth`` 1, more at 2 and 3.

    ``measures`` are those that will judge, ``bounds`` those that decide by class name or repr. The keys are those of
    the scenarios, or the variables of that role and those that a bounded measure names. Where a bounded measure has a
    ``k``, that many records are made alike; else 3, 5 and 10 are tried, or what each scenario asks and no less than 5
    and 10. Of risks against which something was ``done`` already, a candidate need not mask what they read.

    ``data`` may be a sample of ``whole`` so many records. Classes of records are larger in the whole, so that what the
    sample asks for is coarser than need be: candidates are then spread from the keys as they came to what it asks for.

    >>> import sfumato
    >>> found = compose(sfumato.household_survey(500), [sfumato.KAnonymity()], {"KAnonymity": 0.0})
    >>> 5 <= len(found) <= 25
    True
    """
    parameters.one_of(_Breadth(breadth), "breadth", (1, 2, 3))
    require("compose", Microdata, "a Microdata", data=data)
    require_bounds("compose", bounds=bounds)
    bounds = bounds or {}  # None: there are none
    require_whole("compose", least=0, whole=whole)
    measures = entries("compose", Measure, "measures", measures=measures)
    done = entries("compose", Measure, "measures", done=done)
    bounded = [m for m in measures if {repr(m), type(m).__name__} & set(bounds) and m.about.purpose == "risk"]
    judging = bounded or [m for m in measures if m.about.purpose == "risk"]

    def limit_of(measure: Measure) -> float:
        return bounds.get(repr(measure), bounds.get(type(measure).__name__, 0.0))

    persons = [m for m in bounded if _counts_found(m) and getattr(m, "unit", "") != "household"]
    counting = persons or [m for m in bounded if _counts_found(m)]
    found = (getattr(m, "above", None) or limit_of(m) for m in counting)
    single = min((above for m in counting if (above := getattr(m, "above", None))), default=0.0)
    table = replace(_seen(data, judging), found=min(found, default=0.0), sampled=whole > len(data), single=single)
    if not table.keys or (judging and all(map(_of_numbers_only, judging))):
        made = _of_numbers(table, judging, breadth)
    else:
        made = _of_keys(table, judging, breadth)
    homes = [limit_of(m) for m in bounded if _counts_found(m) and getattr(m, "unit", "") == "household"]
    if homes:
        made = chain(_kept_apart(table, judging, min(homes), breadth), islice(made, PERSONS_ALONE * breadth))
    asking = [measure for measure in bounded if measure not in done]
    touching = (candidate for candidate in made if _touches(candidate.method, data, asking))
    return tuple({repr(candidate.method): candidate for candidate in touching}.values())


def _kept_apart(table: _Table, judging: Sequence[Measure], limit: float, breadth: int) -> Iterator[Candidate]:
    """Keep households apart, and treat the keys of what that leaves for fewer persons to be found than is asked for."""
    guessing = [one.within(table.keys) for one in found_among(table.data.schema, judging)]
    guessing = [one for one in guessing if one.keys]
    for place, apart in enumerate(kept_apart(table.data, guessing, table.found, limit)):
        begun = table.data
        for step in apart.before:
            begun = step.protect(begun)
        share = table.found * apart.share
        left = replace(_seen(begun, judging), found=share, sampled=table.sampled, single=table.single)
        before, after = _Part(apart.before, apart.clause), _Part(apart.after, "; ".join(clauses(apart.after)))
        masked = _known_masked if left.known_about else _amounts_masked
        amounts = list(masked(begun, left.amounts, 1)) or [_Part((), "")]
        amounts = [amounts[(place + i) % len(amounts)] for i in range(min(AMOUNTS, len(amounts)))]
        for keys, then in product(islice(_keys_treated(left, judging, breadth), 2 * breadth - 1), amounts):
            parts = (before, keys, then, after)
            yield Candidate(
                _chained(tuple(chain.from_iterable(part.steps for part in parts))), sentence(p.clause for p in parts)
            )


@dataclass(frozen=True)
class _Breadth:
    breadth: int


def _seen(data: Microdata, judging: Sequence[Measure]) -> _Table:
    schema = data.schema
    intruders = judged(schema, judging)
    known = {name for intruder in intruders for name in intruder.keys}
    if not schema.scenarios:
        known |= set(schema.analysed(role="key"))
    amounts = tuple(
        name
        for name in schema.analysed("numeric")
        if (found := np.unique(data.columns[name][~data.missing(name)])).size > 1
        and (schema[name].role == "confidential" or found.size > MIN_VALUES_OF_AMOUNT)
    )
    about = {name for intruder in intruders for name in intruder.about}
    about -= {name for intruder in intruders for name in intruder.exact}
    # what nobody knows exactly is masked as a number, unless it has the role key and can be counted over, as age can
    vague = {name for name in amounts if name in about and not (schema[name].role == "key" and _repeats(data, name))}
    keys = tuple(name for name in schema.analysed() if name in known - vague)
    if not known and not schema.analysed("numeric"):
        keys = schema.analysed()  # categories alone, and no role told
    led = schema.led({*keys, *amounts})  # they follow what is done to the others
    return _Table(
        data,
        keys=tuple(name for name in keys if _varies(data, name) and name not in schema.led(keys)),
        amounts=tuple(name for name in amounts if name not in keys and name not in led),
        known_about=tuple(name for name in amounts if name in vague),
    )


def _of_numbers_only(measure: Measure) -> bool:
    """Tell whether a measure compares records by their numbers; extremes by themselves are for top coding."""
    return measure.about.kinds == ("numeric",) and not isinstance(measure, ExposedAmounts)


def _repeats(data: Microdata, name: str) -> bool:
    return countable(Half.of(data), (name,))


def _varies(data: Microdata, name: str) -> bool:
    return np.unique(data.columns[name][~data.missing(name)]).size > 1


# what is done to the keys


def _of_keys(table: _Table, judging: Sequence[Measure], breadth: int) -> Iterator[Candidate]:
    """Cross what is done to the keys with what is done to the amounts: all for the first few, then one or two each."""
    keys = list(_keys_treated(table, judging, breadth))
    compared = any(map(_of_numbers_only, judging))  # amounts too are what an intruder compares
    masked = _numbers_masked if compared else _known_masked if table.known_about else _amounts_masked
    amounts = list(masked(table.data, table.amounts, breadth)) or [_Part((), "")]
    whole = breadth if compared else 2 + breadth
    for place, first in enumerate(keys):
        several = amounts if place < whole else [amounts[(place + i) % len(amounts)] for i in range(breadth)]
        for then in several:
            if first.steps or then.steps:
                yield _joined(first, then)


def _keys_treated(table: _Table, judging: Sequence[Measure], breadth: int) -> Iterator[_Part]:
    ladders = Ladders.of(table.data, table.keys)
    ways = wanted(table.keys, table.data.schema, judging)
    dear = {name: float(WORTH) for name in table.keys if _spared(name)}
    every = len(ways) == 1
    if table.found > 0:
        guessing = [one.within(table.keys) for one in found_among(table.data.schema, judging)]
        guessing = [one for one in guessing if one.keys]
        if guessing and table.single:
            yield from _none_alone(table, ladders, [*ways[0], *guessing], dear)
        if guessing:
            yield from _seldom_found(table, ladders, ways[0], guessing, dear)
    for place, sets in enumerate(ways):
        enough = BLANK[: 2 + breadth] if every or not place else BLANK[1:2]
        yield from _suppressed(table, ladders, ladders.climb(sets, {}), sets, enough)
        if dear and (every or place == 1 or breadth > 1):
            yield from _suppressed(table, ladders, ladders.climb(sets, dear), sets, BLANK[1:3], kept=tuple(dear))
    if not table.sampled:  # they need all records at once
        yield from _best_levels(table.data, table.keys, ways[:breadth], table.found)
    if not all(map(_count_over_keys, judging)) or breadth == 3:
        yield from _randomised(table, ladders, ladders.climb(ways[0], dear), breadth)


def _best_levels(
    data: Microdata, keys: Sequence[str], ways: Sequence[Sequence[KeySet]], found: float
) -> Iterator[_Part]:
    """Return the recodings that lose least by the hierarchies of the schema; none where it has none of these keys.

    Where the share of records that may be ``found`` is bounded, so many look alike that a guess among them keeps it.
    """
    hierarchies = [data.schema[name].hierarchy for name in keys]
    nodes = math.prod(USUAL_HEIGHT + 1 if one is None else one.height + 1 for one in hierarchies)
    if all(one is None for one in hierarchies) or nodes > MAX_NODES:
        return
    least = [math.ceil(crowd / found) for crowd in CROWDS] if found > 0 else [0]
    for sets in ways:
        for crowd, share in product(least, SUPPRESSION):
            method = _best_recoding(data, [replace(one, k=max(one.k, crowd)) for one in sets], share)
            try:
                method.chosen(data)  # an interruption ends it
            except NotApplicable:  # too few records, or no levels that keep them alike
                continue
            yield _Part((method,), method.in_words())


def _best_recoding(data: Microdata, sets: Sequence[KeySet], share: float) -> OptimalRecoding:
    if len(sets) > 1:
        return OptimalRecoding(suppression=share, sets=tuple((one.keys, one.k) for one in sets))
    (only,) = sets
    by_role = only.keys == data.schema.analysed(role="key")
    return OptimalRecoding(only.k, share, variables=None if by_role else only.keys)


def _count_over_keys(measure: Measure) -> bool:
    """Tell whether a measure counts protected records that agree, which says nothing of randomised ones."""
    return measure.about.keys and not measure.about.paired


def _counts_found(measure: Measure) -> bool:
    """Tell whether a measure is the share of records that are found by their keys."""
    return measure.about.keys and measure.about.paired and measure.about.unit == "share"


def _seldom_found(
    table: _Table, ladders: Ladders, sets: Sequence[KeySet], guessing: Sequence[KeySet], dear: Mapping[str, float]
) -> Iterator[_Part]:
    """Coarsen until one record of each class is no more than may be found, and blank what is still asked for.

    Whoever knows that a person is in the file, ``guessing`` by these keys, finds one record of each class. Where the
    coarsest keys do not do, some are left out, or their categories are changed by chance as well.
    """
    least = math.ceil(1 / table.found)
    crowds = [replace(one, k=max(one.k, least)) for one in guessing]
    for costs in ({}, dear) if dear else ({},):
        stages = ladders.climb(crowds, costs)
        for goal in GOALS[: 2 if costs else 3]:
            most = goal * table.found * len(table.data)
            left = [stage for stage in stages if stage.classes <= most]
            if left and not table.sampled and goal == GOALS[0]:
                for more in REFINED[: 1 if costs else 2]:
                    yield from _refined(
                        table, ladders, left[0], sets, crowds, more * table.found * len(table.data), costs
                    )
            elif table.sampled:  # in the whole a stage before may do
                reached = stages[: len(stages) - len(left) + 1]
                yield from _suppressed(table, ladders, reached, sets, BLANK[1:3], kept=tuple(costs))
            elif left:
                yield from _suppressed(table, ladders, left, sets, BLANK[1:2], kept=tuple(costs))
            else:
                yield from _fewer_keys(table, ladders, stages[-1], sets, most)
                yield from (_changed(table, ladders, stages[-1], retention) for retention in RETENTIONS[:2])


def _refined(
    table: _Table,
    ladders: Ladders,
    start: Stage,
    sets: Sequence[KeySet],
    crowds: Sequence[KeySet],
    most: float,
    costs: Mapping[str, float],
) -> Iterator[_Part]:
    """Keep more of the keys than a climb does, with as few classes; then the same where keys may be left out."""
    finest = ladders.refined(start, sets, crowds, most, costs)
    yield from _suppressed(table, ladders, [finest], sets, BLANK[1:2], kept=tuple(costs))
    wider = ladders.with_removal()
    found = wider.refined(finest, sets, crowds, most, costs)
    gone = tuple(name for name, place in found.rungs.items() if place == len(ladders.rungs[name]))
    if gone and len(gone) < len(table.keys):
        yield from _left_out(table, ladders, found, sets, gone)


def _none_alone(table: _Table, ladders: Ladders, sets: Sequence[KeySet], dear: Mapping[str, float]) -> Iterator[_Part]:
    """Coarsen until nobody has a larger chance than a single record may have, without any blank.

    Who knows the value that was blanked often sees that a single record fits: blanks keep no bound on single records.
    """
    crowd = math.ceil(1 / table.single - 1e-9)
    crowds = [replace(one, k=max(one.k, crowd)) for one in sets]
    for costs in ({}, dear) if dear else ({},):
        stage = ladders.climb(crowds, costs)[-1]
        if not stage.small and stage.classes <= GOALS[0] * table.found * len(table.data):
            yield _Part(ladders.recodings(stage), _coarser(ladders, stage, tuple(costs)))


def _fewer_keys(table: _Table, ladders: Ladders, stage: Stage, sets: Sequence[KeySet], most: float) -> Iterator[_Part]:
    """Leave out keys, each time the one without which most classes are gone, and blank what is still rare.

    Where one key alone makes too many classes, no key at all is another way.
    """
    left = list(table.keys)

    def different(names: Sequence[str]) -> int:
        within = [found for one in sets if (found := one.within(names).keys)]
        columns = [[ladders.rungs[name][stage.rungs[name]].codes for name in keys] for keys in within]
        return max((len(classes(np.column_stack(found))[1]) for found in columns), default=0)

    while len(left) > 1 and different(left) > most:
        spare = [name for name in left if not _spared(name)] or left
        left.remove(min(spare, key=lambda name: different([other for other in left if other != name])))
    gone = tuple(name for name in table.keys if name not in left)
    if gone:
        yield from _left_out(table, ladders, stage, sets, gone)
    if different(left) > most:
        yield from _without_keys(table)


def _left_out(
    table: _Table, ladders: Ladders, stage: Stage, sets: Sequence[KeySet], gone: tuple[str, ...]
) -> Iterator[_Part]:
    """Leave out some keys, bring the others to a stage, and blank what is still rare."""
    removal = VariableRemoval(variables=gone)
    left = tuple(name for name in table.keys if name not in gone)
    kept = replace(table, data=removal.protect(table.data), keys=left)
    fewer = [found for one in sets if (found := one.within(left)).keys]
    rest = replace(stage, rungs={name: stage.rungs[name] for name in left})
    for part in _suppressed(kept, ladders, [rest], fewer, BLANK[1:2]):
        said = f"{listed(gone)} {'is' if len(gone) == 1 else 'are'} left out"
        yield _Part((removal, *part.steps), "; ".join(filter(None, (said, part.clause))))


def _suppressed(
    table: _Table,
    ladders: Ladders,
    stages: Sequence[Stage],
    sets: Sequence[KeySet],
    enough: Sequence[tuple[float, float]],
    kept: tuple[str, ...] = (),
) -> Iterator[_Part]:
    """Coarsen until few values need to be blanked, and blank these; the first stage for each meaning of few."""
    if any(len(one.keys) > MAX_KEYS or len(table.data) < one.k for one in sets):
        return
    lost: dict[int, _Blanked] = {}

    def reached(all_: float, worst: float) -> int | None:
        for place, stage in enumerate(stages):
            if stage.small > all_ * len(table.data) * len(table.keys):
                continue  # of each record in a small class one value goes at least
            if place not in lost:
                lost[place] = _blank(table, ladders.recodings(stage), sets)
            if lost[place].mean <= all_ and max(lost[place].shares) <= worst:
                return place
        return None

    found = [place for limits in (*enough, *BLANK_IN_SMALL_TABLES) if (place := reached(*limits)) is not None]
    if not found:
        found = [len(stages) - 1]  # the coarsest there is
        lost[found[0]] = _blank(table, ladders.recodings(stages[-1]), sets)
    if table.sampled:
        found = np.linspace(0, max(found), len(enough) + 2).round().astype(int).tolist()
        lost |= {place: _blank(table, ladders.recodings(stages[place]), sets) for place in {*found} - {*lost}}
    for place in list(dict.fromkeys(found))[: None if table.sampled else len(enough)]:
        blanked = lost[place]
        said = (_coarser(ladders, stages[place], kept), _blanking(blanked, sampled=table.sampled))
        steps = (*ladders.recodings(stages[place]), *_suppression(table, blanked.sets))
        yield _Part(steps, "; ".join(filter(None, said)))


def _suppression(table: _Table, sets: Sequence[KeySet]) -> tuple[LocalSuppression, ...]:
    """Return the step that makes records alike in all sets of keys; the keys are named unless a method takes them."""
    if not sets:
        return ()
    keys = tuple(dict.fromkeys(name for one in sets for name in one.keys))
    worth = {name: WORTH for name in keys if _spared(name)}
    importance = worth if 0 < len(worth) < len(keys) else None
    if len(sets) > 1:
        return (LocalSuppression(importance=importance, sets=tuple((one.keys, one.k) for one in sets)),)
    by_role = keys == table.data.schema.analysed(role="key")
    return (LocalSuppression(sets[0].k, importance=importance, variables=None if by_role else keys),)


def _blank(table: _Table, recodings: Iterable[Method], sets: Sequence[KeySet]) -> _Blanked:
    """Try what is blanked after the recodings; all values where suppression does not apply."""
    before = table.data
    for recoding in recodings:
        before = recoding.protect(before)
    after = before
    try:
        asking = tuple(one for one in sets if frequencies(key_codes(before, one.keys)).min() < one.k)
        for step in _suppression(table, asking):
            after = step.protect(after)
    except NotApplicable:  # of a key that is not coarse enough yet to be counted
        return _Blanked((1.0,), tuple(sets))
    lost = tuple(float((after.missing(name) & ~before.missing(name)).mean()) for name in table.keys)
    return _Blanked(lost, asking)


def _blanking(blanked: _Blanked, *, sampled: bool) -> str:
    """Say how many key values are blanked, and for which sets of keys."""
    if not blanked.sets:
        return ""
    first, *others = blanked.sets
    where = " in the sample" if sampled else ""
    said = f"{100 * blanked.mean:.1f} % of key values are blanked{where}, where fewer than {first.k} records look alike"
    if not others:
        return said
    return ", or ".join([f"{said} in {listed(first.keys)}", *(f"fewer than {o.k} in {listed(o.keys)}" for o in others)])


def _randomised(table: _Table, ladders: Ladders, stages: Sequence[Stage], breadth: int) -> Iterator[_Part]:
    """Coarsen half of the way, and exchange categories or places by chance."""
    half = stages[len(stages) // 2]
    said, recodings = _coarser(ladders, half), ladders.recodings(half)
    parts = (_changed(table, ladders, half, retention) for retention in RETENTIONS[: 1 + breadth])
    yield from (part for part in parts if part.steps)
    shared = household_level(table.data) if table.data.schema.household is not None else table.keys
    places = tuple(name for name in table.of("nominal") if name in shared)  # a household moves as a whole
    if places and len(table.keys) > 1:
        for share in (0.1, 0.2)[:breadth]:
            swap = RecordSwapping(share, variables=places[:1], keys=tuple(n for n in table.keys if n != places[0]))
            yield _Part((*recodings, swap), "; ".join(filter(None, (said, swap.in_words()))))


def _changed(table: _Table, ladders: Ladders, stage: Stage, retention: float) -> _Part:
    """Coarsen to a stage, and change categories by chance; nothing where no key has any."""
    recodings = ladders.recodings(stage)
    banded = {name for step in recodings for name in step.masked(table.data)}
    names = tuple(name for name in table.keys if name in banded or not table.data.schema[name].quantitative)
    if not names:
        return _Part((), "")
    only = None if names == table.data.schema.analysed(role="key") else names
    changed = PRAM(retention, invariant=True, variables=only)
    return _Part((*recodings, changed), "; ".join(filter(None, (_coarser(ladders, stage), changed.in_words()))))


# what is done to numbers


def _of_numbers(table: _Table, judging: Sequence[Measure], breadth: int) -> Iterator[Candidate]:
    """Mask the numbers as numbers, and the categories beside them, where what judges sees numbers only."""
    numbers = (*table.of("numeric"), *table.amounts)
    categories = _Table(table.data, table.of("ordinal", "nominal", "date"), ())
    beside = [_Part((), "")]
    if categories.keys:
        beside = list(_keys_treated(categories, judging, 1))[:breadth] or beside
    for first in beside:
        for then in _numbers_masked(table.data, numbers, breadth):
            yield _joined(first, then)
    if not numbers:
        yield from (Candidate(_chained(part.steps), sentence([part.clause])) for part in beside if part.steps)


def _numbers_masked(data: Microdata, names: tuple[str, ...], breadth: int) -> Iterator[_Part]:
    """Return ways to mask numbers that an intruder may compare with his own, from mild to strong."""
    if not names:
        return
    wide = breadth > 1
    for p in ((0.02, 0.05, 0.1, 0.2, 0.3), (0.02, 0.03, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3))[wide]:
        yield _part(RankSwapping(p, variables=names))
    yield from _averaged(data, names, ((3, 5, 10, 20), (3, 4, 5, 7, 10, 15, 20, 30))[wide])
    for k in (5, 20)[: 1 + wide]:
        yield _part(IndividualRanking(k, variables=names))
    for scale in ((0.1, 0.2, 0.5), (0.05, 0.1, 0.15, 0.2, 0.3, 0.5))[wide]:
        yield _part(Noise(scale, variables=names))
    if len(names) > 1:
        yield _part(Shuffling(variables=names))
    for share in (0.02, 0.05, 0.1)[:breadth]:
        top = _top(data, names, share)
        if top:
            yield _part(*top, *_round(data, names, 0.2))


def _amounts_masked(data: Microdata, names: tuple[str, ...], breadth: int) -> Iterator[_Part]:
    """Return ways to mask amounts: none leaves exact, and the largest are coded or averaged."""
    if not names:
        return
    top = _top(data, names, _extreme(data, names))
    for scale in (0.1, 0.05, 0.2)[:breadth]:
        grid = _round(data, names, scale)
        if grid:
            yield _part(*top, *grid)
    for k in (5, 3, 10)[:breadth]:
        if k <= len(data):
            yield _part(IndividualRanking(k, variables=names))
    for p in (0.05, 0.02, 0.1)[:breadth]:
        yield _part(*top, RankSwapping(p, variables=names))
    if len(names) > 1:
        yield from _averaged(data, names, (5, 3, 10)[:breadth])


def _known_masked(data: Microdata, names: tuple[str, ...], breadth: int) -> Iterator[_Part]:
    """Return ways to mask amounts of which an intruder knows some about: as for amounts, but stronger."""
    if not names:
        return
    top = _top(data, names, _extreme(data, names))
    for p in (0.1, 0.2, 0.05, 0.3)[: 1 + breadth]:
        yield _part(*top, RankSwapping(p, variables=names))
    yield from _averaged(data, names, (10, 20, 5)[:breadth])
    for scale in (0.5, 0.2, 0.3)[:breadth]:
        yield _part(Noise(scale, variables=names))


def _averaged(data: Microdata, names: tuple[str, ...], sizes: Iterable[int]) -> Iterator[_Part]:
    return (_part(MDAV(k, variables=names)) for k in sizes if k <= len(data))


def _extreme(data: Microdata, names: tuple[str, ...]) -> float:
    """Return the share of values to code at the top: those that are extreme by themselves, as ExposedAmounts counts."""
    present = sorted(int((~data.missing(name)).sum()) for name in names)
    typical = present[len(present) // 2]  # an amount that few have must not set the limit of all others
    most = min(ExposedAmounts().most, len(data) // RECORDS_PER_EXTREME)
    share = math.ceil(1000 * (most + 2) / max(typical, 1)) / 1000  # two more: some tie at the limit
    return min(max(TOP, share), MAX_TOP)


def _part(*steps: Method) -> _Part:
    """Return steps with what they do."""
    return _Part(steps, "; ".join(clauses(steps)))


def _top(data: Microdata, names: tuple[str, ...], share: float) -> tuple[Method, ...]:
    """Return the coding of the largest values, of those numbers that it changes."""
    return _where_it_changes(TopBottomCoding(share, ends="top", by="mean", variables=names), data)


def _round(data: Microdata, names: tuple[str, ...], scale: float) -> tuple[Method, ...]:
    """Return the rounding to a share of the standard deviation, of those numbers that it changes."""
    return _where_it_changes(Rounding(scale=scale, variables=names), data)


def _where_it_changes(method: Method, data: Microdata) -> tuple[Method, ...]:
    after, names = method.protect(data), method.variables or ()
    moved = tuple(n for n in names if not np.array_equal(after.columns[n], data.columns[n], equal_nan=True))
    return (replace(method, variables=moved),) if moved else ()


def _without_keys(table: _Table) -> Iterator[_Part]:
    """Leave out all keys, if something stays: what keeps a bound on who is found where nothing else does."""
    if table.keys and set(table.data.schema.analysed()) - {*table.keys, *table.data.schema.led(table.keys)}:
        yield _Part((VariableRemoval(variables=table.keys),), f"no key stays: {listed(table.keys)} removed")


def as_it_is(data: Microdata) -> tuple[Candidate, ...]:
    """Return what fits any table: it without all keys, if that leaves something, and it as it is but for identifiers.

    >>> import pyarrow as pa
    >>> data = Microdata.from_frame(pa.table({"age": [1.0, 2.0]}))
    >>> [candidate.method for candidate in as_it_is(data)]
    [VariableRemoval()]
    """
    same = VariableRemoval()
    without = (Candidate(_chained(part.steps), sentence([part.clause])) for part in _without_keys(_seen(data, ())))
    return (*without, Candidate(same, "The table as it is, without what names a unit."))


def _joined(first: _Part, then: _Part) -> Candidate:
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
    return all(masked & set(read_by(measure, data.schema)) for measure in bounded)
