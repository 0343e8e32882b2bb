"""The resolution of a variable: how many decimals its numbers have, or which unit of time its dates are given in.

A masked variable is published at the resolution of the original. A mean of 23412.38271645 in a column of whole numbers
looks wrong, and it tells that the whole numbers beside it were not changed; an exact mean also tells how many values it
is of.

The resolution is the coarsest that holds every value of the original. Every value that was not changed therefore stays
as it is, equal values stay equal, order is kept, and no value leaves the range of the original because of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.table import dates
from sfumato.table.columns import EXACT
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable

Floats = NDArray[np.float64]

MAX_DECIMALS = 6  # numbers with more of them were computed, and are not rounded
TIMES = (
    ("days", dates.DAY),
    ("hours", dates.DAY // 24),
    ("minutes", dates.DAY // 1_440),
    ("seconds", dates.DAY // 86_400),
    ("milliseconds", dates.DAY // 86_400_000),
)
SINGLE = 20  # and so many decimals: of numbers that came in single precision, such as Stata's float, 0.1 as 0.100000001
FINER = 99  # than any of them: values stay as they are
PROBE = 1_000  # records that tell most columns of computed numbers
_KNOWN: "WeakKeyDictionary[Microdata, dict[str, Resolution]]" = (
    WeakKeyDictionary()
)  # of tables that are masked many times


def resolution(values: Floats, *, date: bool = False, least: int = 0) -> int:
    """Return the decimals that hold all values, or the place of the unit in ``TIMES``; ``FINER`` where none does.

    From ``SINGLE`` on ``least`` asks for those that hold all values in single precision.

    >>> resolution(np.array([1.0, 2.25, np.nan])), resolution(np.array([1 / 3])), resolution(np.array([0.5]), date=True)
    (2, 99, 1)
    >>> resolution(np.array([2.25, np.float32(0.1)])), resolution(np.array([2.25, np.float32(0.1)]), least=SINGLE)
    (99, 22)
    """
    left = values[~np.isnan(values)]
    if len(left) > PROBE:
        least = resolution(left[:PROBE], date=date, least=least)
    last = len(TIMES) if date else MAX_DECIMALS + 1 + (SINGLE if least >= SINGLE else 0)
    for level in range(least, last):
        left = left[rounded(left, level, date=date) != left]
        if not left.size:
            return level
    return FINER


@dataclass(frozen=True)
class Resolution:
    """What holds every value of a variable, and what does in single precision: of all parts the finest of any."""

    double: int
    single: int

    @classmethod
    def of(cls, data: Microdata, name: str) -> "Resolution":
        """Find it in one table, or in one part of it."""
        column, date = data.columns[name], data.schema[name].kind == "date"
        return cls(resolution(column, date=date), FINER if date else resolution(column, least=SINGLE))

    def merge(self, other: "Resolution") -> "Resolution":
        """Take the finer of both."""
        return Resolution(max(self.double, other.double), max(self.single, other.single))

    def level_for(self, variable: Variable) -> int:
        """Return what a masked variable is rounded to: no coarser than the base of its own that it was rounded to.

        Where the original has more decimals than any resolution, the base tells how many are wanted.

        >>> from sfumato.table.treatment import Treatment
        >>> rate, cents = Variable("rate", treatment=Treatment(base=0.05, perturbed=True)), Resolution(2, FINER)
        >>> [Resolution(level, FINER).level_for(rate) for level in (0, 3, FINER)], cents.level_for(Variable("pay"))
        ([2, 3, 2], 2)
        """
        level = self.double if self.double != FINER else self.single
        base = variable.treatment.base
        if base is None:
            return level
        start = SINGLE if SINGLE <= level < FINER else 0
        least = resolution(np.array([base]), date=variable.kind == "date", least=0 if level == FINER else level - start)
        return FINER if least == FINER else start + least


def rounded(values: Floats, level: int, *, date: bool = False) -> Floats:
    """Return values at a resolution; NaN stays, and so does what is too large to have so many decimals.

    >>> rounded(np.array([2.346, np.nan, -0.001]), 2), rounded(np.array([10.4]), 0, date=True)
    (array([2.35,  nan, 0.  ]), array([10.]))
    """
    if level == FINER:
        return values
    if level >= SINGLE:
        with np.errstate(over="ignore"):
            found = rounded(values, level - SINGLE).astype(np.float32).astype(np.float64)
        return np.where(np.isinf(found), values, found)
    with np.errstate(over="ignore", invalid="ignore"):
        if not date or level == 0:
            found = np.round(values, 0 if date else level) + 0.0  # which turns -0 into 0
            return np.where(np.abs(values) < EXACT / 10.0**level, found, values)
        inside = np.abs(values) < dates.YEARS[1]
        unit = TIMES[level][1]
        ticks = dates.in_micros(np.where(inside, values, 0.0))
        whole, rest = np.divmod((ticks + unit // 2) // unit * unit, dates.DAY)
        return np.where(inside, whole + rest / dates.DAY, values)


def masked_quantities(before: Schema, after: Schema) -> tuple[str, ...]:
    """Name the numbers and dates whose values were changed, as the treatment tells; not the weight, household and id.

    A recoded variable is no number any more, and numbers rounded to a base keep it.
    """
    apart = set(before.special().values())
    return tuple(
        v.name
        for v in after
        if v.quantitative
        and v.name in before
        and v.name not in apart
        and before[v.name].kind == v.kind
        and (v.treatment.perturbed or v.treatment.bottom is not None or v.treatment.top is not None)
    )


def published(column: Floats, variable: Variable, level: int) -> Floats:
    """Return a masked column at the resolution of its original.

    Of a variable whose ends alone were coded only what lies beyond a limit is rounded, such as the mean of these
    values: the limit itself was stated.

    >>> from sfumato.table.treatment import Treatment
    >>> pay = Variable("pay", treatment=Treatment(top=49.5))
    >>> published(np.array([12.0, 49.5, 61.3]), pay, 0).tolist()
    [12.0, 49.5, 61.0]
    """
    done, date = variable.treatment, variable.kind == "date"
    found = rounded(column, level, date=date)
    if done.perturbed:
        return found
    low, high = (-np.inf if done.bottom is None else done.bottom), (np.inf if done.top is None else done.top)
    with np.errstate(invalid="ignore"):
        return np.where((column < low) | (column > high), found, column)


def at_resolution_of(original: Microdata, protected: Microdata) -> Microdata:
    """Return the protected table with masked numbers and dates at the resolution of the original, and say so.

    >>> import pyarrow as pa
    >>> table = Microdata.from_frame(pa.table({"pay": [10, 20, 30]}))
    >>> made = at_resolution_of(table, table.replace({"pay": np.array([14.6, 14.6, 30.0])}))
    >>> made.columns["pay"].tolist(), made.notes
    ([15.0, 15.0, 30.0], ('rounded to the decimals of the original: pay to whole numbers',))
    """
    names = masked_quantities(original.schema, protected.schema)
    known = _KNOWN.setdefault(original, {})
    changed: dict[str, tuple[Variable, Floats]] = {}
    told: dict[str, int] = {}
    for name in names:
        variable, column = protected.schema[name], protected.columns[name]
        if column is original.columns[name]:
            continue
        if name not in known:
            known[name] = Resolution.of(original, name)
        level = known[name].level_for(variable)
        found = published(column, variable, level)
        if level == FINER or not np.array_equal(found, column, equal_nan=True):
            told[name] = level
            changed[name] = variable, found
    note = in_words(protected.schema, told)
    return protected.recast(changed, note) if note else protected


def in_words(schema: Schema, levels: Mapping[str, int]) -> str:
    """Say which variables are rounded to what, and which are not; nothing where there are none to be rounded.

    >>> in_words(Schema((Variable("a"), Variable("b"), Variable("c"))), {"a": 0, "b": 2, "c": FINER})
    'rounded to the decimals of the original: a to whole numbers; b to 2 decimals; c not, it has more than 6 decimals'
    """
    by_words: dict[str, list[str]] = {}
    for name, level in levels.items():
        by_words.setdefault(_words(level, date=schema[name].kind == "date"), []).append(name)
    if not levels or all(level == FINER for level in levels.values()):
        return ""
    said = "; ".join(f"{', '.join(names)} {words}" for words, names in sorted(by_words.items(), key=_is_left))
    return f"rounded to the decimals of the original: {said}"


def _is_left(entry: tuple[str, Iterable[str]]) -> bool:
    return entry[0].startswith("not")


def _words(level: int, *, date: bool) -> str:
    if level == FINER:
        return "not, it is finer than milliseconds" if date else f"not, it has more than {MAX_DECIMALS} decimals"
    if date:
        return f"to whole {TIMES[level][0]}"
    decimals = level % SINGLE
    return "to whole numbers" if decimals == 0 else f"to {decimals} decimal{'s' if decimals > 1 else ''}"
