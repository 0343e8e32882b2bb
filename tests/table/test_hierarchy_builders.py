"""Hierarchies made of numbers, orders, codes, frequencies and tables."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Hierarchy, ParameterError, SchemaError, Variable

NUMBERS = st.lists(
    st.one_of(st.integers(-30, 30), st.floats(-1e6, 1e6, allow_subnormal=False)), min_size=2, max_size=40
).filter(lambda values: len(set(values)) > 1)


def test_by_hand_bands() -> None:
    age, ages = Variable("age"), np.array([17.0, 18.0, 24.0, 64.0, 65.0, 90.0])
    made = Hierarchy.bands(5, 10, ends=(18, 65))
    assert made.cuts[1] == (18, 20, 30, 40, 50, 60, 65)
    variable, codes = made.at(age, ages, 2)
    assert [variable.categories[code] for code in codes] == ["<18", "18-19", "20-29", "60-64", "65+", "65+"]
    assert Hierarchy.bands(10, start=5).at(age, ages, 1)[0].categories[:2] == ("15-24", "25-34")
    assert Hierarchy.bands(5, np.inf, ends=(20, 30)).cuts == ((20, 25, 30), ())
    with pytest.raises(SchemaError, match="12 is none of 5"):
        Hierarchy.bands(5, 12)
    with pytest.raises(ParameterError, match="the ends of bands must rise"):
        Hierarchy.bands(5, ends=(65, 18))


def test_by_hand_quantiles() -> None:
    # eight values once each: quarters begin at the 3rd, 5th and 7th; halves at the 5th
    assert Hierarchy.quantiles(np.arange(1.0, 9.0), 4, 2).cuts == ((3, 5, 7), (5,))
    # of five ones, 30, 40 and 50 quarters would end after 2, 4 and 6: the nearest ends are those of the ones and of 30,
    # and the roundest numbers before 30 and before 40 are 10 and 40; halves end with the ones
    heavy = np.array([1.0] * 5 + [30.0, 40.0, 50.0])
    assert Hierarchy.quantiles(heavy, 4, 2).cuts == ((10, 40), (10,))
    for groups, message in [((2, 4), "must fall from level to level"), ((1,), "at least 2"), ((), "must fall")]:
        with pytest.raises(ParameterError, match=message):
            Hierarchy.quantiles(heavy, *groups)
    with pytest.raises(ParameterError, match="a column with one value has no quantiles"):
        Hierarchy.quantiles(np.array([1.0, 1.0, np.nan]), 4)


def test_nice_bands_are_round_and_leave_outliers_aside() -> None:
    assert Hierarchy.nice(np.arange(100.0)).widths == (5, 10, 20)
    assert Hierarchy.nice(np.append(np.linspace(0, 1, 999), 50.0), levels=2).widths == (0.05, 0.1)
    assert Hierarchy.nice(np.array([1.0, 2.0, 3.0, np.nan]), levels=2).widths == (2, 10)
    with pytest.raises(ParameterError, match="the values hardly differ"):
        Hierarchy.nice(np.array([3.0, 3.0]))


def test_by_hand_neighbours() -> None:
    levels = ("none", "primary", "secondary", "bachelor", "master")
    made = Hierarchy.ordered(levels)
    assert [row[1] for row in made.rows] == [
        "none to primary", "none to primary", "secondary to bachelor", "secondary to bachelor", "master",
    ]  # fmt: skip
    assert made.height == 2 and made.rows[4] == ("master", "master", "master")
    assert [row[1] for row in Hierarchy.ordered(levels, 3).rows][2:] == ["none to secondary"] + [
        "bachelor to master"
    ] * 2
    for sizes, message in [((1,), "at least 2"), ((2, 3), "3 is none of 2")]:
        with pytest.raises(ParameterError, match=message):
            Hierarchy.ordered(levels, *sizes)
    with pytest.raises(ParameterError, match="there are 2 categories"):
        Hierarchy.ordered(("low", "high"))


def test_by_hand_codes_cut() -> None:
    assert Hierarchy.truncated(["81667", "81925"], keep=(4, 1, 0)).rows == (
        ("81667", "8166*", "8****", "*"),
        ("81925", "8192*", "8****", "*"),
    )
    nuts = Hierarchy.truncated(["AT127", "AT130", "DE2"], keep=(4, 3, 2), mask="")
    assert nuts.rows[0] == ("AT127", "AT12", "AT1", "AT") and nuts.rows[2] == ("DE2", "DE2", "DE2", "DE")
    assert Hierarchy.truncated(["A01.1", "A01"], keep=(4, 3), mask="").rows[0] == ("A01.1", "A01", "A01")
    assert Hierarchy.truncated([2111, 2112], keep=(2,)).rows == ((2111, "21**"), (2112, "21**"))
    for keep, message in [((2, 3), "must fall"), ((-1,), "at least 0"), ((), "must fall")]:
        with pytest.raises(ParameterError, match=message):
            Hierarchy.truncated(["81667"], keep=keep)
    with pytest.raises(ParameterError, match="mask must be one character"):
        Hierarchy.truncated(["81667"], keep=(2,), mask="xx")


def test_by_hand_rare_categories() -> None:
    job = Variable("job", kind="nominal", categories=("baker", "clerk", "pilot", "smith"))
    codes = np.repeat([0, 1, 2, 3], [6, 90, 1, 3]).astype(np.int32)
    # below 2 %: pilot alone, 1 %, so the next rarest joins it; below 10 %: baker too
    assert Hierarchy.rare(job, codes, 0.02, 0.1).rows == (
        ("baker", "baker", "other"),
        ("clerk", "clerk", "clerk"),
        ("pilot", "other", "other"),
        ("smith", "other", "other"),
    )
    for shares, message in [
        ((0.1, 0.02), "shares must rise"),
        ((5,), "between 0 and 1"),
        ((0.95,), "all would be other"),
    ]:
        with pytest.raises(ParameterError, match=message):
            Hierarchy.rare(job, codes, *shares)
    with pytest.raises(ParameterError, match="'age' is numeric; rare categories are merged of a nominal one only"):
        Hierarchy.rare(Variable("age"), np.array([1.0]), 0.1)


@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_table_from_fine_to_coarse(frame: Any) -> None:
    towns = frame({"code": [1, 2, 1], "town": ["Aix", "Bonn", "Aix"], "land": ["F", "D", "F"]})
    made = Hierarchy.from_table(towns, "town", "land")
    assert made.rows == (("Aix", "F"), ("Bonn", "D")) and made.names == ("land",)
    assert Hierarchy.from_table(towns).rows[0] == (1, "Aix", "F")
    with pytest.raises(ParameterError, match="has no column 'state'; it has code, town, land"):
        Hierarchy.from_table(towns, "town", "state")
    with pytest.raises(ParameterError, match="two columns or more"):
        Hierarchy.from_table(towns, "town")
    with pytest.raises(SchemaError, match="row 2: 'Aix' stands in row 1 already"):
        Hierarchy.from_table(frame({"town": ["Aix", "Aix"], "land": ["F", "D"]}))
    with pytest.raises(SchemaError, match="row 2: level 1 is empty"):
        Hierarchy.from_table(frame({"town": ["Aix", "Bonn"], "land": ["F", None]}))


def test_a_top_is_added_once() -> None:
    for made in (
        Hierarchy.bands(5, 10),
        Hierarchy(cuts=((1, 2), (2,)), labels=(("a", "b", "c"), ("d", "e"))),
        Hierarchy.truncated(["81667", "91667"], keep=(1,)).named("first"),
    ):
        topped = made.topped()
        assert topped.height == made.height + 1 and topped.topped() is topped
        assert len(topped.names) == (topped.height if made.names else 0)


@given(NUMBERS, st.sets(st.integers(2, 12), min_size=1, max_size=4))
def test_quantiles_of_any_numbers_nest_and_are_not_too_many(values: list[float], groups: set[int]) -> None:
    column = np.array([*values, np.nan])
    falling = sorted(groups, reverse=True)
    made = Hierarchy.quantiles(column, *falling)
    levels = made.levels(Variable("x"), column)
    for level, most in enumerate(falling, start=1):
        assert 1 <= len(levels.spelled[level]) <= most


@given(NUMBERS, st.integers(1, 5))
def test_nice_widths_of_any_numbers_nest(values: list[float], levels: int) -> None:
    column = np.array(values)
    low, high = np.quantile(column, [0.01, 0.99])
    if high > low:
        made = Hierarchy.nice(column, levels)  # which refuses widths that are no multiples
        assert made.height == levels


@given(
    st.lists(st.text("ABC12.-", min_size=1, max_size=6), min_size=1, max_size=12),
    st.sets(st.integers(0, 6), min_size=1),
)
def test_codes_cut_nest_whatever_their_length(codes: list[str], keep: set[int]) -> None:
    for mask in ("*", ""):
        made = Hierarchy.truncated(codes, keep=sorted(keep, reverse=True), mask=mask)
        assert made.height == len(keep)


@given(st.lists(st.integers(0, 20), min_size=2, max_size=10), st.lists(st.floats(0.01, 0.5), unique=True, min_size=1))
def test_rare_categories_nest(counts: list[int], shares: list[float]) -> None:
    variable = Variable("x", kind="nominal", categories=tuple(f"c{i}" for i in range(len(counts))))
    codes = np.repeat(np.arange(len(counts)), counts).astype(np.int32)
    try:
        made = Hierarchy.rare(variable, codes, *sorted(shares))
    except ParameterError:
        return  # all would be other
    last = [str(row[-1]) for row in made.rows]
    kept = [count for count, group in zip(counts, last, strict=True) if group != "other"]
    assert all(count >= max(shares) * sum(counts) * (1 - 1e-9) for count in kept if "other" in last)
