"""One variable of two tables: the same category has the same code in both."""

import pyarrow as pa

from sfumato import Microdata
from sfumato.table.recoding import aligned


def test_codes_mean_the_same_category_whatever_each_table_lists() -> None:
    one = Microdata.from_frame(pa.table({"town": ["b", "a", "c"]}))
    two = Microdata.from_frame(pa.table({"town": ["c", "z", "a"]}))
    found = aligned(one, two, "town")
    assert found.original.tolist() == [1, 0, 2]
    assert found.protected.tolist() == [2, 3, 0]
    assert found.new == ("z",) and found.known == 3
