"""Attacks on original records: how surely an intruder who knows a person's keys finds that person's protected record.

Keys of both tables stand on one footing. An attack counts, among some protected records, what is nearer to each record
looked for than its own, and as near; counts of the parts of a table add up, and give the chances. Where several look
alike to the intruder he draws one of them. A missing category agrees with every value, in either table.

A part needs no more than the records that are looked for, how far their own records lie, and how its values are put on
the footing. So a search goes to another process, and what comes back are a few numbers per record.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import by_shown_keys, matching_sums
from sfumato.kernels.boxes import distinct
from sfumato.kernels.euclidean_distance import nearer_and_tied
from sfumato.kernels.groups import class_sums, classes, first_records
from sfumato.kernels.rank_windows import search_windows
from sfumato.kernels.spread import mean_and_spread, standardised
from sfumato.pair.pair import Terms
from sfumato.pair.sample import Columns
from sfumato.pair.statistics import Sums
from sfumato.risk.points import Places, SoughtRecords, Space, linked
from sfumato.risk.rank_attack import Window
from sfumato.table.microdata import Microdata

Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Counts = dict[str, NDArray[Any]]


def agree(before: Codes, after: Codes) -> Flags:
    """Tell of which records the keys of both tables agree, row by row; -1 agrees with every value."""
    same: Flags = ((before == after) | (before < 0) | (after < 0)).all(axis=1)
    return same


def agreeing(before: Codes, after: Codes, *figures: NDArray[Any]) -> list[Floats]:
    """Return, for each record of the one table, the sum of some figures over those of the other that agree with it."""
    (asked, _), (own, sizes) = classes(before), classes(after)
    wanted, rows = before[first_records(asked)], after[first_records(own)]
    return [matching_sums(wanted, rows, class_sums(own, values, len(sizes)))[asked] for values in figures]


def kinds(*sides: Columns) -> tuple[Integers, Integers]:
    """Number the records that are equal in all columns, and count them."""
    columns = [column for side in sides for column in side.values()]
    return classes(np.column_stack([_as_whole_numbers(column) for column in columns]))


def _as_whole_numbers(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind != "f":
        return column
    bits: NDArray[Any] = np.where(np.isnan(column), np.nan, column + 0.0).view(np.int64)  # -0 is 0
    return bits


@dataclass(frozen=True, eq=False)
class PublishedRecords:
    """Some protected records: the keys of those equal in all keys once, how many they are, and what they weigh."""

    columns: Columns
    copies: Integers
    weights: Floats | None = None

    @classmethod
    def of(cls, columns: Columns, weights: Floats | None = None) -> "PublishedRecords":
        """Put equal records together, where there are many."""
        kind, sizes = kinds(columns)
        if 2 * len(sizes) > len(kind):
            return cls(columns, np.ones(len(kind), dtype=np.int64), weights)
        first = first_records(kind)
        together = None if weights is None else class_sums(kind, weights, len(sizes))
        return cls({name: column[first] for name, column in columns.items()}, sizes, together)


@dataclass(frozen=True, eq=False)
class Coder:
    """Keys as codes by which the records that are looked for agree with others, as in codes of both whole tables.

    Of a number only the values of the records looked for have codes of their own: all others agree with none of them.
    """

    values: tuple[tuple[str, Floats | None], ...]  # None: of categories, which have codes already

    @classmethod
    def of(cls, before: Columns, names: Sequence[str]) -> "Coder":
        """Take the keys of the records that are looked for."""
        return cls(tuple((name, _numbers_of(before[name])) for name in names))

    def __call__(self, columns: Columns) -> Codes:
        """Return the keys of records, on the footing of both tables, as codes; missing is -1."""
        coded = [_coded(columns[name], values) for name, values in self.values]
        records = len(next(iter(columns.values())))
        return np.column_stack(coded) if coded else np.empty((records, 0), dtype=np.int32)


def _numbers_of(column: NDArray[Any]) -> Floats | None:
    return np.unique(column[~np.isnan(column)]) if column.dtype.kind == "f" else None


def _coded(column: NDArray[Any], values: Floats | None) -> Codes:
    if values is None:
        return column.astype(np.int32)
    places = np.searchsorted(values, column)
    there = np.append(values, np.nan)[places] == column
    return np.where(np.isnan(column), -1, np.where(there, places, len(values))).astype(np.int32)


class Attack(ABC):
    """One attack on the records looked for."""

    @abstractmethod
    def counted(self, published: PublishedRecords) -> Counts:
        """Count what some protected records hold for each record looked for."""

    @abstractmethod
    def chance(self, counts: Counts) -> Floats:
        """Return the chance of each record looked for, from the counts of all protected records."""


@dataclass(frozen=True, eq=False)
class AlikeAttack(Attack):
    """Any of the records that agree in every key: one over their number, if the own record is among them."""

    coder: Coder
    before: Codes
    own: Codes

    @classmethod
    def of(cls, before: Columns, after: Columns, names: Sequence[str]) -> "AlikeAttack":
        """Look for records by these keys, given those of their own ones."""
        coder = Coder.of(before, names)
        return cls(coder, coder(before), coder(after))

    def counted(self, published: PublishedRecords) -> Counts:
        figures: list[NDArray[Any]] = [published.copies]
        if published.weights is not None:
            figures.append(published.weights)
        number, *units = agreeing(self.before, self.coder(published.columns), *figures)
        return {"number": np.rint(number)} | ({"units": units[0]} if units else {})

    def chance(self, counts: Counts) -> Floats:
        return np.where(agree(self.before, self.own), 1 / np.maximum(counts["number"], 1), 0.0)


@dataclass(frozen=True, eq=False)
class FewestChanged(AlikeAttack):
    """The records that differ in the fewest of the keys that were changed, and agree in all others.

    With N(T) the records alike in all others and in the set T of these, the sum of N(T) over sets of j is the sum over
    records of C(a, j), if a record agrees in a of them; so the numbers of records that agree in exactly a follow from
    above.
    """

    changed: tuple[int, ...] = ()

    def counted(self, published: PublishedRecords) -> Counts:
        found = alike_in_sets(self.before, self.coder(published.columns), self.changed, published.copies)
        return {str(size): counts for size, counts in enumerate(found)}

    def chance(self, counts: Counts) -> Floats:
        found = np.stack([counts[str(size)] for size in range(len(self.changed) + 1)])
        return fewest_changed_chance(self.before, self.own, self.changed, found)


def alike_in_sets(before: Codes, after: Codes, changed: Sequence[int], copies: Integers | None = None) -> Floats:
    """Count the records alike in all columns but some, over the sets of 0, 1, ... of these that agree too.

    Rows are sizes of sets; counts of parts add up.
    """
    rest = [j for j in range(before.shape[1]) if j not in changed]
    copies = np.ones(len(after), dtype=np.int64) if copies is None else copies
    found = np.zeros((len(changed) + 1, len(before)))
    for size in range(len(changed) + 1):
        for some in combinations(changed, size):
            columns = [*rest, *some]
            found[size] += np.rint(agreeing(before[:, columns], after[:, columns], copies)[0])
    return found


def fewest_changed_chance(before: Codes, own: Codes, changed: Sequence[int], found: Floats) -> Floats:
    """Return the chance of each record, given the codes of its own protected one and ``alike_in_sets`` of all parts."""
    many = len(changed)
    rest = [j for j in range(before.shape[1]) if j not in changed]
    exactly = np.zeros_like(found)  # the records that agree in exactly so many of what may have changed
    for a in range(many, -1, -1):
        exactly[a] = found[a] - sum(comb(more, a) * exactly[more] for more in range(a + 1, many + 1))
    agreed = sum((agree(before[:, [j]], own[:, [j]]).astype(np.int64) for j in changed), np.zeros(len(own), np.int64))
    better = np.array([exactly[a + 1 :].sum(axis=0) for a in range(many + 1)])
    everyone = np.arange(len(own))
    first = agree(before[:, rest], own[:, rest]) & (better[agreed, everyone] < 0.5)
    return np.where(first, 1 / np.maximum(exactly[agreed, everyone], 1), 0.0)


@dataclass(frozen=True, eq=False)
class LookedFor:
    """Records that are looked for among those alike in their codes: where they lie, and how near a record may come.

    Who does not agree in the codes is not looked at, so that a record whose own does not agree is not found.
    """

    codes: Codes
    agrees: Flags  # whether the own record is alike in the codes
    here: Floats
    short: Floats  # who is nearer than this is nearer than the own record
    reach: Floats  # who is up to this far is as near as the own record

    @classmethod
    def of(cls, codes: Codes, own_codes: Codes, here: Floats, own: Floats, space: Space) -> "LookedFor":
        """Take the records with their own ones of the other table, both placed in the space."""
        distance = np.linalg.norm(here - own, axis=1)
        slack = space.slack(distance)
        return cls(codes, agree(codes, own_codes), here, np.maximum(distance - slack, 0.0), distance + slack)

    def among(
        self, after: Codes, there: Floats, space: Space, copies: Integers | None = None
    ) -> tuple[Integers, Integers]:
        """Count, of some protected records, those nearer than the own record and those as near.

        Of whoever is beaten, or whose own record does not agree, the count is not completed. Numbers of parts add up.
        """
        nearer, tied = np.zeros(len(self.codes), dtype=np.int64), np.zeros(len(self.codes), dtype=np.int64)
        for shown, protected in by_shown_keys(after):  # as in the counts over keys with gaps: a pattern at a time
            asking = np.flatnonzero(self.agrees & (nearer == 0))
            for known, members in by_shown_keys(self.codes[asking]):
                records = asking[members]
                columns = np.flatnonzero(shown & known)
                both = np.concatenate([after[np.ix_(protected, columns)], self.codes[np.ix_(records, columns)]])
                places = space.apart * classes(both)[0][:, None]  # of blocks: out of everyone's reach
                of_each = None if copies is None else copies[protected]
                rows, _, number = distinct(np.hstack([there[protected], places[: len(protected)]]), of_each)
                query = np.hstack([self.here[records], places[len(protected) :]])
                found = nearer_and_tied(rows, number, query, self.short[records], self.reach[records])
                nearer[records] += found[0]
                tied[records] += found[1]
        return nearer, tied

    def chance(self, nearer: Integers, tied: Integers) -> Floats:
        """Return the chance of each record, given how many of all protected ones are nearer, and how many as near."""
        return np.where(self.agrees & (nearer == 0), 1 / np.maximum(tied, 1), 0.0)


@dataclass(frozen=True, eq=False)
class NearestAttack(Attack):
    """The nearest in some numbers, of the records that agree in other keys."""

    coder: Coder
    numbers: tuple[str, ...]
    mean: Floats
    spread: Floats
    space: Space
    looked_for: LookedFor

    @classmethod
    def of(
        cls,
        before: Columns,
        after: Columns,
        agreeing: Sequence[str],
        numbers: Sequence[str],
        scale: tuple[Floats, Floats],
        space: Space,
    ) -> "NearestAttack":
        """Look for records by these keys; ``scale`` has the means and standard deviations of the original."""
        coder = Coder.of(before, agreeing)
        here, own = (
            space.placed(standardised(np.column_stack([side[name] for name in numbers]), *scale))
            for side in (before, after)
        )
        looked_for = LookedFor.of(coder(before), coder(after), here, own, space)
        return cls(coder, tuple(numbers), *scale, space, looked_for)

    def counted(self, published: PublishedRecords) -> Counts:
        values = np.column_stack([published.columns[name] for name in self.numbers])
        there = self.space.placed(standardised(values, self.mean, self.spread))
        nearer, tied = self.looked_for.among(self.coder(published.columns), there, self.space, published.copies)
        return {"nearer": nearer, "tied": tied}

    def chance(self, counts: Counts) -> Floats:
        return self.looked_for.chance(counts["nearer"], counts["tied"])


@dataclass(frozen=True, eq=False)
class GowerAttack(Attack):
    """The nearest over all keys in Gower's distance."""

    places: tuple[tuple[str, Places], ...]
    sought: SoughtRecords

    @classmethod
    def of(cls, before: Columns, after: Columns, places: Mapping[str, Places]) -> "GowerAttack":
        """Look for records by these keys."""
        here, own = (np.column_stack([place(side[name]) for name, place in places.items()]) for side in (before, after))
        return cls(tuple(places.items()), SoughtRecords.gower(here, own))

    def counted(self, published: PublishedRecords) -> Counts:
        there = np.column_stack([place(published.columns[name]) for name, place in self.places])
        nearer, tied = self.sought.among(there, published.copies)
        return {"nearer": nearer, "tied": tied}

    def chance(self, counts: Counts) -> Floats:
        return linked(counts["nearer"], counts["tied"], share=True)[0]


