"""What is left of each variable by itself: sections 3.2 and 3.3 of the paper."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Floats, Microdata
from sfumato.data.recoding import Recoding
from sfumato.utility.global_utility.coarsening import Alternative, kept
from sfumato.utility.global_utility.distribution import Comparison, categories_alike, numbers_alike

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


def removed(original: Microdata, name: str) -> VariableUtility:
    """Describe a variable that the protected table lacks: its utility is 0 (section 3.5)."""
    variable = original.schema[name]
    missing = _missing(original.columns[name]), 1.0
    return VariableUtility(name, variable.title, (variable.kind, "removed"), missing, 0.0, notes=("removed",))


def compared(
    original: Microdata, protected: Microdata, name: str, recoding: Recoding, how: Alternative, weights: Weights
) -> VariableUtility:
    """Compare the distributions of a variable, and what was lost before by putting values together: their product."""
    variable, after = original.schema[name], protected.schema[name]
    kinds = variable.kind, after.kind
    columns = original.columns[name], protected.columns[name]
    missing = _missing(columns[0]), _missing(columns[1])
    notes = [recoding.note] if recoding.note else []
    if missing[0] == 1:
        return VariableUtility(name, variable.title, kinds, missing, None, notes=("no value in the original",))
    if missing[1] == 1:
        return VariableUtility(name, variable.title, kinds, missing, 0.0, notes=(*notes, "no value is left"))
    if not recoding.comparable:
        return VariableUtility(name, variable.title, kinds, missing, None, notes=tuple(notes))
    there = [_present(column) for column in (recoding.original, recoding.protected)]
    values = [column[rows] for column, rows in zip((recoding.original, recoding.protected), there, strict=True)]
    own = None if weights is None else (weights[0][there[0]], weights[1][there[1]])
    if own is not None and not (own[0].any() and own[1].any()):
        return VariableUtility(name, variable.title, kinds, missing, None, notes=(*notes, "every value has weight 0"))
    if recoding.kind == "numeric":
        test = numbers_alike(values[0], values[1], own)
    else:
        test = categories_alike(values[0], values[1], len(recoding.categories), own)
        if test.sparse > SPARSE and test.p < 1:
            notes.append(f"{100 * test.sparse:.0f} % of the expected counts are below 5: P is rough")
    left = None
    if recoding.recoded:
        rows = there[0]
        left = kept(how, columns[0][rows], recoding.original[rows], None if own is None else own[0])
    utility = test.utility * (1.0 if left is None else left)
    found = recoding.source if recoding.recoded else ""
    return VariableUtility(name, variable.title, kinds, missing, utility, test, left, found, tuple(notes))


def _present(column: NDArray[Any]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = ~np.isnan(column) if column.dtype.kind == "f" else column >= 0
    return found


def _missing(column: NDArray[Any]) -> float:
    return float(1 - _present(column).mean())
