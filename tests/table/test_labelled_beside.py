"""A protected SPSS or Stata file beside its original: own kinds and labels, the original's missing codes and roles."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyreadstat
from typer.testing import CliRunner

from labelled_tables import survey
from sfumato.cli import app
from sfumato.project.tables import read_protected
from sfumato.table.files import read, write
from sfumato.table.formats.labelled.reading import file_beside
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import aligned
from sfumato.table.schema import Schema, Variable

KNOWN = Schema(
    (Variable("sex", kind="nominal", role="key"), Variable("likes", kind="ordinal", role="key")), weight="wgt"
)


def pair(folder: Path, schema: Schema | None = None) -> tuple[Microdata, Path]:
    return read(survey(folder / "o.sav"), schema), folder / "p.sav"


def test_an_untouched_file_has_the_schema_of_its_original(tmp_path: Path) -> None:
    data, file = pair(tmp_path, KNOWN)
    write(data, file)
    found = read_protected(file, data)
    assert found.schema == data.schema
    for name in data.names:
        assert np.array_equal(found.columns[name], data.columns[name], equal_nan=True)


def test_missing_codes_come_from_the_original(tmp_path: Path) -> None:
    data, file = pair(tmp_path, KNOWN)
    frame = pl.DataFrame({"sex": [1.0, -9.0, 2.0], "income": [5.0, -7.0, 99999.0], "likes": [0.0, 2.0, 10.0]})
    measures = {"sex": "nominal", "income": "scale"}
    pyreadstat.write_sav(frame, file, variable_measure=measures)  # by a program that lost what was declared
    found = file_beside(data, read(file))
    assert found.columns["sex"].tolist() == [0, -1, 1]
    assert np.isnan(found.columns["income"]).tolist() == [False, True, True], "-7 lies in LO THRU -1 of the original"
    assert found.schema["sex"].spelled(2) == "female"
    assert (found.schema["sex"].role, found.schema["likes"].kind) == ("key", "ordinal")
    assert found.schema.weight is None, "the protected file has none"


def test_a_variable_of_another_kind_is_what_the_file_says(tmp_path: Path) -> None:
    data, file = pair(tmp_path)
    bands = Variable("income", kind="ordinal", categories=("low", "high"), role="confidential")
    column = np.array([1, -1, 0, -1, -1, -1, 0, 0], np.int32)
    write(data.recast({"income": (bands, column)}), file)
    found = file_beside(data, read(file))
    income = found.schema["income"]
    assert (income.kind, income.categories) == ("ordinal", (1, 2))
    assert [income.spelled(code) for code in income.categories] == ["low", "high"]
    assert income.label == "Monthly income in euro"
    assert found.columns["income"].tolist() == column.tolist()
    write(data.recast({"income": (bands, column)}), tmp_path / "p.dta")
    stata = file_beside(data, read(tmp_path / "p.dta"))
    assert stata.schema["income"].kind == "nominal", "every value has a label, which none had in the original"


def test_codes_with_other_labels_are_compared_by_label(tmp_path: Path) -> None:
    data, file = pair(tmp_path)
    merged = Variable("vote", kind="nominal", categories=("left", "right"))
    column = np.array([0, 1, 0, 1, 1, 0, 1, 1], np.int32)
    write(data.recast({"vote": (merged, column)}), file)
    found = file_beside(data, read(file))
    # codes 1 and 2 are red and green in the original, left and right here
    assert found.schema["vote"].categories == ("left", "right")
    assert found.columns["vote"].tolist() == column.tolist()
    assert aligned(data, found, "vote").new == ("left", "right")
    assert "compared by their labels, for their codes are not those of the original: vote" in found.notes


def test_spelling_alone_is_no_other_label(tmp_path: Path) -> None:
    data, file = pair(tmp_path)
    frame = pl.DataFrame({"sex": [1.0, 2.0]})
    labels: dict[str, Any] = {"sex": {1: "Male ", 2: "FEMALE"}}
    pyreadstat.write_sav(frame, file, variable_value_labels=labels, variable_measure={"sex": "nominal"})
    found = file_beside(data, read(file))
    assert found.schema["sex"].categories == (1, 2)
    assert found.notes == ()


def test_words_in_the_original_and_codes_in_the_file(tmp_path: Path) -> None:
    table = pa.table({"grade": ["low", "high", "low"], "x": [1.0, 2.0, 3.0]})
    schema = Schema((Variable("grade", kind="ordinal", categories=("low", "middle", "high"), role="key"),))
    data = Microdata.from_frame(table, schema)
    for suffix in (".sav", ".dta"):
        write(data, tmp_path / f"p{suffix}")
        found = file_beside(data, read(tmp_path / f"p{suffix}"))
        assert found.schema["grade"] == data.schema["grade"]
        assert found.columns["grade"].tolist() == [0, 2, 0]


def test_other_files_are_read_as_before(tmp_path: Path) -> None:
    data, _ = pair(tmp_path, KNOWN)
    write(data, tmp_path / "p.csv")
    found = read_protected(tmp_path / "p.csv", data)
    assert found.schema["sex"] == data.schema["sex"]


def test_from_the_command_line(tmp_path: Path) -> None:
    survey(tmp_path / "o.sav", records=12)
    runner = CliRunner()
    shown = runner.invoke(app, ["inspect", str(tmp_path / "o.sav"), "--out", str(tmp_path / "o.toml")])
    assert shown.exit_code == 0, shown.output
    assert "1 = red, 2 = green" in shown.output
    assert '[-9, "refused"]' in (tmp_path / "o.toml").read_text()
    # as it is: in eight records, repeated, every variable tells every other, and the repairs would leave some out
    words = ["--method", "RankSwapping(p=0.2)", "--as-is", "--out", str(tmp_path / "p.sav")]
    made = runner.invoke(app, ["protect", str(tmp_path / "o.sav"), "--on-undeclared", "accept", *words])
    assert made.exit_code == 0, made.output
    compared = runner.invoke(
        app, ["compare", str(tmp_path / "o.sav"), str(tmp_path / "p.sav"), "--measure", "DistanceLinkage"]
    )
    assert compared.exit_code == 0, compared.output
    assert read(tmp_path / "p.sav").schema["educ"] == read(tmp_path / "o.sav").schema["educ"]
