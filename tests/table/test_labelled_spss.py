"""SPSS files: read without a word from the user, written back as they came."""

import datetime as dt
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from labelled_tables import raw, said, survey
from sfumato.table.files import read, write
from sfumato.table.formats.labelled.reading import read_header
from sfumato.table.formats.labelled.variables import Losses
from sfumato.table.formats.labelled.writing import write_weight
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable
from sfumato.table.treatment import Treatment


def test_what_a_file_says_is_taken(tmp_path: Path) -> None:
    data = read(survey(tmp_path / "s.sav"))
    kinds = {variable.name: variable.kind for variable in data.schema}
    assert kinds == {
        "id": "numeric",  # level unknown, no labels
        "sex": "nominal",
        "educ": "ordinal",
        "income": "numeric",  # scale
        "likes": "numeric",  # unknown, and only the ends of the scale have labels
        "vote": "nominal",  # unknown, and every value present has a label
        "town": "nominal",
        "born": "date",  # whatever its level
        "wgt": "numeric",
    }
    sex, educ = data.schema["sex"], data.schema["educ"]
    assert (sex.label, sex.title) == ("Sex of respondent", "Sex of respondent")
    assert (sex.categories, sex.missing) == ((1, 2), (-9,))
    assert [sex.spelled(category) for category in (*sex.categories, -9)] == ["male", "female", "refused"]
    assert educ.categories == (1, 2, 3, 4), "an ordinal variable has all its labelled steps, no missing codes"
    assert educ.missing == (98, 99)
    assert data.schema["income"].missing == (99999,), "ranges are missing, but no codes to be listed"
    assert data.schema["town"].missing == ("XX",)
    assert data.schema["town"].categories == ("Aachen", "Bonn", "Köln")
    assert data.columns["born"][0] == (dt.date(2020, 1, 1) - dt.date(1970, 1, 1)).days
    assert data.columns["sex"].tolist() == [0, 1, 1, 0, -1, -1, 1, 0]
    assert data.columns["educ"].tolist() == [0, 1, 2, 2, -1, -1, 0, -1]
    # -1 and -7 lie in LO THRU -1, 99999 is declared, one value is system-missing
    assert data.columns["income"].tolist()[::6] == [1200.5, 0.0]
    assert np.isnan(data.columns["income"]).tolist() == [False, True, False, True, True, True, False, False]
    assert data.columns["town"].tolist() == [2, 0, -1, -1, 1, 1, 2, 0]


def test_dates_are_days(tmp_path: Path) -> None:
    born = read(survey(tmp_path / "s.sav")).to_frame()["born"].to_pylist()
    assert born == [dt.date(2020, 1, day) for day in range(1, 8)] + [None]


@pytest.mark.parametrize("options", [{}, {"row_compress": True}, {"compress": True}])
def test_an_untouched_file_says_all_it_said(tmp_path: Path, options: dict[str, bool]) -> None:
    name = "s.zsav" if "compress" in options else "s.sav"
    file, again = survey(tmp_path / name, **options), tmp_path / f"again{Path(name).suffix}"
    assert write(read(file), again) == ()
    assert raw(again)[0] == raw(file)[0], "values, user-missing codes and all"
    assert said(again) == said(file)
    assert read_header(again, "utf-8") == read_header(file, "utf-8")
    assert read(again).schema == read(file).schema


def test_a_schema_goes_before_the_file(tmp_path: Path) -> None:
    stated = Schema(
        (
            Variable("vote", kind="numeric", missing=(8,)),
            Variable("likes", kind="ordinal", role="key", label="Likes"),
            Variable("born", kind="numeric"),
            Variable("sex", kind="nominal", role="key", labels=((1, "man"), (2, "woman"))),
        ),
        weight="wgt",
    )
    data = read(survey(tmp_path / "s.sav"), stated)
    assert np.isnan(data.columns["vote"][-1])
    assert data.schema["vote"].spelled(1) == "red", "labels the schema does not give are the file's"
    assert data.schema["likes"].categories == (0, 2, 3, 5, 7, 10)
    assert (data.schema["likes"].title, data.schema["likes"].role) == ("Likes", "key")
    assert data.columns["born"][0] == 13_797_216_000.0, "a date that is numeric by the schema is the file's number"
    assert (data.schema["sex"].spelled(2), data.schema["sex"].missing) == ("woman", (-9,))
    assert data.schema.weight == "wgt"
    assert data.schema["educ"].kind == "ordinal"
    write(data, tmp_path / "again.sav")
    values, meta = raw(tmp_path / "again.sav")
    assert values["vote"] == [1.0, 2.0, 1.0, 2.0, 3.0, 1.0, 3.0, 8.0], "the code the schema declares has come back"
    assert meta.missing_ranges["vote"] == [{"lo": 8.0, "hi": 8.0}]
    assert meta.variable_measure["vote"] == "scale"
    assert values["born"] == raw(tmp_path / "s.sav")[0]["born"]


