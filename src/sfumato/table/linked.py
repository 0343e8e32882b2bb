"""Variables that follow others: a variable linked to its sources tells no more of them than they tell themselves.

``Variable("cohort", linked="age")`` says that age determines cohort, wholly or nearly. ``followed`` looks at what
became of each source and does the same to what is linked to it:

- a source was removed: so is the linked variable;
- a value of a source was made missing: so is the linked value of that record, and of the other members of its household
  where they share it;
- values of a source were put together: the linked values that occur with the same published class are put together too
 , so that the linked value can be told from the published one;
- values of a source need no longer be true: the linked variable is computed anew from the published source where the
  original shows how, and left out where it does not.

What was done is said in the notes of the table. A table whose schema links nothing comes back as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes
from sfumato.table import bands
from sfumato.table.households import household_level, units
from sfumato.table.merging import classed, merged
from sfumato.table.microdata import Microdata
from sfumato.table.present import made_missing, only_present
from sfumato.table.recoding import aligned
from sfumato.table.resolution import resolution, rounded
from sfumato.table.schema import Category, Variable
from sfumato.table.treatment import PERTURBED, Treatment

# The values of a linked variable as its published sources have them: put together like them, or computed from them.
#
# Both ways give a value that can be told from the published values of the sources: it adds nothing to them.

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

EXCEPTIONS = 0.05  # of the records at most may lose a linked value because it does not fit
# of a linked value's records, and of a class's, up to which their meeting is an exception
MAX_SHARE_OF_EXCEPTION = 0.02
MAX_BANDS = 50  # of a linked number; more are no bands
NAMED = 3  # categories that the name of a group spells out
EXACT = 1e-9  # of the size of a number is how it was written


@dataclass(frozen=True, eq=False)
class LinkedColumn:
    """A linked variable and its column as they follow the sources; nothing ``said`` where they stay as they are."""

    variable: Variable
    column: NDArray[Any]
    said: str = ""


def _is_quantity(column: NDArray[Any]) -> bool:
    """Tell whether a column holds quantities, with NaN, and not codes, with -1."""
    return column.dtype.kind == "f"


def nothing(column: NDArray[Any]) -> float:
    """Return what stands for a missing value in a column."""
    return np.nan if _is_quantity(column) else -1


# values put together


def put_together(protected: Microdata, name: str, sources: Sequence[str]) -> LinkedColumn | None:
    """Put those values together that occur with the same published values of the sources, and so on from there.

    That is, the connected parts of the graph in which a value and a class are neighbours if some record has both. Of
    ordered values a part takes in what lies between. Where all would become one, values that seldom occur with a class
    (``MAX_SHARE_OF_EXCEPTION`` of both) are taken for exceptions, and made missing there; None where that does not help
    either. A source that is missing beside another is a value like any other.
    """
    variable, column = protected.schema[name], protected.columns[name]
    there = ~protected.missing(name)
    levels, value = np.unique(column[there], return_inverse=True)
    known = ~_unsaid(protected, sources)[there]
    codes = [np.unique(protected.columns[source][there][known], return_inverse=True)[1] for source in sources]
    if not known.any():
        return LinkedColumn(variable, column)
    published = classes(np.column_stack(codes))[0]
    ordered = variable.kind != "nominal"
    part = _parts(value[known], published, len(levels), ordered=ordered)
    odd = np.zeros(len(known), dtype=bool)
    if part.max() == 0 < published.max(initial=0) and len(levels) > 1:
        odd[known] = _exceptions(value[known], published)
        regular = ~odd[known]
        part = _parts(value[known][regular], published[regular], len(levels), ordered=ordered)
    if part.max() == 0 and len(levels) > 1:
        return None
    if part.max() + 1 == len(levels) and not odd.any():
        return LinkedColumn(variable, column)
    blank = column.copy()
    blank[np.flatnonzero(there)[odd]] = nothing(blank)
    made = (_in_bands if _is_quantity(blank) else _in_groups)(variable, blank, levels, part)
    if made is None or not odd.any():
        return made
    changed = made.variable.treated(Treatment(suppressed=int(odd.sum())))
    return replace(made, variable=changed, said=f"{made.said}; {int(odd.sum()):,} values that do not fit are missing")


def _unsaid(protected: Microdata, sources: Sequence[str]) -> Mask:
    """Tell which records have no value of any source: of these nothing is told."""
    return np.asarray(np.logical_and.reduce([protected.missing(source) for source in sources]))


def _parts(value: Integers, published: Integers, number: int, *, ordered: bool) -> Integers:
    """Return the connected part of each value, numbered in the order of their lowest values."""
    from scipy.sparse import coo_array  # which takes longer to load than most tables to be measured
    from scipy.sparse.csgraph import connected_components

    edges = np.unique(value.astype(np.int64) * (int(published.max(initial=0)) + 1) + published)
    left, right = np.divmod(edges, int(published.max(initial=0)) + 1)
    size = number + int(published.max(initial=-1)) + 1
    graph = coo_array((np.ones(len(edges)), (left, number + right)), shape=(size, size))
    part = connected_components(graph, directed=False)[1][:number]
    if ordered:
        last = np.zeros(size, dtype=np.int64)
        np.maximum.at(last, part, np.arange(number))
        reach = np.maximum.accumulate(last[part])  # how far the parts that began so far go
        part = np.concatenate([[0], np.cumsum(reach[:-1] < np.arange(1, number))])
    first = np.unique(part, return_index=True)[1]
    rank = np.empty(int(part.max(initial=0)) + 1, dtype=np.int64)
    rank[part[np.sort(first)]] = np.arange(len(first))
    return np.asarray(rank[part])


def _exceptions(value: Integers, published: Integers) -> Mask:
    """Tell which records have a value that seldom occurs with their class; none where these are many."""
    edge, counts = classes(np.column_stack([value, published]))
    of_value, of_class = np.bincount(value)[value], np.bincount(published)[published]
    odd = (counts[edge] <= MAX_SHARE_OF_EXCEPTION * of_value) & (counts[edge] <= MAX_SHARE_OF_EXCEPTION * of_class)
    return odd if odd.mean() <= EXCEPTIONS else np.zeros(len(odd), dtype=bool)


def _in_groups(variable: Variable, codes: NDArray[np.int32], levels: Integers, part: Integers) -> LinkedColumn:
    """Merge categories; those that no record has join the group around them, or stay alone."""
    group = np.full(len(variable.categories), -1, dtype=np.int64)
    group[levels] = part
    if variable.kind == "ordinal":
        for low, high in pairwise(levels.tolist()):
            if group[low] == group[high]:
                group[low:high] = group[low]
    alone = group < 0
    group[alone] = len(levels) + np.arange(int(alone.sum()))
    members: dict[int, list[Category]] = {}
    for one, category in zip(group.tolist(), variable.categories, strict=True):
        members.setdefault(one, []).append(category)
    names: dict[int, Category] = {}
    words: dict[Category, str] = {}
    for one, categories in members.items():
        named = _name(categories, [str(c) for c in categories], ordered=variable.kind == "ordinal")
        while len(categories) > 1 and (named in variable.categories or named in names.values()):
            named = f"{named} (together)"
        names[one] = named
        if variable.labels and len(categories) > 1:
            spelled = [variable.spelled(category) for category in categories]
            words[named] = str(_name(categories, spelled, ordered=variable.kind == "ordinal"))
    changed, recoded = merged(variable, codes, [names[one] for one in group.tolist()], labels=words)
    return LinkedColumn(changed, recoded, f"its {len(levels):,} values are put into {int(part.max()) + 1:,} groups")


def _name(categories: Sequence[Category], spelled: Sequence[str], *, ordered: bool) -> Category:
    if len(categories) == 1:
        return categories[0]
    if ordered:
        return bands.joined_label(spelled)
    if len(spelled) <= NAMED:
        return " or ".join(spelled)
    return f"{' or '.join(spelled[: NAMED - 1])} or {len(spelled) - NAMED + 1} more"


def _in_bands(variable: Variable, column: Floats, levels: Floats, part: Integers) -> LinkedColumn | None:
    """Put a number into bands, cut at the roundest number between two parts; None where they are many."""
    begins = np.flatnonzero(np.diff(part)) + 1
    if len(begins) >= MAX_BANDS or variable.kind != "numeric":
        return None
    cuts = [bands.roundest(float(levels[at - 1]), float(levels[at])) for at in begins]
    names = bands.labels([-np.inf, *cuts, np.inf], whole=bands.is_whole(levels))
    return LinkedColumn(*classed(variable, column, cuts, names), f"it is put into {len(names)} bands")


# values computed anew


def _computed_anew(
    original: Microdata, protected: Microdata, variable: Variable, *, lookup: bool
) -> LinkedColumn | None:
    """Compute a linked variable from the published sources, if the original shows without exception how; or None.

    A number may be a sum of multiples of its sources. With ``lookup`` each value of the sources, or each combination of
    them, may have one value; that of a number which the original lacks is known from its neighbours (``_between``).
    Values that are not known are made missing, if they are few.
    """
    name, sources = variable.name, variable.sources
    number, published = ([_is_quantity(table.columns[s]) for s in sources] for table in (original, protected))
    if number != published:
        return None
    if _is_quantity(original.columns[name]) and all(number):
        summed = _summed(original, name, sources)
        if summed is not None:
            stated = replace(variable, treatment=_like_source(protected, sources, summed))
            found = summed[0] + _stacked(protected, sources) @ summed[1:]
            return _anew(original, protected, stated, _as_written(original, variable, found))
    column = _looked_up(original, protected, name, sources) if lookup else None
    if column is None:
        return None
    asked = np.logical_and.reduce([~protected.missing(one) for one in (name, *sources)])
    unknown = asked & _gaps(column)
    if unknown.sum() > EXCEPTIONS * asked.sum():
        return None
    return _anew(original, protected, variable.treated(PERTURBED), column)


def _anew(original: Microdata, protected: Microdata, stated: Variable, column: NDArray[Any]) -> LinkedColumn:
    """Leave missing what is, keep what is published where no source has a value; count what is missing more."""
    before = protected.schema[stated.name]
    lost = protected.missing(stated.name)
    column = np.where(_unsaid(protected, stated.sources), _as_before(original, protected, stated.name), column)
    column[lost] = nothing(column)
    more = int((_gaps(column) & ~lost).sum())
    stated = replace(stated, treatment=replace(stated.treatment, suppressed=before.treatment.suppressed + more))
    same = before.kind == stated.kind and before.categories == stated.categories
    if same and np.array_equal(column, protected.columns[stated.name], equal_nan=column.dtype.kind == "f"):
        return LinkedColumn(before, column)
    said = f"; {more:,} values that are not known are missing" if more else ""
    return LinkedColumn(stated, column, f"it is computed anew from what is published{said}")


def _gaps(column: NDArray[Any]) -> Mask:
    return np.isnan(column) if _is_quantity(column) else np.asarray(column < 0)


def _stacked(data: Microdata, names: Sequence[str]) -> Floats:
    return np.column_stack([data.columns[name] for name in names])


def _summed(original: Microdata, name: str, sources: Sequence[str]) -> Floats | None:
    """Return constant and factors of a sum that holds in every complete record, or None; whole ones as such."""
    X, y = _stacked(original, sources), original.columns[name]
    there = ~np.isnan(y) & ~np.isnan(X).any(axis=1)
    design, y = np.column_stack([np.ones(int(there.sum())), X[there]]), y[there]
    if len(y) < 3 * design.shape[1] or len(np.unique(y)) < 3:
        return None
    factors = np.asarray(np.linalg.lstsq(design, y, rcond=1e-12)[0])
    whole = np.rint(factors)
    factors = np.where(np.abs(factors - whole) <= 1e-6 * np.maximum(np.abs(whole), 1), whole, factors)
    size = np.abs(design) @ np.abs(factors) + np.abs(y)
    return factors if (np.abs(design @ factors - y) <= EXACT * size).all() else None


def _as_written(original: Microdata, variable: Variable, found: Floats) -> Floats:
    """Return a sum without what its additions left: 0.1 + 0.2 is 0.3 where the original has one decimal."""
    date = variable.kind == "date"
    near = rounded(found, resolution(original.columns[variable.name], date=date), date=date)
    return np.where(np.abs(near - found) <= EXACT * np.maximum(np.abs(found), 1), near, found)


def _like_source(protected: Microdata, sources: Sequence[str], summed: Floats) -> Treatment:
    """Say of a sum what was done to its one source, where that can be said; else that it need not be true."""
    done = protected.schema[sources[0]].treatment
    constant, factor = float(summed[0]), float(summed[1])
    if len(sources) > 1 or done.perturbed or done.groups or done.cuts or factor == 0:
        return PERTURBED
    base = None if done.base is None else abs(factor) * done.base
    if base is not None and abs(constant / base - round(constant / base)) > EXACT:
        return PERTURBED
    ends = [None if end is None else constant + factor * end for end in (done.bottom, done.top)]
    bottom, top = ends if factor > 0 else ends[::-1]
    return Treatment(bottom=bottom, top=top, base=base)


def _looked_up(original: Microdata, protected: Microdata, name: str, sources: Sequence[str]) -> NDArray[Any] | None:
    """Return the linked value of every published combination, missing where it is not known.

    None where a combination has two values in the original.
    """
    given = ~original.missing(name)
    asked = np.ones(len(protected), dtype=bool)
    taught, tested = [], []
    for source in sources:
        both = _in_common(original, protected, source)
        given &= ~original.missing(source)
        asked &= ~protected.missing(source)
        taught.append(both[: len(original)])
        tested.append(both[len(original) :])
    if not given.any():
        return None
    lesson = np.column_stack(taught)[given]
    place = classes(np.concatenate([lesson, np.column_stack(tested)[asked]]))[0]
    levels, value = np.unique(original.columns[name][given], return_inverse=True)
    one = np.full(int(place.max()) + 1, -1, dtype=np.int64)
    one[place[: len(lesson)]] = value
    if (one[place[: len(lesson)]] != value).any():
        return None
    found = one[place[len(lesson) :]]
    if len(sources) == 1 and _is_quantity(original.columns[sources[0]]):
        x, y = original.columns[sources[0]][given], protected.columns[sources[0]][asked]
        found = np.where(found < 0, _between(x, value, y), found)
    column = np.full(len(protected), nothing(levels), dtype=levels.dtype)
    column[asked] = np.where(found >= 0, levels[np.maximum(found, 0)], column[asked])
    return column


def _as_before(original: Microdata, protected: Microdata, name: str) -> NDArray[Any]:
    """Return what is published under the original's kind and categories; what these lack is missing."""
    before, after = original.columns[name], protected.columns[name]
    if _is_quantity(before) and _is_quantity(after):
        return after
    if _is_quantity(before) or _is_quantity(after):
        return np.full(len(after), nothing(before), dtype=before.dtype)
    both = aligned(original, protected, name)
    return np.where(both.protected < both.known, both.protected, -1).astype(np.int32)


