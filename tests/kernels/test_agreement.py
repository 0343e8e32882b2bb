"""Frequencies with missing values that match anything, against all pairs compared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from sfumato.kernels.agreement import (
    MIN_RECORDS_TO_HASH,
    _add_by_pattern,
    frequencies,
    frequency_sums,
    matching_sums,
    own_sums,
)
from sfumato.kernels.groups import class_sizes

Codes = NDArray[np.int32]
tables = arrays.arrays(np.int32, st.tuples(st.integers(1, 25), st.integers(1, 5)), elements=st.integers(-1, 2))


def agreement(left: Codes, right: Codes) -> NDArray[np.bool_]:
    """Whether each pair agrees in every column: equal, or either missing."""
    a, b = left[:, None, :], right[None, :, :]
    agree: NDArray[np.bool_] = ((a == b) | (a < 0) | (b < 0)).all(axis=2)
    return agree


@settings(max_examples=150, deadline=None)
@given(tables)
def test_as_all_pairs_compared(codes: Codes) -> None:
    weights = np.random.default_rng(len(codes)).integers(1, 50, len(codes)) / 8
    assert np.array_equal(frequencies(codes), agreement(codes, codes).sum(axis=1))
    assert np.allclose(frequency_sums(codes, weights), agreement(codes, codes) @ weights, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(tables, st.integers(0, 2**20))
def test_of_other_rows(codes: Codes, seed: int) -> None:
    wanted = np.random.default_rng(seed).integers(-1, 3, size=(7, codes.shape[1])).astype(np.int32)
    values = np.arange(1.0, len(codes) + 1)
    assert np.array_equal(matching_sums(wanted, codes, values), agreement(wanted, codes) @ values)


@settings(max_examples=60, deadline=None)
@given(tables, st.data())
def test_a_further_missing_value_never_lowers_a_frequency(codes: Codes, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, codes.shape[0] - 1))
    column = data.draw(st.integers(0, codes.shape[1] - 1))
    more = codes.copy()
    more[row, column] = -1
    assert (frequencies(more) >= frequencies(codes)).all()


@settings(max_examples=150, deadline=None)
@given(tables)
def test_down_a_sorted_table_as_all_pairs_compared(codes: Codes) -> None:
    rows = np.unique(codes, axis=0)
    values = np.random.default_rng(len(rows)).integers(1, 50, len(rows)) / 8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.kernels.agreement.worth_compiling", lambda records: True)
        patch.setattr("sfumato.kernels.agreement.MAX_GAPS", 10)
        assert np.array_equal(own_sums(rows, values), agreement(rows, rows) @ values)
        patch.setattr("sfumato.kernels.agreement.MAX_PACKED", 1)  # too many to pack into a number
        assert np.array_equal(own_sums(rows, values), agreement(rows, rows) @ values)


def test_by_hand() -> None:
    # (a, 1) agrees with itself and (a, ?); (a, ?) with both (a, .) records and with (?, 2); (b, 2) with (?, 2)
    codes = np.array([[0, 1], [0, -1], [-1, 2], [1, 2]])
    assert frequencies(codes).tolist() == [2, 3, 3, 2]


def test_nothing_missing_is_a_group_by_and_large_tables_agree_with_small() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, size=(9_000, 4)).astype(np.int32)
    assert np.array_equal(frequencies(codes), class_sizes(codes))
    codes[rng.random(codes.shape) < 0.02] = -1
    some = rng.choice(9_000, 200, replace=False)
    assert np.array_equal(frequencies(codes)[some], agreement(codes[some], codes).sum(axis=1))


def test_no_record_no_column_nothing_shown() -> None:
    assert frequencies(np.empty((0, 2), np.int32)).tolist() == []
    assert frequencies(np.empty((3, 0), np.int32)).tolist() == [3, 3, 3]
    assert frequencies(np.full((3, 2), -1)).tolist() == [3, 3, 3]
    assert frequency_sums(np.array([[-1], [0], [1]]), np.array([1.0, 2.0, 4.0])).tolist() == [7.0, 3.0, 5.0]


def test_rare_patterns_of_a_large_table_are_counted_alike_by_both() -> None:
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 4, (6_000, 9)).astype(np.int32)
    codes[rng.random(codes.shape) < 0.12] = -1  # patterns of one record and of thousands
    sizes = class_sizes((codes >= 0).view(np.int8))
    assert (sizes == 1).any() and (sizes > MIN_RECORDS_TO_HASH).any()
    some = rng.permutation(6_000)[:300]
    weights = rng.integers(1, 50, 6_000) / 8  # eighths, whose sums are exact
    expected = agreement(codes[some], codes) @ weights
    assert np.array_equal(matching_sums(codes, codes, weights)[some], expected)
    assert np.array_equal(matching_sums(codes[some], codes, weights), expected)
    by_pattern = np.zeros(300)
    _add_by_pattern(by_pattern, np.arange(300), codes[some], codes, weights)
    assert np.array_equal(by_pattern, expected)
