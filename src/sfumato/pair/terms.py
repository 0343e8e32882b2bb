"""How the values of a protected column become those of its footing, part by part.

The footing of a variable (``Pair.footing``) is found in whole columns. What it does to the protected column is a
function of the value alone, so that a part can be put on it anywhere.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.pair.pair import Pair
from sfumato.table.microdata import Microdata

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Terms:
    """A variable of the protected table and what becomes of its values.

    ``table`` has what each code becomes, the last entry for missing; of numbers, what each of ``values`` becomes, in
    ascending order, the last entry for missing. Without a table they stay as they are.
    """

    name: str
    table: NDArray[Any] | None = None
    values: Floats | None = None

    @classmethod
    def of(cls, pair: Pair, name: str) -> "Terms":
        """Read off the footing what became of each value."""
        found: Terms = pair.keep(("terms", name), lambda: _terms(pair, name))
        return found

    def __call__(self, part: Microdata) -> NDArray[Any]:
        """Return the variable of a part of the protected table on the footing."""
        column = part.columns[self.name]
        if self.table is None:
            return column
        if self.values is None:
            recoded: NDArray[Any] = self.table[column]
            return recoded
        places = np.searchsorted(self.values, column)
        became: NDArray[Any] = self.table[np.where(np.isnan(column), len(self.values), places)]
        return became

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return sum(array.nbytes for array in (self.table, self.values) if array is not None)


def _terms(pair: Pair, name: str) -> Terms:
    footed = pair.footing(name).protected
    variable = pair.protected.schema[name]
    if not variable.quantitative:
        table = np.full(len(variable.categories) + 1, _missing(footed), dtype=footed.dtype)
        for column, became in _side_by_side(pair, name, footed):
            table[column] = became
        return Terms(name, table)
    if all(_equal(column, became) for column, became in _side_by_side(pair, name, footed)):
        return Terms(name)
    values, targets = np.empty(0), np.empty(0, dtype=footed.dtype)
    for column, became in _side_by_side(pair, name, footed):
        present = ~np.isnan(column)
        both, targets = np.concatenate([values, column[present]]), np.concatenate([targets, became[present]])
        values, first = np.unique(both, return_index=True)
        targets = targets[first]
    return Terms(name, np.append(targets, _missing(footed)).astype(footed.dtype), values)


def _side_by_side(pair: Pair, name: str, footed: NDArray[Any]) -> Any:
    """Yield the column of each part, and what it became."""
    start = 0
    for part in pair.protected.parts:
        yield part.columns[name], footed[start : start + len(part)]
        start += len(part)


def _equal(column: NDArray[Any], became: NDArray[Any]) -> bool:
    return column.dtype == became.dtype and np.array_equal(column, became, equal_nan=True)


def _missing(column: NDArray[Any]) -> float:
    return np.nan if column.dtype.kind == "f" else -1
