"""A table in parts written in random order over all parts, so that neither file nor place tells where a record stood.

Every record has a draw of its own: a function of the seed, the name of the release and the number of the record. The
records stand in the order of their draws, which is a random permutation of all of them, whatever the cut of the
original. It takes two passes: each part is put into files, its records by their draws; then each file of the release
gathers the records whose draws fall into its stretch of [0, 1). Neither the number nor the size of the files follows
the original's parts: there are as many as the number of records asks for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engine import current
from sfumato.errors import FileError
from sfumato.pair.masking import Place
from sfumato.pair.sorting import Runs
from sfumato.table.atomic import appearing, reason, replacing
from sfumato.table.columns import common_type, to_floats
from sfumato.table.draws import Draws
from sfumato.table.formats.parquet import write_parquet
from sfumato.table.frames import to_arrow
from sfumato.table.microdata import Microdata
from sfumato.table.parts import RECORDS, TableInParts

Floats = NDArray[np.float64]
CHUNK = 1 << 20  # records of which draws are made at a time
CLASSES = 1 << 20  # of draws, by which the record at a place is found
DRAWS = "draws"


@dataclass(frozen=True)
class RandomOrder:
    """The order of a release: the same for the same seed and key, which names the release."""

    seed: int
    key: str

    def draws(self, first: int, count: int) -> Floats:
        """Return the draws of some records."""
        return Draws(self.seed, f"order of the records {self.key}").uniform("order", first, count)

    def places(self, rows: NDArray[np.intp], records: int) -> NDArray[np.intp]:
        """Return where records stand in the release, of a table of so many records.

        Two records of the same draw, of 53 bits, may be told the place of the other.

        >>> order = RandomOrder(7, "a release")
        >>> np.argsort(order.draws(0, 5))[order.places(np.array([1, 3]), 5)].tolist()
        [1, 3]
        """
        own = np.empty(len(rows))
        for first, drawn in self._chunks(records):
            here = (rows >= first) & (rows < first + CHUNK)
            own[here] = drawn[rows[here] - first]
        ascending = np.sort(own)
        below = np.zeros(len(rows) + 1, dtype=np.intp)
        for _, drawn in self._chunks(records):
            below += np.bincount(np.searchsorted(ascending, drawn, side="right"), minlength=len(below))
        places: NDArray[np.intp] = np.cumsum(below)[np.searchsorted(ascending, own)]
        return places

    def records(self, records: int) -> Iterator[NDArray[np.int64]]:
        """Yield, for each record of the release, the number of the original's, in stretches that fit into memory.

        >>> order = RandomOrder(7, "a release")
        >>> np.concatenate(list(order.records(5))).tolist() == np.argsort(order.draws(0, 5)).tolist()
        True
        """
        runs = Runs(current(records), "order of a release", records, np.int64)
        for first in range(0, records, CHUNK):
            count = min(CHUNK, records - first)
            runs.add(self.draws(first, count), np.arange(first, first + count))
        for _, numbers in runs.merged():
            assert numbers is not None
            yield numbers
        runs.close()

    def records_at(self, places: NDArray[np.intp], records: int) -> NDArray[np.intp]:
        """Return which records stand at some places of the release, of a table of so many records.

        >>> order = RandomOrder(7, "a release")
        >>> order.places(order.records_at(np.array([4, 0]), 5), 5).tolist()
        [4, 0]
        """
        counts = np.zeros(CLASSES, dtype=np.intp)
        for _, drawn in self._chunks(records):
            counts += np.bincount((drawn * CLASSES).astype(np.intp), minlength=CLASSES)
        ends = np.cumsum(counts)
        lies_in = np.searchsorted(ends, places, side="right")  # the class of draws that holds each place
        wanted = np.zeros(CLASSES, dtype=bool)
        wanted[lies_in] = True
        found = [(first + rows, drawn[rows]) for first, drawn, rows in self._within(wanted, records)]
        rows, drawn = (np.concatenate(column) for column in zip(*found, strict=True))
        kept = np.cumsum(np.where(wanted, counts, 0))  # where each class ends among those looked at
        at: NDArray[np.intp] = rows[np.argsort(drawn, kind="stable")][places - ends[lies_in] + kept[lies_in]]
        return at

    def _chunks(self, records: int) -> Iterator[tuple[int, Floats]]:
        for first in range(0, records, CHUNK):
            yield first, self.draws(first, min(CHUNK, records - first))

    def _within(self, wanted: NDArray[np.bool_], records: int) -> Iterator[tuple[int, Floats, NDArray[np.intp]]]:
        """Yield of each chunk the draws, and the places of those that lie in one of the classes wanted."""
        for first, drawn in self._chunks(records):
            yield first, drawn, np.flatnonzero(wanted[(drawn * CLASSES).astype(np.intp)])


def write_in_random_order(
    table: TableInParts, folder: Path, order: RandomOrder | None, *, private: bool = False
) -> None:
    """Write a table as a folder of Parquet files, in this order, or None: as its records stand.

    The folder is there as a whole or not at all, and nobody else can read it before it is complete, nor after that if
    it is ``private``. An earlier one of the same name is replaced.
    """
    files = max(-(-len(table) // RECORDS), 1)
    engine = current(len(table))
    with engine.room() as room, appearing(folder, private=private) as staged:
        firsts = [0, *accumulate(table.sizes)][:-1]
        places = [Place(room / f"{number:05d}", first) for number, first in enumerate(firsts)]
        deal = _Deal(order, files, len(table))
        dealt = list(engine.each(deal, list(zip(table.parts, places, strict=True)), stored=False))
        shape = _shape([found.types for found in dealt])
        ends = np.array([found.ends for found in dealt])
        targets = [Place(staged / f"part-{number:05d}.parquet", number) for number in range(files)]
        gather = _Gather(table.parts[0].names, tuple(p.path for p in places), ends, shape)
        for _ in engine.each(gather, [(target,) for target in targets], stored=False):
            pass


@dataclass(frozen=True)
class _Dealt:
    ends: tuple[int, ...]  # where the records of each file begin and end among those of the part
    types: dict[str, pa.DataType]  # of the columns, as this part alone would be written


@dataclass(frozen=True)
class _Deal:
    """Puts the columns of a part into files, its records in the order of their draws."""

    order: RandomOrder | None
    files: int
    records: int

    def __call__(self, part: Microdata, place: Place) -> _Dealt:
        if self.order is None:
            drawn = (np.arange(len(part)) + float(place.number)) / self.records
        else:
            drawn = self.order.draws(place.number, len(part))
        rows = np.argsort(drawn, kind="stable")
        drawn, types = drawn[rows], {}
        try:
            place.path.mkdir(mode=0o700, exist_ok=True)
            _put_aside(pa.array(drawn), place.path / DRAWS)
            for number, name in enumerate(part.names):
                column = _arrow(part, name).take(pa.array(rows))
                _put_aside(column, place.path / str(number))
                if column.null_count < len(column):
                    types[name] = _plain_type(column)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"the records of a part cannot be put into {place.path}: {reason(error)}") from error
        ends = np.searchsorted(drawn, np.arange(self.files + 1) / self.files)
        ends[-1] = len(part)
        return _Dealt(tuple(map(int, ends)), types)


def _arrow(part: Microdata, name: str) -> Any:
    """Return one variable of a part as it would be written."""
    came = part.exact(name)
    origin = replace(part.origin, exact={} if came is None else {name: came})
    one = Microdata(part.schema.only([name]), {name: part.columns[name]}, origin, part.notes, part.matched)
    return to_arrow(one.to_frame("pyarrow"))[0][name].combine_chunks()


def _put_aside(column: Any, path: Path) -> None:
    batch = pa.record_batch([column], names=["column"])
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, batch.schema) as writer:
        writer.write_batch(batch)


def _plain_type(column: Any) -> pa.DataType:
    """Return the type of a column without a list of categories: those that no record has would be told."""
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


def _cast(column: Any, kind: pa.DataType) -> Any:
    """Return a column as another type that holds its values, of decimals the nearest floats."""
    if pa.types.is_decimal(column.type) and pa.types.is_floating(kind):
        return to_floats(column)
    return column.cast(kind, safe=False)


def _shape(found: Sequence[dict[str, pa.DataType]]) -> dict[str, pa.DataType]:
    """Return the type of each column that holds the values of all parts."""
    names = dict.fromkeys(name for types in found for name in types)
    return {name: _widest({types[name] for types in found if name in types}) for name in names}


def _widest(types: set[pa.DataType]) -> pa.DataType:
    if len(types) == 1:
        return next(iter(types))
    if all(map(pa.types.is_integer, types)):
        return pa.int64()
    if all(map(pa.types.is_decimal, types)):
        return common_type(types) or pa.float64()
    numbers = all(pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t) for t in types)
    return pa.float64() if numbers else pa.string()


@dataclass(frozen=True, eq=False)
class _Gather:
    """Writes one file of the release: the records of all parts whose draws fall into its stretch."""

    names: tuple[str, ...]
    dealt: tuple[Path, ...]
    ends: NDArray[np.int64]  # by part and file
    shape: dict[str, pa.DataType]

    def __call__(self, target: Place) -> int:
        drawn = np.concatenate([piece.to_numpy() for piece in self._pieces(DRAWS, target.number)])
        rows = pa.array(np.argsort(drawn, kind="stable"))
        columns = {}
        for number, name in enumerate(self.names):
            pieces = list(self._pieces(str(number), target.number))
            kind = self.shape.get(name, _plain_type(pieces[0]))
            columns[name] = pa.concat_arrays([_cast(piece, kind) for piece in pieces]).take(rows)
        with replacing(target.path, private=True) as out:
            write_parquet(pa.table(columns), out)
        return len(rows)

    def _pieces(self, name: str, file: int) -> Iterator[Any]:
        """Yield a column of the records of each part that fall into a file."""
        for folder, ends in zip(self.dealt, self.ends, strict=True):
            with pa.memory_map(str(folder / name)) as source:
                whole = pa.ipc.open_file(source).get_batch(0).column(0)
            yield whole.slice(int(ends[file]), int(ends[file + 1] - ends[file]))
