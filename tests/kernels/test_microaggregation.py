"""MDAV and maximum distance: the compiled kernels and their numpy versions, by hand, by reference and by property."""

from collections.abc import Callable
from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.kernels.microaggregation import (
    compiled,
    maximum_distance_groups,
    plain_maximum_distance_groups,
    plain_mdav_groups,
)
from tables import census

Floats = NDArray[np.float64]
Groups = Callable[[Floats, int], NDArray[np.intp]]


both = pytest.mark.parametrize("groups", [compiled.mdav_groups, plain_mdav_groups])
most_distant = pytest.mark.parametrize(
    "groups", [compiled.maximum_distance_groups, plain_maximum_distance_groups], ids=["compiled", "plain"]
)


def twin(X: Floats, k: int) -> list[int]:
    def squared(i: int, point: list[float]) -> float:
        return float(sum((a - b) * (a - b) for a, b in zip(X[i].tolist(), point, strict=True)))

    labels, left, label = [0] * len(X), list(range(len(X))), 0
    while len(left) >= 2 * k:
        pair = len(left) >= 3 * k
        centre = [fsum(X[left, j]) / len(left) for j in range(X.shape[1])]
        for _ in range(1 + pair):
            far = max(left, key=lambda i: (squared(i, centre), -i))
            centre = X[far].tolist()
            for i in sorted(left, key=lambda i: (i != far, squared(i, centre), i))[:k]:
                labels[i] = label
                left.remove(i)
            label += 1
    return [label if i in left else labels[i] for i in range(len(X))]


# By hand -------------------------------------------------------------------------------------------------------


@both
def test_pair_and_rest_by_hand(groups: Groups) -> None:
    # k = 2, six rows, 3k: a pair, then the rest. Mean 34/6 = 5.67: farthest is 20 (row 3), its nearest 9 (row 5);
    # of 0 1 3 1, the one farthest from 20 is 0 (row 0), its nearest 1 (row 1, tied with row 4); the rest 3 and 1.
    X = np.array([[0.0], [1.0], [3.0], [20.0], [1.0], [9.0]])
    assert groups(X, 2).tolist() == [1, 1, 2, 0, 2, 0]


@both
def test_last_two_groups_by_hand(groups: Groups) -> None:
    # k = 3, eight rows, between 2k and 3k: no pair. Mean (4, 4), squared distances 32 25 25 18 8 41 72 61: row 6,
    # with row 7 at 1 and row 5 at 5; row 4 is at 128.
    X = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 2], [9, 8], [10, 10], [9, 10]], dtype=np.float64)
    assert groups(X, 3).tolist() == [1, 1, 1, 1, 1, 0, 0, 0]


@both
def test_ties_go_to_the_lowest_row(groups: Groups) -> None:
    # k = 2, corners of a square and its centre twice. All corners are at 2 from the mean: row 1. Rows 0 and 4
    # are at 2 from it: row 0. The farthest from row 1, at 8, is row 5, and its nearest, at 2, row 0 being gone, row 4.
    X = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [0.0, 0.0], [-1.0, -1.0]])
    assert groups(X, 2).tolist() == [0, 0, 2, 2, 1, 1]


# By reference --------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(("k", "loss"), [(3, 5.6922), (4, 7.4947), (5, 9.0884), (10, 14.1559)])
def test_census_information_loss(groups: Groups, k: int, loss: float) -> None:
    """100 SSE / SST of MDAV on the CASC reference table Census, as printed in the literature."""
    X = census().numeric()
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    labels = groups(X, k)
    means = np.stack([np.bincount(labels, column) / np.bincount(labels) for column in X.T], axis=1)
    assert 100 * ((X - means[labels]) ** 2).sum() / (X**2).sum() == pytest.approx(loss, abs=5e-5)


