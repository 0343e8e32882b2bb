"""What a file gives away before anything is done to it: who is alone, by which values, and which key makes it so."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import class_sums
from sfumato.kernels.uniques import minimal_uniques
from sfumato.pair import Half, Pair
from sfumato.pair.keys import countable
from sfumato.pair.statistics import KeyClasses
from sfumato.risk.individual import household_chances
from sfumato.risk.k_anonymity import LEVELS
from sfumato.risk.population import matches_of, population_weights
from sfumato.risk.suda import MinimalUniques, score_of
from sfumato.table.describe import Behaviour, behaviours
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Scenario, Variable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SHOWN = 8  # combinations that are listed
WIDEST = 3  # keys of a combination
MAX_KEYS = 30  # of a scenario, beyond which combinations are not searched
ASSUMED = "all categories, because the schema names no keys"


# Counts over the keys that an intruder knows: who is alone, how many he would find, and with whom they live.
#
# ``exposure`` and ``Live`` share them. Each figure is that of a measure, evaluated on the table and itself, over the
# keys that are counted: :class:`SampleUniques`, :class:`KAnonymity`, and for what an intruder finds the attack
# *alike* of :class:`Reidentification`, or :class:`PopulationRisk` where he does not know who took part.


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What one intruder finds in a table by the records that agree in the keys he knows; a missing key agrees with any.

    ``unique`` is the value of :class:`SampleUniques` times the records, ``below`` that of :class:`KAnonymity` at the
    scenario's k, ``violating`` its parts at 2, 3 and 5. ``expected`` is the sum over records of the chance to be picked
    rightly, and ``largest`` the greatest: 1 / f among f records alike, as the attack *alike* of
    :class:`Reidentification`, so that numbers he only knows about are not counted over, though he may use them to find
    more; where he does not know who took part and there are design weights, E(1 / F | f) by Pitman's model as in
    :class:`PopulationRisk`.

    Where the schema names a household, ``households`` counts those of two or more members that hold a record below k;
    a household is found with any of its members, 1 - product of (1 - chance): ``with_household`` is the mean of that
    over the records and ``largest_of_household`` the greatest, both as the two measures have them.
    """

    name: str  # of the scenario
    keys: tuple[str, ...]  # counted over
    k: int
    records: int
    unique: int
    below: int
    violating: Mapping[int, int]
    expected: float
    largest: float
    households: int | None = None
    with_household: float | None = None
    largest_of_household: float | None = None
    left_out: tuple[str, ...] = ()  # keys that are continuous, so that counting over them says nothing
    known_about: tuple[str, ...] = ()  # numbers that he does not know exactly, so that they are not counted over
    gone: tuple[str, ...] = ()  # keys that the table has no longer
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Population:
    """Who the records of a table live with, and how many units of the population each stands for.

    ``weights`` are None where the file is taken for a census, as ``said`` tells.
    """

    unit: Integers | None
    several: NDArray[np.bool_] | None  # by record: more than one lives there
    weights: Floats | None
    said: str

    @classmethod
    def of(cls, half: Half) -> "Population":
        """Look at a table in memory."""
        weights, said = population_weights(Pair(half, half))
        if half.schema.household is None:
            return cls(None, None, weights, said)
        unit = half.units
        return cls(unit, np.bincount(unit)[unit] > 1, weights, said)


@dataclass(frozen=True)
class KnownKeys:
    """The keys of a scenario that are counted over, and those that are not, by the reason."""

    keys: tuple[str, ...]
    left_out: tuple[str, ...]
    known_about: tuple[str, ...]
    gone: tuple[str, ...]

    @classmethod
    def of(cls, scenario: Scenario, there: Mapping[str, Variable], countable: Callable[[str], bool]) -> "KnownKeys":
        """Look at the keys of a scenario in a table that has these variables."""
        present = [name for name in scenario.keys if name in there]
        about = [name for name in present if there[name].quantitative and name in scenario.about]
        exact = [name for name in present if name not in about]
        keys = tuple(name for name in exact if countable(name))
        gone = tuple(name for name in scenario.keys if name not in there)
        return cls(keys, tuple(name for name in exact if name not in keys), tuple(about), gone)


