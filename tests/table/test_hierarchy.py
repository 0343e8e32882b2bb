"""The value itself: what is a hierarchy, what a level makes of a column, and what a search is told."""

import datetime as dt
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hierarchies import CUTS, ROWS, SPANS, WIDTHS
from sfumato import GlobalRecoding, Hierarchy, Microdata, NotApplicable, SchemaError, Treatment, Variable
from sfumato.table import bands
from sfumato.table.dates import day_of
from sfumato.table.recoding import recoding
from tables import numbers

AGE = Variable("age")
CALENDAR = ("day", "2 days", "week", "2 weeks", "month", "2 months", "quarter", "year", "5 years", "10 years", "all")
TOWNS = Hierarchy(
    rows=(("Aix", "south", "F"), ("Nice", "south", "F"), ("Lille", "north", "F"), ("Bonn", "west", "D")),
    names=("part", "country"),
)


def floats(*values: float) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


def spelled(variable: Variable, column: NDArray[Any]) -> list[str | None]:
    """Return the values of a column as text, None where missing."""
    if not variable.categories:
        return [None if np.isnan(value) else f"{value:g}" for value in column.tolist()]
    return [None if code < 0 else str(variable.categories[code]) for code in column.tolist()]


def test_by_hand_levels_of_categories() -> None:
    town = Variable("town", kind="nominal", categories=("Aix", "Bonn", "Lille", "Nice", "Rome"))
    codes = np.array([0, 1, -1, 3, 0], dtype=np.int32)  # Aix, Bonn, missing, Nice, Aix; Lille and Rome do not occur
    found = TOWNS.levels(town, codes)
    assert found.codes.tolist() == [0, 1, -1, 2, 0]
    assert [parent.tolist() for parent in found.parents] == [[0, 1, 2], [0, 1, 0], [0, 1, 0]]
    assert found.spelled == (("Aix", "Bonn", "Nice"), ("south", "west"), ("F", "D"))
    # south has the leaves Aix and Nice, F also Lille, which no record has; all leaves are four
    assert [sizes.tolist() for sizes in found.sizes] == [[1, 1, 1], [2, 1], [3, 1]]
    assert (found.whole, found.counted, found.height) == (4, "leaves", 2)
    assert found.groups(2).tolist() == [0, 1, -1, 0, 0]
    at_one, column = TOWNS.at(town, codes, 1)
    assert spelled(at_one, column) == ["south", "west", None, "south", "south"]
    assert dict(at_one.treatment.groups)["Lille"] == "north" and at_one.hierarchy is None


def test_by_hand_levels_of_a_number() -> None:
    ages = floats(3, 12, np.nan, 18, 23)
    found = Hierarchy(widths=(5, 10, math.inf)).levels(AGE, ages)
    assert found.spelled[1:] == (("0-4", "10-14", "15-19", "20-24"), ("0-9", "10-19", "20-29"), ("*",))
    # from 3 to 23: of 0-4 lie 3 to 5, of 20-24 lie 20 to 23; of 0-9 lie 3 to 10
    assert [sizes.tolist() for sizes in found.sizes] == [[0, 0, 0, 0], [2, 5, 5, 3], [7, 10, 3], [20]]
    assert (found.whole, found.counted) == (20, "width")
    started, column = Hierarchy(widths=(10,), start=5).at(AGE, ages, 1)
    assert spelled(started, column) == ["-5 to 4", "5-14", None, "15-24", "15-24"]
    cut = Hierarchy(cuts=((13, 18), (18,), ()), labels=(("child", "teen", "adult"), ("minor", "adult"), ("all",)))
    assert spelled(*cut.at(AGE, ages, 1)) == ["child", "child", None, "adult", "adult"]
    assert spelled(*cut.at(AGE, ages, 2)) == ["minor", "minor", None, "adult", "adult"]
    assert spelled(*cut.at(AGE, ages, 3)) == ["all", "all", None, "all", "all"]
    assert cut.at(AGE, ages, 1)[0].treatment == Treatment(cuts=(13, 18))


