"""An intruder in plain numpy and pandas: he knows the keys of everybody in a file, has what is published, and computes.

Records of the published file stand in the order of the original, so that the truth can be counted; he does not use
their order. What a published label stands for he reads off its name; here it is what most records of each value became.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TRUST = (0.999, 0.9, 0.6)  # how often he takes a published category for true
WIDTHS = (0.003, 0.02, 0.1)  # how far, as a share of all ranks, he expects a number to have moved
SIZE = 3.0  # what a member too many or too few counts against a family


@dataclass(frozen=True)
class Clue:
    """What he knows of everybody beside what is published: codes from 0, or numbers; missing is -1 or NaN."""

    known: NDArray[np.generic]
    published: NDArray[np.generic]
    number: bool = False

    def evidence(self, trust: float, width: float, *, weighs_blanks: bool) -> Floats:
        """Return how much more likely each pair of records is of one person than by chance, as a logarithm."""
        if self.number:
            return self._of_numbers(width)
        known, published = self.known.astype(np.int64), self.published.astype(np.int64)
        shares = np.bincount(
            published[published >= 0], minlength=max(known.max(initial=0), published.max(initial=0)) + 1
        )
        shares = np.maximum(shares / max(shares.sum(), 1), 1 / (2 * len(published)))
        here = shares[np.maximum(known, 0)][:, None]
        same = known[:, None] == published[None, :]
        found = np.where(same, np.log(trust / here), np.log((1 - trust) / np.maximum(1 - here, 1e-3)))
        # a blank is the likelier the rarer the value was
        blank = np.where(weighs_blanks, -0.5 * np.log(here), 0.0) * np.ones((1, len(published)))
        found = np.where(published[None, :] < 0, blank, found)
        return np.asarray(np.where(known[:, None] < 0, 0.0, found), dtype=np.float64)

    def _of_numbers(self, width: float) -> Floats:
        """Compare places in the order of all values, those known among those published, and the order of each."""
        known, published = self.known.astype(float), self.published.astype(float)
        there = np.sort(published[~np.isnan(published)])
        if not len(there):
            return np.zeros((len(known), len(published)))

        def place(values: Floats, among: Floats) -> Floats:
            both = np.searchsorted(among, values, "left") + np.searchsorted(among, values, "right")
            return np.where(np.isnan(values), np.nan, both / (2 * len(among)))

        apart = np.abs(place(known, there)[:, None] - place(published, there)[None, :])
        return np.nan_to_num(-np.minimum(apart / width, 12.0), nan=0.0)


def clue(known: "pd.Series[Any]", published: "pd.Series[Any]") -> Clue:
    """Lay a known and a published column side by side: as numbers where both are, else by what became of each value."""
    if all(pd.api.types.is_numeric_dtype(side) for side in (known, published)) and known.nunique() > 12:
        return Clue(known.to_numpy(dtype=float), published.to_numpy(dtype=float), number=True)
    labels = published.astype("string")
    same = set(labels.dropna()) <= set(known.astype("string").dropna())
    if same:
        became = known.astype("string")
    else:
        pairs = pd.DataFrame({"known": known.to_numpy(), "label": labels.to_numpy()}).dropna()
        most = pairs.groupby("known")["label"].agg(lambda side: side.value_counts().index[0])
        became = known.map(most).astype("string")
    codes = {label: code for code, label in enumerate(sorted(set(labels.dropna()) | set(became.dropna())))}
    here, there = (side.map(codes).fillna(-1).astype(np.int64).to_numpy() for side in (became, labels))
    return Clue(here, there)


def derived(known: "pd.Series[Any]", published: "pd.Series[Any]") -> Clue:
    """Compare what a column must show with what it shows: if it is missing, where it must be, or else its value."""
    if pd.api.types.is_numeric_dtype(published) and published.nunique() > 12:
        return Clue(known.to_numpy(dtype=float), published.to_numpy(dtype=float), number=True)
    if known.isna().any() and not pd.api.types.is_bool_dtype(known):
        return Clue(known.notna().to_numpy().astype(np.int64), published.notna().to_numpy().astype(np.int64))
    return clue(known, published)


def shares_found(scores: Floats) -> Floats:
    """Return the chance of each record: one over those that score as high, if none scores higher than its own."""
    best = scores.max(axis=1)
    own = np.diag(scores)
    slack = 1e-9 * (1 + np.abs(best))
    ties = (scores >= (best - slack)[:, None]).sum(axis=1)
    return np.asarray((own >= best - slack) / ties, dtype=np.float64)


def ways() -> Iterator[tuple[float, float, bool]]:
    """Yield how he may weigh what he sees; he is granted the best."""
    yield from product(TRUST, WIDTHS, (True, False))


@dataclass(frozen=True)
class Truth:
    """What an attack found: the share of records, and of families where there are any."""

    records: float
    families: float = 0.0


def by_weighing(clues: Sequence[Clue], unit: Integers | None = None, groups: Integers | None = None) -> Truth:
    """Score all pairs of records by all clues; then all families by those of their members. Take the best way."""
    records, families = 0.0, 0.0
    for way in ways():
        scores = np.sum([each.evidence(way[0], way[1], weighs_blanks=way[2]) for each in clues], axis=0)
        records = max(records, float(shares_found(scores).mean()))
        if unit is not None and groups is not None:
            persons, homes = found_together(scores, unit, groups)
            records, families = max(records, persons), max(families, homes)
    return Truth(records, families)


def found_together(scores: Floats, unit: Integers, groups: Integers) -> tuple[float, float]:
    """Match families with groups of published records that share columns; return the shares of persons and families.

    A family scores the sum over its members of their best match in the group, less for each member too many or too few.
    A group is the family's own if most of both are the same records. In the own group he takes the best for each.
    """
    rows, columns = np.argsort(unit, kind="stable"), np.argsort(groups, kind="stable")
    starts = [np.flatnonzero(np.diff(side[order], prepend=-1)) for side, order in ((unit, rows), (groups, columns))]
    best = np.maximum.reduceat(scores[rows][:, columns], starts[1], axis=1)
    sizes = [np.diff(np.append(start, len(unit))) for start in starts]
    total = np.add.reduceat(best, starts[0], axis=0) - SIZE * np.abs(sizes[0][:, None] - sizes[1][None, :])
    top = total.max(axis=1)
    leading = total >= top[:, None] - 1e-9 * (1 + np.abs(top))[:, None]
    place = np.empty(len(unit), dtype=np.int64)
    place[columns] = np.repeat(np.arange(len(sizes[1])), sizes[1])
    persons = families = 0.0
    for home, (start, size) in enumerate(zip(starts[0], sizes[0], strict=True)):
        members = rows[start : start + size]
        where, count = np.unique(place[members], return_counts=True)
        group = int(where[np.argmax(count)])
        inside = columns[starts[1][group] : starts[1][group] + sizes[1][group]]
        if not leading[home, group] or 2 * count.max() <= max(size, len(inside)):
            continue
        chance = 1 / leading[home].sum()
        families += chance
        for member in members:
            among = scores[member, inside]
            if member in inside and scores[member, member] >= among.max() - 1e-9:
                persons += chance / (among >= among.max() - 1e-9).sum()
    return persons / len(unit), families / len(sizes[0])


def by_windows(known: pd.DataFrame, published: pd.DataFrame, alike: Sequence[Clue]) -> Truth:
    """Undo rank swapping: candidates lie within the widest move of each number; who moved farthest is taken."""
    n = len(known)
    inside, moved = np.ones((n, n), dtype=bool), np.zeros((n, n))
    for each in alike:
        here, there = each.known[:, None], each.published[None, :]
        inside &= (here == there) | (here < 0) | (there < 0)  # type: ignore[operator]
    for name in known.columns:
        before, after = known[name], published[name]
        ranks = [side.rank(method="average", na_option="keep").to_numpy() for side in (before, after)]
        apart = np.abs(ranks[0][:, None] - ranks[1][None, :])
        widest = np.nanmax(np.abs(ranks[0] - ranks[1]), initial=0.0)
        inside &= (apart <= widest) | np.isnan(apart)
        moved += np.nan_to_num(apart) / (widest + 1)
    return Truth(float(shares_found(np.where(inside, moved, -1.0)).mean()))


def groups_of(published: pd.DataFrame, shared: Sequence[str]) -> Integers:
    """Put together the published records that agree in all columns that members share."""
    there = [name for name in shared if name in published]
    if not there:
        return np.zeros(len(published), dtype=np.int64)
    return np.asarray(published.groupby(there, dropna=False, sort=False, observed=True).ngroup(), dtype=np.int64)


def attacked(
    known: pd.DataFrame,
    published: pd.DataFrame,
    *,
    told: Mapping[str, Callable[[pd.DataFrame], "pd.Series[float]"]],
    parts: Mapping[str, tuple[str, ...]],
    unit: "pd.Series[int] | None",
    shared: Sequence[str],
) -> dict[str, Truth]:
    """Try every attack; ``known`` has the keys of everybody, in the order of the published records."""
    keys = {name: clue(known[name], published[name]) for name in known if name in published}
    further = [derived(tells(known), published[name]) for name, tells in told.items() if name in published]
    for total, names in parts.items():
        there = [name for name in names if name in published and pd.api.types.is_numeric_dtype(published[name])]
        if total in known and len(there) > len(names) / 2:
            added = published[there].sum(axis=1, min_count=1)
            further.append(Clue(known[total].to_numpy(dtype=float), added.to_numpy(dtype=float), number=True))
    nothing = [Clue(np.zeros(len(known), dtype=np.int64), np.zeros(len(known), dtype=np.int64))]
    found = {"keys": by_weighing([*keys.values()] or nothing)}
    if further:
        found["keys and what tells of them"] = by_weighing([*keys.values(), *further])
    numbers = [name for name, each in keys.items() if each.number]
    if numbers:
        alike = [each for each in keys.values() if not each.number]
        found["windows of ranks"] = by_windows(known[numbers], published[numbers], alike)
    if unit is not None:
        homes = pd.factorize(unit)[0].astype(np.int64)
        found["families"] = by_weighing([*keys.values(), *further] or nothing, homes, groups_of(published, shared))
    return found
