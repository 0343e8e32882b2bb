"""Statistics that merge: each is made of a part of the records, and two of them come together to that of both parts."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.kernels.agreement import own_sums
from sfumato.kernels.groups import class_sums, class_totals, classes, first_in_order, first_records, some_rows
from sfumato.kernels.spread import ROUNDING
from sfumato.pair.files import MemoryAndFolder, NumbersInFile

S = TypeVar("S", bound="Statistic")
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
WholeNumbers = NDArray[np.integer]
Codes = NDArray[np.int32]

AT_ONCE = 16 * 2**20  # bytes of statistics that are merged at once
MAX_TABULATED_NUMBERS = 2**16  # whole numbers that are counted in a table of them all
# combinations that are counted in a table of them all, however few records there are
MAX_TABULATED_COMBINATIONS = 2**16
SHARE_OF_CLASSES = 8  # of the memory, one part in so many is for the combinations of keys
FILES = 64  # for those that are more


class Statistic(ABC):
    """A figure, or a few, of a part of the records, from which that of all parts can be put together.

    A statistic has a class method ``of`` that makes it of a part. ``merge`` knows, alone, how two parts come together.
    The law: in whatever way records are cut into parts, the merged statistic is that of all records; counts are equal,
    sums agree but for the rounding of additions in another order.
    """

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Return the statistic of this part and of another together."""

    @classmethod
    def together(cls, statistics: Sequence[Self]) -> Self:
        """Merge several statistics, in their order; where that is cheaper at once, a class says so."""
        return reduce(lambda one, other: one.merge(other), statistics)

    @classmethod
    def gathering(cls, room: MemoryAndFolder | None) -> "Gathering[Any]":  # noqa: ARG003 - for classes that go to files
        """Return what merges statistics of this class as they come."""
        return Gathering()

    def summary(self) -> Self:
        """Return what goes from a part to the whole; what is said of single records stays behind."""
        return self

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(entry.nbytes for entry in vars(self).values() if isinstance(entry, np.ndarray))


class Gathering(Generic[S]):
    """Merges statistics as they come, in their order: many small ones at once, and never more than is there already.

    So each is touched a few times at most, however many parts there are.
    """

    def __init__(self) -> None:
        self._held: list[S] = []
        self._bytes = self._first = 0

    def add(self, statistic: S) -> None:
        """Take the statistic of the next part."""
        if not self._held:
            self._first = statistic.nbytes
        else:
            self._bytes += statistic.nbytes
        self._held.append(statistic)
        if len(self._held) > 1 and self._bytes > max(AT_ONCE, self._first):
            self._fold()

    @property
    def nbytes(self) -> int:
        """The memory that is taken so far."""
        return self._first + self._bytes

    def result(self) -> S:
        """Return the statistic of all parts so far."""
        return self._fold()

    def _fold(self) -> S:
        if len(self._held) > 1:
            self._held = [type(self._held[0]).together(self._held)]
        self._first, self._bytes = self._held[0].nbytes, 0
        return self._held[0]


def merged(statistics: Iterable[S | None], room: MemoryAndFolder | None = None) -> S:
    """Merge the statistics of parts, in the order of the parts; what does not fit into the room goes to files.

    Parts of which there is nothing to say, None, are left out.
    """
    gathering: Gathering[S] | None = None
    for statistic in statistics:
        if statistic is not None:
            gathering = gathering or statistic.gathering(room)
            gathering.add(statistic)
    if gathering is None:
        raise DataError("the table has no records")
    return gathering.result()


@dataclass(frozen=True, eq=False)
class Sums(Statistic):
    """Named sums over records: numbers or arrays that add up from part to part.

    >>> one, two = Sums({"n": 2.0, "x": np.array([1.0, 5.0])}), Sums({"n": 3.0, "x": np.array([0.0, 2.0])})
    >>> one.merge(two)["n"], one.merge(two)["x"].tolist()
    (5.0, [1.0, 7.0])
    """

    named: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.named[name]

    def merge(self, other: Self) -> Self:
        """Add name by name."""
        return type(self)({name: value + other.named[name] for name, value in self.named.items()})

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(value.nbytes for value in self.named.values() if isinstance(value, np.ndarray))


