"""Information loss: how far values, means, variances, covariances and correlations moved (Table 1 of the paper)."""

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.catalogue import catalogued
from sfumato.core import Measure, Measurement
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import ROUNDING, mean_and_spread

Floats = NDArray[np.float64]
Statistic = Literal["data", "means", "covariances", "variances", "correlations"]
Error = Literal["mean square error", "mean absolute error", "mean variation"]

SOURCE = "Domingo-Ferrer, Mateo-Sanz and Torres, Concepts for the Evaluation of Anonymized Data"
MISSING = (
    "a cell missing in either table is left out; means, variances and covariances are taken over the values (pairs of "
    "values) present in each table"
)
UNSTABLE = (
    "relative differences explode for values, means or covariances near zero, and are undefined at zero (left out and "
    "counted); two candidates are best compared on the same variables"
)


@catalogued(
    MeasureAbout(
        title="Information loss (IL)",
        source=f"{SOURCE}, section 5",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        unit="percent",
        missing=MISSING,
        caveat=UNSTABLE,
        formula="IL = 100 (V(X) + V(m) + V(C) + V(v) + A(R)) / 5\n"
        "V(T) = mean of |t - t'| / |t| over the figures t of T that are not 0;   A(T) = mean of |t - t'|\n"
        "X all values, m means, C covariances (upper triangle with diagonal), v variances (n - 1),\n"
        "R correlations above the diagonal;   t in the original, t' in the protected table",
        reading="In percent: 10 means that the five figures moved by a tenth of their size on average. A few percent "
        "is light masking, 20 and more is heavy, 100 means that figures are off by as much as they are; look at the "
        "parts, for one of the five (often the covariances, some of which are small) may make most of it. It needs "
        "the same records in both tables, so a synthetic file cannot be judged by it, and it is blind to everything "
        "but values, means and second moments: a curve may be gone, or a tail, without any sign.",
    )
)
class InformationLoss(Measure):
    """100 times the mean of five discrepancies between original and protected table: IL of the paper's Table 2.

    The five: mean variation (mean relative difference) of the values, of the means, of the covariances (upper triangle
    with diagonal) and of the variances, and mean absolute error of the correlations (strict upper triangle). 0 means
    nothing was lost; there is no upper bound. Parts hold the five figures, times 100; ``by_variable`` the mean
    variation of each variable's values, times 100.
    """

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        changes = Changes.between(self, original, protected)
        parts = {
            "values": changes.loss("data", "mean variation"),
            "means": changes.loss("means", "mean variation"),
            "covariances": changes.loss("covariances", "mean variation"),
            "variances": changes.loss("variances", "mean variation"),
            "correlations": changes.correlation_error(),
        }
        return changes.measured(float(np.mean(list(parts.values()))), parts)


@catalogued(
    MeasureAbout(
        title="Information loss (Torres)",
        source=f"{SOURCE}, section 6",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        unit="percent",
        missing=MISSING,
        caveat=UNSTABLE,
        formula="IL = 100 (IL1 + IL2 + IL3) / 3\n"
        "IL1 = V(X);   IL2 = (V(m) + V(v)) / 2;   IL3 = (V(C) + A(R)) / 2\n"
        "V, A and the letters as in InformationLoss",
        reading="Read it as InformationLoss; the values count a third instead of a fifth, so methods that move "
        "single values and keep totals (noise, swapping) look worse here. Figures of the two measures do not compare "
        "with each other.",
    )
)
class InformationLossTorres(Measure):
    """100 times the mean of IL1 (values), IL2 (univariate statistics) and IL3 (bivariate statistics): IL of section 6.

    IL1 is the mean variation of the values; IL2 the average of those of the means and of the variances; IL3 the average
    of the mean variation of the covariances and the mean absolute error of the correlations. Parts hold the three,
    times 100.
    """

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        changes = Changes.between(self, original, protected)
        parts = {
            "IL1": changes.loss("data", "mean variation"),
            "IL2": (changes.loss("means", "mean variation") + changes.loss("variances", "mean variation")) / 2,
            "IL3": (changes.loss("covariances", "mean variation") + changes.correlation_error()) / 2,
        }
        return changes.measured(float(np.mean(list(parts.values()))), parts)


