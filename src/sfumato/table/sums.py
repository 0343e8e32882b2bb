"""Sums and ratios that hold between numeric variables: which they are, and what they give back.

A variable is fitted by all others with least absolute deviations (iteratively reweighted least squares), which a few
exceptions do not disturb. If that fit is exact for most records, variables are left out one by one, those whose values
are protected first, as long as it stays exact; what remains is the relation. Coefficients that are whole but for
rounding are taken as whole. Products and quotients are sums of logarithms.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RECORDS = 600  # on which a relation is looked for
MIN_RECORDS = 30  # records with all values present
MIN_SHARE_HELD = 0.8  # of the records a relation must hold for
PILE = 0.3  # of the records with one value, such as no income from capital, are left aside
ROUNDS, HOPE = 25, 8  # steps of the fit; after so many, some records must be met exactly
WHOLE = 1e-3  # a coefficient this near to a whole number is one


@dataclass(frozen=True, eq=False)
class Relation:
    """A variable as a sum of others, or as a product of powers of others; ``holds`` for this share of ``records``."""

    parts: tuple[str, ...]
    factors: tuple[float, ...]
    constant: float
    product: bool
    holds: float
    records: int

    def applied(self, columns: dict[str, Floats]) -> Floats:
        """Return what the relation makes of these columns; NaN where a part is missing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = [np.log(columns[name]) if self.product else columns[name] for name in self.parts]
            total = sum((f * part for f, part in zip(self.factors, parts, strict=True)), np.float64(self.constant))
            found = np.exp(total) if self.product else np.asarray(total)
        return np.where(np.isfinite(found), found, np.nan)

    def __str__(self) -> str:
        terms = list(zip(self.factors, self.parts, strict=True))
        if self.product:
            text = " x ".join(name if f == 1 else f"{name}^{f:.4g}" for f, name in terms)
            scale = float(np.exp(self.constant))
            return text if abs(scale - 1) < 1e-6 else f"{scale:.4g} x {text}"
        signed = [f"{'-' if f < 0 else '+'} {'' if abs(f) == 1 else f'{abs(f):.4g} '}{name}" for f, name in terms]
        text = " ".join(signed).removeprefix("+ ")
        sign = "-" if self.constant < 0 else "+"
        return text if self.constant == 0 else f"{text} {sign} {abs(self.constant):.4g}"


def relation(
    target: Floats,
    columns: dict[str, Floats],
    protected: set[str],
    factors: Collection[str],
) -> Relation | None:
    """Find a sum, or else a product, of the columns that gives the target; parts that are not ``protected`` first.

    ``factors`` name the columns a product may be made of: no dates, because where days are counted from is a
    convention.
    """
    free = {name: column for name, column in columns.items() if name not in protected}
    for product in (False, True):
        for offered in (free, columns) if len(free) < len(columns) else (columns,):
            parts = {name: column for name, column in offered.items() if name in factors} if product else offered
            found = _found(target, parts, protected, product=product)
            if found is not None:
                return found
    return None


def held_by(sums: Relation, columns: Mapping[str, Floats], total: str, usual: Mapping[str, Floats]) -> float:
    """Return the share of the records with all values in which a total is what its parts make; 1 where there are none.

    Figures may be off by the rounding of ``usual`` ones, those of the table in which the relation was found.

    >>> table = {"all": np.array([3.0, 5, 7]), "some": np.array([1.0, 2, 3]), "rest": np.array([2.0, 3, 9])}
    >>> round(held_by(Relation(("some", "rest"), (1, 1), 0, False, 1, 3), table, "all", table), 3)
    0.667
    """
    made = sums.applied({name: columns[name] for name in sums.parts})
    there = ~np.isnan(made) & ~np.isnan(columns[total])
    if not there.any():
        return 1.0
    size, rounding = usual[total], np.stack([usual[name] for name in sums.parts], axis=1)
    whole = ~np.isnan(size) & ~np.isnan(rounding).any(axis=1)
    off = 1e-6 * np.abs(columns[total]) if sums.product else _tolerance(size[whole], rounding[whole])
    return float(np.mean((np.abs(made - columns[total]) <= off)[there]))