def distinct_sums(keys: NDArray[Any], *sums: NDArray[Any]) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Return the different keys in ascending order, and of each array the sums over the entries of equal keys."""
    found, place = np.unique(keys, return_inverse=True)
    added: list[NDArray[Any]] = []
    for values in sums:
        total = np.zeros(len(found), dtype=values.dtype)
        np.add.at(total, place, values)
        added.append(total)
    return found, added


def _counted(numbers: Floats) -> tuple[Floats, Integers]:
    """Return the different numbers in ascending order, and how often each occurs."""
    if len(numbers) > MAX_TABULATED_NUMBERS // 16:
        low, high = float(numbers.min()), float(numbers.max())
        if high - low < min(MAX_TABULATED_NUMBERS, len(numbers)) and np.array_equal(numbers, np.floor(numbers)):
            table = np.bincount((numbers - low).astype(np.int64))
            there = np.flatnonzero(table)
            return low + there.astype(np.float64), table[there]
    values, counts = np.unique(numbers, return_counts=True)
    return values, counts


@dataclass(frozen=True, eq=False)
class Values(Statistic):
    """The different values in ascending order, the records that have each, and the sum of their weights.

    ``missing`` counts the records without a value. Ranks, quantiles and distribution functions follow from it without
    a further look at the records. It takes as much memory as there are different values.

    >>> found = Values.of(np.array([3.0, 1.0, np.nan, 3.0]))
    >>> found.values.tolist(), found.counts.tolist(), found.missing
    ([1.0, 3.0], [1, 2], 1)
    >>> found.merge(Values.of(np.array([2.0, 3.0]))).counts.tolist()
    [1, 1, 3]
    """

    values: Floats
    counts: Integers
    missing: int
    weights: Floats | None = None  # the sums of weights; None: every record counts one

    @classmethod
    def of(cls, numbers: Floats, weights: Floats | None = None) -> Self:
        """Count numbers, NaN for missing."""
        absent = np.isnan(numbers)
        missing = int(absent.sum())
        present = numbers[~absent] if missing else numbers
        if weights is None:
            values, counts = _counted(present)
            return cls(values, counts.astype(np.int64, copy=False), missing)
        values, place, counts = np.unique(present, return_inverse=True, return_counts=True)
        own = np.bincount(place, weights[~absent] if missing else weights, minlength=len(values))
        return cls(values, counts.astype(np.int64), missing, np.asarray(own, dtype=np.float64))

    def merge(self, other: Self) -> Self:
        """Add the counts of equal values."""
        return self.together((self, other))

    @classmethod
    def together(cls, statistics: Sequence[Self]) -> Self:
        """Add the counts of equal values, of all parts at once."""
        values = np.concatenate([part.values for part in statistics])
        counts = np.concatenate([part.counts for part in statistics])
        missing = sum(part.missing for part in statistics)
        weights = [part.weights for part in statistics if part.weights is not None]
        if len(weights) < len(statistics):
            found, (added,) = distinct_sums(values, counts)
            return cls(found, added, missing)
        found, (added, own) = distinct_sums(values, counts, np.concatenate(weights))
        return cls(found, added, missing, own)

    @property
    def present(self) -> int:
        """How many records have a value."""
        return int(self.counts.sum())

    @cached_property
    def upto(self) -> Integers:
        """How many records have each value or a smaller one."""
        return np.cumsum(self.counts)

    @property
    def whole(self) -> bool:
        """Whether every value is a whole number."""
        return bool(np.array_equal(self.values, np.round(self.values)))

    def below(self, numbers: Floats) -> Integers:
        """Return how many records have a smaller value than each of these numbers."""
        return self._before[np.searchsorted(self.values, numbers, "left")]

    def not_above(self, numbers: Floats) -> Integers:
        """Return how many records have each of these numbers or a smaller value."""
        return self._before[np.searchsorted(self.values, numbers, "right")]

    @cached_property
    def _before(self) -> Integers:
        return np.concatenate([np.zeros(1, dtype=np.int64), self.upto])

    def ranks(self, numbers: Floats) -> Floats:
        """Return the rank of numbers among the records, from 0; values that tie share the mean of their ranks."""
        ranks: Floats = (self.below(numbers) + self.not_above(numbers) - 1) / 2
        return ranks

    def at_rank(self, ranks: Integers) -> Floats:
        """Return the value of the record with each rank from 0, in ascending order."""
        found: Floats = self.values[np.searchsorted(self.upto, ranks, "right")]
        return found

    def quantiles(self, shares: Floats) -> Floats:
        """Return the quantiles, between two values by linear interpolation, as numpy does; NaN if there is no value.

        >>> Values.of(np.array([1.0, 2.0, 4.0])).quantiles(np.array([0.0, 0.75]))
        array([1., 3.])
        """
        if not self.present:
            return np.full(len(shares), np.nan)
        place = (self.present - 1) * shares
        rank = np.floor(place).astype(np.int64)
        part = place - rank
        low, high = self.at_rank(rank), self.at_rank(np.minimum(rank + 1, self.present - 1))
        gap = high - low
        found: Floats = np.where(part < 0.5, low + gap * part, high - gap * (1 - part))
        return found


@dataclass(frozen=True, eq=False)
class Moments(Statistic):
    """Sums over records of some numeric variables, about a centre near their means.

    Entry (j, k) of ``counts`` counts the records that have both j and k. Over these, ``sums`` has the sum of x_j -
    centre_j, ``squares`` that of its square, ``products`` that of the product with x_k - centre_k. ``low`` and ``high``
    are the smallest and largest value, ``sizes`` the sum of |x_j|. Merging moves both parts to one centre first (Chan,
    Golub and LeVeque 1983), so that nothing is lost by cancellation.
    """

    centre: Floats
    counts: Floats
    sums: Floats
    squares: Floats
    products: Floats
    low: Floats
    high: Floats
    sizes: Floats

    @classmethod
    def of(cls, values: Floats) -> Self:
        """Sum up an n x p array of numbers, NaN for missing."""
        present = ~np.isnan(values)
        whole = bool(present.all())
        counts = present.sum(axis=0)
        low = (values if whole else np.where(present, values, np.inf)).min(axis=0, initial=np.inf)
        high = (values if whole else np.where(present, values, -np.inf)).max(axis=0, initial=-np.inf)
        with np.errstate(over="ignore", invalid="ignore"):  # too large for a sum: an infinite spread says so
            filled = values if whole else np.where(present, values, 0.0)
            mean = filled.sum(axis=0) / np.maximum(counts, 1)
            centre = np.where(low == high, low, mean)
            x = values - centre if whole else np.where(present, values - centre, 0.0)
            products, sizes = x.T @ x, np.abs(filled).sum(axis=0)
            if whole:
                ones = np.ones_like(products)
                both, sums, squares = (
                    len(values) * ones,
                    x.sum(axis=0)[:, None] * ones,
                    np.diag(products)[:, None] * ones,
                )
            else:
                there = present.astype(np.float64)
                both, sums, squares = there.T @ there, x.T @ there, (x**2).T @ there
        return cls(centre, both, sums, squares, products, low, high, sizes)

    def merge(self, other: Self) -> Self:
        """Add the sums about the mean of both."""
        own, theirs = np.diag(self.counts), np.diag(other.counts)
        share = theirs / np.maximum(own + theirs, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            centre = self.centre + (other.centre - self.centre) * share
            counts, sums, squares, products = (
                one + two for one, two in zip(self._about(centre), other._about(centre), strict=True)
            )
            return type(self)(
                centre,
                counts,
                sums,
                squares,
                products,
                np.minimum(self.low, other.low),
                np.maximum(self.high, other.high),
                self.sizes + other.sizes,
            )

    def _about(self, centre: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return counts, sums, squares and products about another centre."""
        d = centre - self.centre
        n, s = self.counts, self.sums
        sums = s - d[:, None] * n
        squares = self.squares - 2 * d[:, None] * s + (d**2)[:, None] * n
        products = self.products - d[:, None] * s.T - s * d + np.outer(d, d) * n
        return n, sums, squares, products

    @property
    def present(self) -> Floats:
        """How many records have each variable."""
        return np.asarray(np.diag(self.counts))

    @cached_property
    def mean(self) -> Floats:
        """The mean of each variable: NaN without a value, and exactly the value of a constant."""
        mean = self.centre + np.diag(self.sums) / np.maximum(self.present, 1.0)
        return np.where(self.present == 0, np.nan, np.where(self.low == self.high, self.low, mean))

    @property
    def size(self) -> Floats:
        """The mean of |x| of each variable: a difference of means that is small beside it may be rounding alone."""
        return self.sizes / np.maximum(self.present, 1.0)

    @cached_property
    def spread(self) -> Floats:
        """The standard deviation (n - 1) of each variable; what rounding leaves of a constant is no spread.

        Values too large to be squared have an infinite spread.
        """
        n = self.present
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.diag(self.squares) - np.diag(self.sums) ** 2 / np.maximum(n, 1.0)
            squares = np.where(np.isnan(squares), np.inf, np.maximum(squares, 0.0))
            spread = np.sqrt(squares / np.maximum(n - 1, 1.0))
        constant = (self.low == self.high) | (n < 2)
        size = np.where(n > 0, np.maximum(np.abs(self.low), np.abs(self.high)), 0.0)
        return np.where(constant | (spread <= ROUNDING * size), 0.0, spread)

    @cached_property
    def covariances(self) -> Floats:
        """The covariances (n - 1), each over the records that have both; one that is but rounding is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = (self.products - self.sums * self.sums.T / self.counts) / (self.counts - 1)
        found = np.where(self.counts > 1, found, np.nan)
        mean, spread = np.abs(self.mean), self.spread
        apart = np.outer(spread, spread) + np.outer(mean, spread) + np.outer(spread, mean)
        dust = (np.abs(found) <= ROUNDING * apart) | (np.outer(spread, spread) == 0)
        return np.where(dust & ~np.isnan(found), 0.0, found)

    @cached_property
    def correlations(self) -> Floats:
        """The correlations, each over the records that have both; NaN where a variable is constant there."""
        varies = self.spread > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            products = self.products - self.sums * self.sums.T / self.counts
            spread = self.squares - self.sums**2 / self.counts  # of j over the records that also have k
            spread = np.where(spread > 1e-12 * self.squares, spread, 0.0)
            found = products / np.sqrt(spread * spread.T)
        found[~varies], found[:, ~varies] = np.nan, np.nan
        return np.clip(np.where(np.isfinite(found), found, np.nan), -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class CrossProducts(Statistic):
    """The sum of the weights, the means of columns, and the sums of products of their deviations from the means.

    Parts are centred on their own means and then merged (Chan, Golub and LeVeque 1983), so that nothing is lost by
    cancellation.

    >>> one, two = CrossProducts.of(np.array([[0.0], [2.0]])), CrossProducts.of(np.array([[4.0], [6.0], [8.0]]))
    >>> one.merge(two).means.tolist(), one.merge(two).products.tolist()
    ([4.0], [[40.0]])
    """

    weight: float
    means: Floats
    products: Floats

    @classmethod
    def of(cls, values: Floats, weights: Floats | None = None) -> Self:
        """Sum up an n x p array of one record or more without gaps; without weights every record counts one."""
        if weights is None:
            means = values.mean(axis=0)
            centred = values - means
            return cls(float(len(values)), means, centred.T @ centred)
        weight = float(weights.sum())
        means = weights @ values / weight
        centred = values - means
        centred *= np.sqrt(weights)[:, None]
        return cls(weight, means, centred.T @ centred)

    def merge(self, other: Self) -> Self:
        """Add the products about the common means."""
        weight, apart = self.weight + other.weight, other.means - self.means
        products = self.products + other.products + np.outer(apart, apart) * (self.weight * other.weight / weight)
        return type(self)(weight, self.means + apart * (other.weight / weight), products)


@dataclass(frozen=True, eq=False)
class Triangle(Statistic):
    """The triangular factor R of columns, R'R being their products: slower than the products, but no digits are lost.

    >>> Triangle.of(np.array([[3.0], [0.0]])).merge(Triangle.of(np.array([[4.0]]))).factor.round(9).tolist()
    [[-5.0]]
    """

    factor: Floats

    @classmethod
    def of(cls, values: Floats) -> Self:
        """Factor an array of columns."""
        return cls(triangular(values))

    def merge(self, other: Self) -> Self:
        """Factor both factors, one upon the other."""
        return type(self)(triangular(np.vstack([self.factor, other.factor])))


def triangular(matrix: Floats) -> Floats:
    """Return R of the matrix's QR decomposition."""
    found: Any = np.linalg.qr(matrix, mode="r")
    return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Crosstab(Statistic):
    """The combinations of two coded variables that occur, in ascending order, and the records that have each.

    >>> found = Crosstab.of(np.array([0, 1, 1]), np.array([2, 0, 0]))
    >>> found.rows.tolist(), found.columns.tolist(), found.counts.tolist()
    ([0, 1], [2, 0], [1, 2])
    """

    rows: WholeNumbers
    columns: WholeNumbers
    counts: Integers

    @classmethod
    def of(cls, rows: WholeNumbers, columns: WholeNumbers, counts: Integers | None = None) -> Self:
        """Count the combinations of two columns of codes; each entry is one record, or as many as ``counts`` says."""
        if not len(rows):
            return cls(rows, columns, np.empty(0, dtype=np.int64))
        least = int(rows.min()), int(columns.min())
        width = int(columns.max()) - least[1] + 1
        pairs = (rows.astype(np.int64) - least[0]) * width + (columns - least[1])
        number = (int(rows.max()) - least[0] + 1) * width
        if number <= max(4 * len(pairs), MAX_TABULATED_COMBINATIONS):
            table = np.bincount(pairs, weights=counts, minlength=number)
            found = np.flatnonzero(table)
            summed = table[found].astype(np.int64)
        elif counts is None:
            found, summed = np.unique(pairs, return_counts=True)
        else:
            found, (summed,) = distinct_sums(pairs, counts)
        row, column = np.divmod(found, width)
        return cls(row + least[0], column + least[1], summed.astype(np.int64, copy=False))

    def merge(self, other: Self) -> Self:
        """Add the counts of equal combinations."""
        joined: list[Any] = [
            np.concatenate([one, two])
            for one, two in zip(
                (self.rows, self.columns, self.counts), (other.rows, other.columns, other.counts), strict=True
            )
        ]
        return self.of(joined[0], joined[1], joined[2])


