"""A random sample of the records of a table, whole or in parts, by their numbers in the whole table.

What compares every record with every other is too much for a table in parts. A measure then looks for a simple random
sample of the records among all of the other table. The numbers are drawn from those of the whole table, so that the
sample does not depend on how the table is cut.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.data.on_demand import digest_of
from sfumato.engine import current
from sfumato.pair.half import Half

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]

SIZE = 5_000  # records that are looked for in a table in parts, if nobody says how many


@dataclass(frozen=True, eq=False)
class Sample:
    """Numbers of records, in ascending order, and how many records the table has.

    >>> sample = Sample.drawn(1_000, 10, np.random.default_rng(1))
    >>> len(sample), sample.whole, Sample.drawn(10, 20, np.random.default_rng(1)).whole
    (10, False, True)
    """

    rows: Integers
    records: int

    @classmethod
    def drawn(cls, records: int, size: int, rng: np.random.Generator) -> "Sample":
        """Draw records without replacement, each with the same chance; all of them if there are no more."""
        if size >= records:
            return cls(np.arange(records), records)
        return cls(np.sort(rng.choice(records, size, replace=False, shuffle=False)), records)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def whole(self) -> bool:
        """Whether every record is in it."""
        return len(self.rows) == self.records

    @cached_property
    def digest(self) -> str:
        """A digest of which records were drawn."""
        return digest_of(self.rows.tobytes(), str(self.records))

    def error(self, figures: Floats) -> float:
        """Return the standard error of the mean of a figure of the records drawn, as a mean of all records.

        Of a sample without replacement it is s / sqrt(m) times sqrt(1 - m / n) (Cochran 1977, Sampling Techniques,
        2.6); of a share p it is sqrt(p (1 - p) / (m - 1) (1 - m / n)).

        >>> round(Sample(np.arange(4), 8).error(np.array([0.0, 1.0, 1.0, 0.0])), 4)  # sqrt(1/3 / 4 / 2)
        0.2041
        """
        if self.whole or len(figures) < 2:
            return 0.0 if self.whole else float("nan")
        return sqrt(float(np.var(figures, ddof=1)) / len(self.rows) * (1 - len(self.rows) / self.records))

    def said(self, error: float, among: str = "all protected ones") -> str:
        """Say what was drawn, and how sure the figure is."""
        return (
            f"a simple random sample of {len(self):,} of {self.records:,} records was looked for among {among}: "
            f"standard error {error:.2g}"
        )


@dataclass(frozen=True)
class Rows:
    """Places of records in a part, told to an engine beside the part."""

    places: NDArray[np.intp]

    @property
    def fingerprint(self) -> str:
        """A digest of the places."""
        return digest_of(self.places.tobytes())

    def at_hand(self) -> "Rows":
        """Return the places as they are."""
        return self

    def __len__(self) -> int:
        return len(self.places)


def taken(half: Half, names: Iterable[str], rows: Integers) -> Columns:
    """Return some variables of the records with these numbers, which ascend, read from the parts where they lie."""
    wanted = tuple(names)
    parts = list(by_part(half.parts, rows))
    read = partial(_read, wanted)
    if half.on_disk:
        found = list(current(len(half)).each(read, parts, stored=False))
    else:
        found = [read(*part) for part in parts]
    return {name: np.concatenate([columns[name] for columns in found]) for name in wanted}


def by_part(parts: Sequence[Microdata], rows: Integers) -> Iterator[tuple[Microdata, Rows]]:
    """Yield each part that holds some of the records, whose numbers ascend, with their places there."""
    start = 0
    for part in parts:
        low, high = np.searchsorted(rows, (start, start + len(part)))
        if low < high:
            yield part, Rows((rows[low:high] - start).astype(np.intp))
        start += len(part)


def _read(names: tuple[str, ...], part: Microdata, rows: Rows) -> Columns:
    return {name: part.columns[name][rows.places] for name in names}
