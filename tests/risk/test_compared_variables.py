"""Values of both tables on one footing: points, further records."""

import numpy as np
import pyarrow as pa

from sfumato import Microdata
from sfumato.risk.compared_variables import followed
from sfumato.risk.points import mixed_points
from sfumato.table.recoding import Recoding


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
