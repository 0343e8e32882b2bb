"""The columns of one file by scale of measurement, made ready for tests of all their pairs."""

import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, FileError, ParameterError
from sfumato.kernels.ranks import Placed, Ranked, ranked
from sfumato.kernels.spread import ROUNDING, mean_and_spread, mean_and_spread_of_long
from sfumato.kernels.stretches import code_counts, mapped, stretches
from sfumato.pair.files import NumbersInFile, Workspace
from sfumato.pair.sorting import Runs, SortedColumn
from sfumato.table.atomic import reason

# Arrays of as many numbers as there are records, put aside in files of a folder where memory is short.
#
# They are mapped: the system reads what is looked at, and may forget it again. The files have no name, so that they go
# with the arrays.

Floats = NDArray[np.float64]
# records beyond which a column is sorted on disk: slower, in memory that does not grow with it
MAX_RECORDS_IN_MEMORY = 1 << 24
MEMORY = 512 << 20  # bytes, of which an eighth is for what is sorted at a time


def put_aside(shape: tuple[int, ...], dtype: Any, folder: Path | None) -> NDArray[Any]:
    """Return room for an array: in memory, or in a file of this folder."""
    if folder is None:
        return np.empty(shape, dtype=dtype)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not size:
        return np.empty(shape, dtype=dtype)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(size)
            return mapped(file, dtype, shape, "r+")
    except OSError as error:
        raise FileError(f"what does not fit into memory cannot be put into {folder}: {reason(error)}") from error


def ranks_aside(values: NDArray[Any], folder: Path) -> tuple[Floats, float]:
    """Return the doubled, centred rank of each record of a column without gaps, and the sum of their squares."""
    found, records = put_aside((len(values),), np.float64, folder), len(values)
    if records > MAX_RECORDS_IN_MEMORY:
        ties = _sorted_aside(values, folder, found)
    else:
        # with b records below a value and u up to it, 2R - (n + 1) = b + u - n
        placed = Placed.of(values)
        upto = np.concatenate([np.zeros(1, dtype=np.int32), placed.upto])
        for rows in stretches(records):
            places = placed.places[rows].astype(np.intp)
            found[rows] = upto[places].astype(np.float64) + upto[places + 1] - records
        several = (np.diff(upto[rows.start : rows.stop + 1]) for rows in stretches(len(upto) - 1))
        ties = sum(map(_tied, several), start=0.0)
    return found, (float(records) ** 3 - records - ties) / 3


def _tied(counts: NDArray[np.integer]) -> float:
    """Return the sum of t^3 - t over values that t records have."""
    size = counts.astype(np.float64)
    return float((size**3 - size).sum())


def _sorted_aside(values: NDArray[Any], folder: Path, found: Floats) -> float:
    """Write the ranks of a column that is sorted on disk, and return the sum of t^3 - t over its ties."""
    room, what, records = Workspace(MEMORY, folder), "the ranks of a variable", len(values)
    runs = Runs(room, what, records, np.int64)
    for rows in stretches(records):
        runs.add(values[rows].astype(np.float64), np.arange(rows.start, rows.stop))
    column = SortedColumn.of(runs, room, what)
    ranks, reached, tied = NumbersInFile(folder, np.float64, what), 0, 0.0  # of each different value
    for _, counts in column.counts():
        upto = reached + np.cumsum(counts)
        ranks.append(2.0 * upto - counts - records)
        reached, tied = int(upto[-1]), tied + _tied(counts)
    start = 0
    for stretch in column.by_record(_of_each(column, ranks)):
        found[start : start + len(stretch)] = stretch
        start += len(stretch)
    column.close()
    ranks.close()
    return tied


def _of_each(column: SortedColumn, ranks: NumbersInFile) -> Iterator[Floats]:
    """Yield the rank of every record in ascending order, from that of every different value."""
    last, value = -1, np.nan  # the different value seen last, by its place
    for values, _ in column.pieces():
        which = last + np.cumsum(np.append(values[0] != value, values[1:] != values[:-1]))
        yield ranks.read(int(which[0]), int(which[-1]) + 1)[which - which[0]]
        last, value = int(which[-1]), float(values[-1])


