"""Decimals of arrow: read to the nearest float, written back with the digits they had, and what no float holds."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

EXACT = 2**53  # whole numbers up to here have an exact float64


def computable(column: Any) -> Any:
    """Return values as a type that arrow computes with: short decimals as decimal128, floats of 16 bits as float32."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        values = computable(column.dictionary)
        same = values.type == kind.value_type
        return column if same else pa.DictionaryArray.from_arrays(column.indices, values, ordered=kind.ordered)
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pc.cast(column, pa.decimal128(kind.precision, kind.scale))
    return pc.cast(column, pa.float32()) if pa.types.is_float16(kind) else column


def to_floats(column: Any) -> Any:
    """Return decimals as the nearest floats; arrow's own cast is one unit off for every seventh of two decimals."""
    return pc.cast(pc.cast(column, pa.string()), pa.float64())


def from_floats(column: Any, kind: pa.DataType) -> Any:
    """Return floats as decimals of the fewest digits; one that needs more than the type has is refused by arrow."""
    short = pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind)
    exact = pc.cast(pc.cast(column, pa.string()), pa.decimal128(kind.precision, kind.scale) if short else kind)
    return pc.cast(exact, kind)


def are_wide(column: Any) -> bool:
    """Tell whether decimals are whole numbers, some of them beyond 2^53: such numbers name something."""
    present = column.drop_null()
    if not len(present):
        return False
    bounds = pc.min_max(present).as_py()
    if max(abs(bounds["min"]), abs(bounds["max"])) <= EXACT:
        return False
    return column.type.scale <= 0 or bool(pc.all(pc.equal(pc.trunc(present), present)).as_py())
