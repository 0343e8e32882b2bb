"""What is counted in all records of a table in parts, where the rest is looked at in a sample: values that are missing.

A few values made blank among many are seldom in a sample, and what is said of them goes out with the file.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from sfumato.compare.examine.findings import CautionFacts, Distributions, Gap, ReleaseFacts
from sfumato.data.microdata import Microdata
from sfumato.data.parts import TableInParts
from sfumato.pair import Half
from sfumato.pair.statistics import Sums

GAP = 0.1  # share of values gone before it is worth a warning


class Blanks:
    """How many values of each variable are missing in all records of an original and of its protected table."""

    def __init__(self, original: TableInParts, protected: TableInParts) -> None:
        self.records = len(original), len(protected)
        self._counts = tuple(map(_counted, (original, protected)))

    def both(self, name: str) -> tuple[int, int]:
        """Return how many values were missing before and are after; of a variable that is in one table, 0 before."""
        before, after = (counts.get(name, 0) for counts in self._counts)
        return before, after

    def shares(self, name: str) -> tuple[float, float]:
        """Return which shares of the values were missing before and are after."""
        before, after = (count / records for count, records in zip(self.both(name), self.records, strict=True))
        return before, after

    def in_detail(self, found: Distributions) -> Distributions:
        """Add the counts to what was found of each variable in a sample."""
        told = (v if v.gone else replace(v, blank=self.both(v.name)) for v in found.variables)
        return replace(found, variables=tuple(told))

    def in_release(self, facts: ReleaseFacts) -> ReleaseFacts:
        """Return the facts of a release with the shares that are missing in all its records."""
        told = []
        for variable in facts.variables:
            before, after = self.shares(variable.name)
            told.append(replace(variable, missing_before=before, missing=after))
        return replace(facts, variables=tuple(told), whole=self.records[1])

    def in_cautions(self, facts: CautionFacts, names: tuple[str, ...]) -> CautionFacts:
        """Return the facts of warnings with the gaps of all records in these variables."""
        return replace(facts, gaps=gaps({name: self.shares(name) for name in names if name in self._counts[1]}))


def gaps(shares: Mapping[str, tuple[float, float]]) -> tuple[Gap, ...]:
    """Name the variables that lost many of their values, by the shares missing before and after."""
    return tuple(Gap(name, *both) for name, both in shares.items() if both[1] - both[0] > GAP)


def _counted(table: TableInParts) -> dict[str, int]:
    names = table.schema.names
    found = Half.of(table).total(partial(_missing, names))["missing"]
    return {name: int(count) for name, count in zip(names, found, strict=True)}


def _missing(names: tuple[str, ...], part: Microdata) -> Sums:
    return Sums({"missing": np.array([np.count_nonzero(part.missing(name)) for name in names], dtype=np.int64)})
