"""The variables laid out for the tests of pairs; what is known of the original's columns is kept for all candidates."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from sfumato.data.recoding import Recoding
from sfumato.kernels.stretches import same_values
from sfumato.pair import Half, Pair
from sfumato.utility.association import Column, Scale, normal

Normality = Literal["original", "each"]
NORMAL = 0.05  # level of the test of normality


@dataclass(frozen=True, eq=False)
class Side:
    """One variable as the tests take it: on its own footing in each table, and on the common one for directions."""

    name: str
    before: Column
    after: Column  # the same object as ``before`` where the protected table has the same values
    shared: tuple[Column, Column] | None  # None where which category became which cannot be told

    @property
    def untouched(self) -> bool:
        """Whether the protected table has the values of the original, record by record."""
        return self.after is self.before


def sides(pair: Pair, original: Half, names: Iterable[str], normality: Normality) -> tuple[list[Side], list[str]]:
    """Lay out variables of two tables in memory with their places in Table 1, and note what should be known of them.

    ``original`` keeps what depends on the original alone.
    """
    found, other = [], []
    for name in names:
        before, footing = _original(pair, original, name), pair.footing(name)
        kind = pair.original.schema[name].kind
        if kind == footing.kind and _untouched(before.values, footing):
            found.append(Side(name, before, before, (before, before)))
            continue
        if normality == "original" and kind == footing.kind:
            after = before.scale
            if after == "normal" and _scale(footing.kind, footing.protected, original.aside) != after:
                other.append(name)
        else:
            after = _scale(footing.kind, footing.protected, original.aside)
        found.append(_side(before, footing, after, original.aside))
    said = f"normal in the original only, tested as if in both tables: {', '.join(other)}"
    return found, [said] if other else []


def _original(pair: Pair, half: Half, name: str) -> Column:
    """Return a variable of the original as the tests take it."""
    variable, column = pair.original.schema[name], pair.original.column(name)
    kept: Column = half.keep(
        ("column of the tests of pairs", name),
        lambda: Column(name, _scale(variable.kind, column, half.aside), column, len(variable.categories), half.aside),
    )
    return kept


def _side(before: Column, footing: Recoding, scale: Scale, aside: Path | None) -> Side:
    name, count = before.name, len(footing.categories)
    after = Column(name, scale, footing.protected, count, aside)
    if "nominal" not in (before.scale, scale):
        return Side(name, before, after, (before, after))
    if not footing.comparable:
        return Side(name, before, after, None)
    as_before = (before.scale, before.count) == (scale, count) and footing.original is before.values
    common = before if as_before else Column(name, scale, footing.original, count, aside)
    return Side(name, before, after, (common, after))


def _untouched(column: NDArray[Any], footing: Recoding) -> bool:
    """Tell whether the protected column is the original's, with codes that mean the same."""
    if not footing.comparable or not _same(column, footing.protected):
        return False
    return footing.original is column or _same(column, footing.original)


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one is other or same_values(one, other)


def _scale(kind: str, column: NDArray[Any], aside: Path | None) -> Scale:
    """Place a variable among the four types of Table 1."""
    if kind == "nominal":
        return "nominal"
    if kind == "ordinal":
        return "ordinal"
    return "normal" if normal(column, aside)[1] >= NORMAL else "skewed"
