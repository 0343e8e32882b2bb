"""Stata files: extended missing values, labels, dates and long texts."""

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

from labelled_tables import raw, said
from sfumato.errors import FileError
from sfumato.table.files import read, write
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable


def panel(path: Path) -> Path:
    """A file with every feature; .a and .b are letters in a column of numbers."""
    mixed: list[Any] = [100.5, "a", None, "b", 7.0]
    wave: list[Any] = [1, 2, "a", 1, None]
    frame = pl.DataFrame(
        {
            "pid": pl.Series([1, 2, 3, 4, 5], dtype=pl.Int32),
            "wave": pl.Series(wave, dtype=pl.Object),
            "pay": pl.Series(mixed, dtype=pl.Object),
            "region": pl.Series([1, 2, 1, None, 2], dtype=pl.Int32),
            "name": ["Zoë", "b", "", "d", "e"],
            "essay": ["x" * 2100, "", "y", "z", ""],
            "day": [21915.0, 0.0, None, -1.0, 1.0],
            "stamp": [1_893_456_000_000.0, 1.0, None, 86_399_999.0, 0.0],
            "clock": [0.0, 3_600_000.0, None, 86_399_999.0, 1.0],
            "month": [720.0, 721.0, None, 0.0, 1.0],
        }
    )
    labels: dict[str, Any] = {
        "region": {1: "north", 2: "south", 3: "west"},
        "wave": {1: "first", 2: "second", "a": "refused"},
        "pay": {"a": "refused", "b": "not asked"},
    }
    pyreadstat.write_dta(
        frame,
        str(path),
        version=14,
        file_label="A panel",
        column_labels={"pay": "Monthly pay", "region": "Region"},
        variable_value_labels=labels,
        missing_user_values={"pay": ["a", "b"], "wave": ["a"]},
        variable_format={
            "day": "%tdDD/NN/CCYY",
            "stamp": "%tc",
            "clock": "%tcHH:MM:SS",
            "month": "%tm",
            "pay": "%12.2f",
        },
    )
    return path


def test_what_a_file_says_is_taken(tmp_path: Path) -> None:
    data = read(panel(tmp_path / "p.dta"))
    kinds = {variable.name: variable.kind for variable in data.schema}
    assert kinds == {
        "pid": "numeric",
        "wave": "nominal",  # every value present has a label; .a is none
        "pay": "numeric",  # only its missing values have labels
        "region": "nominal",
        "name": "nominal",
        "essay": "nominal",
        "day": "date",
        "stamp": "date",
        "clock": "nominal",
        "month": "numeric",  # months since 1960 are no date
    }
    assert data.schema["pay"].missing == (".a", ".b")
    assert data.schema["pay"].spelled(".b") == "not asked"
    assert data.schema["region"].categories == (1, 2), "west does not occur"
    assert np.isnan(data.columns["pay"]).tolist() == [False, True, True, True, False]
    frame = data.to_frame()
    assert frame["day"].to_pylist() == [
        dt.date(2020, 1, 1),
        dt.date(1960, 1, 1),
        None,
        dt.date(1959, 12, 31),
        dt.date(1960, 1, 2),
    ]
    assert frame["stamp"].to_pylist()[:2] == [dt.datetime(2020, 1, 1), dt.datetime(1960, 1, 1, 0, 0, 0, 1000)]
    assert frame["clock"].to_pylist()[1:4] == [dt.time(1), None, dt.time(23, 59, 59, 999000)]
    assert [len(text or "") for text in frame["essay"].to_pylist()] == [2100, 0, 1, 1, 0]


def test_an_untouched_file_says_all_it_said(tmp_path: Path) -> None:
    file, again = panel(tmp_path / "p.dta"), tmp_path / "again.dta"
    assert write(read(file), again) == ()
    assert raw(again)[0] == raw(file)[0]
    assert said(again) == said(file)
    assert read(again).schema == read(file).schema
    assert again.read_bytes()[:35] == b"<stata_dta><header><release>118</re"


def test_codes_come_back_where_cells_are_still_missing(tmp_path: Path) -> None:
    data = read(panel(tmp_path / "p.dta"))
    pay = data.columns["pay"].copy()
    pay[0], pay[1] = np.nan, 3.0
    wave = data.columns["wave"].copy()
    wave[0] = -1
    write(data.replace({"pay": pay, "wave": wave}), tmp_path / "q.dta")
    values, meta = raw(tmp_path / "q.dta")
    assert values["pay"] == [None, 3.0, None, "b", 7.0]
    assert values["wave"] == [None, 2, "a", 1, None]
    assert meta.variable_value_labels["wave"] == {1: "first", 2: "second", "a": "refused"}
    write(replace(data, matched=False), tmp_path / "q.dta")
    assert raw(tmp_path / "q.dta")[0]["pay"] == [100.5, None, None, None, 7.0]
    write(data.take(np.array([3, 1])), tmp_path / "q.dta")
    assert raw(tmp_path / "q.dta")[0]["pay"] == ["b", "a"]


