"""One column between arrow and numpy: numbers and dates to float64 with NaN, all else to int32 codes with -1."""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import DataError, SchemaError
from sfumato.table import dates
from sfumato.table.schema import Kind, Variable

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


def common_type(kinds: Collection[pa.DataType]) -> pa.DataType | None:
    """Return the one type of several columns; of decimals one that holds all digits. None: there is none.

    >>> common_type({pa.decimal128(5, 2), pa.decimal64(10, 4)}), common_type({pa.float64(), pa.int64()})
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


# Decimals: read to the nearest float, written back with the digits they had, and what no float holds.

# Which values are codes that a schema declares to be missing: numbers are compared as numbers, text as text.

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
    for number in _as_decimals([code]):
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
    floats = [float(number) for code in codes for number in _as_decimals([code]) if _floats_hold(code, number)]
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
    for number in _as_decimals(codes):
        whole = number == number.to_integral_value()
        if pa.types.is_integer(kind) and not whole:
            continue
        try:
            held.append(pa.scalar(int(number) if whole else number, kind).as_py())
        except (pa.ArrowInvalid, OverflowError):
            continue
    return pa.array(held, kind)


def _as_decimals(codes: Iterable[object]) -> list[Decimal]:
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


# A column from arrow to numpy, and back.

RECURRING = 5  # times that a text stands among numbers, on average, before it is taken for a class


def read(name: str, column: Any, stated: Variable | None) -> tuple[Variable, NDArray[Any]]:
    """Read one arrow column as its stated kind, or as the kind of the stated rule."""
    column = _plain(column)
    if stated is not None and stated.kind_by_rule:
        stated = replace(stated, kind=inferred_kind(column), kind_by_rule=False)
    variable = stated or Variable(name, kind=inferred_kind(column), declared=False)
    if variable.missing:
        column = _without(column, variable)
    if variable.kind == "numeric":
        return variable, _numbers(name, column)
    if variable.kind == "date":
        return _dates(variable, column)
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        # Python takes both hours of a clock that goes back for equal; in UTC they differ
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    return _categories(variable, column, stated=stated is not None)


def fitted(variable: Variable, column: Any) -> Variable | None:
    """Return a variable as it fits another table's column: with new categories, or None where it is another kind."""
    try:
        return read(variable.name, column, variable)[0]
    except DataError:
        if variable.kind == "numeric" and _slipped(_plain(column)):
            raise  # a slip in some cells, not another kind of variable
        if variable.kind != "nominal":
            return None
    try:
        found = read(variable.name, column, replace(variable, categories=()))[0].categories
    except DataError:
        return None
    known = variable.categories
    try:
        return replace(variable, categories=known + tuple(value for value in found if value not in known))
    except SchemaError:  # text beside numbers
        return None


