"""Karr, Oganian, Reiter and Woo: five methods on eight kinds of data, ten measures of utility (Tables 2 to 9)."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.compare.experiment import Experiment
from sfumato.compare.figures import listed
from sfumato.compare.results import Results
from sfumato.compare.work import versions
from sfumato.core import Measure, Method
from sfumato.errors import ParameterError
from sfumato.methods import NormalSynthesis, ProjectionMicroaggregation, RankSwapping, Resampling, ResidualNoise
from sfumato.studies.study import Figure, Finding, Line, Sample, Settings, Study, judged, printed_rows
from sfumato.table.microdata import Microdata
from sfumato.utility import CDFMaximum, CDFSquares, ClusterUtility, PropensityUtility

# What section 3 of Karr, Oganian, Reiter and Woo says of its tables, sentence by sentence and row by row

Row = Mapping[str, float]  # one measure of one data type, by method
FITTED_RANK = "Rank, p = .05"
SYMMETRIC, SKEWED = ("symmetric",), ("nonsymmetric high", "nonsymmetric low negative")
NONSYMMETRIC, LOW_POSITIVE = ("nonsymmetric",), ("nonsymmetric low positive",)
ALL = (*SYMMETRIC, *NONSYMMETRIC)
CDF, CLUSTERS, LOGISTIC = ("MD", "MCM"), ("g = 500", "g = 1000"), ("Logistic I", "Logistic II")
SMALL_TREE, LARGE_TREE = ("Tree Model I",), ("Tree Model II",)
MODIFIED = ("Modified Logistic I", "Modified Logistic II")
JOINT = (*CDF, *CLUSTERS, *SMALL_TREE, *LARGE_TREE, *MODIFIED)  # all but the logistic models
THREE = ("Syn", "Micz03", "Micz03+Noise")


@dataclass(frozen=True)
class Statement:
    """A sentence, the rows it speaks of, and in how many of the printed ones it holds."""

    text: str
    types: tuple[str, ...]
    measures: tuple[str, ...]
    holds: Callable[[Row], bool]
    printed: int
    rank: bool = False  # whether it speaks of rank swapping, whose window print contradicts


def _ordered(*order: str) -> Callable[[Row], bool]:
    """Tell whether each method loses less than the next."""
    return lambda row: all(row[a] < row[b] for a, b in pairwise(order))


def _swapping_and_resampling(row: Row) -> bool:
    return max(row["Rank"], row["Resampling"]) < min(row[name] for name in THREE)


def _best_of_three(method: str) -> Callable[[Row], bool]:
    return lambda row: min(THREE, key=lambda name: row[name]) == method


def _alike(row: Row) -> bool:
    return row["Micz03"] == row["Syn"] or abs(row["Micz03"] - row["Syn"]) < 0.15 * row["Syn"]


def _overall_skewed(row: Row) -> bool:
    return row["Resampling"] < row["Rank"] < row["Micz03+Noise"] < min(row["Micz03"], row["Syn"])


OVERALL = ("Resampling", "Rank", "Micz03", "Micz03+Noise", "Syn")
STATEMENTS = (
    Statement("Logistic I scores Syn 0", ALL, LOGISTIC[:1], lambda row: abs(row["Syn"]) < 5e-4, 8),
    Statement(
        "Logistic I is small for Micz03+Noise too, which keeps the moments in expectation: below 0.5",
        ALL,
        LOGISTIC[:1],
        lambda row: row["Micz03+Noise"] < 0.5,
        8,
    ),
    Statement(
        "The degree is crucial: Logistic II gives Syn more than 100 where Logistic I gives 0",
        ALL,
        LOGISTIC[1:],
        lambda row: row["Syn"] > 100,
        8,
    ),
    Statement(
        "Rank and Resampling beat the other three in every measure but the logistic models, symmetric data",
        SYMMETRIC,
        JOINT,
        _swapping_and_resampling,
        32,
        rank=True,
    ),
    Statement(
        "Rank and Resampling beat the other three in every measure but the logistic models, non-symmetric data",
        NONSYMMETRIC,
        JOINT,
        _swapping_and_resampling,
        32,
        rank=True,
    ),
    Statement(
        "Symmetric data, Logistic II: Rank beats Micz03+Noise for some types",
        SYMMETRIC,
        LOGISTIC[1:],
        _ordered("Rank", "Micz03+Noise"),
        2,
        rank=True,
    ),
    Statement(
        "Symmetric data: Micz03 is the best of three and Syn the worst, but for the logistic models and Tree Model II",
        SYMMETRIC,
        tuple(name for name in JOINT if name not in LARGE_TREE),
        _ordered("Micz03", "Micz03+Noise", "Syn"),
        28,
    ),
    Statement(
        "Symmetric data: Logistic II and Tree Model II prefer Micz03+Noise to Micz03",
        SYMMETRIC,
        (*LOGISTIC[1:], *LARGE_TREE),
        _ordered("Micz03+Noise", "Micz03"),
        8,
    ),
    Statement(
        "Tree Model II punishes Micz03, whose records come in threes: it is the worst of all, symmetric data",
        SYMMETRIC,
        LARGE_TREE,
        lambda row: row["Micz03"] == max(row.values()),
        4,
    ),
    Statement(
        "Non-symmetric data but low positive: Micz03+Noise is the best of three in every measure but Logistic I",
        SKEWED,
        (*JOINT, *LOGISTIC[1:]),
        _best_of_three("Micz03+Noise"),
        27,
    ),
    Statement(
        "Non-symmetric low positive data: Micz03 is the best of three in every measure but Logistic I",
        LOW_POSITIVE,
        (*JOINT, *LOGISTIC[1:]),
        _best_of_three("Micz03"),
        9,
    ),
    Statement(
        "Non-symmetric data but low positive: Tree Model II and the clusters make Micz03 the worst of three",
        SKEWED,
        (*CLUSTERS, *LARGE_TREE),
        lambda row: row["Micz03"] == max(row[name] for name in THREE),
        8,
    ),
    Statement(
        "Non-symmetric data but low positive: Micz03 does not differ from Syn, by 15 %, in clusters, Tree Model I and "
        "modified logistic models",
        SKEWED,
        (*CLUSTERS, *SMALL_TREE, *MODIFIED),
        _alike,
        15,
    ),
    Statement(
        "Symmetric data: Resampling beats Rank in all measures but the CDF ones and Tree Model I",
        SYMMETRIC,
        (*CLUSTERS, *LOGISTIC, *LARGE_TREE, *MODIFIED),
        _ordered("Resampling", "Rank"),
        27,
        rank=True,
    ),
    Statement(
        "Non-symmetric data: Resampling beats Rank in all measures but the CDF ones and the trees",
        NONSYMMETRIC,
        (*CLUSTERS, *LOGISTIC, *MODIFIED),
        _ordered("Resampling", "Rank"),
        24,
        rank=True,
    ),
    Statement(
        "The CDF measures hardly tell Rank from Resampling: their MD differ by less than 0.01",
        ALL,
        CDF[:1],
        lambda row: abs(row["Rank"] - row["Resampling"]) < 0.01,
        8,
        rank=True,
    ),
    Statement(
        "The CDF measures favour Rank: its MCM is below that of Resampling",
        ALL,
        CDF[1:],
        _ordered("Rank", "Resampling"),
        6,
        rank=True,
    ),
    Statement(
        "Tree Model I gives 0 to both Rank and Resampling",
        ALL,
        SMALL_TREE,
        lambda row: row["Rank"] == 0 == row["Resampling"],
        8,
        rank=True,
    ),
    Statement(
        "Tree Model II gives 0 to Rank, non-symmetric data",
        NONSYMMETRIC,
        LARGE_TREE,
        lambda row: row["Rank"] == 0,
        4,
        rank=True,
    ),
    Statement(
        "The modified logistic models order the methods as the paper does overall, symmetric and low positive data",
        (*SYMMETRIC, *LOW_POSITIVE),
        MODIFIED,
        _ordered(*OVERALL),
        10,
        rank=True,
    ),
    Statement(
        "The modified logistic models order the methods as the paper does overall, other non-symmetric data",
        SKEWED,
        MODIFIED,
        _overall_skewed,
        6,
        rank=True,
    ),
)


def findings(lines: list[Line]) -> tuple[Finding, ...]:
    """Check the paper's sentences on our figures; where they speak of rank swapping, also at the window that fits."""
    rows = {line.name: {method: figure.ours for method, figure in line.figures.items()} for line in lines}
    found = []
    for statement in STATEMENTS:
        chosen = rows_of(statement, rows)
        held = {name: statement.holds(without_fitted(row)) for name, row in chosen.items()}
        finding = judged(statement.text, held, (statement.printed, len(chosen)))
        if statement.rank and all(FITTED_RANK in row for row in chosen.values()):
            fitted = [statement.holds({**without_fitted(row), "Rank": row[FITTED_RANK]}) for row in chosen.values()]
            finding = Finding(
                finding.statement, finding.holds, f"{finding.detail} (if Rank has p = .05: in {sum(fitted)})"
            )
        found.append(finding)
    return (*found, _degree(rows))


