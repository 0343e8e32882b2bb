"""The parts of a table that are treated each by itself."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dates import spelled
from sfumato.data.keys import key_codes
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes


@dataclass(frozen=True, eq=False)
class Strata:
    """The parts of a table that are treated each by itself: each record's part, and the values that make each part."""

    codes: NDArray[np.int64]
    values: tuple[tuple[object, ...], ...]

    def spelled(self, stratum: int) -> str:
        """Write a stratum as a reader knows it."""
        return " and ".join("missing" if value is None else str(value) for value in self.values[stratum]) or "all"


def strata(data: Microdata, names: tuple[str, ...], called: str = "strata: key") -> Strata:
    """Part a table by variables; a missing value is a value like any other, no names give one part."""
    if not names:
        return Strata(np.zeros(len(data), dtype=np.int64), ((),))
    for name in names:
        if name not in data.schema:
            raise NotApplicable(data.schema.unknown(name))
    part, counts = classes(key_codes(data, names, called))
    first = np.empty(len(counts), dtype=np.intp)
    first[part[::-1]] = np.arange(len(data))[::-1]
    return Strata(part, tuple(tuple(_value(data, name, row) for name in names) for row in first.tolist()))


def _value(data: Microdata, name: str, row: int) -> object:
    found = data.columns[name][row]
    if not data.schema[name].quantitative:
        return None if found < 0 else data.schema[name].categories[found]
    if np.isnan(found):
        return None
    if data.schema[name].kind == "date":
        return spelled(found)
    return int(found) if found == int(found) else float(found)
