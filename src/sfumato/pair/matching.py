"""Records of two tables in parts matched wherever they lie: the protected table in the order of the original.

Which is which is told by their ids, sorted in files and laid side by side, or by the order of a release. A column of
the protected table is put in order when it is first asked for, into a file that the parts read from.
"""

import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engine import current
from sfumato.errors import FileError, NotApplicable
from sfumato.pair.files import MemoryAndFolder, Workspace
from sfumato.pair.half import Half
from sfumato.pair.sorting import SortedColumn, by_record, sorted_column
from sfumato.table.atomic import reason
from sfumato.table.microdata import Microdata
from sfumato.table.on_demand import Column, OnDemand, digest_of
from sfumato.table.parts import TableInParts

Integers = NDArray[np.int64]
# bytes that putting a column in order takes wherever that is done, or less if the engine may take less
MAX_SORTING_BYTES = 2**30


def in_order_of(original: Half, protected: Half, name: str) -> Half:
    """Return the protected table in the order of the original, and in its parts, by the id of this name."""
    room = protected.room
    places = _places(original, protected, name, room)
    if protected.on_disk:
        return Half(_laid_out([len(part) for part in original.parts], protected.parts, places, room))
    try:
        return _moved(original, protected, np.concatenate(list(places)))
    except OSError as error:
        raise FileError(f"records cannot be put in order in {room.folder}: {reason(error)}") from error


def put_in_order(protected: TableInParts, places: Iterable[Integers], sizes: Sequence[int]) -> TableInParts:
    """Return a protected table in the order of the original, in parts of these sizes.

    ``places`` yields, for each protected record, the number of the original's. The table is good until the folder of
    the engine goes.
    """
    return TableInParts(_laid_out(sizes, protected.parts, places, current(len(protected))))


