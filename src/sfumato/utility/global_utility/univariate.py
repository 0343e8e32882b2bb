"""What is left of each variable by itself: sections 3.2 and 3.3 of the paper."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Floats
from sfumato.kernels.stretches import same_values
from sfumato.pair import Half, Pair
from sfumato.pair.statistics import Values
from sfumato.utility.global_utility.coarsening import Alternative, kept, most_kept
from sfumato.utility.global_utility.deletion import present
from sfumato.utility.global_utility.distribution import (
    ALIKE,
    Comparison,
    categories_alike,
    numbers_alike,
    numbers_alike_aside,
    weighted_numbers_alike,
)

Rows = NDArray[np.intp] | slice

SPARSE = 0.2  # Cochran's rule: at most a fifth of the expected counts below 5


@dataclass(frozen=True, eq=False)
class Weights:
    """The survey weights of both tables."""

    before: Floats
    after: Floats

    @cached_property
    def alike(self) -> bool:
        """Whether record by record they are the same."""
        return np.array_equal(self.before, self.after)

    @cached_property
    def orders(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The records of both tables from the lightest to the heaviest.

        Sums in this order do not depend on that of the records, which a small difference of two sums would show.
        """
        return np.argsort(self.before, kind="stable"), np.argsort(self.after, kind="stable")


@dataclass(frozen=True)
class VariableUtility:
    """One variable in both tables.

    ``utility`` is None where nothing is known of what is left, and what is left at most where only that is known.
    """

    name: str
    label: str
    kinds: tuple[str, str]
    missing: tuple[float, float]
    utility: float | None
    comparison: Comparison | None = None
    recoding: float | None = None  # what is left after values were put together; None where they were not
    found: str = ""  # where the recoding was found
    left: float | None = None  # the share of its values that are still there; None where deletion is not charged
    traced: bool = True  # whether it is known which value became which
    most: float = 1.0  # what the utility is at most
    notes: tuple[str, ...] = ()

    @property
    def removed(self) -> bool:
        """Whether the protected table lacks the variable."""
        return self.kinds[1] == "removed"

    @property
    def effect(self) -> float | None:
        """The effect-size view: one minus the distance between the distributions, times what recoding left."""
        if self.comparison is None:
            return self.utility
        return (1 - self.comparison.distance) * self._coarser * self._charge

    @property
    def unknown(self) -> bool:
        """Whether there was something to keep, and what is left of it is not known, or only at most."""
        return not self.traced

    @property
    def _coarser(self) -> float:
        return 1.0 if self.recoding is None else self.recoding

    @property
    def _charge(self) -> float:
        return 1.0 if self.left is None else self.left

    def utility_with(self, records: int) -> float | None:
        """Return the utility if no more than so many records had been tested."""
        if self.comparison is None:
            return self.utility
        return self.comparison.utility_with(records) * self._coarser * self._charge

    def row(self, pairs: float | None) -> Mapping[str, Any]:
        """Lay out one row of the table of variables."""
        test = self.comparison
        return {
            "variable": self.name,
            "label": self.label,
            "kind_before": self.kinds[0],
            "kind_after": self.kinds[1],
            "test": test.test if test else "",
            "statistic": test.statistic if test else None,
            "p": test.p if test else None,
            "distance": test.distance if test else None,
            "utility": self.utility,
            "distribution_utility": test.utility if test else None,
            "recoding_utility": self.recoding,
            "recoding_found_in": self.found,
            "values_left": self.left,
            "pairs": pairs,
            "missing_before": self.missing[0],
            "missing_after": self.missing[1],
            "note": "; ".join(self.notes),
        }


def removed(original: Half, name: str) -> VariableUtility:
    """Describe a variable that the protected table lacks: its utility is 0 (section 3.5)."""
    variable = original.schema[name]
    missing = _missing(original.column(name)), 1.0
    return VariableUtility(name, variable.title, (variable.kind, "removed"), missing, 0.0, notes=("removed",))


