"""What is done to a protected table before it goes out, so that the rest of the file does not give values back.

In this order: ids and names are left out; households that stay get new numbers; records stand in random order; where
the audit finds that the weight gives values back, it is raked anew from what is published; where a household shows a
blanked value of one member at another, it is blanked for all; where another column gives values back, it is blanked in
these records, or left out. Variables that are linked to one that is repaired follow it. After each round the audit is
run again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.audit import audit_of, with_zero_weights
from sfumato.auditing.belonging import (
    copies_of_names,
    sizes_to_count,
    told_by_others,
    told_of_households,
    with_told_by_others,
)
from sfumato.auditing.findings import Audit, Checked, Restored, Route, listed
from sfumato.auditing.of_parts import SampleDesign, with_how_drawn
from sfumato.auditing.targets import Rows
from sfumato.errors import OF_THE_RUN, unexpected
from sfumato.table.households import units
from sfumato.table.linked import followed, left_out_by_links
from sfumato.table.microdata import Microdata
from sfumato.table.present import made_missing
from sfumato.table.treatment import PERTURBED
from sfumato.table.weights import moved_mean, raked_weights, rounded_weights

COPY = 0.95  # of the protected values a column gives back that is a copy of another
ROUNDS = 10  # of repairs, each followed by an audit
What = Literal["left out", "lost", "withheld", "gone", "blank", "followed", "renumbered", "raked", "in words"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table as it goes out: ``order`` names for each of its records the one of the original."""

    table: Microdata
    order: Rows | None  # None: as they came
    checked: Checked


@dataclass(frozen=True)
class Repair:
    """One thing that was done, to which variables of the original, and the words for it.

    What is "lost" is left out and was more than a copy. "withheld" is a number of households that tells a size, "gone"
    what left with its source before any repair.
    """

    what: What
    columns: tuple[str, ...] = ()
    records: int = 0  # in which a value was made blank
    inside: str = ""  # words for those who decide
    public: str = ""  # words for everyone


@dataclass
class _Work:
    """The table while it is repaired; records stay in the original's order until the end."""

    original: Microdata
    table: Microdata
    order: Rows | None
    of_parts: SampleDesign | None = None  # how the records were drawn of a table in parts
    repairs: list[Repair] = field(default_factory=list)

    @property
    def only_left_out(self) -> bool:
        """Whether columns are left out and nothing else is repaired."""
        return self.of_parts is not None

    def columns(self, *what: What) -> tuple[str, ...]:
        """Return the columns of some repairs, in the order in which they were made."""
        return tuple(name for repair in self.repairs if repair.what in what for name in repair.columns)

    @property
    def left_out(self) -> tuple[str, ...]:
        return self.columns("left out", "lost", "gone")

    @property
    def renewed(self) -> tuple[str, ...]:
        return self.columns("renumbered", "raked")

    def prepared(self, found: Audit | None = None, unaudited: str = "", *, excused: bool = False) -> Prepared:
        told = sorted(self.repairs, key=lambda repair: repair.what == "raked")  # which comes last, in words too
        checked = Checked(
            done=tuple(repair.inside for repair in told if repair.inside),
            public=tuple(repair.public for repair in told if repair.public),
            audit=found,
            unaudited=unaudited,
            excused=excused,
            missing={name: float(self.table.missing(name).mean()) for name in self.table.names},
            renewed=self.renewed,
            renumbered=self.columns("renumbered"),
            altered=self.columns("left out", "lost", "withheld", "blank", "followed"),
            left_out=self.left_out,
            lost=self.columns("lost"),
        )
        return Prepared(self.shuffled(), self.order, checked)

    def shuffled(self) -> Microdata:
        return self.table if self.order is None else self.table.take(self.order)


def record_order(records: int, seed: int, key: str = "") -> Rows:
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
    keep_households: bool = False,
    of_parts: SampleDesign | None = None,
) -> Prepared:
    """Make a protected table ready to go out, and audit what it then gives back.

    ``made`` has the records of the original in their order, or a sample of them that knows which it drew. What remains
    is in the audit. Synthetic records are put in random order and not audited, which is said. ``key`` names the
    release: see ``record_order``.

    Both may be records of tables in parts, and ``of_parts`` says how these were drawn: then
    columns are left out and nothing else is repaired, because what is done to these records must be done to all. A
    weight that gives values back, and the numbers of households, are left out too.
    """
    if made.drawn is not None:
        original = original.take(made.drawn)
    order = None if keep_order else record_order(len(made), seed, key)
    work = _Work(original, made, order, of_parts)
    _without_names(work)
    alike = (made.matched or made.drawn is not None) and len(made) == len(original)
    if alike:
        _without_counts(work, keep_households=keep_households)
    _new_households(work, seed, key)
    if order is not None:
        public = "Records stand in random order: their order and numbers carry no meaning."
        work.repairs.append(Repair("in words", inside="records stand in random order", public=public))
    if not alike:
        why = "its records are not those of the original one by one"
        return work.prepared(unaudited=why, excused=made.drawn is None)
    try:
        work.repairs.append(Repair("gone", tuple(left_out_by_links(original, made))))  # no secret besides its source
        _blank_together(work, told_by_others(original, made))
        _follow(work)
        found = _audited(work)
        for _ in range(ROUNDS):
            if found.passed or not _repaired(work, found, made.weights(), keep_weights=keep_weights):
                break
            _blank_together(work, told_by_others(original, work.table))
            _without_counts(work, keep_households=keep_households)
            _follow(work)
            found = _audited(work)
        found = with_zero_weights(found, work.original.without(work.left_out), work.table)
        some = of_parts is not None and bool(of_parts.notes)
        told = told_of_households(work.original, work.table, found.near, found.margin, some=some)
        work.repairs += [Repair("in words", inside=said) for said in told]
        if of_parts is not None:
            found = with_told_by_others(found, work.original, work.table, some=some)
            found = with_how_drawn(found, work.original.without(work.left_out), work.table, of_parts)
    except OF_THE_RUN:
        raise
    except Exception as error:  # a table that was not audited does not go out
        return work.prepared(unaudited=unexpected(error))
    return work.prepared(found)


