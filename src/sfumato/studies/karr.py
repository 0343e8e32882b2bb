"""Karr, Kohnen, Oganian, Reiter and Sanil: the CPS application and the simulation of eight methods (Tables 1 to 3)."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.compare.experiment import Experiment
from sfumato.compare.frontier import Frontier, undominated
from sfumato.compare.results import Results
from sfumato.compare.work import versions
from sfumato.core import Measure, Method
from sfumato.methods import (
    MDAV,
    CorrelatedNoise,
    IndividualRanking,
    ProjectionMicroaggregation,
    RankSwapping,
    Resampling,
)
from sfumato.risk import DistanceLinkage, ProbabilisticLinkage
from sfumato.studies import karr_records
from sfumato.studies.study import Figure, Finding, Line, Scatter, Settings, Study, census_file, judged, printed_rows
from sfumato.table.microdata import Microdata
from sfumato.utility import ConclusionChanges, DensityDivergence, EllipsoidOverlap, IntervalOverlap, KullbackLeibler

# Risk-utility frontiers of Karr and others: who lies on them (bold in Tables 1 and 2), and how often (Table 3)

Table = Mapping[tuple[str, str], Mapping[str, float]]  # of structure and method: its figures by column
Counts = dict[str, dict[tuple[str, ...], int]]  # by method and frontier

SIGNS = {"EO": -1.0, "IO": -1.0, "KL": 1.0, "risk": 1.0}
FRONTIERS: tuple[tuple[str, ...], ...] = (("EO",), ("IO",), ("KL",), ("EO", "IO"), ("EO", "IO", "KL"))
TABLE_3 = {  # as printed: EO, IO, KL, joint EO and IO, joint EO, IO and KL
    "Noise(.16)": (6, 6, 6, 6, 6),
    "Rank(.15)": (5, 5, 6, 5, 6),
    "Micir(p,10)": (4, 4, 6, 4, 6),
    "Micz(p,3)": (2, 3, 2, 3, 3),
    "Micm(p,3)": (2, 1, 2, 2, 2),
    "Micm(3,7)": (0, 0, 3, 0, 3),
    "Resamp(3)": (0, 0, 3, 0, 3),
    "Micp(p,3)": (0, 0, 1, 0, 1),
}
PRINTED_TOTALS = (21, 20, 31, 20, 30)


def members(rows: Mapping[str, Mapping[str, float]], columns: tuple[str, ...]) -> set[str]:
    """Name the methods that none beats in risk and in these utilities: maximal by (2), or by (11) for several.

    >>> sorted(members({"a": {"EO": 0.9, "risk": 0.5}, "b": {"EO": 0.8, "risk": 0.6}}, ("EO",)))
    ['a']
    """
    costs = np.array([[SIGNS[c] * row[c] for c in (*columns, "risk")] for row in rows.values()])
    return {name for name, on in zip(rows, undominated(costs), strict=True) if on}


def counted(table: Table) -> Counts:
    """Count, as Table 3 does, in how many structures each method is on each frontier."""
    counts: Counts = {}
    for rows in _by_structure(table).values():
        for columns in FRONTIERS:
            on = members(rows, columns)
            for method in rows:
                own = counts.setdefault(method, dict.fromkeys(FRONTIERS, 0))
                own[columns] += method in on
    return counts


def bold(lines: Iterable[Line]) -> list[Line]:
    """Mark in each line the utilities by which its method is on the frontier, as print does in bold; ours and print."""
    lines = list(lines)
    ours, printed = (_marked(lines, of) for of in ("ours", "printed"))
    return [
        replace(
            line,
            figures={
                column: replace(f, bold=(line.name, column) in ours, printed_bold=(line.name, column) in printed)
                for column, f in line.figures.items()
            },
        )
        for line in lines
    ]


def _marked(lines: list[Line], of: str) -> set[tuple[str, str]]:
    """Name the lines and columns on the frontier of their structure."""
    table = {_place(line.name): {c: getattr(line.figures[c], of) for c in SIGNS if c in line.figures} for line in lines}
    return {
        (f"{structure}: {method}", column)
        for structure, rows in _by_structure(table).items()
        for column in ("EO", "IO", "KL")
        if all(math.isfinite(row.get(column, math.nan)) for row in rows.values())
        for method in members(rows, (column,))
    }


def anchor(table: Table) -> Finding:
    """Hold the frontiers (2) and (11) of the printed Tables 1 and 2 against the 40 cells of the printed Table 3."""
    counts = counted(table)
    right = sum(
        counts[method][columns] == cell
        for method, cells in TABLE_3.items()
        for columns, cell in zip(FRONTIERS, cells, strict=True)
    )
    totals = tuple(sum(own[columns] for own in counts.values()) for columns in FRONTIERS)
    return Finding(
        "Table 3 follows from the printed Tables 1 and 2 by (2) and (11)",
        right == 40,
        f"{right} of its 40 cells; its totals are {_spelt(totals)}, where print has {_spelt(PRINTED_TOTALS)}",
    )


def table_3(table: Table) -> list[Finding]:
    """Say in how many of our structures each method is on each frontier, beside the printed Table 3."""
    counts = counted(table)
    return [
        Finding(
            f"Table 3, frontier of {' and '.join(columns)}: in how many of the six structures each method lies on it",
            None,
            "ours (printed): " + ", ".join(f"{m} {counts[m][columns]} ({TABLE_3[m][place]})" for m in TABLE_3),
        )
        for place, columns in enumerate(FRONTIERS)
    ]


def _by_structure(table: Table) -> dict[str, dict[str, Mapping[str, float]]]:
    found: dict[str, dict[str, Mapping[str, float]]] = {}
    for (structure, method), figures in table.items():
        found.setdefault(structure, {})[method] = figures
    return found


def _place(name: str) -> tuple[str, str]:
    """Return structure and method of a line."""
    structure, _, method = name.partition(": ")
    return structure, method


def _spelt(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))


# What Karr and others say of their simulation and of the CPS application, sentence by sentence

Structure = Mapping[str, Mapping[str, float]]  # the figures of one data type, by method and column
DIMENSIONS = (3, 6, 10)
NOISE_IO, NOISE_EO = [0.926, 0.929, 0.920], [0.916, 0.907, 0.870]  # Table 1, low correlation
PRINTED_FRONTIERS = {  # section 3.2; the first of EO is printed as Micz(p,3), which stands there twice
    "IO": ("Micir(p,10)", "Noise(.16)", "Micp(p,3)", "Rank(.15)"),
    "EO": ("Micir(p,10)", "Noise(.16)", "Micz(p,3)", "Micp(p,3)", "Rank(.15)"),
}
OF_ALL = ("Micm(p,3)", "Micp(p,3)", "Micz(p,3)")  # microaggregation of all variables at once


def _highest(column: str, place: int, method: str, sign: int = 1) -> Callable[[Structure], bool]:
    """Tell whether a method has one of the highest figures of a column, or of the lowest with sign -1."""

    def holds(rows: Structure) -> bool:
        return sum(sign * row[column] > sign * rows[method][column] for row in rows.values()) < place

    return holds


def _separate_triplets(rows: Structure) -> bool:
    triplets = rows["Micm(3,7)"]
    riskier = all(triplets["risk"] > rows[m]["risk"] for m in ("Micp(p,3)", "Micz(p,3)", "Noise(.16)"))
    return riskier and triplets["EO"] < rows["Noise(.16)"]["EO"]


def _best_of_all(rows: Structure) -> bool:
    others = [rows[m] for m in OF_ALL[1:]]
    best = all(rows["Micm(p,3)"]["KL"] < row["KL"] for row in others)
    return best and all(rows["Micm(p,3)"]["risk"] > row["risk"] for row in others)


STATEMENTS: tuple[tuple[str, Callable[[Structure], bool], int], ...] = (  # in how many of the six printed it holds
    ("Micir(p,10) has the highest risk", _highest("risk", 1, "Micir(p,10)"), 6),
    ("Micir(p,10) has one of the two highest EO", _highest("EO", 2, "Micir(p,10)"), 6),
    ("Resamp(3) has the second highest risk", _highest("risk", 2, "Resamp(3)"), 6),
    ("Rank(.15) has one of the two lowest risks", _highest("risk", 2, "Rank(.15)", -1), 5),
    ("Rank(.15) has EO below 0.001: its correlations are distorted", lambda rows: rows["Rank(.15)"]["EO"] < 1e-3, 6),
    ("Micm(3,7) has a higher risk than Micp, Micz and Noise, and a lower EO than Noise", _separate_triplets, 6),
    ("Micm(p,3) has the lowest KL and the highest risk of Micm(p,3), Micp, Micz", _best_of_all, 6),
    ("Noise(.16) has one of the three highest EO", _highest("EO", 3, "Noise(.16)"), 6),
    ("Noise(.16) has one of the four lowest risks", _highest("risk", 4, "Noise(.16)", -1), 6),
)


def of_simulation(lines: list[Line], replicates: int) -> list[Finding]:
    """Check the figures that hardly depend on the unknown correlations, and what section 3.3 says of the rest."""
    by_name = {line.name: {column: f.ours for column, f in line.figures.items()} for line in lines}
    structures = structured(by_name)
    return [
        *_near_print(lines, replicates),
        *(
            judged(
                f"Tables 1 and 2: {text}", {s: holds(rows) for s, rows in structures.items()}, (count, 6), of="types"
            )
            for text, holds, count in STATEMENTS
        ),
        *_trends(structures),
        _misspecified(structures),
    ]


def structured(figures: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, Mapping[str, float]]]:
    """Lay figures of lines named "structure: method" out by structure."""
    return _by_structure({_place(name): row for name, row in figures.items()})


def _near_print(lines: list[Line], replicates: int) -> list[Finding]:
    by_name = {line.name: line.figures for line in lines}

    def near(statement: str, method: str, column: str, expected: list[float], within: list[float]) -> Finding:
        figures = [by_name[f"low {p}: {method}"][column].ours for p in DIMENSIONS]
        holds = all(abs(a - b) <= limit for a, b, limit in zip(figures, expected, within, strict=True))
        shown = ", ".join(f"{a:.4g} ({b:.4g})" for a, b in zip(figures, expected, strict=True))
        return Finding(f"{column} of {method} is {statement}", holds, f"ours (expected) for p = 3, 6, 10: {shown}")

    def chance(column: str) -> list[float]:
        """Allow 0.03, or twice the standard error of the difference of two means of as many data sets."""
        spreads = [by_name[f"low {p}: Noise(.16)"][column].spread for p in DIMENSIONS]
        return [max(0.03, 2 * math.sqrt(2 / replicates) * spread) if replicates > 1 else 0.1 for spread in spreads]

    micro = [(p - 1) / 2 * (3 - 1 - math.log(3)) for p in DIMENSIONS]
    noise = [p / 2 * (1 / 1.16 - 1 + math.log(1.16)) for p in DIMENSIONS]
    printed = "as printed, within 0.03 or two standard errors"
    return [
        near(printed, "Noise(.16)", "IO", NOISE_IO, chance("IO")),
        near(printed, "Noise(.16)", "EO", NOISE_EO, chance("EO")),
        near("what theory says, within 0.002", "Noise(.16)", "KL", noise, [0.002] * 3),
        near("what theory says, within 3 %", "Micz(p,3)", "KL", micro, [0.03 * value for value in micro]),
        near("what theory says, within 3 %", "Micp(p,3)", "KL", micro, [0.03 * value for value in micro]),
    ]


def _trends(structures: Mapping[str, Structure]) -> list[Finding]:
    """Count how EO and IO move with the dimension and KL with the correlations."""
    methods = tuple(next(iter(structures.values())))

    def falls(column: str) -> dict[str, bool]:
        return {
            f"{name} {m}": all(
                structures[f"{name} {a}"][m][column] >= structures[f"{name} {b}"][m][column] - 0.01
                for a, b in pairwise(DIMENSIONS)
            )
            for name in ("low", "high")
            for m in methods
        }

    grows = {
        f"{p} {m}": structures[f"high {p}"][m]["KL"] > structures[f"low {p}"][m]["KL"]
        for p in DIMENSIONS
        for m in methods
    }
    rises = {
        f"{name} {m}": all(
            structures[f"{name} {a}"][m]["KL"] <= structures[f"{name} {b}"][m]["KL"] for a, b in pairwise(DIMENSIONS)
        )
        for name in ("low", "high")
        for m in methods
    }
    below = {f"{s}: {m}": row["EO"] <= row["IO"] + 0.01 for s, rows in structures.items() for m, row in rows.items()}
    return [
        judged("EO is at most IO, to 0.01: joint agreement is harder than that of each coefficient", below, (44, 48)),
        judged("EO falls as the dimension grows, or stays within 0.01", falls("EO"), (11, 16)),
        judged("IO has no strong dimension effect: it falls throughout in few rows only", _not(falls("IO")), (10, 16)),
        judged("KL grows with the dimension", rises, (16, 16)),
        judged("KL is greater with high correlation than with low", grows, (18, 24)),
    ]


def _not(held: dict[str, bool]) -> dict[str, bool]:
    return {name: not holds for name, holds in held.items()}


def _misspecified(structures: Mapping[str, Structure]) -> Finding:
    """Say what a wrong model does (footnote 6): print gives the sentence, not the figures."""
    methods = tuple(next(iter(structures.values())))
    ruined = {m: sum(rows[m]["EO, wrong model"] < 0.05 for rows in structures.values()) for m in methods}
    micro = [m for m in methods if m.startswith("Mic") and ruined[m]]
    return Finding(
        "Footnote 6: with a model that leaves out important predictors some methods, some microaggregation among them, "
        "give regressions that bear little resemblance to the original's (EO below 0.05)",
        len(micro) >= 2,
        "in how many of the six structures: " + ", ".join(f"{m} {count}" for m, count in ruined.items()),
    )


def of_application(
    results: Results, measures: dict[str, Measure], names: Mapping[str, str], lines: list[Line]
) -> list[Finding]:
    """Put frontiers, choice and sentences of section 3.2 beside ours."""
    found = []
    for column, printed in PRINTED_FRONTIERS.items():
        frontier: Frontier = results.frontier(risk=measures["risk"], utility=measures[column])
        ours = [names[candidate] for candidate in frontier.on]
        found.append(
            Finding(
                f"CPS, frontier of risk and {column}: the printed candidates are on ours",
                set(printed) <= set(ours),
                f"ours: {', '.join(ours)}; printed: {', '.join(printed)}",
            )
        )
        off = [m for m in ("Micm(3,7)", "Micm(p,3)", "Resamp(3)") if m in ours]
        found.append(
            Finding(
                f"CPS, {column}: Micm(3,7), Micm(p,3) and Resamp(3) can be ignored",
                not off,
                f"on the frontier: {', '.join(off)}" if off else "none of them is on the frontier",
            )
        )
        choices = {
            risk: results.choose(utility=measures[column], at_most={measures[risk]: 0.10})
            for risk in ("risk", "risk by distance")
        }
        chosen = {risk: names.get(choice.chosen or "", "none") for risk, choice in choices.items()}
        found.append(
            Finding(
                f"CPS: with a risk of at most 10 % Noise(.16) is the choice by {column}",
                chosen["risk"] == "Noise(.16)",
                f"ours: {chosen['risk']}; if the risk is that of distance linkage: {chosen['risk by distance']}",
            )
        )
    rows = structured({line.name: {c: f.ours for c, f in line.figures.items()} for line in lines})["CPS"]
    above = [m for m, row in rows.items() if row["EO"] > row["IO"]]
    shown = ", ".join(f"{m} {row['EO']:.3f} and {row['IO']:.3f}" for m, row in rows.items())
    return [
        *found,
        Finding("CPS: EO is at most IO in all cases", not above, shown),
        _dear("Micir(p,10)", "Noise(.16)", rows),
        _dear("Noise(.16)", "Rank(.15)", rows),
    ]


def _dear(better: str, worse: str, rows: Structure) -> Finding:
    """Compare what a method gains in one thing with what it costs in the other."""
    risk, utility = rows[better]["risk"] - rows[worse]["risk"], rows[better]["EO"] - rows[worse]["EO"]
    if better == "Micir(p,10)":
        text, holds = (
            f"CPS: {better} gains little utility over {worse} at an enormous risk",
            risk > 0.5 and utility < 0.2,
        )
    else:
        text, holds = (
            f"CPS: {worse} gains little in risk over {better} and loses nearly all utility",
            (risk < 0.1 and rows[worse]["EO"] < 0.05),
        )
    return Finding(text, holds, f"{better} less {worse}: risk {risk:.3f}, EO {utility:.3f}")


# the simulation and the application

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


def run(settings: Settings) -> Study:
    """Recompute Tables 1 to 3 by simulation and, where the Census file is given, the application of section 3.2."""
    n, repeats = settings.records or RECORDS, settings.replicates or REPLICATES
    beside = None if settings.data is None else Path(settings.data).parent / "karr_tables_1_2.csv"
    place = settings.printed or (beside if beside is not None and beside.exists() else None)
    table = printed_tables(place) if place is not None else {}
    lines: list[Line] = []
    seconds, fingerprint = 0.0, "drawn by the study"
    for name, centre in CENTRES.items():
        for variables in DIMENSIONS:
            measures = simulated_measures(variables)
            runs = [
                settings.results_of(_experiment(normal(centre, variables, n, seed), measures, 1, seed))
                for seed in range(settings.seed, settings.seed + repeats)
            ]
            seconds += sum(done.seconds for done in runs)
            lines += _lines(f"{name} {variables}", runs, measures, table if n == RECORDS else {})
    findings = [*of_simulation(lines, repeats), *table_3(_table(lines))]
    if table:
        findings.insert(0, anchor(table))
    if settings.data is not None:
        cps, fingerprint = _census(settings.data)
        measures = applied_measures()
        done = settings.results_of(_experiment(cps, measures, repeats, settings.seed))
        seconds += done.seconds
        applied = _lines("CPS", [done], measures, {})
        lines += applied
        names = {repr(method): name for name, method in METHODS.items()}
        findings += of_application(done, measures, names, applied)
        findings.append(karr_records.of_records(cps, measures["IO"], FAMILY, settings.seed))
    elif settings.records is None and settings.replicates is None:
        findings.append(Finding("The application of section 3.2", None, "needs the Census file: --data"))
    return Study(
        name="karr",
        title="The simulation and the application of Karr and others, recomputed",
        source=SOURCE,
        setting=SETTING,
        columns=COLUMNS,
        lines=tuple(bold(lines)),
        findings=tuple(findings),
        reasons=REASONS,
        scatters=tuple(
            Scatter(f"Figure 1, {column}", "CPS", column, "risk")
            for column in (("IO", "EO") if settings.data is not None else ())
        ),
        seed=settings.seed,
        replicates=repeats,
        seconds=seconds,
        versions=versions(),
        fingerprint=fingerprint,
    )


def printed_tables(path: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Read the printed Tables 1 and 2: columns correlation, method, dim, EO, IO, KL, risk."""
    columns = ("correlation", "method", "dim", *PRINTED)
    return {
        (f"{row['correlation']} {int(row['dim'])}", row["method"]): {c: row[c] for c in PRINTED}
        for row in printed_rows(path, columns, "does not hold the printed Tables 1 and 2")
    }


def _census(path: Path) -> tuple[Microdata, str]:
    """Read the Census file without its weight, and say which file it was."""
    census = census_file(path, SIX)
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
            figures[column] = Figure.of(values, printed.get((structure, name), {}).get(column, math.nan))
        lines.append(Line(f"{structure}: {name}", name if structure != "CPS" else "CPS", repr(method), figures))
    return lines


def _table(lines: list[Line]) -> dict[tuple[str, str], dict[str, float]]:
    """Lay our figures out as the printed ones are."""
    return {_place(line.name): {column: line.figures[column].ours for column in PRINTED} for line in lines}
