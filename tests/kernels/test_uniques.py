"""Minimal sample uniques by both searches, against brute force over all sets of keys."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sfumato.kernels.groups import class_sizes, classes, first_records
from sfumato.kernels.uniques import alone_on, compiled, minimal_uniques, plain_minimal_uniques, smallest
from special_uniques import Found, brute_force

Codes = NDArray[np.int32]
Search = Callable[[Codes, NDArray[np.bool_], int], tuple[NDArray[np.int64], NDArray[np.int64]]]

tables = arrays(np.int32, st.tuples(st.integers(1, 14), st.integers(1, 5)), elements=st.integers(0, 3))
holed = arrays(np.int32, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.integers(-1, 2))
both = pytest.mark.parametrize("search", [plain_minimal_uniques, compiled.minimal_uniques], ids=["plain", "compiled"])


def searched(search: Search, codes: Codes, size: int) -> Found:
    cell_of, sizes = classes(codes)
    first = first_records(cell_of)
    cell, keys = search(codes[first], sizes == 1, size)
    assert (np.diff(cell) >= 0).all()  # row by row
    columns = range(codes.shape[1])
    found = [
        (int(first[c]), tuple(j for j in columns if mask >> j & 1)) for c, mask in zip(cell, keys.tolist(), strict=True)
    ]
    assert len(found) == len(set(found))
    return set(found)


@both
@settings(deadline=None)
@given(codes=tables, size=st.integers(1, 5))
def test_every_record_and_every_set_compared(search: Search, codes: Codes, size: int) -> None:
    assert searched(search, codes, min(size, codes.shape[1])) == brute_force(codes, min(size, codes.shape[1]))


@both
@settings(deadline=None)
@given(codes=holed, size=st.integers(1, 5))
def test_a_missing_value_agrees_with_every_other(search: Search, codes: Codes, size: int) -> None:
    assert searched(search, codes, min(size, codes.shape[1])) == brute_force(codes, min(size, codes.shape[1]))


def skewed(records: int, keys: int, seed: int, missing: float = 0.0) -> Codes:
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.geometric(0.35, (records, keys)) - 1, 7)
    return np.where(rng.random(codes.shape) < missing, -1, codes).astype(np.int32)


@pytest.mark.parametrize("records", [6_000, 40_000])
def test_a_large_table_equals_brute_force_by_groups(records: int) -> None:
    codes = skewed(records, 6, seed=2)
    alone = {}  # by size, so that smaller sets are known first
    for size in range(1, 7):
        for keys in combinations(range(6), size):
            alone[keys] = class_sizes(codes[:, list(keys)]) == 1
    expected = {
        (int(i), keys)
        for keys, here in alone.items()
        for i in np.flatnonzero(here)
        if not any(alone[part][i] for part in combinations(keys, len(keys) - 1) if part)
    }
    assert searched(minimal_uniques, codes, 6) == expected


@pytest.mark.parametrize(
    ("missing", "records", "size"), [(0.0, 3_000, 7), (0.02, 3_000, 7), (0.2, 300, 7), (0.1, 300, 3)]
)
def test_both_searches_find_the_same(missing: float, records: int, size: int) -> None:
    codes = skewed(records, 7, seed=4, missing=missing)
    ours = searched(compiled.minimal_uniques, codes, size)
    assert ours == searched(plain_minimal_uniques, codes, size) and len(ours) > 20


def test_keys_of_more_than_one_word_and_of_many_values() -> None:
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 5, (400, 30)).astype(np.int32)  # 30 keys of 3 bits
    codes[:, 3], codes[:, 17] = rng.integers(-1, 300, 400), rng.integers(0, 5_000, 400)
    ours = searched(compiled.minimal_uniques, codes, 2)
    assert ours == searched(plain_minimal_uniques, codes, 2) and any(17 in keys for _, keys in ours)


def test_rows_that_lack_a_key_find_room_in_every_group() -> None:
    # 60 values of the last key, and 200 rows that lack it and go into each of 60 groups: more than 3 times the table
    rng = np.random.default_rng(1)
    drawn = np.column_stack([rng.integers(0, 4, 500), rng.integers(0, 40, 500), rng.integers(0, 60, 500)])
    drawn[:200, 2] = -1
    codes = drawn.astype(np.int32)
    assert searched(compiled.minimal_uniques, codes, 3) == searched(plain_minimal_uniques, codes, 3)


def test_a_key_that_all_records_lack_and_one_record() -> None:
    codes = np.array([[-1, 0], [-1, 1], [-1, 1]], dtype=np.int32)
    for search in (plain_minimal_uniques, compiled.minimal_uniques):
        assert searched(search, codes, 2) == {(0, (1,))}
        assert searched(search, np.array([[4, -1, 2]], dtype=np.int32), 3) == {(0, (0,)), (0, (2,))}


def test_sets_that_hold_another_of_their_row_are_struck_out() -> None:
    # row 0: {a}, then {a, b}, which holds it, and {b, c}; row 2: {c}
    rows, sets = np.array([2, 0, 0, 0], dtype=np.int32), np.array([4, 1, 3, 6])
    kept = compiled.minimal(rows, sets, 3)
    assert kept[0].tolist() == [0, 0, 2] and kept[1].tolist() == [1, 6, 4]
    assert smallest(np.array([0, 0, 0, 2]), np.array([1, 3, 6, 4])).tolist() == [True, False, True, True]


@settings(deadline=None)
@given(codes=tables, most=st.sampled_from([2**62, 3]), spread=st.sampled_from([1, 1000]))
def test_records_alone_on_any_set_of_keys(codes: Codes, most: int, spread: int) -> None:
    # values far apart are sorted, not counted in a table; with more combinations than one number holds they are hashed
    codes = codes * spread
    cell_of, sizes = classes(codes)
    sets = [keys for size in range(codes.shape[1] + 1) for keys in combinations(range(codes.shape[1]), size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.kernels.uniques.MAX_COMBINATIONS", most)
        found = alone_on(codes[first_records(cell_of)], sizes, sets)
    assert found == {keys: int((class_sizes(codes[:, list(keys)]) == 1).sum()) for keys in sets}