@dataclass(frozen=True, eq=False)
class UnitSums(Statistic):
    """The households in ascending order, the sum of a figure over the members of each, and how many they are.

    ``alone`` has the figures of the records whose household is missing: each is a unit of its own.

    >>> one = UnitSums.of(np.array([1, 0, 2]), np.array([9.0, 4.0, np.nan]), np.array([0.5, 1.0, 2.0]))
    >>> found = one.merge(UnitSums.of(np.array([0]), np.array([9.0]), np.array([3.0])))
    >>> found.households.tolist(), found.sums.tolist(), found.members.tolist(), found.alone.tolist()
    ([4.0, 9.0], [1.0, 3.5], [1, 2], [2.0])
    """

    households: NDArray[Any]
    sums: Floats
    members: Integers
    alone: Floats

    @classmethod
    def of(cls, unit: Integers, household: NDArray[Any], figures: Floats) -> Self:
        """Sum up figures of records, given the number of each one's unit (``data.units``) and its household."""
        present = household >= 0 if household.dtype.kind == "i" else ~np.isnan(household)
        number = int(unit[present].max(initial=-1)) + 1
        households = np.empty(number, dtype=household.dtype)
        households[unit[present]] = household[present]
        sums = np.asarray(np.bincount(unit, weights=figures, minlength=number), dtype=np.float64)
        return cls(households, sums[:number], np.bincount(unit, minlength=number)[:number], sums[number:])

    def merge(self, other: Self) -> Self:
        """Add the sums of equal households."""
        households, (sums, members) = distinct_sums(
            *(
                np.concatenate([one, two])
                for one, two in zip(
                    (self.households, self.sums, self.members),
                    (other.households, other.sums, other.members),
                    strict=True,
                )
            )
        )
        return type(self)(households, sums, members, np.concatenate([self.alone, other.alone]))