def test_whole_numbers_stay_whole_while_they_are(tmp_path: Path) -> None:
    data = read(panel(tmp_path / "p.dta"))
    noisy = data.columns["pid"] + np.array([0, 0.5, 0, 0, 0])
    large = data.columns["pid"] * 1e9
    for values, kind in ((data.columns["pid"], "int32"), (noisy, "double"), (large, "double")):
        write(data.replace({"pid": values}), tmp_path / "q.dta")
        found, meta = raw(tmp_path / "q.dta")
        assert (found["pid"], meta.readstat_variable_types["pid"]) == (values.tolist(), kind)


def test_all_values_missing_with_a_letter(tmp_path: Path) -> None:
    data = read(panel(tmp_path / "p.dta")).take(np.array([1, 3]))
    assert write(data, tmp_path / "q.dta") == ()
    assert raw(tmp_path / "q.dta")[0]["pay"] == ["a", "b"]


def test_labels_stata_cannot_hold(tmp_path: Path) -> None:
    table = pa.table({"score": [1.5, 2.5], "kind": ["x", "y"], "big": [1, 3_000_000_000], "yes": [True, False]})
    schema = Schema(
        (
            Variable("score", kind="nominal", labels=((1.5, "low"), (2.5, "high"))),
            Variable("kind", kind="nominal", labels=(("x", "ex"),)),
            Variable("big", kind="nominal", labels=((1, "one"), (3_000_000_000, "many")), label="b" * 81),
            Variable("yes", kind="nominal"),
        )
    )
    notes = write(Microdata.from_frame(table, schema), tmp_path / "q.dta")
    assert notes == (
        "labels of values the format cannot label are left out: score, kind, big",
        "labels too long for the format are cut: big",
    )
    values, meta = raw(tmp_path / "q.dta")
    assert values == {"score": [1.5, 2.5], "kind": ["x", "y"], "big": [1.0, 3e9], "yes": [1, 0]}
    assert meta.variable_value_labels == {"big": {1: "one"}, "yes": {0: "False", 1: "True"}}
    assert meta.column_names_to_labels["big"] == "b" * 80


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("v" * 33, "has a name of 33 characters; Stata allows 32"),
        ("net pay", "has a name Stata does not allow"),
        ("1st", "has a name Stata does not allow"),
        ("long", "has a name that is a word of Stata"),
        ("str5", "has a name that is a word of Stata"),
        ("a.b", "has a name Stata does not allow"),
    ],
)
def test_names_stata_does_not_allow(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(FileError, match=f"variable '{name}' {why}.*rename it"):
        write(pa.table({"x": [1], name: [2]}), tmp_path / "q.dta")
    assert list(tmp_path.iterdir()) == []


def test_the_longest_names_and_their_labels(tmp_path: Path) -> None:
    names = ["v" * 31, "ä" * 31, "_x"]
    schema = Schema(tuple(Variable(name, kind="nominal", labels=((1, "one"),)) for name in names))
    write(Microdata.from_frame(pa.table({name: [1, 1] for name in names}), schema), tmp_path / "q.dta")
    assert read(tmp_path / "q.dta").names == tuple(names)
    assert [read(tmp_path / "q.dta").schema[name].spelled(1) for name in names] == ["one"] * 3
    with pytest.raises(FileError, match=r"variable 'v{32}' has labels.*shorten its name"):
        write(
            Microdata.from_frame(pa.table({"v" * 32: [1]}), Schema((replace(schema.variables[0], name="v" * 32),))),
            tmp_path / "r.dta",
        )
    write(pa.table({"v" * 32: [1]}), tmp_path / "r.dta")
    assert read(tmp_path / "r.dta").names == ("v" * 32,)


def test_numbers_that_would_read_as_missing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="variable 'x' holds numbers too large"):
        write(pa.table({"x": [1.0, 2.0**1023]}), tmp_path / "q.dta")
    with pytest.raises(FileError, match="the character 0"):
        write(pa.table({"x": ["a\0b"]}), tmp_path / "q.dta")
