"""Sufficient statistics of many columns in one pass over the records, and the triangular factor of a model.

Every linear model among the columns is solved from one centred matrix of products. Where that would lose digits (the
matrix squares the condition number), the factor comes from a second pass of QR steps over blocks instead, which does
not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.data.microdata import Floats
from sfumato.errors import NotApplicable
from sfumato.pair.statistics import CrossProducts, Triangle, triangular
from sfumato.utility.models.design import Column, Design
from sfumato.utility.models.rows import Block, Rows

LEAST_PIVOT = 1e-3  # below it (a variance inflation of a million) products have lost too many digits
COLLINEAR = 1e-10  # a column whose remainder is this small beside it is a combination of the others
CONSTANT = 1e-13


def filled(block: Block, columns: Sequence[Column]) -> Floats:
    """Return the columns of a block side by side."""
    values = np.empty((len(block), len(columns)), order="F")
    for j, column in enumerate(columns):
        found = column.values(block)
        values[:, j] = 1.0 if found is None else found
    return values


@dataclass(frozen=True, eq=False)
class Sufficient:
    """Means and centred sums of products of columns; weights sum to the number of records."""

    rows: Rows
    columns: tuple[Column, ...]
    found: CrossProducts

    @classmethod
    def of(cls, rows: Rows, columns: tuple[Column, ...]) -> "Sufficient":
        """Gather them in one pass; they are kept with the table, for other measures."""
        found = rows.half.keep(
            ("cross-products", rows.holed, columns),
            lambda: rows.total(lambda block: CrossProducts.of(filled(block, columns), block.weights())),
        )
        return cls(rows, columns, found)

    @cached_property
    def place(self) -> dict[Column, int]:
        """Where each column is."""
        return {column: j for j, column in enumerate(self.columns)}

    @property
    def means(self) -> Floats:
        """The means of the columns."""
        return self.found.means

    @property
    def products(self) -> Floats:
        """The sums of products of the columns' deviations from their means."""
        return self.found.products

    def factor(self, design: Design) -> Floats:
        """Return the triangular factor of the columns 1, the design's without the constant, and the response."""
        columns = [column for column in design.columns if column.parts] + [design.response]
        chosen = [self.place[column] for column in columns]
        means, products = self.means[chosen], self.products[np.ix_(chosen, chosen)]
        spread = np.sqrt(np.diag(products))
        factor = np.zeros((len(columns) + 1,) * 2)
        root = np.sqrt(float(self.rows.count))
        factor[0, 0], factor[0, 1:] = root, root * means
        factor[1:, 1:] = self._spread_factor(columns, means, products, spread)
        return factor

    def _spread_factor(self, columns: list[Column], means: Floats, products: Floats, spread: Floats) -> Floats:
        if (spread > 0).all():
            try:
                root = np.linalg.cholesky(products / np.outer(spread, spread))
            except np.linalg.LinAlgError:
                pass
            else:
                if np.diag(root).min() > LEAST_PIVOT:
                    return root.T * spread
        return self._by_blocks(columns, means)

    def _by_blocks(self, columns: list[Column], means: Floats) -> Floats:

        def of(block: Block) -> Triangle:
            values, weights = filled(block, columns) - means, block.weights()
            if weights is not None:
                values *= np.sqrt(weights)[:, None]
            return Triangle.of(values)

        factor = self.rows.total(of).factor
        padded = np.zeros((len(columns),) * 2)
        padded[: len(factor)] = factor
        return padded


def triangle(factor: Floats, design: Design, rows: Rows) -> Floats:
    """Return the triangular factor of the design's columns and the response; refuse what cannot be estimated.

    Its last entry, squared, is the residual sum of squares.
    """
    here, count = f"in the {rows.label} table", len(design.columns)
    matrix = factor if design.intercept else factor[:, 1:]
    varied = np.linalg.norm(factor[1:, 1:], axis=0)
    sizes = np.linalg.norm(factor[:, 1:], axis=0)
    if varied[-1] <= CONSTANT * sizes[-1]:
        raise NotApplicable(f"{design.where}: the response {design.response.name!r} is constant {here}")
    found = triangular(matrix)
    offset = int(design.intercept)
    for j in range(offset, count):
        name, pivot = design.names[j], abs(found[j, j])
        scale = varied[j - offset] if design.intercept else sizes[j]
        if design.intercept and scale <= CONSTANT * sizes[j - offset]:
            raise NotApplicable(f"{design.where}: the term {name!r} is constant {here}")
        if scale == 0 or pivot <= COLLINEAR * scale:
            others = ", ".join(map(repr, design.names[:j])) or "nothing"
            raise NotApplicable(
                f"{design.where}: the term {name!r} is a combination of {others} {here} (collinear); leave one out"
            )
    return found


def inverted(matrix: Floats) -> Floats:
    """Return the inverse of a matrix."""
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
