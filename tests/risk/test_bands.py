"""Numbers in bands, by hand and against the rule that a value many share is a band of its own."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato import GlobalRecoding, Noise
from sfumato.pair import Half, Pair
from sfumato.risk.compared_variables import BandedVariable
from tables import persons


def test_by_hand_a_value_that_many_share_is_a_band_of_its_own() -> None:
    zeros = np.array([0.0] * 5 + [1.0, 2.0, 3.0, 4.0, 5.0])
    found = BandedVariable.of("numeric", zeros, np.array([-1.0, 0.0, 0.5, 9.0, np.nan]), 4)
    # quarters of ten at 0, 0.5 and 2.75; zero, which five share, ends at the next value, 1
    assert found.cuts.tolist() == [0.5, 1.0, 2.75]
    assert found.original.tolist() == [0] * 5 + [2, 2, 3, 3, 3]
    assert found.protected.tolist() == [0, 0, 1, 3, -1]
    top = np.array([1.0, 2.0, 3.0, 9.0, 9.0, 9.0])
    assert BandedVariable.of("numeric", top, top, 3).original.tolist() == [0, 0, 1, 2, 2, 2]  # thirds at 2.67 and 9
    few = np.array([7.0, 7.0, 8.0])
    assert BandedVariable.of("numeric", few, np.array([7.5]), 5).protected.tolist() == [0]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=80), st.integers(2, 8))
def test_bands_are_in_the_order_of_the_values_and_hold_no_mixture_with_a_heavy_one(values: list[int], k: int) -> None:
    base = np.array(values, dtype=float)
    found = BandedVariable.of("numeric", base, base, k)
    codes = found.original
    np.testing.assert_array_equal(codes, found.protected)
    order = np.argsort(base, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()
    for value in set(values):
        if values.count(value) * k >= len(values):
            assert set(base[codes == codes[values.index(value)]]) == {value}


def test_the_bands_of_an_original_that_was_not_recoded_serve_every_candidate() -> None:
    data = persons()
    half = Half.of(data)
    noisy, coded = Noise(0.1).protect(data, rng=1), GlobalRecoding(groups=3).protect(data, rng=1)
    one, two, recoded = (BandedVariable.between(Pair.of(half, table), "income", 4) for table in (noisy, data, coded))
    assert one.original is two.original
    np.testing.assert_array_equal(two.original, two.protected)
    np.testing.assert_array_equal(recoded.original, recoded.protected)
    plain = BandedVariable.of("numeric", data.columns["income"], noisy.columns["income"], 4)
    np.testing.assert_array_equal(one.original, plain.original)
    np.testing.assert_array_equal(one.protected, plain.protected)
