"""Kullback-Leibler divergence between kernel estimates of the two tables' densities."""

import math
from typing import get_args

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.data.microdata import Floats, Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import ROUNDING
from sfumato.measurement import SAMPLING_ERROR, Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.utility.divergence import Direction

BLOCK = 4_000_000  # distances at a time


@catalogued(
    MeasureAbout(
        title="Kullback-Leibler divergence (kernel densities)",
        source="Karr, Kohnen, Oganian, Reiter and Sanil (2006), A framework for evaluating the utility of data altered "
        "to protect confidentiality, The American Statistician 60, section 2.3, equation (6); bandwidths: Scott "
        "(1992), Multivariate Density Estimation, section 6.3",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        weights=True,
        paired=False,
        random=True,
        missing="records with a missing value in one of the variables are left out, and counted in a note",
        caveat="with many variables kernels hardly overlap, and any two files look far apart: use it with up to five; "
        "an outlier moved by ten bandwidths adds 50 / n",
        formula="KL = integral of f1 log(f1 / f2),   drawn: mean over `draws` points z from f1 of log f1(z) / f2(z)\n"
        "f1, f2 = sum_i w_i N(z; x_i, H) / sum_i w_i of the protected table and of the original (or the\n"
        "other way round, by direction);   H = diag(h_j^2),   h_j = s_j n^(-1 / (p + 4))\n"
        "s_j = standard deviation of variable j in the original, n = its records (effective, if weighted)",
        reading="0 for equal tables, no upper limit, no unit. Compare candidates of one file, not files: the kernels "
        "widen as records get fewer, and hide more. It sees what KullbackLeibler does not, shapes, and smooths away "
        "what is finer than a kernel. A fresh sample of the same population does not score 0: with 1,000 records it is "
        "about 0.01 with one variable, 0.04 with two, 0.11 with three, 0.6 with six.",
    )
)
class DensityDivergence(Measure):
    """Divergence between kernel density estimates of the two tables: equation (6) of the paper, by drawing.

    The paper asks for density estimates and numerical integration, calls both onerous, and takes normal distributions
    instead (``KullbackLeibler``). Here both densities are Gaussian kernel estimates with the same bandwidths, those of
    Scott's rule for the original; ``draws`` points of the first density give the integral, whose standard error is a
    part and a note. Equal tables score exactly 0. A mean below 0, which chance alone can give, counts as 0.

    "protected to original" is equation (6): the integral over the protected table's density. ``KullbackLeibler`` goes
    the other way by default, as the paper's tables do. The bandwidths are along the variables, so that a total and its
    parts do no harm.

    >>> import pyarrow as pa
    >>> x = pa.table({"a": [0.0, 1.0, 2.0, 4.0]})
    >>> DensityDivergence().evaluate(x, x, rng=1).value
    0.0
    """

    direction: Direction = "protected to original"
    draws: int = 2_000

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "direction", get_args(Direction))
        parameters.whole(self, "draws", least=100)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, shared = self.shared(pair)
        notes = list(shared)
        original, protected = pair.tables()
        before, weights = _complete(original, "original", names, notes)
        after, other_weights = _complete(protected, "protected", names, notes)
        widths = _bandwidths(before, weights)
        varied = _varied(before, after, widths, names, notes)
        tables = [(values[:, varied] / widths[varied], w) for values, w in ((before, weights), (after, other_weights))]
        if self.direction == "protected to original":
            tables.reverse()
        (first, first_weights), (second, second_weights) = tables
        points = _drawn(first, first_weights, self.draws, rng)
        ratio = log_density(points, first, first_weights) - log_density(points, second, second_weights)
        error = float(ratio.std(ddof=1)) / math.sqrt(self.draws)
        notes.append(f"drawn at {self.draws:,} points: standard error {error:.2g}")
        value = max(float(ratio.mean()), 0.0)
        return self.measurement(value, parts={SAMPLING_ERROR: error}, notes=tuple(notes))


def log_density(points: Floats, centres: Floats, weights: Floats) -> Floats:
    """Return the log of a kernel estimate of bandwidth 1 at points, but for the factor (2 pi)^(-p / 2)."""
    from scipy.spatial.distance import cdist
    from scipy.special import logsumexp

    found = np.empty(len(points))
    size = max(BLOCK // len(centres), 1)
    for start in range(0, len(points), size):
        apart = cdist(points[start : start + size], centres, "sqeuclidean")
        found[start : start + size] = logsumexp(-apart / 2, axis=1, b=weights)
    return found


def _complete(table: Microdata, label: str, names: tuple[str, ...], notes: list[str]) -> tuple[Floats, Floats]:
    """Return the values of the records that lack none and weigh something, and their weights, which sum to 1."""
    values, weights = table.numeric(names), table.weights()
    kept = ~np.isnan(values).any(axis=1)
    if not kept.all():
        notes.append(f"{int((~kept).sum()):,} records of the {label} table left out: a value is missing")
    kept &= weights > 0
    if not kept.any():
        raise NotApplicable(f"no record of the {label} table has all of {', '.join(names)}")
    values, weights = values[kept], weights[kept] / weights[kept].sum()
    order = np.lexsort((weights, *values.T))  # so that the order of the records changes no draw
    return values[order], weights[order]


def _bandwidths(values: Floats, weights: Floats) -> Floats:
    """Return Scott's bandwidth of each variable; 0 where it is constant but for rounding."""
    mean = weights @ values
    spread = np.sqrt(weights @ (values - mean) ** 2)
    spread[spread <= ROUNDING * np.abs(mean)] = 0.0
    effective = 1 / float(weights @ weights)
    return np.asarray(spread * effective ** (-1 / (values.shape[1] + 4)))


def _varied(before: Floats, after: Floats, widths: Floats, names: tuple[str, ...], notes: list[str]) -> list[int]:
    """Tell which variables vary in the original; one that is the same constant in both tables says nothing."""
    constant = [j for j, width in enumerate(widths) if width == 0]
    for j in constant:
        if not np.allclose(after[:, j], before[0, j], rtol=1e-9, atol=0):
            raise NotApplicable(f"{names[j]!r} is constant in the original only: infinite")
    if len(constant) == len(names):
        raise NotApplicable(f"{', '.join(names)} constant: there is no density")
    if constant:
        notes.append(f"left out, the same constant in both tables: {', '.join(names[j] for j in constant)}")
    return [j for j in range(len(names)) if j not in constant]


def _drawn(centres: Floats, weights: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draw from a kernel estimate of bandwidth 1: each record as often as it weighs, to one, and a normal step away."""
    ticks = (np.arange(draws) + rng.random()) / draws
    chosen = np.minimum(np.searchsorted(np.cumsum(weights), ticks, side="right"), len(centres) - 1)
    return np.asarray(centres[chosen] + rng.standard_normal((draws, centres.shape[1])))
