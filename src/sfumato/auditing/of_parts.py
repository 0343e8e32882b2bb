"""The records of two tables in parts that are audited, the same in both.

Suppressed values are rare: a random sample of a large register may hold none of them, and of the small town that they
were suppressed in nobody else, from whom an intruder learns what goes with them. So both are looked for in all parts,
by draws that are numbered by record, so that no cut changes which are drawn. Up to half of the records are those with
suppressed values; up to a quarter are others that show the same categories; the rest is drawn at random. The audit asks
how many of a variable's protected values come back, each beside a guess at the same value, so that it does no harm that
they are more among these records than in the table. Numbers coded at an end are rare too and count as suppressed, for
whoever has the file sees which they are. Values that were changed are not drawn apart: an intruder does not know which,
and what he would put wrong elsewhere must count as often as in the table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.findings import Audit
from sfumato.auditing.matching import match
from sfumato.auditing.targets import MIN_IN_BAND, Floats, Mask, Rows
from sfumato.errors import DataError, ParameterError
from sfumato.pair.half import each_part
from sfumato.pair.random_order import RandomOrder
from sfumato.pair.sample import drawn_records, only_records, sampled, selected
from sfumato.table.draws import Draws
from sfumato.table.microdata import Microdata
from sfumato.table.on_demand import OnDemand
from sfumato.table.parts import TableInParts, cut_alike

MATES = 3  # records that show the category of a suppressed value, of each category
CODED = 200  # records whose number was coded at an end, of each variable: more would crowd the ranks there
LOOKED_THROUGH = 200_000  # gaps of a variable, where it is not known which of them were in the original


@dataclass(frozen=True, eq=False)
class SampleDesign:
    """How the records at hand were drawn: at random, or for the sake of a variable, which they are asked for then.

    Who was drawn for another variable is no witness: values are suppressed where several together are rare, so that
    among such records these would seem to go together. They still show what stands beside the suppressed value.
    """

    notes: tuple[str, ...] = ()  # nothing if these are all records
    random: Mask | None = None  # None: all
    of: Mapping[str, Mask] = field(default_factory=dict)  # by variable, those drawn at random or for it

    def asked(self, data: Microdata, records: Rows) -> Microdata:
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

    original: Any
    protected: Any
    order: Any  # None: nobody has said
    matched: str
    seen: SampleDesign | None  # None: these are whole tables in memory


@dataclass(frozen=True, eq=False)
class _RecordOrder:
    """An order that says, for each protected record, which of the original it is."""

    record: Rows
    place: Rows

    @classmethod
    def of(cls, order: Any, records: int) -> "_RecordOrder":
        record = np.asarray(order)
        if record.dtype.kind not in "iu" or not np.array_equal(np.sort(record), np.arange(records)):
            raise DataError(f"audit: order must name each of the {records:,} records of the original once")
        return cls(record.astype(np.intp), np.argsort(record))

    def records_at(self, places: Rows, records: int) -> Rows:
        return self.record[places]

    def places(self, rows: Rows, records: int) -> Rows:
        return self.place[rows]


def records_at_hand(
    original: Any,
    protected: Any,
    order: Sequence[int] | NDArray[np.integer] | RandomOrder | None,
    beside: Mapping[str, Any] | None,
    size: int,
) -> AtHand:
    """Return tables in memory as they are, and of tables in parts the same records, drawn by number.

    Refused where it cannot be told which record is which. ``order`` names the record of the original for each protected
    record of the whole table, or is that of a release.
    """
    in_parts = isinstance(original, TableInParts), isinstance(protected, TableInParts)
    if not any(in_parts):
        if isinstance(order, RandomOrder):
            raise ParameterError("audit: a RandomOrder is that of a table in parts; give the numbers of the records")
        return AtHand(original, protected, order, "", None)
    if not all(in_parts):
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
    told = order if isinstance(order, RandomOrder) else _RecordOrder.of(order, len(protected))
    rows, seen = _drawn(original, protected, size, told)
    places = told.places(rows, len(original))
    tables = selected(original, rows), selected(protected, np.sort(places))
    return AtHand(*tables, np.argsort(places), "the order given", seen)


def at_hand_of_both(original: Microdata | TableInParts, protected: Microdata | TableInParts, size: int) -> AtHand:
    """Return an original and what a method made of it, of tables in parts the same records of both.

    Of a protected sample these are the originals that it drew.
    """
    if not isinstance(original, TableInParts) or not isinstance(protected, TableInParts):
        return AtHand(original, protected, None, "", None)
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
    return AtHand(selected(original, rows), selected(protected, rows), np.arange(len(rows)), "position", seen)


def _drawn(
    original: TableInParts, protected: TableInParts, size: int, order: RandomOrder | _RecordOrder | None
) -> tuple[Rows, SampleDesign]:
    """Return the numbers of the originals that are looked at, in ascending order, and how they were drawn."""
    records = len(original)

    def record_of(places: Rows) -> Rows:
        return places if order is None or not len(places) else order.records_at(places, records)

    if size >= records:
        return np.arange(records, dtype=np.intp), SampleDesign()
    found = suppressed(original, protected, size // 2, None if order is None else record_of)
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
    return rows, SampleDesign(
        (said,), witness, {name: witness | np.isin(rows, some) for name, some in drawn_for.items()}
    )


def _of(some: int, records: int | None) -> str:
    if some == records:
        return f"all {some:,}"
    return f"{some:,} of {records:,}" if records is not None else f"{some:,}"


def _at_random(size: int, records: int) -> SampleDesign:
    """Say that a random sample is audited; nothing of all records."""
    return SampleDesign((f"audited in a random sample of {size:,} of {records:,} records",) if size < records else ())


def with_how_drawn(found: Audit, original: Microdata, protected: Microdata, seen: SampleDesign | None) -> Audit:
    """Return an audit of a part of the records that says how these were drawn, and of what it cannot judge."""
    if seen is None or not seen.notes:
        return found
    return replace(found, notes=(*seen.notes, *_too_few(found, original, protected), *found.notes))


def _too_few(found: Audit, original: Microdata, protected: Microdata) -> Iterator[str]:
    """Say which variables were treated, but have too few protected values among the records looked at."""
    for name in original.schema.analysed():
        number = found.protected.get(name, 0)
        treated = name in protected.schema and protected.schema[name].treatment != original.schema[name].treatment
        if number < MIN_IN_BAND and (number or treated):
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


@dataclass(frozen=True, eq=False)
class DrawnRecords:
    """Records by number, those with the smallest draws first."""

    rows: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    draws: Floats = field(default_factory=lambda: np.empty(0))

    def least(self, most: int) -> "DrawnRecords":
        """Return so many at most, those with the smallest draws."""
        order = np.argsort(self.draws, kind="stable")[:most]
        return DrawnRecords(self.rows[order], self.draws[order])

    def with_others(self, other: "DrawnRecords", most: int) -> "DrawnRecords":
        """Return those with the smallest draws of both."""
        both = DrawnRecords(np.concatenate([self.rows, other.rows]), np.concatenate([self.draws, other.draws]))
        return both.least(most)


@dataclass(frozen=True, eq=False)
class SuppressedRecords:
    """Records with suppressed values: how many there are in all, and some of each variable."""

    records: int | None  # None: nobody knows
    drawn: Mapping[str, DrawnRecords]
    what: str = "suppressed values"

    def chosen(self, most: int) -> dict[str, Rows]:
        """Return at most so many records by variable: of the rare ones all, of the others as many as of each other."""
        left, found = most, {}
        names = sorted(self.drawn, key=lambda name: (len(self.drawn[name].rows), name))
        for place, name in enumerate(names):
            found[name] = self.drawn[name].rows[: left // (len(names) - place)]
            left -= len(found[name])
        return {name: rows for name, rows in found.items() if len(rows)}  # none of some if variables are many


def suppressed(
    original: TableInParts, protected: TableInParts, most: int, record_of: Callable[[Rows], Rows] | None = None
) -> SuppressedRecords:
    """Find the records whose values were suppressed, of each variable at most so many.

    Record i of both is the same, or ``record_of`` tells which records of the original stand at some places. Then, of
    very many places without a value, only some are looked at, to see whether the original had one.
    """
    sought = _sought(original, protected)
    draws = Draws(len(original), "records with suppressed values")
    if not sought:
        return SuppressedRecords(0, {})
    if record_of is None:
        tables = cut_alike(original.only(sought), protected.only(sought))
        found = _merged(_each(partial(_gone, sought, draws, most), *tables), most)
    else:
        looked = max(LOOKED_THROUGH, most)
        found = _merged(_each(partial(_gone, sought, draws, looked), protected.only(sought)), looked)
        found = _had(original, found, sought, record_of, most) if found.drawn else found
    drawn = {name: one if sought[name].blanks else one.least(CODED) for name, one in found.drawn.items()}
    coded, blanks = (any(getattr(sought[name], what) for name in drawn) for what in ("coded", "blanks"))
    what = " or ".join(["suppressed values"] * (blanks or not coded) + ["coded ends"] * coded)
    return SuppressedRecords(found.records, drawn, what)


def _had(
    original: TableInParts,
    blank: SuppressedRecords,
    sought: "Mapping[str, _SoughtValues]",
    record_of: Callable[[Rows], Rows],
    most: int,
) -> SuppressedRecords:
    """Return which places without a value are of records that had one."""
    places = np.unique(np.concatenate([found.rows for found in blank.drawn.values()]))
    record = record_of(places)
    ascending = np.sort(record)
    there = selected(original.only(sought), ascending)
    drawn = {}
    for name, found in blank.drawn.items():
        records = record[np.searchsorted(places, found.rows)]
        gone = sought[name].had(there, name)[np.searchsorted(ascending, records)]
        drawn[name] = DrawnRecords(records[gone], found.draws[gone])
    number = None
    if len(places) == blank.records:
        number = len(np.unique(np.concatenate([found.rows for found in drawn.values()])))
    return SuppressedRecords(number, {name: found.least(most) for name, found in drawn.items() if len(found.rows)})


def mates(original: TableInParts, protected: TableInParts, chosen: Mapping[str, Rows], most: int) -> dict[str, Rows]:
    """Return where records stand that show the categories of suppressed values, by variable, at most so many in all."""
    wanted = {}
    for name, rows in chosen.items():
        before, after = original.schema[name], protected.schema[name]
        if before.quantitative or after.quantitative:
            continue
        codes = np.unique(selected(original.only([name]), np.sort(rows)).columns[name])
        place = {category: code for code, category in enumerate(after.categories)}
        there = [place[category] for code in codes if (category := before.categories[code]) in place]
        if there:
            wanted[name] = np.array(there, dtype=np.int32)
    if not wanted:
        return {}
    draws = Draws(len(protected), "records that show what was suppressed")
    share = most // len(wanted)
    each = {name: max(min(MATES, share // len(codes)), 1) for name, codes in wanted.items()}
    found: dict[tuple[str, int], DrawnRecords] = {}
    for part in _each(partial(_showing, wanted, draws, each), protected.only(wanted)):
        for key, drawn in part.items():
            found[key] = found.get(key, DrawnRecords()).with_others(drawn, each[key[0]])
    shown: dict[str, DrawnRecords] = {}
    for (name, _), drawn in found.items():
        shown[name] = shown.get(name, DrawnRecords()).with_others(drawn, share)
    return {name: drawn.rows for name, drawn in shown.items()}


@dataclass(frozen=True)
class _SoughtValues:
    """What is looked for of a variable: values that are gone, and numbers coded at an end, beyond which they lay."""

    blanks: bool
    bottom: float = -np.inf
    top: float = np.inf

    def lacks(self, table: Microdata, name: str) -> NDArray[np.bool_]:
        """Tell which records of a protected table have no value, or show an end."""
        gone = table.missing(name) if self.blanks else np.zeros(len(table), dtype=bool)
        return np.asarray(gone | self._at_an_end(table, name)) if self.coded else gone

    def had(self, table: Microdata, name: str) -> NDArray[np.bool_]:
        """Tell which records of an original had a value, if only ends are looked for one beyond them.

        A value that is an end itself was not coded, and tells nothing if it was made missing.
        """
        if not self.coded:
            return ~table.missing(name)
        column = table.columns[name]
        if not self.blanks:
            return np.asarray((column < self.bottom) | (column > self.top))
        return np.asarray(~table.missing(name) & (column != self.bottom) & (column != self.top))

    def _at_an_end(self, table: Microdata, name: str) -> NDArray[np.bool_]:
        column = table.columns[name]
        return np.asarray((column <= self.bottom) | (column >= self.top))

    @property
    def coded(self) -> bool:
        """Whether there are ends."""
        return bool(np.isfinite(self.bottom) or np.isfinite(self.top))


def _gone(sought: Mapping[str, _SoughtValues], draws: Draws, most: int, *parts: Any) -> SuppressedRecords:
    """Find the records of a part that lack a value, though they had it if the original's part is given."""
    *before, after, first = parts
    draw = draws.uniform("which", first, len(after))
    some = np.zeros(len(after), dtype=bool)
    drawn = {}
    for name, values in sought.items():
        gone = values.lacks(after, name)
        for part in before:
            gone &= values.had(part, name)
        rows = np.flatnonzero(gone)
        if len(rows):
            some |= gone
            drawn[name] = DrawnRecords(first + rows, draw[rows]).least(most)
    return SuppressedRecords(int(some.sum()), drawn)


