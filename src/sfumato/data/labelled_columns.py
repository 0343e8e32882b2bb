"""One variable as an SPSS, Stata or SAS file holds it: numbers or text, with labels and missing codes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.labelled import Cells, Family, Form, Labelled, Moment
from sfumato.data.labelled_dates import from_dates, moment_in, moment_of, usual_format
from sfumato.data.schema import Category, Variable

EXACT = 2**53
Floats = NDArray[np.float64]
_SMALLEST_INT, _LARGEST_INT = -2_147_483_647, 2_147_483_620  # what a whole number of Stata may be
_MEASURES = {"numeric": "scale", "ordinal": "ordinal", "nominal": "nominal"}


@dataclass(eq=False)
class Stored:
    """A variable ready to be written; ``values`` are floats with NaN or texts with None."""

    name: str
    values: NDArray[Any]
    text: bool = False
    whole: bool = False
    numbered: bool = False  # words under new codes
    moment: Moment | None = None
    label: str = ""
    labels: dict[Any, str] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)  # SPSS: single codes, and ranges as (low, high)
    tags: dict[int, str] = field(default_factory=dict)  # Stata: record to letter
    format: str = ""
    measure: str = "unknown"
    display: int = 0
    width: int = 0


class Losses:
    """What a format cannot hold, with the variables it concerns."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}

    def add(self, what: str, name: str = "") -> None:
        """Note a loss, of a variable or of the file."""
        names = self.found.setdefault(what, [])
        if name and name not in names:
            names.append(name)

    def notes(self) -> tuple[str, ...]:
        """Say each loss in a sentence."""
        return tuple(f"{what}: {', '.join(names)}" if names else what for what, names in self.found.items())


def stored(
    variable: Variable, column: NDArray[Any], family: Family, before: Labelled | None, follows: bool, losses: Losses
) -> Stored:
    """Return a variable as a file of this family holds it.

    ``follows`` says that the records are those of the file the table was read from, so that cells which are still
    missing may have their codes again.
    """
    form = before.forms.get(variable.name) if before else None
    same = form if before and before.family == family else None
    if same is not None:  # a recoding need not know of missing codes
        codes = dict.fromkeys((*variable.missing, *same.codes))
        variable = replace(variable, missing=tuple(codes))
    result = _values(variable, column, family, form, losses)
    if (
        before
        and form
        and same is None
        and not form.text
        and form.moment is None
        and moment_of(before.family, form.format)
    ):
        losses.add("dates that were read as numbers stay numbers of the file read", variable.name)
    result.label = variable.label
    if same is not None and same.text == result.text:
        result.labels |= {value: word for value, word in same.words if value not in result.labels}
    if family == "spss":
        unchanged = same is not None and same.kind == variable.kind and not result.numbered
        result.measure = same.measure if same is not None and unchanged else _MEASURES[variable.kind]
        result.measure = result.measure if result.measure in _MEASURES.values() else "unknown"
    if same is not None and same.text == result.text:
        result.display, result.width = same.display, same.width if same.text else 0
    result.format = _format(result, family, same)
    _missing(result, variable, family, form, before.cells_of(variable.name) if before else None, follows, losses)
    _keep_labels(result, family, losses)
    return result


def _format(result: Stored, family: Family, same: Form | None) -> str:
    """Return the format of the file read where it still fits, or else a usual one."""
    if same is not None and (same.text, same.moment) == (result.text, result.moment) and not result.numbered:
        return same.format
    if result.moment:
        return usual_format(family, result.moment)
    if family == "spss" and not result.text:
        return "F8.0" if _all_whole(result.values) else "F8.2"
    return ""


def _values(variable: Variable, column: NDArray[Any], family: Family, form: Form | None, losses: Losses) -> Stored:
    name, categories = variable.name, variable.categories
    was_number = form is not None and not form.text and form.moment is None
    if variable.kind == "numeric":
        whole = form is not None and form.whole
        return Stored(name, np.array(column, np.float64), whole=whole, labels=dict(variable.labels))
    moment = moment_in(categories)
    if moment:
        return Stored(name, _spread(from_dates(family, moment, categories), column), moment=moment)
    if all(isinstance(c, int | float) and type(c) is not bool and abs(c) <= EXACT for c in categories):
        numbers = _spread(np.array(categories, np.float64), column)
        whole = form is None or form.whole or not was_number
        return Stored(name, numbers, whole=whole, labels=dict(variable.labels))
    if all(type(c) is bool for c in categories):
        named = {int(c): variable.spelled(c) for c in categories}  # type: ignore[call-overload]
        return Stored(name, _spread(np.array(categories, np.float64), column), whole=True, labels=named)
    if not all(isinstance(c, str) for c in categories):
        losses.add("values of a type the format does not have are written as text", name)
    elif variable.kind == "ordinal" or was_number:
        return _numbered(variable, column, form)
    texts = np.array([*(str(c) for c in categories), None], dtype=object)
    return Stored(name, texts[column], text=True, labels={str(value): label for value, label in variable.labels})