def compared(
    pair: Pair, original: Half, name: str, how: Alternative, weights: Weights | None, left: float | None = None
) -> VariableUtility:
    """Compare the distributions of a variable, and what was lost before by putting values together: their product.

    The pair is in memory; ``original`` keeps what depends on the original alone. ``left`` is the share of its values
    that are still there, by which the product is multiplied; None: deletion is not charged.
    """
    recoding = pair.footing(name)
    columns = pair.original.column(name), pair.protected.column(name)
    charge = 1.0 if left is None else left
    found = VariableUtility(
        name,
        pair.original.schema[name].title,
        (pair.original.schema[name].kind, pair.protected.schema[name].kind),
        (_missing(columns[0]), _missing(columns[1])),
        None,
        left=left,
        notes=(recoding.note,) if recoding.note else (),
    )
    if found.missing[0] == 1:
        return replace(found, notes=("no value in the original",))
    if found.missing[1] == 1:
        return replace(found, utility=0.0, notes=(*found.notes, "no value is left"))
    if not recoding.comparable:
        return _untraced(replace(found, traced=False, most=charge), how, columns, weights)
    rows = _rows(recoding.original, recoding.protected, weights)
    if weights is not None and not (weights.before[rows[0]].any() and weights.after[rows[1]].any()):
        return replace(found, traced=False, most=charge, notes=(*found.notes, "every value has weight 0"))
    test = _tested(pair, original, name, rows, weights)
    rough = test.sparse > SPARSE and test.p < 1
    said = (f"{100 * test.sparse:.0f} % of the expected counts are below 5: P is rough",) if rough else ()
    found = replace(found, utility=test.utility * charge, comparison=test, notes=(*found.notes, *said))
    if not recoding.recoded:
        return found
    own = None if weights is None else weights.before[rows[0]]
    coarser = kept(how, columns[0][rows[0]], recoding.original[rows[0]], own, by_records=left is not None)
    return replace(found, utility=test.utility * coarser * charge, recoding=coarser, found=recoding.source)


def _untraced(
    found: VariableUtility, how: Alternative, columns: tuple[NDArray[Any], NDArray[Any]], weights: Weights | None
) -> VariableUtility:
    """Count a variable whose recoding cannot be traced with what the numbers of its values leave at most.

    Whether its distribution changed too is not known. Where those numbers say nothing it has no utility.
    """
    there, after = (present(column) for column in columns)
    own = None if weights is None else weights.before[there]
    number = len(np.unique(columns[1][after]))
    share = most_kept(how, columns[0][there], number, own, by_records=found.left is not None)
    if share == 1:
        return found
    return replace(found, utility=share * found.most, most=share * found.most, recoding=share)


def _rows(before: NDArray[Any], after: NDArray[Any], weights: Weights | None) -> tuple[Rows, Rows]:
    """Return the records of both tables that have a value; with weights from the lightest to the heaviest."""
    there = present(before), present(after)
    if weights is None:
        return _numbered(there[0]), _numbered(there[1])
    one, other = weights.orders
    return one[there[0][one]], other[there[1][other]]


def _numbered(there: NDArray[np.bool_]) -> Rows:
    return slice(None) if there.all() else np.flatnonzero(there)


def _tested(pair: Pair, original: Half, name: str, rows: tuple[Rows, Rows], weights: Weights | None) -> Comparison:
    """Test whether the values of these records are distributed alike."""
    recoding = pair.footing(name)
    before, after = recoding.original, recoding.protected
    own = None if weights is None else (weights.before[rows[0]], weights.after[rows[1]])
    if not recoding.quantitative:
        return categories_alike(before[rows[0]], after[rows[1]], len(recoding.categories), own)
    if same_values(before, after) and (weights is None or weights.alike):
        return ALIKE
    if own is not None:
        return weighted_numbers_alike(before[rows[0]], after[rows[1]], *own)
    if original.aside is not None:
        return numbers_alike_aside(before[rows[0]], after[rows[1]], original.aside)
    return numbers_alike(
        original.values(name) if before is pair.original.column(name) else Values.of(before),
        pair.protected.values(name) if after is pair.protected.column(name) else Values.of(after),
    )


def _missing(column: NDArray[Any]) -> float:
    return float(1 - present(column).mean())
