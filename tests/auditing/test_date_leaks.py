"""Dates in the audit: a date gives back an age, a stay gives back a date, and nothing else is alarming."""

import datetime as dt

import numpy as np
import pyarrow as pa

from sfumato import DateShift, GlobalRecoding, Microdata, Schema, Variable, VariableRemoval
from sfumato.auditing.audit import audit
from sfumato.auditing.findings import Restored
from sfumato.auditing.targets import _in_small_classes
from sfumato.table.dates import ages, day_of


def patients(n: int = 1500) -> Microdata:
    rng = np.random.default_rng(8)
    born = [dt.date(1930, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 27_000, n)]
    came = [dt.date(2019, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 700, n)]
    stay = rng.integers(1, 40, n)
    days = np.array([day_of(day) for day in born], dtype=np.float64)
    table = pa.table(
        {
            "born": born,
            "age": ages(days, day_of("2020-12-31") or 0.0),
            "came": came,
            "left": [day + dt.timedelta(days=int(d)) for day, d in zip(came, stay, strict=True)],
            "stay": stay,
            "sex": rng.choice(["f", "m"], n),
        }
    )
    return Microdata.from_frame(table, Schema((Variable("born", "date", "key"), Variable("age", role="key"))))


def alarms(original: Microdata, protected: Microdata) -> dict[tuple[str, str], Restored]:
    found: dict[tuple[str, str], Restored] = {}
    for route in audit(original, protected).routes:
        for one in route.by_variable:
            if one.reading == "restores":
                found[route.name, one.variable] = one
    return found


def test_an_age_in_classes_is_given_back_by_the_birth_date() -> None:
    data = patients()
    found = alarms(data, GlobalRecoding(bins={"age": 20}).protect(data))
    assert found["columns", "age"].evidence == ("born",)
    # the age is a function of the birth date; its neighbours in the order of birth dates have it nearly always
    assert found["columns", "age"].restored > 0.95 > 0.5 > found["columns", "age"].guess


def test_a_date_that_was_removed_is_the_other_one_less_the_stay() -> None:
    data = patients()
    found = alarms(data, VariableRemoval(variables=("came",)).protect(data))
    assert found["sums", "came"].exactly == 1.0
    assert found["sums", "came"].evidence == ("left - stay",)
    shown = audit(data, VariableRemoval(variables=("came",)).protect(data))
    examples = [example for route in shown.routes for example in route.examples if example.variable == "came"]
    assert examples and all(dt.date.fromisoformat(example.true) for example in examples)


def test_dates_shifted_together_are_not_given_back() -> None:
    data = patients().without(["age"])
    assert not alarms(data, DateShift(180).protect(data, rng=1))


def test_a_date_in_classes_is_no_alarm_by_itself() -> None:
    """A month of birth holds one or two persons here, and tells the day nearly, whatever else the file has."""
    data = patients().without(["age", "left", "stay"])
    noise = np.random.default_rng(1).normal(size=len(data))
    table = data.to_arrow().append_column("noise", pa.array(noise))
    data = Microdata.from_frame(table, data.schema)
    for span in ("month", "quarter", "year", "10 years"):
        protected = GlobalRecoding(bins={"born": span}).protect(data)
        assert not alarms(data, protected), span


def test_the_guess_in_a_small_class_is_the_median_of_the_others() -> None:
    """Classes of 1, 3 and 2 records; of three the middle is right for its neighbours only if these are near."""
    band = np.array([5, 7, 7, 7, 9, 9])
    rank = np.array([0.5, 1.5, 2.5, 9.5, 20.5, 21.5])
    true = rank * 10
    nothing = np.full(6, -1.0), np.zeros(6, dtype=bool)
    values, right = _in_small_classes(band, rank, true, 2.0, *nothing)
    # others of 15: (25, 95), the lower is 25; of 25: (15, 95), 15; of 95: (15, 25), 15; of the pair the other one
    assert values.tolist() == [-1.0, 25.0, 15.0, 15.0, 215.0, 205.0]
    assert right.tolist() == [False, True, True, False, True, True]
