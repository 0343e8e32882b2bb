"""Candidates side by side in the terminal: a column for each."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from sfumato.show.side_by_side import SideBySide


def figures_table(found: SideBySide) -> Table:
    """Return every figure of the original and of each candidate."""
    rows = []
    for measure in found.measures:
        lines = [found.original, *found.candidates]
        texts = [
            "–" if line is None or measure.key not in line.figures else line.figures[measure.key].text for line in lines
        ]
        rows.append((f"{measure.name} {'↓' if measure.better == 'lower' else '↑'}", *texts))
    return _table(("", "original", *(line.name for line in found.candidates)), rows)


def uses_table(found: SideBySide, most: int) -> Table | None:
    """Return what variables are good for in each candidate; None if all are as before."""
    rows = [(name, *("removed" if v is None else v.use for v in each)) for name, each in found.uses[:most]]
    return _table(("variable", *(line.name for line in found.candidates)), rows) if rows else None


def pairs_table(found: SideBySide, most: int) -> Table | None:
    """Return what became of the associations that changed; None if none did."""
    rows = [(f"{pair.first} – {pair.second}", *pair.became) for pair in found.pairs[:most]]
    return _table(("pair", *(line.name for line in found.candidates)), rows) if rows else None


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
