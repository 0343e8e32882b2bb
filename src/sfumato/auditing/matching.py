"""Which record of the original each record of a protected table is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import as_array
from sfumato.auditing.targets import Rows, close
from sfumato.errors import DataError
from sfumato.kernels.groups import classes
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import aligned

MIN_AGREEMENT = 0.9  # of the records must have the same value of a variable that counts as kept
MIN_SHARE_UNIQUE = 0.5  # of the records must be told apart by the variables that were not touched
MIN_RECORDS_TO_CHECK_IDS = 50  # records below which a sample's ids are believed
MIN_SHARE_OF_A_CONSTANT = 0.95  # of the records with one value make a variable that tells nobody apart
SEEDS = 5  # variables from which the search for untouched ones starts, one after the other


@dataclass(frozen=True, eq=False)
class Matching:
    """For the rows of the protected table that could be matched (``rows``), the records of the original.

    ``how`` says by what, and ``note`` what follows from it.
    """

    rows: Rows
    records: Rows
    how: str
    note: str = ""


def match(original: Microdata, protected: Microdata, order: Sequence[int] | NDArray[Any] | None = None) -> Matching:
    """Match by the given order, by id, by position, or by the variables that were not touched; or refuse."""
    if order is not None:
        return Matching(np.arange(len(protected)), _given(order, len(original), len(protected)), "the order given")
    by_id = _by_id(original, protected)
    if by_id is not None:
        return by_id
    shared = [name for name in original.names if name in protected.columns]
    if not shared:
        raise DataError("the protected table has no variable of the original, so its records cannot be matched")
    in_place = len(original) == len(protected)
    kept = [name for name in shared if in_place and _agreement(original, protected, name) >= MIN_AGREEMENT]
    if in_place and 2 * len(kept) >= len(shared):
        return Matching(np.arange(len(protected)), np.arange(len(original)), "position")
    by_values = matched_by_values(original, protected, shared)
    if by_values is not None:
        return by_values
    if in_place and any(_beyond_chance(original, protected, name) for name in shared):
        return Matching(np.arange(len(protected)), np.arange(len(original)), "position")
    lengths = f" ({len(protected):,} records of {len(original):,})" if not in_place else ""
    raise DataError(
        f"which record of the original a protected record is about cannot be told{lengths}: the tables have no id in "
        "common, their rows do not agree, and no untouched variables tell records apart; give order=... or an id"
    )


def _given(order: Sequence[int] | NDArray[Any], records: int, rows: int) -> Rows:
    found = as_array(order)
    if found is None or found.shape != (rows,) or found.dtype.kind not in "iu":
        raise DataError(f"order must hold a record of the original for each of the {rows:,} protected records")
    if found.size and (found.min() < 0 or found.max() >= records or len(np.unique(found)) < rows):
        raise DataError(f"order must hold different whole numbers from 0 to {records - 1:,}")
    return found.astype(np.intp)


def _by_id(original: Microdata, protected: Microdata) -> Matching | None:
    name = original.schema.id
    if name is None or name not in protected.columns:
        return None
    before, after = (_texts(table, name) for table in (original, protected))
    place = {value: row for row, value in enumerate(before)}
    found = np.array([place.get(value, -1) for value in after], dtype=np.intp)
    rows = np.flatnonzero(found >= 0)
    if len(rows) < MIN_AGREEMENT * len(protected) or len(np.unique(found[rows])) < len(rows):
        return None  # new ids
    # of fewer records agreement says nothing
    told = len(original) == len(protected) or len(rows) >= MIN_RECORDS_TO_CHECK_IDS
    if told and not _plausible(original, protected, rows, found[rows]):
        return None  # numbered anew with the same numbers
    return Matching(rows, found[rows], "id")


def _plausible(original: Microdata, protected: Microdata, rows: Rows, records: Rows) -> bool:
    """Tell whether records with the same id have anything else in common."""
    before, after = original.take(records), protected.take(rows)
    others = [name for name in original.schema.analysed() if name in protected.columns]
    return not others or any(_beyond_chance(before, after, name) for name in others)


def _texts(table: Microdata, name: str) -> list[str]:
    variable, column = table.schema[name], table.columns[name]
    if variable.quantitative:
        return [f"{value:.15g}" for value in column.tolist()]
    return ["" if code < 0 else str(variable.categories[code]) for code in column.tolist()]


def under_same_codes(original: Microdata, protected: Microdata, name: str) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return both columns under the same codes, numbers as they are; None where one is numeric and one is not."""
    kinds = {table.schema[name].quantitative for table in (original, protected)}
    if kinds == {True}:
        return original.columns[name], protected.columns[name]
    if kinds == {False}:
        both = aligned(original, protected, name)
        return both.original, both.protected
    return None


