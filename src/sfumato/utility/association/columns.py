"""The columns of one file by scale of measurement, made ready for tests of all their pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.kernels.ranks import Placed, Ranked, ranked
from sfumato.kernels.spread import ROUNDING, mean_and_spread, mean_and_spread_of_long
from sfumato.kernels.stretches import code_counts, stretches
from sfumato.utility.association.aside import LONG, put_aside, ranks_aside

Floats = NDArray[np.float64]
Codes = NDArray[np.uint32]
Indices = NDArray[np.intp]
Scale = Literal["nominal", "ordinal", "skewed", "normal"]

SCALES: tuple[Scale, ...] = get_args(Scale)
BLOCK = 8_192  # records taken at a time: what is made of them stays in the cache
CELLS = 8_000_000  # and where threads of the linear algebra wait for each other after every block: numbers at a time


@dataclass(frozen=True, eq=False)
class Column:
    """One variable of a file as a test sees it.

    ``scale`` is its type in Table 1 of Kocar: nominal, ordinal, and interval or ratio that is not normally distributed
    (skewed) or is (normal). ``values`` are numbers with NaN where missing, or codes 0 to ``count`` - 1 with -1 where
    missing; a nominal variable has codes. Ranks and codes of a column with a ``folder`` are put aside there.
    """

    name: str
    scale: Scale
    values: NDArray[Any]
    count: int = 0
    folder: Path | None = None  # for what is made of it, where memory is short

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        object.__setattr__(self, "values", values)
        if self.scale not in SCALES:
            raise ParameterError(f"variable {self.name!r}: the scale must be one of {SCALES}; got {self.scale!r}")
        if values.ndim != 1 or values.dtype.kind not in "fiu":
            raise DataError(f"variable {self.name!r}: one number or code per record is needed")
        if values.dtype.kind == "f":
            if self.scale == "nominal":
                raise DataError(f"variable {self.name!r} is nominal: codes from 0 up are needed, not numbers")
            if np.isinf(values).any():
                raise DataError(f"variable {self.name!r} has infinite values; make them missing or leave it out")
        elif len(values) and (values.min() < -1 or (self.scale == "nominal" and values.max() >= self.count)):
            low, high = int(values.min()), int(values.max())
            raise DataError(
                f"variable {self.name!r}: codes must be 0 to {self.count - 1}, or -1 for missing; "
                f"they go from {low} to {high}"
            )

    @property
    def nbytes(self) -> int:
        """The memory of its values and of their ranks, once they are asked for."""
        return int(self.values.nbytes) + (0 if self.scale == "nominal" else 4 * len(self.values))

    @cached_property
    def placed(self) -> Placed:
        """The records by the order of their values."""
        return Placed.of(self.values)

    @cached_property
    def aside(self) -> tuple[Floats, float]:
        """The doubled, centred ranks of a column without gaps, put aside, and the sum of their squares."""
        assert self.folder is not None
        return ranks_aside(self.values, self.folder)

    @cached_property
    def complete(self) -> bool:
        """Whether no value is missing."""
        return not bool((np.isnan(self.values) if self.values.dtype.kind == "f" else self.values < 0).any())

    @cached_property
    def used(self) -> int:
        """How many of the categories occur."""
        return int(np.count_nonzero(code_counts(self.values, self.count)))

    def numbers(self) -> Floats:
        """Return the values as numbers, NaN where missing."""
        if self.values.dtype.kind == "f":
            return self.values.astype(np.float64, copy=False)
        return np.where(self.values < 0, np.nan, self.values.astype(np.float64))


class File:
    """The columns of one file: nominal ones as codes, all others by rank, and standardised where asked for.

    Records of weight 0 are left out, and constant weights are no weights.
    """

    def __init__(self, columns: Sequence[Column], weights: Floats | None = None) -> None:
        self.columns = tuple(columns)
        lengths = {len(column.values) for column in self.columns}
        if len(lengths) > 1:
            longest = {column.name: len(column.values) for column in self.columns}
            raise DataError(f"the columns must have one value per record each; their lengths are {longest}")
        self.records = lengths.pop() if lengths else 0
        self.weights: Floats | None = None
        if weights is not None:
            self._weigh(np.asarray(weights, dtype=np.float64))
        nominal = np.array([column.scale == "nominal" for column in self.columns], dtype=np.bool_)
        self.nominal: Indices = np.flatnonzero(nominal)
        self.ordered: Indices = np.flatnonzero(~nominal)
        self.row = np.where(nominal, np.cumsum(nominal), np.cumsum(~nominal)) - 1  # of a column among its like

    def _weigh(self, weights: Floats) -> None:
        if weights.shape != (self.records,):
            raise DataError(f"{self.records:,} records need as many weights; got an array of shape {weights.shape}")
        bad = ~((weights >= 0) & np.isfinite(weights))
        if bad.any():
            raise DataError(f"weights must be 0 or more and finite; record {int(np.argmax(bad)) + 1} has another")
        if self.records and not weights.any():
            raise DataError("every weight is zero")
        used = np.flatnonzero(weights > 0)
        if len(used) < self.records:
            self.columns = tuple(Column(c.name, c.scale, c.values[used], c.count, c.folder) for c in self.columns)
            self.records, weights = len(used), weights[used]
        if self.records and weights.min() < weights.max():
            weights = weights / weights.max()
            self.weights = weights / weights.mean()

    @cached_property
    def counts(self) -> Indices:
        """The number of categories of each nominal column."""
        return np.array([self.columns[place].count for place in self.nominal], dtype=np.intp)

    @cached_property
    def codes(self) -> Codes:
        """The codes of the nominal columns, one in each row; the number of categories stands for missing."""
        codes = put_aside((len(self.nominal), self.records), np.uint32, self.folder)
        for row, place in zip(codes, self.nominal, strict=True):
            column = self.columns[place]
            for rows in stretches(self.records):
                row[rows] = np.where(column.values[rows] < 0, column.count, column.values[rows])
        return codes

    @cached_property
    def folder(self) -> Path | None:
        """Where codes and ranks are put aside; None: in memory."""
        return next((column.folder for column in self.columns), None)

    @cached_property
    def ranked_aside(self) -> bool:
        """Whether the ranks of each column are the same in all pairs, and put aside."""
        return self.folder is not None and bool(self.complete.all())

    def ranks_of(self, row: int, rows: slice) -> Floats:
        """Return the doubled, centred ranks of some records among all, 0 where missing; ``row`` is a place in ranks."""
        table, places = (
            (self.columns[self.ordered[row]].aside[0], rows)
            if self.ranked_aside
            else (self.ranks.tables[row][0], self.ranks.places[row, rows])
        )
        found: Floats = table[places]
        return found

    def squares_of(self, row: int) -> float:
        """Return the sum of the squares of these ranks."""
        return self.columns[self.ordered[row]].aside[1] if self.ranked_aside else self.ranks.tables[row][2]

    @cached_property
    def ranks(self) -> Ranked:
        """All other columns by rank."""
        return ranked([self.columns[place].placed for place in self.ordered], self.records)

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Which columns have no missing value."""
        return np.array([column.complete for column in self.columns], dtype=np.bool_)

    def blocks(self, size: int = BLOCK) -> list[slice]:
        """Cut the records into blocks."""
        return [slice(start, min(start + size, self.records)) for start in range(0, self.records, size)]