def _showing(
    wanted: Mapping[str, NDArray[np.int32]], draws: Draws, each: Mapping[str, int], part: Microdata, first: int
) -> dict[tuple[str, int], DrawnRecords]:
    """Find a few records of a part that show each of some categories."""
    draw = draws.uniform("which", first, len(part))
    found = {}
    for name, codes in wanted.items():
        column = part.columns[name]
        rows = np.flatnonzero(np.isin(column, codes))
        if not len(rows):
            continue
        rows = rows[np.lexsort((draw[rows], column[rows]))]
        there, starts = np.unique(column[rows], return_index=True)
        for code, mine in zip(there.tolist(), np.split(rows, starts[1:]), strict=True):
            least = mine[: each[name]]
            found[name, code] = DrawnRecords(first + least, draw[least])
    return found


def _merged(found: Iterable[SuppressedRecords], most: int) -> SuppressedRecords:
    drawn: dict[str, DrawnRecords] = {}
    records = 0
    for part in found:
        records += part.records or 0
        for name, mine in part.drawn.items():
            drawn[name] = drawn.get(name, DrawnRecords()).with_others(mine, most)
    return SuppressedRecords(records, drawn)


def _each(of: Callable[..., Any], *tables: TableInParts) -> Iterator[Any]:
    """Yield what is made of each part, or of those that lie beside each other, where the engine computes."""
    firsts = np.cumsum([0, *tables[-1].sizes])[:-1].tolist()
    return each_part(of, list(zip(*(table.parts for table in tables), firsts, strict=True)), stored=False)