@dataclass(frozen=True, eq=False)
class Search:
    """All attacks of a scenario, tried on a part of the protected table; it goes to other processes."""

    terms: tuple[Terms, ...]
    attacks: Mapping[str, Attack]
    weighted: bool

    def __call__(self, part: Microdata) -> Sums:
        """Return what a part of the protected table holds for each attack and record."""
        columns = {terms.name: terms(part) for terms in self.terms} or nothing_known(len(part))
        return self.among(PublishedRecords.of(columns, part.weights() if self.weighted else None))

    def among(self, published: PublishedRecords) -> Sums:
        """Return what some protected records hold for each attack and record."""
        counts = {name: attack.counted(published) for name, attack in self.attacks.items()}
        return Sums({f"{name}: {what}": values for name, of in counts.items() for what, values in of.items()})

    def chances(self, found: Sums) -> dict[str, Floats]:
        """Return the chance of each record looked for, by attack."""
        return {name: attack.chance(counts_of(found, name)) for name, attack in self.attacks.items()}


def nothing_known(records: int) -> Columns:
    """Return a column for records of which nothing is known, so that all are alike."""
    return {"": np.zeros(records, dtype=np.int32)}


def counts_of(found: Sums, attack: str) -> Counts:
    """Return what was counted for one attack."""
    start = f"{attack}: "
    return {name.removeprefix(start): counts for name, counts in found.named.items() if name.startswith(start)}


