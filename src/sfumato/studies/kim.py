"""Kyu-Seong Kim: survey-weighted CDF utility of three methods over repeated samples (Tables 1 and 2)."""

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise, product
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.compare import work
from sfumato.compare.progress import steps_of
from sfumato.core import Method
from sfumato.errors import ParameterError
from sfumato.methods import GroupedMicroaggregation, GroupedSwapping, KimNoise
from sfumato.studies.study import Figure, Finding, Line, Settings, Study, judged, printed_rows
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable
from sfumato.utility import CDFMaximum, CDFSquares

Floats = NDArray[np.float64]
Cell = tuple[str, int, float]  # method, sample size, alpha
Means = Mapping[Cell, Mapping[str, float]]  # the mean of each measure over the repetitions

SOURCE = "Kyu-Seong Kim, Measures of Data Utility for Complex Survey Data"
POPULATION = 5_712
SIZES = (100, 200, 300)
ALPHAS = {
    "noise addition": (0.3, 0.5, 0.7),
    "rank swapping": (0.04, 0.06, 0.08),
    "microaggregation": (0.04, 0.06, 0.08),
}
COLUMNS = ("DU_max", "DUW_max", "DU_sq", "DUW_sq")
MIDDLE, SMALLEST = 1, 0  # the place of the alpha that stands beside Table 1, and of the n beside Table 2
REPETITIONS = 1_000
PLACES = ("Table 1", "Table 2", "All settings")

