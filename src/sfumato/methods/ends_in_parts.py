"""Ends of variables coded in a table in parts: limits are those of the whole table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.draws import Draws
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Schema
from sfumato.pair import Masking


@dataclass(frozen=True, eq=False)
class EndsInParts(Masking):
    """By variable, the least and the greatest number to be published, or what each code becomes."""

    schema: Schema
    limits: Mapping[str, tuple[float, float]]
    codes: Mapping[str, NDArray[np.int32]]  # by old code; the last is that of a missing value

    @property
    def changes(self) -> frozenset[str]:
        """The variables whose ends are coded."""
        return frozenset((*self.limits, *self.codes))

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> NDArray[Any]:
        """Code the ends of a variable of a part."""
        column = part.columns[name]
        if name in self.codes:
            return np.take(self.codes[name], column)
        coded: NDArray[Any] = np.clip(column, *self.limits[name])
        return coded