# An intruder who knows by which method numbers were masked. What was kept in its order, or swapped with others near in
# rank, lies in a window of ranks around the rank of the known value. A record that was averaged with others has the
# mean of its group. Each key so narrows the candidates, which must also agree in the keys that were not perturbed.


def in_windows(before: Codes, after: Codes, windows: Sequence[Window]) -> Floats:
    """Return the chance of each original record among those in all its windows that agree with it in the codes.

    Of these he takes the one that has moved farthest, as :class:`RankSwappingAttack` does; those as far share the
    chance. A missing code agrees with every one, a missing number with missing ones.

    >>> places = np.array([0.0, 1.0])
    >>> window = Window(places[::-1], places - 1, places + 1, places, 1)
    >>> in_windows(np.zeros((2, 0), np.int32), np.zeros((2, 0), np.int32), [window]).tolist()
    [1.0, 1.0]
    """
    table, low, high, centre = (
        np.column_stack([getattr(window, side) for window in windows])
        for side in ("protected", "low", "high", "centre")
    )
    # whole numbers, so that sums of mean ranks are exact and candidates that have moved as far tie
    steps = np.array([np.round(2**20 / (window.reach + 1)) for window in windows] + [0.0])
    there = ((low <= table) & (table <= high)).all(axis=1) & agree(before, after)
    own = (np.abs(table - centre) * steps[:-1]).sum(axis=1)
    farther, tied = np.zeros(len(before), dtype=np.int64), np.zeros(len(before), dtype=np.int64)
    for shown, protected in by_shown_keys(after):
        asking = np.flatnonzero(there & (farther == 0))
        for known, members in by_shown_keys(before[asking]):
            records = asking[members]
            columns = np.flatnonzero(shown & known)
            both = np.concatenate([after[np.ix_(protected, columns)], before[np.ix_(records, columns)]])
            cell = classes(both)[0] * float(2 * len(before))  # farther apart than ranks, so that the search splits them
            theirs, his = cell[: len(protected)], cell[len(protected) :]
            found = search_windows(
                np.column_stack([table[protected], theirs]),
                np.column_stack([low[records], his]),
                np.column_stack([high[records], his]),
                np.column_stack([centre[records], his]),
                own[records],
                steps,
            )
            farther[records] += found[1]
            tied[records] += found[2]
    return np.where(there & (farther == 0), 1 / np.maximum(tied, 1), 0.0)


def own_group(after: Floats) -> Window:
    """Place each record in the group whose means it shows: he who knows all values forms the groups again."""
    group, _ = classes(_codes(after))
    return _of_groups(group, group)


def nearest_group(before: Floats, after: Floats) -> Window:
    """Place each record in the group whose means are nearest to what he knows of it; a missing value is far from all.

    He knows the values of this record alone, or not all variables of which groups were formed.
    """
    from scipy.spatial import KDTree

    mean, spread = mean_and_spread(before)
    here, there = (standardised(values, mean, spread) for values in (before, after))
    missing = 1e6  # spreads
    here, there = (np.where(np.isnan(side), missing, side) for side in (here, there))
    group, _ = classes(_codes(after))
    nearest = KDTree(there[first_records(group)]).query(here)[1]
    return _of_groups(group, nearest)


def _codes(values: Floats) -> Codes:
    """Number the values of each column, so that equal ones have one number, and missing ones too."""
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in values.T]).astype(np.int32)


def _of_groups(group: NDArray[np.int64], wanted: NDArray[np.int64]) -> Window:
    place = wanted.astype(np.float64)
    return Window(group.astype(np.float64), place, place, place, 0)
