"""Records of all kinds of variables as points, so that Gower's distance of two records is a distance of points."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.recoding import Recoding
from sfumato.data.schema import Kind
from sfumato.kernels.mixed_distance import APART
from sfumato.pair import Pair

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Places:
    """Where the values of one variable lie on its axis; it must be known of both whole tables, and then of any part.

    Numbers are scaled by the range of both tables together, ordered categories by their place from the first to the
    last, and unordered ones are equal or not; two missing values are equal, one missing is as far as can be.
    """

    kind: Kind
    low: float = 0.0  # halves, because the range of the largest numbers there are is no number
    width: float = 1.0

    @classmethod
    def of(cls, seen: Recoding) -> "Places":
        """Look through a variable of both tables on one footing."""
        if seen.kind == "nominal":
            return cls("nominal")
        if seen.kind == "ordinal":
            return cls("ordinal", 0.0, max(len(seen.categories) - 1, 1) / 2)
        sides = seen.original, seen.protected
        low = float(np.fmin.reduce([np.fmin.reduce(side, initial=np.nan) for side in sides])) / 2
        high = float(np.fmax.reduce([np.fmax.reduce(side, initial=np.nan) for side in sides])) / 2
        if np.isnan(low):
            return cls(seen.kind)
        return cls(seen.kind, low, high - low if high > low else 1.0)

    def __call__(self, column: NDArray[Any]) -> Floats:
        """Return the places of values."""
        if self.kind == "nominal":
            return column * APART
        halves = np.where(column < 0, np.nan, column) / 2 if self.kind == "ordinal" else column / 2
        return np.where(np.isnan(halves), APART, (halves - self.low) / self.width)


def points(pair: Pair, names: Iterable[str]) -> tuple[Floats, Floats]:
    """Place the records of both tables by these variables; each variable's places are kept."""
    return _divided([_kept_places(pair, name) for name in names], len(pair.original))


def _kept_places(pair: Pair, name: str) -> Floats:
    places: Floats = pair.keep(("places", name), lambda: _places(pair.footing(name)))
    return places


def mixed_points(columns: Iterable[Recoding]) -> tuple[Floats, Floats]:
    """Place the records of both tables so that their capped city-block distance is Gower's, times the variables."""
    compared = list(columns)
    return _divided([_places(seen) for seen in compared], len(compared[0].original))


def _divided(columns: list[Floats], originals: int) -> tuple[Floats, Floats]:
    """Return the table of the original records and that of the protected ones, which follow them in each column."""
    both = np.column_stack(columns)
    return both[:originals], both[originals:]


def _places(seen: Recoding) -> Floats:
    """Return the places of the original values of one variable, and after them those of the protected values."""
    return Places.of(seen)(np.concatenate([seen.original, seen.protected]))
