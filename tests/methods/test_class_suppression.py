"""Local suppression into classes of k, missing values a category: no violation is left, and hardly anything in vain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from sfumato import KAnonymity, LocalSuppression, ParameterError
from sfumato.kernels.groups import class_sizes
from sfumato.kernels.suppression import SharedKeys, cheapest_classes, cheapest_shown
from tables import persons

Codes = NDArray[np.int32]
tables = arrays.arrays(np.int32, st.tuples(st.integers(4, 20), st.integers(1, 4)), elements=st.integers(-1, 3))


def optimum(codes: Codes, k: int, costs: list[float]) -> float:
    """The least cost by integer programming over all published rows.

    x[i, r] = 1 when record i publishes row r, y[r] = 1 when anybody does: every record publishes one row, nobody one
    that is not published, and at least k records each one that is.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import lil_matrix

    n, q = codes.shape
    choices = [
        (i, tuple(-1 if mask >> v & 1 else int(codes[i, v]) for v in range(q)))
        for i in range(n)
        for mask in range(2**q)
        if all(codes[i, v] >= 0 or mask >> v & 1 for v in range(q))
    ]
    rows = sorted({row for _, row in choices})
    opened = {row: len(choices) + place for place, row in enumerate(rows)}
    price = [sum(c for c, v, p in zip(costs, codes[i], row, strict=True) if v >= 0 > p) for i, row in choices]
    matrix = lil_matrix((n + len(rows) + len(choices), len(choices) + len(rows)))
    for x, (i, row) in enumerate(choices):
        matrix[i, x] = 1
        matrix[n + opened[row] - len(choices), x] = 1
        matrix[n + len(rows) + x, opened[row]], matrix[n + len(rows) + x, x] = 1, -1
    for row in rows:
        matrix[n + opened[row] - len(choices), opened[row]] = -k
    low = np.concatenate([np.ones(n), np.zeros(matrix.shape[0] - n)])
    high = np.concatenate([np.ones(n), np.full(matrix.shape[0] - n, np.inf)])
    solved = milp(
        price + [0.0] * len(rows),
        constraints=LinearConstraint(matrix.tocsr(), low, high),
        integrality=np.ones(matrix.shape[1]),
        bounds=Bounds(0, 1),
    )
    assert solved.success
    return float(solved.fun)


def suppress(codes: Codes, k: int, costs: list[float]) -> float:
    """Suppress, check that k records publish each row, and return the cost."""
    shown = cheapest_classes(codes, k, np.array(costs), [0] * len(costs))
    assert not (~shown & (codes < 0)).any()
    assert class_sizes(np.where(shown, codes, -1)).min() >= k
    return float((~shown).sum(axis=0) @ np.array(costs))


def test_within_ten_per_cent_of_integer_programming() -> None:
    ratios = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n, q, k = int(rng.integers(6, 24)), int(rng.integers(2, 4)), int(rng.integers(2, 5))
        codes = rng.integers(0, rng.integers(2, 5), size=(n, q)).astype(np.int32)
        if seed % 4 == 0:
            codes[rng.random(codes.shape) < 0.1] = -1
        costs = [1.0] * q if seed % 2 else rng.integers(1, 5, q).astype(float).tolist()
        least, found = optimum(codes, k, costs), suppress(codes, k, costs)
        assert found >= least - 1e-6
        ratios.append(found / least if least > 1e-6 else 1.0 + found)
    assert np.mean(ratios) <= 1.02
    assert max(ratios) <= 1.1


@settings(max_examples=60, deadline=None)
@given(tables, st.integers(1, 4))
def test_classes_of_k_and_never_cheaper_than_the_bound(codes: Codes, k: int) -> None:
    q = codes.shape[1]
    found = suppress(codes, k, [1.0] * q)
    if not (codes < 0).any():  # what k records publish alike, k records of the table given agree with
        assert found >= (~cheapest_shown(codes, [SharedKeys(tuple(range(q)), k, q)], np.ones(q), [0] * q).shown).sum()


def test_large_tables_are_close_to_the_bound() -> None:
    rng = np.random.default_rng(0)
    scores = 0.6 * rng.normal(size=(10_000, 1)) + 0.8 * rng.normal(size=(10_000, 4))
    codes = np.minimum(np.exp(scores) * [3, 1, 2, 4], 9).astype(np.int32)
    bound = float((~cheapest_shown(codes, [SharedKeys((0, 1, 2, 3), 3, 4)], np.ones(4), [0] * 4).shown).sum())
    assert bound > 100
    found = suppress(codes, 3, [1.0] * 4)
    assert bound <= found <= 1.1 * bound


def test_identical_records_beyond_those_that_take_part_stay_safe() -> None:
    # 41 of one kind and one other: with k = 10, nine of the 41 join it, and 32 stay
    codes = np.array([[0, 0]] * 41 + [[0, 1]], dtype=np.int32)
    shown = cheapest_classes(codes, 10, np.ones(2), [0, 0])
    assert (~shown).sum(axis=0).tolist() == [0, 10] and not shown[41, 1]


def test_the_method() -> None:
    data = persons()
    masked = LocalSuppression(3, missing="category").protect(data)
    keys = ("region", "sex", "education", "age")
    rows = list(zip(*(np.nan_to_num(masked.columns[name], nan=-1).tolist() for name in keys), strict=True))
    assert min(rows.count(row) for row in rows) >= 3
    assert KAnonymity(3).evaluate(data, masked).value == 0
    again = LocalSuppression(3, missing="category").protect(data, rng=9)
    assert all(np.array_equal(again.columns[n], masked.columns[n], equal_nan=True) for n in data.schema.analysed())
    assert masked.schema["age"].treatment.suppressed > 0
    with pytest.raises(ParameterError, match="LocalSuppression: subsets needs missing='matches'"):
        LocalSuppression(3, subsets=2, missing="category")
    with pytest.raises(ParameterError, match="LocalSuppression: missing must be one of 'matches', 'category'"):
        LocalSuppression(3, missing="any")  # type: ignore[arg-type]