def _slipped(column: Any) -> bool:
    """Tell whether a column that should be numbers is so but for slips; a text that recurs is a class such as 90+."""
    if not pa.types.is_string(column.type):
        return bool(pa.types.is_floating(column.type))
    numbers = pc.match_substring_regex(column, r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$")
    odd = column.filter(pc.invert(numbers)).drop_null()
    mostly = 2 * len(odd) <= len(column) - column.null_count
    return bool(mostly and len(odd) < RECURRING * len(pc.unique(odd)))


def inferred_kind(column: Any) -> Kind:
    """Tell the kind of a column by its type alone."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return "ordinal" if kind.ordered else "nominal"
    if pa.types.is_integer(kind):
        bounds = pc.min_max(column).as_py()
        wide = bounds["min"] is not None and (bounds["max"] > EXACT or bounds["min"] < -EXACT)
        return "nominal" if wide else "numeric"
    if dates.is_moment(kind):
        return "nominal" if dates.to_days(column) is None else "date"
    if pa.types.is_decimal(kind) and are_wide(column):
        return "nominal"
    numeric = pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    return "numeric" if numeric else "nominal"


def write(variable: Variable, column: NDArray[Any], *, whole: bool = False, moment: Any = None) -> Any:
    """Return a column as arrow; numbers become integers when they came as such and still are whole.

    Dates that came as text go back as text, others as the type of ``moment`` or as dates.
    """
    if variable.kind == "date":
        return dates.written(column, variable.format) if variable.format else dates.from_days(column, moment)
    if variable.kind == "numeric":
        missing = np.isnan(column)
        present = column[~missing]
        if whole and np.array_equal(present, np.round(present)) and (np.abs(present) <= EXACT).all():
            return pa.array(np.where(missing, 0, column).astype(np.int64), mask=missing)
        return pa.array(column, mask=missing)
    categories = _array(variable)
    indices = pa.array(column, mask=column < 0)
    if variable.kind == "ordinal":
        return pa.DictionaryArray.from_arrays(indices, categories, ordered=True)
    zoned = pa.types.is_timestamp(categories.type) and categories.type.tz is not None and moment is not None
    return categories.cast(moment).take(indices) if zoned else categories.take(indices)


def _array(variable: Variable) -> Any:
    categories: list[Any] = list(variable.categories)
    if categories and hasattr(categories[0], "asm8"):  # pandas timestamps and durations, which may hold nanoseconds
        zone = getattr(categories[0], "tz", None)
        duration = not hasattr(categories[0], "year")
        kind = pa.duration("ns") if duration else pa.timestamp("ns", tz=None if zone is None else str(zone))
        return pa.array([category.value for category in categories], pa.int64()).cast(kind)
    try:
        return pa.array(categories)
    except OverflowError:
        return pa.array(categories, pa.uint64())


def _plain(column: Any) -> Any:
    """Return one chunk, whatever the frame's chunks and text flavours were."""
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    if pa.types.is_dictionary(column.type) and column.dictionary.null_count:  # missing as a category of its own
        kept = column.dictionary.drop_null()
        indices = pc.index_in(column.dictionary_decode(), value_set=kept)
        column = pa.DictionaryArray.from_arrays(indices, kept, ordered=column.type.ordered)
    if pa.types.is_floating(column.type) and pc.any(undefined := pc.is_nan(column)).as_py():
        column = pc.if_else(undefined, pa.scalar(None, column.type), column)
    return computable(column)


def _without(column: Any, variable: Variable) -> Any:
    values = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    if variable.kind == "date" and dates.is_moment(values.type):  # compared as dates when they are read as such
        return column
    numeric = variable.kind == "numeric"
    if pa.types.is_dictionary(column.type):  # the order of the other categories stays
        codes = declared(column.dictionary, variable.missing, numeric=numeric)
        kept = column.dictionary.filter(pc.invert(codes))
        return pa.DictionaryArray.from_arrays(pc.index_in(values, value_set=kept), kept, ordered=column.type.ordered)
    codes = declared(values, variable.missing, numeric=numeric)
    return pc.if_else(codes, pa.scalar(None, values.type), values)


def _to_numpy(column: Any) -> NDArray[Any]:
    """Return numbers of arrow as they are, NaN for missing; its own way loads pandas, which a worker can do without."""
    return column.to_numpy(zero_copy_only=False) if column.null_count or not len(column) else np.from_dlpack(column)


def _numbers(name: str, column: Any) -> NDArray[np.float64]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type):
        column = _parsed(name, column)
    elif not pa.types.is_floating(column.type) and _is_wide(column):
        raise DataError(
            f"variable {name!r} holds whole numbers beyond 2^53, which lose digits as numbers; make it nominal"
        )
    try:
        exact = pa.types.is_decimal(column.type)
        values = to_floats(column) if exact else pc.cast(column, pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(f"variable {name!r} cannot be numeric: its values are of type {column.type}") from None
    numbers = np.asarray(_to_numpy(values), dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise DataError(
            f"variable {name!r} has {infinite.size} infinite value{'s' if infinite.size > 1 else ''} "
            f"(first in row {infinite[0] + 1}); replace by a number or by missing"
        )
    return numbers


def _is_wide(column: Any) -> bool:
    kind = column.type
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind)) and inferred_kind(column) != "numeric"


def more_than_read(column: Any, variable: Variable) -> Any:
    """Return a column as it came, without missing codes, if what is read of it does not tell all: digits, or NaN."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = column.type
    if pa.types.is_floating(kind):
        if not pc.any(pc.is_nan(column)).as_py() and (variable.quantitative or not _has_minus_zero(column)):
            return None
    elif not pa.types.is_decimal(kind):
        return None
    return _without(computable(column), variable) if variable.missing else column


def _has_minus_zero(column: Any) -> bool:
    values = _to_numpy(column)
    return bool((np.signbit(values) & (values == 0)).any())


def still_read_as(variable: Variable, column: Any, values: NDArray[Any]) -> bool:
    """Tell whether a column as it came is still what a variable's values say."""
    if len(column) != len(values):
        return False
    try:
        found = read(variable.name, column, variable)[1]
    except DataError:
        return False
    return found.dtype == values.dtype and np.array_equal(found, values, equal_nan=found.dtype.kind == "f")


def _dates(variable: Variable, column: Any) -> tuple[Variable, NDArray[np.float64]]:
    name = variable.name
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if variable.format and pa.types.is_integer(column.type):
        column = column.cast(pa.string())  # 20200131 of the format %Y%m%d
    if pa.types.is_string(column.type):
        days, form = dates.parsed(name, column, variable.format)
        return replace(variable, format=form), _without_days(variable, days)
    if pa.types.is_null(column.type):
        return variable, np.full(len(column), np.nan)
    if not dates.is_moment(column.type):
        raise DataError(
            f"variable {name!r} cannot be a date: its values are of type {column.type}; give dates, text such as "
            '1990-01-31, or the format of whole numbers such as 19900131: format = "%Y%m%d"'
        )
    found = dates.to_days(column)
    if found is None:
        raise DataError(
            f"variable {name!r} holds moments that a date cannot hold exactly: nanoseconds, microseconds before 1790 "
            "or after 2149, or of a time zone those of the hour that occurs twice when clocks go back; round them, "
            "turn them into UTC, or make it nominal"
        )
    return replace(variable, format=""), _without_days(variable, found)


