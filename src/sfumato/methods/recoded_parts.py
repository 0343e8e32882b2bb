"""Variables of a table in parts recoded: what each value becomes is learned from the values of the whole table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.draws import Draws
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Schema, Variable
from sfumato.pair import Half, Masking
from sfumato.pair.masking import category_weights
from sfumato.pair.sorting import Ordered
from sfumato.pair.statistics import Values

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
# how a variable is recoded: given the values that occur, each once, and how many records have each
Recode = Callable[[Variable, NDArray[Any], NDArray[np.int64]], tuple[Variable, NDArray[Any]]]
# the ranks of the values of a number, beside the ends, that its classes follow from
Ranks = Callable[[Ordered], Iterable[int]]


@dataclass(frozen=True, eq=False)
class RecodedInParts(Masking):
    """By variable, what each code becomes, or the code of each run of numbers between two edges."""

    schema: Schema
    codes: Mapping[str, Codes]  # by old code; the last is that of a missing value
    runs: Mapping[str, tuple[Floats, Codes]]

    @property
    def changes(self) -> frozenset[str]:
        """The variables that are recoded."""
        return frozenset((*self.codes, *self.runs))

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> Codes:
        """Recode a variable of a part."""
        column = part.columns[name]
        if name in self.codes:
            return np.take(self.codes[name], column)
        edges, codes = self.runs[name]
        recoded = np.take(codes, np.searchsorted(edges, column, side="right"))
        recoded[np.isnan(column)] = -1
        return recoded


def learned(
    half: Half, names: Iterable[str], recode: Recode, told: Callable[[Variable], Ranks | None]
) -> RecodedInParts:
    """Learn how the variables of a table are recoded, from the values that occur and how often each does.

    Where these take too much memory, from those whose ranks are ``told``; None: all are needed.
    """
    codes: dict[str, Codes] = {}
    runs: dict[str, tuple[Floats, Codes]] = {}
    changed = []
    for name in names:
        variable = half.schema[name]
        if variable.quantitative:
            ranks, found = told(variable), half.values_if_they_fit(name)
            few = found is None and ranks is not None
            if found is None:
                found = half.values(name) if ranks is None else _some(half, name, ranks)
            made, column = recode(variable, found.values, found.counts)
            if made is not variable:
                codes_of = column.astype(np.int32, copy=False)
                runs[name] = _between(made) if few else _runs(found.values, codes_of)
        else:
            counts = half.total(partial(category_weights, name, len(variable.categories)))["records"]
            there = np.flatnonzero(counts).astype(np.int32)
            made, column = recode(variable, there, counts[there])
            if made is not variable:
                codes[name] = np.full(len(variable.categories) + 1, -1, dtype=np.int32)
                codes[name][there] = column
        changed.append(made)
    return RecodedInParts(half.schema.replace(*changed), codes, runs)


def _some(half: Half, name: str, ranks: Ranks) -> Values:
    ordered = Ordered.of(half, name)
    return ordered.around(ranks(ordered))


def _between(classes: Variable) -> tuple[Floats, Codes]:
    """Return where each class of a number but the first begins, and the codes of all."""
    number = len(classes.categories)
    return np.array(classes.treatment.cuts[: number - 1], dtype=np.float64), np.arange(number, dtype=np.int32)


def _runs(values: Floats, codes: Codes) -> tuple[Floats, Codes]:
    """Put neighbouring values of the same code together: the first value of each run but the first, and the codes.

    >>> edges, codes = _runs(np.array([1.0, 2.0, 5.0, 9.0]), np.array([0, 0, 1, 1], dtype=np.int32))
    >>> edges.tolist(), codes.tolist()
    ([5.0], [0, 1])
    """
    starts = np.flatnonzero(np.diff(codes)) + 1
    return values[starts], codes[np.append(0, starts)] if len(codes) else np.full(1, -1, dtype=np.int32)
