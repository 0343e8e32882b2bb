"""Dates in what chooses: ladders of the calendar, candidates, their words and names, and what is looked at closely."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from sfumato import DateShift, GlobalRecoding, KAnonymity, Microdata, Reidentification, Schema, Variable, compose
from sfumato.compare.coarsening import Ladders
from sfumato.compare.defaults import default_measures
from sfumato.compare.examine.variables import variable_detail
from sfumato.compare.exposure import exposure
from sfumato.compare.naming import in_words, short_names
from sfumato.report.plots import before_and_after
from sfumato.table.dates import day_of


def people(n: int = 400, years: int = 60) -> Microdata:
    rng = np.random.default_rng(6)
    born = [dt.date(1940, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 365 * years, n)]
    born_or_not = [None if row % 40 == 7 else day for row, day in enumerate(born)]
    table = pa.table(
        {
            "born": pa.array(born_or_not, pa.date32()),
            "sex": rng.choice(["f", "m"], n),
            "pay": np.exp(rng.normal(7, 1, n)),
        }
    )
    keys = (Variable("born", "date", "key"), Variable("sex", "nominal", "key"), Variable("pay", role="confidential"))
    return Microdata.from_frame(table, Schema(keys))


def test_the_ladder_of_a_date_is_the_calendar() -> None:
    ladder = Ladders.of(people(), ["born"]).rungs["born"]
    assert [rung.bins for rung in ladder[1:4]] == ["month", "quarter", "year"]
    longer = [rung.bins for rung in ladder[4:] if rung.bins is not None]
    assert longer[1][:2] == ("1945-01-01", "1950-01-01"), "every five years, the first of them open"
    assert [rung.categories for rung in ladder] == sorted((rung.categories for rung in ladder), reverse=True)


def test_candidates_for_a_date_key_keep_k() -> None:
    data = people()
    found = compose(data, [KAnonymity(3)], {"KAnonymity": 0.0})
    assert found
    for candidate in found:
        assert "born" in candidate.method.masked(data)
        assert KAnonymity(3).evaluate(data, candidate.method.protect(data, rng=1)).value == 0
    assert any("born is given in" in candidate.why.lower() for candidate in found)
    few = compose(people(years=2), [KAnonymity(3)], {"KAnonymity": 0.0})
    spans = {bins["born"] for c in few for step in c.method.innermost if (bins := getattr(step, "bins", None))}
    assert spans & {"month", "quarter", "year"}


def test_measures_chosen_for_a_table_with_date_keys() -> None:
    chosen = {type(one.measure).__name__ for one in default_measures(people())}
    assert {"Reidentification", "KAnonymity", "GlobalDataUtility"} <= chosen


def test_words_and_names() -> None:
    assert in_words(GlobalRecoding(bins={"born": "month"})) == "Born is given by month."
    assert in_words(GlobalRecoding(bins={"born": ("1950-01-01", "1980-01-01")})) == (
        "Born is given in 3 bands (<1950 to 1980+)."
    )
    assert in_words(DateShift(30)) == "All dates are moved by up to 30 days, all dates of a unit alike."
    methods = [
        GlobalRecoding(bins={"born": span}, rare=0.05, variables=("sex",)) + DateShift(30) for span in ("year", "month")
    ]
    assert list(short_names({repr(m): m for m in methods}).values()) == [
        "coarse 2 · DateShift 30",
        "coarse 1 · DateShift 30",
    ]


def test_who_is_found_by_a_birth_date() -> None:
    """By the exact day nearly everybody; shifted by up to 30 days hardly anybody by the day, more by the nearest."""
    data = people()
    bare = Reidentification().evaluate(data, data).value
    moved = Reidentification().evaluate(data, DateShift(30).protect(data, rng=2)).value
    years = Reidentification().evaluate(data, GlobalRecoding(bins={"born": "20 years"}).protect(data)).value
    assert bare > 0.9 > moved > years
    # classes: one record of each is found, and of those without a date one who agrees
    assert years < 10 / len(data) + 0.05


def test_a_file_is_looked_at_by_its_dates() -> None:
    data = people()
    found = exposure(data.take(np.flatnonzero(~data.missing("born")))).scenarios[0]  # a gap agrees with every date
    assert found.unique > 300
    assert all(
        dt.date.fromisoformat(str(value)) for one in found.riskiest for n, value in one.values.items() if n == "born"
    )


def test_the_picture_has_an_axis_of_time() -> None:
    data = people()
    found = variable_detail("born", data, DateShift(30).protect(data, rng=1))
    assert found.kind == "date" and found.before is not None
    assert found.before.minimum >= (day_of("1940-01-01") or 0)
    spec = before_and_after(found)
    drawn = spec.get("hconcat", [spec])[0]
    axis = drawn["layer"][0]["encoding"]["x"]
    assert axis["type"] == "temporal" and axis["scale"]["type"] == "utc"
    first = drawn["data"]["values"][0]
    assert first["low"] == pytest.approx(found.edges[0] * 86_400_000)
    assert dt.date.fromisoformat(first["bin"].split(" to ")[0]) >= dt.date(1939, 12, 1)