@dataclass(frozen=True, eq=False)
class KeyClasses(Statistic):
    """The different combinations of key values, with -1, a missing value, counted as a value of its own.

    One rule for missing keys: a missing value may be any value, so it agrees with every other. A record then counts
    those that could be it (Hundepool et al. 2012; sdcMicro counts so too): suppressing a value never makes a record
    rarer.

    ``cells`` holds the codes of each combination, ``sizes`` the records that have it, ``weights`` the sum of their
    weights (None: every record weighs one). ``cell_of`` tells the combination of each record of a table in memory; of
    merged parts it is None, because the records are gone.
    """

    cells: Codes
    sizes: Integers
    weights: Floats | None = None
    cell_of: Integers | None = None

    @classmethod
    def of(cls, codes: Codes, weights: Floats | None = None) -> Self:
        """Put records with these key values into classes."""
        cell_of, sizes = classes(codes)
        own = None if weights is None else class_sums(cell_of, weights, len(sizes))
        return cls(some_rows(codes, first_records(cell_of)), sizes, own, cell_of)

    @classmethod
    def of_part(cls, codes: Codes, weights: Floats | None = None) -> Self:
        """Count the combinations of the records of a part, without telling which record has which."""
        found, (sizes, *own) = class_totals(codes, [None] if weights is None else [None, weights])
        return cls(found.astype(np.int32, copy=False), sizes.astype(np.int64, copy=False), *own)

    def merge(self, other: Self) -> Self:
        """Add sizes and weights of equal combinations."""
        return self.together((self, other))

    @classmethod
    def together(cls, statistics: Sequence[Self]) -> Self:
        """Add sizes and weights of equal combinations, of all parts at once."""
        cells = np.concatenate([part.cells.T for part in statistics], axis=1).T
        figures = [np.concatenate([part.sizes for part in statistics])]
        weights = [part.weights for part in statistics if part.weights is not None]
        if len(weights) == len(statistics):
            figures.append(np.concatenate(weights))
        found, (sizes, *own) = class_totals(cells, figures)
        return cls(found.astype(np.int32, copy=False), sizes, *own)

    @classmethod
    def gathering(cls, room: MemoryAndFolder | None) -> Gathering[Any]:
        """Return what merges classes as they come, in files where there are too many."""
        return ClassGathering(room)

    def summary(self) -> Self:
        """Return the combinations without the records."""
        return type(self)(self.cells, self.sizes, self.weights)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.sizes.sum())

    @cached_property
    def complete(self) -> bool:
        """Whether no key is missing, so that combinations are classes."""
        return bool(self.cells.min(initial=0) >= 0)

    @cached_property
    def counts(self) -> Integers:
        """How many records agree with each combination, where a missing value agrees with every other."""
        return self.sizes if self.complete else np.rint(self.agreeing(self.sizes.astype(np.float64))).astype(np.int64)

    def agreeing(self, sums: Floats) -> Floats:
        """Return, for each combination, the sum over the combinations that agree with it, itself included."""
        return sums if self.complete else own_sums(self.cells, sums)

    def share(self, cells: NDArray[np.bool_]) -> float:
        """Return the share of records in some of the combinations."""
        return float(self.sizes[cells].sum() / self.records)

    def mean(self, values: Floats) -> float:
        """Return the mean over records of what is said of each combination."""
        return float((values * self.sizes).sum() / self.records)

    def by_record(self, values: NDArray[np.generic]) -> Floats | None:
        """Spread what is said of each combination over the records; None where they are not in memory."""
        return None if self.cell_of is None else values[self.cell_of].astype(np.float64, copy=False)

    def rarest(self, most: int) -> NDArray[np.intp]:
        """Return the combinations that fewest records agree with, ties in the order of their codes."""
        return self.first((self.counts,), most)

    def first(self, columns: Sequence[NDArray[Any]], most: int) -> NDArray[np.intp]:
        """Return the first combinations in the order of some figures, ties in the order of their codes."""
        return first_in_order((*columns, *self.cells.T), most)

    def located(self, codes: Codes) -> Integers:
        """Return the combination of each record of a part, whose combinations are all among these."""
        return classes(np.concatenate([self.cells, codes]))[0][len(self) :]  # these are different, so numbered first

    def of_keys(self, columns: Sequence[int]) -> Self:
        """Return the combinations of some of the keys, and how many records have each."""
        cells = self.cells.T[list(columns)].T
        place, _ = classes(cells)
        first = first_records(place)
        sizes = np.bincount(place, weights=self.sizes, minlength=len(first)).astype(np.int64)
        return type(self)(some_rows(cells, first), sizes)