def _follow(work: _Work) -> None:
    table = followed(work.original, work.table)
    work.repairs += [Repair("in words", inside=said) for said in table.notes[len(work.table.notes) :]]
    for name in work.table.names:
        if name not in table.names:
            work.repairs.append(Repair("left out", (name,)))
        elif table.columns[name] is not work.table.columns[name]:
            work.repairs.append(Repair("followed", (name,)))
    work.table = table


def _stream(seed: int, what: str) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(what.encode()), 0)))


def _audited(work: _Work) -> Audit:
    order = np.arange(len(work.table)) if work.order is None else work.order
    original = work.original.without(work.left_out)  # what the repairs leave out is no secret of its own
    table, weight = work.shuffled(), work.table.schema.weight
    if weight is None or weight not in work.renewed:
        return audit_of(original, table, order=order, seen=work.of_parts)
    # a raked weight is a function of published columns, which are tried by themselves and together; weights of zero,
    # which stay, are tried in the end
    found = audit_of(original, table.without([weight]), order=order, seen=work.of_parts)
    closed = Route("weight", untried="it was computed anew from what is published, so it tells no more than that")
    return replace(found, routes=tuple(closed if route.name == "weight" else route for route in found.routes))


def _without_names(work: _Work) -> None:
    kept = work.table.without_identifiers()
    copies = copies_of_names(work.original, kept)
    kept = kept.without(copies) if copies and len(copies) < len(kept.names) else kept
    gone = tuple(name for name in work.table.names if name not in kept.names)
    if gone:
        work.table = kept
        copies = [name for name in copies if name in work.original.schema.analysed()]
        inside = f"left out, for they name the units: {listed(gone, most=12)}"
        work.repairs.append(Repair("left out", tuple(copies), inside=inside))


def _without_counts(work: _Work, *, keep_households: bool) -> None:
    """Blank the household's number where a size that is protected could be counted from it; leave it out if often."""
    for size, rows in sizes_to_count(work.original, work.table).items():
        home = work.original.schema.household
        assert home is not None
        if size in work.left_out or home not in work.table.columns:
            continue
        why = f"{size} can be counted from it"
        if keep_households:
            said = Repair("in words", inside=f"{home} is kept, though {why}")
            work.repairs += [said] if said not in work.repairs else []
        elif rows.mean() < 0.5 and not work.only_left_out:
            inside = f"{home} is blank where {size} is protected, because {why}"
            _blanked(work, home, rows, inside, f"{home} is blank where {size} is not told in full.")
        elif len(work.table.names) > 1:
            work.table = work.table.without([home])
            work.repairs = [  # nobody sees its new numbers
                replace(one, what="in words", public="") if one.what == "renumbered" else one for one in work.repairs
            ]
            work.repairs.append(Repair("withheld", (home,), inside=f"{home} is left out, because {why}"))


def _new_households(work: _Work, seed: int, key: str) -> None:
    name = work.table.schema.household
    if name is None or name not in work.table.columns:
        return
    if work.only_left_out:
        _left_out(work, name, "the households of a table in parts are not numbered anew")
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
    public = f"The numbers of {name} tell who belongs together and nothing else."
    work.repairs.append(Repair("renumbered", (name,), inside=f"{name} has new numbers", public=public))


def _repaired(work: _Work, found: Audit, old: NDArray[np.float64], *, keep_weights: bool) -> bool:
    """Close the routes that restore anything, as far as that can be done; tell whether something was done."""
    before, rake = len(work.repairs), False
    cut: set[str] = set()  # in this round: what hangs on it is seen in the next audit
    for route in found.routes:
        alarms = [restored for restored in route.by_variable if restored.alarm]
        if not alarms:
            continue
        if route.name == "weight":
            copies = _copies_of_weight(work)
            for name in copies:
                _left_out(work, name, "it is the weight under another name")
            weight = work.table.schema.weight
            told = {restored.variable for restored in alarms} - set(copies)
            if weight is not None and weight not in work.renewed and not keep_weights and told:
                if work.only_left_out:
                    why = "it gives values back, and weights of a table in parts are not raked anew"
                    _left_out(work, weight, why, "lost")
                else:
                    rake = True
        elif route.name == "household":
            cut |= _blank_together(work, {restored.variable for restored in alarms})
        elif route.name in ("columns", "combinations", "sums", "text"):
            for restored in alarms:
                if cut.isdisjoint(restored.columns):
                    cut |= _cut(work, restored)
    repaired = rake or len(work.repairs) > before
    if rake or (repaired and work.columns("raked")):
        _raked(work, old)
    return repaired


