"""Karr, Kohnen, Oganian, Reiter and Sanil: the CPS application and the simulation of eight methods (Tables 1 to 3)."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.compare.experiment import Experiment
from sfumato.compare.results import Results
from sfumato.compare.work import versions
from sfumato.core import Measure, Method
from sfumato.data.files import read
from sfumato.data.microdata import Microdata
from sfumato.errors import DataError
from sfumato.methods import (
    MDAV,
    CorrelatedNoise,
    IndividualRanking,
    ProjectionMicroaggregation,
    RankSwapping,
    Resampling,
)
from sfumato.risk import DistanceLinkage, ProbabilisticLinkage
from sfumato.studies import karr_findings, karr_frontiers, karr_records
from sfumato.studies.study import Figure, Finding, Line, Scatter, Study
from sfumato.utility import ConclusionChanges, DensityDivergence, EllipsoidOverlap, IntervalOverlap, KullbackLeibler

Floats = NDArray[np.float64]

SOURCE = (
    "A. F. Karr, C. N. Kohnen, A. Oganian, J. P. Reiter and A. P. Sanil, A framework for evaluating the utility of "
    "data altered to protect confidentiality, The American Statistician 60 (2006)"
)
METHODS: dict[str, Method] = {
    "Micir(p,10)": IndividualRanking(10),
    "Resamp(3)": Resampling(3),
    "Micp(p,3)": ProjectionMicroaggregation(3, axis="pca"),
    "Rank(.15)": RankSwapping(0.15),
    "Micm(3,7)": MDAV(7, at_a_time=3),
    "Micm(p,3)": MDAV(3),
    "Micz(p,3)": ProjectionMicroaggregation(3),
    "Noise(.16)": CorrelatedNoise(0.16),
}
PRINTED = ("EO", "IO", "KL", "risk")
DISTANCE, SWITCHED, DENSITY = "risk by distance", "signs switched", "KL of densities"
COLUMNS = (*PRINTED, DISTANCE, "EO, wrong model", "IO, wrong model", SWITCHED, DENSITY)
RECORDS = 10_000
REPLICATES = 5
DIMENSIONS = karr_findings.DIMENSIONS
CENTRES = {"low": 0.0, "high": 0.9}  # the correlation around which those of each data set are drawn; fitted
MODEL = "AGI ~ EMCONTRB + FEDTAX + TAXINC + PTOTVAL + STATETAX"
WRONG_MODEL = "AGI ~ EMCONTRB + PTOTVAL + STATETAX"  # without the two that explain most
FAMILY = (MODEL, WRONG_MODEL, "STATETAX ~ AGI + PTOTVAL + TAXINC")  # that chosen records are to keep
SIX = ("FEDTAX", "AGI", "EMCONTRB", "PTOTVAL", "TAXINC", "STATETAX")

SETTING = (
    "Simulation: 10,000 records of a multivariate normal distribution with 3, 6 and 10 variables, five data sets each. "
    "The paper prints neither means nor correlation matrices; ours are fitted to its tables. Each data set draws its "
    "own: means between 10 and 20, and correlations of a Wishart distribution with p + 1 degrees of freedom around "
    "independence (low) or around equal correlations of 0.9 (high). Why so: the printed IO of 2e-12 and of 0 cannot "
    "come from means of zero, because swapping and microaggregation keep means, so that the interval of the intercept "
    "would overlap and IO be at least 0.95 / 3. Over the 24 rows of each table the mean difference from print is 0.05 "
    "in EO, 0.18 in IO and a factor of 2.8 in KL for low correlation, 0.11, 0.13 and 1.9 for high, and moves with the "
    "correlations drawn; with means of zero and equal correlations of 0.75 and 0.95 it was 0.18, 0.22, 2.4 and 0.15, "
    "0.21, 5.2.",
    "The first variable is regressed on the others. The risk is the share of records that probabilistic record "
    "linkage (Fellegi and Sunter) on all variables pairs with their own, as in the paper; two values agree in the same "
    "20-quantile, a rule that the paper does not print. Distance linkage stands beside it.",
    "Figures in bold are on the frontier of their structure: no other method has both a lower risk and a better "
    "utility. The scan of the paper lost its bold print; the printed figures are marked by the same rule (2), which "
    "gives all 40 cells of the printed Table 3.",
    "The wrong model (footnote 6) leaves out every second predictor, and in the application FEDTAX and TAXINC. Signs "
    "switched is the share of coefficients that are significant in the original and whose estimate has the other sign "
    "afterwards (section 4).",
    "Application: the Census file without its weight, the regression (10) of adjusted gross income, and the risk that "
    "an intruder who knows the six variables the paper names links a masked record to its original. KL of densities is "
    "equation (6) for these six, which the paper leaves out as onerous.",
    "A release of records chosen to keep a family of regressions (section 4) is suggested in words, with no criterion "
    "and no search. Ours leaves out, one by one, whose absence changes variances and coefficients least; half of the "
    "Census file is compared with random halves. The paper calls its risk unclear: who weighs most goes out.",
    "KL is that of the original from the released data, which is what the paper's tables hold. Micm stands for today's "
    "MDAV. In the frontiers of section 3.2, Micz(p,3) heads both lists in print, where Figure 1 has Micir(p,10).",
)
REASONS = {
    "Micm(p,3)": "MDAV instead of the paper's multivariate ranking.",
    "Micm(3,7)": "MDAV instead of the paper's multivariate ranking, three variables at a time as they stand.",
    "Noise(.16)": "EO, IO and KL hardly depend on means and correlations, so that figures compare with print.",
    "Micz(p,3)": "KL is (p - 1)/2 (3 - 1 - ln 3) in theory, whatever the correlations; IO and EO depend on them.",
    "Micp(p,3)": "KL is (p - 1)/2 (3 - 1 - ln 3) in theory, whatever the correlations; IO and EO depend on them. Two "
    "printed rows are half legible.",
    "Rank(.15)": "Depends on the correlations, which are not printed.",
    "Resamp(3)": "Keeps every rank. Linkage by distance finds nearly all records; the printed 40 to 85 % are those of "
    "probabilistic linkage, and move with its agreement bins, which are not printed.",
    "Micir(p,10)": "Hardly depends on the correlations; IO and EO of high ones do. With three variables 20 bins do not "
    "tell 10,000 records apart, so that the risk is below print; with 100 bins it is 0.97.",
    "CPS": "Print has no table, only Figure 1 and the two frontiers.",
}


def correlations(centre: float, variables: int, rng: np.random.Generator) -> Floats:
    """Draw a correlation matrix: of a Wishart with p + 1 degrees of freedom around equal correlations."""
    scale = (1 - centre) * np.eye(variables) + centre
    rows = rng.standard_normal((variables + 1, variables)) @ np.linalg.cholesky(scale).T
    products = rows.T @ rows
    spread = np.sqrt(np.diag(products))
    return np.asarray(products / np.outer(spread, spread))


def normal(centre: float, variables: int, n: int, seed: int) -> Microdata:
    """Draw normal records with means between 10 and 20, variances 1 and correlations drawn around a centre."""
    rng = np.random.default_rng([seed, variables, round(100 * centre)])
    root = np.linalg.cholesky(correlations(centre, variables, rng))
    x = rng.uniform(10, 20, variables) + rng.standard_normal((n, variables)) @ root.T
    return Microdata.from_frame(pa.table({f"x{j + 1}": x[:, j] for j in range(variables)}))


def simulated_measures(variables: int) -> dict[str, Measure]:
    """Build the measures of the simulation, by column."""
    names = tuple(f"x{j + 1}" for j in range(variables))
    right, wrong = (f"{names[0]} ~ {' + '.join(others)}" for others in (names[1:], names[1::2]))
    return _measures(right, wrong, names, {"KL": KullbackLeibler()})


def applied_measures() -> dict[str, Measure]:
    """Build the measures of the application; KL is left out as in the paper, because the data are far from normal."""
    return _measures(MODEL, WRONG_MODEL, SIX, {DENSITY: DensityDivergence(variables=SIX)})


def _measures(right: str, wrong: str, known: tuple[str, ...], divergence: dict[str, Measure]) -> dict[str, Measure]:
    return {
        "EO": EllipsoidOverlap(right),
        "IO": IntervalOverlap(right),
        **divergence,
        "risk": ProbabilisticLinkage(known=(known,)),
        DISTANCE: DistanceLinkage(known=(known,), direction="protected to original"),
        "EO, wrong model": EllipsoidOverlap(wrong),
        "IO, wrong model": IntervalOverlap(wrong),
        SWITCHED: ConclusionChanges(right, switch="estimate"),
    }


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
    """Recompute Tables 1 to 3 by simulation and, where the Census file is given, the application of section 3.2."""
    n, repeats = records or RECORDS, replicates or REPLICATES
    beside = None if data is None else Path(data).parent / "karr_tables_1_2.csv"
    place = printed or (beside if beside is not None and beside.exists() else None)
    table = printed_tables(place) if place is not None else {}
    lines: list[Line] = []
    seconds, fingerprint = 0.0, "drawn by the study"
    for name, centre in CENTRES.items():
        for variables in DIMENSIONS:
            measures = simulated_measures(variables)
            runs = [
                _experiment(normal(centre, variables, n, seed + repeat), measures, 1, seed + repeat).run(
                    workers=workers, store=store, progress=progress
                )
                for repeat in range(repeats)
            ]
            seconds += sum(done.seconds for done in runs)
            lines += _lines(f"{name} {variables}", runs, measures, table if n == RECORDS else {})
    findings = [*karr_findings.of_simulation(lines, repeats), *karr_frontiers.table_3(_table(lines))]
    if table:
        findings.insert(0, karr_frontiers.anchor(table))
    if data is not None:
        cps, fingerprint = _census(data)
        measures = applied_measures()
        done = _experiment(cps, measures, repeats, seed).run(workers=workers, store=store, progress=progress)
        seconds += done.seconds
        applied = _lines("CPS", [done], measures, {})
        lines += applied
        names = {repr(method): name for name, method in METHODS.items()}
        findings += karr_findings.of_application(done, measures, names, applied)
        findings.append(karr_records.of_records(cps, measures["IO"], FAMILY, seed))
    elif records is None and replicates is None:
        findings.append(Finding("The application of section 3.2", None, "needs the Census file: --data"))
    return Study(
        name="karr",
        title="The simulation and the application of Karr and others, recomputed",
        source=SOURCE,
        setting=SETTING,
        columns=COLUMNS,
        lines=tuple(karr_frontiers.bold(lines)),
        findings=tuple(findings),
        reasons=REASONS,
        scatters=tuple(
            Scatter(f"Figure 1, {column}", "CPS", column, "risk")
            for column in (("IO", "EO") if data is not None else ())
        ),
        seed=seed,
        replicates=repeats,
        seconds=seconds,
        versions=versions(),
        fingerprint=fingerprint,
    )


def printed_tables(path: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Read the printed Tables 1 and 2: columns correlation, method, dim, EO, IO, KL, risk."""
    table = read(path).to_arrow()
    lacking = [name for name in ("correlation", "method", "dim", *PRINTED) if name not in table.column_names]
    if lacking:
        raise DataError(f"{path} does not hold the printed Tables 1 and 2: it has no column {', '.join(lacking)}")
    return {
        (f"{row['correlation']} {int(row['dim'])}", row["method"]): {c: row[c] for c in PRINTED}
        for row in table.to_pylist()
    }