def test_a_number_with_a_row_for_each_value_is_recoded_by_rows() -> None:
    rows = Hierarchy(rows=tuple((str(i), "<50" if i < 50 else ">=50", "*") for i in range(1, 101)))
    ages = floats(20, 50, np.nan, 99)
    variable, column = rows.at(AGE, ages, 1)
    assert (variable.kind, variable.categories) == ("ordinal", ("<50", ">=50"))
    assert spelled(variable, column) == ["<50", ">=50", None, ">=50"] and variable.treatment == Treatment(
        cuts=(50,), ends=(-np.inf, np.inf)
    )
    found = rows.levels(AGE, ages)
    assert [sizes.tolist() for sizes in found.sizes] == [[1, 1, 1], [49, 51], [100]] and found.counted == "leaves"
    assert spelled(*rows.at(AGE, ages, 2)) == ["*", "*", None, "*"]
    with pytest.raises(NotApplicable, match=r"hierarchy of 'age' lacks '20\.5'; add a row for each value that occurs"):
        rows.at(AGE, floats(20.5), 1)
    with pytest.raises(NotApplicable, match=r"lacks '20\.5'"):
        rows.levels(AGE, floats(20.5))
    with pytest.raises(NotApplicable, match=r"has a row for 'age', which is no number; .* take the row out"):
        Hierarchy(rows=(("age", "group"), ("1", "low"))).at(AGE, floats(1), 1)
    with pytest.raises(NotApplicable, match="has two rows for 1; keep one"):
        Hierarchy(rows=(("1", "low"), ("1.0", "low"))).at(AGE, floats(1), 1)


def test_by_hand_levels_of_a_date() -> None:
    born = Variable("born", kind="date")
    days = floats(*(day_of(text) or 0.0 for text in ("1990-01-31", "1990-03-01", "1990-04-01", "1991-12-31")), np.nan)
    made = Hierarchy.dates("month", "quarter", "year", "10 years").topped()
    for level, expected in (
        (1, ["1990-01", "1990-03", "1990-04", "1991-12", None]),
        (2, ["1990-Q1", "1990-Q1", "1990-Q2", "1991-Q4", None]),
        (3, ["1990", "1990", "1990", "1991", None]),
        (4, ["1990-1999"] * 4 + [None]),
        (5, ["*"] * 4 + [None]),
    ):
        variable, column = made.at(born, days, level)
        assert variable.kind == "ordinal" and spelled(variable, column) == expected
    found = made.levels(born, days)
    # of January 1990 one day is left before February; the whole lasts from 31 January 1990 to 31 December 1991
    assert (found.sizes[1][0], found.whole, found.counted) == (1, 699, "width")
    assert found.spelled[0][0] == "1990-01-31"
    cut = Hierarchy(cuts=(("1990-04-01", dt.date(1991, 1, 1)), ("1991-01-01",)))  # type: ignore[arg-type]
    assert spelled(*cut.at(born, days, 2)) == ["<1991"] * 3 + ["1991+", None]
    aged = Hierarchy.ages("2010-03-01", [19, 20], [20])  # born 1 March 1990 is 20, 31 January too, 1 April 19, then 18
    assert spelled(*aged.at(born, days, 1)) == ["20+", "20+", "19", "<19", None]
    assert spelled(*aged.at(born, days, 2)) == ["20+", "20+", "<20", "<20", None]
    rows = made.listing(days[:4], "date")
    assert rows.rows[0] == ("1990-01-31", "1990-01", "1990-Q1", "1990", "1990-1999", "*")
    assert spelled(*rows.at(born, days, 2)) == spelled(*made.at(born, days, 2))
    for hierarchy, variable, message in [
        (made, AGE, r"'age' is numeric; spans of the calendar are for a date"),
        (Hierarchy.bands(5), born, r"'born' is a date; its hierarchy is made of 'month'.* not of widths"),
        (Hierarchy(rows=(("soon", "x"),)), born, r"'born' is date, but its hierarchy has a row for 'soon'"),
    ]:
        with pytest.raises(NotApplicable, match=message):
            hierarchy.at(variable, days, 1)


