"""Keys of both tables as an intruder lays them side by side: codes that mean the same, or standardised numbers."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.data.recoding import Recoding
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import mean_and_spread, standardised

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


def codes_of(seen: dict[str, Recoding], names: Iterable[str], records: int) -> tuple[Codes, Codes]:
    """Return keys of both tables as codes that mean the same in both; missing is -1."""
    columns = [_coded(seen[name]) for name in names]
    both = np.column_stack(columns) if columns else np.empty((2 * records, 0), dtype=np.int32)
    return both[:records], both[records:]


def _coded(found: Recoding) -> Codes:
    both = np.concatenate([found.original, found.protected])
    if not found.quantitative:
        return both.astype(np.int32)
    values = np.unique(both[~np.isnan(both)])
    return np.where(np.isnan(both), -1, np.searchsorted(values, both)).astype(np.int32)


def scores_of(seen: dict[str, Recoding], names: list[str]) -> tuple[Floats, Floats]:
    """Return numbers of both tables, standardised by the original's means and standard deviations."""
    before = np.column_stack([seen[name].original for name in names])
    after = np.column_stack([seen[name].protected for name in names])
    mean, spread = mean_and_spread(before)
    if not np.isfinite(spread).all():
        name = names[int(np.argmin(np.isfinite(spread)))]
        raise NotApplicable(f"{name!r} has values too large for a standard deviation")
    return standardised(before, mean, spread), standardised(after, mean, spread)
