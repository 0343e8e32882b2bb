"""One variable as an SPSS, Stata or SAS file holds it: numbers or text, with labels and missing codes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.decimals import EXACT
from sfumato.data.declared_missing import as_values
from sfumato.data.file_form import Family, Labelled, LabelledForm, Moment
from sfumato.data.formats.labelled.dates import from_dates, from_days, moment_in, moment_of, usual_format
from sfumato.data.formats.labelled.missing_codes import Range, declare, is_letter, letter, put_back
from sfumato.data.formats.labelled.stored import LARGEST_INT, SMALLEST_INT, Floats, Losses, Stored, all_whole
from sfumato.data.schema import Category, Variable

_MEASURES = {"numeric": "scale", "ordinal": "ordinal", "nominal": "nominal", "date": "scale"}


def stored(
    variable: Variable,
    column: NDArray[Any],
    family: Family,
    before: Labelled | None,
    losses: Losses,
    *,
    follows: bool,
    moments: pa.DataType | None = None,
) -> Stored:
    """Return a variable as a file of this family holds it.

    ``before`` is what is kept of the file the table was read from. ``follows`` says that the records are those of that
    file, so that cells which are still missing may have their codes again. ``moments`` is the type of a column of dates
    in the frame the table came from.
    """
    form = before.forms.get(variable.name) if before else None
    same = form if before and before.family == family else None
    if same is not None:  # a recoding need not know of missing codes
        codes = dict.fromkeys((*variable.missing, *same.codes))
        variable = replace(variable, missing=tuple(codes))
    if variable.kind == "date":
        result = _dates(variable, column, family, form, moments)
        if getattr(moments, "tz", None):
            losses.add(
                "the clock of a time zone is written without the zone, which the format does not have", variable.name
            )
    else:
        result = _values(variable, column, family, form, losses)
    result.label = variable.label
    if before is not None and form is not None and same is None and _dates_as_numbers(before.family, form):
        losses.add("dates that were read as numbers stay numbers of the file read", variable.name)
    _dress(result, variable, family, same)
    if family == "spss":
        declare(result, variable, form, losses)
    cells = before.cells_of(variable.name) if before else None
    if cells is not None:
        put_back(result, family, cells, losses, follows=follows)
    _keep_labels(result, family, losses)
    return result


def _dates_as_numbers(family: Family, form: LabelledForm) -> bool:
    """Tell whether a column had the format of a date, but was read as numbers."""
    return _was_number(form) and moment_of(family, form.format) is not None


def _dress(result: Stored, variable: Variable, family: Family, same: LabelledForm | None) -> None:
    """Give a variable the format, width, measurement level and words of the file read, where they still fit."""
    if same is not None and same.text == result.text:
        result.labels |= {value: word for value, word in same.words if value not in result.labels}
        result.display, result.width = same.display, same.width if same.text else 0
    if family == "spss":
        unchanged = same is not None and same.kind == variable.kind and not result.numbered
        measure = same.measure if same is not None and unchanged else _MEASURES[variable.kind]
        result.measure = measure if measure in _MEASURES.values() else "unknown"
    result.format = _format(result, family, same)


def _format(result: Stored, family: Family, same: LabelledForm | None) -> str:
    """Return the format of the file read where it still fits, or else a usual one."""
    if same is not None and (same.text, same.moment) == (result.text, result.moment) and not result.numbered:
        return same.format
    if result.moment:
        return usual_format(family, result.moment)
    if family == "spss" and not result.text:
        return "F8.0" if all_whole(result.values) else "F8.2"
    return ""


def _values(
    variable: Variable, column: NDArray[Any], family: Family, form: LabelledForm | None, losses: Losses
) -> Stored:
    """Return a variable's values as numbers or text, by what its categories are."""
    categories = variable.categories
    if variable.kind == "numeric":
        return _numbers(variable, column, whole=form is not None and form.whole)
    moment = moment_in(categories)
    if moment:
        return _moments(variable, column, family, moment)
    was_number = _was_number(form)
    if not categories and form is not None and form.text:
        return _texts(variable, column)
    if all(_is_number(category) for category in categories):
        numbers = _spread(np.array(categories, np.float64), column)
        return _numbers(variable, numbers, whole=form is None or form.whole or not was_number)
    if all(type(category) is bool for category in categories):
        return _truths(variable, column)
    if not all(isinstance(category, str) for category in categories):
        losses.add("values of a type the format does not have are written as text", variable.name)
    elif variable.kind == "ordinal" or was_number:
        return _numbered(variable, column, form)
    return _texts(variable, column)


