"""Dates in classes: spans of the calendar, cut points, ages; what each is called; and what cannot be right."""

import datetime as dt
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import (
    GlobalRecoding,
    Microdata,
    NotApplicable,
    ParameterError,
    Rounding,
    Schema,
    TopBottomCoding,
    Variable,
    age_at,
    catalogue,
)
from sfumato.table.bands import Span, date_labels, equal_spans, roundest_day
from sfumato.table.dates import ages, day_of, spelled

BORN = ["1990-01-31", "1990-02-01", "1990-12-31", "1991-01-01", None, "1999-07-04", "1889-03-09"]
ANY = st.dates(dt.date(1500, 1, 1), dt.date(2500, 1, 1))


def people(*born: str | None) -> Microdata:
    days = [None if day is None else dt.date.fromisoformat(day) for day in (born or BORN)]
    return Microdata.from_frame(pa.table({"born": pa.array(days, pa.date32())}))


def classes(bins: Any, *born: str | None) -> list[Any]:
    found: list[Any] = GlobalRecoding(bins={"born": bins}).protect(people(*born)).to_frame()["born"].to_pylist()
    return found


def test_spans_of_the_calendar() -> None:
    assert classes("month") == ["1990-01", "1990-02", "1990-12", "1991-01", None, "1999-07", "1889-03"]
    assert classes("quarter") == ["1990-Q1", "1990-Q1", "1990-Q4", "1991-Q1", None, "1999-Q3", "1889-Q1"]
    assert classes("year") == ["1990", "1990", "1990", "1991", None, "1999", "1889"]
    assert classes("10 years") == [*["1990-1999"] * 4, None, "1990-1999", "1880-1889"]
    assert classes("6 months", "1990-06-30", "1990-07-01") == ["1990-01 to 1990-06", "1990-07 to 1990-12"]
    # 1 January 1990 was a Monday
    assert classes("week", "1990-01-07", "1990-01-08") == ["1990-01-01 to 1990-01-07", "1990-01-08 to 1990-01-14"]
    assert classes("day", "1990-01-07", "1990-01-09") == ["1990-01-07", "1990-01-09"]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_classes_in_a_frame_are_text(kind: str) -> None:
    library = pytest.importorskip(kind)
    moments = [dt.datetime(1990, 1, 31), dt.datetime(1991, 5, 1)]
    frame = library.DataFrame({"at": moments})
    for span, names in (("year", ["1990", "1991"]), ("month", ["1990-01", "1991-05"])):
        found = GlobalRecoding(bins={"at": span}).protect(frame)["at"]
        assert list(found) == names


def test_cut_points_and_named_classes() -> None:
    assert classes(["1990-01-01", "1991-01-01"]) == ["1990", "1990", "1990", "1991+", None, "1991+", "<1990"]
    assert classes(["1990-02-01"], "1990-01-31", "1990-02-01") == ["<1990-02", "1990-02+"]
    assert classes([dt.date(1990, 1, 15)], "1990-01-14", "1990-01-15") == ["<1990-01-15", "1990-01-15+"]
    named = {"old": [None, "1990-01-01"], "young": ["1990-01-01", None]}
    assert classes(named, "1989-12-31", "1990-01-01", None) == ["old", "young", None]
    with pytest.raises(NotApplicable, match=r"miss 1 values, the first 1889-03-09 in row 7"):
        classes({"a": ["1990-01-01", "1991-01-01"], "b": ["1991-01-01", "2000-01-01"]})


