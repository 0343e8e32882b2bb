"""Table 2 of Domingo-Ferrer, Mateo-Sanz and Torres: its rows as methods, its columns as measures, ours beside print."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sfumato.compare.results import Results
from sfumato.compare.rows import Row
from sfumato.core import Measure, Method
from sfumato.data.files import read
from sfumato.errors import DataError
from sfumato.methods import (
    JPEG,
    DistributionDistortion,
    IndividualRanking,
    MaximumDistance,
    Noise,
    ProjectionMicroaggregation,
    RankSwapping,
    Resampling,
)
from sfumato.risk import DistanceLinkage, ProbabilisticLinkage, RankInterval, SpreadInterval
from sfumato.studies.study import Figure, Line
from sfumato.utility import InformationLoss, InformationLossTorres

PRINTED = "domingo_table2.csv"
MEASURED = ("IL", "DLD", "PLD", "ID")
SCORES = ("Score", "Score2")

# In which order an intruder comes to know the variables is not printed; each of these was fitted to printed rows.
ORDERS = {
    "DLD": ("EMCONTRB", "FICA", "PEARNVAL", "WSALVAL", "ERNVAL", "PTOTVAL", "POTHVAL"),
    "DLD, AGI first": ("AGI", "TAXINC", "INTVAL", "FEDTAX", "POTHVAL", "STATETAX", "EMCONTRB"),
    "DLD, TAXINC first": ("TAXINC", "FICA", "FEDTAX", "PEARNVAL", "WSALVAL", "INTVAL", "AGI"),
    "DLD, AFNLWGT first": ("AFNLWGT", "EMCONTRB", "POTHVAL", "STATETAX", "AGI", "TAXINC", "FEDTAX"),
}
KEYS = ORDERS["DLD, AFNLWGT first"]
GRADED = (  # the rows compared by degrees, which looks at all pairs: some of each family
    *("MicIR03", "MicIR10", "MicZ05", "Mic2mul03", "Mic2mul08", "Mic3mul03", "Mic4mul03", "Micmul05"),
    *("Rank02", "Rank05", "Noise0.02", "Noise0.08", "Noise0.16", "JPEG070", "JPEG090", "JPEG100"),
)
COLUMNS = (
    *("IL", *ORDERS, "PLD", "PLD graded", "ID", "Score", "Score2"),
    *(f"{column} rank" for column in (*MEASURED, *SCORES)),
)


def candidates() -> dict[str, Method]:
    """Build the method behind each row of Table 2, by its name in print."""
    rows: dict[str, Method] = {f"Rank{p:02d}": RankSwapping(p / 100) for p in range(1, 21)}
    rows |= {f"Noise{scale:g}": Noise(scale) for scale in (0.01, *(i / 100 for i in range(2, 21, 2)))}
    rows |= {f"Resamp{t}": Resampling(t) for t in (1, 3)}
    for k in range(3, 11):
        rows[f"MicIR{k:02d}"] = IndividualRanking(k)
        rows[f"MicZ{k:02d}"] = ProjectionMicroaggregation(k, axis="zscores")
        rows[f"MicPCP{k:02d}"] = ProjectionMicroaggregation(k, axis="pca")
        rows |= {f"Mic{v}mul{k:02d}": MaximumDistance(k, at_a_time=v) for v in (2, 3, 4)}
        rows[f"Micmul{k:02d}"] = MaximumDistance(k)
    rows |= {f"JPEG{quality:03d}": JPEG(quality, rounding="down") for quality in range(10, 101, 5)}
    return rows | {"Distr": DistributionDistortion()}


def of_section_6() -> dict[str, Method]:
    """Build what section 6 names beside the rows of Table 2."""
    return {"Micmul16": MaximumDistance(16)}


def measures() -> dict[str, Measure]:
    """Build the measures of the paper, by their names in print; the last two are those of its section 6."""
    return {
        "IL": InformationLoss(),
        **{column: DistanceLinkage(known=order, ties="linked") for column, order in ORDERS.items()},
        "PLD": ProbabilisticLinkage(known=KEYS),
        "ID": RankInterval(ties="last"),
        "IL2": InformationLossTorres(),
        "ID2": SpreadInterval(),
    }


def graded() -> Measure:
    """Build the probabilistic linkage in which numbers agree by degrees."""
    return ProbabilisticLinkage(known=KEYS, comparator="graded")


def printed_table(path: Path) -> dict[str, dict[str, float]]:
    """Read the printed table: a column ``method``, then IL, DLD, PLD, ID and score, and their ranks where given."""
    table = read(path).to_arrow()
    lacking = [name for name in ("method", *MEASURED, "score") if name not in table.column_names]
    if lacking:
        raise DataError(f"{path} is not the printed Table 2: it has no column {', '.join(lacking)}")
    names = {"score": "Score"} | {f"{column}_rank": f"{column} rank" for column in MEASURED}
    named = {name: names.get(name, name) for name in table.column_names if name != "method"}
    rows = {row["method"]: {ours: row[theirs] for theirs, ours in named.items()} for row in table.to_pylist()}
    for place, name in enumerate(sorted(rows, key=lambda name: rows[name]["Score"]), start=1):
        rows[name]["Score rank"] = place  # the table's own order
    return rows


def compared(results: Results, by_degrees: Results, printed: Mapping[str, Mapping[str, float]]) -> tuple[Line, ...]:
    """Put our figures, in percent as in print, beside the printed ones, best score first.

    ``by_degrees`` holds the figures of the graded comparator, of one draw, for the rows that have them.
    """
    keys = {name: repr(measure) for name, measure in measures().items()} | {score: score for score in SCORES}
    shown = [column for column in COLUMNS if column in keys]
    lines = []
    for name, method in (candidates() | of_section_6()).items():
        row, beside = results.row(repr(method)), printed.get(name, {})
        figures = {
            column: _figure(row, keys[column], column, beside.get("DLD" if column in ORDERS else column, math.nan))
            for column in shown
        }
        if name in GRADED:
            row = by_degrees.row(repr(method))
            figures["PLD graded"] = _figure(row, repr(graded()), "PLD graded", beside.get("PLD", math.nan))
        lines.append(Line(name, name.rstrip("0123456789."), repr(method), figures))
    ranked = _with_ranks(lines, printed)
    return tuple(sorted(ranked, key=lambda line: line.figures["Score"].ours))


def _figure(row: Row, key: str, column: str, printed: float) -> Figure:
    factor = 100.0 if column in (*ORDERS, "PLD", "PLD graded", "ID") else 1.0
    spread = row.errors.get(key, math.nan) * math.sqrt(len(row.values.get(key, ())))
    return Figure(factor * row.means.get(key, math.nan), factor * spread, printed)


def _with_ranks(lines: list[Line], printed: Mapping[str, Mapping[str, float]]) -> list[Line]:
    """Add the place of each line by each figure, the lowest first; that of section 6 has one by Score2 alone."""
    inside, outside = candidates(), of_section_6()
    places: dict[str, dict[str, Figure]] = {line.name: {} for line in lines}
    for column in (*MEASURED, *SCORES):
        taking = [line for line in lines if line.name in inside or (column == "Score2" and line.name in outside)]
        order = np.argsort([line.figures[column].ours for line in taking], kind="stable")
        for place, at in enumerate(order, start=1):
            name = taking[at].name
            beside = printed.get(name, {}).get(f"{column} rank", math.nan)
            places[name][f"{column} rank"] = Figure(place, math.nan, beside)
    return [Line(line.name, line.family, line.method, {**line.figures, **places[line.name]}) for line in lines]
