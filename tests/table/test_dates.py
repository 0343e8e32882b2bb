"""Dates as days since 1970: exact both ways, from every column type and from text, and refused with the cure."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import DataError, Microdata, Noise, Schema, SchemaError, Treatment, Variable
from sfumato.table import dates
from sfumato.table.describe import describe
from sfumato.table.recoding import recoding
from sfumato.table.schema_file import read_schema, schema_text

EPOCH = dt.datetime(1970, 1, 1)
DAYS = st.none() | st.dates()
# a float holds every microsecond of these years, and every millisecond of all
NEAR = st.none() | st.datetimes(dt.datetime(1791, 1, 1), dt.datetime(2148, 12, 31))
MOMENTS = st.none() | st.datetimes().map(lambda m: m.replace(microsecond=m.microsecond // 1000 * 1000, fold=0))


def table(values: list[Any], kind: pa.DataType) -> Microdata:
    return Microdata.from_frame(pa.table({"day": pa.array(values, kind)}))


def text(values: list[Any], **said: Any) -> Microdata:
    return Microdata.from_frame(pa.table({"day": values}), Schema((Variable("day", kind="date", **said),)))


def test_days_are_counted_from_1970() -> None:
    data = table([dt.date(1970, 1, 1), dt.date(1899, 12, 31), dt.date(2101, 1, 1), None], pa.date32())
    # 70 years of 365 days and 17 leap days from 1900 to 1970, and one day more; 131 years and 32 leap days
    assert data.columns["day"].tolist()[:3] == [0.0, -(70 * 365 + 17 + 1.0), 131 * 365 + 32.0]
    assert np.isnan(data.columns["day"][3])
    assert data.schema["day"].kind == "date" and data.schema["day"].quantitative
    assert repr(data) == "Microdata(4 records: 1 date)"


def test_the_time_of_day_is_a_fraction() -> None:
    data = table([dt.datetime(1970, 1, 2, 6), dt.datetime(1969, 12, 31, 12)], pa.timestamp("s"))
    assert data.columns["day"].tolist() == [1.25, -0.5]


@settings(max_examples=100, deadline=None)
@given(st.lists(DAYS, min_size=1, max_size=8), st.sampled_from([pa.date32(), pa.date64()]))
def test_dates_come_back(values: list[Any], kind: pa.DataType) -> None:
    back = table(values, kind).to_frame()["day"]
    assert back.type == kind and back.to_pylist() == values


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(
        st.tuples(st.lists(NEAR, min_size=1, max_size=8), st.just("us")),
        st.tuples(st.lists(MOMENTS, min_size=1, max_size=8), st.sampled_from(["ms", "us"])),
    )
)
def test_moments_come_back(case: tuple[list[Any], str]) -> None:
    values, unit = case
    data = table(values, pa.timestamp(unit))
    assert data.schema["day"].kind == "date"
    back = data.to_frame()["day"]
    assert back.type == pa.timestamp(unit) and back.to_pylist() == values


def test_what_a_float_cannot_hold_stays_a_category() -> None:
    assert table([1, 2], pa.timestamp("ns")).schema["day"].kind == "nominal"  # a nanosecond after 1970
    fine = [dt.datetime(2500, 1, 1, 0, 0, 0, 1)]
    assert table(fine, pa.timestamp("us")).schema["day"].kind == "nominal"
    assert table(fine, pa.timestamp("us")).to_frame()["day"].to_pylist() == fine
    with pytest.raises(DataError, match="'day' holds moments that a date cannot hold exactly: nanoseconds"):
        Microdata.from_frame(
            pa.table({"day": pa.array(fine, pa.timestamp("us"))}), Schema((Variable("day", kind="date"),))
        )


def test_a_time_zone_is_kept_and_its_clock_counts() -> None:
    kind = pa.timestamp("us", tz="Europe/Vienna")
    midnight = pa.array([dt.datetime(1989, 12, 31, 23), None], pa.timestamp("us")).cast(kind)  # 1990-01-01 in Vienna
    data = Microdata.from_frame(pa.table({"day": midnight}))
    assert dates.spelled(data.columns["day"][0]) == "1990-01-01"
    assert data.to_frame()["day"].type == kind
    assert data.to_frame()["day"].combine_chunks().equals(midnight)


def test_the_hour_that_occurs_twice_comes_back_as_it_was() -> None:
    """In Berlin it was 2:30 twice on 25 October 2020, at 0:30 and at 1:30 of UTC: a clock cannot tell them apart."""
    pd = pytest.importorskip("pandas")
    for moments, kind in (
        (["2020-10-25 00:30", "2020-10-25 01:30"], "nominal"),
        (["2020-10-25 00:30", "2020-10-25 02:30"], "date"),
        (["2020-03-29 00:59", "2020-03-29 01:00"], "date"),
    ):
        zoned = pd.to_datetime(moments, utc=True).tz_convert("Europe/Berlin")
        frame = pd.DataFrame({"at": zoned, "x": [1.0, 2.0]})
        data = Microdata.from_frame(frame)
        assert data.schema["at"].kind == kind
        pd.testing.assert_frame_equal(data.to_frame(), frame)
        noisy = Noise(0.1, variables=("x",)).protect(frame, rng=1)
        assert sorted(noisy["at"]) == list(zoned)
    with pytest.raises(
        DataError, match="the hour that occurs twice when clocks go back; round them, turn them into UTC"
    ):
        late = pa.table({"at": pa.array([dt.datetime(2020, 10, 25, 1, 30)]).cast(pa.timestamp("us", "Europe/Berlin"))})
        Microdata.from_frame(late, Schema((Variable("at", kind="date"),)))


def test_two_digits_of_a_year_are_refused() -> None:
    """Python takes 45 for 2045: a birth in the future."""
    with pytest.raises(DataError, match=r"two digits of a year do not tell the century: .*four digits, and %Y for %y"):
        text(["01.02.45", "05.06.71"], format="%d.%m.%y")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_pandas_frames_keep_their_type(unit: str) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"day": pd.Series(["1890-05-06", None, "2110-01-02"]).astype(f"datetime64[{unit}]")})
    data = Microdata.from_frame(frame)
    assert data.schema["day"].kind == "date"
    pd.testing.assert_frame_equal(data.to_frame(), frame)
    zoned = pd.DataFrame({"day": pd.Series(["2020-05-06", None]).astype("datetime64[ns, UTC]")})
    pd.testing.assert_frame_equal(Microdata.from_frame(zoned).to_frame(), zoned)
    plain = pd.DataFrame({"day": [dt.date(1890, 5, 6), None]})
    assert Microdata.from_frame(plain).to_frame()["day"].tolist() == [dt.date(1890, 5, 6), None]


def test_polars_frames_keep_their_type() -> None:
    pl = pytest.importorskip("polars")
    moments = [dt.datetime(1890, 5, 6, 7), None]
    frame = pl.DataFrame({"day": [dt.date(1890, 5, 6), None], "at": moments}).with_columns(
        pl.col("at").cast(pl.Datetime("ms")), pl.col("at").dt.replace_time_zone("Asia/Tokyo").alias("there")
    )
    data = Microdata.from_frame(frame)
    assert [v.kind for v in data.schema] == ["date"] * 3
    assert data.to_frame().equals(frame) and data.to_frame().schema == frame.schema


@pytest.mark.parametrize(
    ("form", "values"),
    [
        ("%Y-%m-%d", ["1899-12-31", None, "0987-02-03", "2101-01-01"]),
        ("%Y-%m-%dT%H:%M:%S", ["1899-12-31T23:59:59", None]),
        ("%Y-%m-%d %H:%M", ["2020-01-31 00:00", "2020-01-31 12:30"]),
        ("%Y-%m-%d %H:%M:%S.%f", ["2020-01-31 00:00:00.000001", "2020-01-31 12:30:00.500000"]),
    ],
)
def test_iso_text_is_read_without_a_format_and_written_as_it_came(form: str, values: list[Any]) -> None:
    data = text(values)
    assert data.schema["day"].format == form
    assert data.to_frame()["day"].to_pylist() == values


def test_text_of_a_stated_format_comes_back() -> None:
    values = ["31.12.1899", None, "01.02.2101"]
    data = text(values, format="%d.%m.%Y")
    assert [dates.spelled(day) for day in data.columns["day"][[0, 2]]] == ["1899-12-31", "2101-02-01"]
    assert data.to_frame()["day"].to_pylist() == values
    assert text([20200131, 19000228], format="%Y%m%d").to_frame()["day"].to_pylist() == [20200131, 19000228]


@settings(max_examples=60, deadline=None)
@given(st.lists(DAYS, min_size=1, max_size=6), st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d %B %Y", ""]))
def test_any_date_comes_back_in_any_format(values: list[Any], form: str) -> None:
    shown = [
        None if day is None else day.isoformat() if not form else day.strftime(form.replace("%Y", f"{day.year:04d}"))
        for day in values
    ]
    data = Microdata.from_frame(
        pa.table({"day": pa.array(shown, pa.string())}), Schema((Variable("day", kind="date", format=form),))
    )
    expected = [np.nan if day is None else (day - EPOCH.date()).days for day in values]
    assert np.array_equal(data.columns["day"], np.array(expected, dtype=np.float64), equal_nan=True)
    assert data.to_frame()["day"].to_pylist() == shown


def test_missing_codes_of_dates() -> None:
    said: dict[str, Any] = {"missing": (dt.date(9999, 12, 31), "unknown")}
    assert np.isnan(text(["9999-12-31", "unknown", "2020-01-01"], **said).columns["day"]).tolist() == [
        True,
        True,
        False,
    ]
    german = text(["31.12.9999", "unknown", "01.01.2020"], format="%d.%m.%Y", **said)
    assert np.isnan(german.columns["day"]).tolist() == [True, True, False]
    typed = pa.table({"day": pa.array([dt.date(9999, 12, 31), dt.date(2020, 1, 1)])})
    found = Microdata.from_frame(typed, Schema((Variable("day", kind="date", **said),)))
    assert np.isnan(found.columns["day"]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("values", "form", "message"),
    [
        (["2020-01-31", None, "soon"], "", r"'day' is a date, but row 3 holds the text 'soon', .*'%Y-%m-%d'"),
        (["2020-01-31", "2020-01-31 10:00"], "", r"row 2 holds the text '2020-01-31 10:00', .*'%Y-%m-%d'"),
        (["2020-02-30"], "", r"row 1 holds the text '2020-02-30', which is no date of the format '%Y-%m-%d'"),
        (
            ["31.01.2020", "2020-01-31"],
            "%d.%m.%Y",
            r"row 2 holds the text '2020-01-31', .*'%d.%m.%Y'; state its format",
        ),
        (["2020-01-31T10:00:00Z"], "", r"row 1 holds the text '2020-01-31T10:00:00Z'"),
        ([1.5, 2.5], "", r"cannot be a date: its values are of type double"),
        ([20200131], "", r"cannot be a date: its values are of type int64; .*format = \"%Y%m%d\""),
    ],
)
def test_what_is_no_date_is_refused(values: list[Any], form: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        text(values, format=form)


def test_a_format_and_categories_where_they_make_no_sense() -> None:
    with pytest.raises(SchemaError, match="'a' is a date, so it has no categories"):
        Variable("a", kind="date", categories=("x",))
    with pytest.raises(SchemaError, match=r"format says how a date .* for a variable that is numeric"):
        Variable("a", format="%d.%m.%Y")
    with pytest.raises(SchemaError, match="format says how"):
        Variable("a", kind="date", format="dd.mm.yyyy")


def test_all_missing_one_row_and_a_constant() -> None:
    assert np.isnan(text([None, None]).columns["day"]).all()
    assert text(["2020-01-01"]).to_frame()["day"].to_pylist() == ["2020-01-01"]
    same = table([dt.date(2020, 1, 1)] * 3, pa.date32())
    assert describe(same)[0].minimum == describe(same)[0].maximum == "2020-01-01"


def test_what_a_look_at_text_suggests() -> None:
    def said(*values: str) -> str:
        (finding,) = describe(Microdata.from_frame(pa.table({"day": [*values]})))
        return finding.suggestion.sentence if finding.suggestion else ""

    assert said("2020-01-31", "2020-02-01") == 'dates? kind = "date"'
    assert said("31.01.2020", "01.02.2020") == 'dates? kind = "date", format = "%d.%m.%Y"'
    assert said("01/02/2020", "03/04/2020") == (
        "dates? no day is above 12, so the day may be first or the month: "
        'kind = "date", format = "%d/%m/%Y", or kind = "date", format = "%m/%d/%Y"'
    )
    assert said("Aix", "Bonn") == "" and said("2020-01-31", "soon") == ""


def test_ages_in_completed_years() -> None:
    then = dates.day_of("2018-02-28") or 0.0
    born = ["1990-02-28", "1990-03-01", "2000-02-29", "2018-02-28"]
    days = np.array([*(dates.day_of(one) for one in born), np.nan], dtype=np.float64)
    # the fourth is born that day; whoever was born on 29 February turns 18 on 1 March
    assert dates.ages(days, then).tolist()[:4] == [28.0, 27.0, 17.0, 0.0]
    assert np.isnan(dates.ages(days, then)[4])


@settings(max_examples=200, deadline=None)
@given(st.dates(dt.date(1850, 1, 1), dt.date(2200, 1, 1)), st.dates(dt.date(1850, 1, 1), dt.date(2200, 1, 1)))
def test_ages_as_anybody_counts_them(born: dt.date, then: dt.date) -> None:
    expected = then.year - born.year - ((then.month, then.day) < (born.month, born.day))
    found = dates.ages(np.array([dates.day_of(born)], dtype=np.float64), dates.day_of(then) or 0.0)
    assert found.tolist() == [expected]


def test_the_schema_file_writes_limits_as_dates(tmp_path: Any) -> None:
    day = dates.day_of("1930-01-01")
    coded = Variable("born", kind="date", format="%d.%m.%Y", treatment=Treatment(bottom=day))
    shown = schema_text(Schema((coded,)))
    assert "bottom = 1930-01-01" in shown and 'format = "%d.%m.%Y"' in shown
    (tmp_path / "s.toml").write_text(shown)
    assert read_schema(tmp_path / "s.toml") == Schema((coded,))


def test_two_tables_on_one_footing() -> None:
    before = table([dt.date(1990, 1, 5), dt.date(1990, 3, 5), dt.date(1991, 2, 1), None], pa.date32())
    same = recoding(before, before, "day", matched=True)
    assert same.kind == "date" and same.quantitative and not same.recoded
    years = Microdata.from_frame(pa.table({"day": ["1990", "1990", "1991", None]}))
    found = recoding(before, years, "day", matched=True)
    assert found.kind == "ordinal" and found.original.tolist() == [0, 0, 1, -1]
    numbers = Microdata.from_frame(pa.table({"day": [1.0, 2.0, 3.0, 4.0]}))
    other = recoding(before, numbers, "day", matched=True)
    assert not other.comparable and "a date in the original and numeric" in other.note
