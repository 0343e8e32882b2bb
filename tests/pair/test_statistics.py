"""Statistics that merge: by hand, against numpy, and merged parts against the whole."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.pair.statistics import Crosstab, Sums, Values, merged

Floats = NDArray[np.float64]

numbers = st.lists(st.one_of(st.integers(-3, 3).map(float), st.just(float("nan"))), min_size=1, max_size=30)
cuts = st.lists(st.integers(0, 30), max_size=5)


def slices(size: int, ends: list[int]) -> list[slice]:
    places = [0, *sorted(min(end, size) for end in ends), size]
    return [slice(low, high) for low, high in pairwise(places)]


def test_values_by_hand() -> None:
    found = Values.of(np.array([2.0, 7.0, 2.0, np.nan]), np.array([1.0, 2.0, 0.5, 9.0]))
    assert found.values.tolist() == [2.0, 7.0]
    assert found.counts.tolist() == [2, 1]
    assert found.weights is not None and found.weights.tolist() == [1.5, 2.0]
    assert (found.missing, found.present, found.whole) == (1, 3, True)
    # ranks from 0: the two values of 2 share the mean of 0 and 1; 7 is the third
    assert found.ranks(np.array([2.0, 7.0])).tolist() == [0.5, 2.0]
    assert found.at_rank(np.array([0, 1, 2])).tolist() == [2.0, 2.0, 7.0]


@given(numbers, cuts)
def test_values_of_parts_are_those_of_the_whole(listed: list[float], ends: list[int]) -> None:
    column = np.array(listed)
    weights = np.arange(1.0, len(column) + 1)
    whole = Values.of(column, weights)
    parts = merged(Values.of(column[rows], weights[rows]) for rows in slices(len(column), ends))
    assert np.array_equal(parts.values, whole.values) and np.array_equal(parts.counts, whole.counts)
    assert parts.missing == whole.missing
    assert parts.weights is not None and whole.weights is not None and np.array_equal(parts.weights, whole.weights)


@given(numbers)
def test_ranks_are_those_of_a_sort(listed: list[float]) -> None:
    column = np.array([value for value in listed if value == value] or [1.0])
    found, ordered = Values.of(column), np.sort(column)
    expected = [(np.flatnonzero(ordered == value)).mean() for value in column]
    assert found.ranks(column).tolist() == expected
    assert found.at_rank(np.arange(len(column))).tolist() == ordered.tolist()


def test_crosstab_by_hand() -> None:
    found = Crosstab.of(np.array([1, 0, 1, -1]), np.array([2, 2, 2, 0]))
    assert list(zip(found.rows.tolist(), found.columns.tolist(), found.counts.tolist(), strict=True)) == [
        (-1, 0, 1),
        (0, 2, 1),
        (1, 2, 2),
    ]


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=30), cuts)
def test_crosstabs_of_parts_are_those_of_the_whole(pairs: list[tuple[int, int]], ends: list[int]) -> None:
    rows, columns = np.array(pairs).T
    whole = Crosstab.of(rows, columns)
    parts = merged(Crosstab.of(rows[s], columns[s]) for s in slices(len(pairs), ends) if s.stop > s.start)
    for one, two in ((parts.rows, whole.rows), (parts.columns, whole.columns), (parts.counts, whole.counts)):
        assert np.array_equal(one, two)


def test_sums_add_name_by_name() -> None:
    added = Sums({"n": 1, "x": np.array([1.0, 2.0])}).merge(Sums({"n": 4, "x": np.array([0.5, 0.0])}))
    assert added["n"] == 5 and added["x"].tolist() == [1.5, 2.0]