def _numbered(variable: Variable, column: NDArray[Any], form: Form | None) -> Stored:
    """Give categories that are words the codes 1, 2, ... in their order, and the words as labels."""
    codes = _free_codes(len(variable.categories), variable.missing, form.ranges if form else ())
    labels: dict[Category, str] = dict(zip(codes, map(variable.spelled, variable.categories), strict=True))
    labels |= {value: label for value, label in variable.labels if value in variable.missing}
    numbers = _spread(np.array(codes, np.float64), column)
    return Stored(variable.name, numbers, whole=True, numbered=True, labels=labels)


def _free_codes(count: int, taken: tuple[Category, ...], ranges: tuple[tuple[float, float], ...]) -> list[int]:
    """Return codes from 1 on that are not declared missing."""
    codes: list[int] = []
    code = 1
    while len(codes) < count:
        above = max((high for low, high in ranges if low <= code <= high), default=None)
        if above is None:
            codes += [] if code in taken else [code]
            code += 1
        elif above < _LARGEST_INT:
            code = int(above) + 1
        else:
            ranges = ()  # nothing is left above; that declaration will have to go
    return codes


def _spread(values: Floats, codes: NDArray[Any]) -> Floats:
    return np.asarray(np.append(values, np.nan)[codes], dtype=np.float64)


def _missing(
    result: Stored,
    variable: Variable,
    family: Family,
    form: Form | None,
    cells: Cells | None,
    follows: bool,
    losses: Losses,
) -> None:
    """Declare the missing codes where the format can, and put them back into the cells that are still missing."""
    name = variable.name
    if family == "spss":
        result.missing = _declarable(result, variable, form, losses)
    if cells is None:
        return
    if not follows or (family == "sas" and not result.text):
        why = "the records are not those of the file read" if not follows else "the format has no codes for them"
        losses.add(f"missing values lose their codes, for {why}", name)
        return
    absent = result.values == None if result.text else np.isnan(result.values)  # noqa: E711 - element by element
    for place, code in enumerate(cells.codes):
        here = np.flatnonzero((cells.place == place) & absent)
        if not here.size:
            continue
        if family == "stata" and isinstance(code, str) and _letter(code) and not result.text:
            result.tags.update(dict.fromkeys(here.tolist(), code[1:].lower()))
        elif family == "spss" and _is_declared(code, result.missing) and isinstance(code, str) == result.text:
            result.values[here] = code
        else:
            losses.add("missing values lose their codes, for the format cannot declare them", name)


def _declarable(result: Stored, variable: Variable, form: Form | None, losses: Losses) -> list[Any]:
    """Return the missing codes and ranges that an SPSS file can declare: three codes, or a range and one code."""
    if result.text:
        wanted = [code for code in variable.missing if isinstance(code, str)]
        single = [code for code in wanted if 0 < len(code.encode()) <= 8]
        ranges: list[tuple[float, float]] = []
        clash = np.isin(result.values.astype(str), single).any() if single else False
    else:
        wanted = [code for code in variable.missing if type(code) in (int, float)]  # type: ignore[misc]
        single = list(wanted)
        ranges = list(form.ranges) if form and not form.text else []
        clash = bool(np.isin(result.values, single).any()) or any(
            bool(((result.values >= low) & (result.values <= high)).any()) for low, high in ranges
        )
    if clash:
        losses.add("values now fall among the declared missing codes, so these are no longer declared", variable.name)
        return []
    room = 1 if ranges else 3
    if len(single) > room or len(single) < len(wanted):
        losses.add("more missing codes than SPSS can declare; the last ones are left out", variable.name)
    return [*single[:room], *ranges]


def _is_declared(code: Category, declared: list[Any]) -> bool:
    number = isinstance(code, int | float)
    return any(
        number and entry[0] <= code <= entry[1] if isinstance(entry, tuple) else entry == code for entry in declared
    )


def _keep_labels(result: Stored, family: Family, losses: Losses) -> None:
    """Leave out the labels that the format cannot hold."""
    if not result.labels:
        return
    if family == "sas":
        losses.add("a SAS transport file holds no value labels", result.name)
        result.labels = {}
        return
    kept: dict[Any, str] = {}
    for value, label in result.labels.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if family == "spss" and number != result.text:
            kept[value] = label
        elif family == "stata" and not result.text and number and _fits(value):
            kept[int(value)] = label
        elif family == "stata" and not result.text and isinstance(value, str) and _letter(value):
            kept[value[1:].lower()] = label
    if len(kept) < len(result.labels):
        losses.add("labels of values the format cannot label are left out", result.name)
    result.labels = kept


def _letter(code: str) -> bool:
    return len(code) == 2 and code[0] == "." and code[1].isascii() and code[1].isalpha()


def _fits(value: Any) -> bool:
    return float(value).is_integer() and _SMALLEST_INT <= value <= _LARGEST_INT


def fit_integers(values: Floats) -> bool:
    """Tell whether all numbers are whole ones that Stata can hold as such."""
    present = values[~np.isnan(values)]
    return _all_whole(values) and bool(((present >= _SMALLEST_INT) & (present <= _LARGEST_INT)).all())


def _all_whole(values: Floats) -> bool:
    present = values[~np.isnan(values)]
    return bool(np.array_equal(present, np.round(present)))


def labels_of(columns: Mapping[str, Stored]) -> dict[str, dict[Any, str]]:
    """Return the value labels of all columns that have some."""
    return {name: column.labels for name, column in columns.items() if column.labels}
