"""Every variable before and after: distributions, shares and moments, correlations, regressions, and its usefulness."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.compare.examine.findings import (
    CoefficientChange,
    CorrelationChange,
    Distributions,
    Moments,
    OriginalVariable,
    OwnValues,
    PairUtility,
    Regressions,
    UtilityFound,
    VariableDetail,
    VariableUtility,
)
from sfumato.errors import SfumatoError
from sfumato.measurement import Measurement
from sfumato.table.dates import day_of
from sfumato.table.describe import Finding, describe
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding, recoding
from sfumato.table.schema import Kind, Variable

if TYPE_CHECKING:
    from sfumato.utility import IntervalOverlap

BINS = 30
BARS = 12  # categories shown one by one; the rest are added up
CORRELATIONS_LISTED = 10
WRITTEN = 0.0005  # a smaller move is written +0.000: it has not moved
SLOPES_LISTED = 12
MAX_FITTED_VARIABLES = 24  # numeric variables up to which every simple regression is fitted unasked
NAMED = 4  # categories
_KNOWN: "WeakKeyDictionary[Microdata, tuple[OriginalVariable, ...]]" = WeakKeyDictionary()


def distributions(original: Microdata, protected: Microdata) -> Distributions:
    """Compare a protected table with its original, variable by variable."""
    return Distributions(
        variables=tuple(variable_detail(name, original, protected) for name in original.schema.analysed()),
        correlations=correlation_changes(original, protected),
    )


def variable_detail(name: str, original: Microdata, protected: Microdata) -> VariableDetail:
    """Compare one variable; it is gone if the protected table has nothing that can be compared with it."""
    kind = original.schema[name].kind
    if name not in protected.schema:
        return VariableDetail(name, kind, changed=None, gone=True)
    matched = protected.matched and len(protected) == len(original)
    found = _compared(name, original, protected, matched=matched)
    blank = original.missing(name), protected.missing(name)
    return (
        found
        if found.gone
        else replace(
            found,
            missing_shares=(float(blank[0].mean()), float(blank[1].mean())),
            suppressed=float((~blank[0] & blank[1]).mean()) if matched else None,
        )
    )


def _compared(name: str, original: Microdata, protected: Microdata, *, matched: bool) -> VariableDetail:
    kind = original.schema[name].kind
    if kind == protected.schema[name].kind and original.schema[name].quantitative:
        return _numbers(name, kind, original.columns[name], protected.columns[name], matched=matched)
    found = recoding(original, protected, name, matched=matched)
    if not found.comparable or found.quantitative:
        return VariableDetail(name, kind, changed=None, gone=True)
    categories, shares, shares_after = _bars(found, original.schema[name], protected.schema[name])
    own = _own_values(found, original.schema[name], original.columns[name]) if found.recoded else None
    return VariableDetail(
        name,
        kind,
        changed=changed_share(found.original, found.protected) if matched else None,
        missing=(int((found.original < 0).sum()), int((found.protected < 0).sum())),
        recoded=found.recoded,
        own=own,
        categories=categories,
        shares_before=shares,
        shares_after=shares_after,
    )


def _own_values(found: Recoding, variable: Variable, column: NDArray[Any]) -> OwnValues | None:
    """Return the distribution over the original's own values, and that of the classes spread evenly over their values.

    None if a class of the protected table has no value of the original.
    """
    there = found.original >= 0
    values, place = np.unique(column[there], return_inverse=True)
    classes = len(found.categories)
    pairs = np.unique(np.column_stack([place, found.original[there]]), axis=0)  # which values are in which classes
    sizes = np.bincount(pairs[:, 1], minlength=classes)
    counts = np.bincount(found.protected[found.protected >= 0], minlength=classes)
    if not len(values) or not counts.sum() or (counts[sizes == 0] > 0).any():
        return None
    before = np.bincount(place) / len(place)
    each = counts[pairs[:, 1]] / counts.sum() / sizes[pairs[:, 1]]
    after = np.bincount(pairs[:, 0], weights=each, minlength=len(values))
    if variable.quantitative:
        edges, clipped = bin_edges(column[there], column[there])
        inside = np.clip(values, edges[0], edges[-1])
        shares = [np.histogram(inside, bins=edges, weights=side)[0] for side in (before, after)]
        first, second = (tuple(map(float, side)) for side in shares)
        return OwnValues(first, second, edges=tuple(map(float, edges)), clipped=clipped)
    words = spelled_categories(variable)
    common = set(np.argsort(-before, kind="stable")[: BARS if len(values) <= BARS else BARS - 1].tolist())
    shown = [i for i in range(len(values)) if i in common]
    rest = [i for i in range(len(values)) if i not in common]
    names = [words[int(values[i])] for i in shown]
    sides = [[float(side[i]) for i in shown] + ([float(side[rest].sum())] if rest else []) for side in (before, after)]
    names += [f"({len(rest):,} others)"] if rest else []
    return OwnValues(tuple(sides[0]), tuple(sides[1]), categories=tuple(names))


def _numbers(
    name: str, kind: Kind, before: NDArray[np.float64], after: NDArray[np.float64], *, matched: bool
) -> VariableDetail:
    edges, clipped = bin_edges(before, after)
    return VariableDetail(
        name,
        kind,
        changed=changed_share(before, after) if matched else None,
        before=_moments(before),
        after=_moments(after),
        edges=tuple(float(edge) for edge in edges),
        shares_before=_shares(before, edges),
        shares_after=_shares(after, edges),
        clipped=clipped,
    )


def bin_edges(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """Choose bins for both; if a few values lie far out, the bins cover the middle 99 % and the ends hold the rest.

    >>> bin_edges(np.arange(11.0), np.arange(11.0))[0][[0, -1]].tolist()
    [0.0, 10.0]
    """
    both = np.concatenate([before[~np.isnan(before)], after[~np.isnan(after)]])
    if both.size == 0:
        return np.array([0.0, 1.0]), False
    low, high = float(both.min()), float(both.max())
    inner_low, inner_high = (float(edge) for edge in np.quantile(both, [0.005, 0.995]))
    clipped = inner_high > inner_low and (high - low) > 1.5 * (inner_high - inner_low)
    if clipped:
        low, high = inner_low, inner_high
    if high <= low:
        low, high = low - 0.5, low + 0.5
    return np.linspace(low, high, BINS + 1), clipped


def _shares(values: NDArray[np.float64], edges: NDArray[np.float64]) -> tuple[float, ...]:
    present = values[~np.isnan(values)]
    counts, _ = np.histogram(np.clip(present, edges[0], edges[-1]), bins=edges)
    return tuple(float(share) for share in counts / max(present.size, 1))


def _moments(values: NDArray[np.float64]) -> Moments | None:
    present = values[~np.isnan(values)]
    if present.size == 0:
        return None
    return Moments(
        mean=float(present.mean()),
        sd=float(present.std(ddof=1)) if present.size > 1 else 0.0,
        minimum=float(present.min()),
        median=float(np.median(present)),
        maximum=float(present.max()),
        missing=int(values.size - present.size),
    )


def changed_share(before: NDArray[np.generic], after: NDArray[np.generic]) -> float | None:
    """Return the share of records whose value differs; a missing value equals a missing value."""
    if before.shape != after.shape:
        return None
    same = before == after
    if before.dtype.kind == "f":
        same |= np.isnan(before.astype(float)) & np.isnan(after.astype(float))
    return float(1 - same.mean())


def spelled_categories(variable: Variable) -> list[str]:
    """Return the categories as a reader knows them: by their labels, if they have some."""
    labels = dict(variable.labels)
    words = [labels.get(category, str(category)) for category in variable.categories]
    uses = Counter(words)
    return [
        word if uses[word] == 1 else f"{word} ({category})"
        for word, category in zip(words, variable.categories, strict=True)
    ]


def _bars(
    found: Recoding, before: Variable, after: Variable
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]]:
    """Count the categories of both tables; beyond a dozen only the commonest are shown, the rest added up."""
    labels = {
        category: word
        for variable in (before, after)
        for category, word in zip(variable.categories, spelled_categories(variable), strict=True)
    }
    number = len(found.categories)
    shares = []
    for codes in (found.original, found.protected):
        counts = np.bincount(codes[codes >= 0], minlength=number)
        shares.append(counts / max(int(counts.sum()), 1))
    occur = np.flatnonzero((shares[0] > 0) | (shares[1] > 0))
    rest: NDArray[np.intp] = np.array([], dtype=np.intp)
    if len(occur) > BARS:
        common = set(occur[np.argsort(-shares[0][occur], kind="stable")][: BARS - 1].tolist())
        rest = np.array([code for code in occur if code not in common], dtype=np.intp)
        occur = np.array([code for code in occur if code in common], dtype=np.intp)
    names = [labels.get(found.categories[code], str(found.categories[code])) for code in occur]
    heights = [[float(side[code]) for code in occur] for side in shares]
    if rest.size:
        names.append(f"({rest.size} others)")
        for height, side in zip(heights, shares, strict=True):
            height.append(float(side[rest].sum()))
    return tuple(names), tuple(heights[0]), tuple(heights[1])


# Correlations of numeric variables before and after.


def correlation_changes(original: Microdata, protected: Microdata) -> tuple[CorrelationChange, ...]:
    """Return the pairs of numeric variables whose correlation moved most."""
    names = [n for n in original.schema.analysed("numeric") if n in protected.schema.analysed("numeric")]
    if len(names) < 2:
        return ()
    before, after = (_correlation_matrix(table.numeric(names)) for table in (original, protected))
    rows, columns = np.triu_indices(len(names), k=1)
    moved = np.abs(after - before)[rows, columns]
    known = np.flatnonzero(np.isfinite(moved))
    known = known[moved[known] >= WRITTEN]
    worst = known[np.argsort(-moved[known], kind="stable")][:CORRELATIONS_LISTED]
    return tuple(
        CorrelationChange(names[i], names[j], float(before[i, j]), float(after[i, j]))
        for i, j in zip(rows[worst], columns[worst], strict=True)
    )


def _correlation_matrix(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pearson correlations over the records that have both values; constant variables have none (NaN)."""
    present = ~np.isnan(values)
    m = present.astype(np.float64)
    centre = np.where(present.any(axis=0), np.nansum(values, axis=0) / np.maximum(present.sum(axis=0), 1), 0.0)
    x = np.where(present, values - centre, 0.0)
    n, sums, products, squares = m.T @ m, x.T @ m, x.T @ x, (x * x).T @ m
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = products - sums * sums.T / n
        spread = squares - sums**2 / n
        found = covariance / np.sqrt(spread * spread.T)
    constant = spread <= 1e-12 * np.maximum(squares, 1e-300)
    found[constant | constant.T] = np.nan
    matrix: NDArray[np.float64] = np.clip(found, -1, 1)
    return matrix


