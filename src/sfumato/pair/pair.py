"""The original and the protected table together: matching, footing, and statistics over both."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.pair.half import ByteBoundedCache, Half, each_part
from sfumato.pair.matching import in_order_of
from sfumato.pair.statistics import Crosstab, Statistic, merged
from sfumato.table.microdata import Microdata
from sfumato.table.on_demand import BorrowedColumn, OnDemand, placed
from sfumato.table.parts import TableInParts, cut_alike
from sfumato.table.recoding import Recoding, recoding
from sfumato.table.schema import Kind, Special

S = TypeVar("S", bound=Statistic)
Order = NDArray[np.intp]
Floats = NDArray[np.float64]


class Pair:
    """Two tables on one footing, with what was computed of them.

    ``original`` and ``protected`` are the two halves. Each keeps its own statistics, so that the original's are shared
    by all candidates of an experiment; what depends on both tables is kept here and goes with the candidate.

    >>> import pyarrow as pa
    >>> before = Microdata.from_frame(pa.table({"town": ["A", "B", "B"]}))
    >>> pair = Pair.of(before, pa.table({"town": ["A", "A", "B"]}))
    >>> pair.matched, pair.crosstab("town").counts.tolist()
    (True, [1, 1, 1])
    """

    def __init__(self, original: Half, protected: Half) -> None:
        self.original, self.protected = original, protected
        self._kept = ByteBoundedCache()
        self._refused = ""  # why records were not matched by id over all parts

    @classmethod
    def of(cls, original: Any, protected: Any) -> "Pair":
        """Put two tables together: frames, microdata, tables in parts, or lists of microdata that are such parts."""
        in_parts = isinstance(original, TableInParts) and isinstance(protected, TableInParts)
        if in_parts and len(original) == len(protected) and original.sizes != protected.sizes:
            original, protected = cut_alike(original, protected)
        half = original if isinstance(original, Half) else Half.of(_read(original))
        return cls(half, Half.of(_read(protected, beside=half)))._found_by_id()

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process without what is kept."""
        return Pair, (self.original, self.protected)

    @property
    def in_parts(self) -> bool:
        """Whether either table is in several parts."""
        return self.original.in_parts or self.protected.in_parts

    def tables(self) -> tuple[Microdata, Microdata]:
        """Return both whole tables in memory; refused where one is in parts."""
        return self.original.table, self.protected.table

    def gathered(self, names: Iterable[str]) -> "Pair":
        """Return a pair in memory that has only these variables, with weight, household and id.

        For what has no smaller summary than the values themselves. A pair that is in memory is returned as it is.
        """
        if not self.in_parts:
            return self
        wanted = tuple(names)
        halves = (self.original, self.protected)
        return Pair(*(Half((half.only(name for name in wanted if name in half.schema),)) for half in halves))

    # which record is which

    @property
    def same_size(self) -> bool:
        """Whether both tables have as many records, part by part."""
        return [len(part) for part in self.original.parts] == [len(part) for part in self.protected.parts]

    @cached_property
    def matched(self) -> bool:
        """Whether each protected record is about the same unit as one of the original's, as far as ids can tell."""
        if not (self.protected.matched and self.same_size):
            return False
        try:
            return len(self._orders) == len(self.original.parts)
        except NotApplicable:
            return False

    @cached_property
    def by_id(self) -> bool:
        """Whether both tables name their records by the same id."""
        name = self.original.schema.id
        return name is not None and name == self.protected.schema.id

    @property
    def by_position(self) -> bool:
        """Whether nothing but its place tells which original a record is, though originals have an id."""
        told = self.by_id or any(part.placed for part in self.protected.parts)
        return self.original.schema.id is not None and not told

    def in_order(self) -> "Pair":
        """Return the pair with the protected records in the order of the originals.

        By id if both tables have one, else as they stand. Refused where they are not about the same units.
        """
        before, after = len(self.original), len(self.protected)
        if before != after:
            longer = "original" if before > after else "protected table"
            needed = (
                f"; leave out of the {longer} the records whose id in {self.original.schema.id!r} the other lacks"
                if self.by_id
                else "; give both an id, and the same records"
            )
            raise NotApplicable(
                f"record i of the protected table must be record i of the original, but they have {after:,} and "
                f"{before:,} records{needed}"
            )
        if not self.protected.matched:
            raise NotApplicable(
                "record i of the protected table must be record i of the original, but its records are synthetic or a "
                "sample and correspond to none, or stand in an order that nothing tells; an id in both tables tells "
                "which is which, or of a release of ours the note that was written with it"
            )
        if self._refused:
            raise NotApplicable(self._refused)
        if not self.same_size:
            raise NotApplicable("the parts of the two tables differ in their numbers of records, so none correspond")
        orders = self._orders
        if all(order is None for order in orders):
            return self
        return self._kept.get("in order", lambda: self._reordered(orders))

    def _found_by_id(self) -> "Pair":
        """Return the pair with protected records beside their originals, where parts hold other ids than their own."""
        name = self.original.schema.id
        if name is None or not (self.in_parts and self.by_id and self.protected.matched):
            return self
        if len(self.original) != len(self.protected):
            return self
        try:
            if self.same_size and self._orders is not None:
                return self
        except NotApplicable:
            pass  # not within the parts, but maybe over all of them
        try:
            found = Pair(self.original, in_order_of(self.original, self.protected, name))
        except NotApplicable as refusal:  # what compares record with record refuses, and what does not need not
            self._refused = refusal.text
            return self
        found.__dict__["_orders"] = (None,) * len(self.original.parts)
        return found

    def _reordered(self, orders: Sequence[Order | None]) -> "Pair":
        parts = [
            part if order is None else part.take(order)
            for part, order in zip(self.protected.parts, orders, strict=True)
        ]
        return Pair(self.original, Half(parts))

    @cached_property
    def _orders(self) -> tuple[Order | None, ...]:
        """For each part the place of every original record among the protected ones; None: as they stand."""
        name = self.original.schema.id
        if self._refused:
            raise NotApplicable(self._refused)
        if name is None or not self.by_id:
            return (None,) * len(self.original.parts)
        return tuple(
            _order(name, before, after) for before, after in zip(self.original.parts, self.protected.parts, strict=True)
        )

    # who lives together

    def homes(self) -> tuple[Half | None, tuple[str, ...]]:
        """Return the protected table with the household of each record, and what to say of it; None: nobody tells.

        A table that lacks the household is given the original's where its records match, because members can be put
        together again by what they share.
        """
        name = self.original.schema.household
        if self.protected.schema.household is not None:
            return self.protected, ()
        if name is None or not self.matched:
            return None, ()
        said = f"the protected table does not tell who lives together: the original's household {name!r} is used"
        return self._borrowed("household", name), (said,)

    def weighed(self) -> Half | None:
        """Return the protected table with a survey weight: its own, or the original's where its records match."""
        name = self.original.schema.weight
        if self.protected.schema.weight is not None:
            return self.protected
        return None if name is None or not self.matched else self._borrowed("weight", name)

    def _borrowed(self, special: Special, name: str) -> Half:
        parts = range(len(self._orders))
        found: Half = self._kept.get(
            special, lambda: Half([self._with_original(special, name, part) for part in parts])
        )
        return found

    def _with_original(self, special: Special, name: str, number: int) -> Microdata:
        """Return a part of the protected table with the original's household or weight, record by record."""
        before, after, order = self.original.parts[number], self.protected.parts[number], self._orders[number]
        variables = (*(v for v in after.schema if v.name != name), before.schema[name])
        named: dict[str, Any] = {special: name}
        schema = replace(after.schema, variables=variables, **named)
        if isinstance(after.columns, OnDemand):
            return replace(after, schema=schema, columns=BorrowedColumn(after.columns, name, before.columns, order))
        return replace(after, schema=schema, columns={**after.columns, name: placed(before.columns[name], order)})

    # one footing

    def shared(
        self, names: Iterable[str], kinds: tuple[Kind, ...], *, asked: bool
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Name those of the original's variables that the protected table has as one of these kinds, and note the rest.

        ``asked``: somebody named the variables, so that none may be left out.
        """
        wanted, schema = tuple(names), self.protected.schema
        kept = tuple(name for name in wanted if name in schema and schema[name].kind in kinds)
        gone = tuple(name for name in wanted if name not in kept)
        if gone and (asked or not kept):
            raise NotApplicable(f"the protected table has no comparable {', '.join(gone)}")
        notes = (f"left out, not comparable in the protected table: {', '.join(gone)}",) if gone else ()
        return kept, notes

    def footing(self, name: str) -> Recoding:
        """Return a variable of both tables on the same footing: the original's values put together as the protected's.

        Both columns are whole, whatever the parts, because how values were put together shows only in all of them. The
        protected one is in the order of its own table.
        """
        return self._kept.get(("footing", name), lambda: self._footing(name))

    def _footing(self, name: str) -> Recoding:
        if not self.in_parts:
            before, after = self.tables()
        else:
            before, after = (_one_column(half, name) for half in (self.original, self.protected))
        orders = self._orders if self.matched else ()
        if all(order is None for order in orders):
            return recoding(before, after, name, matched=self.matched)
        order = self._joined(orders)
        found = recoding(before, after.take(order), name, matched=True)
        back = np.empty_like(found.protected)
        back[order] = found.protected
        return replace(found, protected=back)

    def _joined(self, orders: Sequence[Order | None]) -> Order:
        """Put the places of the records of each part together to places in the whole table."""
        joined, start = [], 0
        for part, order in zip(self.protected.parts, orders, strict=True):
            joined.append(start + (np.arange(len(part)) if order is None else order))
            start += len(part)
        return np.concatenate(joined)

    # statistics of both tables

    def total(self, of: Callable[[Microdata, Microdata], S], key: Hashable = None) -> S:
        """Make a statistic of each pair of matching parts and merge them in the order of the parts."""
        if key is None:
            disk = self.original.on_disk and self.protected.on_disk
            return merged(each_part(of, list(self.parts())), self.original.room if disk else None)
        return self._kept.get(key, lambda: self.total(of))

    def parts(self) -> Iterator[tuple[Microdata, Microdata]]:
        """Yield the matching parts of both tables that have records."""
        for before, after in zip(self.original.parts, self.protected.parts, strict=True):
            if len(before) or len(after):
                yield before, after

    def keep(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Compute something of this pair once, and keep it."""
        return self._kept.get(key, compute)

    def crosstab(self, name: str) -> Crosstab:
        """Count which value of a variable became which, record by record; codes as each table numbers them."""
        return self._kept.get(("crosstab", name), lambda: self._crosstab(name))

    def _crosstab(self, name: str) -> Crosstab:
        codes = self.original.coder((name,)), self.protected.coder((name,))
        return self.total(lambda before, after: Crosstab.of(codes[0](before)[:, 0], codes[1](after)[:, 0]))


def _read(table: Any, beside: Half | None = None) -> Any:
    """Read a frame, or take the parts of a table; a protected one with what is known of the original's variables."""
    if isinstance(table, Half | TableInParts):
        return table
    if isinstance(table, list | tuple) and table and all(isinstance(part, Microdata) for part in table):
        return tuple(table)
    if beside is None:
        return Microdata.from_frame(table)
    return Microdata.beside(beside.parts[0], table)


def _one_column(half: Half, name: str) -> Microdata:
    """Return one variable of a table in parts as a table of its own."""
    return Microdata(half.schema.only([name]), {name: half.column(name)}, matched=half.matched)


def _order(name: str, original: Microdata, protected: Microdata) -> Order | None:
    """Return the place of each original record among the protected ones, by id; None if they stand in order."""
    ids, others = (np.asarray(_spelled(table, name)) for table in (original, protected))
    if ids.dtype.kind != others.dtype.kind or not np.array_equal(np.sort(ids), np.sort(others)):
        raise NotApplicable(f"the ids in {name!r} are not the same in both tables")
    place = np.empty(len(ids), dtype=np.intp)
    place[np.argsort(ids, kind="stable")] = np.argsort(others, kind="stable")
    return None if np.array_equal(place, np.arange(len(ids))) else place


def _spelled(table: Microdata, name: str) -> NDArray[Any]:
    """Return a column's values, categories spelled out."""
    variable = table.schema[name]
    if variable.quantitative:
        return table.columns[name]
    spelled: NDArray[Any] = np.asarray(variable.categories)[table.columns[name]]
    return spelled


@dataclass(frozen=True, eq=False)
class Terms:
    """A variable of the protected table and what becomes of its values on the footing, part by part.

    The footing is found in whole columns; what it does is a function of the value alone.

    ``table`` has what each code becomes, the last entry for missing; of numbers, what each of ``values`` becomes, in
    ascending order, the last entry for missing. Without a table they stay as they are.
    """

    name: str
    table: NDArray[Any] | None = None
    values: Floats | None = None

    @classmethod
    def of(cls, pair: Pair, name: str) -> "Terms":
        """Read off the footing what became of each value."""
        found: Terms = pair.keep(("terms", name), lambda: _terms(pair, name))
        return found

    def __call__(self, part: Microdata) -> NDArray[Any]:
        """Return the variable of a part of the protected table on the footing."""
        column = part.columns[self.name]
        if self.table is None:
            return column
        if self.values is None:
            recoded: NDArray[Any] = self.table[column]
            return recoded
        places = np.searchsorted(self.values, column)
        became: NDArray[Any] = self.table[np.where(np.isnan(column), len(self.values), places)]
        return became

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return sum(array.nbytes for array in (self.table, self.values) if array is not None)


def _terms(pair: Pair, name: str) -> Terms:
    footed = pair.footing(name).protected
    variable = pair.protected.schema[name]
    if not variable.quantitative:
        table = np.full(len(variable.categories) + 1, _missing(footed), dtype=footed.dtype)
        for column, became in _side_by_side(pair, name, footed):
            table[column] = became
        return Terms(name, table)
    if all(_equal(column, became) for column, became in _side_by_side(pair, name, footed)):
        return Terms(name)
    values, targets = np.empty(0), np.empty(0, dtype=footed.dtype)
    for column, became in _side_by_side(pair, name, footed):
        present = ~np.isnan(column)
        both, targets = np.concatenate([values, column[present]]), np.concatenate([targets, became[present]])
        values, first = np.unique(both, return_index=True)
        targets = targets[first]
    return Terms(name, np.append(targets, _missing(footed)).astype(footed.dtype), values)


def _side_by_side(pair: Pair, name: str, footed: NDArray[Any]) -> Any:
    """Yield the column of each part, and what it became."""
    start = 0
    for part in pair.protected.parts:
        yield part.columns[name], footed[start : start + len(part)]
        start += len(part)


def _equal(column: NDArray[Any], became: NDArray[Any]) -> bool:
    return column.dtype == became.dtype and np.array_equal(column, became, equal_nan=True)


def _missing(column: NDArray[Any]) -> float:
    return np.nan if column.dtype.kind == "f" else -1