def rows_of(statement: Statement, rows: Mapping[str, Row]) -> dict[str, Row]:
    """Choose the rows that a statement speaks of."""
    return {
        name: row
        for name, row in rows.items()
        if name.startswith(statement.types) and name.partition(": ")[2] in statement.measures
    }


def without_fitted(row: Row) -> dict[str, float]:
    """Leave out rank swapping with the window that is not the paper's."""
    return {method: value for method, value in row.items() if method != FITTED_RANK}


def _degree(rows: Mapping[str, Row]) -> Finding:
    """Check that the degree of the modified logistic model changes no order of the five methods."""

    def order(kind: str, measure: str) -> list[str]:
        row = without_fitted(rows[f"{kind}: {measure}"])
        return sorted(row, key=lambda method: row[method])

    kinds = dict.fromkeys(name.partition(": ")[0] for name in rows)
    held = {kind: order(kind, MODIFIED[0]) == order(kind, MODIFIED[1]) for kind in kinds}
    return judged("Modified logistic models of both degrees order the five methods alike", held, (8, 8), of="types")


# Section 3 of Karr, Oganian, Reiter and Woo: why clusters, and not even splitting or the leaves of a tree

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]
Leaves = Mapping[str, Mapping[str, float]]  # of the tree, by type of data and method
PARTS = 10  # of each variable, as in the paper's example
DIMENSIONS = (2, 3, 4, 5, 6)


