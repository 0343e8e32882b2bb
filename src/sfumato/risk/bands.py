"""Numbers in bands: the quantile classes in which a value counts as known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.schema import Kind, is_quantitative
from sfumato.pair import Pair
from sfumato.pair.statistics import Values

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Banded:
    """A variable of two tables as codes that mean the same, numbers in quantile bands of the first; -1 is missing.

    ``cuts`` are the inner cuts of the bands; a number that is a cut belongs to the band above it.
    """

    original: Codes
    protected: Codes
    cuts: Floats

    @classmethod
    def of(cls, kind: Kind, original: NDArray[Any], protected: NDArray[Any], bands: int) -> "Banded":
        """Put the numbers of two tables into bands; categories stay as they are.

        >>> found = Banded.of("numeric", np.array([1.0, 2, 3, 4, 5, 6]), np.array([0.0, 4.0, np.nan]), 2)
        >>> found.cuts, found.protected
        (array([3.5]), array([ 0,  1, -1], dtype=int32))
        """
        if not is_quantitative(kind):
            return cls(original, protected, np.empty(0))
        cuts = band_cuts(Values.of(original), bands)
        return cls(_codes(original, cuts), _codes(protected, cuts), cuts)

    @classmethod
    def between(cls, pair: Pair, name: str, bands: int) -> "Banded":
        """Put a variable of both tables into bands of the original, the original's values recoded as the protected's.

        The bands are kept with the pair, and those of an original that was not recoded with the original.
        """
        found: Banded = pair.keep(("bands", name, bands), lambda: cls._between(pair, name, bands))
        return found

    @classmethod
    def _between(cls, pair: Pair, name: str, bands: int) -> "Banded":
        seen = pair.footing(name)
        if not seen.quantitative or seen.recoded:
            return cls.of(seen.kind, seen.original, seen.protected, bands)
        cuts = band_cuts(pair.original.values(name), bands)
        codes = pair.original.keep(("bands", name, bands), lambda: _codes(seen.original, cuts))
        return cls(codes, _codes(seen.protected, cuts), cuts)

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.original.nbytes + self.protected.nbytes + self.cuts.nbytes


def band_cuts(found: Values, bands: int) -> Floats:
    """Return the inner cuts that divide these values into quantile bands.

    A value that as many records share as a band would hold is a band of its own (zeros are not small amounts); if no
    more values occur than there are bands, each is.
    """
    values = found.values
    if len(values) <= bands:
        return values[1:]
    own = np.flatnonzero(found.counts * bands >= found.present)
    around = values[np.concatenate([own, own[own + 1 < len(values)] + 1])]
    cuts = np.concatenate([found.quantiles(np.arange(1, bands) / bands), around])
    return np.unique(cuts[cuts > values[0]])


def _codes(numbers: Floats, cuts: Floats) -> Codes:
    """Return the band of each number."""
    codes = np.searchsorted(cuts, numbers, side="right").astype(np.int32)
    codes[np.isnan(numbers)] = -1
    return codes
