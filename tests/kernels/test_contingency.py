"""Contingency tables: compiled, in numpy, and by scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.kernels.contingency import Table, compiled, each_table, tabulated


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.booleans())
def test_both_ways_count_a_table(seed: int, records: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 5, records).astype(np.uint32), rng.integers(0, 4, records).astype(np.uint32)
    weights = rng.uniform(0.1, 2, records) if weighted else None
    found = tabulated(first, second, (4, 3), weights)
    cells = np.zeros((5, 4))
    count, squares = compiled.count(first, second, np.ones(0) if weights is None else weights, cells)
    assert count == found.records == ((first < 4) & (second < 3)).sum()
    assert np.allclose(cells[found.rows, found.columns], found.observed)
    assert cells[:-1, :-1].sum() == pytest.approx(found.observed.sum())
    if count:
        assert found.effective == pytest.approx(cells[:-1, :-1].sum() ** 2 / squares)


@pytest.mark.parametrize("records", [300, 6_000])
def test_large_and_small_tables_are_the_same(records: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 31, (3, records)).astype(np.uint32)
    counts = np.array([30, 30, 30])
    pairs = np.array([0, 0, 1]), np.array([1, 2, 2])

    def all_tables() -> dict[int, Table]:
        found: dict[int, Table] = {}
        each_table(codes, counts, *pairs, None, found.__setitem__)
        return found

    counted = all_tables()
    monkeypatch.setattr("sfumato.kernels.contingency.CELLS_PER_RECORD", 0)
    monkeypatch.setattr("sfumato.kernels.contingency.FEW_CELLS", 0)
    for k, sorted_ in all_tables().items():
        assert sorted_.observed.tolist() == counted[k].observed.tolist()
        both = (codes[pairs[0][k]] < 30) & (codes[pairs[1][k]] < 30)
        cross = stats.contingency.crosstab(codes[pairs[0][k]][both], codes[pairs[1][k]][both]).count
        assert sorted_.chi_squared()[0] == pytest.approx(stats.chi2_contingency(cross, correction=False).statistic)
