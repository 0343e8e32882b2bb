"""SPSS, Stata and SAS files in: values, labels, missing codes and measurement levels to a table with its schema.

The rule for kinds, where no schema states them:

- The measurement level of an SPSS file decides: nominal, ordinal, and scale for numeric.
- Where it is unknown, as always in Stata and SAS, numbers of which every value present has a label are nominal, and
  other numbers are numeric.
- Text is nominal unless the file calls it ordinal (then in alphabetical order).
- Dates, moments and times are nominal, as in Parquet files, and ordinal where the file calls them ordinal or scale; a
  column with a date format that holds something else (a duration above 24 hours, half a day), has labelled values, or
  is numeric by a given schema stays the file's numbers.

Categories are the codes of the file, which ``Variable.spelled`` turns into their labels. User-missing values of SPSS,
Stata's .a to .z and SAS' .A to .Z are missing, and so is empty text; discrete codes are listed in ``Variable.missing``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data import labelled_file
from sfumato.data.labelled import FAMILIES, NAMES, Cells, Family, Form, Labelled
from sfumato.data.labelled_dates import moment_of, to_dates
from sfumato.data.schema import Category, Kind, Schema, Variable

EXACT = 2**53
_MEASURES: dict[str, Kind] = {"nominal": "nominal", "ordinal": "ordinal", "scale": "numeric"}


def read_labelled(
    path: Path, stated: Schema | None = None, encoding: str | None = None
) -> tuple[pa.Table, Schema, Labelled, tuple[str, ...]]:
    """Read a file: the table, its schema, what is kept to write it again, and what a reader should know.

    What ``stated`` says of a variable goes before what the file says; labels and missing codes it does not name are the
    file's.
    """
    family = FAMILIES[path.suffix.lower()]
    known = {variable.name: variable for variable in stated or ()}
    columns: dict[str, Any] = {}
    variables, forms, cells = [], {}, {}
    meta, raw = labelled_file.load(path, encoding)
    for name in meta.column_names:
        variable, forms[name], columns[name], marked = _column(family, meta, name, raw.pop(name), known.get(name))
        variables.append(variable)
        if marked is not None:
            cells[name] = marked
    facts = labelled_file.facts(path, meta)
    schema, notes = _special(Schema(tuple(variables)), stated, columns, facts.weight, NAMES[family])
    kept = Labelled(
        family=family,
        label=meta.file_label or "",
        notes=tuple(meta.notes),
        compression=facts.compression,
        version=facts.version,
        table=meta.table_name or "",
        forms=forms,
        cells=cells,
        lost=facts.lost,
    )
    return pa.table(columns), schema, kept, (*facts.notes, *notes)


def _column(
    family: Family, meta: Any, name: str, parts: Any, stated: Variable | None
) -> tuple[Variable, Form, Any, Cells | None]:
    """Read one variable: what is known of it, how it stood in the file, its values, and its missing codes."""
    labels = _labels(meta, name)
    discrete, ranges = _declared(meta, name)
    codes = (*discrete, *(code for code in (stated.missing if stated else ()) if code not in discrete))
    if meta.readstat_variable_types[name] == "string":
        values, cells = _texts(parts, codes)
        moment = None
    else:
        numbers, marks = parts
        numbers, cells = _numbers(numbers, marks, codes, ranges)
        tags = [f".{tag}" for tag in meta.missing_user_values.get(name, ())]
        tags += [value for value, _ in labels if isinstance(value, str) and value not in tags]
        codes = (*codes, *(tag for tag in tags if tag not in codes))
        as_number = any(not _absent(value, codes, ranges) for value, _ in labels) or (
            stated is not None and stated.kind == "numeric"
        )
        moment = None if as_number else moment_of(family, meta.original_variable_types[name] or "")
        values = to_dates(family, moment, numbers) if moment else None
        moment = None if values is None else moment
        values = _plain(numbers) if values is None else values
    form = Form(
        kind="numeric",
        text=meta.readstat_variable_types[name] == "string",
        whole=meta.readstat_variable_types[name].startswith("int"),
        moment=moment,
        format=meta.original_variable_types[name] or "",
        measure=meta.variable_measure.get(name, "unknown"),
        display=max(meta.variable_display_width.get(name, 0), 0),
        width=meta.variable_storage_width.get(name, 0),
        ranges=ranges,
        codes=codes,
    )
    present = [value for value, _ in labels if not _absent(value, codes, ranges)]
    words = tuple(pair for pair in labels if _absent(pair[0], codes, ranges))
    form = replace(form, kind=_kind(form, values, present), words=words)
    kind = stated.kind if stated else form.kind
    if kind != "numeric" and pa.types.is_floating(values.type):
        values = _whole(values)
    variable = Variable(
        name,
        kind=kind,
        categories=_steps(values, present) if kind == "ordinal" == form.kind else (),
        missing=codes,
        label=meta.column_names_to_labels.get(name) or "",
        labels=labels,
    )
    return _overridden(variable, stated), form, values, cells


def _kind(form: Form, values: Any, labelled: list[Category]) -> Kind:
    """Tell the kind of a variable by what the file says of it."""
    if form.measure in ("nominal", "ordinal"):
        return _MEASURES[form.measure]
    if form.moment:
        return "ordinal" if form.measure == "scale" else "nominal"
    if form.text:
        return "nominal"
    if form.measure == "scale" or not labelled:
        return "numeric"
    numbers = np.array(labelled, dtype=np.float64)
    all_labelled = pc.all(pc.is_in(values, value_set=pa.array(numbers)).filter(pc.is_valid(values))).as_py()
    return "numeric" if all_labelled is False else "nominal"


def _overridden(variable: Variable, stated: Variable | None) -> Variable:
    """Return a variable as a schema states it, with the file's labels and codes where it has none."""
    if stated is None:
        return variable
    return replace(
        stated,
        categories=stated.categories or variable.categories,
        missing=variable.missing,
        label=stated.label or variable.label,
        labels=stated.labels or variable.labels,
    )


