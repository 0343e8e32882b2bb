"""Overlap of intervals and of ellipsoids: whether an analysis of the protected table says the same, or concludes so."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import speaking
from sfumato.errors import NotApplicable
from sfumato.kernels.quadratic_form import Probability, ellipsoid_probability
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.table.frames import FrameKind, Origin, from_arrow
from sfumato.table.microdata import Floats
from sfumato.utility.models.fitting import BothFits, Fit, Fitted, ModelMeasure, told

# Several copies of a file combined into one set of estimates, by Rubin's and Reiter's rules

Combine = Literal["rubin", "reiter partially", "reiter fully"]


def combined(fits: Sequence[Fit], rule: Combine, originals: int) -> Fit:
    """Combine the estimates of one model in m copies; only the coefficients' own variances are combined.

    With q the mean of the m estimates, u the mean of their squared standard errors and b the variance between them
    (m - 1 in the denominator), the variance T of q and its degrees of freedom v are

    - "rubin", multiple imputation of missing values (Rubin, 1987, Multiple Imputation for Nonresponse in Surveys):
      T = u + (1 + 1/m) b, v = (m - 1) (1 + u / ((1 + 1/m) b))^2;
    - "reiter partially", some values replaced (Reiter, 2003, Inference for partially synthetic, public use microdata
      sets, Survey Methodology 29): T = u + b/m, v = (m - 1) (1 + u / (b/m))^2;
    - "reiter fully", populations drawn anew (Raghunathan, Reiter and Rubin, 2003, Journal of Official Statistics 19):
      T = (1 + 1/m) b - u, v = (m - 1) (1 - u / ((1 + 1/m) b))^2; where T is not positive it is u times the copies'
      number of records over the original's (Reiter, 2002, Journal of Official Statistics 18).

    These v suppose files so large that one copy's own degrees of freedom are infinite; they are never taken above them.
    """
    m = len(fits)
    estimates = np.array([fit.coefficients for fit in fits])
    within = np.mean([np.diag(fit.covariance) for fit in fits], axis=0)
    between = estimates.var(axis=0, ddof=1)
    share = {"rubin": 1 + 1 / m, "reiter partially": 1 / m, "reiter fully": 1 + 1 / m}[rule] * between
    own = min(fit.degrees_of_freedom for fit in fits)
    with np.errstate(divide="ignore"):
        ratio = np.where(share > 0, within / np.where(share > 0, share, 1.0), math.inf)
    if rule == "reiter fully":
        total, freedom = share - within, (m - 1) * (1 - ratio) ** 2
        records = float(np.mean([fit.records for fit in fits]))
        lost = total <= 0
        total = np.where(lost, within * records / originals, total)
        freedom = np.where(lost, own, freedom)
    else:
        total, freedom = within + share, (m - 1) * (1 + ratio) ** 2
    capped: Floats = np.minimum(freedom, own)
    return Fit(
        fits[0].model,
        fits[0].names,
        estimates.mean(axis=0),
        np.diag(total),
        float(capped.min()),
        fits[0].records,
        robust=fits[0].robust,
        notes=tuple(note for fit in fits for note in fit.notes),
        freedom=capped,
    )


# Intervals of single coefficients, and conclusions drawn from them

SOURCE = "Karr, Kohnen, Oganian, Reiter and Sanil (2006), A framework for evaluating the utility of data altered to "
SOURCE += "protect confidentiality, The American Statistician 60"
MISSING = "each model uses the records that have all of its variables; how many are left out is noted"
ZERO = 1e-3  # an overlap below this is "essentially zero"; such intervals are apart
Kind = Literal["probability", "length"]
Distance = Literal["gap", "estimates"]
Switch = Literal["significant in both", "estimate"]
Errors = Literal["own", "original"]
PosteriorForm = Literal["model's", "normal"]
Change = Literal["same", "sign switched", "significance lost", "significance gained"]


@catalogued(
    MeasureAbout(
        title="Confidence interval overlap (IO)",
        source=f"{SOURCE}, section 2.2",
        purpose="utility",
        better="higher",
        range=(0.0, 0.95),
        weights=True,
        paired=False,
        missing=MISSING,
        parts="summaries",
        caveat="it speaks for the models given and no others: name those that users of the file will fit",
        formula="probability:  I_k = (P(L'_k < b_k < U'_k | original) + P(L_k < b_k < U_k | protected)) / 2\n"
        "length:       J_k = ((U_in - L_in) / (U_k - L_k) + (U_in - L_in) / (U'_k - L'_k)) / 2\n"
        "              U_in = min(U_k, U'_k),  L_in = max(L_k, L'_k)\n"
        "(L_k, U_k) = interval of coefficient k at `level` in the original, (L', U') in the protected one\n"
        "the value is the mean over k, then over the models by their weights",
        reading='The level (0.95) is the best, or 1 for ``kind="length"``. A coefficient that differs by one, two or '
        "three standard errors (equal in both tables) has I = 0.83, 0.48 or 0.15. Two samples of one population and "
        "one size have 0.74 on average, so a file near that is as good as another survey of the same size; length is "
        "then 0.71. Intervals shrink with the number of records: a bias that a small file hides shows in a large one, "
        "and rightly so.",
    )
)
class IntervalOverlap(ModelMeasure):
    """How far the confidence intervals of a model's coefficients overlap in the two tables: I of (3)-(4), or J of (5).

    ``kind="probability"``: for each coefficient the posterior probability, in each table, of the other's interval, and
    the mean of the two; identical tables give ``level``. ``kind="length"``: the length of the common part as a share of
    each interval, and the mean of the two; identical tables give 1. Intervals apart have a negative common part;
    ``clip=True`` counts it as 0. The value is the mean over the coefficients, intercept included; over several models
    the mean by their weights.

    ``model`` is a formula, a ``Model`` (which says the family) or a list of them; without one, the simple regressions
    of each numeric variable on each other are compared. Both tables are coded as the original is. Linear models have
    the paper's posterior, a t with n - p degrees of freedom; logistic and Poisson models the normal approximation. With
    unequal survey weights estimates are weighted and standard errors robust: n/(n - 1) times HC0, which is Taylor
    linearisation for records drawn with replacement (R's survey package); with equal ones they are the usual ones.

    ``penalty=True`` tells the bad from the worse, as the paper proposes: a coefficient whose I is essentially zero
    (below 0.001) counts minus a distance, in lengths of the original's interval. ``distance="gap"`` is the gap between
    the two intervals, min(|L_rel - U_orig|, |L_orig - U_rel|), ``distance="estimates"`` is |b_rel - b_orig|: the paper
    names both.

    ``errors="original"`` gives both intervals the original's standard errors, so that the estimates alone decide and a
    larger protected file is judged no more strictly; ``posterior="normal"`` takes normal quantiles for linear models as
    well. With both and ``kind="length"`` it is the "CI overlap" of synthpop's ``compare`` of fits.

    Parts: the overlap of each coefficient, as "b[name]", and of each of several models. ``table`` gives both intervals;
    ``evaluate_copies`` compares several synthetic copies, combined, with the original.

    >>> import pyarrow as pa
    >>> x = pa.table({"y": [1.0, 2.0, 4.0, 7.0]})
    >>> round(IntervalOverlap("y ~ 1").evaluate(x, x).value, 6)
    0.95
    """

    kind: Kind = "probability"
    level: float = 0.95
    penalty: bool = False
    clip: bool = False
    distance: Distance = "gap"
    errors: Errors = "own"
    posterior: PosteriorForm = "model's"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "kind", get_args(Kind))
        _check_level(self)
        parameters.one_of(self, "penalty", (True, False))
        parameters.one_of(self, "clip", (True, False))
        parameters.one_of(self, "distance", get_args(Distance))
        if self.distance != "gap" and not self.penalty:
            raise parameters.refuse(self, "distance is that of the penalty; give penalty=True with it")
        parameters.one_of(self, "errors", get_args(Errors))
        parameters.one_of(self, "posterior", get_args(PosteriorForm))
        if self.penalty and self.kind == "length":
            raise parameters.refuse(self, "the penalty is for kind='probability'; lengths are negative where apart")
        if self.clip and self.kind == "probability":
            raise parameters.refuse(self, "clip is for kind='length'; a probability is never negative")
        least = 0.0 if self.clip or (self.kind == "probability" and not self.penalty) else -np.inf
        most = self.level if self.kind == "probability" else 1.0
        object.__setattr__(self, "about", replace(type(self).about, range=(least, most)))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        return self._measured(self._judged(self.fitted(pair)))

    def evaluate_copies(self, original: Any, copies: Sequence[Any], *, combine: Combine) -> Measurement:
        """Measure two or more synthetic copies of a file, their estimates combined by the rule named.

        ``combine`` is "rubin" (imputed missing values), "reiter partially" (some values replaced) or "reiter fully"
        (whole populations drawn anew); the formulas are in ``sfumato.utility.models.copies``.
        """
        with speaking(self):
            fitted = self._judged(self._fitted_copies(original, copies, combine))
            return self._measured(fitted, (f"combined by the rule {combine!r}",))

    def table(self, original: Any, protected: Any, *, kind: FrameKind | None = None) -> Any:
        """Return a frame of the coefficients: estimate, standard error and interval in both tables, and the overlap.

        Without a kind it is that of the original table.
        """
        with speaking(self):
            pair = Pair.of(original, protected)
            fitted = self._judged(self.fitted(pair))
        overlaps = np.concatenate([self._overlaps(fits) for fits in fitted.both])
        rows = pa.table({**intervals(fitted, self.level), "overlap": overlaps})
        return from_arrow(rows, Origin(kind or pair.original.parts[0].origin.kind))

    def _fitted_copies(self, original: Any, copies: Sequence[Any], combine: Combine) -> Fitted:
        if combine not in get_args(Combine):
            named = ", ".join(map(repr, get_args(Combine)))
            raise parameters.refuse(self, f"combine must be one of {named}; got {combine!r}")
        if len(copies) < 2:
            raise parameters.refuse(self, f"the rules need at least two copies; got {len(copies)}")
        first = Pair.of(original, copies[0])
        others = [first.protected, *(Pair.of(first.original, copy).protected for copy in copies[1:])]
        before, after = self.fitted_copies(first.original, others)
        both = tuple(
            BothFits(one, combined([fits[place] for fits in after], combine, one.records))
            for place, one in enumerate(before)
        )
        return Fitted(both, tuple(told(both, named=self.model is not None)))

    def _judged(self, fitted: Fitted) -> Fitted:
        """Give the fits the standard errors and the quantiles they are judged by."""
        return replace(fitted, both=tuple(self._with_errors(fits) for fits in fitted.both))

    def _with_errors(self, fits: BothFits) -> BothFits:
        before, after = fits.original, fits.protected
        if self.errors == "original":
            after = replace(
                after,
                covariance=before.covariance,
                degrees_of_freedom=before.degrees_of_freedom,
                freedom=before.freedom,
            )
        if self.posterior == "normal":
            before, after = (replace(fit, degrees_of_freedom=np.inf, freedom=None) for fit in (before, after))
        return BothFits(before, after)

    def _measured(self, fitted: Fitted, notes: tuple[str, ...] = ()) -> Measurement:
        overlaps = [self._overlaps(fits) for fits in fitted.both]
        values = [float(found.mean()) for found in overlaps]
        parts: dict[str, float] = {}
        if self.model is not None:
            several = len(fitted.both) > 1
            for fits, value, found in zip(fitted.both, values, overlaps, strict=True):
                lead = f"{fits.model.label}: " if several else ""
                parts |= {fits.model.label: value} if several else {}
                parts |= {f"{lead}b[{name}]": float(o) for name, o in zip(fits.original.names, found, strict=True)}
        value = min(fitted.mean(values), self.about.range[1])  # what rounding adds to the largest is no overlap
        by_variable = fitted.by_variable(values)
        return self.measurement(value, parts=parts, by_variable=by_variable, notes=(*notes, *fitted.notes))

    def _overlaps(self, fits: BothFits) -> Floats:
        (low, high), (other_low, other_high) = fits.original.interval(self.level), fits.protected.interval(self.level)
        if self.kind == "length":
            common = np.minimum(high, other_high) - np.maximum(low, other_low)
            found: Floats = (common / (high - low) + common / (other_high - other_low)) / 2  # (5)
            return np.maximum(found, 0.0) if self.clip else found
        first, second = fits.original.probability(other_low, other_high), fits.protected.probability(low, high)
        found = (first + second) / 2  # (3)
        if self.penalty:
            apart = np.minimum(np.abs(other_low - high), np.abs(low - other_high))
            if self.distance == "estimates":
                apart = np.abs(fits.protected.coefficients - fits.original.coefficients)
            found = np.where(found < ZERO, -apart / (high - low), found)
        return found


@catalogued(
    MeasureAbout(
        title="Changed conclusions (signs and significance)",
        source=f"{SOURCE}, section 4",
        purpose="utility",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        weights=True,
        paired=False,
        missing=MISSING,
        parts="summaries",
        caveat="it speaks for the models given and no others; a coefficient near the limit of significance may "
        "change its side by chance alone",
        formula="share of the coefficients whose verdict differs between the tables\n"
        "verdict = sign of the coefficient if its interval at `level` leaves out 0, else none\n"
        "+ to -: switched;   + or - to none: significance lost;   none to + or -: significance gained",
        reading="0 is the best: a reader of the protected file would draw the same conclusions. A sign switched is "
        "worst and should not occur; significance lost is the usual price of masking, significance gained the sign of "
        "something that masking invented. With few coefficients the share comes in steps (one of eight is 12.5 %): "
        "read the names in the notes.",
    )
)
class ConclusionChanges(ModelMeasure):
    """Share of coefficients whose conclusion changes: sign switched, significance lost, significance gained.

    A coefficient is significant where its interval at ``level`` leaves out 0. Its sign is switched where it is
    significant in both tables with opposite signs; with ``switch="estimate"`` where it is significant in the original
    and the protected table's estimate has the other sign, significant or not, as the paper words it. The share of all
    changes is the same: what the second calls a switch and the first does not is significance lost. Models, weights
    and standard errors are those of ``IntervalOverlap``; over several models the value is the mean of their shares by
    their weights.

    Parts: the shares of the three kinds of change (they sum to the value), and of each of several models; notes name
    the coefficients that changed; ``table`` lists all.
    """

    level: float = 0.95
    switch: Switch = "significant in both"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_level(self)
        parameters.one_of(self, "switch", get_args(Switch))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        fitted = self.fitted(pair)
        changes = [self._changes(fits) for fits in fitted.both]
        values = [float(np.mean([c != "same" for c in found])) for found in changes]
        parts = {
            kind: fitted.mean([found.count(kind) / len(found) for found in changes]) for kind in get_args(Change)[1:]
        }
        if self.model is not None and len(changes) > 1:
            parts |= {fits.model.label: value for fits, value in zip(fitted.both, values, strict=True)}
        told_ = [
            f"{kind}: b[{name}] of {fits.model.label!r}, {fits.original.coefficients[k]:.4g} and then "
            f"{fits.protected.coefficients[k]:.4g}"
            for fits, found in zip(fitted.both, changes, strict=True)
            for k, (name, kind) in enumerate(zip(fits.original.names, found, strict=True))
            if kind != "same"
        ]
        if len(told_) > 10:
            told_ = [*told_[:10], f"and {len(told_) - 10} more coefficients changed; see table()"]
        return self.measurement(
            fitted.mean(values), parts=parts, by_variable=fitted.by_variable(values), notes=(*fitted.notes, *told_)
        )

    def table(self, original: Any, protected: Any, *, kind: FrameKind | None = None) -> Any:
        """Return a frame of the coefficients: estimate, standard error and interval in both tables, and the change.

        Without a kind it is that of the original table.
        """
        with speaking(self):
            pair = Pair.of(original, protected)
            fitted = self.fitted(pair)
        changes = [change for fits in fitted.both for change in self._changes(fits)]
        rows = pa.table({**intervals(fitted, self.level), "change": changes})
        return from_arrow(rows, Origin(kind or pair.original.parts[0].origin.kind))

    def _changes(self, fits: BothFits) -> list[Change]:
        before, after = (_direction(*fit.interval(self.level)) for fit in (fits.original, fits.protected))
        if self.switch == "estimate":  # an estimate of the other sign counts as one that is significant
            signs = np.sign(fits.protected.coefficients)
            after = np.where((before != 0) & (signs == -before), signs, after)
        return [_change(int(a), int(b)) for a, b in zip(before, after, strict=True)]


def _direction(low: Floats, high: Floats) -> Floats:
    """Return the sign of significant coefficients, 0 for the others."""
    found: Floats = (low > 0) * 1.0 - (high < 0) * 1.0
    return found


def _change(before: int, after: int) -> Change:
    if before == after:
        return "same"
    if not after:
        return "significance lost"
    return "sign switched" if before else "significance gained"


def intervals(fitted: Fitted, level: float) -> dict[str, Any]:
    """Lay out the coefficients of all models with their estimates, standard errors and intervals in both tables."""
    columns: dict[str, Any] = {
        "model": [both.model.label for both in fitted.both for _ in both.original.names],
        "coefficient": [name for both in fitted.both for name in both.original.names],
    }
    for which in ("original", "protected"):
        fits = [getattr(both, which) for both in fitted.both]
        ends = [fit.interval(level) for fit in fits]
        columns[f"{which} estimate"] = np.concatenate([fit.coefficients for fit in fits])
        columns[f"{which} standard error"] = np.concatenate([fit.standard_errors for fit in fits])
        columns[f"{which} low"] = np.concatenate([low for low, _ in ends])
        columns[f"{which} high"] = np.concatenate([high for _, high in ends])
    return columns


MIN_LEVEL = 1e-6


def _check_level(owner: Any) -> None:
    """Require a level of confidence between 0 and 1, which arithmetic can tell from either."""
    parameters.share(owner, "level")
    if owner.level < MIN_LEVEL:
        raise parameters.refuse(owner, f"level must be at least {MIN_LEVEL:g}; got {owner.level!r}")
    if owner.level == 1.0:
        raise parameters.refuse(owner, "level must be below 1: an interval that is sure has no end")


# Ellipsoid overlap: whether all coefficients of a regression, taken together, say the same in both tables

FIRST, SECOND = "original's ellipsoid, protected posterior", "protected ellipsoid, original's posterior"
DOUBTFUL = 1e-6  # relative error above which a note tells of it
# from here on a search found nothing of equal degrees of freedom that overlaps more than equal posteriors
MIN_SHARP_LEVEL = 0.8
ROUNDING = 1e-9
BLOCK = 20_000  # draws at a time


@catalogued(
    MeasureAbout(
        title="Confidence ellipsoid overlap (EO)",
        source=f"{SOURCE}, section 2.2",
        purpose="utility",
        better="higher",
        range=(0.0, 0.95),
        weights=True,
        paired=False,
        missing=MISSING,
        parts="summaries",
        caveat="it speaks for the models given and no others; it falls with the number of coefficients, since any one "
        "that differs is enough, and with the number of records, since both ellipsoids shrink; equal tables score the "
        "level, not 1",
        formula="EO = (P(b in E' | original) + P(b in E | protected)) / 2\n"
        "E = { b: (b - B)' V^-1 (b - B) <= p F(level; p, n - p) },  V = s^2 (X'X)^-1,  B the p estimates\n"
        "b | table ~ t with n - p degrees of freedom, centre B, scale V   (E', V' of the protected table)\n"
        "logistic, Poisson: normal posterior, chi-square quantile with p degrees of freedom",
        reading="The level (0.95) is the best; 0 means that no coefficient vector is plausible in both tables. It "
        "asks for all coefficients at once, so it falls faster than IntervalOverlap: two samples of one population "
        "and one size score 0.74 on average with one coefficient, 0.54 with three, 0.41 with five, 0.19 with ten. "
        "Read it beside that yardstick and beside IO, which says which coefficient is off.",
    )
)
class EllipsoidOverlap(ModelMeasure):
    """Mean of two probabilities: of each table's ellipsoid of the coefficients under the other's posterior.

    The ellipsoid of a table holds the coefficients b with (b - B)' V^-1 (b - B) <= p F(level; p, n - p), B being the p
    estimates and V = s^2 (X'X)^-1: the region of highest posterior density of probability ``level``. The posterior is
    the p-variate t with n - p degrees of freedom, centre B and scale matrix V; for logistic and Poisson regression it
    is the normal with the covariance of the estimates, and the ellipsoid has the chi-square's quantile. Section 2.2 of
    the paper defines it so, in words, between (5) and (6). Equal tables score ``level``. Tables with few and unequal
    numbers of records may exceed it by a trifle (0.953 with 3 and infinitely many degrees of freedom): that counts as
    ``level`` and is noted. Below 0.8 the level is no longer the most there is.

    ``model`` is a formula, a ``Model``, or several of them, whose values are averaged by the models' weights. Without
    one, the simple regressions of each numeric variable on each other are compared.

    The paper draws from the posteriors. Here both probabilities are computed, by one contour integral each, to a
    relative error near 1e-13 of what the estimates and their covariances imply, however small they are; a note tells
    where the error estimate is above 1e-6. ``monte_carlo=100_000`` draws as the paper does and notes the standard
    error.

    Parts: the two probabilities (their means over several models) and, where several models were named, each one's
    overlap.

    >>> import pyarrow as pa
    >>> x = pa.table({"y": [1.0, 2.0, 2.0, 4.0, 5.0], "x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    >>> round(EllipsoidOverlap("y ~ x").evaluate(x, x).value, 6)
    0.95
    """

    level: float = 0.95
    monte_carlo: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_level(self)
        if self.monte_carlo is not None:
            parameters.whole(self, "monte_carlo", least=100)
        drawn = self.monte_carlo is not None  # an experiment repeats what is random
        most = self.level if self.level >= MIN_SHARP_LEVEL and not drawn else 1.0
        about = replace(type(self).about, range=(0.0, most), random=drawn)
        object.__setattr__(self, "about", about)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        fitted = self.fitted(pair)
        found = [self._both(fits, rng) for fits in fitted.both]
        overlaps = [(first.value + second.value) / 2 for first, second in found]
        parts = {
            FIRST: fitted.mean([first.value for first, _ in found]),
            SECOND: fitted.mean([second.value for _, second in found]),
        }
        if len(found) > 1 and self.model is not None:
            parts |= {fits.model.label: value for fits, value in zip(fitted.both, overlaps, strict=True)}
        value, notes = fitted.mean(overlaps), []
        if value > self.about.range[1] + ROUNDING:
            notes.append(f"the mean is {value:.4g}; more than the level comes of unequal numbers of records")
        value = min(value, self.about.range[1])
        errors = [(first.error, second.error) for first, second in found]
        notes += self._accuracy(value, errors, [fits.model.weight for fits in fitted.both])
        by_variable = fitted.by_variable(overlaps)
        return self.measurement(value, parts=parts, by_variable=by_variable, notes=(*fitted.notes, *notes))

    def _both(self, fits: BothFits, rng: np.random.Generator) -> tuple[Probability, Probability]:
        before, after = _posterior(fits.original, "original"), _posterior(fits.protected, "protected")
        if self.monte_carlo is None:
            return computed(before, self.level, after), computed(after, self.level, before)
        first = drawn(before, self.level, after, self.monte_carlo, rng)
        return first, drawn(after, self.level, before, self.monte_carlo, rng)

    def _accuracy(self, value: float, errors: list[tuple[float, float]], weights: list[float]) -> list[str]:
        """Say how sure the value is, where that is not to the last digit shown."""
        share = np.asarray(weights) / sum(weights) / 2
        if self.monte_carlo is not None:  # independent draws
            error = math.sqrt(sum(w * w * (a * a + b * b) for w, (a, b) in zip(share, errors, strict=True)))
            return [f"Monte Carlo, {self.monte_carlo:,} draws per posterior: standard error {error:.2g}"]
        error = sum(w * (a + b) for w, (a, b) in zip(share, errors, strict=True))
        return [f"the integral's error may be {error:.1g}"] if error > DOUBTFUL * value > 0 else []


@dataclass(frozen=True, eq=False)
class Posterior:
    """A multivariate t, or a normal where the degrees of freedom are infinite, and its ellipsoids."""

    centre: Floats
    deviations: Floats  # square roots of the scale matrix's diagonal
    root: Floats  # lower triangular square root of the correlations, whatever the coefficients' units
    degrees_of_freedom: float

    @classmethod
    def of(cls, centre: Floats, covariance: Floats, degrees_of_freedom: float) -> "Posterior":
        """Take the root of a scale matrix; LinAlgError if it is singular."""
        deviations = np.sqrt(np.diag(covariance))
        if not (deviations > 0).all():
            raise np.linalg.LinAlgError
        root: Floats = np.asarray(np.linalg.cholesky(covariance / np.multiply.outer(deviations, deviations)))
        return cls(centre, deviations, root, degrees_of_freedom)

    def squared_radius(self, level: float) -> float:
        """Return what (b - centre)' scale^-1 (b - centre) is at most in the ellipsoid of this level."""
        from scipy.special import chdtri, fdtri

        p, free = len(self.centre), self.degrees_of_freedom
        return float(chdtri(p, 1 - level) if math.isinf(free) else p * fdtri(p, free, level))

    def sees(self, other: "Posterior") -> tuple[Floats, Floats]:
        """Return another posterior's root and centre in coordinates that make this one's ellipsoids balls around 0."""
        root = (other.deviations / self.deviations)[:, None] * other.root
        shift = (other.centre - self.centre) / self.deviations
        return np.asarray(np.linalg.solve(self.root, root)), np.asarray(np.linalg.solve(self.root, shift))


def computed(ellipsoid: Posterior, level: float, under: Posterior) -> Probability:
    """Compute the probability of one posterior's ellipsoid under another posterior."""
    root, offset = ellipsoid.sees(under)
    axes, deviations, _ = np.linalg.svd(root)  # of a square root, so that small variances keep their digits
    return ellipsoid_probability(
        deviations**2, axes.T @ offset, ellipsoid.squared_radius(level), under.degrees_of_freedom
    )


def drawn(ellipsoid: Posterior, level: float, under: Posterior, draws: int, rng: np.random.Generator) -> Probability:
    """Estimate that probability by draws, as the paper does; the error is the standard error."""
    root, offset = ellipsoid.sees(under)
    bound, free = ellipsoid.squared_radius(level), under.degrees_of_freedom
    inside = 0
    for start in range(0, draws, BLOCK):
        size = min(BLOCK, draws - start)
        points = rng.standard_normal((size, len(offset))) @ root.T
        if math.isfinite(free):
            points /= np.sqrt(rng.chisquare(free, size) / free)[:, None]
        points += offset
        inside += int((np.einsum("ij,ij->i", points, points) <= bound).sum())
    spread = max(inside, 1) * max(draws - inside, 1) / draws  # none or all inside is no proof of 0 or 1
    return Probability(inside / draws, math.sqrt(spread) / draws)


def _posterior(fit: Fit, which: str) -> Posterior:
    try:
        return Posterior.of(fit.coefficients, fit.covariance, fit.degrees_of_freedom)
    except np.linalg.LinAlgError:
        raise NotApplicable(
            f"the coefficients of {fit.model.label!r} have no ellipsoid in the {which} table, their covariance "
            "being singular; a response without residuals, or survey weights with a group of one record, do that"
        ) from None
