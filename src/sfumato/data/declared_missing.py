"""Which values are codes that a schema declares to be missing: numbers are compared as numbers, text as text."""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NUMBER = r"^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity|nan))$"


def declared(values: Any, codes: Iterable[object], *, numeric: bool) -> Any:
    """Tell of each value of an arrow column whether it is one of the codes.

    -9, -9.0 and 1e10 are the same number in whole numbers, floats and decimals. Text is compared as it stands, and as
    numbers too if the variable is ``numeric``.
    """
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return _is_in(values, _representable(codes, kind))
    if pa.types.is_floating(kind):
        return _float_is_in(values, codes)
    text = _is_in(_as_text(values), pa.array([str(code) for code in codes], pa.string()))
    if not numeric or not pa.types.is_string(kind):
        return text
    bare = pc.utf8_trim_whitespace(values)
    numbers = pc.if_else(pc.match_substring_regex(bare, NUMBER), bare, pa.scalar(None, pa.string()))
    return pc.or_(text, _float_is_in(pc.cast(numbers, pa.float64()), codes))


def as_values(codes: Iterable[object], *, text: bool) -> tuple[object, ...]:
    """Return codes as a column of text or of numbers holds them, each once; what is no number stays in numbers.

    >>> as_values(("99", 99.0, ".a", "-0.50"), text=False), as_values((9, "x"), text=True)
    ((99, '.a', -0.5), ('9', 'x'))
    """
    if text:
        return tuple(dict.fromkeys(str(code) for code in codes))
    return tuple(dict.fromkeys(_as_number(code) for code in codes))


def _as_number(code: object) -> object:
    for number in _numbers([code]):
        return int(number) if number == number.to_integral_value() else float(number)
    return code


def _as_text(values: Any) -> Any:
    try:
        return pc.cast(values, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # bytes, or a type that no text stands for
        return pa.nulls(len(values), pa.string())


def _is_in(values: Any, listed: Any) -> Any:
    return pc.is_in(values, value_set=listed, skip_nulls=True)


def _float_is_in(values: Any, codes: Iterable[object]) -> Any:
    """Compare floats; a code such as 0.1 is in shorter floats what they hold of it, and zero has no sign."""
    kind = values.type.to_pandas_dtype()
    floats = [float(number) for code in codes for number in _numbers([code]) if _floats_hold(code, number)]
    with np.errstate(over="ignore"):
        shorter = np.array(floats, dtype=np.float64).astype(kind).astype(np.float64)
    unsigned = pc.add(pc.cast(values, pa.float64()), 0.0)  # -0.0 + 0.0 is 0.0
    return _is_in(unsigned, pa.array(shorter[np.isfinite(shorter)] + 0.0))


def _floats_hold(code: object, number: Decimal) -> bool:
    """Tell whether a float may stand for a code: not for a whole number that it cannot hold."""
    return isinstance(code, float) or number != number.to_integral_value() or Decimal(float(number)) == number


def _representable(codes: Iterable[object], kind: pa.DataType) -> Any:
    """Return the codes that a column of whole numbers or decimals can hold."""
    held = []
    for number in _numbers(codes):
        whole = number == number.to_integral_value()
        if pa.types.is_integer(kind) and not whole:
            continue
        try:
            held.append(pa.scalar(int(number) if whole else number, kind).as_py())
        except (pa.ArrowInvalid, OverflowError):
            continue
    return pa.array(held, kind)


def _numbers(codes: Iterable[object]) -> list[Decimal]:
    """Return the codes that are numbers, in digits as they are written."""
    found = []
    for code in codes:
        if isinstance(code, bool) or not isinstance(code, int | float | str | Decimal):
            continue
        try:
            number = Decimal(str(code).strip())
        except InvalidOperation:
            continue
        if number.is_finite():
            found.append(number)
    return found
