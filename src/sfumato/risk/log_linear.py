"""Population uniques by a Poisson log-linear model of the keys."""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import matching_sums
from sfumato.kernels.groups import class_sums
from sfumato.kernels.log_linear import fitted, placed, possible_cells
from sfumato.measurement import Measurement
from sfumato.pair import Keys, Pair, sampling_fraction
from sfumato.registry import catalogued

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Terms = Literal["main", "two-way"]
Weighting = Literal["mean", "Clogg-Eliason", "pseudo-likelihood"]
Notes = tuple[str, ...]
Shape = Callable[[Floats], tuple[Floats, Floats, Floats]]
MAX_CELLS = 10_000_000
CHUNK = 1_000_000  # cells at a time, to spare memory
ORDER: dict[str, int] = {"main": 1, "two-way": 2}
POOR = 1.96
TINY = 1e-300
MIN_SHARE = 1e-6  # of a combination that the model expects next to nothing of
SERIES = np.polynomial.Polynomial([(-1) ** k / factorial(k + 1) for k in range(12)])  # of (1 - exp(-h)) / h


@catalogued(
    MeasureAbout(
        title="Re-identified sample uniques (log-linear model)",
        source="Skinner and Holmes (1998); Elamir and Skinner (2006); Skinner and Shlomo (2008)",
        purpose="risk",
        counts=("uniques", "tau", "B1", "B2"),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing="a missing key may be any value: such a record is unique if no other agrees with it, and its expected "
        "count is that of all combinations it may have; the model is fitted to the records without missing keys",
        weights=True,
        paired=False,
        keys=True,
        records="protected",
        parts="summaries",
        caveat="it tells of records that are alone in the file only; PopulationRisk(population_model='log-linear') "
        "extends it to all, and by default takes Pitman's model, which knows no keys but classes of any size. As good "
        "as its model: one that is too simple overstates the risk, one that is too rich understates it. "
        'With weighting="mean" only the mean sampling fraction enters, not each record\'s weight',
        formula="value = sum over sample uniques of r / n,   r = (1 - exp(-h)) / h,   h = l (1 - pi)\n"
        "mean: l = m / pi, m expected in the file by the log-linear model, pi = records / sum of weights\n"
        "Clogg-Eliason: log m = model + log z, l = m / z, pi = z = records / weights of the combination\n"
        "pseudo-likelihood: l expected by the model fitted to the weighted counts, pi = 1 / weight\n"
        "tau1 = sum of exp(-h): population uniques among the sample uniques;   tau2 = sum of r",
        reading="tau1 is the number of people in the file who are alone in the population, the value the share an "
        "intruder matches correctly among all records. Read B1 and B2 first: beyond 1.96 in size, standardised, the "
        'model does not fit, and the other ``terms`` should be tried. "main" overstates where keys go together, '
        '"two-way" is the usual choice.',
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
    residuals f - pi l of the sample. To choose a model by such an estimate of bias is the idea of Skinner and Shlomo;
    the estimate here is another than theirs, an expansion to second order about the fit (see ``model_check``), so do
    not compare the two. "B1, standardised" and "B2, standardised" divide them by their standard deviation under the
    model. Beyond 1.96 in size a note says that the model is poor. Without weights the file is taken for a census, and a
    unique is certain.

    Where weights differ between combinations, one mean pi is wrong for each of them. ``weighting="Clogg-Eliason"`` fits
    the model with the log of each combination's own sampling fraction (its records over the sum of their weights) as
    an offset; for combinations without records, of which that method says nothing, it is what the model fitted to the
    counts expects there over what the model fitted to the weights does. ``"pseudo-likelihood"`` fits the model to the
    sums of the weights. Both give the means l of the population, and a unique's pi is 1 over its weight. (sdcMicro's
    ``modRisk`` takes the means of the sample for l in all its variants, adds 0.1 to every offset and rounds weights.)
    """

    terms: Terms = "two-way"
    weighting: Weighting = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "terms", ("main", "two-way"))
        parameters.one_of(self, "weighting", get_args(Weighting))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = Keys.of(pair, self.variables)
        found = keys.classes
        unique = found.counts == 1
        outside, counts, model, notes = self._fit(pair, keys, unique)
        h = outside[unique]
        alone, match = np.exp(-h), one_in(h)[0]
        risk = np.zeros(len(found))
        risk[unique] = match
        parts = {"uniques": float(unique.sum()), "tau1": float(alone.sum()), "tau2": float(match.sum())}
        for name, shape in (("B1", only_one), ("B2", one_in)):
            bias, spread = model_check(counts, model.sample, model.growth, shape)
            parts |= {name: bias, f"{name}, standardised": bias / spread if spread > 0 else 0.0}
        if max(abs(parts["B1, standardised"]), abs(parts["B2, standardised"])) > POOR:
            way = "high" if parts["B2"] > 0 else "low"
            notes = (*notes, f"the model with {self.terms} terms fits poorly: the figure is probably too {way}")
        return self.measurement(
            found.mean(risk), parts=parts, by_record=found.by_record(risk), notes=(*keys.notes, *notes)
        )

    def expected_outside(
        self, pair: Pair, keys: Keys, *, population: float | None = None, most: int | None = None
    ) -> Floats:
        """Return, for each combination of keys, the units expected outside the file with such keys.

        ``population`` is what the weights should sum to. With ``most`` a table of more combinations is refused.
        """
        return self._fit(pair, keys, np.ones(len(keys.classes), dtype=bool), population, most or MAX_CELLS)[0]

    def _fit(
        self,
        pair: Pair,
        keys: Keys,
        wanted: NDArray[np.bool_],
        population: float | None = None,
        most: int = MAX_CELLS,
    ) -> tuple[Floats, Floats, "_Model", Notes]:
        """Fit the model: the units outside the file like those of the classes wanted, the counts of cells, notes."""
        found = keys.classes
        fraction, notes = sampling_fraction(pair) if population is None else (found.records / population, ())
        codes = _from_zero(found.cells)
        whole = (codes >= 0).all(axis=1)
        cells = self._cells(keys.names, codes[whole], most)
        place = placed(cells, codes[whole])
        counts = class_sums(place, found.sizes[whole], len(cells))
        shares = self._shares(keys, pair, fraction)
        model = self._fitted(cells, counts, class_sums(place, (found.sizes / shares)[whole], len(cells)), fraction)
        if not model.converged:
            notes = (*notes, "the fit of the model had not converged: some combinations of two keys are very rare")
        means = np.zeros(len(found))
        means[whole] = model.population[place]
        means[wanted & ~whole] = matching_sums(codes[wanted & ~whole], cells, model.population)
        return (1 - shares) * (means * (found.records / counts.sum())), counts, model, notes

    def _shares(self, keys: Keys, pair: Pair, fraction: float) -> Floats:
        """Return the share of the population that is in the file, for each combination."""
        weights = keys.weights(pair)[0] if self.weighting != "mean" else None
        if weights is None:
            return np.full(len(keys.classes), fraction)
        return np.asarray(keys.classes.sizes / weights)

    def _fitted(self, cells: Codes, counts: Floats, weights: Floats, fraction: float) -> "_Model":
        """Fit the model; ``weights`` are the sums of the weights of each combination."""
        order = ORDER[self.terms]
        if self.weighting == "mean":
            sample, converged = fitted(cells, counts, order)
            return _Model(sample, sample / fraction, np.full(len(cells), (1 - fraction) / fraction), converged)
        population, converged = fitted(cells, weights, order)
        sample, also = fitted(cells, counts, order)
        # of combinations without records: what the two models expect of them
        shares = np.where(population > 0, np.minimum(sample / np.maximum(population, TINY), 1.0), fraction)
        shares = np.where(counts > 0, counts / np.maximum(weights, TINY), np.maximum(shares, MIN_SHARE))
        if self.weighting == "Clogg-Eliason":
            sample, converged = fitted(cells, counts, order, start=shares)
            population = sample / shares
        return _Model(population * shares, population, (1 - shares) / shares, converged and also)

    def _cells(self, names: tuple[str, ...], codes: Codes, most: int) -> Codes:
        """List the combinations in which the model expects records, given those without missing keys that occur."""
        if not len(codes):
            raise NotApplicable("every record lacks a key, so there is nothing to fit a model to")
        cells = possible_cells(codes, ORDER[self.terms], most)
        if cells is None:
            raise NotApplicable(
                f"the keys {', '.join(names)} have more than {most:,} combinations that a model with "
                f"{self.terms} terms expects; recode them or name fewer"
            )
        return cells


@dataclass(frozen=True, eq=False)
class _Model:
    """The means of each combination in the sample and in the population, and the units outside for each inside."""

    sample: Floats
    population: Floats
    growth: Floats
    converged: bool


def _from_zero(cells: Codes) -> Codes:
    """Number the values of each key that records without missing keys have; others come after them, missing is -1."""
    whole = (cells >= 0).all(axis=1)
    numbered = np.empty_like(cells)
    for j, column in enumerate(cells.T):
        values = np.unique(column[whole])
        place = np.searchsorted(values, column)
        known = np.append(values, -1)[place] == column  # beyond the last: no value is -1 but missing
        numbered[:, j] = np.where(column < 0, -1, np.where(known, place, len(values)))
    return numbered


def only_one(h: Floats) -> tuple[Floats, Floats, Floats]:
    """Return exp(-h), the probability that a sample unique is a population unique, and its two derivatives."""
    alone = np.exp(-h)
    return alone, -alone, alone


def one_in(h: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (1 - exp(-h)) / h, the expectation of 1/F of a sample unique, and its two derivatives.

    >>> [round(float(value[0]), 6) for value in one_in(np.array([2.0]))]
    [0.432332, -0.148499, 0.080831]
    """
    found = np.empty((3, len(h)))
    small = h < 0.1  # where differences of nearly equal numbers would lose digits
    found[:, small] = SERIES(h[small]), SERIES.deriv()(h[small]), SERIES.deriv(2)(h[small])
    x = h[~small]
    tail = np.exp(-x)
    found[:, ~small] = (1 - tail) / x, (tail * (1 + x) - 1) / x**2, (2 - tail * (x**2 + 2 * x + 2)) / x**3
    return found[0], found[1], found[2]


def model_check(counts: Floats, expected: Floats, growth: Floats, shape: Shape) -> tuple[float, float]:
    """Estimate the bias of a sum of ``shape`` over sample uniques, and its standard deviation if the model holds.

    With m the true and m' the fitted mean of a combination in the sample, uniques add m e^-m (g(m') - g(m)) to the
    bias, g(m) = shape(growth m). To second order in m - m', for which f - m' stands, and (f - m')^2 - f for its square;
    both have mean 0 under the model, variances m and 2 m^2, and no covariance.
    """
    bias = variance = 0.0
    for part in range(0, len(counts), CHUNK):
        f, m, grown = (whole[part : part + CHUNK] for whole in (counts, expected, growth))
        _, slope, bend = shape(grown * m)
        slope, bend = grown * slope, grown**2 * bend
        unique, unique_slope = m * np.exp(-m), (1 - m) * np.exp(-m)
        linear, square = -unique * slope, -(unique_slope * slope + unique * bend / 2)
        bias += float((linear * (f - m) + square * ((f - m) ** 2 - f)).sum())
        variance += float((linear**2 * m + 2 * square**2 * m**2).sum())
    return bias, variance**0.5
