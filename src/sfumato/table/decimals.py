"""Decimals of arrow: read to the nearest float, written back with the digits they had, and what no float holds."""

from collections.abc import Collection
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


def common(kinds: Collection[pa.DataType]) -> pa.DataType | None:
    """Return the one type of several columns; of decimals one that holds all digits. None: there is none.

    >>> common({pa.decimal128(5, 2), pa.decimal64(10, 4)}), common({pa.float64(), pa.int64()})
    (Decimal128Type(decimal128(10, 4)), None)
    """
    if len(kinds) <= 1:
        return next(iter(kinds), None)
    if not all(map(pa.types.is_decimal, kinds)):
        return None
    scale = max(kind.scale for kind in kinds)
    digits = scale + max(kind.precision - kind.scale for kind in kinds)
    if digits > 76:
        return None
    return pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(digits, scale)


def are_wide(column: Any) -> bool:
    """Tell whether decimals are whole numbers, some of them beyond 2^53: such numbers name something."""
    present = column.drop_null()
    if not beyond_exact(present):
        return False
    return column.type.scale <= 0 or bool(pc.all(pc.equal(pc.trunc(present), present)).as_py())


def beyond_exact(column: Any) -> bool:
    """Tell whether some numbers are beyond 2^53."""
    bounds = pc.min_max(column).as_py()
    return bounds["min"] is not None and bool(max(abs(bounds["min"]), abs(bounds["max"])) > EXACT)
