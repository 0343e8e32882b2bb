"""The records of two tables in parts that are audited, the same in both.

Up to half of them are records with suppressed values, for these are rare; up to a quarter are others that show the
same categories, from whom an intruder learns what goes with them; the rest is drawn at random. The audit asks how many
of a variable's protected values come back, each beside a guess at the same value, so that it does no harm that they are
more among these records than in the table. Numbers coded at an end count as suppressed, for the file shows which they
are. Values that were changed are not drawn apart: an intruder does not know which, and what he would put wrong
elsewhere must count as often as in the table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.data.parts import TableInParts
from sfumato.errors import DataError, ParameterError
from sfumato.pair.random_order import RandomOrder
from sfumato.pair.sampled import drawn_records, only_records, sampled, taken
from sfumato.restoration.findings import Audit
from sfumato.restoration.guess import MANY
from sfumato.restoration.matching import match
from sfumato.restoration.suppressed import mates, suppressed, suppressed_in_order

Order = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Seen:
    """How the records at hand were drawn: at random, or for the sake of a variable, which they are asked for then.

    Who was drawn for another variable is no witness: values are suppressed where several together are rare, so that
    among such records these would seem to go together. They still show what stands beside the suppressed value.
    """

    notes: tuple[str, ...] = ()  # nothing if these are all records
    random: Mask | None = None  # None: all
    of: Mapping[str, Mask] = field(default_factory=dict)  # by variable, those drawn at random or for it

    def asked(self, data: Microdata, records: Order) -> Microdata:
        """Return a table without the values of which records are no witness; ``records`` numbers its rows."""
        if self.random is None:
            return data
        columns = {
            name: np.where(self.of.get(name, self.random)[records], column, np.nan if column.dtype.kind == "f" else -1)
            for name, column in data.columns.items()
            if name in data.schema.analysed()
        }
        kept = {name: column.astype(data.columns[name].dtype, copy=False) for name, column in columns.items()}
        return replace(data, columns={**data.columns, **kept})


@dataclass(frozen=True, eq=False)
class AtHand:
    """Records of both tables in memory: for each of the protected one, ``order`` names that of the original."""

    original: Microdata
    protected: Microdata
    order: Order
    matched: str
    seen: Seen


@dataclass(frozen=True, eq=False)
class _Given:
    """An order that says, for each protected record, which of the original it is."""

    record: Order
    place: Order

    @classmethod
    def of(cls, order: Any, records: int) -> "_Given":
        record = np.asarray(order)
        if record.dtype.kind not in "iu" or not np.array_equal(np.sort(record), np.arange(records)):
            raise DataError(f"audit: order must name each of the {records:,} records of the original once")
        return cls(record.astype(np.intp), np.argsort(record))

    def records_at(self, places: Order, records: int) -> Order:
        return self.record[places]

    def places(self, rows: Order, records: int) -> Order:
        return self.place[rows]


def sample_of_both(
    original: Any,
    protected: Any,
    order: Sequence[int] | NDArray[np.integer] | RandomOrder | None,
    beside: Mapping[str, Any] | None,
    size: int,
) -> AtHand:
    """Draw the same records of both tables; refused where it cannot be told which record is which.

    ``order`` names the record of the original for each protected record of the whole table, or is that of a release.
    """
    if not isinstance(original, TableInParts) or not isinstance(protected, TableInParts):
        raise DataError("audit: one of the tables is in parts and the other is not; scan both, or read both")
    if beside is not None:
        raise ParameterError("audit: other releases are looked at beside a table in memory only")
    if len(original) != len(protected):
        raise DataError(
            f"audit: the tables in parts have {len(original):,} and {len(protected):,} records, so that it cannot be "
            "told which record is which; audit a table in memory"
        )
    if order is None:
        found = _beside_each_other(original, protected, size)
        how = in_place(found.original, found.protected)
        if not how:
            raise DataError(
                "audit: the records of the two tables in parts do not stand in the same order, and nothing tells which "
                "is which; of a release of ours keep the note that was written with it in its place"
            )
        return replace(found, matched=how)
    told = order if isinstance(order, RandomOrder) else _Given.of(order, len(protected))
    rows, seen = _drawn(original, protected, size, told)
    places = told.places(rows, len(original))
    tables = taken(original, rows), taken(protected, np.sort(places))
    return AtHand(*tables, np.argsort(places), "the order given", seen)


def at_hand_of_both(original: TableInParts, protected: TableInParts, size: int) -> AtHand:
    """Draw the same records of an original and of what a method made of it; of a sample, the originals that it drew."""
    drawn = protected.drawn
    if drawn is not None:
        found = _beside_each_other(only_records(original, drawn), protected, size)
        numbered = replace(found.protected, drawn=found.order)  # numbers are of the originals at hand
        return replace(found, protected=numbered)
    if protected.matched and len(original) == len(protected):
        return _beside_each_other(original, protected, size)
    tables = sampled(original, size), sampled(protected, size)
    return AtHand(*tables, np.arange(len(tables[1])), "", _at_random(len(tables[1]), len(protected)))


def _beside_each_other(original: TableInParts, protected: TableInParts, size: int) -> AtHand:
    rows, seen = _drawn(original, protected, size, None)
    return AtHand(taken(original, rows), taken(protected, rows), np.arange(len(rows)), "position", seen)


def _drawn(
    original: TableInParts, protected: TableInParts, size: int, order: RandomOrder | _Given | None
) -> tuple[Order, Seen]:
    """Return the numbers of the originals that are looked at, in ascending order, and how they were drawn."""
    records = len(original)

    def record_of(places: Order) -> Order:
        return places if order is None or not len(places) else order.records_at(places, records)

    if size >= records:
        return np.arange(records, dtype=np.intp), Seen()
    if order is None:
        found = suppressed(original, protected, size // 2)
    else:
        found = suppressed_in_order(original, protected, record_of, size // 2)
    chosen = found.chosen(size // 2)
    if not chosen:
        return drawn_records(records, size), _at_random(size, records)
    alike = {name: record_of(places) for name, places in mates(original, protected, chosen, size // 4).items()}
    drawn_for = {name: np.concatenate([rows, alike.get(name, rows[:0])]) for name, rows in chosen.items()}
    gone, apart = (np.unique(np.concatenate(list(one.values()))) for one in (chosen, drawn_for))
    random = drawn_records(records, size - len(apart))
    rows = np.union1d(apart, random)
    said = (
        f"audited in {len(rows):,} of {records:,} records: {_of(len(gone), found.records)} with {found.what}, "
        f"{len(apart) - len(gone):,} that show the same categories, and a random sample of {len(random):,}"
    )
    witness = np.isin(rows, random)
    return rows, Seen((said,), witness, {name: witness | np.isin(rows, some) for name, some in drawn_for.items()})


def _of(some: int, records: int | None) -> str:
    if some == records:
        return f"all {some:,}"
    return f"{some:,} of {records:,}" if records is not None else f"{some:,}"


def _at_random(size: int, records: int) -> Seen:
    """Say that a random sample is audited; nothing of all records."""
    return Seen((f"audited in a random sample of {size:,} of {records:,} records",) if size < records else ())


def with_how_drawn(found: Audit, original: Microdata, protected: Microdata, seen: Seen) -> Audit:
    """Return an audit of a part of the records that says how these were drawn, and of what it cannot judge."""
    if not seen.notes:
        return found
    return replace(found, notes=(*seen.notes, *_too_few(found, original, protected), *found.notes))


def _too_few(found: Audit, original: Microdata, protected: Microdata) -> Iterator[str]:
    """Say which variables were treated, but have too few protected values among the records looked at."""
    for name in original.schema.analysed():
        number = found.protected.get(name, 0)
        treated = name in protected.schema and protected.schema[name].treatment != original.schema[name].treatment
        if number < MANY and (number or treated):
            many = "no protected value is" if not number else f"only {number} of the protected values are"
            yield (
                f"of {name} {many} among the records audited: too few to tell whether the rest of the file gives them "
                "back"
            )


def in_place(original: Microdata, protected: Microdata) -> str | None:
    """Say by what it is known that records stand in the same order; "" if they do not, None if nothing tells."""
    try:
        found = match(original, protected)
    except DataError:
        return None
    return found.how if np.array_equal(found.rows, found.records) else ""
