"""What Karr and others say of their simulation and of the CPS application, sentence by sentence."""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

from sfumato.compare.frontier import Frontier
from sfumato.compare.results import Results
from sfumato.core import Measure
from sfumato.studies.statements import judged
from sfumato.studies.study import Finding, Line

Structure = Mapping[str, Mapping[str, float]]  # the figures of one data type, by method and column
DIMENSIONS = (3, 6, 10)
NOISE_IO, NOISE_EO = [0.926, 0.929, 0.920], [0.916, 0.907, 0.870]  # Table 1, low correlation
PRINTED_FRONTIERS = {  # section 3.2; the first of EO is printed as Micz(p,3), which stands there twice
    "IO": ("Micir(p,10)", "Noise(.16)", "Micp(p,3)", "Rank(.15)"),
    "EO": ("Micir(p,10)", "Noise(.16)", "Micz(p,3)", "Micp(p,3)", "Rank(.15)"),
}
OF_ALL = ("Micm(p,3)", "Micp(p,3)", "Micz(p,3)")  # microaggregation of all variables at once


def _highest(column: str, place: int, method: str) -> Callable[[Structure], bool]:
    """Tell whether a method has one of the highest figures of a column."""

    def holds(rows: Structure) -> bool:
        return sum(row[column] > rows[method][column] for row in rows.values()) < place

    return holds


def _lowest(column: str, place: int, method: str) -> Callable[[Structure], bool]:
    """Tell whether a method has one of the lowest figures of a column."""

    def holds(rows: Structure) -> bool:
        return sum(row[column] < rows[method][column] for row in rows.values()) < place

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
    ("Rank(.15) has one of the two lowest risks", _lowest("risk", 2, "Rank(.15)"), 5),
    ("Rank(.15) has EO below 0.001: its correlations are distorted", lambda rows: rows["Rank(.15)"]["EO"] < 1e-3, 6),
    ("Micm(3,7) has a higher risk than Micp, Micz and Noise, and a lower EO than Noise", _separate_triplets, 6),
    ("Micm(p,3) has the lowest KL and the highest risk of Micm(p,3), Micp, Micz", _best_of_all, 6),
    ("Noise(.16) has one of the three highest EO", _highest("EO", 3, "Noise(.16)"), 6),
    ("Noise(.16) has one of the four lowest risks", _lowest("risk", 4, "Noise(.16)"), 6),
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
    found: dict[str, dict[str, Mapping[str, float]]] = {}
    for name, row in figures.items():
        structure, _, method = name.partition(": ")
        found.setdefault(structure, {})[method] = row
    return found


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