@dataclass(frozen=True, eq=False)
class Standardised:
    """Some columns of a file as z-scores, made block by block; a missing value stands as 0.

    Each is first divided by a power of two near its largest value, so that no square is too large or too small.
    """

    numbers: tuple[Floats, ...]
    exponents: NDArray[np.intp]
    means: Floats
    spreads: Floats  # 0 for a constant

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "Standardised":
        """Find the size, the mean and the standard deviation of each."""
        numbers = tuple(column.numbers() for column in columns)
        exponents = np.zeros(len(numbers), dtype=np.intp)
        means, spreads = np.zeros(len(numbers)), np.zeros(len(numbers))
        for j, values in enumerate(numbers):
            largest = max(abs(np.fmin.reduce(values, initial=0.0)), abs(np.fmax.reduce(values, initial=0.0)))
            exponents[j] = np.frexp(largest)[1]
            if len(values) > LONG:
                mean, spread = mean_and_spread_of_long(values, exponents[j])
            else:
                mean, spread = (one[0] for one in mean_and_spread(np.ldexp(values, -exponents[j])[:, None]))
            means[j], spreads[j] = np.nan_to_num(mean), spread
        return cls(numbers, exponents, means, spreads)

    def block(self, rows: slice) -> tuple[Floats, Floats]:
        """Return z-scores and presence (1 or 0) of these records."""
        scores = np.empty((rows.stop - rows.start, len(self.numbers)))
        for j, values in enumerate(self.numbers):
            spread = self.spreads[j] if self.spreads[j] > 0 else 1.0
            scores[:, j] = (np.ldexp(values[rows], -self.exponents[j]) - self.means[j]) / spread
        present = ~np.isnan(scores)
        scores[~present] = 0.0
        return scores, present.astype(np.float64)

    def deviations(
        self, k: int, rows: NDArray[np.bool_], weights: Floats | None
    ) -> tuple[Floats, Floats, float] | None:
        """Return how far some records of a column lie from their mean, their weights, and what is but rounding.

        The unit is the largest of the deviations; None stands for a constant.
        """
        values = np.ldexp(self.numbers[k][rows], -self.exponents[k])
        w = np.ones(len(values)) if weights is None else weights[rows]
        if not len(values) or values.min() == values.max():
            return None
        apart = values - (w @ values) / w.sum()
        largest, noise = float(np.abs(apart).max()), ROUNDING * float(np.abs(values).max())
        return None if largest <= noise else (apart / largest, w, noise / largest)
