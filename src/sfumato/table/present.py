"""The categories of a variable that some record has, and values that are made missing."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.table.hierarchy_levels import TOP
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable
from sfumato.table.treatment import Treatment

Codes = NDArray[np.int32]


def only_present(variable: Variable, codes: Codes) -> tuple[Variable, Codes]:
    """Take the categories that no record has any more off the list: their names would tell what was taken away.

    Classes of a number stay listed where its cuts are stated. Where they follow the least and the greatest value of the
    records, the empty outer ones go, and their cuts: the last would be the class of a record that was suppressed.

    >>> job = Variable("job", kind="nominal", categories=("baker", "pilot", "teacher"))
    >>> only_present(job, np.array([0, -1, 2], dtype=np.int32))[0].categories
    ('baker', 'teacher')
    """
    used = np.zeros(len(variable.categories), dtype=bool)
    used[codes[codes >= 0]] = True
    if used.all():
        return variable, codes
    if variable.treatment.cuts:
        return _without_empty_ends(variable, codes, used)
    kept = tuple(category for category, there in zip(variable.categories, used.tolist(), strict=True) if there)
    named = set(kept)
    recode = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
    labels = tuple((category, text) for category, text in variable.labels if category in named)
    return replace(variable, categories=kept, labels=labels), recode[codes]


def _without_empty_ends(variable: Variable, codes: Codes, used: NDArray[np.bool_]) -> tuple[Variable, Codes]:
    """Take the empty outer classes off a list that follows the records, with their cuts."""
    done = variable.treatment
    if done.ends is None:
        return variable, codes
    if not used.any():  # the number is gone, and where it was cut would tell its range
        return replace(variable, categories=(TOP,), labels=(), treatment=replace(done, cuts=(0.0,), ends=None)), codes
    if len(done.cuts) + 1 != len(used):
        return variable, codes
    first, last = (int(place) for place in np.flatnonzero(used)[[0, -1]])
    edges = (done.ends[0], *done.cuts, done.ends[1])
    low, high = edges[first], edges[last + 1]
    cuts = edges[first + 1 : last + 1] or (low if np.isfinite(low) else high,)  # of one class a cut that says so
    kept = variable.categories[first : last + 1]
    labels = tuple((category, text) for category, text in variable.labels if category in kept)
    done = replace(done, cuts=cuts, ends=(low, high))
    return replace(variable, categories=kept, labels=labels, treatment=done), np.where(
        codes < 0, -1, codes - first
    ).astype(np.int32)


def as_published(schema: Schema, codes: Callable[[Variable], Codes]) -> Schema:
    """Return the schema of a table that goes out: no category that no record has, and none of what names units.

    Hierarchies stay behind too: they list what the records had, and cuts may follow their distribution. ``codes`` gives
    the codes of a variable that occur in the table.
    """
    bare = schema.unnamed()
    bare = bare.replace(*(replace(variable, hierarchy=None) for variable in bare))
    listed = (v for v in bare if not v.quantitative and v.categories)
    return bare.replace(*(only_present(variable, codes(variable))[0] for variable in listed))


def is_protected(data: Microdata) -> bool:
    """Tell whether anything was done to a table: its file goes out without the words of the file it was read from."""
    anew = not data.matched or data.drawn is not None
    return bool(anew or data.notes or any(variable.treatment != Treatment() for variable in data.schema))


def is_masked(data: Microdata, name: str) -> bool:
    """Tell whether values of a variable were taken away or changed, or records of the table."""
    return not data.matched or data.drawn is not None or data.schema[name].treatment != Treatment()


def as_it_leaves(data: Microdata) -> Microdata:
    """Return the table as it leaves: what was masked lists no category, and no label, that no record has."""
    changed = {
        variable.name: only_present(variable, data.columns[variable.name])
        for variable in data.schema
        if not variable.quantitative and is_masked(data, variable.name)
    }
    if not changed:
        return data
    listed = {name: variable.categories for name, (variable, _) in changed.items()}
    return replace(data.recast(changed), origin=data.origin.listing(listed))


def made_missing(data: Microdata, hidden: Mapping[str, NDArray[np.bool_]]) -> Microdata:
    """Make the values of these records missing, by variable."""
    changed: dict[str, tuple[Variable, NDArray[Any]]] = {}
    for name, rows in hidden.items():
        variable, column = data.schema[name], data.columns[name].copy()
        column[rows] = np.nan if variable.quantitative else -1
        variable = variable.treated(Treatment(suppressed=int(rows.sum())))
        # a category listed that no record shows would tell what the missing values were
        changed[name] = (variable, column) if variable.quantitative else only_present(variable, column)
    listed = {name: variable.categories for name, (variable, _) in changed.items() if not variable.quantitative}
    return replace(data.recast(changed), origin=data.origin.listing(listed))
