"""Sample uniques and k-anonymity."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato import KAnonymity, NotApplicable, ParameterError, SampleUniques
from tables import persons


def people() -> pa.Table:
    return pa.table(
        {
            "town": ["Aix", "Aix", "Aix", "Bonn", "Bonn", "Cork"],
            "sex": ["f", "f", "m", "f", "m", "m"],
        }
    )


def test_by_hand() -> None:
    # town and sex: Aix f twice, the four others once each; town alone: 3, 2, 1; sex alone: 3, 3
    found = SampleUniques(variables=("town", "sex")).evaluate(people(), people())
    assert found.value == pytest.approx(4 / 6)
    assert found.parts == {"uniques": 4.0, "records in pairs": 2.0}
    assert found.by_record is not None and found.by_record.tolist() == [0, 0, 1, 1, 1, 1]
    # without town nobody is unique, without sex the one of Cork is
    assert found.by_variable == pytest.approx({"town": 4 / 6, "sex": 3 / 6})
    shares = {row["keys"]: row["uniques"] for row in found.tables["subsets"]}
    assert shares == pytest.approx({"town, sex": 4 / 6, "town": 1 / 6, "sex": 0.0})


def test_the_smallest_classes_are_spelled_out() -> None:
    found = KAnonymity(variables=("town", "sex")).evaluate(people(), people())
    assert found.value == 1.0 and found.parts["violating 2"] == pytest.approx(4 / 6)
    assert found.tables["smallest classes"][0] == {"town": "Aix", "sex": "m", "records": 1}
    assert found.tables["smallest classes"][-1] == {"town": "Aix", "sex": "f", "records": 2}
    assert found.table("smallest classes")["records"].tolist() == [1, 1, 1, 1, 2]


def test_subsets_of_any_data_equal_a_plain_group_by() -> None:
    data = persons()
    frame = data.to_arrow().to_pandas()
    found = SampleUniques(4).evaluate(data, data)
    assert len(found.tables["subsets"]) == 15
    for row in found.tables["subsets"]:
        keys = row["keys"].split(", ")
        expected = (frame.groupby(keys, observed=True)["id"].transform("size") == 1).mean()
        assert row["uniques"] == pytest.approx(expected)
    assert found.tables["subsets"][0]["uniques"] == found.value


def test_missing_keys_in_subsets() -> None:
    table = pa.table({"a": ["x", None, "y"], "b": ["u", "v", "w"]})
    found = SampleUniques(variables=("a", "b")).evaluate(table, table)
    shares = {row["keys"]: row["uniques"] for row in found.tables["subsets"]}
    # on a alone the second record may be either of the others, so nobody is alone
    assert shares == {"a, b": 1.0, "b": 1.0, "a": 0.0}


@pytest.mark.parametrize("k", [1, 0, 2.5, True, "3"])
def test_k_must_be_two_or_more(k: object) -> None:
    with pytest.raises(ParameterError, match="KAnonymity: k must be a whole number of at least 2"):
        KAnonymity(k)  # type: ignore[arg-type]


def test_more_sets_of_keys_than_can_be_counted_are_refused() -> None:
    wide = pa.table({f"k{j}": ["x", "y", "y"] for j in range(40)})
    names = tuple(wide.column_names)
    assert len(SampleUniques(2, variables=names).evaluate(wide, wide).tables["subsets"]) == 820  # 40 + 40 * 39 / 2
    with pytest.raises(NotApplicable, match="SampleUniques: 40 keys have 102,090 sets of up to 4, more than"):
        SampleUniques(4, variables=names).evaluate(wide, wide)


def test_one_record_is_alone_whatever_is_known() -> None:
    one = persons().take(np.array([0]))
    found = SampleUniques(variables=("region", "sex")).evaluate(one, one)
    assert found.value == 1.0 and found.by_variable == {"region": 0.0, "sex": 0.0}
