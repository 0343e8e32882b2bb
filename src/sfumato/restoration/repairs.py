"""What is done to a protected table before it goes out, so that the rest of the file does not give values back.

In this order: ids and names are left out; households that stay get new numbers; records stand in random order; where
the audit finds that the weight gives values back, it is raked anew from what is published; where a household shows a
blanked value of one member at another, it is blanked for all; where another column is a copy that gives values back, it
is blanked in these records, or left out. Variables that are linked to one that is repaired follow it. After each round
the audit is run again.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato.data.linked import followed
from sfumato.data.microdata import Microdata
from sfumato.data.present import made_missing
from sfumato.data.treatment import PERTURBED
from sfumato.data.units import units
from sfumato.errors import DataError, NotApplicable
from sfumato.kernels.raking import raked
from sfumato.restoration.audit import audit
from sfumato.restoration.findings import Audit, Checked, Restored, Route
from sfumato.restoration.wording import listed

COPY = 0.95  # of the protected values a column gives back that is a copy of another
MANY_UNITS = 20  # households from which a column with as many values is a number of them
MARGIN = 25  # records at least in a category that weights are raked to; smaller ones are taken together
ROUNDS = 4  # of repairs, each followed by an audit
Order = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table as it goes out: ``order`` names for each of its records the one of the original."""

    table: Microdata
    order: Order | None  # None: as they came
    checked: Checked


@dataclass
class _Work:
    """The table while it is repaired; records stay in the original's order until the end."""

    original: Microdata
    table: Microdata
    order: Order | None
    done: list[str] = field(default_factory=list)
    public: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    altered: list[str] = field(default_factory=list)

    def prepared(self, found: Audit | None = None, unaudited: str = "", *, excused: bool = False) -> Prepared:
        checked = Checked(
            done=tuple(self.done),
            public=tuple(self.public),
            audit=found,
            unaudited=unaudited,
            excused=excused,
            missing={name: float(self.table.missing(name).mean()) for name in self.table.names},
            renewed=tuple(self.renewed),
            altered=tuple(self.altered),
        )
        return Prepared(self.shuffled(), self.order, checked)

    def shuffled(self) -> Microdata:
        return self.table if self.order is None else self.table.take(self.order)


def record_order(records: int, seed: int, key: str = "") -> Order:
    """Return the random order in which the records of a release stand: the same for the same seed and key.

    The ``key`` names the release, so that two of one seed do not stand in the same order and cannot be laid side by
    side.

    >>> sorted(record_order(5, seed=1).tolist())
    [0, 1, 2, 3, 4]
    """
    return _stream(seed, f"order of the records {key}").permutation(records)


def prepare(
    original: Microdata,
    made: Microdata,
    *,
    seed: int,
    key: str = "",
    keep_order: bool = False,
    keep_weights: bool = False,
) -> Prepared:
    """Make a protected table ready to go out, and audit what it then gives back.

    ``made`` has the records of the original in their order. What remains is in the audit. Synthetic records and
    samples are put in random order and not audited, which is said. ``key`` names the release: see ``record_order``.
    """
    order = None if keep_order else record_order(len(made), seed, key)
    work = _Work(original, made, order)
    _without_names(work)
    _new_households(work, seed, key)
    if order is not None:
        work.done.append("records stand in random order")
        work.public.append("Records stand in random order: their order and numbers carry no meaning.")
    if not made.matched or len(made) != len(original):
        why = "its records are not those of the original one by one"
        return work.prepared(unaudited=why, excused=True)
    try:
        _follow(work)
        found = _audited(work)
        for _ in range(ROUNDS):
            if found.passed or not _repaired(work, found, keep_weights=keep_weights):
                break
            _follow(work)
            found = _audited(work)
    except (DataError, NotApplicable) as refusal:
        return work.prepared(unaudited=str(refusal))
    return work.prepared(found)


