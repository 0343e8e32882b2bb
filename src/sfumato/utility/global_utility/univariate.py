"""What is left of each variable by itself: sections 3.2 and 3.3 of the paper."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Floats
from sfumato.data.recoding import Recoding
from sfumato.pair import Half, Pair
from sfumato.pair.statistics import Values
from sfumato.utility.global_utility.coarsening import Alternative, kept
from sfumato.utility.global_utility.distribution import (
    ALIKE,
    Comparison,
    categories_alike,
    numbers_alike,
    weighted_numbers_alike,
)

Flags = NDArray[np.bool_]

SPARSE = 0.2  # Cochran's rule: at most a fifth of the expected counts below 5
Weights = tuple[Floats, Floats] | None


@dataclass(frozen=True)
class VariableUtility:
    """One variable in both tables; ``utility`` is None where it cannot be told."""

    name: str
    label: str
    kinds: tuple[str, str]
    missing: tuple[float, float]
    utility: float | None
    comparison: Comparison | None = None
    recoding: float | None = None  # what is left after values were put together; None where they were not
    found: str = ""  # where the recoding was found
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
        return (1 - self.comparison.distance) * (1.0 if self.recoding is None else self.recoding)

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


def compared(pair: Pair, original: Half, name: str, how: Alternative, weights: Weights) -> VariableUtility:
    """Compare the distributions of a variable, and what was lost before by putting values together: their product.

    The pair is in memory; ``original`` keeps what depends on the original alone.
    """
    recoding = pair.footing(name)
    columns = pair.original.column(name), pair.protected.column(name)
    found = VariableUtility(
        name,
        pair.original.schema[name].title,
        (pair.original.schema[name].kind, pair.protected.schema[name].kind),
        (_missing(columns[0]), _missing(columns[1])),
        None,
        notes=(recoding.note,) if recoding.note else (),
    )
    if found.missing[0] == 1:
        return replace(found, notes=("no value in the original",))
    if found.missing[1] == 1:
        return replace(found, utility=0.0, notes=(*found.notes, "no value is left"))
    if not recoding.comparable:
        return found
    there = _present(recoding.original), _present(recoding.protected)
    own = None if weights is None else (weights[0][there[0]], weights[1][there[1]])
    if own is not None and not (own[0].any() and own[1].any()):
        return replace(found, notes=(*found.notes, "every value has weight 0"))
    test = _tested(pair, original, name, recoding, there, own)
    rough = test.sparse > SPARSE and test.p < 1
    said = (f"{100 * test.sparse:.0f} % of the expected counts are below 5: P is rough",) if rough else ()
    found = replace(found, utility=test.utility, comparison=test, notes=(*found.notes, *said))
    if not recoding.recoded:
        return found
    rows = there[0]
    left = kept(how, columns[0][rows], recoding.original[rows], None if own is None else own[0])
    return replace(found, utility=test.utility * left, recoding=left, found=recoding.source)


def _tested(
    pair: Pair, original: Half, name: str, recoding: Recoding, there: tuple[Flags, Flags], own: Weights
) -> Comparison:
    """Test whether the values that are there are distributed alike; ``own`` are their weights."""
    columns = recoding.original, recoding.protected
    if recoding.kind != "numeric":
        x, y = (column[rows] for column, rows in zip(columns, there, strict=True))
        return categories_alike(x, y, len(recoding.categories), own)
    if np.array_equal(*columns, equal_nan=True) and (own is None or np.array_equal(*own)):
        return ALIKE
    if own is not None:
        x, y = (column[rows] for column, rows in zip(columns, there, strict=True))
        return weighted_numbers_alike(x, y, *own)
    as_they_came = columns[0] is pair.original.column(name), columns[1] is pair.protected.column(name)
    return numbers_alike(
        original.values(name) if as_they_came[0] else Values.of(columns[0]),
        pair.protected.values(name) if as_they_came[1] else Values.of(columns[1]),
    )


def _present(column: NDArray[Any]) -> Flags:
    found: Flags = ~np.isnan(column) if column.dtype.kind == "f" else column >= 0
    return found


def _missing(column: NDArray[Any]) -> float:
    return float(1 - _present(column).mean())