def evenly(x: Floats, parts: int = PARTS) -> Cells:
    """Number the cells that come of cutting the range of each variable into parts of equal width.

    >>> evenly(np.array([[0.0, 0.0], [1.9, 10.0], [10.0, 5.0]]), 5).tolist()
    [0, 4, 22]
    """
    low, high = x.min(axis=0), x.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    places = np.minimum(((x - low) / width * parts).astype(np.int64), parts - 1)
    return np.asarray(places @ parts ** np.arange(x.shape[1])[::-1])


def utility(cells: Cells, protected: NDArray[np.bool_]) -> float:
    """Return (2.4) of the paper for any partition: the sum of n_j (n_j1 / n_j - c)^2.

    >>> utility(np.array([0, 0, 0, 7]), np.array([True, True, False, False]))  # 3 (2/3 - 1/2)^2 + 1 (0 - 1/2)^2
    0.3333333333333333
    """
    _, number = np.unique(cells, return_inverse=True)
    size = np.bincount(number)
    share = np.bincount(number, weights=protected) / size
    return float((size * (share - protected.mean()) ** 2).sum())


def partitions(samples: list[Sample], methods: tuple[str, ...], leaves: Leaves, seed: int) -> tuple[Finding, ...]:
    """Show what the paper says against both partitions, and how near they come to clusters."""
    return (_cells(len(samples[0].original), seed), _orders(samples, methods), _tree(leaves, methods))


def _cells(n: int, seed: int) -> Finding:
    """Count the cells that hold any of 2n normal records, as variables are added."""
    x = np.random.default_rng([seed, 16]).standard_normal((2 * n, max(DIMENSIONS)))
    filled = {p: len(np.unique(evenly(x[:, :p]))) for p in DIMENSIONS}
    shares = [count / PARTS**p for p, count in filled.items()]
    return Finding(
        "Even splitting makes 10^p cells, ever more of them without a record (section 3)",
        all(after < before for before, after in pairwise(shares)),
        f"of {2 * n:,} records, normal and uncorrelated, "
        + ", ".join(f"{count:,} of {PARTS**p:,} cells hold any (p = {p})" for p, count in filled.items()),
    )


