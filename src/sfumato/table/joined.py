"""Parts of a table, protected each by itself, put together again as one table."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.table.microdata import Microdata
from sfumato.table.present import only_present
from sfumato.table.schema import Category, Variable
from sfumato.table.treatment import Treatment

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
    """Return the categories of all parts in one order."""
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
