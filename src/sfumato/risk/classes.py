"""Records that an intruder who knows the keys cannot tell apart: what the measures over keys share.

One rule for missing keys: a missing value may be any value, so it agrees with every other. A record then counts those
that could be it (Hundepool et al. 2012; sdcMicro counts so too): suppressing a value never makes a record rarer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core import Measure, Table
from sfumato.data.keys import key_codes, key_names
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import agreeing_pairs, matching_sums, spans
from sfumato.kernels.groups import class_sums, classes, first_records

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

MISSING_KEYS = "a missing key may be any value: it agrees with every other"
SHOWN = 20  # rows of a table in a measurement
MOST_PAIRS = 4_000_000  # of records and classes at a time


@dataclass(frozen=True, eq=False)
class KeyClasses:
    """The records of a table by their keys.

    ``cell_of`` numbers the different combinations of key values, missing counted as a value of its own; ``first`` is
    a record of each and ``sizes`` how many have it. ``counts`` says of each record how many agree with it, itself
    included, where a missing value agrees with every other.
    """

    names: tuple[str, ...]
    codes: Codes
    cell_of: Integers
    first: NDArray[np.intp]
    sizes: Integers
    notes: tuple[str, ...] = ()
    counts: Integers = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", np.rint(self.sums(None)).astype(np.int64))

    @cached_property
    def complete(self) -> bool:
        """Whether no key is missing, so that combinations are classes."""
        return bool(self.codes.min(initial=0) >= 0)

    @cached_property
    def cells(self) -> Codes:
        """The key values of each combination, one column after the other in memory."""
        return np.asfortranarray(self.codes[self.first])

    def sums(self, values: Floats | None) -> Floats:
        """Return, for each record, the sum of ``values`` over the records that agree with it (None: their number)."""
        own = self.sizes.astype(np.float64) if values is None else class_sums(self.cell_of, values, len(self.sizes))
        return (own if self.complete else matching_sums(self.cells, self.cells, own))[self.cell_of]

    def members(self) -> Iterator[tuple[int, int, Integers, Integers]]:
        """Yield pairs (combination, record that agrees with it) of the combinations from one number up to another.

        Without missing keys every record is in one class and all come at once; with them a record is in many, so they
        come in parts that fit into memory.
        """
        if self.complete:
            yield 0, len(self.sizes), self.cell_of, np.arange(len(self.cell_of))
            return
        one, other = agreeing_pairs(self.cells)
        order = np.argsort(self.cell_of, kind="stable")  # the records of each combination, one after the other
        start, length = (np.cumsum(self.sizes) - self.sizes)[other], self.sizes[other]
        ends = np.searchsorted(one, np.arange(len(self.sizes)), "right")  # of each combination's pairs
        pairs = np.cumsum(length)[ends - 1]
        low = 0
        while low < len(self.sizes):
            done = pairs[low - 1] if low else 0
            high = max(low + 1, int(np.searchsorted(pairs, done + MOST_PAIRS, "right")))
            part = slice(ends[low - 1] if low else 0, ends[high - 1])
            yield low, high, np.repeat(one[part], length[part]), order[spans(start[part], length[part])]
            low = high

    def spelled(self, data: Microdata, cell: int) -> dict[str, str]:
        """Spell out the key values of a combination."""
        return {name: spelled(data, name, int(self.first[cell])) for name in self.names}


def key_classes(measure: Measure, original: Microdata, protected: Microdata) -> KeyClasses:
    """Count the protected table's records by its keys; notes say what was left out and when counting misleads."""
    who = type(measure).__name__
    names, notes = present_keys(measure, original, protected)
    return by_codes(names, key_codes(who, protected, names), notes)


def by_codes(names: tuple[str, ...], codes: Codes, notes: tuple[str, ...] = ()) -> KeyClasses:
    """Put records with these key values into classes."""
    cell_of, sizes = classes(codes)
    return KeyClasses(names, codes, cell_of, first_records(cell_of), sizes, notes)


def present_keys(
    measure: Measure, original: Microdata, protected: Microdata
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the keys that the protected table still has, and say what a reader should know of them."""
    who = type(measure).__name__
    names = key_names(who, original, measure.variables)
    kept = tuple(name for name in names if name in protected.schema)
    gone = tuple(name for name in names if name not in protected.schema)
    if not kept:
        raise NotApplicable(f"{who}: the protected table has none of the keys {', '.join(names)}")
    notes = []
    if gone:
        notes.append(f"left out, not in the protected table: {', '.join(gone)}")
    perturbed = [name for name in kept if _perturbed(original, protected, name)]
    if perturbed:
        notes.append(
            f"values of {', '.join(perturbed)} were perturbed, so records that agree in the keys need not do so in "
            "truth: counting them is no valid measure of re-identification; use record linkage"
        )
    if not protected.matched:
        notes.append(
            "the protected records correspond to none of the original: of a sample this figure holds, of synthetic "
            "records it says nothing, for there is nobody to re-identify"
        )
    return kept, tuple(notes)


def _perturbed(original: Microdata, protected: Microdata, name: str) -> bool:
    """Tell whether a key's published values need not be true: as its treatment says, else as the records show.

    A frame tells no treatment. Where record i is record i, a value that became two different ones was not recoded.
    """
    variable = protected.schema[name]
    if variable.treatment or not protected.matched or len(original) != len(protected):
        return variable.treatment.perturbed
    before, after = original.columns[name], protected.columns[name]
    if before.dtype == after.dtype and np.array_equal(before, after, equal_nan=before.dtype.kind == "f"):
        return False
    present = ~(missing_values(before) | missing_values(after))
    pair = [np.unique(column[present], return_inverse=True)[1] for column in (before, after)]
    return len(classes(np.column_stack(pair))[1]) > len(np.unique(pair[0]))


def missing_values(column: NDArray[np.float64] | NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which values of a column are missing."""
    return np.isnan(column) if column.dtype.kind == "f" else column < 0


def design_weights(
    measure: Measure, original: Microdata, protected: Microdata
) -> tuple[Floats | None, tuple[str, ...]]:
    """Return how many units of the population each protected record stands for, None if it is taken for a census."""
    who = type(measure).__name__
    table = protected
    notes: tuple[str, ...] = ()
    same_records = protected.matched and len(protected) == len(original)
    if protected.schema.weight is None and original.schema.weight is not None and same_records:
        table = original
        notes = (f"the protected table has no weight: the original's {original.schema.weight!r} is used",)
    if table.schema.weight is None:
        return None, ("the schema names no weight: the file is taken for a census of the population",)
    weights = table.weights()
    low = np.flatnonzero(weights < 1)
    if low.size:
        raise NotApplicable(
            f"{who}: the weight {table.schema.weight!r} is below one in {low.size:,} "
            f"record{'s' if low.size > 1 else ''} (first in row {low[0] + 1}: {weights[low[0]]:g}); a record stands "
            "for at least itself, so give weights that sum to the population, not rescaled ones"
        )
    return weights, notes


def spelled(data: Microdata, name: str, record: int) -> str:
    """Spell out one value of a table as a reader knows it."""
    variable, value = data.schema[name], data.columns[name][record]
    if variable.kind == "numeric":
        return "missing" if np.isnan(value) else f"{value:g}"
    return "missing" if value < 0 else variable.spelled(variable.categories[value])


def smallest(found: KeyClasses, data: Microdata) -> Table:
    """List the combinations of key values that the fewest records agree with."""
    counts = found.counts[found.first]
    order = np.argsort(counts, kind="stable")[:SHOWN]
    return tuple({**found.spelled(data, int(cell)), "records": int(counts[cell])} for cell in order)