def _orders(samples: list[Sample], methods: tuple[str, ...]) -> Finding:
    """Hold the order of the methods by even cells against that by as many clusters."""
    alike, filled, fullest = 0, [], []
    for sample in samples:
        by_cells, by_clusters = {}, {}
        clusters = ClusterUtility(min(PARTS**2, len(sample.original)))
        for name in methods:
            cells, protected = _pooled(sample.original, sample.protected[name])
            by_cells[name] = utility(cells, protected)
            by_clusters[name] = clusters.evaluate(sample.original, sample.protected[name]).value
            counts = np.unique(cells, return_counts=True)[1]
            filled.append(len(counts))
            fullest.append(float(counts.max() / counts.sum()))
        alike += sorted(methods, key=by_cells.__getitem__) == sorted(methods, key=by_clusters.__getitem__)
    return Finding(
        "Even splitting beside clusters, two variables, 100 cells and 100 clusters, without a verdict",
        None,
        f"they order the {len(methods)} methods alike for {alike} of {len(samples)} types; {min(filled)} to "
        f"{max(filled)} of the cells hold any record, the fullest {100 * min(fullest):.0f} to "
        f"{100 * max(fullest):.0f} % of all",
    )


def _pooled(original: Microdata, protected: Microdata) -> tuple[Cells, NDArray[np.bool_]]:
    cells = evenly(np.vstack([original.numeric(), protected.numeric()]))
    return cells, np.arange(len(cells)) >= len(original)


def _tree(leaves: Leaves, methods: tuple[str, ...]) -> Finding:
    """Count the leaves of Tree Model I: a tree looks for the source of the records, and may find nothing to split."""
    whole = {kind: [name for name in methods if of[name] == 1] for kind, of in leaves.items()}
    counts = {name: [of[name] for of in leaves.values()] for name in methods}
    return Finding(
        "A tree groups by the source, not by likeness alone, and can sometimes not part the space at all (section 3): "
        "the tree with cp = 0.001 has a single leaf for some method in every type",
        all(whole.values()),
        "leaves: " + ", ".join(f"{name} {min(found):.0f} to {max(found):.0f}" for name, found in counts.items()),
    )


# Whether the printed figures of rank swapping tell its window: MD and MCM on data that a few records contaminate

SHARE, WIDTH, CORRELATION = 0.02, 20.0, 0.8  # of the contaminating records
PRINTED_MD, PRINTED_MCM = 0.009, 0.127  # the largest that print has of Rank on symmetric data
STATEMENT = (
    "MD and MCM of Rank do not tell its window: on symmetric data that 2 % of the records contaminate, the window of "
    "the text, p = .15, has none above the largest printed, 0.009 and 0.127"
)


def contaminated(n: int, seed: int) -> Microdata:
    """Draw n records: uncorrelated standard normal, but for 2 % that are correlated and 20 times as wide.

    Pearson's correlation comes of these few; ranks, on which MD and MCM of swapped data depend, are nearly
    uncorrelated.
    """
    rng = np.random.default_rng([seed, 15])
    far = rng.random(n) < SHARE
    first, other = rng.standard_normal((2, n))
    r, width = np.where(far, CORRELATION, 0.0), np.where(far, WIDTH, 1.0)
    return Microdata.from_frame(pa.table({"x1": width * first, "x2": width * (r * first + np.sqrt(1 - r**2) * other)}))


def windows(methods: dict[str, Method], n: int, seed: int, *, comparable: bool) -> Finding:
    """Measure all methods on contaminated data; without a verdict if the printed tables have another size."""
    data = contaminated(n, seed)
    told, figures = [], {}
    for name, method in methods.items():
        protected = method.protect(data, rng=seed)
        figures[name] = tuple(m.evaluate(data, protected).value for m in (CDFMaximum(), CDFSquares(total=True)))
        told.append(f"{name} {figures[name][0]:.4f} and {figures[name][1]:.3f}")
    pearson = float(np.asarray(np.corrcoef(data.numeric().T))[0, 1])
    near = figures["Rank"][0] <= PRINTED_MD and figures["Rank"][1] <= PRINTED_MCM
    return Finding(
        STATEMENT, near if comparable else None, f"Pearson's r {pearson:.2f}; MD and MCM: {listed(tuple(told), 9)}"
    )


