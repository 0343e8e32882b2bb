"""Other releases of the same records, which an intruder may lay beside this one, and what all give away together.

Whoever has two releases joins them first: by columns that stand in both exactly as they were, such as weights and
untouched amounts, or else by nearness. Then independent noise is averaged, and classes of the same variable are
intersected. The original serves only to count what that attack gets right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sfumato.auditing import evidence as held
from sfumato.auditing.evidence import Evidence, id_names
from sfumato.auditing.findings import NearTogether, Together
from sfumato.auditing.matching import Matching, match, matched_by_values, under_same_codes
from sfumato.auditing.targets import Floats, Mask, Ranks, Rows, Target, close
from sfumato.errors import DataError
from sfumato.kernels.groups import classes
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import aligned

NEAREST = 20_000  # records up to which releases without exact columns are joined by nearness
LINKED = 1_000  # records of which one who knows the keys is tried, drawn at random
EXACT = 0.95  # of the joined records agree in a column by which they were joined
CELLS = 4_000_000  # distances held at a time


@dataclass(frozen=True, eq=False)
class Release:
    """A release: its table, and which record of the original each of its records is, to count by."""

    name: str
    table: Microdata
    record: Rows


def together(
    original: Microdata, released: Release, others: Sequence[Release], near: float, rng: np.random.Generator
) -> Together | None:
    """Say what one release and others give away together; None where none of the others can be joined to it."""
    joins = [_joined(original, released, other, rng) for other in others]
    used = [(other, rows, by) for other, (rows, by) in zip(others, joins, strict=True) if (rows >= 0).any()]
    if not used:
        return None
    right = np.zeros(len(released.record), dtype=bool)
    for other, rows, _ in used:
        right |= (rows >= 0) & (other.record[rows] == released.record)
    keys = tuple(dict.fromkeys(key for intruder in original.schema.intruders() for key in intruder.keys))
    keys = tuple(name for name in keys if name in released.table.columns)
    pairs = [(other, rows) for other, rows, _ in used]
    asked = rng.permutation(len(released.record))[:LINKED]  # the same alone and together
    alone, both = (_linked(original, released, one, keys, asked) if keys else 0.0 for one in ([], pairs))
    return Together(
        releases=tuple(other.name for other, _, _ in used),
        by=tuple(dict.fromkeys(name for _, _, by in used for name in by)),
        joined=float(right.mean()),
        keys=keys,
        linked_alone=alone,
        linked=both,
        near=tuple(_near(original, released, pairs, near)),
    )


def _joined(
    original: Microdata, one: Release, other: Release, rng: np.random.Generator
) -> tuple[Rows, tuple[str, ...]]:
    """Return for each record of one release the record of the other that it is joined with, -1 for none; and by what.

    Neither the order of the records nor ids are used: both may have been taken from the notes of the releases.
    """
    order = rng.permutation(len(other.table))
    ids = {*id_names(original, one.table), *id_names(original, other.table)}
    here, there = (table.without([n for n in ids if n in table.columns]) for table in (one.table, other.table))
    there = there.take(order)
    shared = [name for name in here.names if name in there.columns]
    rows = np.full(len(here), -1, dtype=np.intp)
    try:
        found = matched_by_values(here, there, shared) if shared else None
    except DataError:
        found = None
    if found is not None:
        rows[found.records] = order[found.rows]
        exact = [n for n in shared if _agree(here, there, n, found.records, found.rows) >= EXACT]
        return rows, _telling_apart(here, exact)
    pairs = _nearest(here, there, shared)
    rows[pairs[0]] = order[pairs[1]]
    return rows, ()


def _telling_apart(table: Microdata, names: Sequence[str]) -> tuple[str, ...]:
    """Return the fewest of some columns, the finest first, that tell records apart as well as all of them do."""
    numbered = {name: np.unique(table.columns[name], return_inverse=True)[1] for name in names}
    finest = sorted(names, key=lambda name: -int(numbered[name].max(initial=0)))
    most = int(classes(np.column_stack([numbered[name] for name in finest]))[0].max()) + 1 if finest else 0
    for number in range(1, len(finest)):
        if int(classes(np.column_stack([numbered[n] for n in finest[:number]]))[0].max()) + 1 >= 0.99 * most:
            return tuple(finest[:number])
    return tuple(finest)


def _agree(here: Microdata, there: Microdata, name: str, first: Rows, second: Rows) -> float:
    both = under_same_codes(here, there, name)
    if both is None:
        return 0.0
    one, other = both[0][first], both[1][second]
    return float((close(one, other) if one.dtype.kind == "f" else one == other).mean())


def _nearest(here: Microdata, there: Microdata, shared: Sequence[str]) -> tuple[Rows, Rows]:
    """Join the records of two releases that are each other's nearest, in ranks and in categories."""
    nothing = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    if max(len(here), len(there)) > NEAREST:
        return nothing
    parts = [found for name in shared if (found := _places(here, there, name)) is not None]
    if not parts:
        return nothing
    first, second = (np.column_stack([part[side] for part in parts]) for side in (0, 1))
    forth = cKDTree(second).query(first)[1]
    back = cKDTree(first).query(second)[1]
    rows = np.flatnonzero(back[forth] == np.arange(len(first)))
    return rows, forth[rows]


