"""Kim and Park: survey-weighted CDF utility of three methods over repeated samples (Tables 1 and 2)."""

import math
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.compare.figures import listed
from sfumato.compare.progress import watch
from sfumato.compare.work import versions
from sfumato.core import Method
from sfumato.data.files import read
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Schema, Variable
from sfumato.errors import DataError, ParameterError
from sfumato.methods import GroupedMicroaggregation, GroupedSwapping, KimNoise
from sfumato.studies.study import Figure, Finding, Line, Study
from sfumato.utility import CDFMaximum, CDFSquares

Floats = NDArray[np.float64]
Cell = tuple[str, int, float]  # method, sample size, alpha

SOURCE = "H. J. Kim and M. J. Park, data utility measures for complex survey data based on the weighted CDF"
POPULATION = 5_712
SIZES = (100, 200, 300)
ALPHAS = {
    "noise addition": (0.3, 0.5, 0.7),
    "rank swapping": (0.04, 0.06, 0.08),
    "microaggregation": (0.04, 0.06, 0.08),
}
COLUMNS = ("DU_max", "DUW_max", "DU_sq", "DUW_sq")
REPETITIONS = 1_000

SETTING = (
    "The Korean welfare panel is not public. The population here is made up, of the paper's size (5,712 households) "
    "and with its four variables: disposable income, cost, income and tax, skewed amounts that hang together. Samples "
    "of 100, 200 and 300 are drawn with probabilities proportional to income, a common design for amounts, and the "
    "weights are the inverse of the inclusion probabilities: poor households weigh most.",
    "Each sample is masked by Kim's noise, by swapping within rank groups and by averaging within rank groups, and "
    "measured with and without its weights, which are not masked. The paper does not say which alpha Table 1 has nor "
    "which n Table 2: here every n is run with every alpha, and each table averages over the other setting.",
)


def population(seed: int = 0) -> dict[str, Floats]:
    """Make the finite population: four skewed amounts that hang together."""
    rng = np.random.default_rng([seed, 5712])
    ability, thrift, luck = rng.standard_normal((3, POPULATION))
    income = np.exp(8 + 0.5 * ability)
    tax = income * np.clip(0.04 + 0.03 * ability + 0.015 * luck, 0.005, 0.3)
    disposable = income - tax
    cost = np.exp(0.35 + 0.75 * np.log(disposable) + 1.6 + 0.25 * thrift)
    return {"disposable": disposable, "cost": cost, "income": income, "tax": tax}


def inclusion_probabilities(size: Floats, n: int) -> Floats:
    """Return probabilities proportional to size that sum to n, none above 1."""
    certain = np.zeros(size.size, dtype=bool)
    while True:
        rest = ~certain
        probability = np.where(certain, 1.0, (n - certain.sum()) * size / size[rest].sum())
        over = probability > 1
        if not over.any():
            return probability
        certain |= over


def sample(units: dict[str, Floats], n: int, rng: np.random.Generator) -> Microdata:
    """Draw n units with unequal probabilities, systematically in random order, weighted by the inverse."""
    probability = inclusion_probabilities(units["income"], n)
    order = rng.permutation(probability.size)
    ticks = np.cumsum(probability[order])
    chosen = order[np.searchsorted(ticks, rng.random() + np.arange(n))]
    table = {name: values[chosen] for name, values in units.items()}
    schema = Schema((Variable("weight"),), weight="weight")
    return Microdata.from_frame(pa.table({**table, "weight": 1 / probability[chosen]}), schema)


def methods(alpha: dict[str, float]) -> dict[str, Method]:
    """Build the three methods."""
    return {
        "noise addition": KimNoise(alpha["noise addition"]),
        "rank swapping": GroupedSwapping(alpha["rank swapping"]),
        "microaggregation": GroupedMicroaggregation(alpha["microaggregation"]),
    }


def repetition(number: int, seed: int, sizes: tuple[int, ...]) -> dict[Cell, tuple[float, ...]]:
    """Draw, mask and measure one sample of each size."""
    units = population(seed)
    found = {}
    for n in sizes:
        original = sample(units, n, np.random.default_rng([seed, n, number]))
        for name, place in product(ALPHAS, range(3)):
            alpha = {method: values[place] for method, values in ALPHAS.items()}
            # the same draws for every alpha, so that they differ by alpha alone
            protected = methods(alpha)[name].protect(original, rng=np.random.default_rng([seed, n, number, 1]))
            figures = []
            for measure in (CDFMaximum(), CDFSquares()):
                figures += [
                    measure.evaluate(_unweighted(original), _unweighted(protected)).value,
                    measure.evaluate(original, protected).value,
                ]
            found[name, n, alpha[name]] = tuple(figures)
    return found


