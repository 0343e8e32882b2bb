"""Classes of records that agree, against plain Python."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from sfumato.kernels import groups

Codes = NDArray[np.integer]


def plain(codes: Codes) -> tuple[list[int], list[int]]:
    """Rows as tuples in a dict, which keeps the order of first appearance."""
    rows = [tuple(row) for row in codes.tolist()]
    counts = Counter(rows)
    number = {row: place for place, row in enumerate(counts)}
    return [number[row] for row in rows], list(counts.values())


def agree(codes: Codes) -> None:
    class_of, sizes = groups.classes(codes)
    assert (class_of.tolist(), sizes.tolist()) == plain(codes)
    assert class_of.dtype == sizes.dtype == np.int64


@pytest.fixture(params=["sorted", "hashed"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways on every table, whatever its size."""
    monkeypatch.setattr(groups, "worth_compiling", lambda _: request.param == "hashed")


@settings(max_examples=60, deadline=None)
@given(arrays.arrays(np.int32, st.tuples(st.integers(0, 40), st.integers(0, 5)), elements=st.integers(-1, 3)))
def test_as_tuples_in_a_dict(codes: Codes) -> None:
    agree(codes)


@settings(max_examples=60, deadline=None)
@given(arrays.arrays(np.int64, st.tuples(st.integers(1, 30), st.integers(1, 9)), elements=st.integers(-(2**62), 2**62)))
def test_numbers_of_any_size_are_told_apart(codes: Codes) -> None:
    agree(codes)


def test_more_combinations_than_64_bits_hold() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 5_000, size=(3_000, 12)).astype(np.int32)  # 5,001^12 is about 2^147
    codes[1_500:] = codes[:1_500]
    codes[-1, 11] += 1
    agree(codes)


def test_the_hash_table_grows() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 60, size=(150_000, 4)).astype(np.int32)  # about 149,000 different, from room for 32,768
    agree(codes)
    class_of, sizes = groups.classes(codes)
    assert np.array_equal(np.bincount(class_of), sizes)


def test_the_codes_given_are_not_touched() -> None:
    codes = np.arange(10_000, dtype=np.int64)[:, None] % 7
    before = codes.copy()
    groups.classes(codes)
    groups.class_sizes(codes)
    assert np.array_equal(codes, before)


def test_sizes_sums_and_first_records() -> None:
    rng = np.random.default_rng(1)
    codes, weights = rng.integers(-1, 3, size=(200, 3)), rng.uniform(1, 9, 200)
    class_of, sizes = groups.classes(codes)
    rows = [tuple(row) for row in codes.tolist()]
    assert groups.class_sizes(codes).tolist() == [rows.count(row) for row in rows]
    sums = groups.class_sums(class_of, weights, len(sizes))
    for place, first in enumerate(groups.first_records(class_of)):
        assert class_of[first] == place and place not in class_of[:first]
        assert sums[place] == pytest.approx(sum(w for w, row in zip(weights, rows, strict=True) if row == rows[first]))


def test_no_records_no_columns_one_record() -> None:
    assert [part.tolist() for part in groups.classes(np.empty((0, 3), np.int32))] == [[], []]
    assert [part.tolist() for part in groups.classes(np.empty((3, 0), np.int32))] == [[0, 0, 0], [3]]
    assert [part.tolist() for part in groups.classes(np.array([[-1, 7]]))] == [[0], [1]]
    assert groups.first_records(np.empty(0, np.int64)).tolist() == []


@given(
    arrays.arrays(np.int64, st.tuples(st.integers(1, 20), st.integers(1, 3)), elements=st.integers(-2, 2)),
    st.integers(0, 9),
)
def test_the_first_in_order_are_those_of_a_full_sort(codes: Codes, most: int) -> None:
    order = np.lexsort([*codes.T[::-1]])  # stable: rows alike as they stand
    assert groups.first_in_order(list(codes.T), most).tolist() == order[:most].tolist()
