"""Kullback-Leibler divergence between the two tables, by normal approximations and by kernel estimates of density."""

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import ROUNDING
from sfumato.measurement import SAMPLING_ERROR, Measurement
from sfumato.pair import Half, Pair
from sfumato.registry import catalogued
from sfumato.table.microdata import Floats, Microdata
from sfumato.utility.models.design import Column, Number, Usable
from sfumato.utility.models.fitting import Sufficient

# Kullback-Leibler divergence between the normal approximations of the two tables

Direction = Literal["original to protected", "protected to original"]
SINGULAR = 1e-12  # of the largest eigenvalue of a correlation matrix: below it there is no spread
OUTSIDE = 1e-10  # variance of one table, in the other's units, in a direction in which the other has none


@catalogued(
    MeasureAbout(
        title="Kullback-Leibler divergence (normal approximation)",
        source="Karr, Kohnen, Oganian, Reiter and Sanil (2006), A framework for evaluating the utility of data altered "
        "to protect confidentiality, The American Statistician 60, section 2.3 and appendix",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        weights=True,
        paired=False,
        parts="summaries",
        missing="records with a missing value in one of the variables are left out, and counted in a note",
        caveat="it sees means and covariances only, as if both tables were multivariate normal",
        formula="KL = [ (m1 - m2)' S2^-1 (m1 - m2) + sum_i (l_i - 1 - log l_i) ] / 2\n"
        "m1, S1 = means and covariances (n in the denominator) of the original, m2, S2 of the protected\n"
        "table (or the other way round, by direction);   l_i = eigenvalues of S1 S2^-1",
        reading="0 for equal means and covariances, no upper limit, no unit. One mean shifted by d standard "
        "deviations alone gives d^2 / 2: 0.005 at a tenth of one. Two samples of n records of one population with p "
        "variables differ by about p (p + 3) / (2 n), so 0.018 at p = 3 and n = 500 is nothing. Parts tell means from "
        "covariances. Two tables with the same first and second moments score 0 whatever their shapes.",
    )
)
class KullbackLeibler(Measure):
    """Divergence between normal distributions with the two tables' means and covariances: (15) of the appendix.

    KL(1 || 2) = [(m1 - m2)' S2^-1 (m1 - m2) - sum (1 - l_i + log l_i)] / 2 with l_i the eigenvalues of S1 S2^-1, m
    the means and S the maximum likelihood covariances (n in the denominator), weighted where the schema names a weight.
    "original to protected" is KL(original || protected): that is what the paper's tables hold, though its text writes
    the arguments the other way round. The divergence is not symmetric, and not a distance.

    Where both covariances are singular in the same directions (a total and its parts), it is computed in the others,
    and said. Where only one of them is, it is infinite, which is refused with the variables that make it so. Parts:
    what the means and what the covariances add. ``by_variable`` has each variable's own divergence; these do not sum
    to the value.

    >>> import pyarrow as pa
    >>> x, y = pa.table({"a": [0.0, 2.0]}), pa.table({"a": [1.0, 3.0]})  # means 1 and 2, variances 1 and 1
    >>> KullbackLeibler().evaluate(x, y).value
    0.5
    """

    direction: Direction = "original to protected"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "direction", get_args(Direction))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, shared = self.shared(pair)
        notes = list(shared)
        found = [
            self._moments(half, label, names, notes)
            for half, label in ((pair.original, "original"), (pair.protected, "protected"))
        ]
        varied = self._varied(found, names, notes)
        names = tuple(name for name, varies in zip(names, varied, strict=True) if varies)
        means, covariances = _standardised(found, varied)
        basis = self._range(means, covariances, names, notes)
        order = (0, 1) if self.direction == "original to protected" else (1, 0)
        gap = basis.T @ (means[1] - means[0])
        first, second = (basis.T @ covariances[place] @ basis for place in order)
        by_mean, by_covariance = _divergence(gap, first, second)
        own = {
            name: sum(
                _divergence(means[1][[j]] - means[0][[j]], *(covariances[o][j : j + 1, j : j + 1] for o in order))
            )
            for j, name in enumerate(names)
        }
        return self.measurement(
            by_mean + by_covariance,
            parts={"means": by_mean, "covariances": by_covariance},
            by_variable=own,
            notes=tuple(notes),
        )

    def _moments(self, half: Half, label: str, names: tuple[str, ...], notes: list[str]) -> tuple[Floats, Floats]:
        rows = Usable(half, label).rows(names)
        if not rows.count:
            raise NotApplicable(f"no record of the {label} table has all of {', '.join(names)}")
        if rows.incomplete:
            notes.append(f"{rows.incomplete:,} records of the {label} table left out: a value is missing")
        gathered = Sufficient.of(rows, tuple(Column(name, ((Number(name), 0),)) for name in names))
        return gathered.means, gathered.products / rows.count

    def _varied(
        self, found: list[tuple[Floats, Floats]], names: tuple[str, ...], notes: list[str]
    ) -> NDArray[np.bool_]:
        """Tell which variables vary; one that is the same constant in both tables says nothing."""
        spread = [np.diag(c) > 1e-26 * (m**2 + np.diag(c)) for m, c in found]
        for j, name in enumerate(names):
            if spread[0][j] and not spread[1][j]:
                raise NotApplicable(f"{name!r} is constant in the protected table only: infinite")
            if not spread[0][j] and (
                spread[1][j] or not np.isclose(found[0][0][j], found[1][0][j], rtol=1e-12, atol=0)
            ):
                raise NotApplicable(f"{name!r} is constant in the original only: infinite")
        constant = [name for name, varies in zip(names, spread[0], strict=True) if not varies]
        if len(constant) == len(names):
            raise NotApplicable(f"{', '.join(names)} constant: there is no covariance")
        if constant:
            notes.append(f"left out, the same constant in both tables: {', '.join(constant)}")
        varied: NDArray[np.bool_] = np.asarray(spread[0])
        return varied

    def _range(
        self, means: list[Floats], covariances: list[Floats], names: tuple[str, ...], notes: list[str]
    ) -> Floats:
        """Return a basis of the directions in which both tables spread; refuse tables that spread in different ones."""
        bases = []
        for covariance in covariances:
            own = np.sqrt(np.diag(covariance))
            values, vectors = np.linalg.eigh(covariance / np.outer(own, own))
            without = values <= SINGULAR * values[-1]
            bases.append((vectors[:, ~without] * own[:, None], vectors[:, without] / own[:, None]))
        for place, (label, other) in enumerate((("original", "protected"), ("protected", "original"))):
            nowhere = np.linalg.qr(bases[place][1])[0]
            outside, turned = np.linalg.eigh(nowhere.T @ covariances[1 - place] @ nowhere)
            if (outside > OUTSIDE).any():
                tied = _tied((nowhere @ turned)[:, -1:], names)
                raise NotApplicable(
                    f"infinite, for {tied} are tied by an exact linear relation in the {label} table that the {other} "
                    "does not keep; leave one out by variables="
                )
            if np.linalg.norm(nowhere.T @ (means[1] - means[0])) > np.sqrt(OUTSIDE):
                raise NotApplicable(
                    f"infinite, for an exact linear relation of the {label} table has another constant in the {other}; "
                    "leave one variable out by variables="
                )
        within, nowhere = bases[0]
        if nowhere.shape[1]:
            relation = "an exact linear relation" if nowhere.shape[1] == 1 else "exact linear relations"
            notes.append(
                f"both covariances are singular ({_tied(nowhere, names)} are tied by {relation}): computed in the "
                f"{within.shape[1]} of {len(names)} dimensions in which the tables spread"
            )
        return np.asarray(np.linalg.qr(within)[0])


