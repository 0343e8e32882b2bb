"""How a column became another: what the schema says was done, or what the two columns themselves show.

Protection often puts values together: categories are merged, numbers put into classes, rounded, cut off at the top or
the bottom. What that costs, and whether anything else was changed, can only be told once both columns stand on the same
footing. ``recoding`` finds that footing, in this order:

1. the treatment stated in the protected variable's schema; if it was local, the class of each record;
2. where record i is record i, the records: each value went to one class;
3. the categories alone, where only one reading is possible: none is new (nothing was recoded), or all that are gone
   became the one that is new;
4. the distribution: a pile of equal values at an end of a numeric variable, as large as what the original has there.

Where none of these tells, it says so, and nothing is guessed.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.stretches import code_counts, same_values, stretches
from sfumato.table import bands
from sfumato.table.dates import spelled
from sfumato.table.merging import in_classes
from sfumato.table.microdata import Codes, Floats, Microdata
from sfumato.table.schema import Category, Kind, a_kind, is_quantitative

# One variable in two tables, under codes that mean the same category in both.


@dataclass(frozen=True, eq=False)
class Aligned:
    """A categorical variable of both tables; ``known`` of the categories are the original's, the others are new."""

    original: Codes
    protected: Codes
    categories: tuple[object, ...]
    known: int

    @property
    def new(self) -> tuple[object, ...]:
        """The categories that occur in the protected table and are none of the original's."""
        return self.categories[self.known :]


def aligned(original: Microdata, protected: Microdata, name: str) -> Aligned:
    """Give the protected table's categories the codes of the original's; new ones follow, missing stays -1."""
    listed, theirs = (table.schema[name].categories for table in (original, protected))
    place: dict[object, int] = {category: code for code, category in enumerate(listed)}
    column = protected.columns[name]
    for code in np.flatnonzero(code_counts(column, len(theirs))):
        place.setdefault(theirs[code], len(place))
    recode = np.array([*(place.get(category, -1) for category in theirs), -1], dtype=np.int32)
    same = np.array_equal(recode[:-1], np.arange(len(theirs)))
    return Aligned(original.columns[name], column if same else recode[column], tuple(place), len(listed))


