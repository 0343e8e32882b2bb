"""Any frame in, the same kind of frame out: pandas, polars and pyarrow, through narwhals and arrow."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import pyarrow as pa

from sfumato.data.dialect import Dialect
from sfumato.errors import DataError

FrameKind = Literal["pandas", "polars", "pyarrow"]


@dataclass(frozen=True)
class Origin:
    """What kind of frame or file a table came from, so that it can go back as the same kind."""

    kind: FrameKind = "pyarrow"
    dtypes: tuple[tuple[str, Any], ...] = ()
    native: Any = None  # pandas and pyarrow: its own column types
    index: Any = None  # pandas only: its row labels
    path: Path | None = None  # the file it was read from
    dialect: Dialect | None = None  # text files only: how it was written


def to_arrow(frame: Any) -> tuple[pa.Table, Origin]:
    """Turn a supported frame into an arrow table and remember what it was."""
    labels = getattr(frame, "columns", ())
    odd = [label for label in labels if type(frame).__module__.startswith("pandas") and not isinstance(label, str)]
    if odd:
        raise DataError(
            f"column names must be text; got {odd[0]!r} (for pandas: frame.columns = frame.columns.map(str))"
        )
    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise DataError(
            f"expected a Microdata or a pandas, polars or pyarrow table; got {type(frame).__name__}"
        ) from None
    except (nw.exceptions.DuplicateError, ValueError) as error:
        raise DataError(f"the table has two columns of the same name: {error}") from None
    kind = wrapped.implementation.value
    if kind not in ("pandas", "polars", "pyarrow"):
        raise DataError(f"{kind} tables are not supported; turn it into pandas, polars or pyarrow first")
    names = list(wrapped.columns)
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise DataError(f"the table has two columns of the same name: {', '.join(twice)}")
    arrays = [_arrow_column(wrapped, name) for name in names]
    dtypes = tuple(wrapped.schema.items())
    table = pa.table(arrays, names=names)
    if kind == "pandas":
        return table, Origin(kind, dtypes, native=dict(frame.dtypes), index=frame.index)
    if kind == "pyarrow":
        return table, Origin(kind, dtypes, native=dict(zip(names, frame.schema.types, strict=True)))
    return table, Origin(kind, dtypes)


def _arrow_column(frame: "nw.DataFrame[Any]", name: str) -> Any:
    try:
        return frame[name].to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(
            f"variable {name!r} mixes values of different types ({error}); make it all text or all numbers"
        ) from None


def from_arrow(table: pa.Table, origin: Origin) -> Any:
    """Turn an arrow table into the kind of frame it came from, with its column types where the values allow."""
    if origin.kind == "pyarrow":
        for place, (name, dtype) in enumerate(origin.dtypes):
            if _castable(table, name, dtype):
                table = table.set_column(place, name, _cast(table[name], origin.native[name]))
        return table
    try:
        frame = nw.from_arrow(table, backend=origin.kind)
    except ModuleNotFoundError:
        raise DataError(f"{origin.kind} is not installed: pip install sfumato[{origin.kind}]") from None
    kept = {name: dtype for name, dtype in origin.dtypes if name in frame.columns}
    if origin.kind != "pandas":
        return nw.to_native(
            frame.with_columns(
                nw.col(name).cast(dtype) for name, dtype in kept.items() if _castable(table, name, dtype)
            )
        )
    native = nw.to_native(frame)
    # pandas has several integer and text types that narwhals sees as one, so its own types are put back
    back = {
        name: origin.native[name]
        for name, dtype in kept.items()
        if _castable(table, name, dtype, nullable=hasattr(origin.native[name], "na_value"))
    }
    native = native.astype(back)
    if origin.index is not None and len(origin.index) == len(native):
        native.index = origin.index
    return native


def _cast(column: Any, kind: pa.DataType) -> Any:
    if pa.types.is_dictionary(kind) and pa.types.is_dictionary(column.type):
        column = column.combine_chunks()
        chunk = column if isinstance(column, pa.DictionaryArray) else column.chunk(0)
        return pa.DictionaryArray.from_arrays(
            chunk.indices.cast(kind.index_type), chunk.dictionary.cast(kind.value_type), ordered=kind.ordered
        )
    return column.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else column.cast(kind)


def _castable(table: pa.Table, name: str, dtype: Any, *, nullable: bool = True) -> bool:
    """Tell whether a column can take back its old type without losing anything."""
    kind = table.schema.field(name).type
    if dtype.is_integer():  # whole numbers are arrow integers here exactly when all of them are still whole
        return bool(pa.types.is_integer(kind)) and (nullable or table[name].null_count == 0)
    if dtype.is_float():
        return bool(pa.types.is_floating(kind))
    return not (pa.types.is_floating(kind) or pa.types.is_integer(kind))