# The columns

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
        missing = np.isnan if self.values.dtype.kind == "f" else np.signbit
        return not any(missing(self.values[rows]).any() for rows in stretches(len(self.values)))

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

    def blocks(self, size: int = BLOCK) -> Iterator[slice]:
        """Cut the records into blocks."""
        return stretches(self.records, size)


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
            if len(values) > MAX_RECORDS_IN_MEMORY:
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


# Whether a variable is normally distributed: the Kolmogorov-Smirnov test with mean and variance estimated

# Quantiles of sqrt(n) D, simulated from 2 to 5 million normal samples of each size n, by the probability of a larger
# one; those of an infinite sample follow from n = 200 and 1,000, as they are linear in 1 / sqrt(n) there. The standard
# error of those at probabilities of 0.01 and more is below 0.0007. A test simulates some of them again.
AT_A_TIME = 1 << 17  # values at a time
LARGER = np.array(
    [0.999, 0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05, 0.025, 0.01, 0.005, 0.001, 0.0001]
)
SIZES = np.array([4, 5, 6, 7, 8, 10, 14, 20, 50, 200, 1_000, np.inf])
# fmt: off
QUANTILES = np.array([
    [0.2663, 0.2891, 0.3374, 0.3732, 0.4228, 0.4600, 0.4904, 0.5166, 0.5424, 0.5708,
     0.6058, 0.6428, 0.6905, 0.7503, 0.7911, 0.8257, 0.8428, 0.8653, 0.8773],
    [0.2610, 0.3039, 0.3599, 0.3944, 0.4367, 0.4668, 0.4940, 0.5221, 0.5542, 0.5968,
     0.6474, 0.6770, 0.7133, 0.7671, 0.8212, 0.8873, 0.9242, 0.9815, 1.0226],
    [0.2681, 0.3163, 0.3709, 0.4014, 0.4395, 0.4711, 0.5023, 0.5356, 0.5720, 0.6114,
     0.6583, 0.6881, 0.7278, 0.7921, 0.8469, 0.9080, 0.9499, 1.0371, 1.1149],
    [0.2749, 0.3248, 0.3747, 0.4032, 0.4436, 0.4785, 0.5121, 0.5455, 0.5800, 0.6188,
     0.6675, 0.6996, 0.7416, 0.8050, 0.8612, 0.9286, 0.9743, 1.0620, 1.1642],
    [0.2816, 0.3292, 0.3761, 0.4059, 0.4491, 0.4851, 0.5182, 0.5507, 0.5855, 0.6254,
     0.6753, 0.7078, 0.7499, 0.8143, 0.8728, 0.9410, 0.9883, 1.0813, 1.1905],
    [0.2885, 0.3317, 0.3808, 0.4132, 0.4575, 0.4929, 0.5258, 0.5591, 0.5948, 0.6355,
     0.6865, 0.7194, 0.7621, 0.8285, 0.8883, 0.9588, 1.0077, 1.1098, 1.2238],
    [0.2920, 0.3378, 0.3893, 0.4215, 0.4659, 0.5020, 0.5356, 0.5695, 0.6059, 0.6472,
     0.6990, 0.7328, 0.7766, 0.8448, 0.9072, 0.9813, 1.0331, 1.1391, 1.2648],
    [0.2963, 0.3436, 0.3958, 0.4285, 0.4734, 0.5099, 0.5440, 0.5782, 0.6149, 0.6568,
     0.7094, 0.7435, 0.7883, 0.8584, 0.9221, 0.9991, 1.0529, 1.1645, 1.3026],
    [0.3072, 0.3551, 0.4081, 0.4413, 0.4871, 0.5243, 0.5588, 0.5936, 0.6310, 0.6738,
     0.7275, 0.7625, 0.8085, 0.8803, 0.9461, 1.0261, 1.0830, 1.2020, 1.3522],
    [0.3179, 0.3657, 0.4192, 0.4527, 0.4988, 0.5362, 0.5711, 0.6063, 0.6439, 0.6871,
     0.7414, 0.7767, 0.8231, 0.8958, 0.9628, 1.0444, 1.1017, 1.2242, 1.3802],
    [0.3237, 0.3719, 0.4255, 0.4590, 0.5053, 0.5427, 0.5777, 0.6129, 0.6506, 0.6939,
     0.7483, 0.7838, 0.8303, 0.9038, 0.9710, 1.0521, 1.1098, 1.2317, 1.3879],
    [0.3284, 0.3769, 0.4306, 0.4641, 0.5105, 0.5480, 0.5830, 0.6182, 0.6560, 0.6994,
     0.7539, 0.7895, 0.8361, 0.9102, 0.9776, 1.0584, 1.1164, 1.2378, 1.3941],
])
# fmt: on