SETTING = (
    "The Korean welfare panel is not public. The population here is made up, of the paper's size (5,712 households) "
    "and with its four variables: disposable income, cost, income and tax, skewed amounts that hang together. Samples "
    "of 100, 200 and 300 are drawn with probabilities proportional to income, a common design for amounts, and the "
    "weights are the inverse of the inclusion probabilities: poor households weigh most.",
    "Each sample is masked by the noise of J. J. Kim, by swapping within rank groups and by averaging within rank "
    "groups, and measured with and without its weights, which are not masked. Every n is run with every alpha; all 27 "
    "settings are shown. The paper does not say which alpha Table 1 has nor which n Table 2: beside Table 1 stand ours "
    "of the middle alpha, beside Table 2 those of n = 100. The tables are no means over the other setting, because "
    "their own means would then be equal: DU_max is 0.1078, 0.0288, 0.0629 on average over n in Table 1, and 0.1122, "
    "0.0267, 0.0597 over alpha in Table 2. The largest figures of Table 1, those of n = 100, lie between the rows of "
    "Table 2 for noise and averaging, so that n = 100 is the reading that print contradicts least.",
    "Print, mended: (a) the heads of both tables, DU_max, DU_sq, DUW_max, DUW_sq, are in the wrong order; that the new "
    "measures exceed the others in all cases fits DU_max, DUW_max, DU_sq, DUW_sq alone. (b) 0.0114 (Table 1, noise, "
    "n = 300) is a slip for 0.1014. (c) DUW_max of about 1.52 times DU_max is no ratio of the tables: row by row it is "
    "1.68 to 2.81, 1.98 on average; 2.62 for the squares is the mean ratio of Table 2 (2.63), and 2.49 is that of all "
    "rows. (d) In (4) and (7) the maximum runs over k, not over u_k; (7) writes another F than (8) and means the same. "
    "(e) The sample size is m in the formulas and n in the tables, and m is the population's too. (f) Microaggregation "
    "has 0.0593 and then 0.0597 in Table 1 as n grows, against the text's sentence that all measures fall.",
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


def run(settings: Settings) -> Study:
    """Recompute both tables over repeated samples; ``records`` restricts it to one sample size."""
    if settings.data is not None:
        raise ParameterError("the Kim study makes its own population; leave out --data")
    start = perf_counter()
    sizes = (settings.records,) if settings.records else SIZES
    repetitions = settings.replicates or REPETITIONS
    if settings.records is not None and settings.records > POPULATION // 2:
        raise ParameterError(
            f"the Kim study samples from {POPULATION:,} households; --records can be {POPULATION // 2:,}"
        )
    table = printed_tables(settings.printed) if settings.printed is not None and settings.records is None else {}
    cells: dict[Cell, list[tuple[float, ...]]] = {}
    for found in _repeated(repetitions, settings.seed, sizes, settings.workers, progress=settings.progress):
        for cell, figures in found.items():
            cells.setdefault(cell, []).append(figures)
    lines = _lines(cells, sizes, table)
    return Study(
        name="kim",
        title="Tables 1 and 2 of Kyu-Seong Kim, recomputed on a made-up population",
        source=SOURCE,
        setting=SETTING,
        columns=COLUMNS,
        lines=lines,
        findings=findings(_means(cells), sizes),
        reasons=dict.fromkeys(
            ALPHAS,
            "Another population: levels may differ, what must hold is which measure exceeds which and how "
            "both move with n and alpha.",
        ),
        seed=settings.seed,
        replicates=repetitions,
        seconds=perf_counter() - start,
        versions=work.versions(),
        fingerprint="made by the study",
    )


def findings(cells: Means, sizes: tuple[int, ...]) -> tuple[Finding, ...]:
    """Check what the paper says of its tables in all settings."""
    found = []
    for plain, weighted, said, printed in (("DU_max", "DUW_max", 1.52, 1.98), ("DU_sq", "DUW_sq", 2.62, 2.49)):
        above = {_named(cell): row[weighted] > row[plain] for cell, row in cells.items()}
        found.append(judged(f"{weighted} exceeds {plain}", above, (18, 18), of="settings"))
        ours = [row[weighted] / row[plain] for row in cells.values()]
        found.append(
            Finding(
                f"{weighted} is about {said} times {plain} (the paper's own population)",
                None,
                f"ours: mean ratio {np.mean(ours):.2f}, from {min(ours):.2f} to {max(ours):.2f}; {printed} in the "
                "printed rows",
            )
        )
    falls, rises = {}, {}
    for method, alphas in ALPHAS.items():
        for column in COLUMNS:
            for alpha in alphas:
                falls[f"{method}, alpha = {alpha:g}: {column}"] = all(
                    cells[method, a, alpha][column] > cells[method, b, alpha][column] for a, b in pairwise(sizes)
                )
            for n in sizes:
                rises[f"{method}, n = {n}: {column}"] = all(
                    cells[method, n, a][column] < cells[method, n, b][column] for a, b in pairwise(alphas)
                )
    if len(sizes) > 1:
        found.append(judged("Data utility rises with n: the measures fall", falls, (11, 12), of="series"))
    found.append(judged("Data utility falls with alpha: the measures rise", rises, (12, 12), of="series"))
    return tuple(found)


def _named(cell: Cell) -> str:
    method, n, alpha = cell
    return f"{method}, n = {n}, alpha = {alpha:g}"


def printed_tables(path: Path) -> dict[tuple[str, str, float], dict[str, float]]:
    """Read the printed tables: columns table, method, setting, and the four measures."""
    columns = ("table", "method", "setting", *COLUMNS)
    return {
        (f"Table {int(row['table'])}", row["method"], float(row["setting"])): {c: row[c] for c in COLUMNS}
        for row in printed_rows(path, columns, "does not hold the printed Tables 1 and 2")
    }


def _lines(
    cells: dict[Cell, list[tuple[float, ...]]],
    sizes: tuple[int, ...],
    printed: dict[tuple[str, str, float], dict[str, float]],
) -> tuple[Line, ...]:
    lines = []
    for method, alphas in ALPHAS.items():
        for n in sizes:
            row = printed.get(("Table 1", method, float(n)), {})
            lines.append(_line("Table 1", (method, n, alphas[MIDDLE]), cells, row))
        for alpha in alphas:
            row = printed.get(("Table 2", method, alpha), {})
            lines.append(_line("Table 2", (method, sizes[SMALLEST], alpha), cells, row))
        lines += [_line("All settings", (method, n, alpha), cells, {}) for n in sizes for alpha in alphas]
    return tuple(sorted(lines, key=lambda line: PLACES.index(line.name.partition(":")[0])))


def _line(table: str, cell: Cell, cells: dict[Cell, list[tuple[float, ...]]], printed: dict[str, float]) -> Line:
    draws = np.array(cells[cell])  # repetition x measure
    figures = {
        column: Figure.of(own, printed.get(column, math.nan)) for column, own in zip(COLUMNS, draws.T, strict=True)
    }
    return Line(f"{table}: {_named(cell)}", cell[0], cell[0], figures)


def _means(cells: dict[Cell, list[tuple[float, ...]]]) -> Means:
    return {cell: dict(zip(COLUMNS, np.mean(draws, axis=0).tolist(), strict=True)) for cell, draws in cells.items()}


def _repeated(
    repetitions: int, seed: int, sizes: tuple[int, ...], workers: int, *, progress: bool
) -> Iterator[dict[Cell, tuple[float, ...]]]:
    """Carry out the repetitions, in their order whatever the workers."""
    with steps_of(progress) as steps:
        steps.phase("candidates", total=repetitions)
        if workers == 1:
            done = (repetition(number, seed, sizes) for number in range(repetitions))
        else:
            from joblib import delayed

            parallel = work.workers(workers, unordered=False)
            done = parallel(delayed(repetition)(number, seed, sizes) for number in range(repetitions))
        for number, found in enumerate(done):
            steps.ended(f"sample {number + 1}")
            yield found


def _unweighted(data: Microdata) -> Microdata:
    """Return the table without its weight."""
    names = [name for name in data.names if name != "weight"]
    return Microdata(data.schema.only(names), {name: data.columns[name] for name in names})
