"""Information loss: how far values, means, variances, covariances and correlations moved (Table 1 of the paper)."""

from dataclasses import dataclass, field
from math import sqrt
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import ROUNDING
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.pair.statistics import Moments, Sums
from sfumato.registry import catalogued
from sfumato.table.microdata import Microdata

Floats = NDArray[np.float64]
Of = Literal["data", "means", "covariances", "variances", "correlations"]
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
        parts="summaries",
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

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        changes = Changes.between(self, pair)
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
        parts="summaries",
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

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        changes = Changes.between(self, pair)
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
        parts="summaries",
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

    of: Of = "data"
    error: Error = "mean variation"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "of", get_args(Of))
        parameters.one_of(self, "error", get_args(Error))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        changes = Changes.between(self, pair)
        value = changes.loss(self.of, self.error)
        return self.measurement(value, notes=tuple(changes.notes))


class Figures(NamedTuple):
    """A statistic of both tables, figure by figure, and the size beside which a difference is but rounding."""

    before: Floats
    after: Floats
    size: Floats


@dataclass
class Changes:
    """The statistics of both tables side by side, and notes on what had to be left out."""

    measure: Measure
    names: tuple[str, ...]
    before: Moments
    after: Moments
    values: Sums  # of the values' differences, variable by variable
    notes: list[str] = field(default_factory=list)

    @classmethod
    def between(cls, measure: Measure, pair: Pair) -> "Changes":
        """Take the variables both tables have."""
        names, notes = measure.shared(pair)
        before, after = pair.original.moments(names), pair.protected.moments(names)
        present = np.minimum(before.present, after.present)
        empty = [name for name, count in zip(names, present, strict=True) if not count]
        if empty:
            raise NotApplicable(f"every value of {', '.join(empty)} is missing")
        if len(pair.original) < 2:
            raise NotApplicable("variances need at least two records; there is one")
        values = pair.total(lambda one, two: _differences(one, two, names), ("differences of values", names))
        changes = cls(measure, names, before, after, values, list(notes))
        missing = int(values["missing"].sum())
        if missing:
            size = len(pair.original) * len(names)
            changes.notes.append(f"{missing} of {size} values left out: missing in one of the tables")
        return changes

    def loss(self, of: Of, error: Error) -> float:
        """Return one cell of Table 1."""
        if of == "data":
            return self._of_values(error)
        before, after, size = self._figures(of)
        defined = np.isfinite(before) & np.isfinite(after)
        zero = defined & (before == 0)
        used = defined & ~zero if error == "mean variation" else defined
        if not used.any():
            raise _nothing(of, error, zero=bool(zero.any()))
        if error == "mean variation" and zero.any():
            self.notes.append(f"{int(zero.sum())} of {before.size} {of} left out of the mean variation: zero")
        if not defined.all():
            self.notes.append(f"{int((~defined).sum())} of {before.size} {of} left out: not defined in both tables")
        gap = np.abs(before[used] - after[used])
        gap = np.where(gap <= ROUNDING * size[used], 0.0, gap)  # as of a mean that swapping leaves as it is
        if error == "mean square error":
            return float(np.mean(gap**2))
        return float(np.mean(gap / np.abs(before[used]) if error == "mean variation" else gap))

    def correlation_error(self) -> float:
        """Return the mean absolute error of the correlations; 0 where there is nothing to correlate."""
        upper = np.triu_indices(len(self.names), 1)
        defined = np.isfinite(self.before.correlations[upper]) & np.isfinite(self.after.correlations[upper])
        if not defined.any():
            self.notes.append("no two variables that vary: there is no correlation, its error counts as 0")
            return 0.0
        return self.loss("correlations", "mean absolute error")

    def measured(self, value: float, parts: dict[str, float]) -> Measurement:
        """Dress the value, times 100."""
        used = self.values["defined"] - self.values["zero"]
        with np.errstate(invalid="ignore"):
            own = 100 * (self.values["relative"] / used)
        return self.measure.measurement(
            100 * value,
            parts={name: 100 * part for name, part in parts.items()},
            by_variable=dict(zip(self.names, own.tolist(), strict=True)),
            notes=tuple(self.notes),
        )

    def _of_values(self, error: Error) -> float:
        found = {name: value.sum() for name, value in self.values.named.items()}
        relative = error == "mean variation"
        used = found["defined"] - found["zero"] if relative else found["defined"]
        if not used:
            raise _nothing("data", error, zero=bool(found["zero"]))
        if relative and found["zero"]:
            size = int(found["defined"] + found["missing"])
            self.notes.append(f"{int(found['zero'])} of {size} data left out of the mean variation: zero")
        summed = {"mean variation": "relative", "mean absolute error": "absolute", "mean square error": "square"}
        return float(found[summed[error]] / used)

    def _figures(self, of: Of) -> Figures:
        before, after = self.before, self.after
        if of == "means":
            return Figures(_means(before), _means(after), before.size)
        spread = np.outer(before.spread, before.spread)
        if of == "variances":
            return Figures(np.diag(before.covariances), np.diag(after.covariances), np.diag(spread))
        if of == "covariances":
            upper = np.triu_indices(len(self.names))
            return Figures(before.covariances[upper], after.covariances[upper], spread[upper])
        if len(self.names) == 1:
            raise NotApplicable("correlations need at least two variables")
        upper = np.triu_indices(len(self.names), 1)
        return Figures(before.correlations[upper], after.correlations[upper], np.ones(len(upper[0])))


