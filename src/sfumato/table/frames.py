"""Any frame in, the same kind of frame out: pandas, polars and pyarrow, through narwhals and arrow."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.table.columns import beyond_exact, from_floats
from sfumato.table.dates import is_moment
from sfumato.table.schema import Category, Kind, Schema, Variable, is_text

Family = Literal["spss", "stata", "sas"]
Moment = Literal["date", "datetime", "time"]
# the signs that https://owasp.org/www-community/attacks/CSV_Injection names, in both widths of East Asian type
COMPUTED = "^(?:[\t\r\n]| *[=+\\-@\uff1d\uff0b\uff0d\uff20])"
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


def computed_names(names: Sequence[str]) -> tuple[str, ...]:
    """Say which names of columns a spreadsheet would compute.

    >>> computed_names(["age", "=1+1"])
    ("a spreadsheet that opens a text file with the name '=1+1' computes it, which may run what it says: rename it",)
    """
    computed = ", ".join(repr(name) for name in names if re.match(COMPUTED, name))
    if not computed:
        return ()
    word, it = ("names", "them") if ", " in computed else ("name", "it")
    return (
        f"a spreadsheet that opens a text file with the {word} {computed} computes {it}, which may run what "
        f"{'they say' if it == 'them' else 'it says'}: rename {it}",
    )


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


# How a file held its table, kept so that a protected table goes out as the original came in.

FrameKind = Literal["pandas", "polars", "pyarrow"]


@dataclass(frozen=True)
class Origin:
    """What kind of frame or file a table came from, so that it can go back as the same kind."""

    kind: FrameKind = "pyarrow"
    whole: tuple[str, ...] = ()  # its columns of whole numbers
    native: Any = None  # its own column types by name: narwhals sees several of pandas as one
    moments: tuple[tuple[str, Any], ...] = ()  # of columns of dates, their arrow types by name
    exact: Mapping[str, Any] = field(default_factory=dict)  # columns as they came of which a float does not hold all
    index: Any = None  # pandas only: its row labels
    path: Path | None = None  # the file it was read from
    dialect: Dialect | None = None  # text files only: how it was written
    labelled: Labelled | None = None  # SPSS, Stata and SAS files only: what they say beyond their values

    def take(self, rows: NDArray[np.intp]) -> "Origin":
        """Return the origin of a table that has only these records."""
        return replace(
            self,
            exact={name: column.take(pa.array(rows)) for name, column in self.exact.items()},
            index=None,
            dialect=self.dialect.take(rows) if self.dialect else None,
            labelled=self.labelled.take(rows) if self.labelled else None,
        )

    def listing(self, categories: Mapping[str, Collection[object]]) -> "Origin":
        """Return the origin of a table whose column types list no other categories than these, by column."""
        native = dict(self.native or {})
        for name, kept in categories.items():
            dtype: Any = native.get(name)
            if type(dtype).__name__ == "CategoricalDtype":  # of pandas
                native[name] = type(dtype)([c for c in dtype.categories if c in kept], ordered=dtype.ordered)
            elif type(dtype).__name__ == "Enum":  # of polars
                native[name] = type(dtype)([c for c in dtype.categories if c in kept])
        return replace(self, native=native)


def to_arrow(frame: Any) -> tuple[pa.Table, Origin]:
    """Turn a supported frame into an arrow table and remember what it was."""
    import narwhals as nw  # which a process that only reads parts does without

    pandas = type(frame).__module__.startswith("pandas")
    odd = [label for label in getattr(frame, "columns", ()) if not isinstance(label, str)] if pandas else []
    if odd:
        raise DataError(
            f"column names must be text; got {odd[0]!r} (for pandas: frame.columns = frame.columns.map(str))"
        )
    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError:
        hint = "; call its collect() first" if hasattr(frame, "collect") else ""
        if hasattr(frame, "loaded"):  # a table in parts
            hint = ", which is not taken here; call its loaded() first if it fits into memory"
        raise DataError(
            f"expected a Microdata or a pandas, polars or pyarrow table; got {type(frame).__name__}{hint}"
        ) from None
    except (nw.exceptions.DuplicateError, ValueError) as error:
        raise DataError(f"the table has two columns of the same name: {error}") from None
    kind = wrapped.implementation.value
    if kind not in ("pandas", "polars", "pyarrow"):
        raise DataError(f"{kind} tables are not supported; turn it into pandas, polars or pyarrow first")
    names = list(wrapped.columns)
    unwritable = next((name for name in names if not is_text(name)), None)
    if unwritable is not None:
        raise DataError(f"no file can hold the column name {unwritable!r}, which has half of a surrogate pair")
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise DataError(f"the table has two columns of the same name: {', '.join(twice)}")
    arrays = [_arrow_column(wrapped, name) for name in names]
    whole = tuple(name for name, dtype in wrapped.schema.items() if dtype.is_integer())
    native = dict(zip(names, _native_types(frame, kind), strict=True))
    moments = tuple((name, array.type) for name, array in zip(names, arrays, strict=True) if is_moment(array.type))
    index = frame.index if kind == "pandas" else None
    return pa.table(arrays, names=names), Origin(kind, whole, native, moments, index=index)


def _native_types(frame: Any, kind: str) -> list[Any]:
    if kind == "pyarrow":
        return list(frame.schema.types)
    return list(frame.dtypes)


def _arrow_column(frame: Any, name: str) -> Any:
    import narwhals as nw

    column = frame[name]
    try:
        array = column.to_arrow()
        if pa.types.is_binary_view(array.type):
            array = array.cast(pa.binary())
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            array.validate(full=True)
    except UnicodeError as error:
        raise DataError(f"variable {name!r} holds text that no file can hold ({error}); correct it") from None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(
            f"variable {name!r} mixes values of different types ({error}); make it all text or all numbers"
        ) from None
    except pa.ArrowNotImplementedError as error:
        raise DataError(f"variable {name!r} cannot be read ({error}); turn it into numbers or text") from None
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    foreign = isinstance(kind, pa.BaseExtensionType) or pa.types.is_nested(kind) or pa.types.is_interval(kind)
    if foreign or (column.dtype == nw.Object and kind == pa.binary(8)):  # polars hands over the objects' addresses
        raise DataError(f"variable {name!r} holds values of type {kind}, not numbers, text or dates; turn it into text")
    return array


def from_arrow(table: pa.Table, origin: Origin) -> Any:
    """Turn an arrow table into the kind of frame it came from, with its column types where nothing is lost by it."""
    known = origin.native or {}
    if origin.kind == "pyarrow":
        columns = dict(zip(table.column_names, table.columns, strict=True))
        changed = {n: _arrow_back(c, known[n]) for n, c in columns.items() if n in known and c.type != known[n]}
        return pa.table({**columns, **changed}) if changed else table
    try:
        return _polars(table, known) if origin.kind == "polars" else _pandas(table, known, origin.index)
    except ModuleNotFoundError:
        raise DataError(f"{origin.kind} is not installed: pip install sfumato[{origin.kind}]") from None


def _arrow_back(column: Any, kind: pa.DataType) -> Any:
    """Return a column as its old type, or as it is where a value would change (shorter floats may round)."""
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), kind)])
    if _is_number(column.type) and not _is_number(kind):  # text that a schema says are numbers stays numbers
        return column
    if is_moment(kind) and not is_moment(column.type):  # a class such as 1990 is no date
        return column
    try:
        if pa.types.is_decimal(kind) and pa.types.is_floating(column.type):
            if beyond_exact(column):  # whole numbers of which the last digits are made up would name something
                return column
            return from_floats(column, kind)
        back = _arrow_cast(column, kind)
        rounded = pa.types.is_floating(column.type) and pa.types.is_floating(kind)
        same = rounded or _plain_values(back).cast(_plain_values(column).type).equals(_plain_values(column))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return column
    return back if same else column


def _is_number(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _arrow_cast(column: Any, kind: pa.DataType) -> Any:
    if not pa.types.is_dictionary(kind):
        return _plain_values(column).cast(kind)
    chunks = column.combine_chunks() if pa.types.is_dictionary(column.type) else _encoded(column)
    chunk = chunks.chunk(0) if isinstance(chunks, pa.ChunkedArray) else chunks
    return pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(
                chunk.indices.cast(kind.index_type), chunk.dictionary.cast(kind.value_type), ordered=kind.ordered
            )
        ]
    )


def _encoded(column: Any) -> Any:
    return column.combine_chunks().dictionary_encode()


def _plain_values(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _polars(table: pa.Table, known: dict[str, Any]) -> Any:
    import polars as pl

    frame: Any = pl.from_arrow(table)
    restored = []
    for column in frame.get_columns():
        dtype = known.get(column.name, column.dtype)
        if column.null_count() == len(column):
            restored.append(pl.Series(column.name, [None] * len(column), dtype=dtype))
            continue
        if column.dtype == dtype or (column.dtype.is_numeric() and not dtype.is_numeric()):
            continue
        if dtype.is_temporal() and not column.dtype.is_temporal():  # a class such as 1990 is no date
            continue
        try:
            back = column.cast(dtype)
            rounded = column.dtype.is_float() and dtype.is_float()
            if rounded or _spelled(back).cast(_spelled(column).dtype).equals(_spelled(column), null_equal=True):
                restored.append(back)
        except pl.exceptions.PolarsError:
            continue  # the values are no longer of that type
    return frame.with_columns(restored)


def _spelled(column: Any) -> Any:
    """Return polars categories as their text, whatever their codes."""
    import polars as pl

    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column


def _pandas(table: pa.Table, known: dict[str, Any], index: Any) -> Any:
    import pandas as pd

    # whole numbers with gaps go through pandas' nullable type: as floats they would lose digits
    nullable = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    frame = table.to_pandas(types_mapper=nullable.get)
    for name in frame.columns:
        column: Any = frame[name]
        dtype = known.get(name)
        if isinstance(dtype, pd.ArrowDtype):  # columns of arrow inside pandas
            back = _arrow_back(table[name], dtype.pyarrow_dtype)
            if back.type == dtype.pyarrow_dtype:
                frame[name] = pd.arrays.ArrowExtensionArray(back)
                continue
        if column.dtype in nullable.values() and not column.hasnans:
            column = column.astype(column.dtype.numpy_dtype)
        frame[name] = _pandas_back(column, known[name]) if name in known else column
    if index is not None and len(index) == len(frame):
        frame.index = index
    return frame


def _pandas_back(column: Any, dtype: Any) -> Any:
    from pandas.api.types import is_float_dtype, is_numeric_dtype

    if column.dtype == dtype:
        return column
    if not column.notna().any():
        try:
            return type(column)([None] * len(column), index=column.index, dtype=dtype)
        except (TypeError, ValueError):  # a type without missing values
            return column
    if is_numeric_dtype(column) and dtype.name in ("str", "string"):
        return column
    if dtype.kind in "mM" and column.dtype.kind not in "mM":  # a class such as 1990 is no date
        return column
    if hasattr(dtype, "categories") and not column.dropna().isin(dtype.categories).all():
        return column  # pandas would make other values missing
    try:
        back = column.astype(dtype)
        if dtype.kind == "O" and dtype.name == "object":
            return back.where(back.notna(), None)
        present = column.notna()
        rounded = is_float_dtype(column.dtype) and is_float_dtype(dtype)
        same = rounded or back[present].astype(column.dtype).equals(column[present])
        same = same and back.notna().equals(present)
    except (TypeError, ValueError, OverflowError, pa.ArrowException):  # the values are no longer of that type
        return column
    return back if same else column
