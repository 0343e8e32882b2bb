"""Other releases of the same records, which an intruder may lay beside this one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.errors import DataError
from sfumato.restoration import evidence as held
from sfumato.restoration.aims import Aim
from sfumato.restoration.matching import Matching, match
from sfumato.restoration.prediction import Evidence
from sfumato.restoration.releases import Release


@dataclass(frozen=True, eq=False)
class Beside:
    """A column of another release: as evidence, and as the values that stand there, names of categories or numbers."""

    name: str
    evidence: Evidence
    values: NDArray[Any]

    def read_off(self, aim: Aim) -> NDArray[Any] | None:
        """Return what this column says of its namesake, as it stands; None where it is another variable or kind."""
        if self.name != aim.name or aim.number != (self.values.dtype.kind == "f"):
            return None
        if aim.number:
            return self.values
        place = {level: code for code, level in enumerate(aim.truth.levels.tolist())}
        return np.array([place.get(value, -1) for value in self.values.tolist()], dtype=np.int64)


def releases_beside(original: Microdata, releases: Mapping[str, Any], notes: list[str]) -> tuple[Release, ...]:
    """Return other releases, with the record of the original that each of their records is."""
    found = []
    for name, table in releases.items():
        other = Microdata.beside(original, table)
        try:
            theirs = match(original, other)
        except DataError:
            notes.append(f"{name}: its records cannot be linked to those of this release, so it tells nothing of them")
            continue
        found.append(Release(name, other.take(theirs.rows), theirs.records))
    return tuple(found)


def columns_beside(original: Microdata, matching: Matching, releases: Sequence[Release]) -> tuple[Beside, ...]:
    """Return the columns of other releases, for the records of this one in its order."""
    found = []
    for release in releases:
        row = np.full(len(original), -1, dtype=np.intp)
        row[release.record] = np.arange(len(release.record))
        here = row[matching.records]
        apart = held.id_names(original, release.table)
        found += [
            _column(release.table, column, release.name, here) for column in release.table.names if column not in apart
        ]
    return tuple(found)


def _column(other: Microdata, column: str, release: str, here: NDArray[np.intp]) -> Beside:
    one, rows = held.column(other, column, f"{column} of {release}"), np.maximum(here, 0)
    codes = np.where(here >= 0, one.codes[rows] + 1, 0)
    variable, values = other.schema[column], other.columns[column][rows]
    if variable.quantitative:
        shown = np.where(here >= 0, values, np.nan)
    else:
        names = np.array([*map(str, variable.categories), None], dtype=object)
        shown = names[np.where(here >= 0, values, -1)]
    return Beside(column, Evidence(one.shown, codes, one.ordered), shown)
