"""Population uniques by a Poisson log-linear model of the keys."""

from collections.abc import Callable
from math import factorial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.catalogue import catalogued
from sfumato.core import Measure, Measurement
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.log_linear import fitted_table
from sfumato.risk.classes import KeyClasses, design_weights, key_classes

Floats = NDArray[np.float64]
Terms = Literal["main", "two-way"]
Shape = Callable[[Floats], tuple[Floats, Floats, Floats]]
MOST_CELLS = 5_000_000
POOR = 1.96
SERIES = np.polynomial.Polynomial([(-1) ** k / factorial(k + 1) for k in range(12)])  # of (1 - exp(-h)) / h


@catalogued(
    MeasureAbout(
        title="Re-identified sample uniques (log-linear model)",
        source="Skinner and Holmes (1998); Elamir and Skinner (2006); Skinner and Shlomo (2008)",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal"),
        missing="a missing key may be any value: such a record is unique if no other agrees with it, and its expected "
        "count is that of all combinations it may have; the model is fitted to the records without missing keys",
        weights=True,
        paired=False,
        keys=True,
        caveat="as good as its model: one that is too simple overstates the risk, one that is too rich understates it. "
        "Only the mean sampling fraction enters, not each record's weight",
    )
)
class LogLinearRisk(Measure):
    """Expected share of records that are unique on their keys and correctly matched with the population.

    The number of units of the population with each combination of keys is Poisson with mean l, and the sample takes a
    share pi of them (records over the sum of weights). The means of the sample, pi l, follow a log-linear model with
    ``terms`` "main" (keys independent) or "two-way" (every pair of keys associated), fitted to the whole table of the
    keys, empty combinations included. Of a sample unique then 1/F, F the number of its like in the population, has the
    expectation r = (1 - exp(-h)) / h with h = l (1 - pi), and it is unique in the population with probability exp(-h).
    The parts give their sums over the sample uniques, tau1 (expected population uniques) and tau2 (expected correct
    matches); the value is tau2 over the number of records, ``by_record`` r for uniques and 0 for others.

    Check the model before the figure: the parts "B1" and "B2" estimate by how much tau1 and tau2 are too high, from the
    residuals f - pi l of the sample (an expansion to second order about the fit, as Skinner and Shlomo propose), and
    "B1, standardised" and "B2, standardised" divide them by their standard deviation under the model. Beyond 1.96 in
    size a note says that the model is poor. Without weights the file is taken for a census, and a unique is certain.
    """

    terms: Terms = "two-way"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "terms", ("main", "two-way"))

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        found = key_classes(self, original, protected)
        weights, notes = design_weights(self, original, protected)
        fraction = 1.0 if weights is None else len(weights) / float(weights.sum())
        growth = (1 - fraction) / fraction  # units of the population outside the sample for each in it
        counts, codes = self._table(found)
        expected, converged = fitted_table(counts, 1 if self.terms == "main" else 2)
        if not converged:
            notes = (*notes, "the fit of the model had not converged: some combinations of two keys are very rare")
        unique = found.counts == 1
        h = growth * _means(expected * (len(codes) / counts.sum()), codes[unique])
        alone, match = np.exp(-h), one_in(h)[0]
        by_record = np.zeros(len(codes))
        by_record[unique] = match
        parts = {"uniques": float(unique.sum()), "tau1": float(alone.sum()), "tau2": float(match.sum())}
        for name, shape in (("B1", only_one), ("B2", one_in)):
            bias, spread = model_check(counts, expected, growth, shape)
            parts |= {name: bias, f"{name}, standardised": bias / spread if spread > 0 else 0.0}
        if max(abs(parts["B1, standardised"]), abs(parts["B2, standardised"])) > POOR:
            way = "high" if parts["B2"] > 0 else "low"
            notes = (*notes, f"the model with {self.terms} terms fits poorly: the figure is probably too {way}")
        return self.measurement(float(by_record.mean()), parts=parts, by_record=by_record, notes=(*found.notes, *notes))

    def _table(self, found: KeyClasses) -> tuple[Floats, NDArray[np.int64]]:
        """Count the records without missing keys in the table of all combinations; number values by those they show.

        A value that no such record has gets no place in the table: -2.
        """
        whole = (found.codes >= 0).all(axis=1)
        if not whole.any():
            raise NotApplicable("LogLinearRisk: every record lacks a key, so there is nothing to fit a model to")
        codes = np.full(found.codes.shape, -1, dtype=np.int64)
        shape = []
        for j, column in enumerate(found.codes.T):
            values = np.unique(column[whole])
            place = np.minimum(np.searchsorted(values, column), len(values) - 1)
            codes[:, j] = np.where(column < 0, -1, np.where(values[place] == column, place, -2))
            shape.append(len(values))
        cells = float(np.prod(shape, dtype=np.float64))
        if cells > MOST_CELLS:
            raise NotApplicable(
                f"LogLinearRisk: the keys {', '.join(found.names)} have {cells:,.0f} combinations, more than the "
                f"{MOST_CELLS:,} a model is fitted to; recode them or name fewer"
            )
        place = np.ravel_multi_index(tuple(codes[whole].T), tuple(shape))
        return np.bincount(place, minlength=int(cells)).astype(np.float64).reshape(shape), codes