def test_missing_cells_keep_their_codes_and_new_ones_have_none(tmp_path: Path) -> None:
    data = read(survey(tmp_path / "s.sav"))
    suppressed = data.columns["sex"].copy()
    suppressed[0] = -1
    filled = data.columns["income"].copy()
    filled[1], filled[0] = 42.0, np.nan  # a method that fills a gap, and one that makes one
    write(data.replace({"sex": suppressed, "income": filled}), tmp_path / "p.sav")
    values = raw(tmp_path / "p.sav")[0]
    assert values["sex"] == [None, 2.0, 2.0, 1.0, None, -9.0, 2.0, 1.0]
    assert values["income"] == [None, 42.0, 800.0, -7.0, None, 99999.0, 0.0, 350.25]
    assert values["town"] == ["Köln", "Aachen", "", "XX", "Bonn", "Bonn", "Köln", "Aachen"]


def test_a_sample_keeps_the_codes_of_its_records(tmp_path: Path) -> None:
    data = read(survey(tmp_path / "s.sav"))
    sample = replace(data.take(np.array([5, 3, 0, 5])).take(np.array([3, 0, 1])), matched=False)
    assert write(sample, tmp_path / "p.sav") == ()
    values = raw(tmp_path / "p.sav")[0]  # records 5, 5 and 3
    assert values["id"] == [5.0, 5.0, 3.0]
    assert values["sex"] == [-9.0, -9.0, 1.0]
    assert values["income"] == [99999.0, 99999.0, -7.0]
    assert values["town"] == ["Bonn", "Bonn", "XX"]


def test_records_made_anew_have_no_codes_of_others(tmp_path: Path) -> None:
    data = read(survey(tmp_path / "s.sav"))
    synthetic = replace(data, matched=False)
    notes = write(synthetic, tmp_path / "p.sav")
    assert notes == (
        "missing values lose their codes, for the records are not those of the file read: sex, educ, income, town",
    )
    values, meta = raw(tmp_path / "p.sav")
    assert values["sex"] == [1.0, 2.0, 2.0, 1.0, None, None, 2.0, 1.0]
    assert values["town"][3] == ""
    assert meta.missing_ranges["sex"] == [{"lo": -9.0, "hi": -9.0}], "what is declared stays declared"
    # a synthetic table made of a sample: a cell that was missing is not
    columns = {**data.columns, "sex": np.array([0, 0, 0, 0, 0, -1, 0, 0], np.int32)}
    made = replace(data.take(np.arange(8)), columns=columns, matched=False)
    assert any("sex" in note for note in write(made, tmp_path / "p.sav"))
    assert raw(tmp_path / "p.sav")[0]["sex"][5] is None
    other = Microdata(data.schema, {n: c[:3] for n, c in data.columns.items()}, data.origin)
    assert any("sex" in note for note in write(other, tmp_path / "p.sav")), "fewer rows that nobody has told of"


def test_words_become_labelled_codes(tmp_path: Path) -> None:
    data = read(survey(tmp_path / "s.sav"))
    votes = Variable("vote", kind="nominal", categories=("red or green", "other"))
    bands = Variable("likes", kind="ordinal", categories=("low", "middle", "high"), label="Liking")
    likes = np.array([0, 1, 2, 0, 1, 0, 2, -1], np.int32)
    income = Variable("income", kind="nominal", categories=("poor", "rich"), missing=(1, 3), labels=((1, "n/a"),))
    recoded = data.recast(
        {
            "vote": (votes, np.array([0, 0, 0, 0, 1, 0, 1, 1], np.int32)),
            "likes": (bands.treated(Treatment(cuts=(4, 8))), likes),
            "income": (income, np.array([0, 0, 1, -1, -1, 1, 0, 1], np.int32)),
        }
    )
    write(recoded, tmp_path / "p.sav")
    values, meta = raw(tmp_path / "p.sav")
    assert values["vote"] == [1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0]
    assert meta.variable_value_labels["vote"] == {1.0: "red or green", 2.0: "other"}
    assert meta.variable_measure["vote"] == "nominal"
    assert values["likes"] == [1.0, 2.0, 3.0, 1.0, 2.0, 1.0, 3.0, None]
    assert meta.variable_value_labels["likes"] == {1.0: "low", 2.0: "middle", 3.0: "high"}
    assert (meta.variable_measure["likes"], meta.original_variable_types["likes"]) == ("ordinal", "F8.0")
    # 1 and 3 are missing codes, so poor is 2 and rich is 4; -7 in the fourth record is still in LO THRU -1
    assert values["income"] == [2.0, 2.0, 4.0, -7.0, None, 4.0, 2.0, 4.0]
    assert meta.variable_value_labels["income"] == {2.0: "poor", 4.0: "rich", 1.0: "n/a"}
    again = read(tmp_path / "p.sav").schema["likes"]
    assert [again.spelled(category) for category in again.categories] == ["low", "middle", "high"]
    assert again.label == "Liking"


