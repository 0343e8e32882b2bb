"""Bars of a variable: by hand, and every record is in one place."""

import json
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato import Microdata, Schema, Variable
from sfumato.table.describe import MAX_BARS, Thumbnail, thumbnail, thumbnails


def test_numbers_by_hand() -> None:
    # five bins of 2 from 0 to 10: the last one holds its upper end
    column = np.array([0, 1.5, 2, 9.9, 10, np.nan])
    assert thumbnail(Variable("x"), column, bars=5) == Thumbnail((2, 1, 0, 0, 2), 1, 0, 10)
    assert thumbnail(Variable("x"), np.full(3, 7.5)) == Thumbnail((3,), 0, 7.5, 7.5)
    assert thumbnail(Variable("x"), np.full(3, np.nan)) == Thumbnail((), 3)
    assert thumbnail(Variable("x"), np.array([-1e308, 1e308]), bars=2).counts == (1, 1)  # no range overflows


def test_dates_end_as_texts() -> None:
    table = pa.table({"born": pa.array(np.array(["2000-01-01", "2000-03-01"], dtype="datetime64[D]"))})
    found = thumbnails(Microdata.from_frame(table))["born"]
    assert (found.least, found.greatest) == ("2000-01-01", "2000-03-01") and sum(found.counts) == 2


def test_categories_by_hand() -> None:
    table = pa.table({"job": [*"abbcccc", None], "school": [*"lhlmhhl", None]})
    stated = (
        Variable("job", "nominal", labels=(("c", "clerk"),)),
        Variable("school", "ordinal", categories=tuple("lmh")),
    )
    data = Microdata.from_frame(table, Schema(stated))
    assert thumbnail(data.schema["job"], data.columns["job"], bars=2) == Thumbnail(
        (4, 2), 1, names=(data.schema["job"].spelled("c"), "b"), others=1
    )
    assert thumbnail(data.schema["school"], data.columns["school"]) == Thumbnail((3, 1, 3), 1, names=("l", "m", "h"))


@given(
    st.lists(st.one_of(st.floats(allow_infinity=False), st.integers(-30, 30).map(float)), min_size=1, max_size=60),
    st.integers(1, 30),
)
def test_every_record_is_counted_once(values: list[float], bars: int) -> None:
    column: NDArray[np.float64] = np.array(values)
    found = thumbnail(Variable("x"), column, bars=bars)
    assert sum(found.counts) + found.missing == len(values) and len(found.counts) <= bars
    if found.counts:
        assert found.counts[0] and found.counts[-1]  # the ends are values that occur


@pytest.mark.parametrize("kind", ["nominal", "ordinal"])
def test_many_categories_keep_the_most_frequent(kind: str) -> None:
    categories = tuple(f"c{i}" for i in range(40))
    codes = np.repeat(np.arange(40), np.arange(40) + 1).astype(np.int32)
    found = thumbnail(Variable("x", kind, categories=categories), codes)  # type: ignore[arg-type]
    assert len(found.counts) == MAX_BARS and found.others == sum(range(1, 17))
    assert found.names == (categories[16:] if kind == "ordinal" else categories[:15:-1])
    assert json.loads(json.dumps(asdict(found)))["others"] == found.others
