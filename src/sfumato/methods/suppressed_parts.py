"""Key values of a table in parts made missing: what goes is decided once, on the key classes of the whole table.

What a record shows is judged by how many records agree with it, and those are counted by key classes. So the search is
the one in memory, on one row for each combination of key values. Where records of one class are treated differently,
because only so many values of a key may go, or because missing is a value of its own, they are told apart by their
numbers. The records that lose a value, and which they lose, lie in a file that the parts read.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.atomic import reason
from sfumato.data.draws import Draws
from sfumato.data.microdata import Microdata
from sfumato.data.present import only_present
from sfumato.data.schema import Schema
from sfumato.data.treatment import Treatment
from sfumato.errors import FileError
from sfumato.kernels.groups import classes
from sfumato.kernels.suppression import Standing
from sfumato.pair import Half, Masking
from sfumato.pair.half import Coder
from sfumato.pair.masking import rounded

Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NO_RECORD = -1


@dataclass(frozen=True, eq=False)
class KeyRows:
    """The keys of a table, one row for the records of a class that need not be told apart, or for a single record.

    ``counts`` are the records that a row stands for, ``weights`` what they weigh together, ``record`` the number of a
    single record; single records stand in their order, after the other rows.
    """

    half: Half
    names: tuple[str, ...]
    codes: Codes
    counts: Integers
    weights: Floats | None
    record: Integers

    @classmethod
    def of(cls, half: Half, names: tuple[str, ...], *, weighted: bool) -> "KeyRows":
        """Return the key classes of a table; in an order of their own, which no cut changes."""
        found = half.classes(names, weighted=weighted)
        order = np.lexsort(found.cells.T)
        own = found.weights if weighted else None
        weights = None if own is None else np.array([rounded(weight) for weight in own[order].tolist()])
        unknown = np.full(len(order), NO_RECORD, dtype=np.int64)
        return cls(half, names, np.asfortranarray(found.cells[order]), found.sizes[order], weights, unknown)

    @property
    def standing(self) -> Standing:
        """What the rows stand for."""
        return Standing(self.counts, self.record != NO_RECORD)

    def told_apart(self, rows: NDArray[np.intp], most: int | None = None) -> "KeyRows":
        """Return the table in which the records of these rows are rows of their own, or the first so many of each."""
        classes_of = rows[self.record[rows] == NO_RECORD]
        find = _Find(self.half.coder(self.names), self.codes[classes_of], self.weights is not None)
        taken = np.zeros(len(classes_of), dtype=np.int64)
        kept: list[tuple[Integers, Integers, Floats]] = []
        for record, place, weights in self.half.numbered(find):
            there = np.arange(len(record))
            if most is not None:
                there = there[taken[place] + _nth(place) < most]
                taken += np.bincount(place[there], minlength=len(taken))
            kept.append((record[there], place[there], weights[there]))
        record, place, weights = (np.concatenate(column) for column in zip(*kept, strict=True))
        left = self.counts.copy()
        left[classes_of] -= np.bincount(place, minlength=len(classes_of))
        rest = left > 0
        single = self.record[rest] != NO_RECORD  # of those told apart before
        codes = np.concatenate([self.codes[rest], self.codes[classes_of[place]]])
        counts = np.concatenate([left[rest], np.ones(len(record), dtype=np.int64)])
        numbers = np.concatenate([self.record[rest], record])
        own = None
        if self.weights is not None:
            before = self.weights.copy()
            before[classes_of] -= np.bincount(place, weights, len(classes_of))
            own = np.concatenate([before[rest], weights])
        order = np.argsort(numbers, kind="stable") if single.any() else slice(None)
        if most is not None:  # those left of a class come after its records
            order = np.argsort(np.where(numbers == NO_RECORD, np.iinfo(np.int64).max, numbers), kind="stable")
        own = None if own is None else own[order]
        return replace(
            self, codes=np.asfortranarray(codes[order]), counts=counts[order], weights=own, record=numbers[order]
        )


def _nth(place: Integers) -> Integers:
    """Return for each entry how many equal ones stand before it.

    >>> _nth(np.array([3, 1, 3, 3]))
    array([0, 0, 1, 2])
    """
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], place[order])
    nth = np.empty(len(place), dtype=np.int64)
    nth[order] = np.arange(len(place)) - starts
    return nth


@dataclass(frozen=True, eq=False)
class _Find:
    """Finds the records of a part that have one of some combinations of keys: their numbers, which, their weights."""

    coder: Coder
    cells: Codes
    weighted: bool = False

    def __call__(self, part: Microdata, first: int) -> tuple[Integers, Integers, Floats]:
        place = classes(np.concatenate([self.cells, self.coder(part)]))[0][len(self.cells) :]
        there = np.flatnonzero(place < len(self.cells))  # the combinations are different, so numbered first
        weights = part.weights()[there] if self.weighted else np.zeros(len(there))
        return there + first, place[there], weights


@dataclass(frozen=True, eq=False)
class SuppressedInParts(Masking):
    """The records that lose a value of a key, in a file by their numbers, and which keys they lose, as bits."""

    schema: Schema
    keys: tuple[str, ...]  # in the order of the bits
    path: Path = field(compare=False)
    content: str  # a digest of the file
    number: int  # of the records in the file
    recoded: Mapping[str, Codes]  # by old code, where categories are no longer listed; the last is a missing value
    losing: frozenset[str]
    said: str

    @property
    def changes(self) -> frozenset[str]:
        """The keys that lose values."""
        return self.losing

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> NDArray[Any]:
        """Make values of a key missing in a part."""
        column = part.columns[name].copy()
        records, lost = self._of(first, len(part), self.keys.index(name))
        column[records[lost] - first] = -1 if column.dtype == np.int32 else np.nan
        return np.take(self.recoded[name], column) if name in self.recoded else column

    def _of(self, first: int, count: int, bit: int) -> tuple[Integers, Flags]:
        """Read which records among some lose a value, and whether it is that of this key."""
        width = _width(len(self.keys))
        try:
            records = np.memmap(self.path, dtype=np.int64, mode="r", shape=(self.number,))
            begin, end = np.searchsorted(records, [first, first + count])
            bits = np.fromfile(
                self.path, np.uint8, int(end - begin) * width, offset=8 * self.number + int(begin) * width
            )
        except (OSError, ValueError) as error:
            why = reason(error) if isinstance(error, OSError) else "it is shorter than it was written"
            raise FileError(
                f"which values are suppressed cannot be read from {self.path}: {why}; on a cluster give Engine a "
                "folder that all workers see"
            ) from None
        return np.array(records[begin:end]), (bits.reshape(-1, width)[:, bit // 8] >> (7 - bit % 8) & 1).astype(bool)


def _width(keys: int) -> int:
    """Return how many bytes have a bit for each key."""
    return -(-keys // 8)


def suppressed(rows: KeyRows, shown: Flags, said: str) -> SuppressedInParts:
    """Put aside which records lose which values of their keys, given what each row goes on showing."""
    half, names = rows.half, rows.names
    losing = np.asarray(~shown.all(axis=1))
    path, digest, number = _put_aside(rows, np.packbits(~shown, axis=1), losing)
    changed, recoded = [], {}
    for place, name in enumerate(names):
        gone = ~shown[:, place]
        if not gone.any():
            continue
        variable = half.schema[name].treated(Treatment(suppressed=int(rows.counts[gone].sum())))
        if not variable.quantitative:
            left = np.where(gone, np.int32(-1), rows.codes[:, place])
            before = len(variable.categories)
            variable, codes = only_present(variable, left)
            if len(variable.categories) < before:
                recoded[name] = np.full(before + 1, -1, dtype=np.int32)
                recoded[name][left] = codes
                recoded[name][-1] = -1
        changed.append(variable)
    schema = half.schema.replace(*changed)
    lost = frozenset(variable.name for variable in changed)
    return SuppressedInParts(schema, names, path, digest, number, recoded, lost, said)


def _put_aside(rows: KeyRows, bits: NDArray[np.uint8], losing: Flags) -> tuple[Path, str, int]:
    """Write the numbers of the records that lose a value, then their bits; return the file, its digest, how many."""
    half = rows.half
    alike = np.flatnonzero(losing & (rows.record == NO_RECORD))
    single = np.flatnonzero(losing & (rows.record != NO_RECORD))
    single = single[np.argsort(rows.record[single])]
    digest, number = sha256(), 0
    try:
        with (
            tempfile.NamedTemporaryFile(dir=half.folder, prefix="suppressed-", delete=False) as out,
            tempfile.TemporaryFile(dir=half.folder) as beside,
        ):
            for record, place in _found(rows, alike, single):
                what = bits[place]
                out.write(record.data)
                beside.write(np.ascontiguousarray(what).data)
                digest.update(record.data)
                digest.update(what.tobytes())
                number += len(record)
            beside.seek(0)
            while chunk := beside.read(2**20):
                out.write(chunk)
    except OSError as error:
        raise FileError(f"which values are suppressed cannot be written to {half.folder}: {reason(error)}") from error
    return Path(out.name), digest.hexdigest(), number


def _found(rows: KeyRows, alike: NDArray[np.intp], single: NDArray[np.intp]) -> Any:
    """Yield the numbers of the records of some rows in their order, and the rows, part by part."""
    if not len(alike):
        yield rows.record[single], single
        return
    find = _Find(rows.half.coder(rows.names), rows.codes[alike])
    told, begin = rows.record[single], 0
    sizes = [len(part) for part in rows.half.parts if len(part)]
    ends = np.searchsorted(told, np.cumsum(sizes))
    for end, (record, place, _) in zip(ends.tolist(), rows.half.numbered(find), strict=True):
        both = np.concatenate([record, told[begin:end]])
        order = np.argsort(both, kind="stable")
        yield both[order], np.concatenate([alike[place], single[begin:end]])[order]
        begin = end