@catalogued(
    MeasureAbout(
        title="Structure loss (one cell of Table 1)",
        source=f"{SOURCE}, Table 1",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        missing=MISSING,
        caveat=UNSTABLE,
        formula="mean square error    mean of (t - t')^2\n"
        "mean absolute error  mean of |t - t'|\n"
        "mean variation       mean of |t - t'| / |t|, figures with t = 0 left out\n"
        "t = the values, means, covariances (with variances), variances or correlations; t' those after",
        reading="A single cell to look into where InformationLoss is large. Mean variation has no unit and compares "
        "variables; the other two are in the variables' own units (squared for squares), so that the variable with "
        "the largest numbers decides, except for correlations, where an absolute error of 0.05 is what an analyst "
        "would notice.",
    )
)
class StructureLoss(Measure):
    """One of the 15 cells of the paper's Table 1: an error of the data, or of one kind of statistic.

    ``of`` names the row (data, means, covariances, variances, correlations), ``error`` the column. Covariances are
    those of the upper triangle with the diagonal, correlations those above it. As in the table, not times 100.

    >>> import pyarrow as pa
    >>> x, y = pa.table({"a": [1.0, 2.0, 4.0]}), pa.table({"a": [1.0, 3.0, 4.0]})
    >>> StructureLoss("data", "mean variation").evaluate(x, y).value  # (0 + 1/2 + 0) / 3
    0.16666666666666666
    """

    of: Statistic = "data"
    error: Error = "mean variation"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "of", get_args(Statistic))
        parameters.one_of(self, "error", get_args(Error))

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        changes = Changes.between(self, original, protected)
        value = changes.loss(self.of, self.error)
        return self.measurement(value, notes=tuple(changes.notes))


@dataclass
class Changes:
    """The statistics of both tables side by side, and notes on what had to be left out."""

    measure: Measure
    names: tuple[str, ...]
    before: Floats
    after: Floats
    notes: list[str] = field(default_factory=list)

    @classmethod
    def between(cls, measure: Measure, original: Microdata, protected: Microdata) -> "Changes":
        """Take the variables both tables have."""
        names, notes = measure._shared(original, protected)
        before, after = original.numeric(names), protected.numeric(names)
        empty = [name for j, name in enumerate(names) if np.isnan(before[:, j]).all() or np.isnan(after[:, j]).all()]
        if empty:
            raise NotApplicable(f"{type(measure).__name__}: every value of {', '.join(empty)} is missing")
        if len(before) < 2:
            raise NotApplicable(f"{type(measure).__name__}: variances need at least two records; there is one")
        changes = cls(measure, names, before, after, list(notes))
        missing = int((np.isnan(before) | np.isnan(after)).sum())
        if missing:
            changes.notes.append(f"{missing} of {before.size} values left out: missing in one of the tables")
        return changes

    def loss(self, of: Statistic, error: Error) -> float:
        """Return one cell of Table 1."""
        before, after = self._statistics(of)
        return self._mean(before, after, of, error)

    def correlation_error(self) -> float:
        """Return the mean absolute error of the correlations; 0 where there is nothing to correlate."""
        upper = np.triu_indices(len(self.names), 1)
        defined = np.isfinite(correlations(self.before)[upper]) & np.isfinite(correlations(self.after)[upper])
        if not defined.any():
            self.notes.append("no two variables that vary: there is no correlation, its error counts as 0")
            return 0.0
        return self.loss("correlations", "mean absolute error")

    def measured(self, value: float, parts: dict[str, float]) -> Measurement:
        """Dress the value, times 100."""
        by_variable = {}
        for j, name in enumerate(self.names):
            pair = self.before[:, j], self.after[:, j]
            by_variable[name] = 100 * self._mean(*pair, "data", "mean variation", quiet=True)
        return self.measure.measurement(
            100 * value,
            parts={name: 100 * part for name, part in parts.items()},
            by_variable=by_variable,
            notes=tuple(self.notes),
        )

    def _statistics(self, of: Statistic) -> tuple[Floats, Floats]:
        if of == "data":
            return self.before.ravel(), self.after.ravel()
        if of == "means":
            return _means(self.before), _means(self.after)
        pair = covariances(self.before), covariances(self.after)
        if of == "variances":
            return np.diag(pair[0]).copy(), np.diag(pair[1]).copy()
        if of == "covariances":
            upper = np.triu_indices(len(self.names))
            return pair[0][upper], pair[1][upper]
        if len(self.names) == 1:
            raise NotApplicable(f"{type(self.measure).__name__}: correlations need at least two variables")
        upper = np.triu_indices(len(self.names), 1)
        return correlations(self.before)[upper], correlations(self.after)[upper]

    def _mean(self, before: Floats, after: Floats, of: Statistic, error: Error, *, quiet: bool = False) -> float:
        defined = np.isfinite(before) & np.isfinite(after)
        zero = defined & (before == 0)
        used = defined & ~zero if error == "mean variation" else defined
        if not used.any():
            if quiet:
                return float("nan")
            why = "every original figure is zero" if zero.any() else "none is defined in both tables"
            raise NotApplicable(f"{type(self.measure).__name__}: no {error} of the {of}: {why}")
        if not quiet:
            if error == "mean variation" and zero.any():
                self.notes.append(f"{int(zero.sum())} of {before.size} {of} left out of the mean variation: zero")
            if of != "data" and not defined.all():
                self.notes.append(f"{int((~defined).sum())} of {before.size} {of} left out: not defined in both tables")
        gap = np.abs(before[used] - after[used])
        if error == "mean square error":
            return float(np.mean(gap**2))
        return float(np.mean(gap / np.abs(before[used]) if error == "mean variation" else gap))