def _follow(work: _Work) -> None:
    """Let linked variables follow what the repairs did to their sources."""
    table = followed(work.original, work.table)
    work.done += table.notes[len(work.table.notes) :]
    kept = {name: table.columns[name] is work.table.columns[name] for name in table.names}
    work.altered += [name for name in work.table.names if not kept.get(name, False)]
    work.table = table


def _stream(seed: int, what: str) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(what.encode()), 0)))


def _audited(work: _Work) -> Audit:
    order = np.arange(len(work.table)) if work.order is None else work.order
    table, weight = work.shuffled(), work.table.schema.weight
    if weight is None or weight not in work.renewed:
        return audit(work.original, table, order=order)
    # a raked weight is a function of published columns, which are tried by themselves and together
    found = audit(work.original, table.without([weight]), order=order)
    closed = Route("weight", untried="it was computed anew from what is published, so it tells no more")
    return replace(found, routes=tuple(closed if route.name == "weight" else route for route in found.routes))


def _without_names(work: _Work) -> None:
    kept = work.table.without_identifiers()
    copies = _copies_of_units(work.original, kept)
    kept = kept.without(copies) if copies and len(copies) < len(kept.names) else kept
    gone = tuple(name for name in work.table.names if name not in kept.names)
    if gone:
        work.table = kept
        work.altered += [name for name in copies if name in work.original.schema.analysed()]
        work.done.append(f"left out, for they name the units: {listed(gone)}")


def _copies_of_units(original: Microdata, table: Microdata) -> list[str]:
    """Name the columns that number the households, or the records, under another name."""
    name = original.schema.household
    if name is None or len(table) != len(original):
        return []
    homes = units(original)
    number, found = len(np.unique(homes)), []
    for other in table.names:
        column = table.columns[other]
        if other in table.schema.special().values() or len(np.unique(column[~table.missing(other)])) != number:
            continue
        if table.missing(other).any() or number < MANY_UNITS:
            continue
        codes = np.unique(column, return_inverse=True)[1]
        if len(np.unique(codes.astype(np.int64) * number + homes)) == number:
            found.append(other)
    return found


def _new_households(work: _Work, seed: int, key: str) -> None:
    """Number the households that are published anew, in random order."""
    name = work.table.schema.household
    if name is None or name not in work.table.columns:
        return
    column, variable = work.table.columns[name], work.table.schema[name]
    missing = work.table.missing(name)
    old, place = np.unique(column[~missing], return_inverse=True)
    numbers = _stream(seed, f"numbers of the households {key}").permutation(len(old))
    fresh = column.astype(np.float64).copy()
    fresh[missing] = np.nan
    fresh[~missing] = numbers[place] + 1
    plain = replace(variable, kind="numeric", categories=(), labels=())
    work.table = work.table.recast({name: (plain, fresh)})
    work.renewed.append(name)
    work.done.append(f"{name} has new numbers")
    work.public.append(f"The numbers of {name} tell who belongs together and nothing else.")


def _repaired(work: _Work, found: Audit, *, keep_weights: bool) -> bool:
    """Close the routes that restore anything, as far as that can be done; tell whether something was done."""
    before = len(work.done)
    for route in found.routes:
        alarms = [restored for restored in route.by_variable if restored.alarm]
        if not alarms:
            continue
        if route.name == "weight":
            if not keep_weights:
                _raked(work)
        elif route.name == "household":
            _blank_together(work, {restored.variable for restored in alarms})
        elif route.name in ("columns", "combinations", "sums"):
            for restored in alarms:
                _cut(work, restored)
    return len(work.done) > before