# Which class each value of a column went to, read off records that are the same in both tables.


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes numbers were put into: their order, the class of each record by its number, and how many agree."""

    order: NDArray[np.intp]
    codes: Codes
    agreement: float


def function_of_categories(x: Codes, y: Codes, before: int, after: int) -> tuple[NDArray[np.int64], float]:
    """Return the class most records of each category went to (-1 where none is left), and the share that did.

    >>> function_of_categories(np.array([0, 0, 1, 2, -1]), np.array([1, 1, 0, 0, 0]), 3, 2)
    (array([1, 0, 0]), 1.0)
    """
    both = (x >= 0) & (y >= 0)
    place = x[both].astype(np.int64) * after + y[both]
    if before * after <= len(x):
        whole = np.bincount(place, minlength=before * after)
        cells = np.flatnonzero(whole)
        counts = whole[cells]
    else:  # a table with more cells than records is sorted, not laid out
        cells, counts = np.unique(place, return_counts=True)
    target = np.full(before, -1, dtype=np.int64)
    if not cells.size:
        return target, 0.0
    rising = np.argsort(counts, kind="stable")  # the last one written for a category is its largest cell
    target[cells[rising] // after] = cells[rising] % after
    agree = target[cells // after] == cells % after
    return target, float(counts[agree].sum() / counts.sum())


def _in_order(x: Codes, classes: Codes, number: int) -> NDArray[np.intp] | None:
    """Return the order of the classes where each holds neighbouring values of ``x`` only, or None.

    Classes that nothing falls into come last.
    """
    both = (x >= 0) & (classes >= 0)
    low = np.full(number, np.iinfo(np.int32).max, dtype=np.int64)
    high = np.full(number, -1, dtype=np.int64)
    np.minimum.at(low, classes[both], x[both])
    np.maximum.at(high, classes[both], x[both])
    order = np.argsort(low, kind="stable")
    used = order[high[order] >= 0]
    apart = bool((high[used][:-1] < low[used][1:]).all())
    return order if apart else None


def classes_of_numbers(x: Floats, y: Codes, number: int) -> Classes | None:
    """Find the limits between the classes that numbers were put into; None where they are no classes of the numbers.

    Classes stand in the order of their medians; the limit between two neighbours is the value that puts the fewest of
    their records on the wrong side. A class holds its lower limit.
    """
    both = ~np.isnan(x) & (y >= 0)
    if not both.any():
        return None
    values, classes = x[both], y[both]
    sequence = np.lexsort((values, classes))
    values, classes = values[sequence], classes[sequence]
    used, starts = np.unique(classes, return_index=True)
    parts = np.split(values, starts[1:])
    by_median = np.argsort([part[len(part) // 2] for part in parts], kind="stable")
    limits = np.array([_limit(parts[i], parts[j]) for i, j in pairwise(by_median)])
    if (np.diff(limits) <= 0).any():
        return None
    unused = np.setdiff1d(np.arange(number), used)
    order = np.concatenate([used[by_median], unused]).astype(np.intp)
    inside = np.searchsorted(limits, x, side="right")
    codes = np.where(np.isnan(x), -1, order[inside]).astype(np.int32)
    return Classes(order, codes, float(np.mean(codes[both] == y[both])))


def _with_ends(
    x: Floats, codes: Codes, y: Codes, labels: tuple[Any, ...], ends: tuple[float, float] | None
) -> tuple[Codes, Codes, tuple[Any, ...]]:
    """Give the numbers beyond ordered classes, whose own were taken off the list, classes of their own at the ends.

    Return the codes of the original and of the protected records, and what they stand for.

    >>> x, codes = np.array([12.0, 25.0, 117.0]), np.array([0, 1, 1], dtype=np.int32)
    >>> _with_ends(x, codes, np.array([0, 1, -1], dtype=np.int32), ("10-19", "20-29"), (10.0, 30.0))
    (array([0, 1, 2], dtype=int32), array([ 0,  1, -1], dtype=int32), ('10-19', '20-29', 'above'))
    """
    if ends is None:
        return codes, y, labels
    under, over = x < ends[0], x >= ends[1]
    below = np.int32(under.any())
    original = np.where(codes < 0, codes, codes + below)
    original[under], original[over] = 0, len(labels) + below
    protected = np.where(y < 0, y, y + below)
    return original, protected, (*(("below",) if below else ()), *labels, *(("above",) if over.any() else ()))


def _limit(lower: Floats, upper: Floats) -> float:
    """Return the value at which splitting two sorted classes errs least: the least of the upper one where they part."""
    if lower[-1] < upper[0]:
        return float(upper[0])
    tried = np.unique(np.concatenate([lower, upper]))
    wrong = len(lower) - np.searchsorted(lower, tried, side="left") + np.searchsorted(upper, tried, side="left")
    return float(tried[np.argmin(wrong)])


# Numbers cut off at the top or the bottom, or rounded, as two columns show it.

MIN_PILE = 0.005  # of the records: smaller piles at an end are ordinary ties
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
    return present > 0 and max(at_least, at_greatest) >= MIN_PILE * present


def _cut(was: Floats, now: Floats) -> tuple[float, float] | None:
    """Return the greatest protected value below the pile at the top, and the pile's value; None without a pile."""
    if np.count_nonzero(now == now.max()) < MIN_PILE * len(now):
        return None
    values, counts = np.unique(now, return_counts=True)
    if len(values) < 3:
        return None
    below, top, pile = float(values[-2]), float(values[-1]), int(counts[-1])
    share, beyond = pile / len(now), was > below
    expected = float(beyond.mean())
    if share < MIN_PILE or pile < HEIGHT * float(np.median(counts[:-1])) or not beyond.any():
        return None
    error = np.sqrt(max(expected * (1 - expected), 1e-12) * (1 / len(was) + 1 / len(now)))
    several = float(was[beyond].min()) < float(was.max()) and float(was.max()) != top
    held = float(np.mean(was == top))
    return (below, top) if several and abs(share - expected) <= LIKELY * error and held < share / 2 else None


