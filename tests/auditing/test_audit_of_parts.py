"""The audit of tables in parts: of all records if they are few, of the same random sample of both otherwise."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato
from register import register
from scanned import scanned
from sfumato import Engine, Microdata
from sfumato.auditing.audit import audit
from sfumato.errors import DataError, ParameterError


def leaking(data: Microdata) -> Microdata:
    """Return a table whose rents are rounded away, beside a copy of the rents under another name."""
    return sfumato.Rounding(5_000, variables=("rent",)).protect(data)


@pytest.fixture(scope="module")
def survey() -> Microdata:
    data = register().without(["person"])
    copied = replace(data.schema["rent"], name="paid", role="other")
    schema = replace(data.schema, variables=(*data.schema.variables, copied))
    return replace(data, schema=schema, columns={**data.columns, "paid": data.columns["rent"]})


def test_all_records_are_audited_as_in_memory(survey: Microdata, tmp_path: Path) -> None:
    masked = leaking(survey)
    with Engine("here"):
        found = audit(scanned(survey, tmp_path / "a", 3), scanned(masked, tmp_path / "b", 4))
    there = audit(survey, masked)
    assert found.routes == there.routes and found.protected == there.protected
    assert not found.passed and found.matched == "position"


def test_a_sample_finds_the_leak_and_says_so(survey: Microdata, tmp_path: Path) -> None:
    with Engine("here"):
        found = audit(scanned(survey, tmp_path / "a", 3), scanned(leaking(survey), tmp_path / "b", 3), sample=600)
    assert not found.passed and found.records == 600
    assert found.notes[0] == f"audited in a random sample of 600 of {len(survey):,} records"


def test_another_order_needs_to_be_told(survey: Microdata, tmp_path: Path) -> None:
    order = np.random.default_rng(3).permutation(len(survey))
    mixed = leaking(survey).take(order)
    tables = scanned(survey, tmp_path / "a", 3), scanned(mixed, tmp_path / "b", 3)
    with Engine("here"):
        told = audit(*tables, order=order, sample=700)
        assert not told.passed and told.records == 700
        assert {r.variable for r in told["columns"].by_variable if r.alarm} == {"rent"}
        with pytest.raises(DataError, match="do not stand in the same order"):
            audit(*tables, sample=700)


def test_values_that_find_each_record_in_its_place_tell_the_order(survey: Microdata, tmp_path: Path) -> None:
    """Where most variables were changed, those that were not tell which record is which: here the one beside it."""
    kept = ("paid", "wealth")
    names = [name for name in survey.schema.analysed("numeric", "ordinal", "nominal") if name not in kept]
    amounts = tuple(name for name in names if survey.schema[name].quantitative)
    others = tuple(name for name in names if name not in amounts)
    masked = (sfumato.Noise(0.2, variables=amounts) + sfumato.PRAM(0.5, variables=others)).protect(survey, rng=1)
    tables = scanned(survey, tmp_path / "a", 3), scanned(masked, tmp_path / "b", 3)
    with Engine("here"):
        assert audit(*tables, sample=700).matched == "values"


def test_what_cannot_be_audited_is_refused(survey: Microdata, tmp_path: Path) -> None:
    table = scanned(survey, tmp_path / "a", 3)
    with Engine("here"):
        with pytest.raises(DataError, match="the other is not"):
            audit(table, survey)
        with pytest.raises(ParameterError, match="beside a table in memory"):
            audit(table, table, beside={"x": survey})
        with pytest.raises(DataError, match="which record is which"):
            audit(table, scanned(survey.take(np.arange(50)), tmp_path / "c", 2))
