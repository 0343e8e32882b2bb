"""Local suppression: single values made missing until k records share what each one shows."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from numbers import Real
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import MAX_NAMED, Method
from sfumato.display import Phrase, listed, written
from sfumato.errors import FileError, NotApplicable
from sfumato.kernels.groups import classes
from sfumato.kernels.suppression import (
    MAX_ENTRIES,
    MAX_KEYS,
    Answer,
    Homes,
    NeedsRecords,
    RiskBound,
    RowCounts,
    SharedKeys,
    cheapest_classes,
    cheapest_shown,
    taking_part,
)
from sfumato.methods.selection import refuse_small_weights, refuse_strangers
from sfumato.methods.suppression_sets import KeysAlike, Sets, checked_sets, most_values, places, sets_asked
from sfumato.pair import Half, Masking
from sfumato.pair.half import Coder
from sfumato.pair.keys import refuse_continuous_keys
from sfumato.pair.masking import rounded
from sfumato.registry import catalogued
from sfumato.table.atomic import reason
from sfumato.table.draws import Draws
from sfumato.table.households import counted, household_level, units
from sfumato.table.keys import key_codes
from sfumato.table.microdata import Microdata
from sfumato.table.present import only_present
from sfumato.table.schema import Schema, Variable
from sfumato.table.treatment import Treatment

# Key values of a table in parts made missing: what goes is decided once, on the key classes of the whole table.
#
# What a record shows is judged by how many records agree with it, and those are counted by key classes. So the search
# is the one in memory, on one row for each combination of key values. Where records of one class are treated
# differently, because only so many values of a key may go, or because missing is a value of its own, they are told
# apart by their numbers. The records that lose a value, and which they lose, lie in a file that the parts read.

Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NO_RECORD = -1


@dataclass(frozen=True, eq=False)
class KeyRows:
    """The keys of a table, one row for the records of a class that need not be told apart, or for a single record.

    ``counts`` are the records that a row stands for, ``weights`` what they weigh together, ``record`` the number of a
    single record; single records stand in their order, after the other rows.
    """

    half: Half
    names: tuple[str, ...]
    codes: Codes
    counts: Integers
    weights: Floats | None
    record: Integers

    @classmethod
    def of(cls, half: Half, names: tuple[str, ...], *, weighted: bool) -> "KeyRows":
        """Return the key classes of a table; in an order of their own, which no cut changes."""
        key_classes = half.classes(names, weighted=weighted)
        order = np.lexsort(key_classes.cells.T)
        own = key_classes.weights if weighted else None
        weights = None if own is None else np.array([rounded(weight) for weight in own[order].tolist()])
        unknown = np.full(len(order), NO_RECORD, dtype=np.int64)
        return cls(half, names, np.asfortranarray(key_classes.cells[order]), key_classes.sizes[order], weights, unknown)

    @property
    def standing(self) -> RowCounts:
        """What the rows stand for."""
        return RowCounts(self.counts, self.record != NO_RECORD)

    def told_apart(self, rows: NDArray[np.intp], most: int | None = None) -> "KeyRows":
        """Return the table in which the records of these rows are rows of their own, or the first so many of each."""
        classes_of = rows[self.record[rows] == NO_RECORD]
        coder, weighted = self.half.coder(self.names), self.weights is not None
        find = partial(_records_with, coder, self.codes[classes_of], weighted=weighted)
        taken = np.zeros(len(classes_of), dtype=np.int64)
        kept: list[tuple[Integers, Integers, Floats]] = []
        for record, place, weights in self.half.numbered(find):
            taken_here = np.arange(len(record))
            if most is not None:
                taken_here = taken_here[taken[place] + _nth(place) < most]
                taken += np.bincount(place[taken_here], minlength=len(taken))
            kept.append((record[taken_here], place[taken_here], weights[taken_here]))
        record, place, weights = (np.concatenate(column) for column in zip(*kept, strict=True))
        left = self.counts.copy()
        left[classes_of] -= np.bincount(place, minlength=len(classes_of))
        rest = left > 0
        single = self.record[rest] != NO_RECORD  # of those told apart before
        codes = np.concatenate([self.codes[rest], self.codes[classes_of[place]]])
        counts = np.concatenate([left[rest], np.ones(len(record), dtype=np.int64)])
        numbers = np.concatenate([self.record[rest], record])
        own = None
        if self.weights is not None:
            before = self.weights.copy()
            before[classes_of] -= np.bincount(place, weights, len(classes_of))
            own = np.concatenate([before[rest], weights])
        order = np.argsort(numbers, kind="stable") if single.any() else slice(None)
        if most is not None:  # those left of a class come after its records
            order = np.argsort(np.where(numbers == NO_RECORD, np.iinfo(np.int64).max, numbers), kind="stable")
        own = None if own is None else own[order]
        return replace(
            self, codes=np.asfortranarray(codes[order]), counts=counts[order], weights=own, record=numbers[order]
        )


def _nth(place: Integers) -> Integers:
    """Return for each entry how many equal ones stand before it.

    >>> _nth(np.array([3, 1, 3, 3]))
    array([0, 0, 1, 2])
    """
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], place[order])
    nth = np.empty(len(place), dtype=np.int64)
    nth[order] = np.arange(len(place)) - starts
    return nth


def _records_with(
    coder: Coder, cells: Codes, part: Microdata, first: int, *, weighted: bool
) -> tuple[Integers, Integers, Floats]:
    """Find the records of a part that have one of some combinations of keys: their numbers, which, their weights."""
    place = classes(np.concatenate([cells, coder(part)]))[0][len(cells) :]
    there = np.flatnonzero(place < len(cells))  # the combinations are different, so numbered first
    return there + first, place[there], part.weights()[there] if weighted else np.zeros(len(there))


@dataclass(frozen=True, eq=False)
class SuppressedInParts(Masking):
    """The records that lose a value of a key, in a file by their numbers, and which keys they lose, as bits."""

    schema: Schema
    keys: tuple[str, ...]  # in the order of the bits
    path: Path = field(compare=False)
    content: str  # a digest of the file
    number: int  # of the records in the file
    recoded: Mapping[str, Codes]  # by old code, where categories are no longer listed; the last is a missing value
    losing: frozenset[str]
    said: str

    @property
    def changes(self) -> frozenset[str]:
        return self.losing

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> NDArray[Any]:
        column = part.columns[name].copy()
        records, lost = self._of(first, len(part), self.keys.index(name))
        column[records[lost] - first] = -1 if column.dtype == np.int32 else np.nan
        return np.take(self.recoded[name], column) if name in self.recoded else column

    def _of(self, first: int, count: int, bit: int) -> tuple[Integers, Flags]:
        """Read which records among some lose a value, and whether it is that of this key."""
        width = _width(len(self.keys))
        try:
            records = np.memmap(self.path, dtype=np.int64, mode="r", shape=(self.number,))
            begin, end = np.searchsorted(records, [first, first + count])
            bits = np.fromfile(
                self.path, np.uint8, int(end - begin) * width, offset=8 * self.number + int(begin) * width
            )
        except (OSError, ValueError) as error:
            why = reason(error) if isinstance(error, OSError) else "it is shorter than it was written"
            raise FileError(
                f"which values are suppressed cannot be read from {self.path}: {why}; on a cluster give Engine a "
                "folder that all workers see"
            ) from None
        return np.array(records[begin:end]), (bits.reshape(-1, width)[:, bit // 8] >> (7 - bit % 8) & 1).astype(bool)


def _width(keys: int) -> int:
    """Return how many bytes have a bit for each key."""
    return -(-keys // 8)


def suppressed(rows: KeyRows, shown: Flags, said: str) -> SuppressedInParts:
    """Put aside which records lose which values of their keys, given what each row goes on showing."""
    half, names = rows.half, rows.names
    losing = np.asarray(~shown.all(axis=1))
    path, digest, number = _put_aside(rows, np.packbits(~shown, axis=1), losing)
    changed, recoded = [], {}
    for place, name in enumerate(names):
        gone = ~shown[:, place]
        if not gone.any():
            continue
        variable = half.schema[name].treated(Treatment(suppressed=int(rows.counts[gone].sum())))
        if not variable.quantitative:
            left = np.where(gone, np.int32(-1), rows.codes[:, place])
            before = len(variable.categories)
            variable, codes = only_present(variable, left)
            if len(variable.categories) < before:
                recoded[name] = np.full(before + 1, -1, dtype=np.int32)
                recoded[name][left] = codes
                recoded[name][-1] = -1
        changed.append(variable)
    schema = half.schema.replace(*changed)
    lost = frozenset(variable.name for variable in changed)
    return SuppressedInParts(schema, names, path, digest, number, recoded, lost, said)


def _put_aside(rows: KeyRows, bits: NDArray[np.uint8], losing: Flags) -> tuple[Path, str, int]:
    """Write the numbers of the records that lose a value, then their bits; return the file, its digest, how many."""
    half = rows.half
    alike = np.flatnonzero(losing & (rows.record == NO_RECORD))
    single = np.flatnonzero(losing & (rows.record != NO_RECORD))
    single = single[np.argsort(rows.record[single])]
    digest, number = sha256(), 0
    try:
        with (
            tempfile.NamedTemporaryFile(dir=half.folder, prefix="suppressed-", delete=False) as out,
            tempfile.TemporaryFile(dir=half.folder) as beside,
        ):
            for record, place in _found(rows, alike, single):
                what = bits[place]
                out.write(record.data)
                beside.write(np.ascontiguousarray(what).data)
                digest.update(record.data)
                digest.update(what.tobytes())
                number += len(record)
            beside.seek(0)
            while chunk := beside.read(2**20):
                out.write(chunk)
    except OSError as error:
        raise FileError(f"which values are suppressed cannot be written to {half.folder}: {reason(error)}") from error
    return Path(out.name), digest.hexdigest(), number


def _found(rows: KeyRows, alike: NDArray[np.intp], single: NDArray[np.intp]) -> Any:
    """Yield the numbers of the records of some rows in their order, and the rows, part by part."""
    if not len(alike):
        yield rows.record[single], single
        return
    find = partial(_records_with, rows.half.coder(rows.names), rows.codes[alike], weighted=False)
    told, begin = rows.record[single], 0
    sizes = [len(part) for part in rows.half.parts if len(part)]
    ends = np.searchsorted(told, np.cumsum(sizes))
    for end, (record, place, _) in zip(ends.tolist(), rows.half.numbered(find), strict=True):
        both = np.concatenate([record, told[begin:end]])
        order = np.argsort(both, kind="stable")
        yield both[order], np.concatenate([alike[place], single[begin:end]])[order]
        begin = end


# The method

Missing = Literal["matches", "category"]


@catalogued(
    MethodAbout(
        title="Local suppression",
        source="De Waal and Willenborg (1998), Optimal local suppression in microdata; missing values counted as in "
        "sdcMicro; with missing='category' Meyerson and Williams (2004)",
        missing="stays missing; a missing key value matches any value, or is a value of its own (missing='category')",
        kinds=("numeric", "ordinal", "nominal", "date"),
        random=False,
        households="suppressed",
        grid={"k": (2, 3, 5)},
        neutral={"k": 1},
        caveat="an intruder who knows that somebody is in the file and trusts every value shown can rule out records "
        "that a missing value is counted to match; what is suppressed depends on what is rare, so it is not missing "
        "at random",
        formula="for each record: the cheapest set of its key values to make missing, so that\n"
        "#{records of the table given that agree with all it still shows} >= k   (subsets=s: any s of it)\n"
        "two values agree if they are equal or either is missing;  cost = sum of the importances (1 each)\n"
        "sets: so for each set of keys, with its own k;   risk: E(1 / F | f) <= risk, as in IndividualRisk\n"
        'missing="category": so that k records publish the same keys, missing a value like any other',
        reading="``k`` is the least number of records that share what each one shows: 3 to 5 are the usual limits. "
        "The note tells how many values went and of which keys: a few percent is a fair price, more says that the "
        "keys are too fine, so recode them first (GlobalRecoding(...) + LocalSuppression(3)). Analysts see missing "
        "values, which their programs drop; rare groups lose most.",
        group="Suppress",
        labels={
            "k": "Records that must look alike (k)",
            "importance": "Importance: how many other values one of this variable is worth (importance)",
            "subsets": "Only combinations of this many keys (subsets)",
            "missing": "A missing key value (missing)",
            "sets": "Sets of keys, each with its k: (('region', 'age'), 3), (('job',), 5); or scenarios (sets)",
            "risk": "Largest risk of a single record, from 0 to 1 (risk)",
            "caps": "Largest share of the values that may be blank (caps)",
        },
    )
)
class LocalSuppression(Method):
    """The fewest key values made missing, so that at least ``k`` records share what each record still shows.

    Of each record those values go that cost least, such that what it still shows agrees with at least k records of the
    table given, itself included; two values agree when they are equal or either is missing. The keys are ``variables``,
    or the variables of role key, or all ordinal and nominal ones. ``sets`` states several sets of keys, ``risk`` bounds
    the risk of a record, ``importance`` and ``caps`` spare variables, ``missing="category"`` takes a missing value for
    one of its own: docs/how-to/suppression.md says how each works, what is optimal, and when the rule misleads.

    >>> import pyarrow as pa
    >>> people = pa.table({"region": ["N", "N", "N", "S", "S"], "job": ["a", "a", "b", "a", "a"]})
    >>> LocalSuppression(2).protect(people)["job"].to_pylist()
    ['a', 'a', None, 'a', 'a']
    """

    k: int | None = None
    importance: Mapping[str, float] | None = None
    subsets: int | None = None
    missing: Missing = "matches"
    sets: Sets | None = field(default=None, kw_only=True)
    risk: float | None = field(default=None, kw_only=True)
    caps: Mapping[str, float] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sets", checked_sets(self, self.sets))
        if self.k is None and self.sets is None and self.risk is None:
            raise parameters.refuse(self, "say how many records must agree: k=3, or sets=..., or risk=0.1")
        for name in ("k", "subsets"):
            if getattr(self, name) is not None:
                parameters.whole(self, name)
        if self.risk is not None:
            parameters.share(self, "risk")
        parameters.one_of(self, "missing", get_args(Missing))
        for name in ("subsets", "sets", "risk", "caps"):
            if self.missing == "category" and getattr(self, name) is not None:
                raise parameters.refuse(self, f"{name} needs missing='matches'")
        if self.sets is not None and self.variables is not None:
            raise parameters.refuse(self, "sets names the keys of each set, so leave variables out")
        if self.missing == "category":  # a value that goes for the other members may leave others alone with theirs
            object.__setattr__(self, "about", replace(self.about, households="suppressed again"))
        self._check_worth()

    def _check_worth(self) -> None:
        parameters.importance(self)
        parameters.by_variable(self, "caps", '{"age": 0.02, "sex": 0}')
        for name, most in (self.caps or {}).items():
            if isinstance(most, bool) or not isinstance(most, Real) or not 0 <= most <= 1:
                raise parameters.refuse(self, f"the cap of {name!r} must be a share from 0 to 1; got {most!r}")

    def masked(self, data: Microdata) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self._asked(data) for name in one.keys))

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        asked = self._asked(data)
        names = _all_of(asked)
        codes, homes = key_codes(data, names), _homes(data, names)
        self._check(len(data), names, asked)
        self._check_homes(homes, names, asked)
        if self.missing == "category":
            self._check_entries(len(data), names)
            alone = homes is not None and homes.shared.all()
            note = "; records were counted, though those of one household have all keys in common" if alone else ""
            costs, preference = self._worth(codes, names)
            return self._suppressed(data, names, cheapest_classes(codes, asked[0].k, costs, preference), asked, note)
        bound = None
        if self.risk is not None:
            refuse_small_weights(data)
            bound = RiskBound(self.risk, data.weights())
        shown, note = self._shown(codes, names, asked, bound, homes)
        return self._suppressed(data, names, shown, asked, note)

    def learn(self, half: Half, draws: Draws) -> Masking:
        """Search the key classes of the whole table; its memory grows with their number, not with the records."""
        asked = self._asked(half)
        names = _all_of(asked)
        refuse_continuous_keys(half, names)
        self._check(len(half), names, asked)
        if self.risk is not None:
            refuse_small_weights(half)
        rows = KeyRows.of(half, names, weighted=self.risk is not None)
        shown, said = None, ""
        if self.missing == "category":
            most, k = taking_part(asked[0].k), asked[0].k
            self._check_entries(int(np.minimum(rows.counts, most).sum()), names)
            if rows.counts.min() < k:
                rows = rows.told_apart(np.arange(len(rows.counts)), most)
            shown = cheapest_classes(rows.codes, k, *self._worth(rows.codes, names), rows.counts)
        while shown is None:
            bound = None if rows.weights is None or self.risk is None else RiskBound(self.risk, rows.weights)
            try:
                shown, said = self._shown(rows.codes, names, asked, bound, None, rows.standing)
            except NeedsRecords as coarse:
                rows = rows.told_apart(coarse.rows)
        return suppressed(rows, shown, self._told(half.schema, names, shown, rows.counts, asked, said))

    def check_level(self, half: Half, level: tuple[str, ...], masked: tuple[str, ...]) -> None:
        """Refuse, in parts, what a value that goes for all members of a household could break."""
        asked = self._asked(half)
        shared = [name for name in _all_of(asked) if name in level]
        whole = [one for one in asked if set(one.keys) <= set(level)]
        why = ""
        if whole:
            why = f"members share all of {', '.join(whole[0].keys)}, so that households must be counted, not records"
        elif shared and self.missing == "category":
            why = "where missing is a value of its own, a value that goes for all members may leave others alone"
        elif shared and any(name in shared for name in self.caps or ()):
            why = f"a value of {shared[0]!r} that goes for all members may exceed its cap"
        if why:
            raise NotApplicable(
                f"the members of a household {half.schema.household!r} share {', '.join(shared)}: {why}; protect a "
                "table in memory, or leave the household out of the schema"
            )

    def _worth(self, codes: NDArray[np.integer], names: tuple[str, ...]) -> tuple[NDArray[np.float64], list[int]]:
        """Return the cost of a value of each key; where costs are equal, keys with more different values go first."""
        worth = self.importance or {}
        costs = np.array([float(worth.get(name, 1.0)) for name in names])
        return costs, [-len(np.unique(column[column >= 0])) for column in codes.T]

    def _shown(
        self,
        codes: NDArray[np.integer],
        names: tuple[str, ...],
        asked: tuple[KeysAlike, ...],
        bound: RiskBound | None,
        homes: Homes | None,
        standing: RowCounts | None = None,
    ) -> tuple[NDArray[np.bool_], str]:
        """Return what each row of the keys goes on showing, and what a reader should know of it."""
        sets = [
            SharedKeys(places(names, one.keys), one.k, min(self.subsets or len(one.keys), len(one.keys)))
            for one in asked
        ]
        limits = {}
        for place, most in zip(places(names, self.caps or ()), (self.caps or {}).values(), strict=True):
            limits[place] = most_values(codes[:, place], most, None if standing is None else standing.counts)
        answer = cheapest_shown(codes, sets, *self._worth(codes, names), bound, limits, homes, standing)
        if answer.stuck:
            raise NotApplicable(self._stuck(answer, names))
        note = "" if answer.exact else f"; one set after the other, because they hang together over {len(names)} keys"
        alike = [one for one in asked if homes is not None and homes.shared[list(places(names, one.keys))].all()]
        if alike:
            keys = "; ".join(", ".join(one.keys) for one in alike)
            note += f"; households were counted, not records, because their members share all keys ({keys})"
        return answer.shown, note

    def _asked(self, data: Microdata | Half) -> tuple[KeysAlike, ...]:
        return sets_asked(data, self.sets, self.variables, self.k or 1)

    def _stuck(self, found: Answer, names: tuple[str, ...]) -> str:
        """Say what could not be done."""
        place, records = next(iter(found.stuck.items()))
        several = f"{records:,} record{'s' if records != 1 else ''}"
        if place is None:
            return (
                f"{several} would be above risk={self.risk:g} with all key values missing; the weights of all records "
                "together allow no less, so choose a larger risk"
            )
        name = names[place]
        most = (self.caps or {})[name]
        return (
            f"caps lets {100 * most:g} % of {name!r} be suppressed, but {several} more could not be protected "
            f"otherwise; raise the cap, make {name!r} or other keys coarser first (GlobalRecoding), or ask for less"
        )

    def _check(self, records: int, names: tuple[str, ...], asked: tuple[KeysAlike, ...]) -> None:
        most = max(one.k for one in asked)
        if records < most:
            raise NotApplicable(
                f"the table has {records} records, fewer than k={most}, so no suppression can "
                "make k of them agree; choose a smaller k"
            )
        wide = max((one.keys for one in asked), key=len)
        if len(wide) > MAX_KEYS:
            wide = tuple(sorted(wide))
            raise NotApplicable(
                f"{len(wide)} keys ({', '.join(wide[:5])}, ...) are more than {MAX_KEYS}; name fewer in variables=[...]"
            )
        if self.subsets is not None and self.subsets > len(wide):
            raise NotApplicable(
                f"subsets={self.subsets} asks for combinations of more keys than there are "
                f"({', '.join(names)}); leave it out"
            )
        refuse_strangers(names, importance=self.importance, caps=self.caps)

    def _check_homes(self, homes: Homes | None, names: tuple[str, ...], asked: tuple[KeysAlike, ...]) -> None:
        alike = homes is not None and any(homes.shared[list(places(names, one.keys))].all() for one in asked)
        if homes is None or not alike or self.missing != "matches":
            return
        most, number = max(one.k for one in asked), counted(homes.unit)
        if number < most:
            raise NotApplicable(f"the table has {number} households, fewer than k={most}; choose a smaller k")

    def _check_entries(self, records: int, names: tuple[str, ...]) -> None:
        if records * 2 ** len(names) > MAX_ENTRIES:
            raise NotApplicable(
                f"{len(names)} keys of {records:,} records are too many for missing='category' "
                f"(at most {MAX_ENTRIES:,} records times sets of keys); name fewer, or take missing='matches'"
            )

    def _suppressed(
        self,
        data: Microdata,
        names: tuple[str, ...],
        shown: NDArray[np.bool_],
        asked: tuple[KeysAlike, ...],
        said: str = "",
    ) -> Microdata:
        changed: dict[str, tuple[Variable, NDArray[np.generic]]] = {}
        for name, kept in zip(names, shown.T, strict=True):
            if not kept.all():
                variable, column = data.schema[name], data.columns[name].copy()
                column[~kept] = np.nan if variable.quantitative else -1
                variable = variable.treated(Treatment(suppressed=int((~kept).sum())))
                # a category listed that no record shows would tell what the missing values were
                changed[name] = (variable, column) if variable.quantitative else only_present(variable, column)
        note = f"{self!r}: {self._told(data.schema, names, shown, None, asked, said)}"
        listed = {name: variable.categories for name, (variable, _) in changed.items() if not variable.quantitative}
        return replace(data.recast(changed, note), origin=data.origin.listing(listed))

    def _told(
        self,
        schema: Schema,
        names: tuple[str, ...],
        shown: NDArray[np.bool_],
        counts: NDArray[np.int64] | None,
        asked: tuple[KeysAlike, ...],
        said: str,
    ) -> str:
        """Say how many values go; ``counts`` are the records that each row stands for, if not one."""
        gone = ~shown
        records = len(shown) if counts is None else int(counts.sum())
        lost = dict(zip(names, (gone.sum(axis=0) if counts is None else counts @ gone).tolist(), strict=True))
        each = ", ".join(f"{name} {number:,}" for name, number in lost.items() if number) or "none was needed"
        losing = gone.any(axis=1)
        touched = int(losing.sum() if counts is None else counts[losing].sum())
        touched_records = f"{touched:,} record{'s' if touched != 1 else ''}"
        all_values = records * len(names)
        note = f"{sum(lost.values()):,} of {all_values:,} key values suppressed in {touched_records}: {each}{said}"
        if self.sets == "scenarios":
            note += f" ({'; '.join(map(str, asked))})"
        if self.sets is None and self.variables is None and not schema.analysed(role="key"):
            note += "; no variable has the role key, so all ordinal and nominal ones were taken as keys"
        return note

    def in_words(self, schema: Schema | None = None) -> str:
        what = f"values of {self.subject()}" if self.variables else "key values"
        worth = self.importance or {}
        most = max(worth.values(), default=1.0)
        last = tuple(name for name, value in worth.items() if value == most > 1)
        spared = f", {listed(last, MAX_NAMED)} last" if last else ""
        capped = ", ".join(
            f"{written(share, 'share')} of {name}" if share else f"none of {name}"
            for name, share in (self.caps or {}).items()
        )
        return f"{what} are blanked where {self._too_few()}{spared}{f', at most {capped}' if capped else ''}"

    def _too_few(self) -> str:
        """Say when values are blanked.

        >>> LocalSuppression(sets=((("town", "age"), 3), (("job",), 5)), risk=0.1)._too_few()
        'fewer than 3 records look alike in town and age, or fewer than 5 in job, or the individual risk is above 0.1'
        """
        which = f" in any {self.subsets} of them" if self.subsets else ""
        k, sets = self.k or 1, self.sets
        conditions = []
        if sets == "scenarios":
            conditions.append("fewer records look alike than a scenario asks for")
        elif sets is not None:
            (keys, first), *others = sets
            conditions.append(f"fewer than {max(first, k)} records look alike in {listed(keys)}{which}")
            conditions += [f"fewer than {max(own, k)} in {listed(keys)}" for keys, own in others]
        if self.k is not None and (sets is None or sets == "scenarios"):
            conditions.append(f"fewer than {k} {'do' if conditions else 'records look alike'}{which}")
        if self.risk is not None:
            conditions.append(f"the individual risk is above {self.risk:g}")
        return ", or ".join(conditions)

    def short(self) -> Phrase:
        """Say by what it is bounded: the k of each set of keys, the scenarios, a risk.

        >>> LocalSuppression(sets=((("town", "age"), 3), (("job",), 5)), risk=0.1).short().detail
        'k=3/5 risk 0.1'
        """
        ks = [] if self.k is None else [self.k]
        if isinstance(self.sets, tuple):
            ks = [max(own, self.k or 1) for _, own in self.sets]
        bounds = ["scenarios"] if self.sets == "scenarios" else []
        bounds += [f"k={'/'.join(map(str, dict.fromkeys(ks)))}"] if ks else []
        return Phrase("suppress", "", " ".join([*bounds, *([f"risk {self.risk:g}"] if self.risk is not None else [])]))

    def told_with(self, before: Method, *, short: bool) -> bool:
        return short and isinstance(before, LocalSuppression)

    @classmethod
    def run_in_short(cls, run: Sequence["LocalSuppression"]) -> Phrase:
        """Name the bounds of all of them.

        >>> LocalSuppression.run_in_short([LocalSuppression(3), LocalSuppression(5)]).detail
        'k=3/5'
        """
        bounds = dict.fromkeys(step.short().detail for step in run)
        return Phrase("suppress", "", "/".join(bounds).replace("/k=", "/"))


def _all_of(asked: tuple[KeysAlike, ...]) -> tuple[str, ...]:
    """Name the keys of all sets, by name, so that the order of the columns decides no tie."""
    return tuple(sorted({name for one in asked for name in one.keys}))


def _homes(data: Microdata, names: tuple[str, ...]) -> Homes | None:
    """Return the households and which of the keys their members share; None where that is none."""
    level = household_level(data)
    shared = np.array([name in level for name in names], dtype=bool)
    return Homes(units(data), shared) if shared.any() else None