# The footing of two columns.

Source = Literal["none", "stated", "records", "categories", "distribution"]
AGREEMENT = 0.9  # of the records must have gone where their value goes, for what else was done to them may hide it


@dataclass(frozen=True, eq=False)
class Recoding:
    """A variable of both tables on the same footing: the original's values put together as the protected's are.

    ``original`` and ``protected`` hold numbers with NaN or codes with -1 that mean the same in both; ``categories`` are
    those of the codes, in their order. ``source`` says where the recoding was found, and is "none" where no values were
    put together. Where it cannot be told which value became which, ``comparable`` is False, ``note`` says why, and
    both columns are as they came.
    """

    kind: Kind
    original: NDArray[Any]
    protected: NDArray[Any]
    categories: tuple[Category, ...] = ()
    source: Source = "none"
    comparable: bool = True
    note: str = ""

    @property
    def quantitative(self) -> bool:
        """Whether the columns hold numbers or dates, with NaN, and not codes."""
        return is_quantitative(self.kind)

    @property
    def recoded(self) -> bool:
        """Whether values were put together."""
        return self.source != "none"


class _Columns:
    """One variable in both tables."""

    def __init__(self, original: Microdata, protected: Microdata, name: str, *, matched: bool) -> None:
        self.original, self.protected, self.name, self.matched = original, protected, name, matched
        self.before, self.after = original.schema[name], protected.schema[name]
        self.x, self.y = original.columns[name], protected.columns[name]

    def untold(self, reason: str) -> Recoding:
        """Say that the columns cannot be put on the same footing."""
        return Recoding(self.after.kind, self.x, self.y, self.after.categories, comparable=False, note=reason)


def recoding(original: Microdata, protected: Microdata, name: str, *, matched: bool) -> Recoding:
    """Find how a variable of the original became its namesake; ``matched``: record i is about the same unit in both.

    >>> import pyarrow as pa
    >>> before = Microdata.from_frame(pa.table({"town": ["Aix", "Bonn", "Cork", "Aix"]}))
    >>> after = Microdata.from_frame(pa.table({"town": ["south", "north", "north", "south"]}))
    >>> found = recoding(before, after, "town", matched=True)
    >>> found.source, found.categories, found.original.tolist()
    ('records', ('north', 'south'), [1, 0, 0, 1])
    """
    columns = _Columns(original, protected, name, matched=matched and len(original) == len(protected))
    if columns.after.treatment.local:
        return _locally(columns)
    numeric = [variable.quantitative for variable in (columns.before, columns.after)]
    if all(numeric):
        if columns.before.kind != columns.after.kind:
            kinds = f"{a_kind(columns.before.kind)} in the original and {a_kind(columns.after.kind)}"
            return columns.untold(f"{kinds} in the protected table; state its kind in a schema")
        return _numbers(columns)
    if numeric[0]:
        return _classes(columns)
    return _figures(columns) if numeric[1] else _categories(columns)


def _locally(columns: _Columns) -> Recoding:
    """Give each record of the original the class that it was published in; one that lost its value its own."""
    if not columns.matched:
        return columns.untold("its values were put together in some records more than in others, and none match")
    before, labels = columns.before, columns.after.categories
    place = {str(label): code for code, label in enumerate(labels)}
    original = columns.y.astype(np.int32)
    lost = np.flatnonzero((original < 0) & ~columns.original.missing(columns.name))
    values, which = np.unique(columns.x[lost], return_inverse=True)
    write: Any = {"date": spelled, "numeric": bands.shown}.get(before.kind, lambda code: str(before.categories[code]))
    own = [place.setdefault(write(value), len(place)) for value in values.tolist()]
    original[lost] = np.array(own, dtype=np.int32)[which]
    return Recoding("nominal", original, columns.y, (*labels, *list(place)[len(labels) :]), "records")