def _standardised(found: list[tuple[Floats, Floats]], varied: NDArray[np.bool_]) -> tuple[list[Floats], list[Floats]]:
    """Return means and covariances with the original at mean 0 and variance 1; means apart by rounding are equal."""
    (mean, covariance), _ = found
    scale = np.sqrt(np.diag(covariance))
    gaps = [np.where(np.abs(m - mean) <= ROUNDING * np.hypot(mean, scale), 0.0, m - mean) for m, _ in found]
    scaled = scale[varied]
    means = [gap[varied] / scaled for gap in gaps]
    return means, [c[np.ix_(varied, varied)] / np.outer(scaled, scaled) for _, c in found]


def _tied(directions: Floats, names: tuple[str, ...]) -> str:
    """Name the variables that have a part in linear relations, given directions without spread."""
    parts = np.linalg.norm(np.linalg.qr(directions)[0], axis=1)  # whichever basis the directions are
    return ", ".join(name for name, part in zip(names, parts, strict=True) if part > 1e-6 * parts.max())


def _divergence(gap: Floats, first: Floats, second: Floats) -> tuple[float, float]:
    """Return what the means and what the covariances add to KL(first || second): the two halves of (15)."""
    root = np.linalg.cholesky(second)
    half = np.linalg.solve(root, first)
    excess = np.linalg.eigvalsh(np.linalg.solve(root, half.T)) - 1
    excess[np.abs(excess) <= ROUNDING * np.linalg.cond(second)] = 0.0  # equal but for rounding
    whitened = np.linalg.solve(root, gap)
    # 1 - l + log l = log1p(l - 1) - (l - 1), which keeps its digits where the covariances hardly differ
    return float(whitened @ whitened / 2), max(0.0, float(np.sum(excess - np.log1p(excess)) / 2))


# Kullback-Leibler divergence between kernel estimates of the two tables' densities

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

    found = np.empty(len(points))
    size = max(BLOCK // len(centres), 1)
    for start in range(0, len(points), size):
        logs = cdist(points[start : start + size], centres, "sqeuclidean")
        logs *= -0.5
        greatest = logs.max(axis=1)
        greatest[~np.isfinite(greatest)] = 0.0
        logs -= greatest[:, None]
        with np.errstate(divide="ignore"):
            found[start : start + size] = greatest + np.log(np.exp(logs, out=logs) @ weights)
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
