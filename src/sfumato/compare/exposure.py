"""What a file gives away before anything is done to it: who is alone, by which values, and which key makes it so."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.compare.counts import Counts, Known, Population, chances, count, without_each
from sfumato.data.behaviour import Behaviour, behaviours
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Scenario
from sfumato.kernels.uniques import minimal_uniques
from sfumato.pair import Half
from sfumato.pair.keys import countable
from sfumato.pair.statistics import KeyClasses
from sfumato.risk.suda import Found, score_of

SHOWN = 8  # combinations that are listed
WIDEST = 3  # keys of a combination
MOST_KEYS = 30  # of a scenario, beyond which combinations are not searched
ASSUMED = "all categories, because the schema names no keys"


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
    known = Known.of(intruder, {v.name: v for v in half.schema}, lambda name: countable(half, (name,)))
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


def _special(found: KeyClasses) -> Found | None:
    """Find the fewest keys, up to three, on which records are alone: the minimal sample uniques of SUDA2."""
    keys = found.cells.shape[1]
    if keys > MOST_KEYS:
        return None
    widest = min(WIDEST, keys)
    score = np.array([score_of("sdcmicro", size, keys, widest) for size in range(widest + 1)])
    return Found(found, *minimal_uniques(found.cells, found.counts == 1, widest), score)


def _contributions(keys: tuple[str, ...], special: Found) -> dict[str, float]:
    shares = special.contributions()
    order = np.argsort(-shares, kind="stable")
    return {keys[place]: float(shares[place]) for place in order}


def _riskiest(half: Half, keys: tuple[str, ...], special: Found) -> tuple[tuple[int, ...], tuple[Combination, ...]]:
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
