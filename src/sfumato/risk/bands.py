"""Numbers in bands: the quantile classes in which a value counts as known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.schema import Kind
from sfumato.pair.statistics import Values

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


def banded(kind: Kind, base: NDArray[Any], other: NDArray[Any], bands: int) -> tuple[Codes, Codes, Floats]:
    """Return a variable of two tables as codes, numbers in quantile bands of the first; with their inner cuts.

    A number that is a cut belongs to the band above it. A value that as many records share as a band would hold is a
    band of its own (zeros are not small amounts); if no more values occur than there are bands, each is. Missing stays
    -1.

    >>> banded("numeric", np.array([1.0, 2, 3, 4, 5, 6]), np.array([0.0, 4.0, np.nan]), 2)[1:]
    (array([ 0,  1, -1], dtype=int32), array([3.5]))
    """
    if kind != "numeric":
        return base, other, np.empty(0)
    cuts = _cuts(Values.of(base), bands)
    codes = [
        np.where(np.isnan(column), -1, np.searchsorted(cuts, column, side="right")).astype(np.int32)
        for column in (base, other)
    ]
    return codes[0], codes[1], cuts


def _cuts(found: Values, bands: int) -> Floats:
    values = found.values
    if len(values) <= bands:
        return values[1:]
    own = np.flatnonzero(found.counts * bands >= found.present)
    around = values[np.concatenate([own, own[own + 1 < len(values)] + 1])]
    cuts = np.unique(np.concatenate([found.quantiles(np.arange(1, bands) / bands), around]))
    return cuts[cuts > values[0]]