def _in_common(original: Microdata, protected: Microdata, name: str) -> Integers:
    """Return a source of both tables under the same codes, one table after the other."""
    if _is_quantity(original.columns[name]):
        both = np.concatenate([original.columns[name], protected.columns[name]])
        return np.unique(both, return_inverse=True)[1].astype(np.int64)
    two = aligned(original, protected, name)
    return np.concatenate([two.original, two.protected]).astype(np.int64)


def _between(x: Floats, value: Integers, y: Floats) -> Integers:
    """Return the value of numbers that are not known but lie between two which have the same; -1 for others.

    Where the values are bands of the numbers, a band goes on up to the next one, and the outer ones go on for ever.

    >>> _between(np.array([20.0, 29, 30, 39]), np.array([0, 0, 1, 1]), np.array([12.0, 29.9, 31]))
    array([0, 0, 1])
    """
    known, first = np.unique(x, return_index=True)
    of = value[first]
    at = np.searchsorted(known, y)
    low, high = of[np.clip(at - 1, 0, len(of) - 1)], of[np.clip(at, 0, len(of) - 1)]
    in_bands = 1 + np.count_nonzero(np.diff(of)) == len(np.unique(of)) <= len(of) / 2
    inside = (at > 0) & (at < len(known))
    return low if in_bands else np.where(inside & (low == high), low, -1)


