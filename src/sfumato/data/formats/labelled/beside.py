"""A protected file beside its original: what the file says of its variables, and what only the original knows."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data import columns as read_columns
from sfumato.data.file_form import LabelledForm
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Variable


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
