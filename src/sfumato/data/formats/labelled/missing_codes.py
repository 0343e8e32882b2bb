"""Codes for missing values: taken out of a variable when a file is read, put back when it is written."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.columns import short
from sfumato.data.declared_missing import as_values, declared
from sfumato.data.file_form import Cells, Family, LabelledForm
from sfumato.data.formats.labelled.stored import Losses, Stored
from sfumato.data.schema import Category, Variable

Floats = NDArray[np.float64]
Range = tuple[float, float]


@dataclass(frozen=True)
class Declared:
    """What a file declares missing in one variable: single codes and ranges of numbers."""

    codes: tuple[Category, ...]
    ranges: tuple[Range, ...]

    def __contains__(self, value: object) -> bool:
        number = isinstance(value, int | float)
        return value in self.codes or (number and any(low <= value <= high for low, high in self.ranges))  # type: ignore[operator]


def without_codes(numbers: Floats, marks: NDArray[np.uint8] | None, said: Declared) -> tuple[Floats, Cells | None]:
    """Make the declared codes of a numeric column missing, and keep which one stood where."""
    missing = np.isnan(numbers)
    coded = _are_codes(pa.array(numbers), said.codes, numeric=True)
    for low, high in said.ranges:
        coded |= (numbers >= low) & (numbers <= high)
    tagged = marks is not None and bool(marks.any())
    if not tagged and not coded.any():
        return numbers, None
    found, which = np.unique(numbers[coded], return_inverse=True)
    place = np.where(missing, -2, -1).astype(np.int32)
    place[coded] = which
    listed: list[Category] = [short(code) for code in found]
    if marks is not None:
        tags, which = np.unique(marks[marks > 0], return_inverse=True)
        place[marks > 0] = len(listed) + which
        listed += [f".{chr(tag)}" for tag in tags]
    return np.where(coded, np.nan, numbers), Cells(tuple(listed), place)


def text_without_codes(column: Any, codes: Iterable[Category], *, numeric: bool) -> tuple[Any, Cells | None]:
    """Make empty text and the declared codes missing, and keep which one stood where."""
    column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    coded = _are_codes(column, codes, numeric=numeric)
    if not coded.any():
        return column, None
    found = pc.dictionary_encode(column.filter(pa.array(coded)))
    place = np.where(column.is_null().to_numpy(zero_copy_only=False), -2, -1).astype(np.int32)
    place[coded] = found.indices.to_numpy()
    kept = pc.if_else(pa.array(coded), pa.scalar(None, pa.string()), column)
    return kept, Cells(tuple(found.dictionary.to_pylist()), place)


def _are_codes(column: Any, codes: Iterable[Category], *, numeric: bool) -> NDArray[np.bool_]:
    told: NDArray[np.bool_] = declared(column, codes, numeric=numeric).to_numpy(zero_copy_only=False)
    return told


def declare(result: Stored, variable: Variable, form: LabelledForm | None, losses: Losses) -> None:
    """Declare the missing codes and ranges that an SPSS file can: three codes, or a range and one code."""
    codes = as_values(variable.missing, text=result.text)
    if result.text:
        wanted = [code for code in codes if isinstance(code, str)]
        single = [code for code in wanted if 0 < len(code.encode()) <= 8]
        ranges: list[Range] = []
    else:
        wanted = [code for code in codes if type(code) in (int, float)]  # type: ignore[misc]
        single = list(wanted)
        ranges = list(form.ranges) if form and not form.text else []
    if _values_among(result, single, ranges):
        losses.add("values now fall among the declared missing codes, so these are no longer declared", variable.name)
        return
    room = 1 if ranges else 3
    if len(single) > room or len(single) < len(wanted):
        losses.add("more missing codes than SPSS can declare; the last ones are left out", variable.name)
    result.missing = [*single[:room], *ranges]


def _values_among(result: Stored, codes: list[Any], ranges: list[Range]) -> bool:
    """Tell whether a value is one of the codes, or in one of the ranges."""
    if result.text:
        return bool(codes) and bool(np.isin(result.values.astype(str), codes).any())
    inside = (((result.values >= low) & (result.values <= high)).any() for low, high in ranges)
    return bool(np.isin(result.values, codes).any()) or any(inside)


def put_back(result: Stored, family: Family, cells: Cells, losses: Losses, *, follows: bool) -> None:
    """Give cells that are still missing the codes they had, if the records are those of the file (``follows``)."""
    if not follows or (family == "sas" and not result.text):
        why = "the records are not those of the file read" if not follows else "the format has no codes for them"
        losses.add(f"missing values lose their codes, for {why}", result.name)
        return
    absent = result.absent()
    for place, code in enumerate(cells.codes):
        here = np.flatnonzero((cells.place == place) & absent)
        if not here.size:
            continue
        if family == "stata" and not result.text and is_letter(code):
            result.tags.update(dict.fromkeys(here.tolist(), letter(code)))
        elif family == "spss" and _is_declared(code, result.missing) and isinstance(code, str) == result.text:
            result.values[here] = code
        else:
            losses.add("missing values lose their codes, for the format cannot declare them", result.name)


def _is_declared(code: Category, declared: list[Any]) -> bool:
    codes = tuple(entry for entry in declared if not isinstance(entry, tuple))
    return code in Declared(codes, tuple(entry for entry in declared if isinstance(entry, tuple)))


def is_letter(code: Category) -> bool:
    """Tell whether a code is one of the special missing values of Stata and SAS, .a to .z.

    >>> is_letter(".a"), is_letter(".B"), is_letter("a"), is_letter(1)
    (True, True, False, False)
    """
    return isinstance(code, str) and len(code) == 2 and code[0] == "." and code[1].isascii() and code[1].isalpha()


def letter(code: Category) -> str:
    """Return the letter of such a code, as Stata writes it.

    >>> letter(".B")
    'b'
    """
    return str(code)[1:].lower()