# categories to categories


def _categories(columns: _Columns) -> Recoding:
    before, treatment = columns.before, columns.after.treatment
    if treatment.groups:
        stated = dict(treatment.groups)
        return _merged(columns, [stated.get(category, category) for category in before.categories], "stated")
    both = aligned(columns.original, columns.protected, columns.name)
    same = Recoding(before.kind, both.original, both.protected, both.categories)
    if both.new:
        same = _with_new(columns, both)
    if treatment or same_values(both.original, both.protected):
        return same
    by_records = _merged_by_records(columns, same, new=bool(both.new)) if columns.matched else None
    if by_records is not None:
        return by_records
    if not both.new:
        return same
    occurs = set(np.unique(columns.x[columns.x >= 0]).tolist())
    kept = set(np.unique(both.protected[both.protected >= 0]).tolist())
    gone = [code for code in sorted(occurs - kept) if code < both.known]
    apart = before.kind == "ordinal" and any(gone[0] < code < gone[-1] for code in occurs & kept if gone)
    if len(both.new) == 1 and len(gone) > 1 and not apart:
        merged = set(gone)
        target = [both.new[0] if code in merged else category for code, category in enumerate(before.categories)]
        return _merged(columns, target, "categories")
    if not occurs & kept:
        return columns.untold(
            "no category of the original occurs in the protected table, and which became which cannot be told: state "
            "the groups in the protected schema"
        )
    return same


def _with_new(columns: _Columns, both: Aligned) -> Recoding:
    """Compare categories as they stand, new ones too: in the order of both tables where both have one."""
    before, after, note = columns.before, columns.after, _strangers(both.new)
    order = None
    if before.kind == after.kind == "ordinal":
        order = _interleaved(both.categories, both.known, after.categories)
        note += "" if order is not None else "; the two tables order the others differently, so they have no order"
    if order is None:
        return Recoding("nominal", both.original, both.protected, both.categories, note=note)
    original, protected, labels = _sorted(order, both.original, both.protected, both.categories)
    return Recoding("ordinal", original, protected, labels, note=note)


def _interleaved(categories: tuple[Category, ...], known: int, theirs: tuple[Category, ...]) -> NDArray[np.intp] | None:
    """Order categories, of which the first ``known`` stand in order, with new ones where their table has them.

    None where the other table has the known ones in another order.
    """
    place = {category: code for code, category in enumerate(categories)}
    order: list[int] = []
    done = 0
    for category in theirs:
        code = place.get(category)
        if code is None:
            continue
        if code >= known:
            order.append(code)
        elif code < done:
            return None
        else:
            order += range(done, code + 1)
            done = code + 1
    return np.array([*order, *range(done, known)], dtype=np.intp)


def _strangers(new: tuple[Category, ...]) -> str:
    if not new:
        return ""
    shown = ", ".join(map(repr, new[:3])) + (f" and {len(new) - 3:,} more" if len(new) > 3 else "")
    return f"the original has no category {shown}; compared as they stand"


def _merged_by_records(columns: _Columns, as_they_stand: Recoding, *, new: bool) -> Recoding | None:
    """Read the groups off the records: exactly where labels are kept, nearly where there are new ones."""
    before, after = columns.before.categories, columns.after.categories
    target, agreement = function_of_categories(columns.x, columns.y, len(before), len(after))
    gone_to = [after[code] if code >= 0 else category for code, category in zip(target, before, strict=True)]
    reached = {after[code] for code in target[target >= 0]}
    used = {after[code] for code in np.unique(columns.y[columns.y >= 0])}
    if reached != used or agreement < (AGREEMENT if new else 1.0):
        return None
    # b merged into a: a itself must have stayed a. Else labels that the original has, and that mean what they say, were
    # given to other records: exchanged, or passed on from a to b, b to c, c to a new one
    place = dict(zip(before, gone_to, strict=True))
    moved = any(label != category for category, label in place.items())
    if not moved or any(place.get(label, label) != label for label in reached):
        return as_they_stand
    return _merged(columns, gone_to, "records")