def run(
    *,
    data: Path | None = None,
    printed: Path | None = None,
    replicates: int | None = None,
    seed: int = 0,
    workers: int = 1,
    store: Path | None = None,  # noqa: ARG001 - samples are drawn, measured and averaged in one go
    progress: bool = False,
    records: int | None = None,
) -> Study:
    """Recompute both tables over repeated samples; ``records`` restricts it to one sample size."""
    if data is not None:
        raise ParameterError("the Kim study makes its own population; leave out --data")
    start = perf_counter()
    sizes = (records,) if records else SIZES
    repetitions = replicates or REPETITIONS
    if records is not None and records > POPULATION // 2:
        raise ParameterError(
            f"the Kim study samples from {POPULATION:,} households; --records can be {POPULATION // 2:,}"
        )
    table = printed_tables(printed) if printed is not None and records is None else {}
    cells: dict[Cell, list[tuple[float, ...]]] = {}
    for found in _repeated(repetitions, seed, sizes, workers, progress=progress):
        for cell, figures in found.items():
            cells.setdefault(cell, []).append(figures)
    lines = _lines(cells, sizes, table)
    return Study(
        name="kim",
        title="Tables 1 and 2 of Kim and Park, recomputed on a made-up population",
        source=SOURCE,
        setting=SETTING,
        columns=COLUMNS,
        lines=lines,
        findings=findings(lines),
        reasons=dict.fromkeys(
            ALPHAS,
            "Another population: levels may differ, what must hold is which measure exceeds which and how "
            "both move with n and alpha.",
        ),
        seed=seed,
        replicates=repetitions,
        seconds=perf_counter() - start,
        versions=versions(),
        fingerprint="made by the study",
    )


def findings(lines: tuple[Line, ...]) -> tuple[Finding, ...]:
    """Check what the paper says of its tables."""
    found = []
    for plain, weighted, ratio in (("DU_max", "DUW_max", 1.52), ("DU_sq", "DUW_sq", 2.62)):
        below = [line.name for line in lines if line.figures[weighted].ours <= line.figures[plain].ours]
        found.append(
            Finding(
                f"{weighted} exceeds {plain} in every row",
                not below,
                f"in {len(lines) - len(below)} of {len(lines)} rows"
                + (f"; not in {listed(tuple(below))}" if below else ""),
            )
        )
        ours = [line.figures[weighted].ours / line.figures[plain].ours for line in lines]
        found.append(
            Finding(
                f"{weighted} is about {ratio} times {plain} (the paper's own population)",
                None,
                f"ours: mean ratio {np.mean(ours):.2f}, from {min(ours):.2f} to {max(ours):.2f}",
            )
        )
    for table, rises in (("Table 1", False), ("Table 2", True)):
        for method in ALPHAS:
            rows = [line for line in lines if line.name.startswith(f"{table}: {method}")]
            if len(rows) < 2:
                continue
            wrong = [
                column
                for column in COLUMNS
                if any((b.figures[column].ours > a.figures[column].ours) is not rises for a, b in pairwise(rows))
            ]
            found.append(
                Finding(
                    f"{table}, {method}: all measures {'rise with alpha' if rises else 'fall with n'}",
                    not wrong,
                    f"not {', '.join(wrong)}" if wrong else "all four",
                )
            )
    return tuple(found)


def printed_tables(path: Path) -> dict[tuple[str, str, float], dict[str, float]]:
    """Read the printed tables: columns table, method, setting, and the four measures."""
    table = read(path).to_arrow()
    lacking = [name for name in ("table", "method", "setting", *COLUMNS) if name not in table.column_names]
    if lacking:
        raise DataError(f"{path} does not hold the printed Tables 1 and 2: it has no column {', '.join(lacking)}")
    return {
        (f"Table {int(row['table'])}", row["method"], float(row["setting"])): {c: row[c] for c in COLUMNS}
        for row in table.to_pylist()
    }


def _lines(
    cells: dict[Cell, list[tuple[float, ...]]],
    sizes: tuple[int, ...],
    printed: dict[tuple[str, str, float], dict[str, float]],
) -> tuple[Line, ...]:
    lines = []
    for method, alphas in ALPHAS.items():
        by_size = [("Table 1", float(n), f"n = {n}", [(method, n, a) for a in alphas]) for n in sizes]
        by_alpha = [("Table 2", a, f"alpha = {a:g}", [(method, n, a) for n in sizes]) for a in alphas]
        for table, setting, words, keys in (*by_size, *by_alpha):
            draws = np.mean(
                [cells[key] for key in keys], axis=0
            )  # repetition x measure, averaged over the other setting
            spread = draws.std(axis=0, ddof=1) if len(draws) > 1 else np.full(4, math.nan)
            print_row = printed.get((table, method, setting), {})
            figures = {
                column: Figure(float(draws[:, j].mean()), float(spread[j]), print_row.get(column, math.nan))
                for j, column in enumerate(COLUMNS)
            }
            lines.append(Line(f"{table}: {method}, {words}", method, method, figures))
    return tuple(sorted(lines, key=lambda line: line.name.partition(":")[0]))


def _repeated(
    repetitions: int, seed: int, sizes: tuple[int, ...], workers: int, *, progress: bool
) -> Iterator[dict[Cell, tuple[float, ...]]]:
    """Carry out the repetitions, in their order whatever the workers."""
    with watch(repetitions, 0, shown=progress) as bar:
        if workers == 1:
            done = (repetition(number, seed, sizes) for number in range(repetitions))
        else:
            from joblib import Parallel, delayed

            parallel = Parallel(n_jobs=workers, return_as="generator")
            done = parallel(delayed(repetition)(number, seed, sizes) for number in range(repetitions))
        for number, found in enumerate(done):
            bar.finished(f"sample {number + 1}")
            yield found


def _unweighted(data: Microdata) -> Microdata:
    """Return the table without its weight."""
    names = [name for name in data.names if name != "weight"]
    return Microdata(data.schema.only(names), {name: data.columns[name] for name in names})
