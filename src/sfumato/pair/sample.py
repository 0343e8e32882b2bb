"""A random sample of the records of a table, whole or in parts, by their numbers in the whole table.

What compares every record with every other is too much for a table in parts. A measure then looks for a simple random
sample of the records among all of the other table. The numbers are drawn from those of the whole table, so that the
sample does not depend on how the table is cut. What needs records at hand sees a sample in memory that follows from the
number of records alone: the same records are drawn of an original and of a protected table that matches it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import hypot, log, log1p, sqrt
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.pair.half import Half, each_part
from sfumato.table.microdata import Microdata
from sfumato.table.on_demand import digest_of
from sfumato.table.parts import TableInParts
from sfumato.table.sample_size import SAMPLED

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]

SIZE = 5_000  # records that are looked for in a table in parts, if nobody says how many
NORMAL = 1.96  # standard errors that make a 95 % interval, where the error itself is known well
_DRAWN: "WeakKeyDictionary[TableInParts, dict[int, Microdata]]" = WeakKeyDictionary()


def drawn_records(records: int, size: int = SAMPLED, rng: np.random.Generator | None = None) -> Integers:
    """Draw records without replacement, in ascending order; all if there are no more.

    Without a generator the same ones are drawn of every table of so many records.

    >>> drawn_records(3, 5).tolist(), len(drawn_records(1_000, 10)), len(set(drawn_records(1_000, 10).tolist()))
    ([0, 1, 2], 10, 10)
    """
    if size >= records:
        return np.arange(records)
    stream = rng or np.random.default_rng([records, size])
    return np.sort(stream.choice(records, size, replace=False, shuffle=False))


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
        return cls(drawn_records(records, size, rng), records)

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

    @property
    def unseen(self) -> float:
        """The largest share of all records that may be of a kind of which none was drawn, at 95 %.

        Of K such records of n, none is among m drawn with a chance of C(n - K, m) / C(n, m), at most (1 - m / n)^K.
        That is 5 % for K = ln 0.05 / ln(1 - m / n): about 3 n / m where the sample is a small part of the table, the
        rule of three, and fewer where it is most of it.

        >>> round(Sample(np.arange(2_000), 20_000).unseen * 20_000, 1)  # 2.9957 / 0.10536 records
        28.4
        """
        if self.whole:
            return 0.0
        return min(log(0.05) / log1p(-len(self.rows) / self.records) / self.records, 1.0)

    def error(self, figures: Floats, low: float = 0.0, high: float = 1.0) -> float:
        """Return the standard error of the mean of a figure of the records drawn, as a mean of all records.

        Of a sample without replacement it is s / sqrt(m) times sqrt(1 - m / n) (Cochran 1977, Sampling Techniques,
        2.6). That is nothing where all records drawn have the same figure, and too little where few differ, for those
        that differ may not be among them. Up to the share ``unseen`` of all records may lie as far from the mean as
        figures from ``low`` to ``high`` can, which moves it by no more than their product; 1.96 standard errors are to
        reach as far. The two variances are added. Of a share the 95 % interval so made holds the true one in 93 % of
        samples or more, however rare it is; it is never empty unless all records were drawn.

        >>> sample = Sample(np.arange(4), 8)
        >>> round(sample.unseen, 4)  # ln 0.05 / ln 0.5 = 4.322 of 8 records
        0.5402
        >>> round(sample.error(np.zeros(4)), 4)  # 0.5402 x 1 / 1.96
        0.2756
        >>> round(sample.error(np.array([0.0, 1.0, 1.0, 0.0])), 4)  # sqrt(1/3 / 4 / 2 + (0.5402 x 0.5 / 1.96)^2)
        0.2463
        """
        if self.whole:
            return 0.0
        drawn, mean = len(self.rows), float(figures.mean())
        variance = float(np.var(figures, ddof=1)) if drawn > 1 else 0.0
        seen = sqrt(variance / drawn * (1 - drawn / self.records))
        return hypot(seen, self.unseen * max(high - mean, mean - low) / NORMAL)

    def said(self, error: float, among: str = "all protected ones") -> str:
        """Say what was drawn, and how sure the figure is."""
        return (
            f"a simple random sample of {len(self):,} of {self.records:,} records was looked for among {among}: "
            f"standard error {error:.2g}"
        )


def taken(half: Half, names: Iterable[str], rows: Integers) -> Columns:
    """Return some variables of the records with these numbers, which ascend, read from the parts where they lie."""
    wanted = tuple(names)
    parts = list(by_part(half.parts, rows))
    read = partial(_read, wanted)
    found = list(each_part(read, parts, stored=False))
    return {name: np.concatenate([columns[name] for columns in found]) for name in wanted}


def by_part(parts: Sequence[Microdata], rows: Integers) -> Iterator[tuple[Microdata, Integers]]:
    """Yield each part that holds some of the records, whose numbers ascend, with their places there."""
    start = 0
    for part in parts:
        low, high = np.searchsorted(rows, (start, start + len(part)))
        if low < high:
            yield part, rows[low:high] - start
        start += len(part)


def _read(names: tuple[str, ...], part: Microdata, rows: Integers) -> Columns:
    return {name: part.columns[name][rows] for name in names}


def sampled(table: TableInParts, size: int = SAMPLED) -> Microdata:
    """Return a random sample of a table in memory; of the same table it is drawn once."""
    kept = _DRAWN.setdefault(table, {})
    if size not in kept:
        kept[size] = selected(table, drawn_records(len(table), size))
    return kept[size]


def selected(table: TableInParts, rows: Integers) -> Microdata:
    """Return records of a table in parts by their numbers, which ascend, in memory."""
    columns = taken(Half.of(table), table.schema.names, rows)
    first, drawn = table.parts[0], table.drawn
    numbers = None if drawn is None else drawn[rows]
    return Microdata(table.schema, columns, replace(first.origin, path=None), first.notes, table.matched, numbers)


def only_records(table: TableInParts, rows: Integers) -> TableInParts:
    """Return records of a table in parts by their numbers, which ascend, in the parts in which they stand."""
    return TableInParts(tuple(part.take(there) for part, there in by_part(table.parts, rows)))