def test_moments_fall_into_the_day_they_belong_to() -> None:
    moments = [dt.datetime(1990, 1, 31, 23, 59), dt.datetime(1990, 2, 1)]
    data = Microdata.from_frame(pa.table({"at": pa.array(moments, pa.timestamp("us"))}))
    assert GlobalRecoding(bins={"at": "month"}).protect(data).to_frame()["at"].to_pylist() == ["1990-01", "1990-02"]
    half = GlobalRecoding(bins={"at": ["1990-01-31 12:00", "1990-02-01"]}).protect(data).to_frame()["at"].to_pylist()
    assert half == ["[1990-01-31 12:00, 1990-02-01)", ">=1990-02-01"]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(ANY, min_size=1, max_size=6), st.sampled_from(["month", "quarter", "year", "5 years", "week", "20 days"])
)
def test_a_class_holds_its_dates_and_is_named_after_its_ends(born: list[dt.date], span: str) -> None:
    """A plain reading of the calendar, one date at a time."""
    data = people(*(day.isoformat() for day in born))
    method = GlobalRecoding(bins={"born": span})
    days = [float(day_of(day) or 0) for day in born]
    edges = Span.of(span).edges(min(days), max(days))  # type: ignore[union-attr]
    assert edges[0] <= min(days) < edges[1] and edges[-2] <= max(days) < edges[-1]
    if (max(days) - min(days)) / Span.of(span).days > 50_000:  # type: ignore[union-attr]
        with pytest.raises(NotApplicable, match="are no recoding: widen them"):
            method.protect(data)
        return
    shown = method.protect(data).to_frame()["born"].to_pylist()
    for day, name in zip(born, shown, strict=True):
        if span == "month":
            assert name == f"{day.year:04d}-{day.month:02d}"
        elif span == "quarter":
            assert name == f"{day.year:04d}-Q{(day.month + 2) // 3}"
        elif span == "year":
            assert name == f"{day.year:04d}"
        elif span == "5 years":
            first = day.year // 5 * 5
            assert name == f"{first:04d}-{first + 4:04d}"
        else:
            begin, end = (dt.date.fromisoformat(one) for one in name.split(" to "))
            assert begin <= day <= end and (end - begin).days == (6 if span == "week" else 19)
            assert span != "week" or begin.weekday() == 0


@settings(max_examples=100, deadline=None)
@given(ANY, st.dates(dt.date(1950, 1, 1), dt.date(2100, 1, 1)), st.lists(st.integers(1, 99), min_size=1, max_size=4))
def test_classes_of_ages_are_those_of_the_ages(born: dt.date, then: dt.date, begins: list[int]) -> None:
    begins = sorted(set(begins))
    age = ages(np.array([day_of(born)], dtype=np.float64), day_of(then) or 0.0)[0]
    (name,) = classes(age_at(then.isoformat(), begins), born.isoformat())
    if name.startswith("<"):
        assert age < int(name[1:])
    elif name.endswith("+"):
        assert age >= int(name[:-1])
    else:
        low, high = name.split("-") if "-" in name else (name, name)
        assert int(low) <= age <= int(high)


def test_classes_of_ages_by_hand() -> None:
    assert age_at("2020-02-29", [18]) == {"18+": (None, "2002-03-01"), "<18": ("2002-03-01", None)}
    assert list(age_at("2020-12-31", [18, 19, 65])) == ["65+", "19-64", "18", "<18"]
    for wrong in ([], [18, 18], [1.5], [0]):
        with pytest.raises(ParameterError, match=r"ages must be (a list of )?whole numbers that rise"):
            age_at("2020-12-31", wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="the reference must be a day"):
        age_at("soon", [18])


def test_groups_are_cut_at_the_roundest_dates() -> None:
    days = [f"{year}-{month:02d}-17" for year in range(1950, 1990) for month in (2, 5, 11)]
    found = GlobalRecoding(4).protect(people(*days)).to_frame()["born"].to_pylist()
    assert sorted(set(found)) == ["1960-1969", "1970-1979", "1980+", "<1960"]
    assert [found.count(name) for name in ("<1960", "1960-1969")] == [30, 30]
    wide = GlobalRecoding(4, by="width").protect(people(*days)).to_frame()["born"].to_pylist()
    assert sorted(set(wide)) == ["1960-1969", "1970-1979", "1980+", "<1960"]