def _without_days(variable: Variable, days: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make the dates that are declared missing codes missing, such as 9999-12-31."""
    codes = [day for code in variable.missing if (day := dates.day_of(code)) is not None]
    return np.where(np.isin(days, codes), np.nan, days) if codes else days


def _parsed(name: str, column: Any) -> Any:
    text = pc.utf8_trim_whitespace(column)
    try:
        return pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        pass
    odd = pc.invert(pc.match_substring_regex(text, NUMBER))
    row, count = pc.index(odd, True).as_py(), pc.sum(odd).as_py() or 0
    if row < 0:
        raise DataError(f"variable {name!r} is numeric, but holds text that is not a number")
    shown = column[row].as_py()
    others = f" (and {count - 1:,} more row{'s' if count > 2 else ''} the like)" if count > 1 else ""
    comma = "write its decimal commas as points, " if re.fullmatch(r"\s*[+-]?\d*,\d+\s*", shown) else ""
    raise DataError(
        f"variable {name!r} is numeric, but row {row + 1} holds the text {shown!r}{others}; "
        f"{comma}correct it, declare it as missing, or make the variable nominal"
    )


def _categories(variable: Variable, column: Any, *, stated: bool) -> tuple[Variable, NDArray[np.int32]]:
    if pa.types.is_decimal(column.type):
        column = pc.cast(column, pa.string())  # by their digits
    if pa.types.is_time64(column.type):
        column = _to_microseconds(variable.name, column)
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # zero and minus zero are one category
        whole = pc.cast(column, pa.int64(), safe=False)
        if pc.all(pc.equal(pc.cast(whole, pa.float64(), safe=False), column), skip_nulls=True).as_py() is not False:
            column = whole  # codes such as 1.0 and 2.0, floats only because some are missing
    ordered = pa.types.is_dictionary(column.type)
    encoded = column if ordered else pc.dictionary_encode(column)
    indices = encoded.indices.cast(pa.int32())
    raw = _to_numpy(indices.fill_null(-1) if indices.null_count else indices)
    if variable.categories:
        return variable, _placed(variable, encoded.dictionary.to_pylist(), raw)
    values = encoded.dictionary
    if ordered:
        return replace(variable, categories=tuple(values.to_pylist())), raw.copy()
    if variable.kind == "ordinal" and stated and pa.types.is_string(values.type) and len(values):
        shown = ", ".join(map(repr, values[:8].to_pylist()))
        raise SchemaError(
            f"variable {variable.name!r} is ordinal text, so its categories must be listed from lowest to highest; "
            f"it holds {shown}"
        )
    order = pc.sort_indices(values)
    recode = np.full(len(order) + 1, -1, dtype=np.int32)  # the last one is for missing values, coded -1
    recode[order.to_numpy()] = np.arange(len(order))
    return replace(variable, categories=tuple(values.take(order).to_pylist())), recode[raw]


def _to_microseconds(name: str, column: Any) -> Any:
    """Return times of day as Python holds them; finer ones, two of which may be the same to it, are refused."""
    try:
        return pc.cast(column, pa.time64("us"))
    except pa.ArrowInvalid:
        raise DataError(
            f"variable {name!r} is of type {column.type} and holds times finer than a microsecond, which no category "
            'can be; round them to microseconds (type time64("us")), or make them whole numbers or text'
        ) from None


def _placed(variable: Variable, found: list[Any], raw: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the codes under the categories that a schema states; 1 and "1" are taken for the same."""
    place = {str(category): position for position, category in enumerate(variable.categories)}
    place_exact = {category: position for position, category in enumerate(variable.categories)}
    targets = [place_exact.get(value, place.get(str(value))) for value in found]
    recode = np.array([*(-1 if target is None else target for target in targets), -1], dtype=np.int32)
    for position, (value, target) in enumerate(zip(found, targets, strict=True)):
        if target is None and (raw == position).any():  # a value that no record has may stand in a dictionary
            row = int(np.flatnonzero(raw == position)[0]) + 1
            shown = ", ".join(map(repr, variable.categories[:12])) + (", ..." if len(variable.categories) > 12 else "")
            raise DataError(
                f"variable {variable.name!r}: row {row} holds {value!r}, which is not among its categories "
                f"({shown}); add it to the schema or declare it as missing"
            )
    placed: NDArray[np.int32] = np.take(recode, raw)
    return placed


def whole_if_all(values: Any) -> Any:
    """Return an arrow column of floats as whole numbers if all are, up to where a float holds every one."""
    present = values.drop_null().to_numpy(zero_copy_only=False)
    whole = np.array_equal(present, np.round(present)) and (np.abs(present) <= EXACT).all()
    return values.cast(pa.int64()) if whole else values


def short(value: float) -> int | float:
    """Return a whole number as such, up to where a float holds every one.

    >>> short(3.0), short(2.5)
    (3, 2.5)
    """
    return int(value) if float(value).is_integer() and abs(value) <= EXACT else float(value)
