"""Columns that are read when they are asked for: a part of a table that lies on disk is such a table.

They are read anew each time, so that a table in parts never takes more memory than the columns in use.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.table.columns import common_type

Column = NDArray[Any]
Rows = NDArray[np.intp]


class OnDemand(Mapping[str, Column], ABC):
    """The columns of a table by name, each read when it is asked for."""

    @property
    @abstractmethod
    def records(self) -> int:
        """How many records there are."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """A digest of all that the columns hold."""

    @abstractmethod
    def read(self, name: str) -> Column:
        """Read one column."""

    def column_digest(self, name: str) -> str | None:
        """A digest of one column as it lies on disk: equal ones, read as the same variable, hold the same values.

        None: nobody can tell without reading it.
        """
        return None

    def exact(self, name: str) -> Any:
        """One column of arrow as it came, where what is read of it does not tell all: digits, or NaN; else None."""
        return None

    def __getitem__(self, name: str) -> Column:
        if name not in self.names:
            raise KeyError(name)
        column = np.asarray(self.read(name))
        column.flags.writeable = False
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names  # without reading it


class View(OnDemand):
    """Columns that are read on demand as other ones are, but for what a subclass says otherwise."""

    def __init__(self, columns: OnDemand) -> None:
        self.columns = columns

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.columns.records

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.columns.names

    @property
    def digest(self) -> str:
        """A digest of all that the columns hold."""
        return self.columns.digest

    def read(self, name: str) -> Column:
        """Read one column."""
        return self.columns.read(name)

    def exact(self, name: str) -> Any:
        """One column as it came."""
        return self.columns.exact(name)


class Held(View):
    """Columns that are read once and held, for as long as a part is worked on."""

    def __init__(self, columns: OnDemand) -> None:
        super().__init__(columns)
        self._held: dict[str, Column] = {}

    def read(self, name: str) -> Column:
        """Read one column, unless it was before."""
        if name not in self._held:
            self._held[name] = self.columns.read(name)
        return self._held[name]


class SelectedRecords(View):
    """Some records of columns that are read on demand: a run of them, or any in an order of their own."""

    def __init__(self, columns: OnDemand, rows: Rows | range) -> None:
        super().__init__(columns)
        self.rows = rows

    @property
    def records(self) -> int:
        """How many records were selected."""
        return len(self.rows)

    @property
    def digest(self) -> str:
        """A digest of the columns and of the records taken."""
        rows = repr(self.rows) if isinstance(self.rows, range) else np.ascontiguousarray(self.rows).tobytes()
        return digest_of(self.columns.digest, rows)

    def read(self, name: str) -> Column:
        """Read one column."""
        rows = slice(self.rows.start, self.rows.stop) if isinstance(self.rows, range) else self.rows
        taken: Column = self.columns.read(name)[rows].copy()  # the whole column is not held on to
        return taken

    def exact(self, name: str) -> Any:
        """One column as it came."""
        came = self.columns.exact(name)
        return None if came is None else came.take(pa.array(np.asarray(self.rows)))


class SelectedColumns(View):
    """Some of the columns that are read on demand."""

    def __init__(self, columns: OnDemand, names: tuple[str, ...]) -> None:
        super().__init__(columns)
        self._names = names

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that were chosen."""
        return self._names

    @property
    def digest(self) -> str:
        """A digest of all columns and of which were chosen."""
        return digest_of(self.columns.digest, *self._names)


class BorrowedColumn(View):
    """Columns that are read on demand, one of them from another table."""

    def __init__(self, columns: OnDemand, name: str, lender: Mapping[str, Column], place: Rows | None) -> None:
        """``place`` says where each record of the lender stands here; None: as it stands there."""
        super().__init__(columns)
        self.name, self.lender, self.place = name, lender, place

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, that of the borrowed one last."""
        return (*(name for name in self.columns.names if name != self.name), self.name)

    @property
    def digest(self) -> str:
        """A digest of both tables."""
        lent = self.lender.digest if isinstance(self.lender, OnDemand) else digest_of(self.lender[self.name].tobytes())
        place = b"" if self.place is None else np.ascontiguousarray(self.place).tobytes()
        return digest_of(self.columns.digest, lent, self.name, place)

    def read(self, name: str) -> Column:
        """Read one column."""
        return self.columns.read(name) if name != self.name else placed(self.lender[name], self.place)

    def exact(self, name: str) -> Any:
        """Nothing: a table that borrows is compared, not written."""
        return None


def placed(column: Column, place: Rows | None) -> Column:
    """Put the values of a column where each is told to stand; None: as they stand."""
    if place is None:
        return column
    moved = np.empty_like(column)
    moved[place] = column
    return moved


def in_one(found: Sequence[Any], values: Iterable[Column]) -> Any:
    """Put the pieces of a column as they came together; None: of no piece, or not without a loss, is more known.

    ``values`` are what is read of the pieces, which is all that floats without NaN tell.
    """
    kind = common_type({piece.type for piece in found if piece is not None})
    if kind is None:
        return None
    pieces = []
    for piece, read in zip(found, values, strict=True):
        if piece is None and not (pa.types.is_floating(kind) and read.dtype.kind == "f"):
            return None
        pieces.append((pa.array(read, from_pandas=True) if piece is None else piece).cast(kind))
    return pa.concat_arrays(pieces)


def digest_of(*parts: bytes | str) -> str:
    """Return a digest of several texts or bytes, one after the other."""
    digest = sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()
