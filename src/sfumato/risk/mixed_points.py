"""Records of all kinds of variables as points, so that Gower's distance of two records is a distance of points."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.data.recoding import Recoding
from sfumato.kernels.mixed_distance import APART
from sfumato.pair import Pair

Floats = NDArray[np.float64]


def points(pair: Pair, names: Iterable[str]) -> tuple[Floats, Floats]:
    """Place the records of both tables by these variables; each variable's places are kept."""
    return _divided([_kept_places(pair, name) for name in names], len(pair.original))


def _kept_places(pair: Pair, name: str) -> Floats:
    places: Floats = pair.keep(("places", name), lambda: _places(pair.footing(name)))
    return places


def mixed_points(columns: Iterable[Recoding]) -> tuple[Floats, Floats]:
    """Place the records of both tables so that their capped city-block distance is Gower's, times the variables.

    Numbers are scaled by the range of both tables together, ordered categories by their place from the first to the
    last, and unordered ones are equal or not; two missing values are equal, one missing is as far as can be.
    """
    compared = list(columns)
    return _divided([_places(seen) for seen in compared], len(compared[0].original))


def _divided(columns: list[Floats], originals: int) -> tuple[Floats, Floats]:
    """Return the table of the original records and that of the protected ones, which follow them in each column."""
    both = np.column_stack(columns)
    return both[:originals], both[originals:]


def _places(seen: Recoding) -> Floats:
    """Return the places of the original values of one variable, and after them those of the protected values."""
    both = np.concatenate([seen.original, seen.protected])
    if seen.kind == "nominal":
        return both * APART
    if seen.kind == "ordinal":
        both, low, width = np.where(both < 0, np.nan, both) / 2, 0.0, max(len(seen.categories) - 1, 1) / 2
    else:
        # halves, because the range of the largest numbers there are is no number
        both = both / 2
        present = both[~np.isnan(both)]
        low = float(present.min()) if present.size else 0.0
        width = float(present.max() - low) if present.size else 0.0
    return np.where(np.isnan(both), APART, (both - low) / (width if width > 0 else 1.0))
