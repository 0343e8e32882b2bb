"""Weighted means and products of complete columns, and the triangular factor of them: what least squares needs."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.pair.statistics.statistic import Statistic

Floats = NDArray[np.float64]


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