# By property ---------------------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn, most_rows: int = 60) -> tuple[Floats, int]:
    """A table with or without ties, and a k that it has records for."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(1, 7))
    shape = draw(st.integers(k, most_rows)), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["normal", "skewed", "grid", "decimals", "duplicates", "tiny"]))
    if kind == "normal":
        return rng.normal(size=shape), k
    if kind == "skewed":
        return rng.lognormal(0.0, 2.0, size=shape), k
    if kind == "tiny":  # squares that underflow
        return rng.integers(-2, 3, size=shape).astype(np.float64) * 1e-162, k
    X = rng.integers(0, draw(st.integers(1, 4)), size=shape).astype(np.float64)
    if kind == "decimals":
        return X * np.array([0.1, 0.7, 1.3, 2.9, 0.3, 1.1])[: shape[1]], k
    if kind == "duplicates":
        return rng.normal(size=shape)[rng.integers(0, 1 + shape[0] // 3, size=shape[0])], k
    return X, k


@settings(max_examples=300, deadline=None)
@given(tables())
def test_kernel_and_numpy_equal_the_plain_twin(table: tuple[Floats, int]) -> None:
    X, k = table
    expected = twin(X, k)
    assert compiled.mdav_groups(X, k).tolist() == expected
    assert plain_mdav_groups(X, k).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(tables(most_rows=1500))
def test_kernel_equals_numpy_in_deeper_trees(table: tuple[Floats, int]) -> None:
    X, k = table
    labels = compiled.mdav_groups(X, k)
    np.testing.assert_array_equal(labels, plain_mdav_groups(X, k))
    sizes = np.bincount(labels)
    assert sizes.sum() == len(X)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert (sizes[:-1] == k).all()  # only the last group is larger


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(2, 7))  # k = 1 ends with two tied records
def test_permuting_rows_permutes_groups(seed: int, p: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, p))
    shuffled = rng.permutation(300)
    labels = compiled.mdav_groups(X, k)
    np.testing.assert_array_equal(compiled.mdav_groups(X[shuffled], k), labels[shuffled])


def test_many_columns_and_a_far_origin() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(700, 30)) + 1e6
    np.testing.assert_array_equal(compiled.mdav_groups(X, 3), plain_mdav_groups(X, 3))


# Edges ---------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("n", "k", "sizes"),
    [
        (1, 1, [1]),
        (2, 2, [2]),
        (3, 1, [1, 1, 1]),
        (5, 3, [5]),  # fewer than 2k
        (6, 3, [3, 3]),  # 2k
        (8, 3, [3, 5]),  # 3k - 1
        (9, 3, [3, 3, 3]),  # 3k
        (10, 3, [3, 3, 4]),
        (15, 3, [3, 3, 3, 3, 3]),
    ],
)
@pytest.mark.parametrize("kind", ["distinct", "duplicates", "constant column"])
def test_sizes_at_the_edges(groups: Groups, n: int, k: int, sizes: list[int], kind: str) -> None:
    X = np.random.default_rng(n).normal(size=(n, 2))
    if kind == "duplicates":
        X[:] = 1.5
    if kind == "constant column":
        X[:, 0] = 0.0
    assert np.bincount(groups(X, k)).tolist() == sizes


@both
def test_equal_rows_are_grouped_in_order(groups: Groups) -> None:
    X = np.full((1000, 3), 0.1)
    assert groups(X, 4).tolist() == [row // 4 for row in range(1000)]


@both
def test_memory_order_is_irrelevant_and_the_table_untouched(groups: Groups) -> None:
    X = np.asfortranarray(np.random.default_rng(3).normal(size=(400, 4)))
    before = X.copy()
    np.testing.assert_array_equal(groups(X, 3), groups(np.ascontiguousarray(X), 3))
    np.testing.assert_array_equal(X, before)


# Maximum distance -------------------------------------------------------------------------------------------------


def distant_twin(X: Floats, k: int) -> list[int]:
    """The definition, all pairs looked at in each round; the rest as one group."""

    def squared(i: int, j: int) -> float:
        return float(sum((a - b) * (a - b) for a, b in zip(X[i].tolist(), X[j].tolist(), strict=True)))

    labels, left, label = [0] * len(X), list(range(len(X))), 0
    while len(left) >= 2 * k:
        pair = max(((i, j) for i in left for j in left if i < j), key=lambda ij: (squared(*ij), -ij[0], -ij[1]))
        left = [i for i in left if i not in pair]
        for centre in pair:
            group = sorted(left, key=lambda i: (squared(i, centre), i))[: k - 1]
            for i in (centre, *group):
                labels[i] = label
            left = [i for i in left if i not in group]
            label += 1
    return [label if i in left else labels[i] for i in range(len(X))]


@most_distant
def test_most_distant_pairs_by_hand(groups: Groups) -> None:
    # k = 2: of 0 1 3 20 1 9 the ends 0 and 20 are 20 apart; 0 takes a 1 (row 1, tied with row 4), 20 takes 9; the rest
    # is 3 and 1.
    X = np.array([[0.0], [1.0], [3.0], [20.0], [1.0], [9.0]])
    assert groups(X, 2).tolist() == [0, 0, 2, 1, 2, 1]


@most_distant
def test_of_pairs_that_tie_the_lowest_rows_are_taken(groups: Groups) -> None:
    # corners of a square, both diagonals 8: rows 0 and 3 before rows 1 and 2; their nearest, at 4, are rows 1 and 2
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert groups(X, 2).tolist() == [0, 0, 1, 1]
    assert groups(X, 1).tolist() == [0, 2, 3, 1]


@settings(max_examples=200, deadline=None)
@given(tables(most_rows=40))
def test_both_versions_equal_the_definition(table: tuple[Floats, int]) -> None:
    X, k = table
    expected = distant_twin(X, k)
    assert compiled.maximum_distance_groups(X, k).tolist() == expected
    assert plain_maximum_distance_groups(X, k).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(tables(most_rows=1500))
def test_both_versions_agree_in_deeper_trees(table: tuple[Floats, int]) -> None:
    X, k = table
    labels = compiled.maximum_distance_groups(X, k)
    np.testing.assert_array_equal(labels, plain_maximum_distance_groups(X, k))
    sizes = np.bincount(labels)
    assert (sizes[:-1] == k).all()
    joined = maximum_distance_groups(X, k)
    assert np.bincount(joined).min() >= k  # a rest that is too small joins the nearest groups


def test_by_hand_a_rest_too_small_joins_the_nearest_mean() -> None:
    # k = 2: 0 with 1 and 10 with 9 are groups; 4 is left, 3.5 from 0.5 and 5.5 from 9.5
    X = np.array([[0.0], [1.0], [4.0], [9.0], [10.0]])
    assert maximum_distance_groups(X, 2).tolist() == [0, 0, 0, 1, 1]
    assert maximum_distance_groups(X[:3], 2).tolist() == [0, 0, 0]  # fewer than 2k: one group


@most_distant
@pytest.mark.parametrize(
    ("n", "k", "sizes"), [(1, 1, [1]), (2, 2, [2]), (3, 1, [1, 1, 1]), (5, 3, [5]), (14, 3, [3] * 4 + [2])]
)
@pytest.mark.parametrize("equal", [False, True])
def test_sizes_of_most_distant_groups_at_the_edges(
    groups: Groups, n: int, k: int, sizes: list[int], equal: bool
) -> None:
    X = np.full((n, 2), 1.5) if equal else np.random.default_rng(n).normal(size=(n, 2))
    assert np.bincount(groups(X, k)).tolist() == sizes


def test_most_distant_in_many_columns_far_from_the_origin() -> None:
    X = np.random.default_rng(5).normal(size=(700, 30)) + 1e6
    found = compiled.maximum_distance_groups(X, 3)
    np.testing.assert_array_equal(found, plain_maximum_distance_groups(X, 3))


def test_large_tables_take_the_compiled_search_and_give_the_same_groups() -> None:
    X = np.random.default_rng(2).lognormal(size=(2_600, 3))
    np.testing.assert_array_equal(maximum_distance_groups(X, 4), plain_maximum_distance_groups(X, 4))  # 2600 = 325 * 8
