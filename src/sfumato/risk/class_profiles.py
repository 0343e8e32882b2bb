"""What a class of records with the same keys tells of a confidential variable: how often it has each value."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core import Measure
from sfumato.data.schema import Kind
from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import spans
from sfumato.kernels.groups import class_sums
from sfumato.pair import Keys, Pair
from sfumato.pair.keys import MISSING_KEYS
from sfumato.pair.statistics import Crosstab

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ByClass = dict[str, Floats]  # two figures per class, by confidential variable
Notes = tuple[str, ...]
MISSING = f"{MISSING_KEYS}; a missing confidential value is left out of its class, and a class with none tells nothing"
MOST_ENTRIES = 4_000_000  # of classes and values at a time


@dataclass(frozen=True, eq=False)
class Profile:
    """How often each class has each confidential value: one entry per class and value that occur together.

    Entries are sorted by class and, within it, by value; ``whole`` has the share of each value in the file, and
    ``levels`` the values themselves, in ascending order, where they are numbers.
    """

    cell: Integers
    value: Integers
    count: Floats
    cells: int
    whole: Floats
    levels: Floats | None = None

    @property
    def total(self) -> Floats:
        """How many values each class has."""
        return class_sums(self.cell, self.count, self.cells)

    @property
    def share(self) -> Floats:
        """The share of each value in its class."""
        return self.count / self.total[self.cell]


def profiles(keys: Keys, name: str) -> Iterator[tuple[int, int, Profile]]:
    """Yield the profile of the classes from one number up to another.

    Without missing keys every record is in one class and all come at once; with them a record is in many, so they come
    in parts that fit into memory.
    """
    found = keys.crosstab(name)
    known = found.columns >= 0
    cell, code, count = found.rows[known].astype(np.int64, copy=False), found.columns[known], found.counts[known]
    total = np.bincount(code, weights=count)
    value, whole = (np.cumsum(total > 0) - 1)[code], total[total > 0] / total.sum()  # of the values that occur
    numbers = keys.half.coding(name).values
    levels = None if numbers is None else numbers[: len(total)][total > 0]
    cells = len(keys.classes)
    if keys.classes.complete:
        yield 0, cells, Profile(cell, value, count.astype(np.float64), cells, whole, levels)
        return
    one, other = keys.agreeing()
    number = np.bincount(cell, minlength=cells)
    start, length = (np.cumsum(number) - number)[other], number[other]
    ends = np.searchsorted(one, np.arange(cells), "right")  # of the combinations that agree with each one
    entries = np.cumsum(length)[ends - 1]
    low = 0
    while low < cells:
        done = entries[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(entries, done + MOST_ENTRIES, "right")))
        part = slice(ends[low - 1] if low else 0, ends[high - 1])
        entry = spans(start[part], length[part])
        joined = Crosstab.of(np.repeat(one[part], length[part]) - low, value[entry], count[entry])
        yield (
            low,
            high,
            Profile(
                joined.rows.astype(np.int64, copy=False),
                joined.columns.astype(np.int64, copy=False),
                joined.counts.astype(np.float64),
                high - low,
                whole,
                levels,
            ),
        )
        low = high


class Confidential(Measure):
    """What l-diversity and t-closeness share: the confidential variables, and the figures of each class."""

    confidential: tuple[str, ...] | None

    def by_class(self, keys: Keys, pair: Pair) -> tuple[ByClass, Notes]:
        """Return the figures of each class for each confidential variable, and what was left out and why."""
        names, gone = self._confidential(keys, pair)
        notes = [f"left out, not in the protected table: {', '.join(gone)}"] if gone else []
        schema = pair.protected.schema
        figures, empty = {}, []
        for name in names:
            figures[name] = np.zeros((len(keys.classes), 2))
            for low, high, profile in profiles(keys, name):
                figures[name][low:high] = self.figures(profile, schema[name].kind)
            if not len(profile.whole):
                empty.append(name)
        if empty:
            notes.append(f"{', '.join(empty)}: missing in every record, so nothing can be learned of it")
        perturbed = [name for name in names if schema[name].treatment.perturbed]
        if perturbed:
            notes.append(f"values of {', '.join(perturbed)} were perturbed: what a class tells need not be true")
        return figures, tuple(notes)

    @abstractmethod
    def figures(self, profile: Profile, kind: Kind) -> Floats:
        """Return two figures for each class of a part of them."""

    def _confidential(self, keys: Keys, pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Name the confidential variables that are no keys: those the protected table has, and those it has not."""
        schema = pair.original.schema
        named = self.confidential if self.confidential is not None else schema.analysed(role="confidential")
        for name in named:
            if name not in schema:
                raise NotApplicable(schema.unknown(name))
        names = tuple(name for name in named if name not in keys.names)
        if not names:
            others = [name for name in schema.analysed() if name not in keys.names]
            raise NotApplicable(
                'no variable besides the keys is confidential; give confidential=[...], or role = "confidential" in '
                f"the schema to one of {', '.join(others) or 'the others (none is left)'}"
            )
        kept = tuple(name for name in names if name in pair.protected.schema)
        if not kept:
            raise NotApplicable(f"the protected table has none of the confidential {', '.join(names)}")
        return kept, tuple(name for name in names if name not in kept)