# What is linked follows its sources.

Fate = Literal["kept", "coarser", "changed"]


def followed(original: Microdata, protected: Microdata) -> Microdata:
    """Return the protected table with its linked variables as their sources are now; see the module.

    Doing it twice is doing it once.

    >>> import pyarrow as pa
    >>> from sfumato.table.schema import Schema
    >>> table = pa.table({"age": [31, 38, 52], "group": ["30-39", "30-39", "50-59"]})
    >>> data = Microdata.from_frame(table, Schema((Variable("group", "nominal", linked="age"),)))
    >>> followed(data, data.without(["age"])).names
    Traceback (most recent call last):
    sfumato.errors.NotApplicable: 'group' is linked to 'age' and would go with it; nothing would be left
    >>> followed(data, made_missing(data, {"age": np.array([True, False, False])})).to_frame()["group"].to_pylist()
    [None, '30-39', '50-59']
    """
    for variable in original.schema.links():
        if variable.name in protected.schema:
            protected = _follow(original, protected, variable)
    return protected


def left_out_by_links(original: Microdata, protected: Microdata) -> tuple[str, ...]:
    """Name the linked variables that are gone because of what became of their sources; records are the original's.

    One that is gone though it could have followed was removed for its own sake, and is not named.

    >>> import pyarrow as pa
    >>> from sfumato.table.schema import Schema
    >>> table = pa.table({"age": [31, 38, 52], "group": ["30-39", "30-39", "50-59"], "pay": [1.0, 2.0, 3.0]})
    >>> data = Microdata.from_frame(table, Schema((Variable("group", "nominal", linked="age"),)))
    >>> left_out_by_links(data, data.without(["age", "group"])), left_out_by_links(data, data.without(["group"]))
    (('group',), ())
    """
    if len(protected) != len(original):
        return ()
    gone: list[str] = []
    for variable in original.schema.links():
        name, sources = variable.name, variable.sources
        if name in protected.schema:
            continue
        there = all(source in protected.schema for source in sources)
        if not there or name not in _follow(original, _put_back(original, protected, variable), variable).schema:
            gone.append(name)
    return tuple(gone)