def _copies_of_weight(work: _Work) -> list[str]:
    """Name the published numbers that put all records in the order of the original weight: the weight once more."""
    weight, schema = work.original.schema.weight, work.original.schema
    if weight is None or weight not in work.table.columns:
        return []
    ranked = {
        n: np.unique(work.original.columns[n], return_inverse=True)[1] for n in (weight, *schema.analysed("numeric"))
    }
    first = ranked.pop(weight)
    constant = first.max(initial=0) == 0
    return [n for n in ranked if n in work.table.columns and np.array_equal(ranked[n], first) and not constant]


def _raked(work: _Work, old: NDArray[np.float64]) -> None:
    """Compute the weight anew from what is published now, so that it tells no more than that; ``old`` ones are weighed.

    What is blanked or left out afterwards would still be in it, so it is done last.
    """
    schema = work.table.schema
    weight = schema.weight
    assert weight is not None
    names = [n for n in schema.analysed("ordinal", "nominal") if len(np.unique(work.table.columns[n])) > 1]
    before = work.table.replace({weight: old})
    found, apart = raked_weights(before, names)
    new = rounded_weights(found)
    work.table = work.table.replace({weight: new}, treatment=PERTURBED)
    margins = f"to the margins of {listed(names)}" if names else "as equal ones, for no category is published"
    said = f"{weight} is raked anew {margins}, because the exact one gave values back"
    moved = moved_mean(work.table, schema.analysed("numeric"), old, new)
    cost = f"; weighted means move by at most {moved[1]:.2g} standard deviations ({moved[0]})" if moved else ""
    left = f"; margins hold up to {apart:.1g}" if apart > 1e-6 else ""
    held = f"weighted counts of the common categories of {listed(names, most=12)} hold" if names else "they are equal"
    public = f"The survey weights {weight} were computed anew: {held}."
    work.repairs = [one for one in work.repairs if one.what != "raked"]
    work.repairs.append(Repair("raked", (weight,), inside=f"{said}{left}{cost}", public=public))


def _blank_together(work: _Work, names: Iterable[str]) -> set[str]:
    """Blank a household's value for all members where it is blank for one; name what was blanked.

    Households are the original's.
    """
    done: set[str] = set()
    if work.original.schema.household is None or work.only_left_out:
        return done
    homes = units(work.original)
    for name in names:
        if name not in work.table.columns:
            continue
        here = work.table.missing(name) & ~work.original.missing(name)
        blank = np.isin(homes, homes[here]) & ~work.table.missing(name)
        if blank.any():
            _blanked(work, name, blank, f"{name} is blank for all members of a household if for one")
            done.add(name)
    return done


def _cut(work: _Work, found: Restored) -> set[str]:
    """Blank a column in the records it gives a value back in, or leave it out if these are many; name it.

    Of several columns that tell a value only together one goes: the finest of those that are neither key nor
    confidential. A key or a confidential variable goes only if it is a copy, because to leave it out would otherwise
    cost what the release is for: that is for whoever decides.
    """
    schema = work.table.schema
    there = [name for name in found.columns if name in work.table.columns and name not in schema.special().values()]
    copy = found.restored >= COPY and len(found.columns) == 1
    free = [name for name in there if copy or schema[name].role == "other"]
    if not free or found.variable in free:
        return set()
    name = min(free, key=lambda name: (schema[name].role != "other", -_different(work.table, name), name))
    why = f"it tells {found.variable}" if len(found.columns) == 1 else f"with others it tells {found.variable}"
    if found.variable in work.table.columns and found.level == "as published" and not work.only_left_out:
        blank = work.table.missing(found.variable) & ~work.original.missing(found.variable) & ~work.table.missing(name)
        if blank.any() and blank.mean() < 0.5:
            _blanked(work, name, blank, f"{name} is blank where {found.variable} is, because {why}")
            return {name}
    if len(work.table.names) > 1:
        _left_out(work, name, why, "left out" if copy else "lost")
    return {name}


def _different(table: Microdata, name: str) -> int:
    return len(np.unique(table.columns[name][~table.missing(name)]))


def _left_out(work: _Work, name: str, why: str, what: What = "left out") -> None:
    work.table = work.table.without([name])
    work.repairs.append(Repair(what, (name,), inside=f"{name} is left out, because {why}"))


def _blanked(work: _Work, name: str, blank: NDArray[np.bool_], inside: str, public: str = "") -> None:
    work.table = made_missing(work.table, {name: blank})
    values = int(blank.sum())
    work.repairs.append(Repair("blank", (name,), values, f"{inside} ({values:,} values)", public))
