"""Woo, Reiter, Oganian and Karr: five methods on eight kinds of data, ten measures of utility (Tables 2 to 9)."""

import math
from collections.abc import Callable
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
from sfumato.data.files import read
from sfumato.data.microdata import Microdata
from sfumato.errors import DataError, ParameterError
from sfumato.methods import NormalSynthesis, ProjectionMicroaggregation, RankSwapping, Resampling, ResidualNoise
from sfumato.studies.study import Figure, Finding, Line, Sample, Study
from sfumato.utility import CDFMaximum, CDFSquares, ClusterUtility, PropensityUtility

Floats = NDArray[np.float64]
Table = dict[str, Figure]  # of one data type and measure, by method

SOURCE = "M.-J. Woo, J. P. Reiter, A. Oganian and A. F. Karr, Global measures of data utility for microdata masked"
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
}

SETTING = (
    "The paper describes its eight data types only in words: symmetric and non-symmetric departures from the normal "
    "distribution, high and low, positive and negative correlation. Here, correlations are ±0.75 and ±0.3. Symmetric: "
    "a generalised Laplace distribution, normal with a gamma variance of shape 0.35, so with a sharp peak and heavy "
    "tails. Non-symmetric: gamma amounts of shape 2 that share a part, the second mirrored for a negative correlation; "
    "for low positive correlation lognormal amounts exp(1.2 Z), because print shows that type to be far more skewed "
    "than the others. These families were chosen to come near the printed MD; orders are to be compared, not digits.",
    "Measures are sums over the pooled records, as in the paper: MCM, the cluster measure with g = 5 and 10 % of n, "
    "and the propensity measures with its two logistic models, its trees (cp = 0.001, 0.0001) and its modified "
    "logistic models (g = 1 % of n). By chance alone, two samples of one population score about 125 and 250 in the "
    "cluster measure with g = 500 and 1000, which is where the printed figures of Rank lie.",
)
REASONS = {
    "symmetric": "The data are of the same kind, not the same: the paper's distributions are not printed.",
    "nonsymmetric": "The data are of the same kind, not the same: the paper's distributions are not printed.",
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
        "Modified Logistic I": PropensityUtility(model="modified logistic I", groups=0.01, total=True),
        "Modified Logistic II": PropensityUtility(model="modified logistic II", groups=0.01, total=True),
    }


def sample(kind: str, n: int, seed: int) -> Microdata:
    """Draw a table of one of the eight types."""
    shape, _, name = kind.partition(" ")
    correlation = CORRELATIONS[name]
    rng = np.random.default_rng([seed, TYPES.index(kind)])
    skewed = _lognormal if name == "low positive" else _gamma_sums
    x = (_heavy_tails if shape == "symmetric" else skewed)(correlation, n, rng)
    return Microdata.from_frame(pa.table({"x1": x[:, 0], "x2": x[:, 1]}))


