"""What a look at a table tells of its variables, and what it suggests."""

from typing import Any, get_args

import pyarrow as pa
import pytest

from sfumato.table.describe import Doubt, Finding, Suggestion, describe
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable


def findings(**columns: Any) -> dict[str, Finding]:
    return {finding.name: finding for finding in describe(Microdata.from_frame(pa.table(columns)))}


def test_what_is_found_of_each_variable() -> None:
    # by hand: three distinct incomes from -5 to 2.5, one missing; north twice, south once, one missing
    found = findings(income=[1.0, 2.5, None, -5.0], region=["north", "south", "north", None])
    income, region = found["income"], found["region"]
    assert (income.distinct, income.missing, income.minimum, income.maximum) == (3, 1, -5, 2.5)
    assert income.examples == (1, 2.5, -5)
    assert (region.distinct, region.missing, region.minimum, region.maximum) == (2, 1, None, None)
    assert region.examples == ("north", "south")
    assert (region.kind, region.role, region.suggestion) == ("nominal", "other", None)


@pytest.mark.parametrize(
    ("name", "values", "doubt", "words"),
    [
        ("sex", [1, 2] * 20, "codes", 'nominal? 2 distinct whole numbers look like codes: kind = "nominal"'),
        ("code", [1, 2, 3, 4] * 10, "codes", "nominal or ordinal?"),
        ("grossing_weight", [1.5 + i % 7 for i in range(40)], "weight", 'weight = "grossing_weight"'),
        ("hh", [i // 3 for i in range(40)], "household", 'household = "hh"'),
        ("id", list(range(500, 460, -1)), "identifier", 'id = "id" at the top, or role = "identifier"'),
        ("name", [f"person {i}" for i in range(40)], "identifier", "identifier?"),
        ("wide", [2**60 + i for i in range(40)], "identifier", "identifier?"),
        ("pay", [-9, *range(100, 139)], "missing codes", "missing = [-9]"),
        (
            "pay",
            ["refused", "refused", *map(str, range(38))],
            "nearly numbers",
            'numbers but for 2 cells? kind = "numeric", missing = ["refused"]',
        ),
        ("pay", ["1,234", "2,345"] * 20, "thousands", "thousands separators"),
        ("nothing", [None] * 40, "all missing", "all values are missing"),
        ("same", [3.5] * 40, "one value", "one value only"),
        ("net_weight_change", [float(i) - 20 for i in range(40)], "identifier", "identifier?"),
        ("household_size", [1, 2, 3, 4] * 10, "codes", "nominal or ordinal?"),
    ],
)
def test_suggestions(name: str, values: list[Any], doubt: Doubt, words: str) -> None:
    suggestion = findings(**{name: values})[name].suggestion
    assert suggestion is not None and (suggestion.name, suggestion.doubt) == (name, doubt)
    assert words in suggestion.sentence


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", [1.25 * i for i in range(40)]),
        ("region", ["north", "south"] * 20),
        ("version", ["1.2", "1.3"] * 20),
        ("mixed", ["1", "2", "north", "south"] * 10),
    ],
)
def test_nothing_odd_is_not_suggested(name: str, values: list[Any]) -> None:
    assert findings(**{name: values})[name].suggestion is None


def test_numbers_that_all_have_a_label() -> None:
    schema = Schema((Variable("vote", labels=((1, "red"), (2, "green"), (8, "none"))),))
    data = Microdata.from_frame(pa.table({"vote": [1.0, 2.0, 8.0, None]}), schema)
    (found,) = describe(data)
    assert found.suggestion == Suggestion("vote", "labelled codes")


def test_what_is_settled_is_not_suggested() -> None:
    table = pa.table({"w": [1.0, 2.0] * 20, "hh": [i // 2 for i in range(40)], "id": list(range(40))})
    data = Microdata.from_frame(table, Schema(weight="w", household="hh", id="id"))
    assert [(f.role, f.suggestion) for f in describe(data)] == [("weight", None), ("household", None), ("id", None)]


def test_an_id_is_not_offered_twice() -> None:
    table = pa.table({"id": list(range(40)), "name": [f"person {i}" for i in range(40)]})
    _, name = describe(Microdata.from_frame(table, Schema(id="id")))
    assert name.suggestion is not None
    assert name.suggestion.sentence == 'an identifier? every value occurs once: role = "identifier"'


def test_every_doubt_has_its_sentence() -> None:
    sentences = [Suggestion("x", doubt).sentence for doubt in get_args(Doubt)]
    assert len(set(sentences)) == len(get_args(Doubt))


def test_what_the_members_of_a_household_share_is_pointed_out() -> None:
    table = pa.table({"home": [1, 1, 2], "rent": [700.5, 700.5, 450.0], "age": [40.0, 71.5, 35.0]})
    found = describe(Microdata.from_frame(table, Schema(household="home")))
    assert [finding.suggestion and finding.suggestion.doubt for finding in found] == [None, "shared", None]
    assert found[1].suggestion is not None and 'level = "household"' in found[1].suggestion.sentence
    said = Schema((Variable("rent", level="household"),), household="home")
    assert not any(finding.suggestion for finding in describe(Microdata.from_frame(table, said)))