def _raked(work: _Work) -> None:
    """Compute the weight anew from what is published, so that it tells no more than that; once is enough."""
    name = work.table.schema.weight
    if name is None or name in work.renewed:
        return
    work.renewed.append(name)
    schema = work.table.schema
    names = [n for n in schema.analysed("ordinal", "nominal") if len(np.unique(work.table.columns[n])) > 1]
    old = work.table.weights()
    weighing = old > 0  # who has no weight, out of scope say, gets none
    columns = [_margin(work.table.columns[n][weighing]) for n in names]
    columns = [column for column in columns if column.max(initial=0) > column.min(initial=0)]
    codes = np.column_stack(columns) if columns else np.zeros((int(weighing.sum()), 1), dtype=np.int64)
    new, apart = old.copy(), 0.0
    if weighing.any():
        found, apart = raked(codes, old[weighing])
        new[weighing] = _significant(found)
    work.table = work.table.replace({name: new}, treatment=PERTURBED)
    said = f"{name} is raked anew to the margins of {listed(names)}, because the exact one gave values back"
    cost = _moved(work.table, schema.analysed("numeric"), old, new)
    left = f"; margins hold up to {apart:.1g}" if apart > 1e-6 else ""
    work.done.append(f"{said}{left}{cost}")
    held = f"weighted counts of the common categories of {listed(names, most=12)} hold"
    work.public.append(f"The survey weights {name} were computed anew: {held}.")


def _margin(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the categories of a column with those of few records taken together: many would bring the weight back."""
    values, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return np.where(counts < MARGIN, len(values), np.arange(len(values)))[place]


def _significant(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round weights to six digits of their mean."""
    digits = 6 - math.ceil(math.log10(float(weights.mean())))
    return np.round(weights, digits)


def _moved(table: Microdata, names: Iterable[str], old: NDArray[np.float64], new: NDArray[np.float64]) -> str:
    """Say by how much the weighted mean of a number moves at most, in its standard deviations."""
    moved = {}
    for name in names:
        there = ~table.missing(name)
        x, spread = table.columns[name][there], float(np.nanstd(table.columns[name]))
        if there.any() and spread > 0 and min(old[there].sum(), new[there].sum()) > 0:
            moved[name] = abs(np.average(x, weights=new[there]) - np.average(x, weights=old[there])) / spread
    if not moved:
        return ""
    worst = max(moved, key=lambda name: moved[name])
    return f"; weighted means move by at most {moved[worst]:.2g} standard deviations ({worst})"


def _blank_together(work: _Work, names: Iterable[str]) -> None:
    """Blank a household's value for all members where it is blank for one; households are the original's."""
    if work.original.schema.household is None:
        return
    homes = units(work.original)
    for name in names:
        if name not in work.table.columns:
            continue
        here = work.table.missing(name) & ~work.original.missing(name)
        blank = np.isin(homes, homes[here]) & ~work.table.missing(name)
        if blank.any():
            _blanked(work, name, blank)
            work.done.append(f"{name} is blank for all members of a household if for one ({int(blank.sum()):,} values)")


def _cut(work: _Work, found: Restored) -> None:
    """Blank a copy in the records it gives a value back in, or leave it out if these are many.

    A column that is more than a copy is for whoever decides: to leave it out would cost what no figure has counted.
    """
    if found.restored < COPY or len(found.evidence) > 1:
        return
    schema = work.table.schema
    free = [name for name in found.evidence if name in work.table.columns and name not in schema.special().values()]
    # the one that is least worth: no key and not confidential, if there is such a one
    free.sort(key=lambda name: (schema[name].role != "other", name))
    if not free:
        return
    name = free[0]
    if found.variable in work.table.columns and found.level == "as published":
        blank = work.table.missing(found.variable) & ~work.original.missing(found.variable) & ~work.table.missing(name)
        if blank.any() and blank.mean() < 0.5:
            _blanked(work, name, blank)
            work.done.append(
                f"{name} is blank where {found.variable} is, because it tells it ({int(blank.sum()):,} values)"
            )
            return
    if len(work.table.names) > 1:
        work.table = work.table.without([name])
        work.altered.append(name)
        work.done.append(f"{name} is left out, because it tells {found.variable}")


def _blanked(work: _Work, name: str, blank: NDArray[np.bool_]) -> None:
    work.table = made_missing(work.table, {name: blank})
    work.altered.append(name)