# Regressions of the original and the protected table side by side: estimates and intervals.


def regressions(asked: "IntervalOverlap | None", original: Microdata, protected: Microdata) -> Regressions:
    """Return the slopes whose intervals overlap least; none if no regression can be fitted to both tables.

    Unless models were asked for, these are the simple regressions of every numeric variable on every other; of more
    than a couple of dozen variables none, because there would be too many.
    """
    from sfumato.utility import IntervalOverlap

    if asked is None and len(original.schema.analysed("numeric")) > MAX_FITTED_VARIABLES:
        return Regressions(())
    try:
        rows = (asked or IntervalOverlap()).table(original, protected, kind="pyarrow").to_pylist()
    except SfumatoError:
        return Regressions(())
    slopes = [row for row in rows if row["coefficient"] != "Intercept"]
    worst = sorted(slopes, key=lambda row: row["overlap"])[:SLOPES_LISTED]
    found = (
        CoefficientChange(
            model=row["model"],
            coefficient=row["coefficient"],
            before=(row["original estimate"], row["original low"], row["original high"]),
            after=(row["protected estimate"], row["protected low"], row["protected high"]),
            overlap=row["overlap"],
        )
        for row in worst
    )
    return Regressions(tuple(change for change in found if change.before != change.after))  # what moved is listed


