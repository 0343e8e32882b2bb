"""Recodings as a value: by hand, back from JSON and from the command line's text, and as the methods do it."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import GlobalRecoding, Method, Microdata, Schema, TopBottomCoding, Variable
from sfumato.catalogue import parse
from sfumato.compare.recodings import NOTHING, Recode, Recodings
from sfumato.errors import NotApplicable, ParameterError

TOWN = Variable("town", "nominal", categories=("A", "B", "C", "D"))
ODD = ("it's", 'say "so"', "Zürich ≥ 3", "a b", "", "back\\slash", "line\nbreak", "{x}")


def odd_table() -> Microdata:
    table = pa.table(
        {
            "the 'town'": [ODD[i % len(ODD)] for i in range(48)],
            'größe "cm"': [150.0 + i for i in range(48)],
            "born": pa.array(np.datetime64("1950-01-31") + 300 * np.arange(48)),
            "code": [i % 4 for i in range(48)],
            "pay": [float(i * i) for i in range(48)],
        }
    )
    return Microdata.from_frame(table, Schema((Variable("code", "nominal"),)))


def same(one: Microdata, other: Microdata) -> bool:
    return one.schema == other.schema and all(
        np.array_equal(one.columns[n], other.columns[n], equal_nan=one.columns[n].dtype.kind == "f") for n in one.names
    )


def read_back(method: Method | None) -> Method:
    (found,) = parse(repr(method))
    assert isinstance(found, Method)
    return found


def test_groups_are_made_of_categories_and_of_groups_by_hand() -> None:
    one = NOTHING.merged(TOWN, ["A", "B"], "AB")
    assert one.plain() == {"town": {"merge": [["A", "AB"], ["B", "AB"]]}}
    two = one.merged(TOWN, ["AB", "C"], "D")  # which is the name of a category: that one is in the group too
    assert two.merged(TOWN, ["D"], "all").plain() == {"town": {"merge": [[c, "all"] for c in "ABCD"]}}
    assert two.split("town", "D") == NOTHING and one.merged(TOWN, ["AB"], "A").plain() == {
        "town": {"merge": [["B", "A"]]}
    }
    assert one.split("town", "other") == one and NOTHING.merged(TOWN, ["A"], "A") == NOTHING


def test_numbers_that_are_categories_are_found_as_text_too() -> None:
    codes = Variable("code", "nominal", categories=(0, 1, 2, 3))
    chosen = NOTHING.merged(codes, [0, 1], "low").merged(codes, ["low", "2"], "low")  # published codes are texts now
    assert chosen.plain() == {"code": {"merge": [[0, "low"], [1, "low"], [2, "low"]]}}
    made = chosen.method()
    assert made is not None
    data = made.protect(odd_table())
    assert data.schema["code"].categories == ("low", "3")


def test_one_step_recodes_and_one_has_the_limits() -> None:
    chosen = (
        NOTHING.merged(TOWN, ["A", "B"], "AB")
        .with_cuts("age", [18, 65])
        .with_width("born", "10 years")
        .with_level("job", 2)
        .with_rare("land", 0.05)
        .with_limits("pay", top=1000)
        .with_limits("rent", share=0.02)
    )
    assert chosen.method() == GlobalRecoding(
        map={"town": {"A": "AB", "B": "AB"}},
        bins={"age": (18, 65), "born": "10 years"},
        level={"job": 2},
        rare={"land": 0.05},
    ) + TopBottomCoding({"rent": 0.02}, top={"pay": 1000})
    assert NOTHING.method() is None and chosen.without("pay")["pay"] is None
    assert chosen.with_cuts("age", []) == chosen.without("age") == chosen.with_level("age", 0)
    several = NOTHING.with_limits("pay", share=0.01, ends="top").with_limits("rent", share=0.02)
    assert several.method() == TopBottomCoding({"rent": 0.02}) + TopBottomCoding({"pay": 0.01}, ends="top")


def test_the_order_in_which_it_was_said_does_not_count() -> None:
    one, other = (("a", Recode(width=5)), ("b", Recode(rare=0.1)))
    assert Recodings((one, other)) == Recodings((other, one)) and hash(Recodings((one, other)))


@pytest.mark.parametrize(
    "chosen",
    [
        NOTHING.merged(Variable("the 'town'", "nominal", categories=ODD), ODD[:3], ODD[3]),
        NOTHING.merged(Variable("the 'town'", "nominal", categories=ODD), ODD[:3], 'new "name"\' ü'),
        NOTHING.with_cuts('größe "cm"', [160, 170.5]),
        NOTHING.with_cuts("born", [np.datetime64("1960-01-01").item(), "1970-01-01"]),
        NOTHING.with_limits("born", bottom="1955-05-05", top="1985-01-01"),
        NOTHING.with_width("born", "5 years"),
        NOTHING.with_width('größe "cm"', 7),
        NOTHING.with_limits('größe "cm"', share=0.1).with_limits("pay", share=0.05, ends="top"),
        NOTHING.with_rare("the 'town'", 0.2).with_rare("code", 0.1),
        NOTHING.merged(Variable("code", "nominal", categories=(0, 1, 2, 3)), [0, 3], 7).with_limits("pay", top=-1),
    ],
)
def test_its_text_and_its_json_give_the_same_table(chosen: Recodings) -> None:
    data, method = odd_table(), chosen.method()
    assert method is not None
    assert same(read_back(method).protect(data), method.protect(data))
    assert Recodings.of(json.loads(json.dumps(chosen.plain()))) == chosen


texts = st.text(min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    merge=st.dictionaries(st.one_of(texts, st.integers(-5, 5), st.floats(-5, 5)), texts, min_size=1, max_size=4),
    cuts=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4, unique=True).map(sorted),
    rare=st.floats(0.001, 1),
    top=st.one_of(st.integers(), st.floats(-1e9, 1e9)),
    names=st.lists(texts, min_size=4, max_size=4, unique=True),
)
def test_any_recoding_reads_back(merge: Any, cuts: Any, rare: float, top: Any, names: list[str]) -> None:
    if len({str(category) for category in merge}) < len(merge):
        return
    ways = (Recode(merge=merge), Recode(cuts=cuts), Recode(rare=rare), Recode(top=top))
    chosen = Recodings(tuple(zip(names, ways, strict=True)))
    assert read_back(chosen.method()) == chosen.method()
    assert Recodings.of(json.loads(json.dumps(chosen.plain()))) == chosen


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ({"age": {"cuts": [65, 18]}}, "bins of 'age' must be cut points that rise"),
        ({"age": {"cuts": "18"}}, "'age': cuts must be a list"),
        ({"age": {"width": -1}}, "bins of 'age' must be a width above 0"),
        ({"age": {"width": 5, "cuts": [18]}}, "'age': give one of merge"),
        ({"age": {}}, "'age': give one of merge"),
        ({"age": {"bands": 5}}, "'age': 'bands' is no way to recode a variable"),
        ({"age": {"merge": [["a", "b"], ["a", "c"]]}}, "'age': merge puts one category into two groups"),
        ({"age": {"merge": ["a"]}}, "'age': merge must be pairs"),
        ({"age": {"level": -1}}, "'age': level must be a whole number of at least 0"),
        ({"age": {"rare": 5}}, "rare of 'age' must be in"),
        ({"age": {"share": 0.7}}, "'age': share must be above 0 and below 0.5"),
        ({"age": {"share": 0.1, "top": 4}}, "'age': give limits"),
        ({"age": {"top": 4, "ends": "top"}}, "'age': ends goes with a share"),
        ({"age": {"top": 4, "bottom": 5}}, "the bottom of 'age', 5, must be below its top, 4"),
        ([], "recodings must be a dict by variable"),
    ],
)
def test_what_is_wrong_is_said_at_the_variable(plain: Any, said: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        Recodings.of(plain)
    assert said in str(refusal.value)


def test_a_category_that_there_is_not_is_refused() -> None:
    with pytest.raises(ParameterError, match="'town' has no category or group 'E'; name some of 'A', 'B', 'C', 'D'"):
        NOTHING.merged(TOWN, ["A", "E"], "x")
    with pytest.raises(ParameterError, match="nothing to put together"):
        NOTHING.merged(TOWN, [], "x")


def test_rare_categories_by_variable() -> None:
    table = pa.table({"job": list("aaaabbbcc" + "d"), "town": list("xxxxxxxxyz"), "age": [1.5] * 10})
    data = Microdata.from_frame(table)
    # of ten, below 0.25 are c and d, and both together have 3; below 0.15 are y and z, and they are two
    made = GlobalRecoding(rare={"job": 0.25, "town": 0.15}).protect(data)
    assert made.schema["job"].categories == ("a", "b", "other") and made.schema["town"].categories == ("x", "other")
    with pytest.raises(NotApplicable, match="'age' is numeric, so no category is rare; give bins"):
        GlobalRecoding(rare={"age": 0.1}).protect(data)
    with pytest.raises(ParameterError, match="job: give a map, bins, a hierarchy or a share"):
        GlobalRecoding(rare={"job": 0.1}, map={"job": {"a": "b"}})


def test_putting_together_looks_at_each_category_once() -> None:
    class Counted(str):
        """A category that counts how often it is written."""

        written = 0

        def __str__(self) -> str:
            Counted.written += 1
            return str.__str__(self)

    many = 200
    variable = Variable("place", "nominal", categories=tuple(Counted(f"p{place:03}") for place in range(many)))
    half = Recodings().merged(variable, [f"p{place:03}" for place in range(many // 2)], "low")
    Counted.written = 0
    whole = half.merged(variable, ["low", "p150"], "lower")
    assert Counted.written < 20 * many
    recode = whole["place"]
    assert recode is not None
    assert dict(recode.merge) == {f"p{place:03}": "lower" for place in (*range(many // 2), 150)}
