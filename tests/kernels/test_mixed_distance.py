import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.kernels import mixed_distance as mixed
from sfumato.kernels import worth_compiling
from sfumato.kernels.mixed_distance import compiled, distances

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def table(rng: np.random.Generator, n: int, coarse: bool) -> Floats:
    """Numbers from 0 to 1 with gaps put at 2, places of an ordinal variable, and categories 2 apart."""
    numbers = rng.integers(0, 4, n) / 3 if coarse else rng.random(n)
    return np.column_stack(
        [
            np.where(rng.random(n) < 0.2, mixed.MAX_DISTANCE, numbers),
            rng.integers(0, 3, n) / 2,
            rng.integers(-1, 3, n) * mixed.MAX_DISTANCE,
        ]
    )


def distance(one: Floats, other: Floats) -> float:
    return float(sum(min(abs(a - b), 1.0) for a, b in zip(one.tolist(), other.tolist(), strict=True)))


def apart(here: Floats, there: Floats) -> Floats:
    """All distances, one variable after the other."""
    columns = (np.minimum(np.abs(a[:, None] - b), 1.0) for a, b in zip(here.T, there.T, strict=True))
    return np.asarray(np.sum(list(columns), axis=0))


def test_by_hand_the_capped_distance_of_every_kind() -> None:
    here = np.array([[0.25, 0.5, 4.0], [mixed.MAX_DISTANCE, 0.0, -2.0]])
    there = np.array([[0.75, 1.0, 4.0], [mixed.MAX_DISTANCE, 0.0, 0.0]])
    # 0.5 + 0.5 + 0;  2 - 0.25 is capped at 1, 0.5, another category 1;  1 + 1 + 1 capped each;  0 + 0 + 1
    (rows, found), *more = distances(here, there)
    assert rows == slice(0, 2) and not more
    np.testing.assert_allclose(found, [[1.0, 2.5], [3.0, 1.0]])


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40), st.booleans(), st.integers(1, 50))
def test_distances_come_some_rows_at_a_time(seed: int, n: int, m: int, coarse: bool, cells: int) -> None:
    rng = np.random.default_rng(seed)
    here, there = table(rng, n, coarse), table(rng, m, coarse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.kernels.mixed_distance._CELLS", cells)
        found = [(rows, distance.copy()) for rows, distance in distances(here, there)]
    assert [place for rows, _ in found for place in range(n)[rows]] == list(range(n))
    np.testing.assert_allclose(np.concatenate([distance for _, distance in found]), apart(here, there), atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30), st.booleans())
def test_the_nearest_are_those_of_all_distances(seed: int, n: int, m: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    here, there = table(rng, n, coarse), table(rng, m, coarse)
    points = mixed.Points.of(there)
    found = mixed.nearest(points, here)
    by_tree = compiled.nearest(points, here, np.full(n, -1), threads=2)
    for i in range(n):
        apart = [distance(here[i], row) for row in points.rows]
        assert found.distance[i] == pytest.approx(min(apart))
        nearest = {j for j, d in enumerate(apart) if d <= min(apart) + 1e-9}
        for each in (found, by_tree):
            assert set(each.found[each.starts[i] : each.starts[i + 1]].tolist()) == nearest
    np.testing.assert_array_equal(by_tree.distance, found.distance)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30), st.booleans(), st.integers(1, 5))
def test_the_least_distances_are_those_of_other_units(seed: int, n: int, m: int, coarse: bool, units: int) -> None:
    rng = np.random.default_rng(seed)
    here, there = table(rng, n, coarse), table(rng, m, coarse)
    unit, but = rng.integers(0, units, m), rng.integers(-1, units, n)
    expected = np.where(unit == but[:, None], np.inf, apart(here, there)).min(axis=1)
    points = mixed.Points.of(there, unit)
    np.testing.assert_allclose(mixed.least_distances(points, here, but), expected, atol=1e-12)
    np.testing.assert_array_equal(
        compiled.least_distances(points, here, but, threads=2), mixed.least_distances(points, here, but)
    )


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 25), st.booleans(), st.integers(1, 25))
def test_the_nearest_others_are_of_other_units(seed: int, n: int, coarse: bool, households: int) -> None:
    rng = np.random.default_rng(seed)
    rows, units = table(rng, n, coarse), rng.integers(0, households, n)
    points = mixed.Points.of(rows, units)
    found = mixed.nearest_others(points)
    single = np.flatnonzero(points.unit >= 0)
    kernel = compiled.nearest(points, points.rows[single], points.unit[single], threads=1)
    np.testing.assert_array_equal(kernel.distance, found.distance[single])
    for i in range(n):
        others = [distance(rows[i], rows[j]) for j in range(n) if units[j] != units[i]]
        here = found.distance[points.place[i]]
        if any(units[j] != units[i] for j in range(n) if points.place[j] == points.place[i]):
            assert here == 0 == min(others)
        else:
            assert here == pytest.approx(min(others, default=np.inf))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 40), st.booleans())
def test_nearer_and_tied_are_counted_alike_by_both(seed: int, n: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    here, there = table(rng, n, coarse), table(rng, n, coarse)
    own = np.minimum(np.abs(here - there), 1).sum(axis=1)
    short, reach = own - mixed.slack(own, 3), own + mixed.slack(own, 3)
    points = mixed.Points.of(there)
    nearer, tied = mixed.nearer_and_tied(points, here, short, reach)
    apart = np.array([[distance(a, b) for b in there] for a in here])
    np.testing.assert_array_equal(nearer, np.minimum((apart < own[:, None] - 1e-9).sum(axis=1), 2))
    np.testing.assert_array_equal(tied, (np.abs(apart - own[:, None]) <= 1e-9).sum(axis=1))
    by_tree = compiled.nearer_and_tied(points, here, short, reach, threads=2)
    np.testing.assert_array_equal(by_tree[0], nearer)
    np.testing.assert_array_equal(by_tree[1][nearer < 2], tied[nearer < 2])


def test_large_tables_take_the_tree_and_agree() -> None:
    rng = np.random.default_rng(3)
    here, there = table(rng, 300, False), table(rng, 6_000, False)
    points = mixed.Points.of(there)
    assert worth_compiling(len(points.place))
    found = mixed.nearest(points, here)
    every = apart(here, points.rows)
    np.testing.assert_array_equal(found.distance, every.min(axis=1))
    np.testing.assert_array_equal(found.counts, (every <= every.min(axis=1)[:, None] + 1e-9).sum(axis=1))


def test_nobody_and_one_alone() -> None:
    points = mixed.Points.of(np.zeros((4, 2)), np.array([7, 7, 7, 7]))
    assert np.isinf(mixed.nearest_others(points).distance).all()
    assert mixed.nearest_others(points).found.size == 0
    assert mixed.nearest(points, np.empty((0, 2))).distance.size == 0