def _census(path: Path) -> tuple[Microdata, str]:
    """Read the Census file without its weight, and say which file it was."""
    census = read(path)
    absent = [v for v in SIX if v not in census.schema.analysed("numeric")]
    if absent:
        raise DataError(f"the study needs the Census file of the paper; {path} has no numeric {', '.join(absent)}")
    kept = census.schema.only([name for name in census.names if name != "AFNLWGT"])
    return Microdata(kept, {name: census.columns[name] for name in kept.names}), census.fingerprint


def _experiment(data: Microdata, measures: dict[str, Measure], replicates: int, seed: int) -> Experiment:
    return Experiment(data, tuple(METHODS.values()), tuple(measures.values()), replicates=replicates, seed=seed)


def _lines(
    structure: str,
    runs: list[Results],
    measures: dict[str, Measure],
    printed: dict[tuple[str, str], dict[str, float]],
) -> list[Line]:
    lines = []
    for name, method in METHODS.items():
        figures = {}
        rows = [done.row(repr(method)) for done in runs]
        for column, measure in measures.items():
            values = [value for row in rows for value in row.values.get(repr(measure), ())]
            if column == SWITCHED:
                values = [row.parts[repr(measure)]["sign switched"] for row in rows if repr(measure) in row.parts]
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
            mean = float(np.mean(values)) if values else math.nan
            figures[column] = Figure(mean, spread, printed.get((structure, name), {}).get(column, math.nan))
        lines.append(Line(f"{structure}: {name}", name if structure != "CPS" else "CPS", repr(method), figures))
    return lines


def _table(lines: list[Line]) -> dict[tuple[str, str], dict[str, float]]:
    """Lay our figures out as the printed ones are."""
    return {
        (structure, method): {column: line.figures[column].ours for column in PRINTED}
        for line in lines
        for structure, _, method in [line.name.partition(": ")]
    }