def _special(
    schema: Schema, stated: Schema | None, columns: Mapping[str, Any], weight: str | None, program: str
) -> tuple[Schema, tuple[str, ...]]:
    """Take the weight, household and id that a schema states, or else the weight the file declares."""
    if stated is not None:
        schema = replace(schema, weight=stated.weight, household=stated.household, id=stated.id)
        # a name the file lacks stays in the schema, for the table to be refused with the names it has
        schema = replace(schema, variables=(*schema, *(v for v in stated if v.name not in schema)))
    if weight is None or schema.weight is not None:
        return schema, ()
    values = columns.get(weight)
    if values is None or not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        return schema, (f"the weight variable {weight!r} that the {program} file declares cannot be used as such",)
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if not (numbers >= 0).all() or not numbers.any():
        return schema, (
            f"the {program} file declares the weight {weight!r}, which is negative, missing or zero throughout, so it "
            "is not used",
        )
    numeric = replace(schema[weight], kind="numeric", categories=())
    return replace(schema.replace(numeric), weight=weight), ()


def _labels(meta: Any, name: str) -> tuple[tuple[Category, str], ...]:
    text = meta.readstat_variable_types[name] == "string"
    found = meta.variable_value_labels.get(name, {})
    return tuple(
        (value if text else f".{value}" if isinstance(value, str) else _short(value), label)
        for value, label in found.items()
    )


def _declared(meta: Any, name: str) -> tuple[tuple[Category, ...], tuple[tuple[float, float], ...]]:
    """Return the missing values that an SPSS file declares: single ones, and ranges."""
    bounds = [(entry["lo"], entry["hi"]) for entry in meta.missing_ranges.get(name, ())]
    single = tuple(low if isinstance(low, str) else _short(low) for low, high in bounds if low == high)
    return single, tuple((low, high) for low, high in bounds if low != high)


def _absent(value: Category, codes: Iterable[Category], ranges: Iterable[tuple[float, float]]) -> bool:
    number = isinstance(value, int | float)
    return value in codes or (number and any(low <= value <= high for low, high in ranges))  # type: ignore[operator]


def _numbers(
    numbers: NDArray[np.float64],
    marks: NDArray[np.uint8] | None,
    codes: Iterable[Category],
    ranges: Iterable[tuple[float, float]],
) -> tuple[NDArray[np.float64], Cells | None]:
    """Make the declared codes missing, and keep which one stood where."""
    missing = np.isnan(numbers)
    coded = np.isin(numbers, [code for code in codes if isinstance(code, int | float)])
    for low, high in ranges:
        coded |= (numbers >= low) & (numbers <= high)
    tagged = marks is not None and bool(marks.any())
    if not tagged and not coded.any():
        return numbers, None
    found, which = np.unique(numbers[coded], return_inverse=True)
    place = np.where(missing, -2, -1).astype(np.int32)
    place[coded] = which
    listed: list[Category] = [_short(code) for code in found]
    if marks is not None:
        tags, which = np.unique(marks[marks > 0], return_inverse=True)
        place[marks > 0] = len(listed) + which
        listed += [f".{chr(tag)}" for tag in tags]
    return np.where(coded, np.nan, numbers), Cells(tuple(listed), place)


def _texts(column: Any, codes: Iterable[Category]) -> tuple[Any, Cells | None]:
    """Make empty text and the declared codes missing, and keep which one stood where."""
    column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    listed = tuple(code for code in codes if isinstance(code, str))
    which = pc.index_in(column, value_set=pa.array(listed, pa.string()))
    if which.null_count == len(which):
        return column, None
    place = which.fill_null(-1).to_numpy(zero_copy_only=False).copy()
    place[column.is_null().to_numpy(zero_copy_only=False)] = -2
    return pc.if_else(which.is_valid(), pa.scalar(None, pa.string()), column), Cells(listed, place.astype(np.int32))


def _plain(numbers: NDArray[np.float64]) -> Any:
    return pa.array(numbers, from_pandas=True)


def _whole(values: Any) -> Any:
    """Return codes as whole numbers, where all are."""
    numbers = values.to_numpy(zero_copy_only=False)
    missing = np.isnan(numbers)
    present = numbers[~missing]
    if np.array_equal(present, np.round(present)) and (np.abs(present) <= EXACT).all():
        return pa.array(np.where(missing, 0, numbers).astype(np.int64), mask=missing)
    return values


def _steps(values: Any, labelled: list[Category]) -> tuple[Category, ...]:
    """Return the steps of an ordinal variable from lowest to highest: those with a label and those that occur."""
    found = pc.unique(values.drop_null()).to_pylist()
    return tuple(sorted({*found, *labelled}))


def _short(value: float) -> int | float:
    """Return a whole number as such."""
    return int(value) if float(value).is_integer() and abs(value) <= EXACT else float(value)
