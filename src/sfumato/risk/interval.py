"""Interval disclosure: whether the original value lies in a narrow interval around the protected one."""

from abc import abstractmethod
from collections.abc import Iterator
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.catalogue import catalogued
from sfumato.core import Measure, Measurement
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import mean_and_spread

Floats = NDArray[np.float64]
PERCENTS = tuple(float(p) for p in range(1, 11))
MISSING = "a value missing in either table is left out (it is neither inside nor outside) and counted"


class IntervalDisclosure(Measure):
    """What both interval measures share: the share of values inside, averaged over interval sizes."""

    percents: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = (self.percents,) if isinstance(self.percents, Real) else tuple(self.percents)
        if not sizes or not all(isinstance(p, Real) and 0 < p <= 100 for p in sizes):
            raise parameters.refuse(self, f"percents must be numbers in (0, 100]; got {self.percents!r}")
        object.__setattr__(self, "percents", tuple(float(p) for p in sizes))

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        names, notes = self._shared(original, protected)
        inside = np.zeros((len(original), len(names)))  # share of the interval sizes that hold the original value
        compared = np.zeros(inside.shape, dtype=bool)
        hits, by_variable = np.zeros(len(self.percents)), {}
        for j, name in enumerate(names):
            before, after = original.columns[name], protected.columns[name]
            present = ~np.isnan(after)
            compared[:, j] = present & ~np.isnan(before)
            for place, (low, high) in enumerate(self._intervals(after[present])):
                hit = (before[present] >= low) & (before[present] <= high)
                inside[present, j] += hit
                hits[place] += hit.sum()
            inside[:, j] /= len(self.percents)
            cells = compared[:, j]
            by_variable[name] = float(inside[cells, j].mean()) if cells.any() else float("nan")
        total = int(compared.sum())
        if total == 0:
            raise NotApplicable(f"{type(self).__name__}: no value is present in both tables")
        if total < compared.size:
            notes = (*notes, f"{compared.size - total} of {compared.size} values left out: missing in one table")
        counts = compared.sum(axis=1)
        by_record = np.divide(inside.sum(axis=1), counts, out=np.full(len(original), np.nan), where=counts > 0)
        return self.measurement(
            inside.sum() / total,
            parts={f"{p:g} %": float(h / total) for p, h in zip(self.percents, hits, strict=True)},
            by_variable=by_variable,
            by_record=by_record,
            notes=notes,
        )

    @abstractmethod
    def _intervals(self, after: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield, for each size, the lower and upper ends of the intervals around the protected values."""


@catalogued(
    MeasureAbout(
        title="Rank interval disclosure (ID, ID1)",
        source="Domingo-Ferrer, Mateo-Sanz and Torres, Concepts for the Evaluation of Anonymized Data, section 4.3",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING,
        joint=False,
        caveat="looks at one variable at a time; a table of unrelated draws still scores about the interval's width",
        formula="ID = mean over sizes p, variables j and records i of [ y_(r - d) <= x_ij <= y_(r + d) ]\n"
        "r = rank of y_ij among the n protected values of j (ties: mean rank),  d = floor(p n / 100)\n"
        "y_(r) = r-th smallest protected value;   x original, y protected",
        reading="1 means that every true value lies inside even the narrowest interval, one percent of the ranks to "
        "either side. Unrelated values of the same distribution still score about twice the mean size: 0.11 with "
        "sizes 1 to 10 percent. Above 0.5 values are hardly protected. A close value is a disclosure only for someone "
        "who knows whose record it is: read it beside a measure of linkage.",
    )
)
class RankInterval(IntervalDisclosure):
    """Share of original values inside the rank interval around their protected value: ID (ID1) of the paper.

    The interval of size p runs from the protected value whose rank is p % of n lower to the one whose rank is p % of n
    higher (rounded down, both ends included, cut off at the smallest and largest value); values that tie share the
    mean of their ranks. The figure is the mean over the sizes in ``percents`` and over all values; 1 means that an
    intruder is sure to know every value to within such an interval.
    """

    percents: tuple[float, ...] = PERCENTS

    def _intervals(self, after: Floats) -> Iterator[tuple[Floats, Floats]]:
        ordered = np.sort(after)
        rank = (np.searchsorted(ordered, after, "left") + np.searchsorted(ordered, after, "right") - 1) / 2
        for p in self.percents:
            reach = int(p * after.size / 100 + 1e-9)
            low = np.ceil(np.maximum(rank - reach, 0)).astype(np.intp)
            high = np.floor(np.minimum(rank + reach, after.size - 1)).astype(np.intp)
            yield ordered[low], ordered[high]


@catalogued(
    MeasureAbout(
        title="Standard deviation interval disclosure (ID2)",
        source="Domingo-Ferrer, Mateo-Sanz and Torres, Concepts for the Evaluation of Anonymized Data, section 6",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING,
        joint=False,
        caveat="looks at one variable at a time; for skewed variables the standard deviation is wide, the figure high",
        formula="ID2 = mean over sizes p, variables j and records i of [ |x_ij - y_ij| <= (p / 100) s_j / 2 ]\n"
        "s_j = standard deviation (n - 1) of the protected variable;   x original, y protected",
        reading="1 means that every true value lies inside even the narrowest interval, half a percent of a standard "
        "deviation to either side. Unrelated values score by shape alone: 0.016 for a normal variable with sizes 1 to "
        "10 percent, 0.13 for a lognormal one with sigma = 1.5. Compare candidates on the same variables, and look at "
        "each variable by itself.",
    )
)
class SpreadInterval(IntervalDisclosure):
    """Share of original values inside an interval of p % of a standard deviation around their protected value: ID2.

    The interval is centred on the protected value, and its whole width is p % of the standard deviation of the
    protected variable, which is what an intruder sees; both ends are included. The figure is the mean over the sizes in
    ``percents`` and over all values.
    """

    percents: tuple[float, ...] = PERCENTS

    def _intervals(self, after: Floats) -> Iterator[tuple[Floats, Floats]]:
        _, deviation = mean_and_spread(after[:, None])
        for p in self.percents:
            half = p / 100 * deviation[0] / 2
            yield after - half, after + half