def _laid_out(
    sizes: Sequence[int], parts: tuple[Microdata, ...], places: Iterable[Integers], room: MemoryAndFolder
) -> tuple[Microdata, ...]:
    """Return parts of these sizes, whose columns are put in order in files."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="in-order-", dir=room.folder))
        digest = _write(folder / "places", places)
        (folder / "parts").write_bytes(pickle.dumps(parts))
    except OSError as error:
        raise FileError(f"records cannot be put in order in {room.folder}: {reason(error)}") from error
    whole = digest_of(digest, *(part.fingerprint for part in parts))
    kinds = {variable.name: "<f8" if variable.quantitative else "<i4" for variable in parts[0].schema}
    found, start = [], 0
    for size in sizes:
        found.append(_like(parts, InOrder(folder, kinds, start, size, whole, min(room.memory, MAX_SORTING_BYTES))))
        start += size
    return tuple(found)


def _moved(original: Half, protected: Half, places: Integers) -> Half:
    """Put a table in memory in order."""
    columns = {}
    for name in protected.schema.names:
        column = protected.column(name)
        columns[name] = np.empty_like(column)
        columns[name][places] = column
    parts, start = [], 0
    for part in original.parts:
        rows = slice(start, start + len(part))
        parts.append(_like(protected.parts, {name: column[rows] for name, column in columns.items()}))
        start += len(part)
    return Half(parts)


def _like(parts: tuple[Microdata, ...], columns: Any) -> Microdata:
    first, matched = parts[0], all(part.matched for part in parts)
    return Microdata(first.schema, columns, type(first.origin)(), first.notes, matched, placed=True)


@dataclass(frozen=True, eq=False)
class InOrder(OnDemand):
    """The columns of a run of records of a table that is put in order column by column, in files of a folder."""

    folder: Path
    kinds: dict[str, str]
    first: int
    count: int
    whole: str  # a digest of the whole table in its order
    memory: int  # that putting a column in order may take

    @property
    def records(self) -> int:
        return self.count

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    @property
    def digest(self) -> str:
        return digest_of(self.whole, str(self.first), str(self.count))

    def read(self, name: str) -> Column:
        kind = np.dtype(self.kinds[name])
        path = self.folder / f"column-{self.names.index(name)}"
        try:
            if not path.exists():
                with _alone(self.folder / "lock"):
                    if not path.exists():
                        self._put_in_order(name, kind, path)
            found: Column = np.fromfile(path, dtype=kind, count=self.count, offset=kind.itemsize * self.first)
        except OSError as error:
            raise FileError(
                f"variable {name!r} cannot be put in the order of the original in {self.folder}: {reason(error)}; on a "
                "cluster give Engine a folder that all workers see"
            ) from error
        if len(found) < self.count:
            raise FileError(f"{path} is shorter than what was written to it")
        return found

    def _put_in_order(self, name: str, kind: np.dtype[Any], path: Path) -> None:
        parts: tuple[Microdata, ...] = pickle.loads((self.folder / "parts").read_bytes())
        places = np.memmap(self.folder / "places", dtype=np.int64, mode="r")
        missing = np.array([np.nan if kind.kind == "f" else -1], dtype=kind)
        room = Workspace(self.memory, self.folder)
        _write(path, by_record(_told(parts, name, places), len(places), missing, room, f"variable {name!r}"))


def _told(parts: tuple[Microdata, ...], name: str, places: Integers) -> Iterator[tuple[Integers, Column]]:
    """Yield the column of each part, and the place of each of its records."""
    start = 0
    for part in parts:
        yield np.asarray(places[start : start + len(part)]), part.columns[name]
        start += len(part)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Wait until no other process puts a column in order; where files have no locks, two may do it twice."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _write(path: Path, stretches: Iterable[NDArray[Any]]) -> str:
    """Write an array that comes in stretches, whole or not at all, and return a digest of it."""
    digest = sha256()
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as out:
        for stretch in stretches:
            content = np.ascontiguousarray(stretch).data
            out.write(content)
            digest.update(content)
    Path(out.name).replace(path)
    return digest.hexdigest()


def _places(original: Half, protected: Half, name: str, room: MemoryAndFolder) -> Iterator[Integers]:
    """Yield, for each record of the protected table, the number of the original record with its id."""
    before, after = original.schema[name], protected.schema[name]
    if before.quantitative != after.quantitative:
        raise other_ids(name)
    table = None
    if not before.quantitative:
        place = {category: float(code) for code, category in enumerate(before.categories)}
        # an id that the original does not have is no number of a category, and found to be another below
        table = np.array([*(place.get(category, -1.0) for category in after.categories), np.nan])
    ours, theirs = sorted_column(original, name), sorted_column(protected, name, table)
    try:
        _refuse(original, name, ours, theirs)
        both = zip(ours.pieces(), theirs.pieces(), strict=True)
        told = ((at, number) for (_, number), (_, at) in both)
        yield from by_record(told, len(theirs), np.array([-1]), room, f"id {name!r}")
    finally:
        ours.close()
        theirs.close()


def _refuse(original: Half, name: str, ours: SortedColumn, theirs: SortedColumn) -> None:
    """Refuse ids that are missing, not the same in both tables, or not apart."""
    if ours.missing or theirs.missing or len(ours) != len(theirs):
        raise other_ids(name)
    last = np.nan
    for (mine, _), (their, _) in zip(ours.pieces(), theirs.pieces(), strict=True):
        if not np.array_equal(mine, their):
            raise other_ids(name)
        twice = np.flatnonzero(mine[1:] == mine[:-1])
        if mine[0] == last or twice.size:
            value = last if mine[0] == last else mine[twice[0]]
            variable = original.schema[name]
            shown = f"{value:g}" if variable.quantitative else variable.spelled(variable.categories[int(value)])
            raise NotApplicable(f"the id {name!r} must tell records apart, but {shown} names more than one")
        last = float(mine[-1])


def other_ids(name: str) -> NotApplicable:
    """Say that the ids of the two tables differ."""
    return NotApplicable(f"the ids in {name!r} are not the same in both tables")