@given(st.lists(st.sampled_from(CALENDAR), min_size=1, max_size=4), st.lists(st.integers(-5000, 4000), min_size=1))
def test_spans_either_nest_on_every_date_or_are_refused(spans: list[str], days: list[int]) -> None:
    try:
        made = Hierarchy(spans=tuple(spans))
    except SchemaError:
        return
    same_column(made, Variable("born", kind="date"), np.array(days, dtype=np.float64))


def test_rows_that_are_no_runs_of_numbers_make_a_number_nominal_and_measures_know_how() -> None:
    parity = Hierarchy(rows=tuple((i, "even" if i % 2 == 0 else "odd") for i in range(10)))
    before = numbers(age=[1.0, 2.0, 4.0, np.nan])
    after = GlobalRecoding(hierarchy={"age": parity}).protect(before)
    assert after.schema["age"].kind == "nominal"
    assert spelled(after.schema["age"], after.columns["age"]) == ["odd", "even", "even", None]
    found = recoding(before, after, "age", matched=False)
    assert found.source == "stated" and found.original.tolist() == found.protected.tolist()


def test_a_level_of_the_schemas_hierarchy_needs_no_other() -> None:
    data = numbers(age=[3.0, 12.0, 18.0, 23.0])
    known = Microdata.from_frame(data, data.schema.replace(Variable("age", hierarchy=Hierarchy(widths=(5, 10)))))
    by_schema = GlobalRecoding(level={"age": 2}).protect(known)
    stated = GlobalRecoding(hierarchy={"age": [5, 10]}, level=2).protect(data)
    assert by_schema.schema["age"] == stated.schema["age"]
    assert by_schema.columns["age"].tolist() == stated.columns["age"].tolist()
    own = GlobalRecoding(hierarchy={"age": [10, 20]}, level={"age": 2}).protect(known)  # what is given goes first
    assert own.schema["age"].categories == ("0-19", "20-39")
    with pytest.raises(NotApplicable, match="the hierarchy of 'age' has 2 levels; there is no level 3"):
        GlobalRecoding(level={"age": 3}).protect(known)
    with pytest.raises(NotApplicable, match="the schema has no hierarchy of 'age'"):
        GlobalRecoding(level={"age": 1}).protect(data)


def test_groups_of_an_ordinal_variable_must_be_neighbours_at_every_level() -> None:
    grade = Variable("grade", kind="ordinal", categories=("low", "middle", "high"))
    odd = Hierarchy(rows=(("low", "ends"), ("middle", "middle"), ("high", "ends")))
    codes = np.array([0, 1, 2], dtype=np.int32)
    for use in (lambda: odd.at(grade, codes, 1), lambda: odd.levels(grade, codes)):
        with pytest.raises(NotApplicable, match="'ends' would hold categories that are no neighbours"):
            use()