def _put_back(original: Microdata, protected: Microdata, variable: Variable) -> Microdata:
    """Return the protected table with a variable that it lacks as the original has it."""
    schema = replace(protected.schema, variables=(*protected.schema.variables, variable))
    columns = {**protected.columns, variable.name: original.columns[variable.name]}
    return replace(protected, schema=schema, columns=columns)


def _follow(original: Microdata, protected: Microdata, variable: Variable) -> Microdata:
    name, sources = variable.name, variable.sources
    gone = [source for source in sources if source not in protected.schema]
    if gone:
        return _left_out(protected, name, gone[0], "which is left out")
    done = [_done(original, protected, source) for source in sources]
    hidden = np.logical_or.reduce([one.hidden for one in done])
    protected, said = _blanked(original, protected, name, hidden)
    touched = [source for source, one in zip(sources, done, strict=True) if one.fate != "kept"]
    if touched:
        changed = any(one.fate == "changed" for one in done)
        found = _computed_anew(original, protected, variable, lookup=changed)
        if found is None and not changed:
            found = _put_together(original, protected, name, sources)
        if found is None:
            how = "whose values were changed" if changed else "whose values were put together"
            return _left_out(protected, name, touched[0], how)
        made = _recast(protected, name, found) if found.said else protected
        if not _alike(made, protected, name):
            protected, said = made, [*said, found.said]
    if protected.schema[name].sources != sources:  # a part of the table in between lacked a source
        protected = replace(protected, schema=protected.schema.replace(replace(protected.schema[name], linked=sources)))
    if not said:
        return protected
    note = f"{name} follows {' and '.join(sources)}, to which it is linked: {'; '.join(said)}"
    return replace(protected, notes=(*protected.notes, note))


