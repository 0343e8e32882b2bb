"""Variables of a table in parts that are masked whole, one after the other, and read by the parts from files."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.draws import Draws
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Schema
from sfumato.pair import Masking
from sfumato.pair.numbers_on_disk import InFile

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WholeColumns(Masking):
    """The masked variables of the whole table."""

    schema: Schema
    files: Mapping[str, InFile]

    @property
    def changes(self) -> frozenset[str]:
        """The variables that are masked."""
        return frozenset(self.files)

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> Floats:
        """Return a variable of a part."""
        return self.files[name].read(first, len(part))