class ClassGathering(Gathering[KeyClasses]):
    """Merges key classes as they come: in memory as long as they are few, from then on in files.

    A class goes to the file of the hash of its keys, so that all that is counted of it meets there. What comes out lies
    in files too, mapped into memory.
    """

    def __init__(self, room: MemoryAndFolder | None) -> None:
        super().__init__()
        self._room = room
        self._files: list[_ClassFile] = []

    def add(self, statistic: KeyClasses) -> None:
        """Take the classes of the next part."""
        if self._files:
            self._put_into_files(statistic)
            return
        super().add(statistic)
        if self._room is None:
            return
        # as many with weights as without, so that both go to files alike
        most = self._room.memory // SHARE_OF_CLASSES // (4 * statistic.cells.shape[1] + 16)
        if sum(len(held) for held in self._held) > most and len(whole := self._fold()) > most:
            self._files = [_ClassFile(self._room.folder, whole) for _ in range(FILES + 1)]
            self._held = []
            self._put_into_files(whole)

    def result(self) -> KeyClasses:
        """Return the classes of all parts."""
        if not self._files:
            return super().result()
        *some, whole = self._files
        for file in some:
            if len(file.sizes):
                whole.add(KeyClasses.together((file.classes(),)))
            file.close()
        return whole.classes(mapped=True)

    def _put_into_files(self, classes: KeyClasses) -> None:
        hashed = np.zeros(len(classes), dtype=np.uint64)
        for column in classes.cells.T:
            hashed ^= column.astype(np.int64).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
            hashed *= np.uint64(0xBF58476D1CE4E5B9)
            hashed ^= hashed >> np.uint64(31)
        number = hashed % np.uint64(FILES)
        order = np.argsort(number, kind="stable")
        ends = np.searchsorted(number[order], np.arange(FILES + 1, dtype=np.uint64))
        for file, start, stop in zip(self._files, ends, ends[1:], strict=False):
            rows = order[start:stop]
            weights = None if classes.weights is None else classes.weights[rows]
            file.add(KeyClasses(classes.cells[rows], classes.sizes[rows], weights))