# the experiment

Table = dict[str, Figure]  # of one data type and measure, by method

SOURCE = (
    "A. F. Karr, A. Oganian, J. P. Reiter and M.-J. Woo, New Measures of Data Utility; published as M.-J. Woo, "
    "J. P. Reiter, A. Oganian and A. F. Karr, Global Measures of Data Utility for Microdata Masked for Disclosure "
    "Limitation, Journal of Privacy and Confidentiality 1 (2009)"
)
RECORDS = 10_000
SHAPES = ("symmetric", "nonsymmetric")
CORRELATIONS = {"high negative": -0.75, "high positive": 0.75, "low negative": -0.3, "low positive": 0.3}
TYPES = tuple(f"{shape} {correlation}" for shape in SHAPES for correlation in CORRELATIONS)
METHODS: dict[str, Method] = {
    "Syn": NormalSynthesis(),
    "Micz03": ProjectionMicroaggregation(3),
    "Micz03+Noise": ResidualNoise(ProjectionMicroaggregation(3)),
    "Rank": RankSwapping(0.15),
    "Resampling": Resampling(3),
    FITTED_RANK: RankSwapping(0.05),
}
PRINTED = tuple(name for name in METHODS if name != FITTED_RANK)
MIN_GROUP = 10  # records of a group in the modified logistic models that get a model of their own; fitted

SETTING = (
    "The paper describes its eight data types only in words: symmetric and non-symmetric departures from the normal "
    "distribution, high and low, positive and negative correlation. Here, correlations are ±0.75 and ±0.3, and the "
    "families are fitted: chosen to come near the printed figures. Symmetric: a generalised Laplace distribution, "
    "normal with a gamma variance of shape 0.35, so with a sharp peak and heavy tails. Non-symmetric: x1 = exp(0.7 Z), "
    "and x2 = r times x1 in standard units plus a normal part; for low positive correlation both are lognormal amounts "
    "exp(1.2 Z), because print shows that type to be far more skewed than the others. Orders are to be compared; that "
    "digits come near print says that the families are of the same kind.",
    "Measures are sums over the pooled records, as in the paper: MCM, the cluster measure with g = 5 and 10 % of n, "
    "and the propensity measures with its two logistic models, its trees (cp = 0.001, 0.0001) and its modified "
    f"logistic models (g = 1 % of n; groups of fewer than {MIN_GROUP} records have the share of protected ones as "
    "propensity, which is fitted: Resampling then scores 6 to 41 with five seeds, with a model in every group 26 to "
    "80, in print 13 to 34). By chance alone, two samples of one population score about 125 and 250 in the cluster "
    "measure with g = 500 and 1000, which is where the printed figures of Rank lie.",
    "Rank has the window of the paper's text, p = .15. On our data the printed figures fit a window near .05, so that "
    "this stands beside it, called fitted, with the same printed figures; data of another kind fit them with the "
    "window of the text, which a finding shows. A statement holds if it does in as large a share of our rows as of the "
    "printed ones.",
)
_OTHER_DATA = "The data are of the same kind, not the same: the paper's distributions are not printed."
REASONS = {
    "symmetric": _OTHER_DATA,
    "nonsymmetric": _OTHER_DATA,
    "Syn": "Logistic I is 0 to rounding because means and covariances are kept exactly; print has 0.000. The rest "
    "depends on how far the data are from normal.",
    "Micz03": "No randomness: differences come of the data alone.",
    "Micz03+Noise": "One draw of the noise; differences come of the data.",
    "Rank": "MD and MCM of swapped data depend on ranks alone: on how associated these are, not on the shape of the "
    "margins. With five seeds our MD is 0.008 to 0.033 with p = .15 and 0.004 to 0.013 with p = .05, where print "
    "has 0.005 to 0.011. Two things can explain that: another window than the text says, or data whose ranks are "
    "nearly independent although Pearson's correlation is not, as where a few records contaminate (2 % of them, 20 "
    "times as wide: MD 0.007 to 0.008 with p = .15 and Pearson's r 0.68 to 0.74). Against the latter: MCM of Syn is "
    "then 505 to 570, on symmetric data in print 117 to 282. Tree Model II cannot be above 0, as print has it on "
    "symmetric data (56 to 221), if the margins are kept exactly; swapped values rounded to three decimals score 620 "
    "to 940 on ours.",
    "Resampling": "Each value becomes the mean of three draws around its rank: MD is 0.004 to 0.011 with five seeds, "
    "in print 0.005 to 0.011. Tree Model II is what chance leaves a large tree to find, and differs from draw to draw.",
    FITTED_RANK: "Fitted: the window with which the printed figures of Rank come out on our data. The paper's text "
    "says .15, and on other data that fits too.",
}


