"""Recoding to a level of a hierarchy: of categories by their ancestors, of numbers by nested widths."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import GlobalRecoding, Microdata, NotApplicable, ParameterError, SchemaError, catalogue
from sfumato.compare.naming import in_words
from tables import numbers

TOWNS = {
    "Aix": ["south", "France"],
    "Nice": ["south", "France"],
    "Lille": ["north", "France"],
    "Bonn": ["west", "Germany"],
}


def nominal(values: Sequence[str | None], name: str = "region") -> Microdata:
    return Microdata.from_frame(pa.table({name: pa.array(values, pa.string())}))


def spelled(data: Microdata, name: str) -> list[object]:
    categories = data.schema[name].categories
    return [None if code < 0 else categories[code] for code in data.columns[name]]


def test_by_hand_levels_of_a_hierarchy() -> None:
    data = nominal(["Aix", "Lille", "Bonn", "Nice", None])
    for level, expected in (
        (0, ["Aix", "Lille", "Bonn", "Nice", None]),
        (1, ["south", "north", "west", "south", None]),
        (2, ["France", "France", "Germany", "France", None]),
    ):
        done = GlobalRecoding(hierarchy={"region": TOWNS}, level=level).protect(data)
        assert spelled(done, "region") == expected
        assert bool(done.schema["region"].treatment) is (level > 0)
    ages = numbers(age=[3.0, 12.0, 18.0, 23.0])
    both = Microdata.from_frame(data.take(np.arange(4)).to_arrow().append_column("age", ages.to_arrow()["age"]))
    mixed = GlobalRecoding(hierarchy={"region": TOWNS, "age": [5, 10, 20]}, level={"region": 1, "age": 3}).protect(both)
    assert spelled(mixed, "age") == ["0-19", "0-19", "0-19", "20-39"]
    assert spelled(mixed, "region") == ["south", "north", "west", "south"]


def test_hierarchies_that_are_none_are_refused() -> None:
    for hierarchy, level, message in [
        ({"region": TOWNS}, 3, "has 2 levels; there is no level 3"),
        ({"region": TOWNS}, -1, "level must be a whole number"),
        (
            {"region": {"Aix": ["south"], "Nice": ["south", "France"]}},
            1,
            "row 2: .* needs as many groups",
        ),
        (
            {"region": {"Aix": ["s", "France"], "Nice": ["s", "Italy"]}},
            1,
            "'s' of level 1 is part of 'France' in row 1 and of 'Italy' here",
        ),
        ({"age": [5, 12]}, 1, "multiple of the last, else a class is split; 12 is none of 5"),
        ({"age": [[18, 65], [30]]}, 1, "level 2 cuts at 30, where level 1 does not"),
        ({"region": {}}, 1, "a hierarchy is a dict from each category"),
        ({"region": {"Aix": "south"}}, 1, "a hierarchy is a dict from each category"),
    ]:
        with pytest.raises(ParameterError, match=message):
            GlobalRecoding(hierarchy=hierarchy, level=level)  # type: ignore[arg-type]
    with pytest.raises(NotApplicable, match="hierarchy of 'region' lacks 'Rome'"):
        GlobalRecoding(hierarchy={"region": TOWNS}).protect(nominal(["Aix", "Rome"]))
    with pytest.raises(NotApplicable, match="the schema has no hierarchy of 'region'; `sfumato hierarchy` writes one"):
        GlobalRecoding(level={"region": 1}).protect(nominal(["Aix", "Rome"]))
    with pytest.raises(NotApplicable, match="is nominal: its hierarchy is a dict"):
        GlobalRecoding(hierarchy={"region": [5, 10]}).protect(nominal(["Aix"]))


def test_a_level_is_told_in_words_and_reads_back_from_its_text() -> None:
    method = GlobalRecoding(level={"age": 2}) + GlobalRecoding(hierarchy={"born": ["month", "year"], "region": TOWNS})
    assert in_words(method) == "Age, born and region are given in broader categories."
    assert catalogue.parse(repr(method)) == [method]
    bands = GlobalRecoding(hierarchy={"age": [5, 10]})
    assert repr(bands) == "GlobalRecoding(hierarchy={'age': Hierarchy(widths=(5.0, 10.0))})"
    with pytest.raises(SchemaError, match="12 is none of 5"):
        catalogue.parse("GlobalRecoding(hierarchy={'age': Hierarchy(widths=[5, 12])})")
    with pytest.raises(ParameterError, match=r"say how: .* or level=\{'age': 2\}"):
        GlobalRecoding(level=2)


@given(st.lists(st.integers(-5000, 4999), min_size=1, max_size=30), st.sampled_from([1, 3, 5, 250]))
def test_levels_of_widths_are_the_whole_quotients(values: list[int], width: int) -> None:
    data = numbers(age=[float(value) for value in values])
    for level, wide in enumerate((width, 2 * width, 10 * width), start=1):
        made = GlobalRecoding(hierarchy={"age": [width, 2 * width, 10 * width]}, level=level).protect(data)
        lowest = min(values) // wide
        assert made.columns["age"].tolist() == [value // wide - lowest for value in values]
        binned = GlobalRecoding(bins={"age": wide}).protect(data)
        assert binned.schema["age"] == made.schema["age"]