def _means(values: Floats) -> Floats:
    """Return the means; one that is nothing but rounding, as of a centred variable, is 0."""
    mean, _ = mean_and_spread(values)
    size = np.nanmean(np.abs(values), axis=0)
    return np.where(np.abs(mean) <= ROUNDING * size, 0.0, mean)


def covariances(values: Floats) -> Floats:
    """Return the covariance matrix (n - 1 in the denominator), each entry over the records that have both values.

    An entry that is nothing but rounding (of a constant, or of two unrelated variables) is 0.
    """
    mean, spread = mean_and_spread(values)
    found = _raw_covariances(values, mean)
    apart = np.outer(spread, spread) + np.outer(np.abs(mean), spread) + np.outer(spread, np.abs(mean))
    dust = (np.abs(found) <= ROUNDING * apart) | (np.outer(spread, spread) == 0)
    return np.where(dust & ~np.isnan(found), 0.0, found)


def _raw_covariances(values: Floats, mean: Floats) -> Floats:
    present = ~np.isnan(values)
    centred = np.where(present, values - mean, 0.0)
    both = present.astype(np.float64)
    counts = both.T @ both
    sums = centred.T @ both  # entry (j, k): the sum of j over the records that also have k
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = (centred.T @ centred - sums * sums.T / counts) / (counts - 1)
    return np.where(counts > 1, found, np.nan)


def correlations(values: Floats) -> Floats:
    """Return the correlation matrix over the records that have both values; NaN where a variable is constant."""
    present = ~np.isnan(values)
    mean, deviation = mean_and_spread(values)
    centred = np.where(present & (deviation > 0), values - mean, 0.0)
    both = present.astype(np.float64)
    counts, sums, squares = both.T @ both, centred.T @ both, (centred**2).T @ both
    with np.errstate(invalid="ignore", divide="ignore"):
        products = centred.T @ centred - sums * sums.T / counts
        spread = squares - sums**2 / counts  # of j over the records that also have k
        spread = np.where(spread > 1e-12 * squares, spread, 0.0)  # what rounding leaves of a constant is no spread
        found: Floats = products / np.sqrt(spread * spread.T)
    return np.clip(np.where(np.isfinite(found), found, np.nan), -1.0, 1.0)