def measures(n: int) -> dict[str, Measure]:
    """Build the ten measures for tables of n records, by their names in print at n = 10,000."""
    groups = {share: max(2, round(share * n)) for share in (0.05, 0.1)}
    return {
        "MD": CDFMaximum(),
        "MCM": CDFSquares(total=True),
        "g = 500": ClusterUtility(groups[0.05]),
        "g = 1000": ClusterUtility(groups[0.1]),
        "Logistic I": PropensityUtility(model="logistic I", total=True),
        "Logistic II": PropensityUtility(model="logistic II", total=True),
        "Tree Model I": PropensityUtility(model="tree", cp=0.001, total=True, permutations=0),
        "Tree Model II": PropensityUtility(model="tree", cp=0.0001, total=True, permutations=0),
        "Modified Logistic I": PropensityUtility(
            model="modified logistic I", groups=0.01, total=True, least_group=MIN_GROUP
        ),
        "Modified Logistic II": PropensityUtility(
            model="modified logistic II", groups=0.01, total=True, least_group=MIN_GROUP
        ),
    }


def sample(kind: str, n: int, seed: int) -> Microdata:
    """Draw a table of one of the eight types."""
    shape, _, name = kind.partition(" ")
    correlation = CORRELATIONS[name]
    rng = np.random.default_rng([seed, TYPES.index(kind)])
    skewed = _lognormal if name == "low positive" else _skewed_cause
    x = (_heavy_tails if shape == "symmetric" else skewed)(correlation, n, rng)
    return Microdata.from_frame(pa.table({"x1": x[:, 0], "x2": x[:, 1]}))


