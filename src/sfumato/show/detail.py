"""One candidate looked at closely: every variable before and after, correlations, and the records most at risk."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.about import Records, Unit
from sfumato.data.alignment import aligned
from sfumato.data.microdata import Microdata
from sfumato.data.recoding import Recoding, recoding
from sfumato.data.schema import Variable
from sfumato.show.summary import CorrelationChange, Detail, Figure, Moments, RecordRisk, VariableDetail
from sfumato.show.wording import figure, number

BINS = 30
BARS = 12  # categories shown one by one; the rest are added up
LISTED = 10  # correlations and records listed


@dataclass(frozen=True)
class Breakdown:
    """What a measure says beyond its value, the unit it says it in, and the table whose records it tells of."""

    unit: Unit
    counts: tuple[str, ...] = ()  # how the names of parts begin that are plain numbers
    by_variable: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    by_record: NDArray[np.float64] | None = None
    records: Records = "original"

    def unit_of(self, part: str) -> Unit:
        """Return the unit a part is written in."""
        return "number" if part.startswith(self.counts) else self.unit


def detail_of(
    candidate: str,
    original: Microdata,
    protected: Microdata,
    breakdowns: Mapping[str, Breakdown],
    listed: int = LISTED,
    notes: tuple[str, ...] = (),
) -> Detail:
    """Compare a protected table with its original, variable by variable and record by record."""
    by_variable = {key: found for key, found in breakdowns.items() if found.by_variable}
    return Detail(
        candidate=candidate,
        notes=notes,
        variables=tuple(_variable(name, original, protected, by_variable) for name in original.schema.analysed()),
        by_variable=tuple(by_variable),
        correlations=_correlations(original, protected),
        records=_records(breakdowns, listed, _same_records(original, protected)),
        parts={
            key: {part: figure(value, found.unit_of(part)) for part, value in found.parts.items()}
            for key, found in breakdowns.items()
            if found.parts
        },
    )


def _variable(
    name: str, original: Microdata, protected: Microdata, breakdowns: Mapping[str, Breakdown]
) -> VariableDetail:
    kind = original.schema[name].kind
    figures = {
        key: figure(found.by_variable[name], found.unit)
        for key, found in breakdowns.items()
        if name in found.by_variable
    }
    if name not in protected.schema:
        return VariableDetail(name, kind, changed=None, gone=True, figures=figures)
    matched = protected.matched and len(protected) == len(original)
    if kind == protected.schema[name].kind == "numeric":
        return _numbers(name, original.columns[name], protected.columns[name], matched, figures)
    found = recoding(original, protected, name, matched=matched)
    if not found.comparable or found.kind == "numeric":
        return VariableDetail(name, kind, changed=None, gone=True, figures=figures)
    categories, shares, shares_after = _bars(found, original.schema[name], protected.schema[name])
    return VariableDetail(
        name,
        kind,
        changed=_changed(found.original, found.protected) if matched else None,
        missing=(int((found.original < 0).sum()), int((found.protected < 0).sum())),
        recoded=found.recoded,
        figures=figures,
        categories=categories,
        shares_before=shares,
        shares_after=shares_after,
    )


def _numbers(
    name: str,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    matched: bool,
    figures: Mapping[str, Figure],
) -> VariableDetail:
    edges, clipped = bin_edges(before, after)
    return VariableDetail(
        name,
        "numeric",
        changed=_changed(before, after) if matched else None,
        before=_moments(before),
        after=_moments(after),
        figures=figures,
        edges=tuple(float(edge) for edge in edges),
        shares_before=_shares(before, edges),
        shares_after=_shares(after, edges),
        clipped=clipped,
    )


def bin_edges(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """Choose bins for both; where a few values lie far out, the bins cover the middle 99 % and the ends hold the rest.

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


def _changed(before: NDArray[np.generic], after: NDArray[np.generic]) -> float | None:
    """Return the share of records whose value differs; a missing value equals a missing value."""
    if before.shape != after.shape:
        return None
    same = before == after
    if before.dtype.kind == "f":
        same |= np.isnan(before.astype(float)) & np.isnan(after.astype(float))
    return float(1 - same.mean())


def spelled_categories(variable: Variable) -> list[str]:
    """Return the categories as a reader knows them: by their labels, where they have some."""
    labels = dict(variable.labels)
    words = [labels.get(category, str(category)) for category in variable.categories]
    return [
        word if words.count(word) == 1 else f"{word} ({category})"
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


def _correlations(original: Microdata, protected: Microdata) -> tuple[CorrelationChange, ...]:
    """Return the pairs of numeric variables whose correlation moved most."""
    names = [n for n in original.schema.analysed("numeric") if n in protected.schema.analysed("numeric")]
    if len(names) < 2:
        return ()
    before, after = (_correlation_matrix(table.numeric(names)) for table in (original, protected))
    rows, columns = np.triu_indices(len(names), k=1)
    moved = np.abs(after - before)[rows, columns]
    known = np.flatnonzero(np.isfinite(moved))
    known = known[moved[known] >= 0.0005]  # what is written +0.000 has not moved
    worst = known[np.argsort(-moved[known], kind="stable")][:LISTED]
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


def _same_records(original: Microdata, protected: Microdata) -> bool:
    """Tell whether record i of one table is record i of the other, so that one number names both."""
    if not protected.matched or len(original) != len(protected):
        return False
    name = original.schema.id
    if name is None or name != protected.schema.id:
        return True
    kinds = {table.schema[name].kind == "numeric" for table in (original, protected)}
    if len(kinds) > 1:
        return False
    if kinds == {True}:
        return _changed(original.columns[name], protected.columns[name]) == 0
    both = aligned(original, protected, name)
    return _changed(both.original, both.protected) == 0


def _records(breakdowns: Mapping[str, Breakdown], listed: int, same: bool) -> tuple[RecordRisk, ...]:
    """List the original records most at risk: by the first measure that tells records apart, ties by the next.

    Risks of the protected table's records are listed with them only where these are the ``same``.
    """
    telling = {
        key: found.by_record
        for key, found in breakdowns.items()
        if found.by_record is not None and (same or found.records == "original")
    }
    if not telling:
        return ()
    return tuple(
        RecordRisk(
            int(record) + 1,
            {key: figure(float(risks[record]), breakdowns[key].unit) for key, risks in telling.items()},
        )
        for record in worst_first(telling.values())[:listed]
        if any(risks[record] > 0 for risks in telling.values())
    )


def worst_first(risks: Iterable[NDArray[np.float64]]) -> NDArray[np.intp]:
    """Order records by the first risk, ties by the next, then as they stand.

    >>> worst_first([np.array([0.5, 1.0, 0.5]), np.array([0.0, 0.0, 1.0])]).tolist()
    [1, 2, 0]
    """
    columns = [-np.nan_to_num(np.asarray(column, dtype=np.float64), nan=-1.0) for column in risks]
    order: NDArray[np.intp] = np.lexsort(columns[::-1])
    return order


def range_text(table: Microdata, name: str) -> str:
    """Write what a variable's values run from and to, or its first categories."""
    variable = table.schema[name]
    if variable.kind == "numeric":
        values = table.columns[name]
        if np.isnan(values).all():
            return "all missing"
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        return f"{number(low)} to {number(high)}"
    shown = spelled_categories(variable)[:4]
    more = len(variable.categories) - len(shown)
    return ", ".join(shown) + (f", … {more} more" if more > 0 else "")