def count(scenario: Scenario, known: KnownKeys, found: KeyClasses, chance: Floats, population: Population) -> Counts:
    """Count what an intruder finds in a table whose records are in these classes of the keys; ``chances`` are his."""
    assert found.cell_of is not None
    below = found.counts < scenario.k
    together = {}
    if population.unit is not None and population.several is not None:
        of_household = household_chances(chance[found.cell_of], population.unit)
        risky = population.unit[below[found.cell_of] & population.several]
        together = {
            "households": int(np.count_nonzero(np.bincount(risky))),
            "with_household": float(of_household[population.unit].mean()),
            "largest_of_household": float(of_household.max()),
        }
    return Counts(
        name=scenario.name,
        k=scenario.k,
        records=found.records,
        unique=int(found.sizes[found.counts == 1].sum()),
        below=int(found.sizes[below].sum()),
        violating={level: int(found.sizes[found.counts < level].sum()) for level in LEVELS},
        expected=float((chance * found.sizes).sum()),
        largest=float(chance.max()),
        notes=() if scenario.knows_membership else (population.said,),
        **vars(known),
        **together,  # type: ignore[arg-type]
    )


def chances(found: KeyClasses, population: Population, *, knows_membership: bool) -> Floats:
    """Return, for each combination of key values, the chance that one of its records is picked rightly."""
    frequency = found.counts.astype(np.float64)
    if knows_membership or population.weights is None:
        return 1 / frequency
    assert found.cell_of is not None
    weights = class_sums(found.cell_of, population.weights, len(found))
    return matches_of(found, "Pitman-Yor", weights, outside=None).chances


def without_each(keys: tuple[str, ...], k: int, found: KeyClasses) -> dict[str, int]:
    """Count, by key, the records that would still be below k if it were not known, the fewest first."""
    left = {}
    for place, name in enumerate(keys):
        fewer = found.of_keys([other for other in range(len(keys)) if other != place])
        left[name] = int(fewer.sizes[fewer.counts < k].sum()) if len(keys) > 1 else 0
    return dict(sorted(left.items(), key=lambda entry: (entry[1], entry[0])))


@dataclass(frozen=True)
class Combination:
    """Values on which one record is alone, though on no part of them: the fewer they are, the easier it is found."""

    row: int  # from 1
    values: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ScenarioExposure(Counts):
    """What one intruder finds in the file as it is: the counts, which key makes it so, and who is found most easily."""

    without: Mapping[str, int]  # by key: records that would still be below k if it were not known, the fewest first
    alone_on: tuple[int, ...]  # records alone on one key, on two but not one, on three but not two
    riskiest: tuple[Combination, ...]
    contributions: Mapping[str, float]  # by key, the most first: its share of the special uniques' scores (SUDA2)


@dataclass(frozen=True)
class Exposure:
    """What a file gives away: under each scenario, and by columns that are ids, households or weights unsaid."""

    records: int
    scenarios: tuple[ScenarioExposure, ...]
    found: tuple[Behaviour, ...]


def exposure(data: Microdata) -> Exposure:
    """Look at a file as it is: under the scenarios of its schema, or by all keys, or else by all categories.

    >>> import pyarrow as pa
    >>> people = pa.table({"town": ["A", "A", "A", "B", "B", "B"], "job": ["x", "x", "y", "x", "x", "x"]})
    >>> seen = exposure(Microdata.from_frame(people)).scenarios[0]
    >>> seen.unique, seen.below, dict(seen.without), [dict(one.values) for one in seen.riskiest]
    (1, 3, {'job': 0, 'town': 1}, [{'job': 'y'}])
    """
    schema = data.schema
    intruders = schema.intruders()
    if not intruders and schema.analysed("ordinal", "nominal", "date"):
        intruders = (Scenario(ASSUMED, schema.analysed("ordinal", "nominal", "date")),)
    half = Half.of(data)
    population = Population.of(half)
    seen = (_seen(half, population, intruder) for intruder in intruders)
    return Exposure(len(data), tuple(one for one in seen if one is not None), behaviours(data))


