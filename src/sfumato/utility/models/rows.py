"""The records a model can use, a block at a time, so that no design is ever held whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Floats, Microdata
from sfumato.pair import Half
from sfumato.pair.statistics import Statistic, Sums, Values, merged

BLOCK = 1 << 13  # records of a block: small enough for the cache and for memory that is used again, not mapped anew
Truths = NDArray[np.bool_]
S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True)
class Complete(Statistic):
    """The records that have all of some variables and a positive weight: their number and what they weigh.

    ``incomplete`` counts those of positive weight that lack a value.
    """

    count: int
    incomplete: int
    weight: float
    least: float
    greatest: float

    @classmethod
    def of(cls, part: Microdata, keep: Truths | None) -> Self:
        """Count the records of a part; ``keep`` marks the complete ones of positive weight, None if all are."""
        if part.schema.weight is None:
            count = len(part) if keep is None else int(np.count_nonzero(keep))
            return cls(count, len(part) - count, float(count), 1.0, 1.0)
        whole = part.weights()
        weights = whole if keep is None else whole[keep]
        least, greatest = weights.min(initial=np.inf), weights.max(initial=-np.inf)
        incomplete = int(np.count_nonzero(whole > 0)) - len(weights)
        return cls(len(weights), incomplete, float(weights.sum()), float(least), float(greatest))

    def merge(self, other: Self) -> Self:
        """Add up."""
        return type(self)(
            self.count + other.count,
            self.incomplete + other.incomplete,
            self.weight + other.weight,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
        )


def _complete(half: Half, part: Microdata, variables: tuple[str, ...]) -> Truths | None:
    """Mark the records of positive weight that have all variables; None if all are such. In memory it is kept."""
    if half.in_parts:
        return _marked(part, [part.missing(name) for name in variables])
    gaps = [half.keep(("gaps", name), partial(part.missing, name)) for name in variables]
    found: Truths | None = half.keep(("complete", variables), partial(_marked, part, gaps))
    return found


def _marked(part: Microdata, gaps: list[Truths]) -> Truths | None:
    positive = None if part.schema.weight is None else part.weights() > 0
    if positive is not None and positive.all():
        positive = None
    if not gaps:
        return positive
    present: Truths = ~np.logical_or.reduce(gaps)
    return present if positive is None else positive & present


@dataclass(frozen=True, eq=False)
class Rows:
    """The complete records of positive weight, for the variables of a model.

    ``holed`` names those of the variables that have gaps at all. Models that share them use the same records.
    """

    half: Half
    label: str  # which of the two tables it is, for messages
    holed: tuple[str, ...]
    found: Complete
    held: dict[Any, Any] = field(default_factory=dict)  # what is costly in a block, where the table is in memory

    @property
    def count(self) -> int:
        """How many records there are."""
        return self.found.count

    @property
    def incomplete(self) -> int:
        """How many records are left out because a value is missing."""
        return self.found.incomplete

    @property
    def scale(self) -> float:
        """What weights are multiplied with to sum to the number of records."""
        return self.found.count / self.found.weight

    @property
    def unequal(self) -> bool:
        """Whether the survey weights of these records differ."""
        return self.half.schema.weight is not None and self.found.least < self.found.greatest

    def blocks(self) -> Iterator["Block"]:
        """Yield the records in blocks."""
        for number, part in enumerate(self.half.parts):
            yield from self._blocks(part.at_hand(), number)

    def _blocks(self, part: Microdata, number: int = 0) -> Iterator["Block"]:
        keep = _complete(self.half, part, self.holed)
        for start in range(0, len(part), BLOCK):
            rows = slice(start, min(start + BLOCK, len(part)))
            block = Block(self, part, number, rows, None if keep is None else keep[rows])
            if len(block):
                yield block

    def total(self, of: Callable[["Block"], S]) -> S:
        """Make a statistic of each block and merge them in the order of the records."""
        if not self.half.on_disk:
            return merged(of(block) for block in self.blocks())
        return self.half.total(lambda part: self._total(part, of))

    def _total(self, part: Microdata, of: Callable[["Block"], S]) -> S | None:
        """Make the statistic of a part; None where it has no such record."""
        found = [of(block) for block in self._blocks(part)]
        return merged(found) if found else None

    def levels(self, name: str) -> NDArray[Any]:
        """Return the codes (or numbers) of a variable that occur, in order."""
        found: NDArray[Any] = self.half.keep(("levels", self.holed, name), lambda: self._levels(name))
        return found

    def _levels(self, name: str) -> NDArray[Any]:
        variable = self.half.schema[name]
        if variable.quantitative:
            return self.half.total(lambda part: Values.of(self._column(part, name))).values
        size = len(variable.categories)
        found = self.half.total(lambda part: Sums({"n": np.bincount(self._column(part, name), minlength=size)}))
        return np.flatnonzero(found["n"])

    def _column(self, part: Microdata, name: str) -> NDArray[Any]:
        keep = _complete(self.half, part, self.holed)
        return part.columns[name] if keep is None else part.columns[name][keep]

    def frame(self, variables: tuple[str, ...], most: int | None = None) -> Any:
        """Return variables of all these records, or of the first few, as a pandas frame."""
        columns: dict[str, list[NDArray[Any]]] = {name: [] for name in variables}
        left = self.count if most is None else most
        for block in self.blocks():
            for name in variables:
                columns[name].append(block.column(name)[:left])
            left -= len(block)
            if left <= 0:
                break
        return self.framed({name: np.concatenate(found) for name, found in columns.items()})

    def framed(self, columns: dict[str, NDArray[Any]]) -> Any:
        """Return columns of values and codes as a pandas frame, without the categories that no record has."""
        import pandas as pd

        series: dict[str, Any] = {}
        for name, column in columns.items():
            variable = self.half.schema[name]
            if variable.quantitative:
                series[name] = column
                continue
            levels = pd.Index(list(variable.categories), tupleize_cols=False)
            coded = pd.Categorical.from_codes(column, categories=levels, ordered=variable.kind == "ordinal")
            used = {variable.categories[code] for code in self.levels(name)}
            series[name] = coded.remove_categories([level for level in variable.categories if level not in used])
        return pd.DataFrame(series)


class Block:
    """A few records of a part."""

    def __init__(self, owner: Rows, part: Microdata, number: int, rows: slice, keep: Truths | None) -> None:
        self.owner = owner
        self.place = number, rows.start  # of the block among all
        self._part, self._rows, self._keep = part, rows, keep
        self._length = rows.stop - rows.start if keep is None else int(np.count_nonzero(keep))

    def __len__(self) -> int:
        return self._length

    def column(self, name: str) -> NDArray[Any]:
        """Return the values or codes of a variable."""
        column: NDArray[Any] = self._part.columns[name][self._rows]
        return column if self._keep is None else column[self._keep]

    def weights(self) -> Floats | None:
        """Return the weights, scaled to sum to the number of records in all blocks; None where they are equal."""
        return self.column(str(self._part.schema.weight)) * self.owner.scale if self.owner.unequal else None

    def frame(self, variables: tuple[str, ...]) -> Any:
        """Return variables as a pandas frame, without the categories that no record of any block has."""
        return self.owner.framed({name: self.column(name) for name in variables})

    def held(self, key: Any, compute: Callable[[], Floats]) -> Floats:
        """Compute something of this block; where the table is in memory it is held for the next pass."""
        if self.owner.half.in_parts:
            return compute()
        held, whole = self.owner.held, (key, self.place)
        if whole not in held:
            held[whole] = compute()
        found: Floats = held[whole]
        return found


class Usable:
    """Finds the records of a table that each model can use, once for models that miss the same ones."""

    def __init__(self, table: Half | Microdata, label: str) -> None:
        self.half, self.label = Half.of(table), label
        self._asked: dict[tuple[str, ...], Rows] = {}  # by the variables of models
        self._rows: dict[tuple[str, ...], Rows] = {}  # by those of them that have gaps

    def rows(self, variables: tuple[str, ...]) -> Rows:
        """Return the complete records of positive weight."""
        if variables not in self._asked:
            holed = tuple(sorted({name for name in variables if self._missing(name)}))
            if holed not in self._rows:
                self._rows[holed] = self._complete(holed)
            self._asked[variables] = self._rows[holed]
        return self._asked[variables]

    def _complete(self, holed: tuple[str, ...]) -> Rows:
        found = self.half.total(
            lambda part: Complete.of(part, _complete(self.half, part, holed)), ("complete records", holed)
        )
        return Rows(self.half, self.label, holed, found)

    def _missing(self, name: str) -> int:
        """Count the records that lack a variable."""
        found = self.half.total(
            lambda part: Sums({"missing": np.count_nonzero(part.missing(name))}), ("missing values", name)
        )
        return int(found["missing"])
