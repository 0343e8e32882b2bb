"""Data distortion by probability distribution."""

import warnings
from typing import Any

import numpy as np

from sfumato.about import MethodAbout
from sfumato.errors import NotApplicable
from sfumato.methods.columns import MISSING_STAYS, ColumnMethod, Floats, in_rank_order_of
from sfumato.registry import catalogued
from sfumato.table.schema import Schema
from sfumato.table.treatment import BY_RANK, Treatment

ANY_VALUES = ("norm", "logistic", "gumbel_r", "gumbel_l", "uniform")
POSITIVE_VALUES = ("expon", "gamma", "lognorm", "weibull_min")


@catalogued(
    MethodAbout(
        title="Data distortion by probability distribution",
        source="Liew, Choi and Liew (1985); Domingo-Ferrer, Mateo-Sanz and Torres, section 2 (Distr)",
        missing=MISSING_STAYS,
        random=True,
        caveat="what the fitted family cannot express (spikes, gaps, several modes) is lost",
        formula="x'_i = y_(r_i),   r_i = rank of x_i among the n values present (ties in file order)\n"
        "y_(1) <= ... <= y_(n) = n draws, sorted, from the family F nearest to the data:\n"
        "F minimises sup_x |F_n(x) - F(x; t)|, its parameters t fitted by maximum likelihood",
        reading="There is no parameter. Every rank is kept, so associations by rank hardly change; the marginal "
        "distribution becomes that of the fitted family, so look first whether one of them fits at all: amounts with "
        "many zeros have none that does.",
        group="Synthesise",
        effect="made up",
    )
)
class DistributionDistortion(ColumnMethod):
    """Draws from the best-fitting distribution of each variable, put back in the rank order of the original.

    Families tried: normal, logistic, Gumbel (both skews) and uniform; for variables with positive values only, also
    exponential, gamma, lognormal and Weibull, all starting at zero. Each is fitted by maximum likelihood, and the one
    with the smallest Kolmogorov-Smirnov distance to the data is taken (the first of those that tie). Limits: univariate
    only, ranks are kept; zeros and other spikes are smoothed away; a constant variable has nothing to fit and is
    refused.
    """

    def _treatment(self, name: str) -> Treatment:
        return BY_RANK

    def _column(self, values: Floats, rng: np.random.Generator) -> Floats:
        family, fitted = best_family(values)
        return in_rank_order_of(values, np.asarray(family.rvs(*fitted, size=values.size, random_state=rng)))

    def in_words(self, schema: Schema | None = None) -> str:
        return f"{self.subject_is()} replaced by draws from fitted distributions"


def best_family(values: Floats) -> tuple[Any, tuple[float, ...]]:
    """Fit every family and return the one nearest in Kolmogorov-Smirnov distance, with its parameters."""
    from scipy import stats

    if values.size < 2 or np.ptp(values) == 0:
        raise NotApplicable("a distribution cannot be fitted to a single or constant value")
    ordered = np.sort(values)
    steps = np.arange(1, values.size + 1) / values.size
    names = ANY_VALUES + (POSITIVE_VALUES if ordered[0] > 0 else ())
    best = (np.inf, None, ())
    for name in names:
        family = getattr(stats, name)
        fixed = {"floc": 0.0} if name in POSITIVE_VALUES else {}
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():  # the search may try parameters that overflow
                warnings.simplefilter("ignore", RuntimeWarning)
                fitted = family.fit(ordered, **fixed)
                cumulated = family.cdf(ordered, *fitted)
        except (ValueError, RuntimeError, stats.FitError):
            continue  # a family whose likelihood has no maximum on these values is no candidate
        distance = max(np.max(steps - cumulated), np.max(cumulated - steps + 1 / values.size))
        if distance < best[0]:
            best = (distance, family, fitted)
    if best[1] is None:
        raise NotApplicable("none of the families could be fitted")
    return best[1], tuple(best[2])
