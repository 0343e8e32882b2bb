"""The terms of a logistic model: powers and products of the variables, built a block of records at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.utility.propensity.pooled import Codes, Floats, Pooled, standardised

Degree = Literal["first", "products", "second", "paper II"]
BLOCK = 4_096  # records built at a time: a megabyte for 30 terms, which stays in the cache
MOST_TERMS = 2_000


@dataclass(frozen=True)
class Column:
    """One standardised number, or the indicator (0 or 1) of one category."""

    variable: str
    source: Floats | Codes
    level: int | None = None  # the category whose indicator this is
    two_valued: bool = False  # its square is a combination of itself and the constant
    offset: float = 0.0  # mean over standard deviation of the values before they were standardised

    def values(self, rows: slice) -> Floats:
        """Return the column's values in these rows."""
        values = self.source[rows] if self.level is None else self.source[rows] == self.level
        return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True)
class Term:
    """A product of columns, given by their places; ``squares`` is the product of the squares of two."""

    columns: tuple[int, ...]
    squares: bool = False


@dataclass(frozen=True)
class Design:
    """The terms of a model over the pooled records; the first is the constant 1, a product of no columns."""

    columns: tuple[Column, ...]
    terms: tuple[Term, ...]
    rows: int

    def __len__(self) -> int:
        return len(self.terms)

    def only(self, places: NDArray[np.intp]) -> "Design":
        """Return the design with these terms."""
        return Design(self.columns, tuple(self.terms[place] for place in places), self.rows)

    def on(self, sources: Sequence[Floats | Codes], rows: int) -> "Design":
        """Return the design over other records, of which these are the columns."""
        columns = (replace(column, source=source) for column, source in zip(self.columns, sources, strict=True))
        return Design(tuple(columns), self.terms, rows)

    @property
    def orders(self) -> NDArray[np.intp]:
        """The order of each term: how many columns are multiplied in it."""
        return np.array([len(term.columns) * (2 if term.squares else 1) for term in self.terms])

    def with_variable(self, name: str) -> NDArray[np.bool_]:
        """Tell which terms a variable has a part in."""
        return np.array([any(self.columns[c].variable == name for c in term.columns) for term in self.terms])

    def name(self, place: int) -> str:
        """Spell a term out."""
        term = self.terms[place]
        return " x ".join(self.columns[c].variable for c in term.columns * (2 if term.squares else 1))

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of records and their terms, a row for each term; the array is used again for the next block."""
        size = min(self.rows, BLOCK)
        held = np.empty((len(self.terms), size))
        used = sorted({column for term in self.terms for column in term.columns})
        for start in range(0, self.rows, size):
            rows = slice(start, min(start + size, self.rows))
            block = held[:, : rows.stop - start]
            values = {column: self.columns[column].values(rows) for column in used}
            for row, term in zip(block, self.terms, strict=True):
                self._fill(row, term, values)
            yield rows, block

    def _fill(self, row: Floats, term: Term, values: dict[int, Floats]) -> None:
        if not term.columns:
            row[:] = 1.0
            return
        row[:] = values[term.columns[0]]
        for column in term.columns[1:]:
            row *= values[column]
        if term.squares:
            # (x + a)^2 (y + b)^2 less what other terms hold: the square's product of the values as they are, not as
            # they are standardised, without the loss of digits that values far from zero would bring
            first, second = (self.columns[column] for column in term.columns)
            x, y = (values[column] for column in term.columns)
            row *= row + 2 * second.offset * x + 2 * first.offset * y


def design(pooled: Pooled, degree: Degree) -> Design:
    """Build the model: first order; that and the products of two variables; all of second order; or that and more.

    All of second order is (3.1) of the paper for any p, with squares' products and cubes it is (3.2).

    Nominal variables enter as the indicators of all their categories but the first. Columns of one variable are not
    multiplied with each other, and a column of two values has no powers: both would repeat other terms.
    """
    columns: list[Column] = []
    for number in pooled.numbers:
        values, mean, spread = standardised(number.values, pooled.weights)
        if spread > 0:
            low, high = values.min(), values.max()
            two_valued = bool(((values == low) | (values == high)).all())
            columns.append(Column(number.variable, values, None, two_valued=two_valued, offset=mean / spread))
    for category in pooled.categories:
        columns += [
            Column(category.variable, category.codes, level, two_valued=True) for level in range(1, category.count)
        ]
    order = {name: place for place, name in enumerate(pooled.names)}
    columns.sort(key=lambda column: order[column.variable])
    return arranged(columns, degree, len(pooled))


def arranged(columns: Sequence[Column], degree: Degree, rows: int) -> Design:
    """Build the model of columns that stand in the order of their variables."""
    _check_size(columns, degree)
    return Design(tuple(columns), (Term(()), *_terms(columns, degree)), rows)


def _terms(columns: Sequence[Column], degree: Degree) -> Iterator[Term]:
    places = range(len(columns))
    yield from (Term((i,)) for i in places)
    if degree == "first":
        return
    curved = [i for i in places if not columns[i].two_valued]
    pairs = [(i, j) for i, j in combinations(places, 2) if columns[i].variable != columns[j].variable]
    if degree != "products":
        yield from (Term((i, i)) for i in curved)
    yield from (Term(pair) for pair in pairs)
    if degree in ("products", "second"):
        return
    yield from (Term((i, j), squares=True) for i, j in pairs if i in curved or j in curved)
    yield from (Term((i, i, i)) for i in curved)


def _check_size(columns: Sequence[Column], degree: Degree) -> None:
    """Refuse a model whose terms nobody could count, before they are listed."""
    count = len(columns) if degree == "first" else len(columns) * (len(columns) + 1) // 2
    if count > MOST_TERMS:
        variables = [column.variable for column in columns]
        largest = max(set(variables), key=variables.count)
        raise NotApplicable(
            f"the logistic model would have about {count:,} terms, more than {MOST_TERMS:,} "
            f"({largest!r} alone takes {variables.count(largest):,} columns); choose variables, or model='tree'"
        )
