"""Counts over the keys that an intruder knows: who is alone, how many he would find, and with whom they live.

``exposure`` and ``Live`` share them. Each figure is that of a measure, evaluated on the table and itself, over the keys
that are counted: :class:`SampleUniques`, :class:`KAnonymity`, and for what an intruder finds the attack *alike* of
:class:`Reidentification`, or :class:`IndividualRisk` where he does not know who took part.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.scenario import Scenario
from sfumato.data.schema import Variable
from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.kernels.groups import class_sums
from sfumato.pair import Half, Pair
from sfumato.pair.statistics import KeyClasses
from sfumato.risk.individual import household_chances
from sfumato.risk.k_anonymity import LEVELS
from sfumato.risk.reidentification import population_weights

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Why = Literal["continuous", "known about", "gone"]  # why a key of the scenario is not counted over


@dataclass(frozen=True)
class Counts:
    """What one intruder finds in a table by the records that agree in the keys he knows; a missing key agrees with any.

    ``unique`` is the value of :class:`SampleUniques` times the records, ``below`` that of :class:`KAnonymity` at the
    scenario's k, ``violating`` its parts at 2, 3 and 5. ``expected`` is the sum over records of the chance to be picked
    rightly, and ``largest`` the greatest: 1 / f among f records alike, as the attack *alike* of
    :class:`Reidentification`, so that numbers he only knows about are not counted over, though he may use them to find
    more; where he does not know who took part and there are design weights, E(1 / F | f) as in
    :class:`IndividualRisk`.

    Where the schema names a household, ``households`` counts those of two or more members that hold a record below k;
    a household is found with any of its members, 1 - product of (1 - chance): ``with_household`` is the mean of that
    over the records and ``largest_of_household`` the greatest, both as the two measures have them.
    """

    scenario: str
    k: int
    keys: tuple[str, ...]  # counted over
    left_out: Mapping[str, Why]  # keys of the scenario that are not
    records: int
    unique: int
    below: int
    violating: Mapping[int, int]
    expected: float
    largest: float
    households: int | None = None
    with_household: float | None = None
    largest_of_household: float | None = None
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


def why_not(scenario: Scenario, variable: Variable, *, countable: bool) -> Why | None:
    """Say why a key is not counted over: it is continuous, or a number that the intruder knows about only."""
    if variable.quantitative and variable.name in scenario.about:
        return "known about"
    return None if countable else "continuous"


def count(
    scenario: Scenario, keys: Iterable[str], found: KeyClasses, population: Population, left_out: Mapping[str, Why]
) -> Counts:
    """Count what an intruder finds in a table whose records are in these classes of the keys."""
    assert found.cell_of is not None
    below = found.counts < scenario.k
    chance = chances(scenario, found, population)
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
        scenario=scenario.name,
        k=scenario.k,
        keys=tuple(keys),
        left_out=left_out,
        records=found.records,
        unique=int(found.sizes[found.counts == 1].sum()),
        below=int(found.sizes[below].sum()),
        violating={level: int(found.sizes[found.counts < level].sum()) for level in LEVELS},
        expected=float((chance * found.sizes).sum()),
        largest=float(chance.max()),
        notes=() if scenario.knows_membership else (population.said,),
        **together,  # type: ignore[arg-type]
    )


def chances(scenario: Scenario, found: KeyClasses, population: Population) -> Floats:
    """Return, for each combination of key values, the chance that one of its records is picked rightly."""
    frequency = found.counts.astype(np.float64)
    if scenario.knows_membership or population.weights is None:
        return 1 / frequency
    assert found.cell_of is not None
    weights = class_sums(found.cell_of, population.weights, len(found))
    return expected_inverse(frequency, np.maximum(found.agreeing(weights), frequency))
