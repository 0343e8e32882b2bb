"""One variable in two tables, under codes that mean the same category in both."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.kernels.stretches import code_counts

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Aligned:
    """A categorical variable of both tables; ``known`` of the categories are the original's, the others are new."""

    original: Codes
    protected: Codes
    categories: tuple[object, ...]
    known: int

    @property
    def new(self) -> tuple[object, ...]:
        """The categories that occur in the protected table and are none of the original's."""
        return self.categories[self.known :]


def aligned(original: Microdata, protected: Microdata, name: str) -> Aligned:
    """Give the protected table's categories the codes of the original's; new ones follow, missing stays -1."""
    listed, theirs = (table.schema[name].categories for table in (original, protected))
    place: dict[object, int] = {category: code for code, category in enumerate(listed)}
    column = protected.columns[name]
    for code in np.flatnonzero(code_counts(column, len(theirs))):
        place.setdefault(theirs[code], len(place))
    recode = np.array([*(place.get(category, -1) for category in theirs), -1], dtype=np.int32)
    same = np.array_equal(recode[:-1], np.arange(len(theirs)))
    return Aligned(original.columns[name], column if same else recode[column], tuple(place), len(listed))
