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
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data import bands
from sfumato.data.alignment import Aligned, aligned
from sfumato.data.classes import classes_of_numbers, function_of_categories, in_order, with_ends
from sfumato.data.dates import spelled
from sfumato.data.microdata import Codes, Floats, Microdata
from sfumato.data.piles import capped_records, piled, rounding_base
from sfumato.data.schema import Category, Kind, Variable, a_kind, is_quantitative
from sfumato.kernels.stretches import same_values

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


@dataclass(frozen=True, eq=False)
class _Columns:
    """One variable in both tables."""

    original: Microdata
    protected: Microdata
    name: str
    matched: bool

    @property
    def before(self) -> Variable:
        return self.original.schema[self.name]

    @property
    def after(self) -> Variable:
        return self.protected.schema[self.name]

    @property
    def x(self) -> NDArray[Any]:
        return self.original.columns[self.name]

    @property
    def y(self) -> NDArray[Any]:
        return self.protected.columns[self.name]

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
    columns = _Columns(original, protected, name, matched and len(original) == len(protected))
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
    """Say which categories the original does not have."""
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
        order = in_order(columns.x, original, len(labels))
        if order is not None:
            original, protected, labels = _sorted(order, original, protected, labels)
            kind = "ordinal"
    return Recoding(kind, original, protected, labels, source)


def _sorted(
    order: NDArray[np.intp], original: Codes, protected: Codes, labels: tuple[Category, ...]
) -> tuple[Codes, Codes, tuple[Category, ...]]:
    """Number the classes in this order."""
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(len(order), dtype=np.int32), -1
    return rank[original], rank[protected], tuple(labels[code] for code in order)


# numbers to categories, and back


def _classes(columns: _Columns) -> Recoding:
    after, treatment = columns.after, columns.after.treatment
    labels = after.categories
    cut = len(treatment.cuts) + 1 == len(labels) and not treatment.groups
    if treatment.cuts and ((cut and after.kind == "ordinal") or len(labels) == 1):
        codes = _inside(np.array(treatment.cuts if cut else ()), columns.x)
        ends = treatment.ends if treatment.suppressed else None
        return Recoding("ordinal", *with_ends(columns.x, codes, columns.y, labels, ends), "stated")
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
        edges = np.array(treatment.cuts)
        return Recoding("ordinal", _inside(edges, x), _inside(edges, y), tuple(range(len(edges) + 1)), "stated")
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


def _inside(cuts: Floats, values: Floats) -> Codes:
    """Return the class each number falls into; a class holds its lower limit."""
    return np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="right")).astype(np.int32)


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
