"""Where hierarchies come from: bands of numbers, quantiles, neighbours, prefixes of codes, frequencies, tables."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data import bands
from sfumato.data.hierarchy_checks import TOP
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]
Row = tuple[object, ...]
Cuts = tuple[float, ...]
OTHER = "other"
CLASSES = 15  # bands that the finest level has about, if nobody says how wide they are


def band_cuts(widths: Sequence[float], ends: tuple[float, float], start: float) -> tuple[Cuts, ...]:
    """Return the cuts of bands between two ends, both of which are cuts at every level; beyond them bands are open.

    >>> band_cuts((5, 10), (18, 40), 0)
    ((18.0, 20.0, 25.0, 30.0, 35.0, 40.0), (18.0, 20.0, 30.0, 40.0))
    """
    low, high = (float(end) for end in ends)
    if not low < high:
        raise ParameterError(f"the ends of bands must rise; got {ends!r}")
    inner = [bands.of_width(low, high, width, start) if width < math.inf else None for width in widths]
    return tuple(() if edges is None else (low, *(e for e in edges if low < e < high), high) for edges in inner)


def nice_widths(column: Floats, levels: int = 3) -> tuple[float, ...]:
    """Return round widths of bands that suit a number: some 15 bands at first, then the next round multiple each time.

    The range is that without the outermost hundredths, so that a few large amounts do not make bands wide.

    >>> nice_widths(np.arange(100.0)), nice_widths(np.linspace(0, 90_000, 1000))
    ((5.0, 10.0, 20.0), (5000.0, 10000.0, 20000.0))
    """
    present = column[~np.isnan(column)]
    low, high = np.quantile(present, [0.01, 0.99]) if present.size else (0.0, 0.0)
    if high <= low:
        raise ParameterError("the values hardly differ, so no width of bands suits them; say the widths")
    ideal = (high - low) / CLASSES
    first = min(_rounds(ideal), key=lambda width: abs(math.log(width / ideal)))
    widths = [max(first, 2.0) if bands.is_whole(present) else first]  # a band of one whole number is no band
    while len(widths) < levels:
        last = widths[-1]
        widths.append(next(w for w in _rounds(last) if w > 1.5 * last and abs(w / last - round(w / last)) < 1e-9))
    return tuple(widths)


def _rounds(near: float) -> list[float]:
    """Return round numbers about one, rising: 1, 2, 5, 10, 20 and so on."""
    power = math.floor(math.log10(near))
    return [float(f"{digit}e{power + up}") for up in (0, 1, 2) for digit in (1, 2, 5)]


def quantile_cuts(column: Floats, groups: Sequence[int]) -> tuple[Cuts, ...]:
    """Return cuts, at round numbers, between groups of about as many records, of which coarser levels keep some.

    >>> quantile_cuts(np.array([1., 2., 3., 4., 5., 6., 7., 8.]), (4, 2))
    ((3.0, 5.0, 7.0), (5.0,))
    """
    _falling("groups", groups, least=2)
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    starts = bands.equal_counts(counts, groups[0])
    if not starts:
        raise ParameterError("a column with one value has no quantiles; use it as it is")
    levels = [[bands.roundest(float(values[j - 1]), float(values[j])) for j in starts]]
    for number in groups[1:]:
        finer = levels[-1]
        classes = np.searchsorted(np.array(finer), values, side="right")
        held = np.bincount(classes, weights=counts, minlength=len(finer) + 1).astype(np.int64)
        levels.append([finer[j - 1] for j in bands.equal_counts(held, number)])
    return tuple(map(tuple, levels))


def neighbour_rows(categories: Sequence[object], sizes: Sequence[int]) -> list[Row]:
    """Return rows that put so many neighbours together at each level; twice as many each time if no sizes are said.

    >>> neighbour_rows(["none", "primary", "secondary", "bachelor", "master"], ())[1:3]
    [('primary', 'none to primary', 'none to bachelor'), ('secondary', 'secondary to bachelor', 'none to bachelor')]
    """
    if len(categories) < 3 and not sizes:
        raise ParameterError(f"there are {len(categories)} categories; to merge neighbours there must be three or more")
    doubled = [2**i for i in range(1, len(categories).bit_length()) if 2**i < len(categories)]
    chosen = tuple(sizes) or tuple(doubled)
    for size in chosen:
        _whole("sizes of groups", size, least=2)
    for small, large in pairwise(chosen):
        if large <= small or large % small:
            raise ParameterError(f"each size of groups must be a multiple of the last; {large} is none of {small}")
    levels = [_level(categories, size) for size in chosen]
    return list(zip(categories, *levels, strict=True))


def prefix_rows(codes: Iterable[object], keep: Sequence[int], mask: str) -> list[Row]:
    """Return rows of codes cut to so many first characters at each level, with a mask for the others or without.

    >>> prefix_rows(["81667", "81925"], (3, 1), "*")
    [('81667', '816**', '8****'), ('81925', '819**', '8****')]
    >>> prefix_rows(["A01.1", "B20"], (3, 0), "")
    [('A01.1', 'A01', '*'), ('B20', 'B20', '*')]
    """
    _falling("characters to keep", keep, least=0)
    if len(mask) > 1:
        raise ParameterError(f"mask must be one character, or '' for the first characters alone; got {mask!r}")
    return [(code, *(_cut(str(code), length, mask) for length in keep)) for code in dict.fromkeys(codes)]


def rare_rows(categories: Sequence[object], counts: NDArray[np.integer], shares: Sequence[float]) -> list[Row]:
    """Return rows in which categories with fewer records than a share of them are called other, at each level.

    >>> rare_rows(["a", "b", "c", "d"], np.array([90, 6, 3, 1]), (0.02, 0.1))[1:3]
    [('b', 'b', 'other'), ('c', 'other', 'other')]
    """
    for low, high in pairwise((0.0, *shares)):
        if not low < high < 1:
            raise ParameterError(f"shares must rise and lie between 0 and 1; got {list(shares)}")
    levels = []
    for share in shares:
        codes = rarest(counts, share)
        if not codes.size:
            raise ParameterError(
                f"every category that occurs has {share:.4g} of the records or more, so none is rare; ask for a larger "
                "share"
            )
        others = {*codes.tolist(), *(code for code, category in enumerate(categories) if category == OTHER)}
        if len(others) >= len(categories):
            raise ParameterError(f"no category has {share:.4g} of the records, so all would be other; ask for less")
        levels.append([OTHER if code in others else category for code, category in enumerate(categories)])
    return list(zip(categories, *levels, strict=True))


def rarest(counts: NDArray[np.integer], share: float) -> NDArray[np.intp]:
    """Return the categories with a smaller share of the records, and the next rarest until these have it together.

    None where there is no such category with a record.

    >>> rarest(np.array([90, 6, 3, 1]), 0.05).tolist()
    [3, 2, 1]
    """
    needed = share * counts.sum() * (1 - 1e-12)  # a share of exactly that much is enough
    order = np.argsort(counts, kind="stable")
    rare = int(np.count_nonzero(counts < needed))
    if not np.count_nonzero(counts[order[:rare]]):
        return order[:0]
    gathered = np.cumsum(counts[order])
    return order[: max(rare, int(np.searchsorted(gathered, needed)) + 1)]


def table_rows(frame: Any, columns: Sequence[str]) -> tuple[list[Row], tuple[str, ...]]:
    """Return the different rows of a table whose columns go from fine to coarse, and the names of the coarser ones."""
    import narwhals as nw  # only to read tables, which few hierarchies are made of

    table = nw.from_native(frame, eager_only=True)
    names = tuple(columns) or tuple(table.columns)
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise ParameterError(f"the table has no column {absent[0]!r}; it has {', '.join(table.columns)}")
    if len(names) < 2:
        raise ParameterError("a hierarchy needs two columns or more, from fine to coarse")
    cells = ([None if value != value else value for value in table[name].to_list()] for name in names)
    return list(dict.fromkeys(zip(*cells, strict=True))), names[1:]


def _cut(code: str, length: int, mask: str) -> str:
    if mask:
        return code[:length] + mask * (len(code) - length) if length else TOP
    return code[:length].rstrip(".-/ ") or TOP


def _level(categories: Sequence[object], size: int) -> list[object]:
    """Return the group of each category where so many neighbours make a group."""
    parts = [categories[start : start + size] for start in range(0, len(categories), size)]
    return [name for part, name in zip(parts, range_names(parts), strict=True) for _ in part]


def range_names(parts: Sequence[Sequence[object]]) -> list[object]:
    """Name neighbouring categories that are put together: bands by their outer ends, else by the first and the last.

    >>> range_names([("0-9", "10-19"), ("20+",)]), range_names([("low", "middle"), ("high",)])
    (['0-19', '20+'], ['low to middle', 'high'])
    """
    names = [part[0] if len(part) == 1 else bands.joined_label([str(one) for one in part]) for part in parts]
    if len(set(names)) == len(names):
        return names
    return [part[0] if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts]


def _falling(what: str, numbers: Sequence[int], *, least: int) -> None:
    for number in numbers:
        _whole(what, number, least=least)
    if not numbers or any(coarse >= fine for fine, coarse in pairwise(numbers)):
        raise ParameterError(f"{what} must fall from level to level, such as 10, 5; got {list(numbers)}")


def _whole(what: str, number: object, *, least: int) -> None:
    if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < least:
        raise ParameterError(f"{what} must be whole numbers of at least {least}; got {number!r}")