def _merged(columns: _Columns, target: list[Category], source: Source) -> Recoding:
    """Give the original's records the categories theirs were merged into."""
    before, after = columns.before, columns.after
    place: dict[Category, int] = {category: code for code, category in enumerate(after.categories)}
    for label in target:
        place.setdefault(label, len(place))
    lookup = np.array([*(place[label] for label in target), -1], dtype=np.int32)
    original, protected, labels = lookup[columns.x], columns.y, tuple(place)
    kind: Kind = "nominal" if before.kind == "nominal" else after.kind
    if before.kind == "ordinal" and after.kind == "nominal":
        order = _in_order(columns.x, original, len(labels))
        if order is not None:
            original, protected, labels = _sorted(order, original, protected, labels)
            kind = "ordinal"
    return Recoding(kind, original, protected, labels, source)


def _sorted(
    order: NDArray[np.intp], original: Codes, protected: Codes, labels: tuple[Category, ...]
) -> tuple[Codes, Codes, tuple[Category, ...]]:
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(len(order), dtype=np.int32), -1
    return rank[original], rank[protected], tuple(labels[code] for code in order)


# numbers to categories, and back


def _classes(columns: _Columns) -> Recoding:
    after, treatment = columns.after, columns.after.treatment
    labels = after.categories
    cut = len(treatment.cuts) + 1 == len(labels) and not treatment.groups
    if treatment.cuts and ((cut and after.kind == "ordinal") or len(labels) == 1):
        codes = in_classes(columns.x, treatment.cuts if cut else ())
        ends = treatment.ends if treatment.suppressed else None
        return Recoding("ordinal", *_with_ends(columns.x, codes, columns.y, labels, ends), "stated")
    if treatment.groups and not treatment.cuts:
        by_value = _by_value(dict(treatment.groups), columns.x, labels)
        if by_value is not None:
            return Recoding(after.kind, by_value, columns.y, labels, "stated")
    figures = _figures_of(labels)
    if figures is not None and not treatment.recoded and columns.before.kind == "numeric":
        values = np.append(figures, np.nan)[columns.y]
        if _same_values(columns.x, values, matched=columns.matched):
            said = f"numeric in the original and {after.kind} in the protected table, with the same values: "
            return Recoding("numeric", columns.x, values, note=said + "compared as numbers; state its kind in a schema")
    if columns.matched:
        found = classes_of_numbers(columns.x, columns.y, len(labels))
        if found is not None and found.agreement >= AGREEMENT:
            original, protected, ordered = _sorted(found.order, found.codes, columns.y, labels)
            said = "" if after.kind == "ordinal" else "its classes follow one another, so they are compared as ordinal"
            return Recoding("ordinal", original, protected, ordered, "records", note=said)
    return columns.untold(
        f"{a_kind(columns.before.kind)} in the original and {after.kind} in the protected table, and which values "
        "became which class cannot be told: state the cuts in the protected schema"
    )


def _by_value(groups: dict[object, object], x: Floats, labels: tuple[Category, ...]) -> Codes | None:
    """Give numbers the category each was put into by itself; None where the groups are not of all these numbers."""
    values, inverse = np.unique(x[~np.isnan(x)], return_inverse=True)
    place = {label: code for code, label in enumerate(labels)}
    found = [place.get(groups.get(value)) for value in values.tolist()]
    if any(code is None for code in found):
        return None
    codes = np.full(len(x), -1, dtype=np.int32)
    codes[~np.isnan(x)] = np.array(found, dtype=np.int32)[inverse]
    return codes


def _same_values(x: Floats, values: Floats, *, matched: bool) -> bool:
    """Tell whether categories that are figures are the numbers themselves, in a schema that contradicts the other."""
    present = ~np.isnan(values)
    if matched:
        both = present & ~np.isnan(x)
        return bool(both.any()) and float(np.mean(x[both] == values[both])) >= AGREEMENT
    return bool(present.any()) and bool(np.isin(np.unique(values[present]), x).all())