def _agreement(original: Microdata, protected: Microdata, name: str) -> float:
    """Return the share of the values published, blanks aside, that stand in the row where they stood."""
    both = under_same_codes(original, protected, name)
    if both is None:
        return 0.0
    x, y = both
    shown = ~protected.missing(name)
    alike = close(x, y) if x.dtype.kind == "f" else x == y
    return float(alike[shown].mean()) if shown.any() else 0.0


def _beyond_chance(original: Microdata, protected: Microdata, name: str) -> bool:
    """Tell whether a variable goes with itself row by row, more than in any other order."""
    both = under_same_codes(original, protected, name)
    if both is None:
        return False
    x, y = both
    there = ~original.missing(name) & ~protected.missing(name)
    x, y = x[there], y[there]
    if len(x) < 2 or x.min() == x.max() or y.min() == y.max():
        return False
    if x.dtype.kind == "f":
        first, second = (np.unique(column, return_inverse=True)[1].astype(np.float64) for column in (x, y))
        return bool(np.corrcoef(first, second)[0, 1] * np.sqrt(len(x)) > 6)
    size = int(max(x.max(), y.max())) + 1
    expected = float((np.bincount(x, minlength=size) / len(x)) @ (np.bincount(y, minlength=size) / len(x)))
    return bool((np.mean(x == y) - expected) * np.sqrt(len(x)) > 6 * np.sqrt(max(expected * (1 - expected), 1e-9)))


def matched_by_values(original: Microdata, protected: Microdata, shared: list[str]) -> Matching | None:
    """Match records by the variables that hold the same values in both tables, where these tell them apart.

    A swapped variable holds the same values too, for other records. So of all that is found the combination of most
    variables is taken, and a single one only if others that it was not matched by agree record by record.
    """
    special = set(original.schema.special().values()) - {original.schema.weight}
    untouched = []
    for name in shared:
        both = None if name in special else under_same_codes(original, protected, name)
        if both is not None and _contained(*both):
            codes = np.unique(np.concatenate(both), return_inverse=True)[1]
            # what hardly varies goes with everything
            if np.bincount(codes).max() <= MIN_SHARE_OF_A_CONSTANT * len(codes):
                untouched.append(codes)
    untouched.sort(key=lambda column: -int(column.max()))  # what tells most records apart first
    tried = [
        _told_apart(untouched[seed:] + untouched[:seed], len(original)) for seed in range(min(len(untouched), SEEDS))
    ]
    found = [entry for entry in tried if entry is not None]
    for number, matching in sorted(found, key=lambda entry: -entry[0]):
        if number > 1 or _others_agree(original, protected, shared, matching):
            return matching
    return None


def _others_agree(original: Microdata, protected: Microdata, shared: list[str], matching: Matching) -> bool:
    """Tell whether records matched by one variable have the same values of another, blanks aside."""
    before, after = original.take(matching.records), protected.take(matching.rows)
    agree = [
        name
        for name in shared
        if _agreement(before, after, name) >= MIN_AGREEMENT and _beyond_chance(before, after, name)
    ]
    return len(agree) > 1  # one is the variable itself


def _told_apart(columns: list[NDArray[np.int64]], records: int) -> tuple[int, Matching] | None:
    """Match by the columns that go with the first one in both tables; a swapped one does not. Count them too."""
    class_of, number = columns[0], 1
    for column in columns[1:]:
        together = classes(np.stack([class_of, column], axis=1))[0]
        if _contained(together[:records], together[records:]):
            class_of, number = together, number + 1
    first, second = class_of[:records], class_of[records:]
    size = int(class_of.max()) + 1
    single = (np.bincount(first, minlength=size) == 1) & (np.bincount(second, minlength=size) == 1)
    rows = np.flatnonzero(single[second])
    if len(rows) < MIN_SHARE_UNIQUE * len(second):
        return None
    record = np.full(size, -1, dtype=np.intp)
    record[first] = np.arange(records)
    missed = len(second) - len(rows)
    note = (
        f"records were matched by {number} variable{'s' if number > 1 else ''} that were not touched, which tell "
        f"{len(rows) / len(second):.1%} of them apart: whoever has these variables of the original can do the same"
    )
    note += f"; {missed:,} records are left out" if missed else ""
    return number, Matching(rows, record[second[rows]], "values", note)


def _contained(x: NDArray[Any], y: NDArray[Any]) -> bool:
    """Tell whether a column holds only values that the original has, and none more often."""
    values, place = np.unique(np.concatenate([x, y]), return_inverse=True)
    before = np.bincount(place[: len(x)], minlength=len(values))
    after = np.bincount(place[len(x) :], minlength=len(values))
    return bool((after <= before).all())