def _alike(one: Microdata, other: Microdata, name: str) -> bool:
    x, y = one.columns[name], other.columns[name]
    return one.schema[name] == other.schema[name] and np.array_equal(
        x, y, equal_nan=_is_quantity(x) and _is_quantity(y)
    )


@dataclass(frozen=True, eq=False)
class _SourceOutcome:
    """What became of a source: the records that lost their value, and what the values are that are left."""

    fate: Fate
    hidden: Mask


def _done(original: Microdata, protected: Microdata, name: str) -> _SourceOutcome:
    before, after = original.schema[name], protected.schema[name]
    missing = protected.missing(name)
    perturbed = after.treatment.perturbed and not before.treatment.perturbed
    if not _paired(original, protected):  # a sample, or synthetic records: what the schema says of the variable
        lost = after.treatment.suppressed > before.treatment.suppressed
        bare = (replace(variable.treatment, suppressed=0) for variable in (before, after))
        coarser = before.kind != after.kind or len(set(bare)) > 1
        fate: Fate = "changed" if perturbed else "coarser" if coarser else "kept"
        return _SourceOutcome(fate, missing if lost else np.zeros(len(missing), dtype=bool))
    there = ~missing
    filled = bool((there & original.missing(name)).any())
    x, y = _comparable(original, protected, name)
    if not filled and x.dtype == y.dtype and np.array_equal(x[there], y[there]):
        fate = "kept"
    else:
        fate = "changed" if perturbed or filled or not _function(x[there], y[there]) else "coarser"
    return _SourceOutcome(fate, missing & ~original.missing(name))


