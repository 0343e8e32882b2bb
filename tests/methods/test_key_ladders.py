"""Hierarchies of keys that have none: made of the values, and ending in one group."""

from datetime import date

import pyarrow as pa
import pytest

from sfumato import KAnonymity, LocalRecoding, Microdata, OptimalRecoding, Schema, Variable
from sfumato.methods.key_ladders import ladders


@pytest.mark.parametrize(
    ("column", "variable", "made"),
    [
        (list(range(100, 148)), Variable("key", "nominal", "key", categories=tuple(range(100, 148))), "truncate 2 1"),
        ([*"aaaaaaaabbbbbbbbbbcde"], Variable("key", "nominal", "key"), "rare 0.05"),
        ([*"aabbccddeeffgg"], Variable("key", "ordinal", "key", categories=tuple("abcdefg")), "merge-neighbours"),
        ([*"aab"], Variable("key", "nominal", "key"), "all in one group"),
    ],
)
def test_a_key_without_a_hierarchy_gets_one_that_ends_in_one_group(
    column: list[object], variable: Variable, made: str
) -> None:
    data = Microdata.from_frame(pa.table({"key": column}), Schema((variable,)))
    (key,) = ladders(data, ["key"], {})
    assert key.made == made and key.parents[-1].max() == 0
    assert KAnonymity(3).evaluate(data, OptimalRecoding(3, 0.0).protect(data)).value == 0


@pytest.mark.parametrize("kind", [pa.string(), pa.float64(), pa.date32()])
@pytest.mark.parametrize("method", [OptimalRecoding, LocalRecoding])
def test_a_key_that_is_missing_everywhere_stays_so(
    method: type[OptimalRecoding | LocalRecoding], kind: pa.DataType
) -> None:
    table = pa.table({"gone": pa.array([None] * 6, kind), "sex": ["f", "m"] * 3})
    assert method(3, variables=("gone",)).protect(table)["gone"].to_pylist() == [None] * 6
    assert method(3, variables=("gone", "sex")).protect(table)["sex"].to_pylist() == ["f", "m"] * 3


@pytest.mark.parametrize("method", [OptimalRecoding, LocalRecoding])
def test_a_few_dates_without_a_hierarchy_become_years(method: type[OptimalRecoding | LocalRecoding]) -> None:
    days = [date(year, month, 1) for year in (1950, 1960) for month in (1, 5, 9)]
    assert method(3, 0.0, variables=("born",)).protect(pa.table({"born": days}))["born"].to_pylist() == (
        ["1950"] * 3 + ["1960"] * 3
    )
