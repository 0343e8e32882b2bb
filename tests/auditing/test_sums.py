"""Sums between columns: found where they hold, never of a column that is constant where they are looked for."""

import numpy as np
import pytest

from sfumato.table.sums import relation

RECORDS = 100


@pytest.mark.parametrize("constant", [0.0, 7.0])
def test_a_column_that_is_constant_in_the_records_that_remain_is_left_out(constant: float) -> None:
    # a varies, but where b has a value it is constant: zero, it would be scaled by zero
    rng = np.random.default_rng(1)
    a = np.r_[np.full(60, constant), np.arange(40.0)]
    b = np.r_[rng.integers(0, 50, 60).astype(float), np.full(40, np.nan)]
    c = rng.integers(0, 50, RECORDS).astype(float)
    c[-40:] = np.nan
    found = relation(b + c, {"a": a, "b": b, "c": c}, set(), ("a", "b", "c"))
    assert found is not None and found.parts == ("b", "c") and found.factors == (1.0, 1.0)
    assert relation(rng.normal(size=RECORDS), {"a": a, "b": b}, set(), ("a", "b")) is None


def test_a_column_that_varies_only_between_the_records_that_are_looked_at_is_left_out() -> None:
    # of more than twice RECORDS each second record is looked at: all of these have a zero
    from sfumato.table.sums import RECORDS as LOOKED

    number = 2 * LOOKED + 2
    rng = np.random.default_rng(2)
    a, b = np.tile([0.0, 1.0], number // 2), rng.normal(size=number)
    assert relation(rng.normal(size=number), {"a": a, "b": b}, set(), ("a", "b")) is None