def test_values_among_the_missing_codes_end_their_declaration(tmp_path: Path) -> None:
    data = read(survey(tmp_path / "s.sav"))
    noisy = data.columns["income"].copy()
    noisy[0] = -3.5
    notes = write(data.replace({"income": noisy}), tmp_path / "p.sav")
    assert any(note.startswith("values now fall among the declared missing codes") for note in notes)
    values, meta = raw(tmp_path / "p.sav")
    assert "income" not in meta.missing_ranges
    assert values["income"] == [-3.5, None, 800.0, None, None, None, 0.0, 350.25]
    assert np.array_equal(read(tmp_path / "p.sav").columns["income"], noisy, equal_nan=True)


def test_more_missing_codes_than_spss_has_room_for(tmp_path: Path) -> None:
    stated = Schema((Variable("likes", missing=(0, 2, 3, 10)),))
    data = read(survey(tmp_path / "s.sav"), stated)
    notes = write(data, tmp_path / "p.sav")
    assert any(note.startswith("more missing codes than SPSS can declare") and "likes" in note for note in notes)
    values, meta = raw(tmp_path / "p.sav")
    assert [entry["lo"] for entry in meta.missing_ranges["likes"]] == [0.0, 2.0, 3.0]
    assert values["likes"] == [0.0, 5.0, None, 3.0, 7.0, 0.0, None, 2.0]


def test_the_weight_of_the_file_is_the_weight(tmp_path: Path) -> None:
    file = survey(tmp_path / "s.sav")
    assert read(file).schema.weight is None
    assert write_weight(file, "wgt")
    # the header holds the place among the records of the dictionary: eight numbers, and a text of 12 bytes is two
    assert struct.unpack("<i", file.read_bytes()[76:80]) == (10,)
    data = read(file)
    assert data.schema.weight == "wgt"
    assert data.weights().tolist() == [1.0, 0.5, 2.0, 1.25, 0.75, 1.0, 1.0, 3.5]
    write(data, tmp_path / "again.sav")
    assert read_header(tmp_path / "again.sav", "utf-8")[1] == "wgt"
    assert read(file, Schema(weight="likes")).schema.weight == "likes", "the schema goes before the file"
    assert not write_weight(file, "nobody")
    write_weight(file, "sex")
    other = read(file)
    assert other.schema.weight is None
    assert "negative, missing or zero" in other.notes[0]
    write_weight(file, "town")
    assert "cannot be used" in read(file).notes[0]
    assert other.schema["sex"].kind == "nominal"


def test_big_endian_and_damaged_dictionaries_do_no_harm(tmp_path: Path) -> None:
    file = survey(tmp_path / "s.sav")
    write_weight(file, "wgt")
    content = file.read_bytes()
    for length in range(176, 1200, 7):
        (tmp_path / "cut.sav").write_bytes(content[:length])
        assert read_header(tmp_path / "cut.sav", "utf-8")[1] in (None, "wgt")
    head = bytearray(content[:176])
    for offset in (64, 68, 72, 76, 80):
        head[offset : offset + 4] = head[offset : offset + 4][::-1]
    (tmp_path / "big.sav").write_bytes(bytes(head))
    assert read_header(tmp_path / "big.sav", None)[0] == "none"


def test_long_texts_names_and_labels(tmp_path: Path) -> None:
    import pyarrow as pa

    name = "n" * 64
    schema = Schema((Variable(name, kind="nominal", label="ä" * 200, labels=(("x", "ö" * 100),)),))
    table = pa.table({name: ["x", "y" * 3000, None], "weight_with_a_long_name": [1.5, 2.5, 3.0]})
    data = Microdata.from_frame(table, replace(schema, weight="weight_with_a_long_name"))
    notes = write(data, tmp_path / "s.sav")
    assert notes == (f"labels too long for the format are cut: {name}",)
    again = read(tmp_path / "s.sav")
    assert again.schema[name].categories == ("x", "y" * 3000)
    assert again.schema[name].label == "ä" * 128, "256 bytes"
    assert again.schema[name].spelled("x") == "ö" * 60
    assert again.schema.weight == "weight_with_a_long_name", "long texts take many records of the dictionary"


def test_a_loss_is_said_once_with_all_its_variables() -> None:
    losses = Losses()
    for name in ("a", "b", "a"):
        losses.add("cut", name)
    losses.add("gone")
    assert losses.notes() == ("cut: a, b", "gone")