def _heavy_tails(correlation: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw a symmetric generalised Laplace distribution: normal, with a gamma variance of shape 0.35."""
    return _normal(correlation, n, rng) * np.sqrt(rng.gamma(0.35, size=n))[:, None]


def _gamma_sums(correlation: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw gamma amounts of shape 2 that share a part; for a negative correlation the second one is mirrored."""
    common = rng.gamma(2 * abs(correlation), size=n)
    amounts = common[:, None] + rng.gamma(2 * (1 - abs(correlation)), size=(n, 2))
    return np.asarray(amounts * [1.0, math.copysign(1.0, correlation)])


def _lognormal(correlation: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw lognormal amounts exp(1.2 Z) of this positive correlation."""
    # corr(exp(s Z1), exp(s Z2)) = (exp(s^2 r) - 1) / (exp(s^2) - 1), solved for r
    s = 1.2
    return np.exp(s * _normal(math.log(1 + correlation * (math.exp(s**2) - 1)) / s**2, n, rng))


def _normal(correlation: float, n: int, rng: np.random.Generator) -> Floats:
    first, other = rng.standard_normal((2, n))
    return np.column_stack([first, correlation * first + math.sqrt(1 - correlation**2) * other])


def run(
    *,
    data: Path | None = None,
    printed: Path | None = None,
    replicates: int | None = None,
    seed: int = 0,
    workers: int = 1,
    store: Path | None = None,
    progress: bool = False,
    records: int | None = None,
) -> Study:
    """Recompute Tables 2 to 9 on data of the same kinds; the paper's own data are not public, so none are read."""
    if data is not None:
        raise ParameterError("the Woo study draws its own data; leave out --data")
    n = records or RECORDS
    # sums over the records do not compare with those over more of them
    table = printed_tables(printed) if printed is not None and n == RECORDS else {}
    lines: list[Line] = []
    samples: list[Sample] = []
    seconds = 0.0
    for kind in TYPES:
        original = sample(kind, n, seed)
        experiment = Experiment(
            original,
            methods=tuple(METHODS.values()),
            measures=tuple(measures(n).values()),
            replicates=replicates or 1,
            seed=seed,
        )
        results = experiment.run(workers=workers, store=store, progress=progress)
        seconds += results.seconds
        lines += compared(kind, results, n, table)
        samples.append(Sample(kind, original, {name: results.protect(repr(m)) for name, m in METHODS.items()}))
    return Study(
        name="woo",
        title="Tables 2 to 9 of Woo, Reiter, Oganian and Karr, recomputed",
        source=SOURCE,
        setting=(*SETTING, moments(samples[1])),
        columns=tuple(METHODS),
        lines=tuple(lines),
        findings=findings(lines),
        reasons=REASONS,
        samples=tuple(samples),
        seed=seed,
        replicates=replicates or 1,
        seconds=seconds,
        versions=versions(),
        fingerprint="drawn by the study",
    )


def printed_tables(path: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Read the printed tables: columns data, measure, and one per method."""
    table = read(path).to_arrow()
    lacking = [name for name in ("data", "measure", *METHODS) if name not in table.column_names]
    if lacking:
        raise DataError(f"{path} does not hold the printed Tables 2 to 9: it has no column {', '.join(lacking)}")
    return {(row["data"], row["measure"]): {m: row[m] for m in METHODS} for row in table.to_pylist()}


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
            figures[method] = Figure(mean, spread, printed.get((kind, name), {}).get(method, math.nan))
        lines.append(Line(f"{kind}: {name}", kind.partition(" ")[0], repr(measure), figures))
    return lines


def moments(shown: Sample) -> str:
    """Say, as the paper's Table 1 does, that moments may all be kept and the distribution be ruined."""
    told = []
    for name, table in (("original", shown.original), *((m, shown.protected[m]) for m in ("Syn", "Resampling"))):
        x = table.numeric()
        told.append(
            f"{name}: means {x[:, 0].mean():.4f} and {x[:, 1].mean():.4f}, variances {x[:, 0].var(ddof=1):.4f} and "
            f"{x[:, 1].var(ddof=1):.4f}, correlation {np.asarray(np.corrcoef(x.T))[0, 1]:.4f}"
        )
    return (
        f"As in the paper's Table 1, for the type {shown.name}: {'; '.join(told)}. Syn keeps every one of these "
        "exactly, Resampling none of them; what the measures that see the distribution say of the two is in the tables."
    )


def findings(lines: list[Line]) -> tuple[Finding, ...]:
    """Check the paper's findings one by one on our figures, and on the printed ones where they are there."""
    found = []
    for statement, kinds, names, holds in STATEMENTS:
        chosen = [
            line
            for line in lines
            if line.name.startswith(kinds) and (not names or line.name.partition(": ")[2] in names)
        ]
        ours = [line.name for line in chosen if not holds({m: f.ours for m, f in line.figures.items()})]
        known = [line for line in chosen if not math.isnan(next(iter(line.figures.values())).printed)]
        theirs = [line.name for line in known if not holds({m: f.printed for m, f in line.figures.items()})]
        detail = f"in {len(chosen) - len(ours)} of {len(chosen)} rows of ours"
        if known:
            detail += f", in {len(known) - len(theirs)} of {len(known)} printed"
        if ours:
            detail += f"; not in {listed(tuple(ours))}"
        found.append(Finding(statement, not ours, detail))
    return tuple(found)


def _better(*order: str) -> Callable[[dict[str, float]], bool]:
    """Tell whether each method loses less than the next."""
    return lambda row: all(row[a] < row[b] for a, b in pairwise(order))


_JOINT = (
    "MD",
    "MCM",
    "g = 500",
    "g = 1000",
    "Tree Model I",
    "Tree Model II",
    "Modified Logistic I",
    "Modified Logistic II",
)
_NO_LARGE_TREE = tuple(name for name in _JOINT if name != "Tree Model II")
STATEMENTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], Callable[[dict[str, float]], bool]], ...] = (
    (
        "Logistic I scores Syn 0: a model of second-order terms sees nothing but the moments",
        SHAPES,
        ("Logistic I",),
        lambda row: abs(row["Syn"]) < 1e-6,
    ),
    (
        "Rank and Resampling beat Syn, Micz03 and Micz03+Noise in every measure but the logistic models",
        SHAPES,
        _JOINT,
        lambda row: max(row["Rank"], row["Resampling"]) < min(row["Syn"], row["Micz03"], row["Micz03+Noise"]),
    ),
    (
        "Symmetric data: Micz03 beats Micz03+Noise, and that Syn, but for the logistic models and Tree II",
        ("symmetric",),
        _NO_LARGE_TREE,
        _better("Micz03", "Micz03+Noise", "Syn"),
    ),
    (
        "Tree Model II punishes Micz03: its records come in threes, which a large tree finds",
        SHAPES,
        ("Tree Model II",),
        _better("Micz03+Noise", "Micz03"),
    ),
    (
        "Resampling beats Rank in the cluster, the logistic and the modified logistic measures",
        SHAPES,
        ("g = 500", "g = 1000", "Modified Logistic I", "Modified Logistic II", "Logistic I", "Logistic II"),
        _better("Resampling", "Rank"),
    ),
    (
        "The CDF measures hardly tell Rank from Resampling: MD is below 0.02 for both",
        SHAPES,
        ("MD",),
        lambda row: max(row["Rank"], row["Resampling"]) < 0.02,
    ),
    (
        "Tree Model I gives 0 to both Rank and Resampling",
        SHAPES,
        ("Tree Model I",),
        lambda row: row["Rank"] == 0 == row["Resampling"],
    ),
)
