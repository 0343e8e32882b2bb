"""Keys as codes: the same value has the same code in both tables."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Microdata, NotApplicable, Schema, Variable
from sfumato.data.alignment import aligned
from sfumato.data.keys import common_codes, key_codes, key_names
from tables import persons


def test_the_keys_are_those_of_that_role_unless_others_are_stated() -> None:
    assert key_names("M", persons(), None) == ("region", "sex", "education", "age")
    assert key_names("M", persons(), ("sex",)) == ("sex",)


def test_whole_numbers_count_as_categories_and_missing_is_minus_one() -> None:
    data = Microdata.from_frame(pa.table({"age": [30.0, None, 20.0], "sex": ["m", "f", None]}))
    assert key_codes("M", data, ("age", "sex")).tolist() == [[1, 1], [-1, 0], [0, -1]]


def test_continuous_keys_are_refused_with_what_to_do() -> None:
    data = Microdata.from_frame(pa.table({"income": [1.5, 2.5], "euro": [10, 20]}))
    with pytest.raises(NotApplicable, match=r"M: key 'income' is continuous .* GlobalRecoding"):
        key_codes("M", data, ("income",))
    assert key_codes("M", data, ("euro",)).tolist() == [[0], [1]]
    many = Microdata.from_frame(pa.table({"euro": np.arange(300)}))
    with pytest.raises(NotApplicable, match="continuous"):
        key_codes("M", many, ("euro",))


def test_common_codes_mean_the_same_value_whatever_each_table_lists() -> None:
    one = Microdata.from_frame(pa.table({"town": ["b", "a", "c"], "age": [1, 2, 3]}))
    two = Microdata.from_frame(pa.table({"town": ["c", "z", "a"], "age": [3, 9, 2]}))
    before, after = common_codes("M", one, two, ("town", "age"))
    assert before.tolist() == [[1, 0], [0, 1], [2, 2]]
    assert after.tolist() == [[2, 2], [3, 3], [0, 1]]
    found = aligned(one, two, "town")
    assert found.new == ("z",) and found.known == 3


def test_a_key_of_another_kind_cannot_be_matched() -> None:
    one = Microdata.from_frame(pa.table({"age": [1, 2]}))
    two = Microdata.from_frame(pa.table({"age": ["young", "old"]}))
    with pytest.raises(NotApplicable, match="numeric in the original and nominal in the protected"):
        common_codes("M", one, two, ("age",))
    gone = Microdata.from_frame(pa.table({"sex": ["m", "f"]}), Schema((Variable("sex", kind="nominal"),)))
    with pytest.raises(NotApplicable, match="absent in the protected"):
        common_codes("M", one, gone, ("age",))
