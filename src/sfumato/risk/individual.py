"""Individual risk of re-identification: how many units of the population share a record's keys, given its sample."""

from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.kernels.groups import class_sums
from sfumato.measurement import Measurement
from sfumato.pair import Half, Keys, Pair
from sfumato.pair.keys import MISSING_KEYS
from sfumato.pair.statistics import UnitSums
from sfumato.registry import catalogued
from sfumato.table.households import counted, units

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@catalogued(
    MeasureAbout(
        title="Individual risk (expected share re-identified)",
        source="Benedetti and Franconi (1998); Hundepool et al., Statistical Disclosure Control (2012)",
        purpose="risk",
        counts=("expected re-identifications",),
        beside=("expected re-identifications", "largest", "records, with their household", "largest of a household"),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing=MISSING_KEYS,
        weights=True,
        paired=False,
        keys=True,
        records="protected",
        parts="summaries",
        caveat="each class is judged by its own weights alone, so that the figure is far too low where keys are many "
        "and classes small (a thirteenth of the truth was seen): PopulationRisk learns from all classes how they "
        "continue, and Reidentification rests on it. It assumes that the intruder's register covers the population "
        "without error; it does not hold for a perturbed or synthetic file",
        formula="value = mean of r,   r = E(1 / F | f) = integral over v from 0 to 1 of v^(f - 1) / (1 + v q / p)\n"
        "f = records of the file with the same keys;   p = f / (sum of their weights),  q = 1 - p\n"
        "f = 1: (p / q) ln(1 / p);   without weights: 1 / f\n"
        "household: 1 - product over its members of (1 - r)",
        reading="The expected share of records re-identified by someone with a register of the whole population and "
        "these keys. Thresholds are set for the single record as well as for the mean; the parts give the largest r, "
        "the share above a bound (0.1) and the expected number. In a household survey read the figure with households, "
        "which is larger, since finding one member finds all.",
    )
)
class IndividualRisk(Measure):
    """Expected share of records an intruder re-identifies by their keys: the mean individual risk.

    Of the F units of the population that share a record's keys, f are in the sample. F given f is negative binomial
    with success probability p = f / (sum of the weights of those f), and the risk of each of them is r = E(1/F | f)
    (Benedetti and Franconi): with q = 1 - p, (p/q) ln(1/p) for f = 1, p/q - (p/q)^2 ln(1/p) for f = 2 and
    (p^f / f) 2F1(f, f; f + 1; q) in general, computed exactly and not by the approximation p / (f - 1 + p) of other
    programs. The value is the mean of r (``by_record``) and n times it the expected number of re-identifications
    (``parts``). Where the schema names a household, a household is re-identified when any member is: its risk is
    1 - product of (1 - r), and the part "records, with their household" is the mean of that over the records. A
    protected table that lacks the household is judged with the original's, where its records match.

    Without weights the file is taken for a census, p = 1 and r = 1/f, and a note says so. Weights below one are
    refused: a record stands at least for itself, so they have been rescaled. ``population`` is the number of units that
    they should sum to: they are then scaled to it, and without weights every record stands for as many. A protected
    table that lacks the weight is judged with the original's, where its records match. Read the largest risks as well
    as the mean, which hides them; the part "records above 0.1" is the share of records beyond the bound ``above``.
    """

    population: float | None = field(default=None, kw_only=True)
    above: float = field(default=0.1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.share(self, "above")
        if self.population is not None:
            parameters.number(self, "population", above=0)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = Keys.of(pair, self.variables)
        found = keys.classes
        weights, notes = keys.weights(pair, self.population)
        frequency = found.counts.astype(np.float64)
        population = frequency if weights is None else np.maximum(found.agreeing(weights), frequency)
        risk = expected_inverse(frequency, population)
        value = found.mean(risk)
        parts = {
            "expected re-identifications": value * found.records,
            "largest": float(risk.max()),
            f"records above {self.above:g}": found.share(risk > self.above),
        }
        homes, said = pair.homes()
        if homes is not None:
            parts |= of_households(keys, risk, homes)
        notes = (*keys.notes, *notes, *said)
        return self.measurement(value, parts=parts, by_record=found.by_record(risk), notes=notes)


def of_households(keys: Keys, risk: Floats, half: Half) -> dict[str, float]:
    """Return the mean over records and the largest of the risk that a member of the household is re-identified."""
    name = str(half.schema.household)
    with np.errstate(divide="ignore"):  # who is certain to be found: log 0
        safe = np.log1p(-np.minimum(risk, 1.0))
    cell_of = keys.locating()
    if half.in_parts:
        found = half.total(lambda part: UnitSums.of(units(part), part.columns[name], safe[cell_of(part)]))
    else:
        found = UnitSums.of(half.units, half.table.columns[name], safe[cell_of(half.table)])
    together, alone = any_member(found.sums), any_member(found.alone)
    return {
        "records, with their household": float(((found.members * together).sum() + alone.sum()) / len(half)),
        "largest of a household": float(max(together.max(initial=0.0), alone.max(initial=0.0))),
    }


def any_member(safe: Floats) -> Floats:
    """Return the risk that at least one member is re-identified, given the sum of log(1 - r) over the members.

    >>> any_member(np.log([0.5 * 0.8, 0.9])).round(3).tolist()
    [0.6, 0.1]
    """
    return -np.expm1(safe)


def household_chances(chance: Floats, unit: Integers) -> Floats:
    """Return the chance of each household that at least one member is found, given that of each record.

    >>> household_chances(np.array([0.5, 0.2, 1.0]), np.array([0, 0, 1])).round(3).tolist()
    [0.6, 1.0]
    """
    with np.errstate(divide="ignore"):  # who is certain to be found: log 0
        return any_member(class_sums(unit, np.log1p(-np.minimum(chance, 1.0)), counted(unit)))
