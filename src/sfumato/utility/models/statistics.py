"""Sufficient statistics of many columns in one pass over the records, and the triangular factor of a model.

Every linear model among the columns is solved from one centred matrix of products. Where that would lose digits (the
matrix squares the condition number), the factor comes from a second pass of QR steps over blocks instead, which does
not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.data.microdata import Floats
from sfumato.errors import NotApplicable
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


@dataclass(frozen=True)
class Moments:
    """Means and centred sums of products of columns; weights sum to the number of records."""

    rows: Rows
    columns: tuple[Column, ...]
    means: Floats
    products: Floats

    @classmethod
    def of(cls, rows: Rows, columns: Sequence[Column]) -> "Moments":
        """Gather them in one pass: each block is centred on its own means, then merged (Chan, Golub and LeVeque)."""
        means, products, total = np.zeros(len(columns)), np.zeros((len(columns), len(columns))), 0.0
        for block in rows.blocks():
            values, weights = filled(block, columns), block.weights()
            if weights is None:
                amount, own = float(len(block)), values.mean(axis=0)
                values -= own
                products += values.T @ values
            else:
                amount = float(weights.sum())
                own = weights @ values / amount
                values -= own
                values *= np.sqrt(weights)[:, None]
                products += values.T @ values
            apart = own - means
            products += np.outer(apart, apart) * (total * amount / (total + amount))
            total += amount
            means += apart * (amount / total)
        return cls(rows, tuple(columns), means, products)

    def factor(self, design: Design) -> Floats:
        """Return the triangular factor of the columns 1, the design's without the constant, and the response."""
        columns = [column for column in design.columns if column.parts] + [design.response]
        place = {column: j for j, column in enumerate(self.columns)}
        chosen = [place[column] for column in columns]
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
        triangle: Floats = np.zeros((0, len(columns)))
        for block in self.rows.blocks():
            values, weights = filled(block, columns) - means, block.weights()
            if weights is not None:
                values *= np.sqrt(weights)[:, None]
            triangle = triangular(np.vstack([triangle, values]))
        padded = np.zeros((len(columns),) * 2)
        padded[: len(triangle)] = triangle
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


def triangular(matrix: Floats) -> Floats:
    """Return R of the matrix's QR decomposition."""
    found: Any = np.linalg.qr(matrix, mode="r")
    return np.asarray(found, dtype=np.float64)


def inverted(matrix: Floats) -> Floats:
    """Return the inverse of a matrix."""
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
