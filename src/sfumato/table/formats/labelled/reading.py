"""SPSS, Stata and SAS files in: values, labels, missing codes and measurement levels to a table with its schema.

The rule for kinds, where no schema states them:

- The measurement level of an SPSS file decides: nominal, ordinal, and scale for numeric.
- Where it is unknown, as always in Stata and SAS, numbers of which every value present has a label are nominal, and
  other numbers are numeric.
- Text is nominal unless the file calls it ordinal (then in alphabetical order).
- Dates and moments are dates, whatever level the file gives them, as in Parquet files; times of day are nominal, and
  ordinal where the file calls them ordinal or scale. A column with a date format that holds something else (a duration
  above 24 hours, half a day), has labelled values, or is numeric by a given schema stays the file's numbers.

Categories are the codes of the file, which ``Variable.spelled`` turns into their labels. User-missing values of SPSS,
Stata's .a to .z and SAS' .A to .Z are missing, and so is empty text; discrete codes are listed in ``Variable.missing``.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError
from sfumato.table import columns as read_columns
from sfumato.table import frames
from sfumato.table.columns import as_values, inferred_kind, short
from sfumato.table.decimals import EXACT
from sfumato.table.file_form import Cells, Family, Labelled, LabelledForm, Moment
from sfumato.table.formats.labelled import FAMILIES, NAMES, raw_file
from sfumato.table.formats.labelled.variables import (
    Declared,
    Floats,
    moment_of,
    text_without_codes,
    to_dates,
    without_codes,
)
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Category, Kind, Schema, Variable

_MEASURES: dict[str, Kind] = {"nominal": "nominal", "ordinal": "ordinal", "scale": "numeric"}
_Labels = tuple[tuple[Category, str], ...]


def read_labelled(path: Path, stated: Schema | None = None, encoding: str | None = None) -> Microdata:
    """Read a table from a file, with the schema the file states.

    What ``stated`` says of a variable goes before what the file says; labels and missing codes it does not name are the
    file's.
    """
    try:
        table, schema, labelled, notes = _read(path, stated, encoding)
        arrow, origin = frames.to_arrow(table)
        # codes are out of the table by now; only what became dates and times is compared as such
        timed = {name for name, form in labelled.forms.items() if form.moment}
        plain = schema.replace(*(replace(variable, missing=()) for variable in schema if variable.name not in timed))
        data = Microdata.from_arrow(arrow, replace(origin, path=path.resolve(), labelled=labelled), plain)
    except DataError as error:
        raise type(error)(f"{path}: {error}") from None
    coded = (replace(data.schema[variable.name], missing=variable.missing) for variable in schema if variable.missing)
    return replace(data, schema=data.schema.replace(*coded), notes=notes)


def _read(
    path: Path, stated: Schema | None, encoding: str | None
) -> tuple[pa.Table, Schema, Labelled, tuple[str, ...]]:
    """Return the table, its schema, what is kept to write it again, and what a reader should know."""
    family = FAMILIES[path.suffix.lower()]
    known = {variable.name: variable for variable in stated or ()}
    columns: dict[str, Any] = {}
    variables, forms, cells = [], {}, {}
    meta, raw = raw_file.load(path, encoding)
    for name in meta.column_names:
        variable, forms[name], columns[name], marked = _column(family, meta, name, raw.pop(name), known.get(name))
        variables.append(variable)
        if marked is not None:
            cells[name] = marked
    facts = raw_file.facts(path, meta)
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
) -> tuple[Variable, LabelledForm, Any, Cells | None]:
    """Read one variable: what is known of it, how it stood in the file, its values, and its missing codes."""
    text = meta.readstat_variable_types[name] == "string"
    labels = _labels(meta, name, text=text)
    declared = _declared(meta, name, labels, stated)
    present = [value for value, _ in labels if value not in declared]
    moment: Moment | None = None
    if text:
        values, cells = text_without_codes(parts, declared.codes, numeric=_as_numbers(stated))
    else:
        raw, marks = parts
        numbers, cells = without_codes(raw, marks, declared)
        as_number = bool(present) or _as_numbers(stated)
        values, moment = _dated(family, "" if as_number else meta.original_variable_types[name] or "", numbers)
    form = _form(meta, name, declared, moment, labels)
    form = replace(form, kind=_kind(form, values, present))
    kind = stated.kind if stated and not stated.kind_by_rule else form.kind
    if kind not in ("numeric", "date") and pa.types.is_floating(values.type):
        values = _whole(values)
    variable = Variable(
        name,
        kind=kind,
        categories=_steps(values, present) if kind == "ordinal" == form.kind else (),
        missing=declared.codes,
        label=meta.column_names_to_labels.get(name) or "",
        labels=labels,
        declared=False,
    )
    return _overridden(variable, stated), form, values, cells


def _as_numbers(stated: Variable | None) -> bool:
    return stated is not None and stated.kind == "numeric" and not stated.kind_by_rule


def _dated(family: Family, form: str, numbers: Floats) -> tuple[Any, Moment | None]:
    """Return numbers as dates where their format says so and each is exactly one, else as they are."""
    moment = moment_of(family, form)
    dates = to_dates(family, moment, numbers) if moment else None
    return (pa.array(numbers, from_pandas=True), None) if dates is None else (dates, moment)


def _form(meta: Any, name: str, declared: Declared, moment: Moment | None, labels: _Labels) -> LabelledForm:
    """Return how a variable stands in the file, its kind apart."""
    return LabelledForm(
        kind="numeric",
        text=meta.readstat_variable_types[name] == "string",
        whole=meta.readstat_variable_types[name].startswith("int"),
        moment=moment,
        format=meta.original_variable_types[name] or "",
        measure=meta.variable_measure.get(name, "unknown"),
        display=max(meta.variable_display_width.get(name, 0), 0),
        width=meta.variable_storage_width.get(name, 0),
        ranges=declared.ranges,
        codes=declared.codes,
        words=tuple(pair for pair in labels if pair[0] in declared),
    )


def _kind(form: LabelledForm, values: Any, labelled: list[Category]) -> Kind:
    """Tell the kind of a variable by what the file says of it."""
    if form.moment in ("date", "datetime"):
        return inferred_kind(values)
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
        kind=variable.kind,
        kind_by_rule=False,
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
        schema = replace(stated, variables=schema.variables)
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


def _labels(meta: Any, name: str, *, text: bool) -> _Labels:
    found = meta.variable_value_labels.get(name, {})
    return tuple(
        (value if text else f".{value}" if isinstance(value, str) else short(value), label)
        for value, label in found.items()
    )


def _declared(meta: Any, name: str, labels: _Labels, stated: Variable | None) -> Declared:
    """Return what is missing: what an SPSS file declares, what a schema states, and the letters of Stata and SAS."""
    bounds = [(entry["lo"], entry["hi"]) for entry in meta.missing_ranges.get(name, ())]
    codes: list[Category] = [low if isinstance(low, str) else short(low) for low, high in bounds if low == high]
    text = meta.readstat_variable_types[name] == "string"
    codes += as_values(stated.missing, text=text) if stated else ()
    if not text:
        codes += [f".{letter}" for letter in meta.missing_user_values.get(name, ())]
        codes += [value for value, _ in labels if isinstance(value, str)]
    return Declared(tuple(dict.fromkeys(codes)), tuple((low, high) for low, high in bounds if low != high))


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


# A protected file beside its original: what the file says of its variables, and what only the original knows.


def file_beside(original: Microdata, found: Microdata) -> Microdata:
    """Return the table of a protected file, read with what is known of the original's variables.

    A CSV or Parquet file says nothing of itself: ``Microdata.beside`` holds. In an SPSS, Stata or SAS file

    - a variable of the same kind as in the original is what the original's schema says, missing codes and all;
    - a variable of another kind (a number put into bands, say) is what the protected file says, under the original's
      role;
    - where a code has another label than in the original, or the original has words where the file has codes, the
      labels are the categories, for code 1 need not mean the same in both.
    """
    if found.origin.labelled is None:
        return Microdata.beside(original, found.to_arrow())
    table = found.to_arrow()
    columns: dict[str, Any] = dict(zip(table.column_names, table.columns, strict=True))
    known = original.schema.only(found.names)
    forms = original.origin.labelled.forms if original.origin.labelled else {}
    variables, by_word = [], []
    for own in found.schema:
        if own.name not in known:
            variables.append(own)
            continue
        theirs, column = known[own.name], columns[own.name]
        words = _words(theirs, own)
        if words:
            by_word.append(own.name)
            codes = found.columns[own.name]
            column = pa.array(words, pa.string()).take(pa.array(codes, mask=codes < 0))
            own = replace(own, categories=words, labels=(), missing=())
        variable, columns[own.name] = _known(own, theirs, forms.get(own.name), column)
        variables.append(variable)
    schema = replace(known, variables=tuple(variables))
    data = Microdata.from_arrow(pa.table(columns), found.origin, schema)
    note = f"compared by their labels, for their codes are not those of the original: {', '.join(by_word)}"
    return replace(data, notes=(*found.notes, note) if by_word else found.notes)


def _words(theirs: Variable, own: Variable) -> tuple[str, ...]:
    """Return the labels of the protected file's categories where its codes cannot be compared, or nothing."""
    labels, before = dict(own.labels), dict(theirs.labels)
    words = tuple(labels.get(category, "") for category in own.categories)
    if not all(words) or len(set(words)) < len(words):
        return ()
    wordy = bool(theirs.categories) and all(isinstance(category, str) for category in theirs.categories)
    if wordy and not all(isinstance(category, str) for category in own.categories):
        return words
    shared = [category for category in own.categories if category in before]
    return words if any(_plain(labels[c]) != _plain(before[c]) for c in shared) else ()


def _plain(label: str) -> str:
    return " ".join(label.split()).casefold()


def _known(own: Variable, theirs: Variable, form: LabelledForm | None, column: Any) -> tuple[Variable, Any]:
    """Return what is known of a variable of both files, and its column without the original's missing codes."""
    mine = replace(own, role=theirs.role, label=own.label or theirs.label)
    kinds = {theirs.kind, form.kind if form else theirs.kind}
    listed = not own.quantitative and set(own.categories) <= set(theirs.categories)
    if own.kind not in kinds and not listed:
        return mine, column
    kept = column
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        for low, high in form.ranges if form else ():
            inside = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
            kept = pc.if_else(inside, pa.scalar(None, column.type), kept)
    labels = (*theirs.labels, *(pair for pair in own.labels if pair[0] not in dict(theirs.labels)))
    missing = (*theirs.missing, *(code for code in own.missing if code not in theirs.missing))
    fitting = read_columns.fitted(replace(theirs, labels=labels, missing=missing), kept)
    return (mine, column) if fitting is None else (fitting, kept)
