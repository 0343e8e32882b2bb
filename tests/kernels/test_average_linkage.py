"""Average linkage against SciPy, against its definition, and the compiled search against the plain one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

from sfumato.kernels import WORTH_COMPILING, boxes
from sfumato.kernels.average_linkage import Merges, cut, partition, plain_merges
from sfumato.kernels.average_linkage.compiled import merges as compiled_merges

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

grids = st.tuples(st.integers(1, 40), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 4).map(float))
)


def normal(n: int, p: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, p))


def by_first_member(labels: Integers) -> Integers:
    """Clusters named by their first point, so that equal partitions are equal arrays."""
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[place])


def heights(tree: Merges) -> Floats:
    return np.sort(tree.height[tree.into >= 0])


def check_against_scipy(points: Floats, tree: Merges) -> None:
    n = len(points)
    reference = linkage(points, method="average", metric="sqeuclidean")
    np.testing.assert_allclose(heights(tree), reference[:, 2], rtol=1e-9)
    for g in {1, 2, 3, n // 20, n // 3, n - 1, n} & set(range(1, n + 1)):
        expected = fcluster(reference, g, criterion="maxclust")
        assert np.array_equal(by_first_member(cut(tree, g)), by_first_member(expected))


def test_four_points_by_hand() -> None:
    # 0 and 1 merge at 1. {0, 1} to 3: (9 + 4) / 2 = 6.5 < 16 = 3 to 7. {0, 1, 3} to 7: (49 + 36 + 16) / 3.
    points = np.array([[0.0], [1.0], [3.0], [7.0]])
    tree = plain_merges(points, np.ones(4))
    np.testing.assert_allclose(heights(tree), [1, 6.5, 101 / 3])
    assert partition(points, np.ones(4), 4).tolist() == [0, 1, 2, 3]
    assert partition(points, np.ones(4), 3).tolist() == [0, 0, 1, 2]
    assert partition(points, np.ones(4), 2).tolist() == [0, 0, 0, 1]
    assert partition(points, np.ones(4), 1).tolist() == [0, 0, 0, 0]


def test_mass_by_hand() -> None:
    # 0 and 2 merge at 4. With three points at 0, to 5: (3 * 25 + 9) / 4 = 21; with one, (25 + 9) / 2 = 17.
    points = np.array([[0.0], [2.0], [5.0]])
    np.testing.assert_allclose(heights(plain_merges(points, np.array([3.0, 1.0, 1.0]))), [4, 21])
    np.testing.assert_allclose(heights(plain_merges(points, np.ones(3))), [4, 17])


@given(st.integers(2, 60), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_trees_equal_scipys(n: int, p: int, seed: int) -> None:
    tree = boxes.build(normal(n, p, seed))
    check_against_scipy(tree.points, plain_merges(tree.points, np.ones(n)))
    check_against_scipy(tree.points, compiled_merges(tree, np.ones(n)))


@pytest.mark.parametrize("p", [1, 2, 3, 4, 6])
def test_trees_of_thousands_equal_scipys(p: int) -> None:
    tree = boxes.build(normal(2_000, p) ** 3)  # long tails: dense and empty regions side by side
    check_against_scipy(tree.points, compiled_merges(tree, np.ones(2_000)))


def test_partition_of_a_table_worth_compiling_for_equals_scipys() -> None:
    n = WORTH_COMPILING + 500
    points = normal(n, 2)
    expected = fcluster(linkage(points, "average", "sqeuclidean"), 250, criterion="maxclust")
    assert np.array_equal(by_first_member(partition(points, np.ones(n), 250)), by_first_member(expected))


@given(st.integers(2, 25), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_a_point_of_mass_three_is_three_points(n: int, p: int, seed: int) -> None:
    points = normal(n, p, seed)
    copies = np.random.default_rng(seed).integers(1, 4, n)
    tree = plain_merges(points, copies.astype(float))
    reference = linkage(np.repeat(points, copies, axis=0), method="average", metric="sqeuclidean")
    np.testing.assert_allclose(heights(tree), reference[len(reference) - n + 1 :, 2], rtol=1e-9)
    for g in (1, 2, n):
        expected = fcluster(reference, g, criterion="maxclust")[np.cumsum(copies) - 1]
        assert np.array_equal(by_first_member(cut(tree, g)), by_first_member(expected))


@given(grids, st.integers(0, 2**32 - 1))
@settings(max_examples=80, deadline=None)
def test_ties_and_masses_the_compiled_search_equals_the_plain_one_to_the_bit(points: Floats, seed: int) -> None:
    tree = boxes.build(boxes.distinct(points)[0])
    mass = np.random.default_rng(seed).integers(1, 5, len(tree.points)) / 3
    for plain, compiled in zip(plain_merges(tree.points, mass), compiled_merges(tree, mass), strict=True):
        assert np.array_equal(plain, compiled)


def test_ties_are_the_same_where_the_tree_is_built_anew() -> None:
    points = boxes.distinct(np.random.default_rng(3).integers(0, 4, (2_500, 6)).astype(np.float64))[0]
    tree = boxes.build(points)
    mass = np.random.default_rng(4).integers(1, 5, len(points)) / 3
    for plain, compiled in zip(plain_merges(tree.points, mass), compiled_merges(tree, mass), strict=True):
        assert np.array_equal(plain, compiled)


@given(grids)
@settings(max_examples=60, deadline=None)
def test_with_ties_each_merge_joins_two_of_the_nearest_clusters(points: Floats) -> None:
    points = boxes.distinct(points)[0]
    tree = plain_merges(points, np.ones(len(points)))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    for g in range(len(points), 1, -1):
        now, after = cut(tree, g), cut(tree, g - 1)
        shares = np.equal.outer(np.arange(g), now) / np.bincount(now)[:, None]
        apart = shares @ squared @ shares.T + np.diag(np.full(g, np.inf))
        (joined,) = {tuple(np.unique(now[after == c])) for c in range(g - 1) if len(np.unique(now[after == c])) > 1}
        assert apart[joined] == pytest.approx(apart.min(), rel=1e-9)
        assert heights(tree)[len(points) - g] == pytest.approx(apart.min(), rel=1e-9)


@pytest.mark.parametrize(
    "points",
    [
        1.01 ** np.arange(800.0)[:, None],  # one chain through all points, and one merge at a time
        0.97 ** np.arange(800.0)[:, None],
        np.append(normal(700, 2), [[1e6, 1e6]], axis=0),
        np.stack([np.cos(normal(700, 1)[:, 0] * 9), np.sin(normal(700, 1)[:, 0] * 9)], axis=1),
    ],
    ids=["growing gaps", "shrinking gaps", "one far away", "a circle"],
)
def test_awkward_shapes(points: Floats) -> None:
    tree = boxes.build(points)
    found = compiled_merges(tree, np.ones(len(points)))
    reference = linkage(tree.points, method="average", metric="sqeuclidean")
    np.testing.assert_allclose(heights(found), reference[:, 2], rtol=1e-6, atol=1e-14)
    for plain, compiled in zip(plain_merges(tree.points, np.ones(len(points))), found, strict=True):
        assert np.array_equal(plain, compiled)


def test_one_point_two_points_and_impossible_numbers() -> None:
    one, two = np.zeros((1, 2)), np.array([[0.0, 0.0], [1.0, 1.0]])
    assert partition(one, np.ones(1), 1).tolist() == [0]
    assert compiled_merges(boxes.build(one), np.ones(1)).into.tolist() == [-1]
    assert partition(two, np.ones(2), 1).tolist() == [0, 0]
    assert compiled_merges(boxes.build(two), np.ones(2)).height.max() == 2
    for clusters in (0, 3):
        with pytest.raises(ValueError, match=f"from 1 to 2 clusters of 2 points; got {clusters}"):
            partition(two, np.ones(2), clusters)