def _means(expected: Floats, codes: NDArray[np.int64]) -> Floats:
    """Return the expected count of each record's combination, summed over the values of the keys it lacks."""
    means = np.zeros(len(codes))
    patterns, of = np.unique(codes == -1, axis=0, return_inverse=True)
    for number, lacking in enumerate(patterns):
        rows = np.flatnonzero((of.ravel() == number) & (codes != -2).all(axis=1))
        margin = expected.sum(axis=tuple(np.flatnonzero(lacking)))
        means[rows] = margin[tuple(codes[rows][:, ~lacking].T)]
    return means


def only_one(h: Floats) -> tuple[Floats, Floats, Floats]:
    """Return exp(-h), the probability that a sample unique is a population unique, and its two derivatives."""
    alone = np.exp(-h)
    return alone, -alone, alone


def one_in(h: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (1 - exp(-h)) / h, the expectation of 1/F of a sample unique, and its two derivatives.

    >>> [round(float(value[0]), 6) for value in one_in(np.array([2.0]))]
    [0.432332, -0.148499, 0.080831]
    """
    small = h < 0.1  # where differences of nearly equal numbers would lose digits
    x = np.where(small, 1.0, h)
    tail = np.exp(-x)
    value = np.where(small, SERIES(h), (1 - tail) / x)
    first = np.where(small, SERIES.deriv()(h), (tail * (1 + x) - 1) / x**2)
    second = np.where(small, SERIES.deriv(2)(h), (2 - tail * (x**2 + 2 * x + 2)) / x**3)
    return value, first, second


def model_check(counts: Floats, expected: Floats, growth: float, shape: Shape) -> tuple[float, float]:
    """Estimate the bias of a sum of ``shape`` over sample uniques, and its standard deviation if the model holds.

    With m the true and m' the fitted mean of a combination in the sample, uniques add m e^-m (g(m') - g(m)) to the
    bias, g(m) = shape(growth m). To second order in m - m', for which f - m' stands, and (f - m')^2 - f for its square;
    both have mean 0 under the model, variances m and 2 m^2, and no covariance.
    """
    _, slope, bend = shape(growth * expected)
    slope, bend = growth * slope, growth**2 * bend
    seen, seen_slope = expected * np.exp(-expected), (1 - expected) * np.exp(-expected)
    linear, square = -seen * slope, -(seen_slope * slope + seen * bend / 2)
    off = counts - expected
    bias = float((linear * off + square * (off**2 - counts)).sum())
    return bias, float(np.sqrt((linear**2 * expected + 2 * square**2 * expected**2).sum()))
