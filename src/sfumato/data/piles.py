"""Numbers cut off at the top or the bottom, or rounded, as two columns show it."""

import numpy as np

from sfumato.data.microdata import Floats
from sfumato.kernels.stretches import stretches

LEAST_PILE = 0.005  # of the records: smaller piles at an end are ordinary ties
LIKELY = 3.0  # standard errors within which a pile is as large as what was cut off
GLANCE = 500  # records looked at first
HEIGHT = 5  # times what the other values hold at the median


def capped_records(x: Floats, y: Floats) -> Floats | None:
    """Return the original with its ends cut off, where that is all that happened to the records; else None.

    The records that changed all have the least or the greatest protected value, and are the least or the greatest of
    the original, two or more different values of it. Missing values on either side tell nothing.

    >>> capped_records(np.array([1.0, 2.0, 8.0, 9.0]), np.array([1.0, 2.0, 5.0, 5.0])).tolist()
    [1.0, 2.0, 5.0, 5.0]
    """
    if not _changed_at_the_ends(x, y):
        return None
    both = ~(np.isnan(x) | np.isnan(y))
    was, now = x[both], y[both]
    changed = was != now
    least, greatest = float(now.min()), float(now.max())
    at_top, at_bottom = changed & (now == greatest), changed & (now == least)
    if (at_top & at_bottom).any() or not (at_top | at_bottom)[changed].all():
        return None
    found = x.copy()
    if at_top.any():
        limit = float(was[at_top].min())
        if (now[was >= limit] != greatest).any() or float(was[at_top].max()) == limit:
            return None
        found[x >= limit] = greatest
    if at_bottom.any():
        limit = float(was[at_bottom].max())
        if (now[was <= limit] != least).any() or float(was[at_bottom].min()) == limit:
            return None
        found[x <= limit] = least
    return found


def _changed_at_the_ends(x: Floats, y: Floats) -> bool:
    """Tell whether some records changed, and these have the least or the greatest protected value."""
    least, greatest = np.inf, -np.inf
    for rows in stretches(len(x)):
        now = y[rows][~np.isnan(x[rows])]
        least, greatest = np.fmin.reduce(now, initial=least), np.fmax.reduce(now, initial=greatest)
    some = False
    for rows in stretches(len(x)):
        now = y[rows]
        changed = (x[rows] != now) & ~np.isnan(x[rows]) & ~np.isnan(now)
        if (changed & (now != least) & (now != greatest)).any():
            return False
        some = some or bool(changed.any())
    return some


def rounding_base(x: Floats, y: Floats) -> float | None:
    """Return the base to whose nearest multiple every record was rounded, or None.

    Rounding so fine that the first few hundred records have no ties is not looked for.

    >>> rounding_base(np.array([12.0, 18.0, 22.0, 34.0]), np.array([10.0, 20.0, 20.0, 30.0]))
    10.0
    """
    glance = _first_values(x, y)
    if len(np.unique(glance)) == len(glance) > 2:  # no ties: too fine to matter, if it is rounding
        return None
    both = ~(np.isnan(x) | np.isnan(y))
    was, now = x[both], y[both]
    values = np.unique(now)
    if len(values) < 3 or len(values) == len(np.unique(was)):
        return None
    base = float(np.diff(values).min())
    multiples = np.rint(values / base) * base
    if np.abs(values - multiples).max() > 1e-6 * base or np.abs(was - now).max() > base / 2 * (1 + 1e-9):
        return None
    return base


def _first_values(x: Floats, y: Floats) -> Floats:
    """Return the protected values of the first records that have both."""
    found = np.empty(0)
    for rows in stretches(len(x)):
        found = np.concatenate([found, y[rows][~(np.isnan(x[rows]) | np.isnan(y[rows]))][: GLANCE - len(found)]])
        if len(found) == GLANCE:
            break
    return found


def piled(x: Floats, y: Floats) -> Floats | None:
    """Return the original cut off where the protected values pile up at an end, as records that do not match show it.

    A pile at the top: the greatest protected value holds 5 times what others do and at least 0.5 % of the records, the
    original has two or more different values above the second greatest one, as many within 3 standard errors as the
    pile, and less than half of them at the pile's own value. At the bottom likewise.
    """
    if not _heaped_at_an_end(y):
        return None
    was, now = x[~np.isnan(x)], y[~np.isnan(y)]
    if not was.size:
        return None
    high = _cut(was, now)
    low = _cut(-was, -now)
    if high is None and low is None:
        return None
    found = x.copy()
    if high is not None:
        found[x > high[0]] = high[1]
    if low is not None:
        found[x < -low[0]] = -low[1]
    return found


def _heaped_at_an_end(values: Floats) -> bool:
    """Tell whether the least or the greatest value holds as many records as a pile must."""
    least, greatest = np.fmin.reduce(values, initial=np.inf), np.fmax.reduce(values, initial=-np.inf)
    present, at_least, at_greatest = 0, 0, 0
    for rows in stretches(len(values)):
        some = values[rows]
        present += int(np.count_nonzero(~np.isnan(some)))
        at_least += int(np.count_nonzero(some == least))
        at_greatest += int(np.count_nonzero(some == greatest))
    return present > 0 and max(at_least, at_greatest) >= LEAST_PILE * present


def _cut(was: Floats, now: Floats) -> tuple[float, float] | None:
    """Return the greatest protected value below the pile at the top, and the pile's value; None without a pile."""
    if np.count_nonzero(now == now.max()) < LEAST_PILE * len(now):
        return None
    values, counts = np.unique(now, return_counts=True)
    if len(values) < 3:
        return None
    below, top, pile = float(values[-2]), float(values[-1]), int(counts[-1])
    share, beyond = pile / len(now), was > below
    expected = float(beyond.mean())
    if share < LEAST_PILE or pile < HEIGHT * float(np.median(counts[:-1])) or not beyond.any():
        return None
    error = np.sqrt(max(expected * (1 - expected), 1e-12) * (1 / len(was) + 1 / len(now)))
    several = float(was[beyond].min()) < float(was.max()) and float(was.max()) != top
    held = float(np.mean(was == top))
    return (below, top) if several and abs(share - expected) <= LIKELY * error and held < share / 2 else None