def _sought(original: TableInParts, protected: TableInParts) -> dict[str, _SoughtValues]:
    blanks = _offered(original, protected)
    found = {}
    for name in original.schema.analysed():
        if name not in protected.schema:
            continue
        before, after = original.schema[name], protected.schema[name]
        ends = {}
        if before.quantitative and after.quantitative:
            new = {end: (getattr(after.treatment, end), getattr(before.treatment, end)) for end in ("bottom", "top")}
            ends = {end: limit for end, (limit, old) in new.items() if limit is not None and limit != old}
        if name in blanks or ends:
            found[name] = _SoughtValues(name in blanks, **ends)
    return found


def _offered(original: TableInParts, protected: TableInParts) -> tuple[str, ...]:
    """Name the variables of which values may have been suppressed: as is said, all if nothing is said of any."""
    shared = [name for name in original.schema.analysed() if name in protected.schema]
    done = {name: (original.schema[name].treatment, protected.schema[name].treatment) for name in shared}
    if any(before != after for before, after in done.values()):
        return tuple(name for name, (before, after) in done.items() if after.suppressed > before.suppressed)
    return tuple(name for name in shared if not _the_same(original, protected, name))


def _the_same(original: TableInParts, protected: TableInParts, name: str) -> bool:
    """Tell whether a variable is known to be the same in both tables without being read."""
    if original.sizes != protected.sizes or original.schema[name] != protected.schema[name]:
        return False
    digests = [[_digest(part, name) for part in table.parts] for table in (original, protected)]
    return None not in digests[0] and digests[0] == digests[1]


def _digest(part: Microdata, name: str) -> str | None:
    return part.columns.column_digest(name) if isinstance(part.columns, OnDemand) else None