@settings(max_examples=200, deadline=None)
@given(ANY, st.integers(1, 40_000), st.integers(2, 9))
def test_a_round_cut_lies_where_it_must(first: dt.date, apart: int, groups: int) -> None:
    below = float(day_of(first) or 0.0)
    assert below < roundest_day(below, below + apart) <= below + apart
    cuts = equal_spans(below, below + apart, groups)
    assert all(below < cut < below + apart for cut in cuts) or apart < groups
    labels = date_labels([-math.inf, *cuts, math.inf])
    assert len(labels) == len(set(labels)) == len(cuts) + 1


@pytest.mark.parametrize(
    "bins", ["decade", "months", "0 years", ["1990-01-01", "1980-01-01"], ["1990-01-01", 5], {"a": ["x", None]}]
)
def test_bins_that_cannot_be_right(bins: Any) -> None:
    with pytest.raises(ParameterError, match="bins of 'born'"):
        GlobalRecoding(bins={"born": bins})


def test_bins_of_the_other_kind_are_refused_with_the_cure() -> None:
    with pytest.raises(NotApplicable, match=r"'born' is a date, so its bins are 'month', .* got 5"):
        classes(5)
    with pytest.raises(NotApplicable, match=r"bins of 'age' are those of a date, but it is numeric"):
        GlobalRecoding(bins={"age": "month"}).protect(pa.table({"age": [1, 2]}))
    with pytest.raises(NotApplicable, match=r"'born' is a date; it must be numeric"):
        Rounding({"born": 5}).protect(people())
    with pytest.raises(NotApplicable, match=r"'born' is a date, so it has no categories to map"):
        GlobalRecoding(map={"born": {"a": "b"}}).protect(people())


def test_what_is_told_reads_back() -> None:
    for method in (
        GlobalRecoding(bins={"born": [dt.date(1990, 1, 1)]}),
        GlobalRecoding(bins={"born": age_at("2020-12-31", [18])}),
        GlobalRecoding(bins={"born": "10 years"}),
        TopBottomCoding(top={"born": dt.date(1990, 1, 1)}),
    ):
        assert catalogue.parse(repr(method)) == [method]


def test_ends_of_dates_are_coded() -> None:
    coded = TopBottomCoding(bottom={"born": "1990-02-01"}, top={"born": dt.date(1990, 12, 31)}).protect(people())
    shown = [None if np.isnan(day) else spelled(day) for day in coded.columns["born"]]
    assert shown == ["1990-02-01", "1990-02-01", *["1990-12-31"] * 2, None, "1990-12-31", "1990-02-01"]
    assert coded.to_frame()["born"].type == pa.date32()
    assert "below 1990-02-01" in coded.notes[0]
    # the mean of 3, 4 and 6 January is 4.33, a day: the fourth
    late = people("1990-01-01", "1990-01-03", "1990-01-04", "1990-01-06")
    mean = TopBottomCoding(top={"born": "1990-01-02"}, by="mean").protect(late)
    assert [spelled(day) for day in mean.columns["born"]] == ["1990-01-01", *["1990-01-04"] * 3]
    with pytest.raises(NotApplicable, match=r"top of 'born' must be a date such as '1990-01-31'; got 5"):
        TopBottomCoding(top={"born": 5}).protect(people())
    with pytest.raises(ParameterError, match=r"the bottom of 'born', 1990-01-01, must be below its top, 1980-01-01"):
        TopBottomCoding(top={"born": "1980-01-01"}, bottom={"born": "1990-01-01"})


def test_one_row_a_constant_and_nothing_at_all() -> None:
    assert classes("month", "1990-01-31") == ["1990-01"]
    assert classes("year", "1990-01-31", "1990-05-01") == ["1990", "1990"]
    empty = Microdata.from_frame(pa.table({"born": pa.nulls(2)}), Schema((Variable("born", kind="date"),)))
    assert GlobalRecoding(bins={"born": "month"}).protect(empty).schema["born"].kind == "date"
