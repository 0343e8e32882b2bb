"""Interval overlap and changed conclusions: whether an analysis of the protected table says the same."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import speaking
from sfumato.data.frames import FrameKind, Origin, from_arrow
from sfumato.data.microdata import Floats
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.utility.models.copies import Combine, combined
from sfumato.utility.models.fit import BothFits
from sfumato.utility.models.measure import Fitted, ModelMeasure, told

SOURCE = "Karr, Kohnen, Oganian, Reiter and Sanil (2006), A framework for evaluating the utility of data altered to "
SOURCE += "protect confidentiality, The American Statistician 60"
MISSING = "each model uses the records that have all of its variables; how many are left out is noted"
ZERO = 1e-3  # an overlap below this is "essentially zero"; such intervals are apart
Kind = Literal["probability", "length"]
Distance = Literal["gap", "estimates"]
Switch = Literal["significant in both", "estimate"]
Errors = Literal["own", "original"]
Posterior = Literal["model's", "normal"]
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
    posterior: Posterior = "model's"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "kind", get_args(Kind))
        check_level(self)
        parameters.one_of(self, "penalty", (True, False))
        parameters.one_of(self, "clip", (True, False))
        parameters.one_of(self, "distance", get_args(Distance))
        if self.distance != "gap" and not self.penalty:
            raise parameters.refuse(self, "distance is that of the penalty; give penalty=True with it")
        parameters.one_of(self, "errors", get_args(Errors))
        parameters.one_of(self, "posterior", get_args(Posterior))
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
        check_level(self)
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


LEAST_LEVEL = 1e-6


def check_level(owner: Any) -> None:
    """Require a level of confidence between 0 and 1, which arithmetic can tell from either."""
    parameters.share(owner, "level")
    if owner.level < LEAST_LEVEL:
        raise parameters.refuse(owner, f"level must be at least {LEAST_LEVEL:g}; got {owner.level!r}")
    if owner.level == 1.0:
        raise parameters.refuse(owner, "level must be below 1: an interval that is sure has no end")