# What a protected file is still good for: every variable and every pair, from the tables of a global data utility.


def utility_found(found: Measurement) -> UtilityFound | None:
    """Return the variables and pairs of a measurement that tells of them; None of any other."""
    if not {"variables", "pairs"} <= set(found.tables):
        return None
    return UtilityFound(
        value=found.value,
        parts=dict(found.parts),
        statement=found.statement,
        variables=tuple(map(_variable_utility, found.tables["variables"])),
        pairs=tuple(map(_pair_utility, found.tables["pairs"])),
        notes=found.notes,
    )


def _variable_utility(row: Mapping[str, Any]) -> VariableUtility:
    return VariableUtility(
        name=row["variable"],
        title=row["label"],
        test=row["test"],
        p=row["p"],
        utility=row["utility"],
        pairs=row["pairs"],
        distance=row["distance"],
        missing=(row["missing_before"], row["missing_after"]),
        note=row["note"],
    )


def _pair_utility(row: Mapping[str, Any]) -> PairUtility:
    return PairUtility(
        first=row["first"],
        second=row["second"],
        titles=(row["first_label"], row["second_label"]),
        test=row["test"],
        before=row["before"],
        after=row["after"],
        p=(row["p_before"], row["p_after"]),
        utility=row["utility"],
        effect=row["effect"],
        reason=row["reason"],
        outcome=row["outcome"],
        left=None if row["records_left"] is None else row["records_left"] * row["comparisons_left"],
    )


# What is known of the original file, variable by variable: the same for every candidate.


def original_variables(data: Microdata) -> tuple[OriginalVariable, ...]:
    """Describe every variable of a table; of the same table only once."""
    if data not in _KNOWN:
        _KNOWN[data] = tuple(_variable(data, found) for found in describe(data))
    return _KNOWN[data]


def _variable(data: Microdata, found: Finding) -> OriginalVariable:
    variable = data.schema[found.name]
    numeric, named = variable.quantitative, data.schema.names_units(found.name)
    names = () if numeric or named else tuple(spelled_categories(variable)[:NAMED])
    ends: tuple[Any, Any] = (found.minimum, found.maximum)
    if found.kind == "date":
        ends = (day_of(found.minimum), day_of(found.maximum))
    return OriginalVariable(
        name=found.name,
        label=variable.label,
        kind=found.kind,
        role=found.role,
        missing=found.missing,
        distinct=found.distinct,
        ends=(float(ends[0]), float(ends[1])) if numeric and None not in ends else None,
        categories=names,
        more=0 if numeric or named else len(variable.categories) - len(names),
    )