def _places(here: Microdata, there: Microdata, name: str) -> tuple[Floats, Floats] | None:
    """Return a column of both releases as points: numbers by their ranks from 0 to 1, categories at equal distance."""
    kinds = {table.schema[name].quantitative for table in (here, there)}
    if kinds == {True}:
        columns = [table.columns[name] for table in (here, there)]
        ranks = [Ranks.of(column, 0.0) for column in columns]
        found = [
            np.where(np.isnan(c), 0.5, r.place(c) / max(len(r.values), 1)) for r, c in zip(ranks, columns, strict=True)
        ]
        return found[0][:, None], found[1][:, None]
    if kinds != {False} or here.schema[name].categories != there.schema[name].categories:
        return None
    number = len(here.schema[name].categories)
    if number > 50:
        return None
    corners = np.vstack([np.eye(number), np.zeros(number)]) / np.sqrt(2)
    return corners[here.columns[name]], corners[there.columns[name]]


def _near(
    original: Microdata, released: Release, joined: Sequence[tuple[Release, Rows]], near: float
) -> "list[NearTogether]":
    """Count the numbers within a share of the ranks: as published in one release, and averaged over all."""
    found = []
    for name in original.schema.analysed("numeric"):
        columns = _numbers(name, released, joined)
        if len(columns) < 2:
            continue
        true = original.columns[name][released.record]
        alone, mean = columns[0], mean_of(columns)
        asked = ~np.isnan(true) & ~np.isnan(alone)
        if not asked.any() or all(np.array_equal(alone, one, equal_nan=True) for one in columns[1:]):
            continue
        ranks = Ranks.of(original.columns[name], near)
        shares = [float(ranks.near(true[asked], one[asked]).mean()) for one in (alone, mean)]
        found.append(NearTogether(name, int(asked.sum()), *shares))
    return found


def _numbers(name: str, released: Release, joined: Sequence[tuple[Release, Rows]]) -> list[Floats]:
    """Return a number as each release publishes it, in the order of the first; nothing where that does not."""
    if name not in released.table.columns or released.table.schema[name].kind != "numeric":
        return []
    columns = [released.table.columns[name]]
    for other, rows in joined:
        if name in other.table.columns and other.table.schema[name].kind == "numeric":
            columns.append(np.where(rows >= 0, other.table.columns[name][rows], np.nan))
    return columns


def mean_of(columns: Sequence[Floats]) -> Floats:
    """Average what is there of several columns.

    >>> mean_of([np.array([1.0, np.nan, np.nan]), np.array([3.0, 5.0, np.nan])])
    array([ 2.,  5., nan])
    """
    stacked = np.vstack(columns)
    there = ~np.isnan(stacked)
    total = np.where(there, stacked, 0.0).sum(axis=0)
    return np.where(there.any(axis=0), total / np.maximum(there.sum(axis=0), 1), np.nan)


