"""What a column is, told by how it behaves and not by its name: an id, a household's number, a survey weight."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import classes
from sfumato.table.microdata import Microdata

Behaves = Literal["id", "household", "weight", "labelled codes"]
Floats = NDArray[np.float64]

MIN_RECORDS = 20  # records from which on behaviour says something
LARGEST = 12  # mean number of members from which on a group is no household
BY_CHANCE = 0.7  # of pairs of records that agree in a variable: beyond it, agreeing says nothing of the group
ACCIDENT = 0.002  # chance below which a round total is no accident
LOOK = 2_000  # records that mostly suffice to see that something does not hold for all
PAIRS_AT_A_GLANCE, MIN_PAIRS = 64, 8  # pairs of records that mostly suffice to see it of most columns at once
MAX_CELLS = 20_000_000  # held side by side for that


@dataclass(frozen=True)
class Behaviour:
    """What a variable behaves like, and how it shows."""

    name: str
    behaves: Behaves
    evidence: str
    shared: tuple[str, ...] = ()  # of a household's number: what its members have in common


def behaviours(data: Microdata) -> tuple[Behaviour, ...]:
    """Return what behaves like an id, a household's number or a survey weight, and codes that are read as numbers.

    An id has another value in every record, is text or whole, and counts or rises through the file. The number of a
    household is shared by a few records, which stand together or agree in other variables in every group. A survey
    weight is positive everywhere and has a mean of 1, or a total that is round or whole in spite of its decimals, or
    one value for each category of another variable: body weight has none of these. Codes that are read as numbers have
    a label for every value (the level "scale" of SPSS says nothing against it).

    >>> import pyarrow as pa
    >>> table = pa.table({"home": [i // 2 for i in range(40)], "weight": [60.5 + i % 17 for i in range(40)]})
    >>> [(found.name, found.behaves) for found in behaviours(Microdata.from_frame(table))]
    [('home', 'household')]
    """
    if len(data) < MIN_RECORDS:
        return ()
    apart = set(data.schema.special().values())
    names = [name for name in data.names if name not in apart]
    found = [Behaviour(name, "id", said) for name in names if (said := _as_id(data, name))]
    ids = {one.name for one in found}
    others = _Columns(data, names)
    homes = [one for n in names if n not in ids and (one := _as_household(data, n, others)) is not None]
    found += homes
    taken = ids | {one.name for one in homes}
    found += [Behaviour(n, "weight", said) for n in names if n not in taken and (said := _as_weight(data, n, names))]
    found += [Behaviour(name, "labelled codes", said) for name in names if (said := _as_codes(data, name))]
    order = {name: place for place, name in enumerate(data.names)}
    return tuple(sorted(found, key=lambda one: order[one.name]))


def _as_id(data: Microdata, name: str) -> str:
    column = data.columns[name]
    if data.missing(name).any() or len(np.unique(column)) < len(column):
        return ""
    if not data.schema[name].quantitative:
        return "another text in every record" if data.schema[name].kind == "nominal" else ""
    if not _whole(column) or data.schema[name].kind == "date":
        return ""
    if column.max() - column.min() + 1 == len(column):
        return "counts the records without a gap"
    rising = np.diff(column) > 0
    return "rises from record to record" if rising.all() or not rising.any() else ""


class _Columns:
    """The columns that may be constant in a group: the first records side by side, so that most go at a glance.

    A table of thousands of columns has millions of pairs of them, each of which would take a look of its own.
    """

    def __init__(self, data: Microdata, names: Iterable[str]) -> None:
        self.data = data
        self.names = [name for name in names if not self._agrees_by_chance(data.columns[name])]
        self.records = min(len(data), max(MAX_CELLS // max(len(self.names), 1), 1))
        self.first = np.column_stack(
            [data.columns[name][: self.records].astype(np.float64) for name in self.names] or [np.empty((0, 0))]
        )

    @staticmethod
    def _agrees_by_chance(column: NDArray[Any]) -> bool:
        shares = np.unique(column, return_counts=True)[1] / len(column)
        return float((shares**2).sum()) > BY_CHANCE

    def constant_within(self, name: str, group: NDArray[np.int64], rows: NDArray[np.intp]) -> list[str]:
        """Name the others in which records of one group always agree, though records agree seldom by chance."""
        order = rows[np.argsort(group[rows], kind="stable")]
        order = order[order < self.records]
        glance = min(PAIRS_AT_A_GLANCE, max(MIN_PAIRS, MAX_CELLS // (len(self.names) + 1) ** 2 * PAIRS_AT_A_GLANCE))
        pairs = np.flatnonzero(np.diff(group[order]) == 0)[:glance]
        differ = (self.first[order[pairs]] != self.first[order[pairs + 1]]).any(axis=0)
        left = (self.names[place] for place in np.flatnonzero(~differ))
        return [other for other in left if other != name and _constant_within(self.data, other, group, rows)]


def _as_household(data: Microdata, name: str, others: _Columns) -> Behaviour | None:
    column, present = data.columns[name], ~data.missing(name)
    if data.schema[name].kind in ("ordinal", "date"):
        return None
    if data.schema[name].kind == "numeric" and not _whole(column[present]):
        return None
    distinct = len(np.unique(column[present]))
    records = int(present.sum())
    if not records or not records / LARGEST < distinct < 0.95 * records:
        return None
    group, sizes = classes(np.where(present, np.unique(column, return_inverse=True)[1], -1)[:, None])
    several = np.flatnonzero(present & (sizes[group] > 1))
    number = len(np.unique(group[several]))
    runs = 1 + int(np.count_nonzero(column[1:] != column[:-1]))
    shared = others.constant_within(name, group, several)
    members = f"{number:,} groups of {several.size / max(number, 1):.1f} records"
    if runs == distinct:
        also = f"; constant in each: {', '.join(shared[:3])}" if shared else ""
        return Behaviour(name, "household", f"{members} that stand together{also}", tuple(shared))
    told = [other for other in shared if not _in_bands(data.columns[other][several], column[several])]
    said = f"{members}; constant in each: {', '.join(told[:3])}"
    return Behaviour(name, "household", said, tuple(shared)) if len(told) > 1 else None


def _in_bands(values: NDArray[Any], number: NDArray[Any]) -> bool:
    """Tell whether a variable goes with a number, as age does with the year of birth, or is classes of it in order."""
    ordered = values[np.argsort(number, kind="stable")]
    if values.dtype.kind == "f":
        steps = np.diff(ordered)
        return bool((steps >= 0).all() or (steps <= 0).all())
    classes_of_it = len(np.unique(ordered))
    one_run_each = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1])) == classes_of_it
    return one_run_each and classes_of_it <= len(np.unique(number)) / 2


def _constant_within(data: Microdata, name: str, group: NDArray[np.int64], rows: NDArray[np.intp]) -> bool:
    """Tell whether records of one group always agree in a variable."""
    column = data.columns[name]
    if data.missing(name)[rows].any() or _differ(column[rows[:LOOK]], group[rows[:LOOK]]):
        return False
    codes = np.unique(column, return_inverse=True)[1]
    first = np.full(int(group.max()) + 1, -1, dtype=np.int64)
    first[group[rows[::-1]]] = codes[rows[::-1]]
    return bool((codes[rows] == first[group[rows]]).all())


def _differ(values: NDArray[Any], group: NDArray[np.int64]) -> bool:
    """Tell whether two records of one group have different values."""
    order = np.argsort(group, kind="stable")
    return bool(((np.diff(group[order]) == 0) & (values[order][1:] != values[order][:-1])).any())


def _as_weight(data: Microdata, name: str, names: Iterable[str]) -> str:
    column = data.columns[name]
    if data.schema[name].kind != "numeric" or data.missing(name).any() or column.min() <= 0 or np.ptp(column) == 0:
        return ""
    if _whole(column):
        return ""  # a count, an age, an amount; what weighs by whole numbers cannot be told from these
    decimals, total = _decimals(column), float(column.sum())
    # what rounding each value does to the total: five standard deviations of a sum of rounding errors
    slack = 5 * np.sqrt(len(column) / 12) * 10.0**-decimals
    if abs(total / len(column) - 1) <= max(slack / len(column), 1e-6):
        return "positive, with a mean of 1"
    if total > 2 * len(column):
        round_to = 10.0 ** (np.floor(np.log10(total)) - 2)
        for unit, said in ((round_to, "round"), (1.0, "whole")):
            nearest = round(total / unit) * unit
            if 2 * slack < ACCIDENT * unit and abs(total - nearest) <= slack:
                return f"positive, and its total is a {said} number ({nearest:,.0f}), as of a population"
    if total > 2 * len(column) and column.min() >= 1:
        for other in names:
            if other != name and not data.schema[other].quantitative and _function_of(data, name, other):
                return f"positive, with one value for each category of {other}"
    return ""


def _function_of(data: Microdata, name: str, other: str) -> bool:
    """Tell whether a number has one value for each category of another variable, several records each."""
    codes = data.columns[other]
    if (codes < 0).any() or _differ(data.columns[name][:LOOK], codes[:LOOK].astype(np.int64)):
        return False
    pairs, each = (len(classes(c)[1]) for c in (_pair(codes, data.columns[name]), codes[:, None]))
    return pairs == each and 2 < each < len(codes) / 5


def _pair(codes: NDArray[Any], values: Floats) -> NDArray[np.int64]:
    return np.column_stack([codes, np.unique(values, return_inverse=True)[1]])


def _as_codes(data: Microdata, name: str) -> str:
    variable, column = data.schema[name], data.columns[name]
    labelled = [value for value, _ in variable.labels if isinstance(value, int | float)]
    if variable.kind != "numeric" or not labelled:
        return ""
    values = np.unique(column[~np.isnan(column)])
    return f"every one of its {len(values)} values has a label" if np.isin(values, labelled).all() else ""


def _whole(column: Floats) -> bool:
    return bool(column.dtype.kind != "f" or np.array_equal(column, np.round(column)))


def _decimals(column: Floats) -> int:
    """Return how many decimals the values have, at most nine."""
    return next((d for d in range(9) if np.allclose(column, np.round(column, d), rtol=0, atol=1e-10)), 9)