def _found(target: Floats, columns: dict[str, Floats], protected: set[str], *, product: bool) -> Relation | None:
    if product:
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = {name: np.log(np.where(column > 0, column, np.nan)) for name, column in columns.items()}
            target = np.log(np.where(target > 0, target, np.nan))
        columns = logs
    names, rows = _complete(target, columns)
    if not names:
        return None
    X, y = np.stack([columns[name][rows] for name in names], axis=1), target[rows]
    tolerance = 1e-6 if product else _tolerance(y, X)
    scale = np.abs(X).max(axis=0)
    X = X / scale
    beta, exact = _robust(X, y, tolerance)
    if exact.mean() < MIN_SHARE_HELD:
        return None
    kept = list(range(len(names)))
    for j in sorted(range(len(names)), key=lambda j: (names[j] not in protected, abs(float(beta[1 + j])))):
        fewer = [k for k in kept if k != j]
        fit = _exact_fit(X[:, fewer], y, exact, tolerance)
        if fit is not None:
            kept = fewer
    if not kept:
        return None  # a constant
    fit = _exact_fit(X[:, kept], y, exact, tolerance)
    if fit is None:
        return None
    factors = fit[1:] / scale[kept]
    rounded = np.where(np.abs(factors - np.rint(factors)) <= WHOLE, np.rint(factors), factors)
    raw = X[:, kept] * scale[kept]
    constant = float(np.median(y[exact] - raw[exact] @ rounded))
    constant = 0.0 if abs(constant) <= tolerance else constant
    holds = float(np.mean(np.abs(y - raw @ rounded - constant) <= tolerance))
    if holds < MIN_SHARE_HELD:
        return None
    return Relation(tuple(names[k] for k in kept), tuple(map(float, rounded)), constant, product, holds, len(y))


def _complete(target: Floats, columns: dict[str, Floats]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the columns that vary in the records returned, as many as leave enough records with all values present."""
    there = ~np.isnan(target)
    values, counts = np.unique(target[there], return_counts=True)
    if len(values) < 3:
        return [], np.empty(0, dtype=np.intp)
    if counts.max() > PILE * counts.sum():  # a constant would meet these
        there &= target != values[counts.argmax()]
    gaps = {name: np.isnan(column) for name, column in columns.items()}
    names = [n for n in sorted(columns, key=lambda n: (int(gaps[n].sum()), n)) if not gaps[n].all()]
    kept: list[str] = []
    for name in names:
        fewer = there & ~gaps[name]
        if int(np.count_nonzero(fewer)) >= max(MIN_RECORDS, int(np.count_nonzero(there)) // 2):
            shown = columns[name][fewer]
            if float(shown.min()) < float(shown.max()):
                kept.append(name)
                there = fewer
    rows = np.flatnonzero(there)
    if len(rows) < max(MIN_RECORDS, 3 * len(kept)):
        return [], rows
    rows = rows[:: max(len(rows) // RECORDS, 1)][:RECORDS]
    # a column kept early may be constant in the records that later ones left, or in those looked at
    return sorted(name for name in kept if np.ptp(columns[name][rows]) > 0), rows


def _robust(X: Floats, y: Floats, tolerance: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Fit by least absolute deviations; return coefficients, the constant first, and which records are met exactly."""
    design = np.column_stack([np.ones(len(y)), X])
    weight = np.ones(len(y))
    beta = np.zeros(design.shape[1])
    for step in range(ROUNDS):
        root = np.sqrt(weight)
        beta = _least_squares(design * root[:, None], y * root)
        off = np.abs(y - design @ beta)
        exact = off <= tolerance
        if exact.mean() >= MIN_SHARE_HELD:
            return beta, exact
        if step >= HOPE and exact.mean() < 0.05:
            break
        weight = 1 / np.maximum(off, max(tolerance, 1e-6 * float(np.median(off))))
        weight /= weight.max()
    return beta, exact


def _least_squares(X: Floats, y: Floats) -> Floats:
    """Return the shortest of the coefficients that fit best, by an orthogonal factorisation: faster than by SVD."""
    from scipy.linalg import lstsq  # loaded when it is needed

    beta: Floats = lstsq(X, y, cond=1e-12, lapack_driver="gelsy", check_finite=False)[0]
    return beta


def _exact_fit(X: Floats, y: Floats, exact: NDArray[np.bool_], tolerance: float) -> Floats | None:
    """Return the fit to the records that were met exactly, if these columns meet them still."""
    design = np.column_stack([np.ones(len(y)), X])[exact]
    beta = _least_squares(design, y[exact])
    off = np.abs(y[exact] - design @ beta)
    return beta if np.mean(off <= tolerance) >= 0.98 else None


def _tolerance(y: Floats, X: Floats) -> float:
    """Return how far a sum of rounded figures may be off: half a unit for each."""
    units = [_unit(y), *(_unit(column) for column in X.T)]
    size = float(np.abs(y).max())
    return max(min(units[0], size / 1000) * 1.001, 1e-9 * size)


def _unit(column: Floats) -> float:
    """Return the last decimal in which figures are written: 1, 0.1, 0.01; 0 where they have more than four."""
    for decimals in range(5):
        if np.abs(column * 10**decimals - np.rint(column * 10**decimals)).max() < 1e-6 * 10**decimals:
            return float(10.0**-decimals)
    return 0.0
