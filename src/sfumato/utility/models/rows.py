"""The records a model can use, a block at a time, so that no design is ever held whole."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Floats, Microdata

BLOCK = 1 << 13  # records of a block: small enough for the cache and for memory that is used again, not mapped anew
Truths = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """The complete records of positive weight, for the variables of a model.

    ``keep`` marks them, None where all are; ``incomplete`` counts the records left out because a value is missing.
    """

    table: Microdata
    label: str  # which of the two tables it is, for messages
    keep: Truths | None
    incomplete: int
    cache: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def count(self) -> int:
        """How many records there are."""
        return len(self.table) if self.keep is None else int(np.count_nonzero(self.keep))

    @cached_property
    def scale(self) -> float:
        """What weights are multiplied with to sum to the number of records."""
        weights = self.table.weights()
        return self.count / float(weights.sum() if self.keep is None else weights[self.keep].sum())

    @cached_property
    def unequal(self) -> bool:
        """Whether the survey weights of these records differ."""
        if self.table.schema.weight is None:
            return False
        weights = self.table.weights() if self.keep is None else self.table.weights()[self.keep]
        return bool(weights.size) and float(weights.min()) < float(weights.max())

    def blocks(self) -> Iterator["Block"]:
        """Yield the records in blocks."""
        for start in range(0, len(self.table), BLOCK):
            rows = slice(start, min(start + BLOCK, len(self.table)))
            block = Block(self, rows, None if self.keep is None else self.keep[rows])
            if len(block):
                yield block

    def first(self, count: int) -> "Block":
        """Return the first few records."""
        rows = np.arange(min(count, len(self.table))) if self.keep is None else np.flatnonzero(self.keep)[:count]
        return Block(self, rows, None)

    def whole(self) -> "Block":
        """Return all records as one block."""
        return Block(self, slice(0, len(self.table)), self.keep)

    def column(self, name: str) -> NDArray[Any]:
        """Return the values or codes of a variable in these records."""
        column = self.table.columns[name]
        return column if self.keep is None else column[self.keep]


class Block:
    """A few records."""

    def __init__(self, owner: Rows, rows: Any, keep: Truths | None) -> None:
        self.owner = owner
        self._rows, self._keep = rows, keep
        self.start = rows.start if isinstance(rows, slice) else None

    def __len__(self) -> int:
        if self._keep is not None:
            return int(np.count_nonzero(self._keep))
        return self._rows.stop - self._rows.start if isinstance(self._rows, slice) else len(self._rows)

    def column(self, name: str) -> NDArray[Any]:
        """Return the values or codes of a variable."""
        column: NDArray[Any] = self.owner.table.columns[name][self._rows]
        return column if self._keep is None else column[self._keep]

    def weights(self) -> Floats | None:
        """Return the weights, scaled to sum to the number of records in all blocks; None where they are equal."""
        return self.column(str(self.owner.table.schema.weight)) * self.owner.scale if self.owner.unequal else None

    def frame(self, variables: tuple[str, ...]) -> Any:
        """Return the variables as a pandas frame, without the categories that no record of any block has."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name in variables:
            variable = self.owner.table.schema[name]
            column: Any = self.column(name)
            if variable.kind != "numeric":
                levels = pd.Index(list(variable.categories), tupleize_cols=False)
                column = pd.Categorical.from_codes(column, categories=levels, ordered=variable.kind == "ordinal")
                used = {variable.categories[code] for code in levels_of(self.owner, name)}
                column = column.remove_categories([level for level in variable.categories if level not in used])
            columns[name] = column
        return pd.DataFrame(columns)


def levels_of(rows: Rows, name: str) -> NDArray[Any]:
    """Return the codes (or numbers) that occur in a variable, in order."""
    key = ("levels", name)
    if key not in rows.cache:
        variable, column = rows.table.schema[name], rows.column(name)
        if variable.kind == "numeric":
            rows.cache[key] = np.unique(column)
        else:
            rows.cache[key] = np.flatnonzero(np.bincount(column, minlength=len(variable.categories)))
    found: NDArray[Any] = rows.cache[key]
    return found


class Usable:
    """Finds the records that each model can use, once for models that miss the same ones."""

    def __init__(self, table: Microdata, label: str) -> None:
        self.table, self.label = table, label
        self._gaps: dict[str, Truths | None] = {}
        self._rows: dict[frozenset[str], Rows] = {}
        positive = None if table.schema.weight is None else table.weights() > 0
        self._positive = None if positive is None or positive.all() else positive

    def rows(self, variables: tuple[str, ...]) -> Rows:
        """Return the complete records of positive weight."""
        for name in variables:
            if name not in self._gaps:
                column = self.table.columns[name]
                absent = np.isnan(column) if column.dtype.kind == "f" else column < 0
                self._gaps[name] = absent if absent.any() else None
        holed = frozenset(name for name in variables if self._gaps[name] is not None)
        if holed not in self._rows:
            keep, incomplete = self._positive, 0
            if holed:
                gaps = [found for name in holed if (found := self._gaps[name]) is not None]
                missing = np.logical_or.reduce(gaps)
                keep = ~missing if self._positive is None else self._positive & ~missing
                incomplete = int(np.count_nonzero(missing if self._positive is None else missing & self._positive))
            self._rows[holed] = Rows(self.table, self.label, keep, incomplete)
        return self._rows[holed]
