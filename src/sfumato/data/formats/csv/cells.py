"""The cells of a text column: which mark missing values, and whether all others are numbers."""

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.decimals import EXACT
from sfumato.errors import FileError

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", ".")


def without_markers(text: Any, missing: Sequence[str]) -> tuple[Any, str | None]:
    """Make the markers missing, and return the first one met."""
    bare = pc.utf8_trim_whitespace(text)
    hit = pc.is_in(bare, value_set=pa.array(sorted(set(missing)), pa.string()))
    first = pc.index(hit, True).as_py()
    if first < 0:
        return text, None
    return pc.if_else(hit, pa.scalar(None, pa.string()), text), bare[first].as_py()


def typed(text: Any, decimal: str, *, stated: bool = False) -> tuple[Any, int]:
    """Return a text column as whole numbers or decimals where every cell is one, and the fewest decimals written."""
    if text.null_count == len(text):
        return pa.nulls(len(text)), 0
    numbers = _numbers(text, decimal)
    if numbers is not None:
        return numbers, (_fewest_decimals(text, decimal) if pa.types.is_floating(numbers.type) else 0)
    if stated and decimal != ".":
        # a schema says numeric: the refusal that follows shall name a cell that is no number, not a decimal comma
        swapped = pc.replace_substring_regex(text, r"^(\s*[+-]?\d*),(\d+\s*)$", r"\1.\2")
        return swapped, 0
    return text, 0


def _numbers(text: Any, decimal: str) -> Any:
    """Return the numbers of a column in which every cell is one, else None."""
    bare = pc.utf8_trim_whitespace(text)
    if decimal != ".":
        if any_true(pc.match_substring(bare, ".")):
            return None
        bare = pc.replace_substring(bare, decimal, ".")
    if any_true(pc.match_substring_regex(bare, "^[+-]?0[0-9xX]")):  # 00123 is a code, and 0x1F no number of a survey
        return None
    whole = _cast(bare, pa.int64())
    if whole is not None:
        return whole
    numbers = _cast(bare, pa.float64())
    if numbers is None:
        return None
    if any_true(pc.is_nan(numbers)):  # "nan" that nobody declared missing
        return None
    values = np.abs(numbers.drop_null().to_numpy())
    if values[np.isfinite(values)].max(initial=0) >= EXACT and _names_something(bare, values):
        return None
    return numbers


def _names_something(bare: Any, values: Any) -> bool:
    """Tell whether a cell is a whole number beyond 2^53, digit by digit: no float holds these, their text does.

    One that happens to be a float, such as 1 with 25 zeros, is no exception: it would come back as 1e+25.
    """
    whole = pc.match_substring_regex(bare.drop_null(), r"^[+-]?\d+$").to_numpy(zero_copy_only=False)
    return bool((values[whole] > EXACT).any())


def with_more_digits(text: Any, numbers: Any, decimal: str) -> bool:
    """Tell whether a cell of a column of numbers has more digits than a float holds."""
    bare = pc.utf8_trim_whitespace(text)
    return _loses_digits(pc.replace_substring(bare, decimal, "."), numbers, r"\d.*")


def _loses_digits(bare: Any, numbers: Any, pattern: str) -> bool:
    """Tell whether a number so written is not the float that it is read as; up to 15 digits always are."""
    long = pc.and_(pc.greater(pc.utf8_length(bare), 15), pc.match_substring_regex(bare, pattern))
    cells, floats = bare.filter(long).to_pylist(), numbers.filter(long).to_pylist()
    return any(Decimal(cell) != Decimal(repr(number)) for cell, number in zip(cells, floats, strict=True))


def _cast(text: Any, kind: pa.DataType) -> Any:
    """Return the cells as numbers, or None if one of them is none."""
    try:
        pc.cast(text[:1000], kind)  # a column that is no such thing fails here, which takes less time
        return pc.cast(text, kind)
    except pa.ArrowInvalid:
        return None


def _fewest_decimals(text: Any, decimal: str) -> int:
    bare = pc.utf8_trim_whitespace(text)
    if any_true(pc.match_substring_regex(bare, "[eE]")):
        return 0
    place = pc.find_substring(bare, decimal)
    behind = pc.subtract(pc.subtract(pc.binary_length(bare), place), 1)
    return int(pc.min(pc.if_else(pc.less(place, 0), 0, behind)).as_py())


def detect_decimal(path: Path, texts: dict[str, Any], delimiter: str, numeric: frozenset[str]) -> str:
    """Tell the file's one decimal sign; where the cells leave it open, ask instead of guessing."""
    if delimiter == ",":
        return "."
    commas = {name: text for name, text in texts.items() if has_decimals(text, ",", stated=name in numeric)}
    if not commas:
        return "."
    points = [name for name, text in texts.items() if has_decimals(text, ".", stated=name in numeric)]
    if points:
        raise FileError(
            f"{path}: variable {next(iter(commas))!r} has decimal commas and variable {points[0]!r} decimal points; "
            "say decimal=',' or decimal='.' (the other variables are then text)"
        )
    thousands = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"
    if all(_all_commas_match(text, thousands) for text in commas.values()):
        name, text = next(iter(commas.items()))
        example = text[pc.index(pc.match_substring(text, ","), True).as_py()].as_py().strip()
        raise FileError(
            f"{path}: {example!r} in variable {name!r} may be {example.replace(',', '.')} or {example.replace(',', '')}"
            "; say decimal=',' for the first, remove the thousands separators for the second"
        )
    return ","


def has_decimals(text: Any, decimal: str, *, stated: bool) -> bool:
    """Tell whether a column is of numbers, some with this decimal sign; one number will do where numbers are stated."""
    if text.null_count == len(text) or not any_true(pc.match_substring(text, decimal)):
        return False
    if stated:
        return any_true(pc.match_substring_regex(text, rf"^\s*[+-]?\d*{re.escape(decimal)}\d+\s*$"))
    return _numbers(text, decimal) is not None


def _all_commas_match(text: Any, pattern: str) -> bool:
    with_comma = text.filter(pc.match_substring(text, ","))
    return bool(pc.all(pc.match_substring_regex(with_comma, pattern)).as_py())


def any_true(mask: Any) -> bool:
    """Tell whether one of many answers is yes."""
    return bool(pc.any(mask).as_py())
