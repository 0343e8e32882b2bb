"""Variables that follow others: a variable linked to its sources tells no more of them than they tell themselves.

``Variable("cohort", linked="age")`` says that age determines cohort, wholly or nearly. ``followed`` looks at what
became of each source and does the same to what is linked to it:

- a source was removed: so is the linked variable;
- a value of a source was made missing: so is the linked value of that record, and of the other members of its household
  where they share it;
- values of a source were put together: the linked values that occur with the same published class are put together too
  (``sfumato.data.linked_values``), so that the linked value can be told from the published one;
- values of a source need no longer be true: the linked variable is computed anew from the published source where the
  original shows how, and left out where it does not.

What was done is said in the notes of the table. A table whose schema links nothing comes back as it is.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.alignment import aligned
from sfumato.data.households import household_level
from sfumato.data.linked_values import Followed, computed_anew, is_quantity, nothing, put_together
from sfumato.data.microdata import Microdata
from sfumato.data.present import made_missing, only_present
from sfumato.data.schema import Variable
from sfumato.data.treatment import Treatment
from sfumato.data.units import units
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes

Mask = NDArray[np.bool_]
Fate = Literal["kept", "coarser", "changed"]


def followed(original: Microdata, protected: Microdata) -> Microdata:
    """Return the protected table with its linked variables as their sources are now; see the module.

    Doing it twice is doing it once.

    >>> import pyarrow as pa
    >>> from sfumato.data.schema import Schema
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
    >>> from sfumato.data.schema import Schema
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
        found = computed_anew(original, protected, variable, lookup=changed)
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
    """Tell whether two tables hold the same of a variable."""
    x, y = one.columns[name], other.columns[name]
    return one.schema[name] == other.schema[name] and np.array_equal(x, y, equal_nan=is_quantity(x) and is_quantity(y))


@dataclass(frozen=True, eq=False)
class _Done:
    """What became of a source: the records that lost their value, and what the values are that are left."""

    fate: Fate
    hidden: Mask


def _done(original: Microdata, protected: Microdata, name: str) -> _Done:
    before, after = original.schema[name], protected.schema[name]
    missing = protected.missing(name)
    perturbed = after.treatment.perturbed and not before.treatment.perturbed
    if not _paired(original, protected):  # a sample, or synthetic records: what the schema says of the variable
        lost = after.treatment.suppressed > before.treatment.suppressed
        bare = (replace(variable.treatment, suppressed=0) for variable in (before, after))
        coarser = before.kind != after.kind or len(set(bare)) > 1
        fate: Fate = "changed" if perturbed else "coarser" if coarser else "kept"
        return _Done(fate, missing if lost else np.zeros(len(missing), dtype=bool))
    there = ~missing
    filled = bool((there & original.missing(name)).any())
    x, y = _comparable(original, protected, name)
    if not filled and x.dtype == y.dtype and np.array_equal(x[there], y[there]):
        fate = "kept"
    else:
        fate = "changed" if perturbed or filled or not _function(x[there], y[there]) else "coarser"
    return _Done(fate, missing & ~original.missing(name))


def _paired(original: Microdata, protected: Microdata) -> bool:
    return protected.matched and len(protected) == len(original)


def _comparable(original: Microdata, protected: Microdata, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both columns, categories under the same codes."""
    x, y = original.columns[name], protected.columns[name]
    if is_quantity(x) or is_quantity(y):
        return x, y
    both = aligned(original, protected, name)
    return both.original, both.protected


def _function(x: NDArray[Any], y: NDArray[Any]) -> bool:
    """Tell whether every value of ``x`` went to one value of ``y``."""
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
    """Tell whether the members of a household share a variable."""
    others = {*original.names} - {name, original.schema.household}
    return original.schema.household is not None and name in household_level(original.without(others))


def _put_together(original: Microdata, protected: Microdata, name: str, sources: tuple[str, ...]) -> Followed | None:
    """Put linked values together as they were published, or else as they were before they were masked themselves."""
    found = put_together(protected, name, sources)
    if found is None and _paired(original, protected):
        variable, column = original.schema[name], original.columns[name].copy()
        column[protected.missing(name)] = nothing(column)
        lost = protected.schema[name].treatment.suppressed - variable.treatment.suppressed
        variable = variable.treated(Treatment(suppressed=max(lost, 0)))
        found = put_together(protected.recast({name: (variable, column)}), name, sources)
    return found


def _recast(protected: Microdata, name: str, found: Followed) -> Microdata:
    variable, column = found.variable, found.column
    if is_quantity(column):
        return protected.recast({name: (variable, column)})
    variable, column = only_present(variable, column)
    recast = protected.recast({name: (variable, column)})
    return replace(recast, origin=recast.origin.listing({name: variable.categories}))


def _left_out(protected: Microdata, name: str, source: str, how: str) -> Microdata:
    if len(protected.names) == 1:
        raise NotApplicable(f"{name!r} is linked to {source!r} and would go with it; nothing would be left")
    return protected.without([name], f"{name} is left out, because it is linked to {source}, {how}")
