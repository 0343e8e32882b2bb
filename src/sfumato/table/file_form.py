"""How a file held its table, kept so that a protected table goes out as the original came in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.table.schema import Category, Kind, Schema, Variable

Family = Literal["spss", "stata", "sas"]
Moment = Literal["date", "datetime", "time"]
_ROW_NAMES = {b"sfumato:holds": b"row names"}  # of a column that has no name in its file


class RowNames(str):
    """The name given to a first column that has none: it holds the names of the rows."""

    __slots__ = ()


def with_row_names(names: list[str]) -> list[str]:
    """Return a header in which a first column without a name has one: R and pandas write the names of rows there.

    >>> with_row_names(["", "age"]), with_row_names(["", "row", "age"]), with_row_names(["age", ""])
    (['row', 'age'], ['row_name', 'row', 'age'], ['age', ''])
    """
    if len(names) < 2 or names[0]:
        return names
    free = (name for name in ("row", "row_name", *(f"row_{i}" for i in range(2, len(names) + 2))) if name not in names)
    return [RowNames(next(free)), *names[1:]]


def row_names_of(table: pa.Schema) -> str | None:
    """Return the column of an arrow table that holds the names of its rows, and had no name in its file."""
    return next((entry.name for entry in table if _ROW_NAMES.items() <= (entry.metadata or {}).items()), None)


def named_table(names: Sequence[str], columns: Sequence[Any]) -> pa.Table:
    """Return columns as a table that remembers which of them holds the names of the rows."""
    marked = [_ROW_NAMES if isinstance(name, RowNames) else None for name in names]
    held = zip(names, columns, marked, strict=True)
    return pa.table(list(columns), pa.schema([pa.field(str(name), x.type, metadata=mark) for name, x, mark in held]))


def stating_row_names(schema: Schema | None, name: str | None) -> tuple[Schema | None, tuple[str, ...]]:
    """Return a schema in which row names are an identifier, unless it says what they are; and a line that tells so."""
    if name is None:
        return schema, ()
    note = f"the first column has no name: it is taken for the names of the rows, and called {name!r}"
    schema = schema or Schema()
    if name in schema:
        return schema, (note,)
    row = Variable(name, role="identifier", kind_by_rule=True)
    note = f"{note}; its role is identifier, so no release holds it"
    return replace(schema, variables=(row, *schema.variables)), (note,)


@dataclass(frozen=True)
class TextForm:
    """How the cells of one column are written."""

    missing: str = ""
    decimals: int = 0  # the fewest decimals any number of the column was written with: 2 where 1.5 stands as 1.50
    quoted: bool = False


@dataclass(frozen=True)
class Dialect:
    """How a delimited text file is written: its delimiter, decimal sign, encoding, missing markers and quotes."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    byte_order_mark: bool = False
    newline: str = "\n"
    quoted_header: bool = False
    missing: str = ""  # for columns in which nothing was missing
    columns: Mapping[str, TextForm] = field(default_factory=dict)
    exact: Mapping[str, Any] = field(default_factory=dict)  # cells of numbers with more digits than a float holds

    def take(self, rows: NDArray[np.intp]) -> "Dialect":
        """Return how a table is written that has only these records."""
        return replace(self, exact={name: cells.take(pa.array(rows)) for name, cells in self.exact.items()})

    def form(self, name: str) -> TextForm:
        """Return how the cells of this column are written."""
        return self.columns.get(name, TextForm(missing=self.missing))


@dataclass(frozen=True)
class LabelledForm:
    """How one variable stands in a labelled file."""

    kind: Kind  # what the file says or the rule gives, before any schema
    text: bool = False
    whole: bool = False  # stored as whole numbers
    moment: Moment | None = None  # read as dates or times
    format: str = ""  # F8.2, %td, DATE9
    measure: str = "unknown"
    display: int = 0  # how many characters wide a column is shown
    width: int = 0  # bytes of a text variable
    ranges: tuple[tuple[float, float], ...] = ()  # ranges of missing values, such as LO THRU -1
    codes: tuple[Category, ...] = ()  # single missing codes
    words: tuple[tuple[Category, str], ...] = ()  # the labels of missing codes


@dataclass(frozen=True, eq=False)
class Cells:
    """The codes for missing values of one variable, cell by cell.

    ``place`` says for every record which of the codes stood there: -1 for a value, -2 for a missing value without code.
    """

    codes: tuple[Category, ...]
    place: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Labelled:
    """What is kept of a labelled file beside the table and its schema."""

    family: Family
    label: str = ""
    notes: tuple[str, ...] = ()
    compression: Literal["none", "rows", "zlib"] = "rows"  # SPSS
    version: int = 0  # the release of a Stata file, the version of a SAS transport file; 0 for the usual one
    table: str = ""  # the name of the table in a SAS file
    forms: Mapping[str, LabelledForm] = field(default_factory=dict)
    cells: Mapping[str, Cells] = field(default_factory=dict)
    rows: NDArray[np.intp] | None = None  # which records of the file the table has; None for all of them
    lost: tuple[str, ...] = ()  # what the file holds that cannot be written again

    def take(self, rows: NDArray[np.intp]) -> "Labelled":
        """Return what is kept for a table that has only these records."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def cells_of(self, name: str) -> Cells | None:
        """Return the codes of a variable's missing cells, for the records the table has."""
        cells = self.cells.get(name)
        if cells is None or self.rows is None:
            return cells
        return replace(cells, place=cells.place[self.rows])
