"""The chance of each record to be found by an intruder: how many have which, and the records at risk one by one."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.compare.exposure import KnownKeys, Population, chances
from sfumato.pair import Half
from sfumato.pair.keys import countable
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Scenario
from sfumato.workbench.screens.screen import Form, Refused

EDGES = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 33.4, 50.0, 99.9, 100.0)  # percent; a bar has its upper edge and not its lower
MAX_LISTED = 300  # records of the list on the page; the export has all
FIRST_ABOVE = 20.0  # percent: where the threshold stands at first, as in the guides for public files
COMPUTED = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute at the start of a cell
WIDTH, HEIGHT = 600, 120  # of the drawing, in its own units


@dataclass(frozen=True)
class ChanceBar:
    """The records whose chance lies between two edges, and the bar that is drawn for them."""

    low: float
    high: float
    records: int
    x: float
    height: float

    @property
    def words(self) -> str:
        """Its edges."""
        return "certain" if self.low == EDGES[-2] else f"{self.low:g} to {min(self.high, 100):g} %"


@dataclass(frozen=True)
class ChancePicture:
    """How many records have which chance."""

    bars: tuple[ChanceBar, ...]
    exact: tuple[tuple[float, int], ...]  # each chance that occurs, in percent, and its records; the greatest first
    wide: float = WIDTH / (len(EDGES) - 1)

    def above(self, percent: float) -> int:
        """Count the records whose chance is above a threshold."""
        return sum(records for chance, records in self.exact if chance > percent)


@dataclass(frozen=True)
class RecordLine:
    """A record at risk, its chance in percent, and its values of the keys."""

    row: int
    chance: float
    values: tuple[str, ...]


def record_chances(data: Microdata, intruder: Scenario) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the keys that are counted over, and for each record the chance that this intruder finds it."""
    half = Half.of(data)
    keys = KnownKeys.of(intruder, {v.name: v for v in half.schema}, lambda name: countable(half, (name,))).keys
    found = half.classes(keys)
    assert found.cell_of is not None
    chance = chances(found, Population.of(half), knows_membership=intruder.knows_membership)
    return keys, chance[found.cell_of]


def picture(chance: NDArray[np.float64]) -> ChancePicture:
    """Draw how many records have which chance."""
    percent = np.round(100 * chance, 6)
    edges = pairwise(EDGES)
    counts = [int(np.count_nonzero((percent > low) & (percent <= high))) for low, high in edges]
    most = max(counts) or 1
    wide = WIDTH / len(counts)
    bars = tuple(
        ChanceBar(EDGES[place], EDGES[place + 1], records, place * wide, HEIGHT * records / most)
        for place, records in enumerate(counts)
    )
    values, records = np.unique(percent, return_counts=True)
    return ChancePicture(bars, tuple(zip(values[::-1].tolist(), records[::-1].tolist(), strict=True)))


def lines(
    data: Microdata, keys: tuple[str, ...], chance: NDArray[np.float64], above: float, upto: float, most: int | None
) -> tuple[RecordLine, ...]:
    """List the records whose chance is above one threshold and up to another, in percent: the greatest first."""
    percent = np.round(100 * chance, 6)
    rows = np.flatnonzero((percent > above) & (percent <= upto))
    rows = rows[np.argsort(-percent[rows], kind="stable")][:most]
    columns = data.take(rows).to_arrow().select(list(keys)).to_pydict()
    cells = zip(*(columns[name] for name in keys), strict=True)
    return tuple(
        RecordLine(int(row) + 1, float(percent[row]), tuple("" if cell is None else f"{cell}" for cell in values))
        for row, values in zip(rows, cells, strict=True)
    )


def exported(keys: tuple[str, ...], listed: tuple[RecordLine, ...]) -> str:
    """Write a list as text with commas; what a spreadsheet would compute stands behind an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(_plain(one) for one in ("row", "chance in percent", *keys))
    for line in listed:
        writer.writerow(_plain(one) for one in (str(line.row), f"{line.chance:g}", *line.values))
    return out.getvalue()


def _plain(cell: str) -> str:
    return f"'{cell}" if cell.startswith(COMPUTED) else cell


def between(query: Mapping[str, str]) -> tuple[float, float]:
    """Return the two thresholds that an address names, in percent."""
    form = Form(query.items())
    try:
        above = form.number("above", least=0, most=100) if form.has("above") else FIRST_ABOVE
        return above, form.number("upto", least=0, most=100) if form.has("upto") else 100.0
    except Refused:
        return FIRST_ABOVE, 100.0