class _ClassFile:
    """Key classes in files without a name."""

    def __init__(self, folder: Path, like: KeyClasses) -> None:
        what = "key classes that do not fit into memory"
        self.keys = like.cells.shape[1]
        self.cells, self.sizes = NumbersInFile(folder, np.int32, what), NumbersInFile(folder, np.int64, what)
        self.weights = None if like.weights is None else NumbersInFile(folder, np.float64, what)

    def add(self, classes: KeyClasses) -> None:
        """Write classes behind those that are there."""
        self.cells.append(classes.cells.ravel())
        self.sizes.append(classes.sizes)
        if self.weights is not None and classes.weights is not None:
            self.weights.append(classes.weights)

    def classes(self, *, mapped: bool = False) -> KeyClasses:
        """Return all classes, read or mapped."""
        cells, sizes, weights = (
            None if file is None else file.mapped() if mapped else file.read(0, len(file))
            for file in (self.cells, self.sizes, self.weights)
        )
        assert cells is not None and sizes is not None
        table = cells.reshape(-1, self.keys)
        return KeyClasses(table if mapped else np.asfortranarray(table), sizes, weights)

    def close(self) -> None:
        """Give the files back to the disk."""
        for file in (self.cells, self.sizes, self.weights):
            if file is not None:
                file.close()