def _seen(half: Half, population: Population, intruder: Scenario) -> ScenarioExposure | None:
    known = KnownKeys.of(intruder, {v.name: v for v in half.schema}, lambda name: countable(half, (name,)))
    keys = known.keys
    if not keys:
        return None
    found = half.classes(keys)
    chance = chances(found, population, knows_membership=intruder.knows_membership)
    special = _special(found)
    alone_on, riskiest = ((), ()) if special is None else _riskiest(half, keys, special)
    return ScenarioExposure(
        **vars(count(intruder, known, found, chance, population)),
        without=without_each(keys, intruder.k, found),
        alone_on=alone_on,
        riskiest=riskiest,
        contributions={} if special is None else _contributions(keys, special),
    )


def _special(found: KeyClasses) -> MinimalUniques | None:
    """Find the fewest keys, up to three, on which records are alone: the minimal sample uniques of SUDA2."""
    keys = found.cells.shape[1]
    if keys > MAX_KEYS:
        return None
    widest = min(WIDEST, keys)
    score = np.array([score_of("sdcmicro", size, keys, widest) for size in range(widest + 1)])
    return MinimalUniques(found, *minimal_uniques(found.cells, found.counts == 1, widest), score)


def _contributions(keys: tuple[str, ...], special: MinimalUniques) -> dict[str, float]:
    shares = special.contributions()
    order = np.argsort(-shares, kind="stable")
    return {keys[place]: float(shares[place]) for place in order}


def _riskiest(
    half: Half, keys: tuple[str, ...], special: MinimalUniques
) -> tuple[tuple[int, ...], tuple[Combination, ...]]:
    """Count the records by the fewest keys on which they are alone, and spell out the riskiest of these sets."""
    found, cell, sets, size = special.classes, special.cell, special.keys, special.size
    assert found.cell_of is not None
    fewest = np.full(len(found), WIDEST + 1)
    np.minimum.at(fewest, cell, size)
    counted = tuple(int((fewest == number).sum()) for number in range(1, min(WIDEST, len(keys)) + 1))
    row_of = np.empty(len(found), dtype=np.int64)
    row_of[found.cell_of[::-1]] = np.arange(len(found.cell_of))[::-1]
    often = np.bincount(cell, minlength=len(found))  # of records alone on as few keys, those that are so in more ways
    order = np.lexsort((sets, row_of[cell], -often[cell], size))
    listed: dict[int, Combination] = {}
    for place in order.tolist():
        own = int(cell[place])
        if own not in listed:
            names = [name for column, name in enumerate(keys) if int(sets[place]) >> column & 1]
            codes = [int(found.cells[own, keys.index(name)]) for name in names]
            listed[own] = Combination(int(row_of[own]) + 1, half.spelled(names, codes))
        if len(listed) == SHOWN:
            break
    return counted, tuple(listed.values())


def coarsen_first(seen: ScenarioExposure) -> tuple[str, ...]:
    """Name the keys to coarsen, the one that does most first; none where no record is below k.

    Keys that would do the same are all named only as long as one of them does more than the next.
    """
    if not seen.below:
        return ()
    ranked = [name for name, left in seen.without.items() if left < seen.below]
    worth = [seen.below - seen.without[name] for name in ranked]
    few = next((place + 1 for place, (one, two) in enumerate(pairwise(worth)) if two < one / 4), len(ranked))
    return tuple(ranked[: min(few, 3)])