def test_a_column_without_values_stays_as_it_is() -> None:
    nothing = floats(np.nan, np.nan)
    for hierarchy in (Hierarchy(widths=(5,)), Hierarchy(cuts=((1.0,),)), Hierarchy(rows=(("1", "a"),))):
        assert hierarchy.at(AGE, nothing, 1)[0] is AGE
        assert hierarchy.levels(AGE, nothing).groups(1).tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (dict, "has rows, cuts, widths or spans; this one has none of them"),
        (lambda: {"rows": (("a", "b"),), "widths": (5,)}, "this one has both rows and widths"),
        (lambda: {"rows": (("a",),)}, "row 1: 'a' has no group"),
        (lambda: {"rows": (("a", "x"), ("b", "x", "y"))}, "row 2: it has 3 entries and row 1 has 2"),
        (lambda: {"rows": (("a", "x"), ("b", ""))}, "row 2: level 1 is empty"),
        (lambda: {"rows": (("a", "x"), ("a", "y"))}, "row 2: 'a' stands in row 1 already"),
        (lambda: {"rows": ((1, "x"), ("1", "y"))}, "row 2: '1' stands in row 1 already"),
        (
            lambda: {"rows": (("a", "x", "1"), ("b", "x", "2"))},
            "'x' of level 1 is part of '1' in row 1 and of '2'",
        ),
        (lambda: {"rows": (("a", ["x", "y"]),)}, r"row 1: \['x', 'y'\] is a list"),
        (lambda: {"cuts": ((5, 3),)}, "cuts of level 1 must be numbers or dates that rise"),
        (lambda: {"cuts": ((1, 2), (3,))}, "level 2 cuts at 3, where level 1 does not"),
        (lambda: {"widths": (5, 12)}, "12 is none of 5"),
        (lambda: {"widths": (5, 5)}, "5 is none of 5"),
        (lambda: {"widths": (0,)}, "above 0; got 0"),
        (lambda: {"widths": (math.inf, 5)}, "5 is none of inf"),
        (lambda: {"widths": (5,), "start": math.nan}, "start of a hierarchy's classes must be a number"),
        (lambda: {"spans": ("month", "soon")}, "the spans of a hierarchy are 'month', .* got 'soon'"),
        (lambda: {"spans": ("all", "year")}, "and 'all' at the last; got 'all'"),
        (lambda: {"spans": ("week", "month")}, "'month' is not made of 'week'"),
        (lambda: {"spans": ("year", "quarter")}, "'quarter' is not made of 'year'"),
        (lambda: {"spans": ("2 days", "2 weeks")}, "'2 weeks' is not made of '2 days'"),
        (lambda: {"cuts": (("soon",),)}, "cuts of level 1 must be numbers or dates that rise"),
        (lambda: {"widths": (5,), "names": ("a", "b")}, "there are 1 levels above"),
        (lambda: {"cuts": ((1, 2),), "labels": (("a", "b"),)}, "level 1 has 3 classes"),
        (lambda: {"widths": (5,), "labels": (("a", "b"),)}, "labels name the classes of each level of cuts"),
    ],
)
def test_what_is_no_hierarchy_is_refused(made: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Hierarchy(**made())


def test_numbers_of_numpy_become_pythons() -> None:
    codes = np.array([1, 2])
    for made in (
        Hierarchy.bands(*np.array([5, 10])),
        Hierarchy(cuts=(tuple(codes),)),
        Hierarchy.truncated(codes, keep=(0,)),
    ):
        assert eval(repr(made)) == made and "np." not in repr(made)


@given(st.one_of(ROWS, CUTS, WIDTHS, SPANS))
def test_any_hierarchy_reads_back_from_its_text(hierarchy: Hierarchy) -> None:
    assert eval(repr(hierarchy)) == hierarchy and hash(eval(repr(hierarchy))) == hash(hierarchy)
    assert Hierarchy.of(hierarchy.stated()) == hierarchy and pickle.loads(pickle.dumps(hierarchy)) == hierarchy


def same_column(hierarchy: Hierarchy, variable: Variable, column: NDArray[Any]) -> None:
    """Check that levels nest, and that a recoded column has the groups that a search is told of."""
    found = hierarchy.levels(variable, column)
    for level in range(hierarchy.height + 1):
        at = spelled(*hierarchy.at(variable, column, level))
        groups = found.groups(level)
        words = [None if group < 0 else found.spelled[level][group] for group in groups.tolist()]
        if level or variable.categories:
            assert at == words
        assert len(set(found.spelled[level])) == len(found.spelled[level]) == len(found.sizes[level])
        assert (found.sizes[level] <= found.whole + 1e-9).all()
        if level:  # whoever is together below is together here, and a group holds no less than what it is made of
            pairs = {*zip(found.parents[level - 1].tolist(), found.parents[level].tolist(), strict=True)}
            assert len(pairs) == len(set(found.parents[level - 1].tolist()))
            assert all(found.sizes[level][up] >= found.sizes[level - 1][down] - 1e-9 for down, up in pairs)


@given(ROWS, st.data())
def test_levels_of_rows_nest_and_agree_with_the_recoding(hierarchy: Hierarchy, data: st.DataObject) -> None:
    categories = tuple(row[0] for row in hierarchy.rows)
    codes = data.draw(st.lists(st.integers(-1, len(categories) - 1), min_size=1, max_size=12))
    variable = Variable("x", kind="nominal", categories=tuple(map(str, categories)))
    same_column(hierarchy, variable, np.array(codes, dtype=np.int32))


@given(st.one_of(CUTS, WIDTHS), st.lists(st.one_of(st.just(np.nan), st.floats(-500, 500)), min_size=1, max_size=12))
def test_levels_of_numbers_nest_and_agree_with_the_recoding(hierarchy: Hierarchy, values: list[float]) -> None:
    same_column(hierarchy, AGE, np.array(values))
    present = sorted({value for value in values if not math.isnan(value)})
    if present:  # and as rows they are the same
        rows = hierarchy.listing(present)
        for level in range(1, hierarchy.height + 1):
            assert spelled(*rows.at(AGE, np.array(values), level)) == spelled(
                *hierarchy.at(AGE, np.array(values), level)
            )


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"rows": (1, 2)}, r"rows of a hierarchy must be a list of lists, one for each category; got \(1, 2\)"),
        ({"cuts": (1, 2)}, r"cuts of a hierarchy must be a list of lists, one for each level; got \(1, 2\)"),
        ({"cuts": ((10**400,),)}, "the cuts of level 1 must be numbers or dates that rise"),
        ({"widths": 5}, "widths of a hierarchy must be a list; got 5"),
        ({"rows": (("a", {1}),)}, r"row 1: \{1\} is no group; a group is text, a finite number"),
        ({"rows": (("a", float("nan")),)}, "row 1: nan is no group"),
        ({"rows": (("a", ["b"]),)}, "row 1: .* is a list, which is no group; write an entry for each level"),
        ({"cuts": ((5,),), "labels": ((1, 2),)}, "the labels of level 1 must be text"),
        ({"cuts": ((5,),), "labels": "ab"}, "labels of a hierarchy must be a list of lists"),
        ({"spans": "year"}, "spans of a hierarchy must be a list; got 'year'"),
    ],
)
def test_faulty_shapes_are_refused_with_a_sentence(stated: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Hierarchy(**stated)


def test_the_repr_of_rows_of_dates_evaluates_back() -> None:
    days = Hierarchy(rows=((dt.date(1990, 1, 31), "1990"), (dt.date(1991, 5, 1), "1991")))
    assert eval(repr(days)) == days
    born = np.array([day_of("1991-05-01"), np.nan])
    variable, column = days.at(Variable("born", kind="date"), born, 1)
    assert (variable.categories, column.tolist()) == (("1990", "1991"), [1, -1])


def test_days_of_a_century_are_classes_if_few_occur() -> None:
    """36,525 days lie between, of which three occur; 10,001 that occur are too many."""
    ends = np.array([day_of("1920-01-01"), day_of("1950-06-01"), day_of("2019-12-31")], dtype=np.float64)
    variable, column = Hierarchy.dates("day", "year").at(Variable("born", kind="date"), ends, 1)
    assert [variable.categories[code] for code in column] == ["1920-01-01", "1950-06-01", "2019-12-31"]
    with pytest.raises(NotApplicable, match="are 10,001 "):
        Hierarchy.dates("day").at(Variable("born", kind="date"), np.arange(10_001.0), 1)


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (["20-29", "30-39"], "20-39"),
        (["18", "19-24", "25-29"], "18-29"),
        (["<20", "20-29"], "<30"),
        (["50-59", "60+"], "50+"),
        (["-5 to 4", "5-14"], "-5 to 14"),
        (["[0, 0.5)", "[0.5, 1.25)"], "[0, 1.25)"),
        (["<1200", "[1200, 3400)"], "<3400"),
        (["[1200, 3400)", ">=3400"], ">=1200"),
        (["1 to 3", "4 to 7"], "1 to 7"),
        # what is no band, or bands that do not rise, keep their words
        (["<20", "20-29", "30+"], "<20 to 30+"),
        (["1990-11", "1990-12"], "1990-11 to 1990-12"),
        (["30-39", "20-29"], "30-39 to 20-29"),
        (["close to town", "far from town"], "close to town to far from town"),
        (["007", "008"], "007 to 008"),
        (["3", "4"], "3 to 4"),
    ],
)
def test_bands_that_are_put_together_are_named_by_their_outer_ends(labels: list[str], name: str) -> None:
    assert bands.joined_label(labels) == name