def _was_number(form: LabelledForm | None) -> bool:
    """Tell whether a variable was a plain number in the file read."""
    return form is not None and not form.text and form.moment is None


def _is_number(category: Category) -> bool:
    """Tell whether a category is a number that a float holds exactly."""
    return isinstance(category, int | float) and type(category) is not bool and abs(category) <= EXACT


def _numbers(variable: Variable, values: Floats, *, whole: bool) -> Stored:
    return Stored(variable.name, np.array(values, np.float64), whole=whole, labels=dict(variable.labels))


def _moments(variable: Variable, column: NDArray[Any], family: Family, moment: Moment) -> Stored:
    return Stored(variable.name, _spread(from_dates(family, moment, variable.categories), column), moment=moment)


def _dates(
    variable: Variable, days: Floats, family: Family, form: LabelledForm | None, moments: pa.DataType | None
) -> Stored:
    """Return dates as the numbers of a file: moments if they were such, or if one has a time of day."""
    came = form.moment == "datetime" if form else moments is not None and pa.types.is_timestamp(moments)
    moment: Moment = "datetime" if came or not all_whole(days) else "date"
    return Stored(variable.name, from_days(family, moment, days), moment=moment, labels=dict(variable.labels))


def _truths(variable: Variable, column: NDArray[Any]) -> Stored:
    """Return truth values as 0 and 1, with labels that say which is which."""
    numbers = _spread(np.array(variable.categories, np.float64), column)
    labels = {int(bool(category)): variable.spelled(category) for category in variable.categories}
    return Stored(variable.name, numbers, whole=True, labels=labels)


def _texts(variable: Variable, column: NDArray[Any]) -> Stored:
    texts = np.array([*(str(category) for category in variable.categories), None], dtype=object)
    labels = {str(value): label for value, label in variable.labels}
    return Stored(variable.name, texts[column], text=True, labels=labels)


def _numbered(variable: Variable, column: NDArray[Any], form: LabelledForm | None) -> Stored:
    """Give categories that are words the codes 1, 2, ... in their order, and the words as labels."""
    taken = as_values(variable.missing, text=False)
    codes = _free_codes(len(variable.categories), taken, form.ranges if form else ())
    labels: dict[Category, str] = dict(zip(codes, map(variable.spelled, variable.categories), strict=True))
    labels |= {value: label for value, label in variable.labels if value in variable.missing}
    numbers = _spread(np.array(codes, np.float64), column)
    return Stored(variable.name, numbers, whole=True, numbered=True, labels=labels)


def _free_codes(count: int, taken: tuple[Category, ...], ranges: tuple[Range, ...]) -> list[int]:
    """Return codes from 1 on that are not declared missing."""
    codes: list[int] = []
    code = 1
    while len(codes) < count:
        above = max((high for low, high in ranges if low <= code <= high), default=None)
        if above is None:
            codes += [] if code in taken else [code]
            code += 1
        elif above < LARGEST_INT:
            code = int(above) + 1
        else:
            ranges = ()  # nothing is left above; that declaration will have to go
    return codes


def _spread(values: Floats, codes: NDArray[Any]) -> Floats:
    """Return the value of each record's code; NaN for missing."""
    return np.asarray(np.append(values, np.nan)[codes], dtype=np.float64)


def _keep_labels(result: Stored, family: Family, losses: Losses) -> None:
    """Leave out the labels that the format cannot hold."""
    if not result.labels:
        return
    if family == "sas":
        losses.add("a SAS transport file holds no value labels", result.name)
        result.labels = {}
        return
    can = _spss_label if family == "spss" else _stata_label
    kept: dict[Any, str] = {}
    for value, label in result.labels.items():
        code = can(result, value)
        if code is not None:
            kept[code] = label
    if len(kept) < len(result.labels):
        losses.add("labels of values the format cannot label are left out", result.name)
    result.labels = kept


def _spss_label(result: Stored, value: Any) -> Any:
    """Return a value as SPSS labels it, or None where it cannot."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if number != result.text else None


def _stata_label(result: Stored, value: Any) -> Any:
    """Return a value as Stata labels it, or None where it cannot: whole numbers and letters of numeric variables."""
    if result.text or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if float(value).is_integer() and SMALLEST_INT <= value <= LARGEST_INT else None
    return letter(value) if is_letter(value) else None
