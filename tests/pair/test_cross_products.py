"""Weighted means, products and triangular factors: by hand, beside numpy, and from parts in any cut."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sfumato.pair.statistics import CrossProducts, Triangle, merged

Floats = NDArray[np.float64]
TABLES = arrays(np.float64, (12, 3), elements=st.floats(-100, 100, width=16))
WEIGHTS = arrays(np.float64, 12, elements=st.floats(0.5, 100, width=16))
ENDS = st.lists(st.integers(1, 11), max_size=5, unique=True)


def cuts(ends: list[int]) -> list[slice]:
    return [slice(low, high) for low, high in pairwise([0, *sorted(ends), 12])]


def test_by_hand() -> None:
    # x = 0, 2 with weights 1, 3: mean 6/4 = 1.5; 1 (1.5)^2 + 3 (0.5)^2 = 3; y = 1, 5: mean 4, products 9 + 3 = 12
    # x with y: 1 (-1.5)(-3) + 3 (0.5)(1) = 6
    found = CrossProducts.of(np.array([[0.0, 1.0], [2.0, 5.0]]), np.array([1.0, 3.0]))
    assert found.weight == 4 and found.means.tolist() == [1.5, 4]
    assert found.products == pytest.approx(np.array([[3, 6], [6, 12]]), rel=1e-15)


def test_two_weighted_parts_by_hand() -> None:
    # one record of weight 1 at 0 and one of weight 3 at 2, each a part: no products of their own, 3 between them
    one = CrossProducts.of(np.array([[0.0]]), np.array([1.0]))
    two = CrossProducts.of(np.array([[2.0]]), np.array([3.0]))
    found = one.merge(two)
    assert (found.weight, found.means.tolist(), found.products.tolist()) == (4, [1.5], [[3]])


@given(TABLES, WEIGHTS, ENDS)
def test_any_cut_gives_the_products_of_the_whole(values: Floats, weights: Floats, ends: list[int]) -> None:
    for weighted in (weights, None):
        found = merged(
            CrossProducts.of(values[part], None if weighted is None else weighted[part]) for part in cuts(ends)
        )
        w = np.ones(12) if weighted is None else weighted
        means = np.average(values, axis=0, weights=w)
        products = (values - means).T @ ((values - means) * w[:, None])
        size = float(np.abs(values).max())
        assert found.weight == pytest.approx(w.sum(), rel=1e-14)
        np.testing.assert_allclose(found.means, means, atol=1e-14 * size)
        np.testing.assert_allclose(found.products, products, atol=1e-13 * size**2 * w.sum())


@given(TABLES, ENDS)
def test_the_factors_of_parts_have_the_products_of_the_whole(values: Floats, ends: list[int]) -> None:
    found = merged(Triangle.of(values[part]) for part in cuts(ends)).factor
    assert np.array_equal(found, np.triu(found))
    size = float(np.abs(values).max())
    np.testing.assert_allclose(found.T @ found, values.T @ values, atol=1e-12 * size**2)