def normal(values: Floats, folder: Path | None = None) -> tuple[float, float]:
    """Test a variable for normality: Kolmogorov-Smirnov distance and P value (Lilliefors' test).

    D is the largest distance between the empirical distribution function and that of the normal distribution with the
    sample's mean and standard deviation (n - 1). As these are estimated, the usual Kolmogorov-Smirnov P would be far
    too large; the one given is that of Lilliefors (1967), interpolated in simulated quantiles of sqrt(n) D (for P
    above 0.001 within about 0.005; below 0.0001, extrapolated as exp(-c n D^2)).

    Missing values are left out. A constant is not normal: D = 0.5, P = 0. Fewer than four values are too few to tell:
    D = 0, P = 1. The test presumes a continuous variable: at large n it rejects every variable that is rounded or
    deviates from the normal curve by as little as 1/sqrt(n), whether or not this matters to a correlation. A long
    column is sorted in files of the ``folder``.

    >>> statistic, p = normal(np.array([148.0, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236]))
    >>> round(statistic, 4), 0.02 < p < 0.05
    (0.2592, True)
    """
    if folder is not None and len(values) > MAX_RECORDS_IN_MEMORY:
        return _normal_on_disk(values, folder)
    values = np.sort(values[~np.isnan(values)])  # from the smallest up
    n = len(values)
    if n < 4:
        return 0.0, 1.0
    exponent = np.frexp(max(abs(values[0]), abs(values[-1])))[1]
    values = np.ldexp(values, -exponent)
    mean, spread = (float(found[0]) for found in mean_and_spread(values[:, None]))
    if spread == 0:
        return 0.5, 0.0
    return _distance((values[start : start + AT_A_TIME] for start in range(0, n, AT_A_TIME)), n, mean, spread)


def _normal_on_disk(values: Floats, folder: Path) -> tuple[float, float]:
    """Test a long variable, whose values are sorted in files."""
    exponent = np.frexp(max(abs(np.fmin.reduce(values)), abs(np.fmax.reduce(values))))[1]
    mean, spread = mean_and_spread_of_long(values, exponent)
    runs = Runs(Workspace(MEMORY, folder), "a variable in order", len(values))
    for rows in stretches(len(values)):
        runs.add(np.ldexp(values[rows], -exponent))
    n = len(runs)
    if n < 4:
        found = 0.0, 1.0
    elif spread == 0:
        found = 0.5, 0.0
    else:
        found = _distance((piece for piece, _ in runs.merged()), n, mean, spread)
    runs.close()
    return found


def _distance(pieces: Iterable[Floats], n: int, mean: float, spread: float) -> tuple[float, float]:
    """Return the largest distance from the normal curve of values in ascending order, and its P value."""
    from scipy.special import ndtr

    statistic, start = 0.0, 0
    for piece in pieces:
        below = ndtr((piece - mean) / spread)
        steps = np.arange(start, start + len(below) + 1) / n
        statistic = max(statistic, float((steps[1:] - below).max()), float((below - steps[:-1]).max()))
        start += len(below)
    return statistic, _larger(statistic, n)


def _larger(statistic: float, n: int) -> float:
    """Return the probability of a larger distance in a sample of n from a normal distribution."""
    x = math.sqrt(n) * statistic
    place = -1 / np.sqrt(SIZES)
    quantiles = np.array([np.interp(-1 / math.sqrt(n), place, column) for column in QUANTILES.T])
    if x <= quantiles[0]:
        return float(1 - (1 - LARGER[0]) * x / quantiles[0])
    if x < quantiles[-1]:
        return float(np.exp(np.interp(x, quantiles, np.log(LARGER))))
    fall = math.log(LARGER[-2] / LARGER[-1]) / (quantiles[-1] ** 2 - quantiles[-2] ** 2)
    return float(LARGER[-1] * math.exp(-fall * (x**2 - quantiles[-1] ** 2)))
