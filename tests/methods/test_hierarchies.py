"""Recoding to a level of a hierarchy: of categories by their ancestors, of numbers by nested widths."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from sfumato import GlobalRecoding, Microdata, NotApplicable, ParameterError
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