def _paired(original: Microdata, protected: Microdata) -> bool:
    return protected.matched and len(protected) == len(original)


def _comparable(original: Microdata, protected: Microdata, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both columns, categories under the same codes."""
    x, y = original.columns[name], protected.columns[name]
    if _is_quantity(x) or _is_quantity(y):
        return x, y
    both = aligned(original, protected, name)
    return both.original, both.protected


def _function(x: NDArray[Any], y: NDArray[Any]) -> bool:
    values, classed = (np.unique(column, return_inverse=True)[1] for column in (x, y))
    return len(classes(np.column_stack([values, classed]))[1]) == int(values.max(initial=-1)) + 1


def _blanked(original: Microdata, protected: Microdata, name: str, hidden: Mask) -> tuple[Microdata, list[str]]:
    """Make a linked value missing where a source was made missing, and for all members of a household that share it."""
    if hidden.any() and _paired(original, protected) and _shared(original, name):
        home = units(original)
        hidden = np.isin(home, home[hidden])
    rows = hidden & ~protected.missing(name)
    if not rows.any():
        return protected, []
    return made_missing(protected, {name: rows}), [f"{int(rows.sum()):,} more values are missing"]


def _shared(original: Microdata, name: str) -> bool:
    others = {*original.names} - {name, original.schema.household}
    return original.schema.household is not None and name in household_level(original.without(others))


def _put_together(
    original: Microdata, protected: Microdata, name: str, sources: tuple[str, ...]
) -> LinkedColumn | None:
    """Put linked values together as they were published, or else as they were before they were masked themselves."""
    found = put_together(protected, name, sources)
    if found is None and _paired(original, protected):
        variable, column = original.schema[name], original.columns[name].copy()
        column[protected.missing(name)] = nothing(column)
        lost = protected.schema[name].treatment.suppressed - variable.treatment.suppressed
        variable = variable.treated(Treatment(suppressed=max(lost, 0)))
        found = put_together(protected.recast({name: (variable, column)}), name, sources)
    return found


def _recast(protected: Microdata, name: str, found: LinkedColumn) -> Microdata:
    variable, column = found.variable, found.column
    if _is_quantity(column):
        return protected.recast({name: (variable, column)})
    variable, column = only_present(variable, column)
    recast = protected.recast({name: (variable, column)})
    return replace(recast, origin=recast.origin.listing({name: variable.categories}))


def _left_out(protected: Microdata, name: str, source: str, how: str) -> Microdata:
    if len(protected.names) == 1:
        raise NotApplicable(f"{name!r} is linked to {source!r} and would go with it; nothing would be left")
    return protected.without([name], f"{name} is left out, because it is linked to {source}, {how}")
