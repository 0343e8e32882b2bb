"""The categories of a variable that some record has; values made missing; protected parts put together again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.table.hierarchy_levels import TOP
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Category, Schema, Variable
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


# Parts of a table, protected each by itself, put together again as one table.

Rows = NDArray[np.intp]


def joined(data: Microdata, rows: Sequence[Rows], parts: Sequence[Microdata], by: Sequence[str]) -> Microdata:
    """Return one table of what became of the parts of ``data``: ``rows`` are the records of each, equal in ``by``.

    The parts lack the variables ``by``, which are put back as they were. Where each part kept its records, they stand
    where they stood; else part follows part. Parts that came back with other variables, or with a variable in classes
    that no one order or meaning holds together, are refused.
    """
    first = parts[0]
    for part in parts[1:]:
        if part.names != first.names:
            odd = sorted(set(part.names) ^ set(first.names))
            raise NotApplicable(f"the blocks came back with other variables: {', '.join(odd)} is not in all of them")
    kept = all(part.matched and len(part) == len(mine) for part, mine in zip(parts, rows, strict=True))
    place = np.argsort(np.concatenate(rows), kind="stable") if kept else slice(None)
    names = [name for name in data.names if name in by or name in first.schema]
    variables: dict[str, Variable] = {}
    columns: dict[str, NDArray[Any]] = {}
    for name in (*names, *(name for name in first.names if name not in data.schema)):
        if name in by:
            mine = [np.full(len(p), data.columns[name][there[0]]) for p, there in zip(parts, rows, strict=True)]
            variables[name], columns[name] = data.schema[name], np.concatenate(mine)[place]
            continue
        before = next((variable for variable in data.schema if variable.name == name), None)
        found = agreed(before, [part.schema[name] for part in parts], [part.columns[name] for part in parts])
        variables[name], columns[name] = found[0], found[1][place]
    changed = {
        v.name: v.categories
        for v in variables.values()
        if not v.quantitative and v.name in data.schema and v.categories != data.schema[v.name].categories
    }
    origin = data.origin.listing(changed) if changed else data.origin
    key = first.schema.id
    if key is not None and not kept and len(np.unique(columns[key])) < len(columns[key]):
        variables[key], columns[key] = numbered(variables[key], len(columns[key]))
    special: dict[Any, Any] = {"weight": None, "household": None, "id": None, **first.schema.special()}
    return Microdata(
        replace(data.schema.only(names), variables=tuple(variables.values()), **special),
        columns,
        origin if kept else replace(origin, index=None, labelled=None),
        data.notes,
        matched=data.matched and kept,
        drawn=data.drawn if kept else _drawn(data, rows, parts),
    )


def _drawn(data: Microdata, rows: Sequence[Rows], parts: Sequence[Microdata]) -> Rows | None:
    """Return the rows that samples of the parts were drawn from; None if some part is no sample."""
    found = [
        part.drawn if data.drawn is not None or part.drawn is None else there[part.drawn]
        for part, there in zip(parts, rows, strict=True)
    ]
    return np.concatenate([one for one in found if one is not None]) if all(one is not None for one in found) else None


def numbered(variable: Variable, records: int) -> tuple[Variable, NDArray[Any]]:
    """Return ids that count the records from 1: made in each part by itself, ids would not tell records apart."""
    if variable.quantitative:
        return variable, np.arange(1, records + 1, dtype=np.float64)
    counted = tuple(str(number) for number in range(1, records + 1))
    return replace(variable, categories=counted, labels=()), np.arange(records, dtype=np.int32)


def agreed(
    before: Variable | None, variables: Sequence[Variable], columns: Sequence[NDArray[Any]]
) -> tuple[Variable, NDArray[Any]]:
    """Return one variable and one column of what became of it in each part."""
    trimmed = before is not None and before.treatment.ends is not None
    if before is not None and trimmed:
        whole = [_untrimmed(before, *one) for one in zip(variables, columns, strict=True)]
        variables, columns = [variable for variable, _ in whole], [column for _, column in whole]
    first = variables[0]
    kinds = sorted({variable.kind for variable in variables})
    if len(kinds) > 1:
        raise NotApplicable(f"variable {first.name!r} came back {' and '.join(kinds)}, another kind in other blocks")
    treatment = _treatments(first.name, before, [variable.treatment for variable in variables])
    if first.quantitative:
        return replace(first, treatment=treatment), np.concatenate(columns)
    categories = _categories(before, variables)
    place = {category: code for code, category in enumerate(categories)}
    codes = np.concatenate(
        [
            np.array([*(place[category] for category in variable.categories), -1], dtype=np.int32)[column]
            for variable, column in zip(variables, columns, strict=True)
        ]
    )
    if (before is None or categories != before.categories or len({v.categories for v in variables}) > 1) and not (
        treatment.cuts
    ):  # a category that no record has any more would tell what was taken away
        used = np.zeros(len(categories), dtype=bool)
        used[codes[codes >= 0]] = True
        codes = np.append(np.cumsum(used) - 1, -1).astype(np.int32)[codes]
        categories = tuple(category for category, there in zip(categories, used.tolist(), strict=True) if there)
    listed = {category for variable in variables for category in variable.categories} - set(categories)
    words = {category: text for variable in variables for category, text in variable.labels if category not in listed}
    made = replace(first, categories=categories, labels=tuple(words.items()), treatment=treatment)
    return only_present(made, codes) if trimmed else (made, codes)


def _untrimmed(before: Variable, variable: Variable, column: NDArray[Any]) -> tuple[Variable, NDArray[Any]]:
    """Return the classes of a number with the outer ones that no record of the part has, as all parts had them."""
    done, kept = before.treatment, variable.categories if (column >= 0).any() else ()
    if kept == before.categories or variable.quantitative or not set(kept) <= set(before.categories):
        return variable, column
    first = before.categories.index(kept[0]) if kept else 0
    if kept != before.categories[first : first + len(kept)]:
        return variable, column
    treatment = replace(variable.treatment, cuts=done.cuts, ends=done.ends)
    codes = np.where(column < 0, -1, column + first).astype(np.int32)
    return replace(variable, categories=before.categories, labels=before.labels, treatment=treatment), codes


def _categories(before: Variable | None, variables: Sequence[Variable]) -> tuple[Category, ...]:
    lists = list(dict.fromkeys(variable.categories for variable in variables))
    if len(lists) == 1:
        return lists[0]
    there = dict.fromkeys(category for categories in lists for category in categories)
    known = before.categories if before is not None else ()
    if all(category in known for category in there):
        return tuple(category for category in known if category in there)
    if variables[0].kind == "ordinal":
        raise NotApplicable(
            f"variable {variables[0].name!r} came back in other classes in other blocks, which have no one order; "
            "state the classes, so that they are the same in all"
        )
    return (*(category for category in known if category in there), *(c for c in there if c not in known))


def _treatments(name: str, before: Variable | None, treatments: Sequence[Treatment]) -> Treatment:
    """Return what was done to a variable in all parts; ends and grids that differ leave values that are not true."""
    bare = {replace(treatment, suppressed=0, perturbed=False) for treatment in treatments}
    earlier = before.treatment if before is not None else Treatment()
    suppressed = earlier.suppressed + sum(max(t.suppressed - earlier.suppressed, 0) for t in treatments)
    perturbed = any(treatment.perturbed for treatment in treatments)
    if len(bare) == 1:
        by_rank = any(treatment.by_rank for treatment in treatments)
        averaged = next((treatment.averaged for treatment in treatments if treatment.averaged), ())
        done = replace(bare.pop(), suppressed=suppressed, perturbed=perturbed)
        return replace(done, by_rank=by_rank, averaged=averaged)
    if len({(treatment.groups, treatment.cuts) for treatment in bare}) > 1:
        raise NotApplicable(
            f"variable {name!r} is put into other classes in other blocks, so that no one list says what they mean; "
            "state the classes, so that they are the same in all"
        )
    some = bare.pop()
    return Treatment(groups=some.groups, cuts=some.cuts, ends=some.ends, suppressed=suppressed, perturbed=True)