def _nothing(of: Of, error: Error, *, zero: bool) -> NotApplicable:
    why = "every original figure is zero" if zero else "none is defined in both tables"
    return NotApplicable(f"no {error} of the {of}: {why}")


def _differences(original: Microdata, protected: Microdata, names: tuple[str, ...]) -> Sums:
    """Sum the differences of matching values, for each variable: how many there are, their errors, what is left out."""
    columns = [_difference(original.columns[name], protected.columns[name]) for name in names]
    return Sums({name: np.array([column[name] for column in columns]) for name in columns[0]})


def _difference(before: Floats, after: Floats) -> dict[str, float]:
    defined = ~(np.isnan(before) | np.isnan(after))
    if not defined.all():
        before, after = before[defined], after[defined]
    gap, size = np.abs(before - after), np.abs(before)
    zero = len(size) - np.count_nonzero(size)
    with np.errstate(over="ignore"):
        relative = gap / size if not zero else gap[size > 0] / size[size > 0]
        return {
            "defined": float(len(gap)),
            "missing": float(len(defined) - len(gap)),
            "zero": float(zero),
            "absolute": float(gap.sum()),
            "square": float((gap**2).sum()),
            "relative": float(relative.sum()),
        }


def _means(moments: Moments) -> Floats:
    """Return the means; one that is nothing but rounding, as of a centred variable, is 0."""
    return np.where(np.abs(moments.mean) <= ROUNDING * moments.size, 0.0, moments.mean)


# IL1s: how far the values moved, in standard deviations

Form = Literal["mean", "sum"]


@catalogued(
    MeasureAbout(
        title="Distance of values in standard deviations (IL1S)",
        source="Yancey, Winkler and Creecy (2002), Disclosure risk assessment in perturbative microdata protection; as "
        "Kocar (2018), section 2.2, writes it",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        missing="a cell missing in either table is left out; standard deviations are of the values present in the "
        "original",
        parts="summaries",
        joint=False,
        caveat="it says how far single values moved, not what that does to an analysis: swapping and shuffling score "
        "high and keep every distribution; one with long tails has a large standard deviation, beside which little "
        "seems to have moved",
        formula="IL1s = (1 / pn) sum over the p variables and n records of |x - x'| / (sqrt(2) S_j)\n"
        "S_j = standard deviation of variable j in the original, with n - 1;   form='sum': without 1 / pn",
        reading="0 means that no value moved. Values of unrelated normal draws are 2 / sqrt(pi) = 1.13 standard "
        "deviations apart in the mean, which is 0.80: from there on nothing of a value is left. The sum grows with "
        "records and variables and compares only files of one shape; sdcMicro's IL1s is the sum.",
    )
)
class IL1s(Measure):
    """Mean distance between the values of both tables, each in sqrt(2) standard deviations of its variable.

    The square root of two makes the denominator the standard deviation of the difference of two independent draws.
    ``form="mean"`` divides by the number of values compared, as the paper prints it; ``"sum"`` does not, as sdcMicro's
    ``dUtility`` of method IL1s. (Its method IL1 is the mean variation of the values: ``StructureLoss()``.) Parts hold
    both, ``by_variable`` each variable's own. A variable that does not vary in the original has no standard deviation:
    it is left out, and said.

    >>> import pyarrow as pa
    >>> x, y = pa.table({"a": [1.0, 2.0, 3.0]}), pa.table({"a": [1.0, 2.0, 4.0]})
    >>> round(IL1s().evaluate(x, y).value, 6)  # 1 / (3 sqrt 2), the standard deviation being 1
    0.235702
    """

    form: Form = field(default="mean")

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "form", get_args(Form))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        changes = Changes.between(self, pair)
        spread = np.sqrt(np.diag(changes.before.covariances))
        varies = spread > ROUNDING * changes.before.size
        if not varies.any():
            raise NotApplicable("no variable varies in the original")
        notes = list(changes.notes)
        if not varies.all():
            constant = [name for name, found in zip(changes.names, varies, strict=True) if not found]
            notes.append(f"left out, for they do not vary in the original: {', '.join(constant)}")
        sums = changes.values["absolute"][varies] / (sqrt(2) * spread[varies])
        counts = changes.values["defined"][varies]
        if not counts.any():
            raise NotApplicable("no value is there in both tables")
        parts = {"mean": float(sums.sum() / counts.sum()), "sum": float(sums.sum())}
        own = sums / np.maximum(counts, 1) if self.form == "mean" else sums
        names = [name for name, found in zip(changes.names, varies, strict=True) if found]
        return self.measurement(
            parts[self.form], parts=parts, by_variable=dict(zip(names, own.tolist(), strict=True)), notes=tuple(notes)
        )
