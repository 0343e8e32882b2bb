"""Ends cut off, rounding and piles are found alike, whether columns are looked at whole or a stretch at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels import stretches
from sfumato.kernels.stretches import code_counts
from sfumato.table.recoding import capped_records, piled, rounding_base

VALUES = st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5, 7.0, 12.0, np.nan]), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(values=VALUES, what=st.sampled_from(["capped", "rounded", "noise", "gaps"]), length=st.integers(1, 9))
def test_stretches_change_nothing(values: list[float], what: str, length: int) -> None:
    x = np.array(values)
    y = {
        "capped": np.clip(x, 1.0, 7.0),
        "rounded": np.rint(x / 2) * 2,
        "noise": x + np.arange(len(x)),
        "gaps": np.where(np.arange(len(x)) % 3, x, np.nan),
    }[what]
    whole = [found(x, y) for found in (capped_records, rounding_base, piled)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "LENGTH", length)
        for found, expected in zip((capped_records, rounding_base, piled), whole, strict=True):
            again = found(x, y)
            assert (again is None) == (expected is None)
            if expected is not None:
                np.testing.assert_array_equal(again, expected)


def test_nothing_changed_and_a_change_in_the_middle() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 9.0])
    assert capped_records(x, x.copy()) is None
    assert capped_records(x, np.array([1.0, 2.5, 3.0, 4.0, 4.0])) is None
    assert capped_records(x, np.array([1.0, 2.0, 3.0, 3.0, 3.0])).tolist() == [1.0, 2.0, 3.0, 3.0, 3.0]  # type: ignore[union-attr]


@given(st.lists(st.integers(-1, 4), max_size=40), st.integers(1, 7))
def test_codes_are_counted(codes: list[int], length: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "LENGTH", length)
        found = code_counts(np.array(codes, dtype=np.int32), 6)
    assert found.tolist() == [codes.count(code) for code in range(6)]
