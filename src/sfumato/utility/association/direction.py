"""Whether an association with a nominal variable points the other way in the protected file."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.kernels.contingency import Table, each_table, residual_change
from sfumato.utility.association.columns import Column, File, Floats, Indices, Standardised
from sfumato.utility.association.groups import parts, rank_groups, value_groups

TABLES = 256  # pairs whose tables of both files are held at a time
LARGEST = 1e100  # ratio of the units of the two files: beyond it only the sign counts


def turned(
    original: Sequence[Column],
    protected: Sequence[Column],
    pairs: Indices,
    *,
    weights: tuple[Floats | None, Floats | None] = (None, None),
) -> Floats:
    """Measure, for pairs with a nominal variable, how far the protected file turns the association round.

    Section 3.4.1 of Kocar: sum |MSD_o - MSD_p| - sum |MSD_o|, where MSD are the standardised residuals of the cells of
    a contingency table, (O - E) / sqrt(E), or the sums of squares between groups, n_i (mean_i - mean)^2, of values
    (where the other variable is normal in the original) or of ranks, with a minus where a group lies below the mean.
    Here it is divided by sum |MSD_o|: -1 says that nothing has changed, 0 that nothing is left, 1 that every difference
    is there with the opposite sign; more than 0 is a reversed direction. It is 0 where the original shows no
    association at all.

    Files may differ in size, and the printed measures grow with it: a synthetic file of twice the records would count
    as reversed. They are therefore taken per record (residuals over sqrt(n), sums of squares over n, those of ranks
    over n^3); for files of equal size that changes nothing. What it does not cure is the expression itself: sums of
    squares between groups that more than double in the same direction also exceed 0.

    ``pairs`` holds the places of two columns in each row. The columns of both files come in the same order, and the
    same code means the same category. ``weights``, of each file, are used as in ``pair_tests``.
    """
    pairs = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
    if len(original) != len(protected):
        raise ParameterError(f"the files have {len(original)} and {len(protected)} columns; they must be the same")
    used, places = np.unique(pairs, return_inverse=True)
    before = File([original[k] for k in used], weights[0])
    after = File([protected[k] for k in used], weights[1])
    _check(before, after)
    places = places.reshape(-1, 2)
    nominal = np.isin(places, before.nominal)
    if not nominal.any(axis=1).all():
        one, two = places[~nominal.any(axis=1)][0]
        names = f"{before.columns[one].name!r} and {before.columns[two].name!r}"
        raise ParameterError(f"neither of {names} is nominal: compare the signs of their correlations")
    change, strength = np.zeros(len(pairs)), np.zeros(len(pairs))
    tables = np.flatnonzero(nominal.all(axis=1))
    for start in range(0, len(tables), TABLES):
        rows = tables[start : start + TABLES]
        of_both = zip(_tables(before, places[rows]), _tables(after, places[rows]), strict=True)
        for row, (one, two) in zip(rows, of_both, strict=True):
            change[row], strength[row] = residual_change(one, two)
    _compare_groups(before, after, places, nominal, change, strength)
    found: Floats = np.where(strength > 0, change / np.where(strength > 0, strength, 1.0) - 1, 0.0)
    return found


def _check(before: File, after: File) -> None:
    for one, two in zip(before.columns, after.columns, strict=True):
        if (one.scale == "nominal") != (two.scale == "nominal"):
            raise DataError(
                f"variable {one.name!r} is {one.scale} in the original and {two.scale} in the protected file: "
                "directions cannot be compared"
            )
        if one.scale == "nominal" and one.count != two.count:
            raise DataError(
                f"variable {one.name!r} has {one.count} categories in the original and {two.count} in the protected "
                "file; both need the same list"
            )


def _tables(file: File, places: Indices) -> list[Table]:
    found: dict[int, Table] = {}
    rows = file.row[places]
    each_table(file.codes, file.counts, rows[:, 0], rows[:, 1], file.weights, found.__setitem__)
    return [found[k] for k in range(len(places))]


def _compare_groups(
    before: File, after: File, places: Indices, nominal: NDArray[np.bool_], change: Floats, strength: Floats
) -> None:
    """Compare the groups of all pairs of a nominal and another variable."""
    mixed = np.flatnonzero(nominal.sum(axis=1) == 1)
    group, other = places[mixed][nominal[mixed]], places[mixed][~nominal[mixed]]
    normal = np.array([before.columns[place].scale == "normal" for place in other], dtype=np.bool_)
    for chosen, measure in ((~normal, _by_ranks), (normal, _by_values)):
        if not chosen.any():
            continue
        others = np.unique(other[chosen])
        for place, one, two in measure(before, after, np.unique(group[chosen]), others):
            here = np.flatnonzero(chosen & (group == place))
            column = np.searchsorted(others, other[here])
            change[mixed[here]] = np.abs(one - two).sum(axis=0)[column]
            strength[mixed[here]] = np.abs(one).sum(axis=0)[column]


def _by_ranks(before: File, after: File, nominals: Indices, others: Indices) -> Iterator[tuple[int, Floats, Floats]]:
    for part in parts(before, nominals, len(others)):
        files = [
            {g.nominal: g.signed() / np.maximum(g.records, 1.0) ** 2 for g in rank_groups(file, part, others)}
            for file in (before, after)
        ]
        for place in part.tolist():
            yield place, files[0][place], files[1][place]


def _by_values(before: File, after: File, nominals: Indices, others: Indices) -> Iterator[tuple[int, Floats, Floats]]:
    scores = [Standardised.of([file.columns[place] for place in others]) for file in (before, after)]
    units = [np.where(s.spreads > 0, s.spreads, 1.0) for s in scores]
    with np.errstate(over="ignore"):
        ratio = units[1] / units[0] * np.ldexp(1.0, scores[1].exponents - scores[0].exponents)
    ratio = np.clip(ratio, 1 / LARGEST, LARGEST) ** 2
    for part in parts(before, nominals, 2 * len(others)):
        files = [
            {g.nominal: g.signed() for g in value_groups(file, part, others, s)}
            for file, s in zip((before, after), scores, strict=True)
        ]
        for place in part.tolist():
            yield place, files[0][place], files[1][place] * ratio