def _linked(
    original: Microdata,
    released: Release,
    joined: Sequence[tuple[Release, Rows]],
    keys: Sequence[str],
    asked: Rows,
) -> float:
    """Return the share found by one who knows the keys: among the records nearest to what he knows he takes any.

    A number is as far off as it is in rank, averaged over the releases; a category that can be what he knows is not
    off, any other by one; a class can be it if all releases say so.
    """
    found, step = 0.0, max(CELLS // len(released.record), 1)
    prepared = [_key(original, released, joined, name) for name in keys]
    for start in range(0, len(asked), step):
        rows = asked[start : start + step]
        apart = np.zeros((len(rows), len(released.record)))
        for key in prepared:
            apart += key.apart(released.record[rows])
        least = apart.min(axis=1, keepdims=True) + 1e-9
        nearest = apart <= least
        own = nearest[np.arange(len(rows)), rows]
        found += float((own / nearest.sum(axis=1)).sum())
    return found / len(asked)


@dataclass(frozen=True, eq=False)
class _Key:
    """A key as an intruder compares it: the places of numbers, or what each published category can be."""

    known: Floats  # of each record of the original: its rank, or its code
    shown: Floats | None = None  # of each record of the release: the rank, averaged
    classes: tuple[tuple[Rows, Mask], ...] = ()  # by release: code of each record, and code x value

    def apart(self, records: Rows) -> Floats:
        if self.shown is not None:
            off = np.abs(self.known[records][:, None] - self.shown[None, :])
            return np.nan_to_num(off, nan=1.0)
        off = np.zeros((len(records), len(self.classes[0][0])))
        values = self.known[records].astype(np.intp)
        for codes, can in self.classes:
            off = np.maximum(off, ~can[codes][:, values].T)
        return off


def _key(original: Microdata, released: Release, joined: Sequence[tuple[Release, Rows]], name: str) -> _Key:
    columns = _numbers(name, released, joined) if original.schema[name].kind == "numeric" else []
    if columns:
        ranks = Ranks.of(original.columns[name], 0.0)
        places, shown = (
            np.where(np.isnan(one), np.nan, ranks.place(one) / max(len(ranks.values), 1))
            for one in (original.columns[name], mean_of(columns))
        )
        return _Key(places, shown=shown)
    values, known = np.unique(original.columns[name], return_inverse=True)
    found = []
    every = np.arange(len(released.record), dtype=np.intp)
    for one, rows in [(released, every), *joined]:
        if name in one.table.columns:
            codes, can = _classes(original, one, name, known, len(values))
            found.append((np.where(rows >= 0, codes[rows], 0), can))
    return _Key(known.astype(np.float64), classes=tuple(found))


def _classes(original: Microdata, one: Release, name: str, known: Rows, number: int) -> tuple[Rows, Mask]:
    """Return the published code of each record, and which values each code can be; a blank, code 0, can be any.

    A class of numbers can be all that lies between its ends; any other holds what the release has put into it. What
    was changed at random can be anything: then a class holds what is commonest in it, and is wrong for the others.
    """
    column = one.table.columns[name]
    blank = one.table.missing(name)
    levels, codes = np.unique(column, return_inverse=True)
    codes = np.where(blank, 0, codes + 1).astype(np.intp)
    counts = np.zeros((len(levels) + 1, number))
    np.add.at(counts, (codes, known[one.record]), 1)
    same = not original.schema[name].quantitative and _same_categories(original, one.table, name)
    if same:  # a category stands for itself
        can = np.zeros(counts.shape, dtype=bool)
        place = {code: at for at, code in enumerate(np.unique(original.columns[name]).tolist())}
        both = aligned(original, one.table, name)
        own = np.unique(np.column_stack([codes, both.protected]), axis=0)
        mapping = dict(zip(both.original.tolist(), original.columns[name].tolist(), strict=True))
        for code, value in own.tolist():
            at = place.get(mapping.get(value, -2))
            if at is not None:
                can[code, at] = True
    else:
        can = counts > 0
        if original.schema[name].quantitative:
            can = np.logical_or.accumulate(can, axis=1) & np.logical_or.accumulate(can[:, ::-1], axis=1)[:, ::-1]
    can[0] = True
    return codes, can


def _same_categories(original: Microdata, table: Microdata, name: str) -> bool:
    if table.schema[name].quantitative:
        return False
    return set(map(str, table.schema[name].categories)) <= set(map(str, original.schema[name].categories))


@dataclass(frozen=True, eq=False)
class OtherColumn:
    """A column of another release: as evidence, and as the values that stand there, names of categories or numbers."""

    name: str
    evidence: Evidence
    values: NDArray[Any]

    def read_off(self, target: Target) -> NDArray[Any] | None:
        """Return what this column says of its namesake, as it stands; None where it is another variable or kind."""
        if self.name != target.name or target.number != (self.values.dtype.kind == "f"):
            return None
        if target.number:
            return self.values
        place = {level: code for code, level in enumerate(target.truth.levels.tolist())}
        return np.array([place.get(value, -1) for value in self.values.tolist()], dtype=np.int64)


def releases_beside(original: Microdata, releases: Mapping[str, Any], notes: list[str]) -> tuple[Release, ...]:
    """Return other releases, with the record of the original that each of their records is."""
    found = []
    for name, table in releases.items():
        other = Microdata.beside(original, table)
        try:
            theirs = match(original, other)
        except DataError:
            notes.append(f"{name}: its records cannot be linked to those of this release, so it tells nothing of them")
            continue
        found.append(Release(name, other.take(theirs.rows), theirs.records))
    return tuple(found)


def columns_beside(original: Microdata, matching: Matching, releases: Sequence[Release]) -> tuple[OtherColumn, ...]:
    """Return the columns of other releases, for the records of this one in its order."""
    found = []
    for release in releases:
        row = np.full(len(original), -1, dtype=np.intp)
        row[release.record] = np.arange(len(release.record))
        here = row[matching.records]
        apart = held.id_names(original, release.table)
        found += [
            _column(release.table, column, release.name, here) for column in release.table.names if column not in apart
        ]
    return tuple(found)


def _column(other: Microdata, column: str, release: str, here: Rows) -> OtherColumn:
    one, rows = held.column(other, column, f"{column} of {release}"), np.maximum(here, 0)
    codes = np.where(here >= 0, one.codes[rows] + 1, 0)
    variable, values = other.schema[column], other.columns[column][rows]
    if variable.quantitative:
        shown = np.where(here >= 0, values, np.nan)
    else:
        names = np.array([*map(str, variable.categories), None], dtype=object)
        shown = names[np.where(here >= 0, values, -1)]
    return OtherColumn(column, Evidence(one.shown, codes, one.ordered), shown)
