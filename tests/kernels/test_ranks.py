"""Ranks among the records that have both: compiled, in numpy, and by scipy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from sfumato.kernels import ranks
from sfumato.kernels.ranks import compiled, correlation

Floats = NDArray[np.float64]


def columns_with_gaps(seed: int, records: int, columns: int) -> list[Floats]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(columns):
        values = np.round(rng.normal(size=records) * rng.choice([1, 3, 1000]))
        values[rng.random(records) < rng.choice([0.0, 0.1, 0.9, 1.0], p=[0.4, 0.4, 0.1, 0.1])] = np.nan
        found.append(values)
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 80))
def test_both_ways_rank_among_the_records_that_have_both(seed: int, records: int) -> None:
    columns = columns_with_gaps(seed, records, 5)
    found = ranks.ranked([ranks.Placed.of(column) for column in columns], records)
    first, second = (np.asarray(side, dtype=np.intp) for side in np.triu_indices(5, 1))
    counts, sums = np.zeros(10, dtype=np.int64), np.zeros((10, 3))
    compiled.correlate(*found.arrays, first, second, counts, sums)
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        both = ~(np.isnan(columns[i]) | np.isnan(columns[j]))
        x, y = (2 * stats.rankdata(columns[c][both]) - both.sum() - 1 for c in (i, j))
        assert counts[k] == both.sum()
        assert sums[k].tolist() == [x @ y, x @ x, y @ y]
        assert correlation(found, i, j) == (counts[k], *sums[k])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 80))
def test_both_ways_sum_ranks_by_group(seed: int, records: int) -> None:
    columns = columns_with_gaps(seed, records, 3)
    found = ranks.ranked([ranks.Placed.of(column) for column in columns], records)
    group = np.random.default_rng(seed).integers(0, 5, records).astype(np.uint32)  # 4 stands for missing
    which = np.array([2, 0, 1])
    counts, sums, squares = ranks.rank_sums(found, group, 4, which)
    others = np.zeros((3, 5), dtype=np.int64), np.zeros((3, 5)), np.zeros(3)
    gone = np.flatnonzero(group == 4).astype(np.int32)
    compiled.sum_by_group(*found.arrays, group, gone, which, *others)
    assert np.array_equal(counts, others[0][:, :4])
    assert np.array_equal(sums, others[1][:, :4])
    assert np.array_equal(squares, others[2])
    for k, j in enumerate(which):
        both = ~np.isnan(columns[j]) & (group < 4)
        x = 2 * stats.rankdata(columns[j][both]) - both.sum() - 1
        assert sums[k].tolist() == np.bincount(group[both], x, minlength=4).tolist()
        assert squares[k] == x @ x


def test_codes_are_ranked_as_numbers_are() -> None:
    codes = np.array([3, -1, 0, 3, 5, 0], dtype=np.int32)  # 1, 2 and 4 do not occur
    numbers = np.where(codes < 0, np.nan, codes)
    found = ranks.ranked([ranks.Placed.of(column) for column in (codes, numbers)], 6)
    tables = [found.tables[j][0][found.places[j]].tolist() for j in (0, 1)]
    # mid-ranks 3.5, 1.5, 3.5, 5, 1.5 of five: doubled, less 6
    assert tables[0] == tables[1] == [1.0, 0.0, -3.0, 1.0, 4.0, -3.0]
    assert found.present.tolist() == [5, 5]


def test_large_files_are_ranked_by_the_kernel() -> None:
    columns = columns_with_gaps(3, 6_000, 4)
    found = ranks.ranked([ranks.Placed.of(column) for column in columns], 6_000)
    pairs = np.array([0, 1, 2]), np.array([1, 2, 3])
    told: list[int] = []
    counts, *sums = ranks.rank_correlations(found, *pairs, told.append)
    for k in range(3):
        assert (counts[k], *(s[k] for s in sums)) == correlation(found, k, k + 1)
    assert told[-1] == 3
