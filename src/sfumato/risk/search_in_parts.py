"""Attacks on some original records against all protected ones, part by part: counts that add up.

A part needs no more than the records that are looked for, how far their own records lie, and how its values are put on
the footing of both tables. So a search goes to another process, and what comes back are a few numbers per record.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.kernels.agreement import matching_sums
from sfumato.kernels.groups import class_sums, classes, first_records
from sfumato.kernels.spread import standardised
from sfumato.pair.statistics import Sums
from sfumato.pair.terms import Terms
from sfumato.risk.attacks import LookedFor, agree, alike_in_sets, fewest_changed_chance
from sfumato.risk.mixed_points import Places
from sfumato.risk.number_space import Space
from sfumato.risk.own_nearest import Sought, linked

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Coder:
    """Keys as codes by which the records that are looked for agree with others, as in codes of both whole tables.

    Of a number only the values of the records looked for have codes of their own: all others agree with none of them.
    """

    values: tuple[tuple[str, Floats | None], ...]  # None: of categories, which have codes already

    @classmethod
    def of(cls, before: Columns, names: Sequence[str]) -> "Coder":
        """Take the keys of the records that are looked for."""
        return cls(tuple((name, _different(before[name])) for name in names))

    def __call__(self, columns: Columns) -> Codes:
        """Return the keys of records, on the footing of both tables, as codes; missing is -1."""
        coded = [_coded(columns[name], values) for name, values in self.values]
        records = len(next(iter(columns.values())))
        return np.column_stack(coded) if coded else np.empty((records, 0), dtype=np.int32)


def _different(column: NDArray[Any]) -> Floats | None:
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
    def counted(self, columns: Columns, weights: Floats | None) -> dict[str, NDArray[Any]]:
        """Count what a part holds for each record looked for; the counts of parts add up."""

    @abstractmethod
    def chance(self, counts: Mapping[str, NDArray[Any]]) -> Floats:
        """Return the chance of each record looked for, from the counts of all parts."""


@dataclass(frozen=True, eq=False)
class Alike(Attack):
    """Any of the records that agree in every key."""

    coder: Coder
    before: Codes
    own: Codes

    @classmethod
    def of(cls, before: Columns, after: Columns, names: Sequence[str]) -> "Alike":
        """Look for records by these keys."""
        coder = Coder.of(before, names)
        return cls(coder, coder(before), coder(after))

    def counted(self, columns: Columns, weights: Floats | None) -> dict[str, NDArray[Any]]:
        """Count the records that agree, and what they weigh."""
        asked, _ = classes(self.before)
        wanted = self.before[first_records(asked)]
        codes = self.coder(columns)
        cell_of, sizes = classes(codes)
        rows = codes[first_records(cell_of)]
        found = {"number": np.rint(matching_sums(wanted, rows, sizes))[asked]}
        if weights is not None:
            found["units"] = matching_sums(wanted, rows, class_sums(cell_of, weights, len(sizes)))[asked]
        return found

    def chance(self, counts: Mapping[str, NDArray[Any]]) -> Floats:
        """Return one over the number of those that agree, if the own record is among them."""
        return np.where(agree(self.before, self.own), 1 / np.maximum(counts["number"], 1), 0.0)


@dataclass(frozen=True, eq=False)
class FewestChanged(Alike):
    """The records that differ in the fewest of the keys that were changed, and agree in all others."""

    changed: tuple[int, ...] = ()

    def counted(self, columns: Columns, weights: Floats | None) -> dict[str, NDArray[Any]]:
        """Count the records that agree in the rest and in sets of what was changed."""
        found = alike_in_sets(self.before, self.coder(columns), self.changed)
        return {str(size): counts for size, counts in enumerate(found)}

    def chance(self, counts: Mapping[str, NDArray[Any]]) -> Floats:
        """Return one over the number of those with the fewest changes, if the own record is one of them."""
        found = np.stack([counts[str(size)] for size in range(len(self.changed) + 1)])
        return fewest_changed_chance(self.before, self.own, self.changed, found)


@dataclass(frozen=True, eq=False)
class Nearest(Attack):
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
    ) -> "Nearest":
        """Look for records by these keys; ``scale`` has the means and standard deviations of the original."""
        coder = Coder.of(before, agreeing)
        here, own = (
            space.placed(standardised(np.column_stack([side[name] for name in numbers]), *scale))
            for side in (before, after)
        )
        looked_for = LookedFor.of(coder(before), coder(after), here, own, space)
        return cls(coder, tuple(numbers), *scale, space, looked_for)

    def counted(self, columns: Columns, weights: Floats | None) -> dict[str, NDArray[Any]]:
        """Count the records nearer than the own, and those as near."""
        values = np.column_stack([columns[name] for name in self.numbers])
        there = self.space.placed(standardised(values, self.mean, self.spread))
        nearer, tied = self.looked_for.among(self.coder(columns), there, self.space)
        return {"nearer": nearer, "tied": tied}

    def chance(self, counts: Mapping[str, NDArray[Any]]) -> Floats:
        """Return one over the number of the nearest, if the own record is one of them."""
        return self.looked_for.chance(counts["nearer"], counts["tied"])


@dataclass(frozen=True, eq=False)
class Gower(Attack):
    """The nearest over all keys in Gower's distance."""

    places: tuple[tuple[str, Places], ...]
    sought: Sought

    @classmethod
    def of(cls, before: Columns, after: Columns, places: Mapping[str, Places]) -> "Gower":
        """Look for records by these keys."""
        here, own = (np.column_stack([place(side[name]) for name, place in places.items()]) for side in (before, after))
        return cls(tuple(places.items()), Sought.gower(here, own))

    def counted(self, columns: Columns, weights: Floats | None) -> dict[str, NDArray[Any]]:
        """Count the records nearer than the own, and those as near."""
        there = np.column_stack([place(columns[name]) for name, place in self.places])
        nearer, tied = self.sought.among(there)
        return {"nearer": nearer, "tied": tied}

    def chance(self, counts: Mapping[str, NDArray[Any]]) -> Floats:
        """Return one over the number of the nearest, if the own record is one of them."""
        return linked(counts["nearer"], counts["tied"], share=True)[0]


@dataclass(frozen=True, eq=False)
class Search:
    """All attacks of a scenario, tried on a part of the protected table; it goes to other processes."""

    terms: tuple[Terms, ...]
    attacks: Mapping[str, Attack]
    weighted: bool

    def __call__(self, part: Microdata) -> Sums:
        """Return what the part holds for each attack and record."""
        columns = {terms.name: terms(part) for terms in self.terms} or nothing_known(len(part))
        weights = part.weights() if self.weighted else None
        return Sums(
            {
                f"{name}: {what}": counts
                for name, attack in self.attacks.items()
                for what, counts in attack.counted(columns, weights).items()
            }
        )

    def chances(self, found: Sums) -> dict[str, Floats]:
        """Return the chance of each record looked for, by attack."""
        return {name: attack.chance(counts_of(found, name)) for name, attack in self.attacks.items()}


def nothing_known(records: int) -> Columns:
    """Return a column for records of which nothing is known, so that all are alike."""
    return {"": np.zeros(records, dtype=np.int32)}


def counts_of(found: Sums, attack: str) -> dict[str, NDArray[Any]]:
    """Return what was counted for one attack."""
    start = f"{attack}: "
    return {name.removeprefix(start): counts for name, counts in found.named.items() if name.startswith(start)}
