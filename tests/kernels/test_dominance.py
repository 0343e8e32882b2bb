"""Dominance sums against their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.kernels import WORTH_COMPILING
from sfumato.kernels.dominance import by_blocks, dense_ranks, distinct_rows, dominance_sums
from sfumato.kernels.dominance.compiled import by_halving

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]


def plain(ranks: Ranks, weights: Floats) -> Floats:
    """The definition: every pair compared."""
    return np.array([weights[(ranks <= row).all(axis=1)].sum() for row in ranks])


def table(seed: int, rows: int, columns: int, values: int) -> Ranks:
    """Distinct rows in lexicographic order; few values make ties, a common factor makes columns depend."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(rows, 1)) * rng.uniform(0, 2)
    signs = rng.choice([-1, 1], columns)
    loose = np.floor((common * signs + rng.normal(size=(rows, columns))) * rng.uniform(0.2, 1, columns) * values)
    return distinct_rows(np.stack([dense_ranks(column) for column in loose.T], axis=1))[0]


tables = st.builds(
    table,
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 300),
    columns=st.integers(1, 6),
    values=st.sampled_from([1, 3, 100]),
)


def test_ranks_and_distinct_rows_by_hand() -> None:
    assert dense_ranks(np.array([2.5, -1.0, 2.5, 0.0])).tolist() == [2, 0, 2, 1]
    rows, place = distinct_rows(np.array([[1, 0], [0, 2], [1, 0], [0, 1]], dtype=np.int32))
    assert rows.tolist() == [[0, 1], [0, 2], [1, 0]]
    assert place.tolist() == [2, 1, 2, 0]


def test_sums_by_hand() -> None:
    # (0, 1) has itself; (0, 2) also (0, 1); (1, 0) only itself; (1, 1) has (0, 1), (1, 0) and itself
    ranks = np.array([[0, 1], [0, 2], [1, 0], [1, 1]], dtype=np.int32)
    weights = np.array([1.0, 10.0, -2.0, 5.0])
    expected = [1.0, 11.0, -2.0, 4.0]
    assert dominance_sums(ranks, weights).tolist() == expected
    everyone = np.ones(4, dtype=bool)
    assert by_halving(ranks, weights, everyone, threads=1).tolist() == expected
    some = np.array([False, True, False, True])
    assert dominance_sums(ranks, weights, some).tolist() == [0.0, 11.0, 0.0, 4.0]


@settings(max_examples=150, deadline=None)
@given(ranks=tables, seed=st.integers(0, 10**6), asking=st.sampled_from([1.0, 0.5, 0.02]))
def test_both_ways_equal_the_definition(ranks: Ranks, seed: int, asking: float) -> None:
    rng = np.random.default_rng(seed)
    asked = rng.random(len(ranks)) < asking
    whole = rng.integers(-5, 6, len(ranks)).astype(np.float64)
    expected = np.where(asked, plain(ranks, whole), 0.0)
    assert np.array_equal(dominance_sums(ranks, whole, asked), expected)
    assert np.array_equal(by_blocks(ranks, whole, asked), expected)
    if ranks.shape[1] > 1:
        assert np.array_equal(by_halving(ranks, whole, asked, threads=1), expected)
    broken = rng.normal(size=len(ranks))
    expected = np.where(asked, plain(ranks, broken), 0.0)
    np.testing.assert_allclose(by_blocks(ranks, broken, asked), expected, rtol=0, atol=1e-12)
    if ranks.shape[1] > 1:
        found = by_halving(ranks, broken, asked, threads=2)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("columns", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("values", [2, 1000])
def test_halving_of_many_rows_equals_blocks_on_any_number_of_threads(columns: int, values: int) -> None:
    ranks = table(7, WORTH_COMPILING + 1500, columns, values)
    rng = np.random.default_rng(1)
    asked = np.ones(len(ranks), dtype=bool)
    whole = rng.choice([-3.0, 2.0], len(ranks))
    assert np.array_equal(dominance_sums(ranks, whole, threads=2), by_blocks(ranks, whole, asked))
    broken = rng.normal(size=len(ranks))
    serial = by_halving(ranks, broken, asked, threads=1)
    assert np.array_equal(by_halving(ranks, broken, asked, threads=3), serial)
    np.testing.assert_allclose(serial, by_blocks(ranks, broken, asked), rtol=0, atol=1e-10)


@pytest.mark.parametrize("shape", ["chain", "antichain", "one column constant", "steps"])
def test_halving_of_peculiar_tables(shape: str) -> None:
    up = np.arange(2000, dtype=np.int32)
    ranks = {
        "chain": np.stack([up, up, up], axis=1),  # every earlier row is below: sums 1, 2, 3, ...
        "antichain": np.stack([up, up[::-1], up], axis=1),  # nobody is below anybody: sums 1
        "one column constant": np.stack([up, np.zeros_like(up), up[::-1]], axis=1),
        "steps": np.stack([up // 100, up % 100, up % 100], axis=1),  # (i + 1)(j + 1) rows at or below (i, j, j)
    }[shape]
    expected = {
        "chain": up + 1.0,
        "antichain": np.ones(2000),
        "one column constant": np.ones(2000),
        "steps": (up // 100 + 1.0) * (up % 100 + 1.0),
    }[shape]
    everyone = np.ones(2000, dtype=bool)
    for sums in (by_blocks, lambda r, w, a: by_halving(r, w, a, threads=1)):
        assert np.array_equal(sums(ranks, np.ones(2000), everyone), expected)
    assert np.array_equal(dominance_sums(ranks, np.ones(2000)), expected)
