"""Risk-utility frontiers of Karr and others: who lies on them (bold in Tables 1 and 2), and how often (Table 3)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from sfumato.compare.frontier import undominated
from sfumato.studies.study import Finding, Line

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
    table = {_place(line): {c: getattr(line.figures[c], of) for c in SIGNS if c in line.figures} for line in lines}
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


def _place(line: Line) -> tuple[str, str]:
    structure, _, method = line.name.partition(": ")
    return structure, method


def _spelt(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))
