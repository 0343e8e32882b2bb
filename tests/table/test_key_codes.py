"""The keys of a table: which they are, and their values as codes."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Microdata, NotApplicable
from sfumato.table.keys import key_codes, key_names
from sfumato.table.recoding import aligned
from tables import persons


def test_the_keys_are_those_of_that_role_unless_others_are_stated() -> None:
    assert key_names(persons().schema, None) == ("region", "sex", "education", "age")
    assert key_names(persons().schema, ("sex",)) == ("sex",)


def test_whole_numbers_count_as_categories_and_missing_is_minus_one() -> None:
    data = Microdata.from_frame(pa.table({"age": [30.0, None, 20.0], "sex": ["m", "f", None]}))
    assert key_codes(data, ("age", "sex")).tolist() == [[1, 1], [-1, 0], [0, -1]]


def test_continuous_keys_are_refused_with_what_to_do() -> None:
    data = Microdata.from_frame(pa.table({"income": [1.5, 2.5], "euro": [10, 20]}))
    with pytest.raises(NotApplicable, match=r"key 'income' is continuous .* GlobalRecoding"):
        key_codes(data, ("income",))
    assert key_codes(data, ("euro",)).tolist() == [[0], [1]]
    many = Microdata.from_frame(pa.table({"euro": np.arange(300)}))
    with pytest.raises(NotApplicable, match="continuous"):
        key_codes(many, ("euro",))


def test_categories_are_aligned_whatever_each_table_lists() -> None:
    one = Microdata.from_frame(pa.table({"town": ["b", "a", "c"]}))
    two = Microdata.from_frame(pa.table({"town": ["c", "z", "a"]}))
    found = aligned(one, two, "town")
    assert (found.original.tolist(), found.protected.tolist()) == ([1, 0, 2], [2, 3, 0])
    assert found.new == ("z",) and found.known == 3