def _figures(columns: _Columns) -> Recoding:
    before, y = columns.before, columns.y
    figures, present = _figures_of(before.categories), ~np.isnan(y)
    if columns.after.kind == "numeric" and figures is not None and np.isin(np.unique(y[present]), figures).all():
        order = np.argsort(figures, kind="stable")
        codes = np.full(len(y), -1, dtype=np.int32)
        codes[present] = order[np.searchsorted(figures[order], y[present])]
        said = f"{before.kind} in the original and numeric in the protected table, with the same values: "
        return Recoding(
            before.kind,
            columns.x,
            codes,
            before.categories,
            note=f"{said}compared as {before.kind}; state its kind in a schema",
        )
    return columns.untold(
        f"{before.kind} in the original and {a_kind(columns.after.kind)} in the protected table, with values that are "
        "none of its categories"
    )


def _figures_of(categories: tuple[Category, ...]) -> Floats | None:
    """Return categories that are all figures, written as numbers or as text, as numbers."""
    if not categories or any(isinstance(c, bool) or not isinstance(c, int | float | str) for c in categories):
        return None
    try:
        found = np.array([float(c) for c in categories])  # type: ignore[arg-type]
    except ValueError:
        return None
    return found if np.isfinite(found).all() and len(np.unique(found)) == len(found) else None


# numbers to numbers


def _numbers(columns: _Columns) -> Recoding:
    x, y, treatment = columns.x, columns.y, columns.after.treatment
    kind = columns.after.kind
    same = Recoding(kind, x, y)
    if treatment.recoded:
        return _stated_numbers(columns)
    if treatment or same_values(x, y):
        return same
    if columns.matched:
        cut = capped_records(x, y)
        if cut is not None:
            return Recoding(kind, cut, y, source="records")
        base = rounding_base(x, y) if kind == "numeric" else None
        if base is not None:
            return Recoding("numeric", _rounded_as(x, y, base), _rounded(y, base), source="records")
    cut = piled(x, y)
    return same if cut is None else Recoding(kind, cut, y, source="distribution")


def _stated_numbers(columns: _Columns) -> Recoding:
    x, y, treatment = columns.x, columns.y, columns.after.treatment
    if treatment.cuts:
        cuts = treatment.cuts
        return Recoding("ordinal", in_classes(x, cuts), in_classes(y, cuts), tuple(range(len(cuts) + 1)), "stated")
    if treatment.base is not None:
        as_theirs = columns.matched and not treatment.perturbed
        x = _rounded_as(x, y, treatment.base) if as_theirs else _rounded(x, treatment.base)
        y = _rounded(y, treatment.base)
    # what stands for the values cut off may be the limit itself, or their mean beyond it
    if treatment.top is not None:
        x = np.where(x > treatment.top, _stand_in(y[y > treatment.top], treatment.top), x)
    if treatment.bottom is not None:
        x = np.where(x < treatment.bottom, _stand_in(y[y < treatment.bottom], treatment.bottom), x)
    return Recoding(columns.after.kind, x, y, source="stated")


def _stand_in(beyond: Floats, limit: float) -> float:
    return float(np.median(beyond)) if beyond.size else limit


def _rounded(values: Floats, base: float) -> Floats:
    """Return multiples of a base, by one way of computing them, so that equal ones are equal to the last digit."""
    multiples: Floats = np.rint(values / base) * base
    return multiples


def _rounded_as(values: Floats, theirs: Floats, base: float) -> Floats:
    """Return the multiple each record has in the protected table, where it is a nearest one: halves go up or down."""
    with np.errstate(invalid="ignore"):
        nearest = np.abs(values - theirs) <= base / 2 * (1 + 1e-9)
    return np.where(nearest, _rounded(theirs, base), _rounded(values, base))
