"""Ellipsoid overlap: whether all coefficients of a regression, taken together, say the same in both tables."""

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.data.microdata import Floats
from sfumato.errors import NotApplicable
from sfumato.kernels.quadratic_form import Probability, ellipsoid_probability
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.utility.models.fit import BothFits, Fit
from sfumato.utility.models.measure import ModelMeasure
from sfumato.utility.overlap import MISSING, SOURCE, check_level

FIRST, SECOND = "original's ellipsoid, protected posterior", "protected ellipsoid, original's posterior"
DOUBTFUL = 1e-6  # relative error above which a note tells of it
SHARP = 0.8  # from here on a search found nothing of equal degrees of freedom that overlaps more than equal posteriors
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
        check_level(self)
        if self.monte_carlo is not None:
            parameters.whole(self, "monte_carlo", least=100)
        drawn = self.monte_carlo is not None  # an experiment repeats what is random
        most = self.level if self.level >= SHARP and not drawn else 1.0
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