def _heavy_tails(correlation: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw a symmetric generalised Laplace distribution: normal, with a gamma variance of shape 0.35."""
    return _normal(correlation, n, rng) * np.sqrt(rng.gamma(0.35, size=n))[:, None]


def _skewed_cause(correlation: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw x1 = exp(0.7 Z) and x2 = r times x1 in standard units plus a normal part."""
    spread = 0.7
    first, other = rng.standard_normal((2, n))
    amount = np.exp(spread * first)
    mean = math.exp(spread**2 / 2)  # of exp(s Z), and its standard deviation that times sqrt(exp(s^2) - 1)
    standard = (amount - mean) / (mean * math.sqrt(math.exp(spread**2) - 1))
    return np.column_stack([amount, correlation * standard + math.sqrt(1 - correlation**2) * other])


def _lognormal(correlation: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw lognormal amounts exp(1.2 Z) of this positive correlation."""
    # corr(exp(s Z1), exp(s Z2)) = (exp(s^2 r) - 1) / (exp(s^2) - 1), solved for r
    s = 1.2
    return np.exp(s * _normal(math.log(1 + correlation * (math.exp(s**2) - 1)) / s**2, n, rng))


def _normal(correlation: float, n: int, rng: np.random.Generator) -> Floats:
    first, other = rng.standard_normal((2, n))
    return np.column_stack([first, correlation * first + math.sqrt(1 - correlation**2) * other])


def run(settings: Settings) -> Study:
    """Recompute Tables 2 to 9 on data of the same kinds; the paper's own data are not public, so none are read."""
    if settings.data is not None:
        raise ParameterError("the Woo study draws its own data; leave out --data")
    n = settings.records or RECORDS
    # sums over the records do not compare with those over more of them
    table = printed_tables(settings.printed) if settings.printed is not None and n == RECORDS else {}
    lines: list[Line] = []
    samples: list[Sample] = []
    leaves: dict[str, dict[str, float]] = {}
    seconds = 0.0
    for kind in TYPES:
        original = sample(kind, n, settings.seed)
        experiment = Experiment(
            original,
            methods=tuple(METHODS.values()),
            measures=tuple(measures(n).values()),
            replicates=settings.replicates or 1,
            seed=settings.seed,
        )
        results = settings.results_of(experiment)
        seconds += results.seconds
        lines += compared(kind, results, n, table)
        tree = repr(measures(n)["Tree Model I"])
        leaves[kind] = {name: results.row(repr(METHODS[name])).parts[tree]["leaves"] for name in PRINTED}
        samples.append(Sample(kind, original, {name: results.protect(repr(m)) for name, m in METHODS.items()}))
    return Study(
        name="woo",
        title="Tables 2 to 9 of Karr, Oganian, Reiter and Woo, recomputed",
        source=SOURCE,
        setting=(*SETTING, moments(samples[1])),
        columns=tuple(METHODS),
        lines=tuple(lines),
        findings=(
            *table_1(samples[1]),
            *findings(lines),
            windows({name: METHODS[name] for name in PRINTED}, n, settings.seed, comparable=n == RECORDS),
            *partitions(samples, PRINTED, leaves, settings.seed),
        ),
        reasons=REASONS,
        samples=tuple(samples),
        seed=settings.seed,
        replicates=settings.replicates or 1,
        seconds=seconds,
        versions=versions(),
        fingerprint="drawn by the study",
    )


def printed_tables(path: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Read the printed tables: columns data, measure, and one per method."""
    rows = printed_rows(path, ("data", "measure", *PRINTED), "does not hold the printed Tables 2 to 9")
    return {(row["data"], row["measure"]): {m: row[m] for m in PRINTED} for row in rows}


def compared(kind: str, results: Results, n: int, printed: dict[tuple[str, str], dict[str, float]]) -> list[Line]:
    """Put our figures of one data type beside the printed ones."""
    lines = []
    for name, measure in measures(n).items():
        figures = {}
        for method, instance in METHODS.items():
            row = results.row(repr(instance))
            values = row.values.get(repr(measure), ())
            spread = row.errors.get(repr(measure), math.nan) * math.sqrt(len(values))
            mean = row.means.get(repr(measure), math.nan)
            in_print = "Rank" if method == FITTED_RANK else method
            figures[method] = Figure(mean, spread, printed.get((kind, name), {}).get(in_print, math.nan))
        lines.append(Line(f"{kind}: {name}", kind.partition(" ")[0], repr(measure), figures))
    return lines


def moments_and_coefficients(table: Microdata) -> dict[str, float]:
    """Compute the rows of Table 1: moments, and the regression of the first variable on the second."""
    x = table.numeric()
    (mean, other), covariance = x.mean(axis=0), np.cov(x.T)
    slope = covariance[0, 1] / covariance[1, 1]
    return {
        "mean of x1": float(mean),
        "mean of x2": float(other),
        "variance of x1": float(covariance[0, 0]),
        "variance of x2": float(covariance[1, 1]),
        "correlation": float(covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])),
        "intercept": float(mean - slope * other),
        "slope": float(slope),
    }


def moments(shown: Sample) -> str:
    """Say, as the paper's Table 1 does, that moments may all be kept and the distribution be ruined."""
    tables = {"original": shown.original, **{m: shown.protected[m] for m in ("Syn", "Resampling")}}
    told = [
        f"{name}: {', '.join(f'{row} {value:.4f}' for row, value in moments_and_coefficients(table).items())}"
        for name, table in tables.items()
    ]
    return (
        f"As in the paper's Table 1, for the type {shown.name}, with the regression of x1 on x2: {'; '.join(told)}. "
        "Syn keeps every one of these exactly, Resampling none of them; what the measures that see the distribution "
        "say of the two is in the tables."
    )


def table_1(shown: Sample) -> tuple[Finding, Finding]:
    """Check what the paper takes from Table 1: moments and coefficients call Syn perfect, and Resampling not."""
    before = moments_and_coefficients(shown.original)
    kept, rest = (
        {row: math.isclose(after[row], value, rel_tol=1e-6, abs_tol=1e-9) for row, value in before.items()}
        for after in (moments_and_coefficients(shown.protected[method]) for method in ("Syn", "Resampling"))
    )
    return (
        judged("Table 1: Syn keeps moments and regression coefficients as they were", kept, (7, 7)),
        judged("Table 1: Resampling keeps none of them", {row: not holds for row, holds in rest.items()}, (7, 7)),
    )
