"""Values of both tables on one footing: bands, points, further records."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Microdata
from sfumato.data.recoding import Recoding
from sfumato.risk.bands import banded
from sfumato.risk.compared_variables import followed
from sfumato.risk.mixed_points import mixed_points


def test_by_hand_a_value_that_many_share_is_a_class_of_its_own() -> None:
    zeros = np.array([0.0] * 5 + [1.0, 2.0, 3.0, 4.0, 5.0])
    codes, other, cuts = banded("numeric", zeros, np.array([-1.0, 0.0, 0.5, 9.0, np.nan]), 4)
    # quarters of ten at 0, 0.5 and 2.75; zero, which five share, ends at the next value, 1
    assert cuts.tolist() == [0.5, 1.0, 2.75]
    assert codes.tolist() == [0] * 5 + [2, 2, 3, 3, 3]
    assert other.tolist() == [0, 0, 1, 3, -1]
    top = np.array([1.0, 2.0, 3.0, 9.0, 9.0, 9.0])
    assert banded("numeric", top, top, 3)[0].tolist() == [0, 0, 1, 2, 2, 2]  # thirds at 2.67 and 9
    few = np.array([7.0, 7.0, 8.0])
    assert banded("numeric", few, np.array([7.5]), 5)[1].tolist() == [0]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=80), st.integers(2, 8))
def test_classes_are_in_the_order_of_the_values_and_hold_no_mixture_with_a_heavy_one(values: list[int], k: int) -> None:
    base = np.array(values, dtype=float)
    codes, again, _ = banded("numeric", base, base, k)
    np.testing.assert_array_equal(codes, again)
    order = np.argsort(base, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()
    for value in set(values):
        if values.count(value) * k >= len(values):
            assert set(base[codes == codes[values.index(value)]]) == {value}


def test_by_hand_points_of_every_kind() -> None:
    number = Recoding("numeric", np.array([0.0, 5.0, np.nan]), np.array([10.0]))
    place = Recoding("ordinal", np.array([0, 2, -1]), np.array([1]), ("low", "middle", "high"))
    town = Recoding("nominal", np.array([0, 3, -1]), np.array([1]), ("a", "b", "c", "d"))
    before, after = mixed_points([number, place, town])
    assert before.tolist() == [[0, 0, 0], [0.5, 1, 6], [2, 2, -2]]
    assert after.tolist() == [[1, 0.5, 2]]
    large = Recoding("numeric", np.array([-1.7e308, 1.7e308]), np.array([0.0]))
    np.testing.assert_allclose(mixed_points([large])[0].ravel(), [0, 1])


def test_by_hand_further_records_are_recoded_as_their_nearest_were() -> None:
    original = Microdata.from_frame(pa.table({"age": [20.0, 30.0, 40.0], "town": ["Aix", "Bonn", "Cork"]}))
    more = Microdata.from_frame(pa.table({"age": [24.0, 36.0, None, 99.0], "town": ["Bonn", "Ulm", None, "Aix"]}))
    banded = Recoding("ordinal", np.array([0, 1, 1], np.int32), np.array([0], np.int32), ("young", "old"), "stated")
    assert followed(original, more, "age", banded).original.tolist() == [0, 1, 1, 0, 1, -1, 1]
    merged = Recoding("nominal", np.array([1, 0, 0], np.int32), np.array([0], np.int32), ("north", "south"), "stated")
    assert followed(original, more, "town", merged).original.tolist() == [1, 0, 0, 0, 2, -1, 1]
    plain = Recoding("numeric", original.columns["age"], np.array([1.0]))
    np.testing.assert_array_equal(followed(original, more, "age", plain).original, [20, 30, 40, 24, 36, np.nan, 99])
