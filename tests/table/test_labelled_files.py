"""Labelled files that are broken, of another format, in other encodings, or turned into one another."""

import datetime as dt
import struct
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from labelled_tables import raw, survey
from sfumato.errors import DataError, FileError, ParameterError
from sfumato.table.files import read, write
from sfumato.table.formats.labelled import reading
from sfumato.table.schema import Schema, Variable
from sfumato.table.schema_file import schema_text, write_schema
from tables import persons

FRAME = pl.DataFrame({"a": [float(i) for i in range(40)], "t": [f"v{i:03d}x" for i in range(40)]})


def files(folder: Path) -> list[Path]:
    """One file of every format that pyreadstat writes."""
    pyreadstat.write_sav(FRAME, folder / "plain.sav")
    pyreadstat.write_sav(FRAME, folder / "rows.sav", row_compress=True)
    pyreadstat.write_sav(FRAME, folder / "zlib.zsav", compress=True)
    pyreadstat.write_por(FRAME, folder / "f.por")
    pyreadstat.write_dta(FRAME, folder / "new.dta", version=14)
    pyreadstat.write_dta(FRAME, folder / "old.dta", version=10)
    pyreadstat.write_xport(FRAME, folder / "f.xpt")
    return sorted(folder.iterdir())


def test_every_format_reads_the_same(tmp_path: Path) -> None:
    for file in files(tmp_path):
        found = read(file)
        assert [name.lower() for name in found.names] == ["a", "t"], "names in .por files are in capitals"
        assert found.columns[found.names[0]].tolist() == FRAME["a"].to_list()
        assert found.schema[found.names[1]].categories == tuple(FRAME["t"])
        assert found.origin.path == file.resolve()


def test_values_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed: list[Any] = [*(float(i) for i in range(39)), "a"]
    frame = FRAME.with_columns(pl.Series("m", mixed, dtype=pl.Object))
    pyreadstat.write_dta(frame, tmp_path / "m.dta", version=14, missing_user_values={"m": ["a"]})
    whole = {file.name: read(file) for file in files(tmp_path)}
    for cells in (1, 21, 80, 120):  # one record at a time, pieces that end before and at the end of the file
        monkeypatch.setattr(reading, "CELLS_AT_A_TIME", cells)
        for file in tmp_path.iterdir():
            assert read(file).to_arrow().equals(whole[file.name].to_arrow()), file
    assert read(tmp_path / "m.dta").schema["m"].missing == (".a",)
    write(read(tmp_path / "m.dta"), tmp_path / "n.dta")
    assert raw(tmp_path / "n.dta")[0]["m"] == mixed


def test_truncated_files_are_refused(tmp_path: Path) -> None:
    for file in files(tmp_path):
        content = file.read_bytes()
        cut = tmp_path / f"cut{file.suffix}"
        for share in (0.999, 0.9, 0.7, 0.5, 0.3, 0.1):
            length = int(len(content) * share)
            if file.suffix == ".xpt":
                length |= 1  # whole blocks of 80 bytes are a shorter file, not a broken one
            if share == 0.999 and file.suffix in (".por", ".dta"):
                continue  # only padding or the closing tag is gone, no values
            cut.write_bytes(content[:length])
            with pytest.raises(FileError, match=rf"cut\{file.suffix} (is|has|does|cannot be read)"):
                read(cut)
        cut.write_bytes(b"")
        with pytest.raises(FileError, match="is empty"):
            read(cut)


def test_files_that_are_not_what_their_suffix_says(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "p.sav")
    with pytest.raises(FileError, match=r"p\.sav is a Parquet file, whatever its suffix \.sav says"):
        read(tmp_path / "p.sav")
    pyreadstat.write_dta(FRAME, tmp_path / "d.xpt", version=10)
    with pytest.raises(FileError, match="is a Stata file"):
        read(tmp_path / "d.xpt")
    (tmp_path / "t.dta").write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match=r"does not begin as a \.dta file does"):
        read(tmp_path / "t.dta")
    (tmp_path / "t.por").write_text("a,b\n1,2\n" * 100)
    with pytest.raises(FileError, match=r"t\.por cannot be read"):
        read(tmp_path / "t.por")
    with pytest.raises(FileError, match=r"cannot read .*none\.sav: there is no such file"):
        read(tmp_path / "none.sav")
    (tmp_path / "folder.sav").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        read(tmp_path / "folder.sav")
    pyreadstat.write_sav(FRAME, tmp_path / "z.zsav")
    assert len(read(tmp_path / "z.zsav")) == 40, "plain SPSS under the other suffix of SPSS"


def test_dictionaries_that_contradict_themselves(tmp_path: Path) -> None:
    file = survey(tmp_path / "f.sav")
    content = file.read_bytes()
    pointer = struct.pack("<4i", 4, 1, 2, 3)  # the labels before are those of variable 2; the next ones begin
    assert content.count(pointer) == 1
    for place in (0, 77, 2**24, 7):  # no variable, none, none, and a text longer than labels of this kind may have
        file.write_bytes(content.replace(pointer, struct.pack("<4i", 4, 1, place, 3)))
        with pytest.raises(FileError, match=r"f\.sav is damaged: it labels the values of a variable"):
            read(file)
    for width in (255, 9):  # the first variable would be a text that goes on in further records
        file.write_bytes(content[:180] + struct.pack("<i", width) + content[184:])
        with pytest.raises(FileError, match=r"f\.sav is damaged: its dictionary does not hold together"):
            read(file)


def test_files_without_records(tmp_path: Path) -> None:
    pyreadstat.write_sav(FRAME.clear(), tmp_path / "e.sav")
    with pytest.raises(DataError, match=r"e\.sav: the table has no records"):
        read(tmp_path / "e.sav")


def test_options_that_do_not_apply(tmp_path: Path) -> None:
    pyreadstat.write_sav(FRAME, tmp_path / "f.sav")
    with pytest.raises(ParameterError, match=r"delimiter, decimal and missing are for text files, not SPSS"):
        read(tmp_path / "f.sav", delimiter=";")
    pyreadstat.write_por(FRAME, tmp_path / "f.por")
    with pytest.raises(ParameterError, match=r"encoding is not for \.por files"):
        read(tmp_path / "f.por", encoding="cp1252")
    with pytest.raises(DataError, match="the schema names 'nobody'"):
        read(tmp_path / "f.sav", Schema((Variable("nobody"),)))


def test_other_encodings(tmp_path: Path) -> None:
    frame = pl.DataFrame({"t": ["Renx", "b"], "x": [1.0, 2.0]})
    pyreadstat.write_dta(frame, tmp_path / "old.dta", version=12)
    old = (tmp_path / "old.dta").read_bytes().replace(b"Renx", b"Ren\xe9")
    (tmp_path / "old.dta").write_bytes(old)
    assert "René" in read(tmp_path / "old.dta").schema["t"].categories, "old Stata files are Windows-1252"
    assert "Renй" in read(tmp_path / "old.dta", encoding="cp1251").schema["t"].categories
    pyreadstat.write_sav(frame, tmp_path / "f.sav")
    content = (tmp_path / "f.sav").read_bytes()
    wrong = content.replace(b"Renx", b"R\xe9nx")  # which is not the UTF-8 the file declares
    (tmp_path / "f.sav").write_bytes(wrong)
    with pytest.raises(FileError, match=r"f\.sav holds text that cannot be read .*encoding='cp1252'"):
        read(tmp_path / "f.sav")
    data = read(tmp_path / "f.sav", encoding="cp1252")
    assert "Rénx" in data.schema["t"].categories
    write(data, tmp_path / "g.sav")
    assert "Rénx" in raw(tmp_path / "g.sav")[0]["t"], "written as UTF-8"
    with pytest.raises(FileError, match=r"f\.sav holds text .*name another encoding"):
        read(tmp_path / "f.sav", encoding="no-such-encoding")


def test_the_library_is_loaded_late_and_missed_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyreadstat.write_sav(FRAME, tmp_path / "f.sav")
    data = read(tmp_path / "f.sav")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(FileError, match=r"written through polars.*pip install 'sfumato\[labelled\]'"):
        write(data, tmp_path / "g.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    for act in (lambda: read(tmp_path / "f.sav"), lambda: write(data, tmp_path / "g.sav")):
        with pytest.raises(FileError, match=r"need pyreadstat.*pip install 'sfumato\[labelled\]'"):
            act()
    assert not (tmp_path / "g.sav").exists()


def test_a_failed_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = read(survey(tmp_path / "s.sav"))
    write(data, tmp_path / "t.sav")
    before = (tmp_path / "t.sav").read_bytes()

    def fail(frame: Any, path: str, **options: Any) -> None:
        Path(path).write_bytes(b"half")
        raise pyreadstat.ReadstatError("Unable to write data")

    monkeypatch.setattr(pyreadstat, "write_sav", fail)
    with pytest.raises(FileError, match=r"cannot write .*t\.sav as a SPSS file: Unable to write data"):
        write(data, tmp_path / "t.sav")
    assert (tmp_path / "t.sav").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["s.sav", "t.sav"]
    with pytest.raises(FileError, match="is the file the table was read from"):
        write(data, tmp_path / "s.sav")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("v" * 65, "has a name of 65 bytes; SPSS allows 64"),
        ("ä" * 33, "has a name of 66 bytes; SPSS allows 64"),
        ("net pay", "has a name SPSS does not allow"),
        ("end.", "has a name SPSS does not allow"),
        ("all", "has a name that is a word of SPSS"),
    ],
)
def test_names_spss_does_not_allow(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(FileError, match=f"variable '{name}' {why}"):
        write(pa.table({"x": [1], name: [2]}), tmp_path / "q.sav")


def test_spss_to_stata_and_back(tmp_path: Path) -> None:
    data = read(survey(tmp_path / "s.sav"))
    notes = write(data, tmp_path / "s.dta")
    assert notes == (
        "missing values lose their codes, for the format cannot declare them: sex, educ, income, town",
        "labels of values the format cannot label are left out: town",
        "documents of the file read are not written",
        "Stata files do not say that a variable is ordinal: educ",
    )
    stata = read(tmp_path / "s.dta")
    assert stata.to_frame()["born"].to_pylist()[0] == dt.date(2020, 1, 1)
    assert stata.schema["educ"].kind == "nominal", "all its values have labels"
    assert stata.schema["educ"].spelled(3) == "tertiary"
    assert stata.schema["sex"].label == "Sex of respondent"
    for name in data.names:
        assert stata.to_frame()[name].to_pylist() == data.to_frame()[name].to_pylist()
    write(stata, tmp_path / "t.sav")
    back = read(tmp_path / "t.sav")
    assert back.schema["born"].categories == data.schema["born"].categories
    assert raw(tmp_path / "t.sav")[0]["born"] == raw(tmp_path / "s.sav")[0]["born"]
    assert raw(tmp_path / "t.sav")[1].variable_measure["educ"] == "nominal"


def test_csv_to_spss(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,pay,town,grade\n30,1.5,Köln,low\n,2.25,,high\n")
    schema = Schema((Variable("grade", kind="ordinal", categories=("low", "high")), Variable("age", missing=(-9,))))
    assert write(read(tmp_path / "t.csv", schema), tmp_path / "t.sav") == ()
    values, meta = raw(tmp_path / "t.sav")
    assert values == {"age": [30.0, None], "pay": [1.5, 2.25], "town": ["Köln", ""], "grade": [1.0, 2.0]}
    assert meta.variable_measure == {"age": "scale", "pay": "scale", "town": "nominal", "grade": "ordinal"}
    assert meta.original_variable_types == {"age": "F8.0", "pay": "F8.2", "town": "A5", "grade": "F8.0"}
    assert meta.variable_value_labels == {"grade": {1.0: "low", 2.0: "high"}}
    assert meta.missing_ranges == {"age": [{"lo": -9.0, "hi": -9.0}]}


def test_every_kind_of_table_can_be_written(tmp_path: Path) -> None:
    data = persons(40)
    for suffix in (".sav", ".zsav", ".dta", ".xpt"):
        write(data, tmp_path / f"p{suffix}")
        found = read(tmp_path / f"p{suffix}")
        assert found.names == data.names
        assert np.array_equal(found.columns["income"], data.columns["income"])
        assert np.array_equal(found.columns["education"] + 0.0, data.columns["education"] + (suffix == ".xpt") * 1.0)
        assert (found.schema.weight == "weight") == (suffix in (".sav", ".zsav"))
    odd = pa.table(
        {
            "wide": [2**60 + 1, None],
            "span": pa.array([1, 2], pa.duration("s")),
            "flag": [True, None],
            "zone": pa.array([dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None]),
            "nothing": pa.nulls(2, pa.string()),
        }
    )
    for suffix in (".sav", ".dta", ".xpt"):
        notes = write(odd, tmp_path / f"odd{suffix}")
        assert "values of a type the format does not have are written as text: wide, span" in notes
        assert "the clock of a time zone is written without the zone, which the format does not have: zone" in notes
        assert read(tmp_path / f"odd{suffix}").to_frame()["zone"][0].as_py() == dt.datetime(2020, 1, 1)
        assert read(tmp_path / f"odd{suffix}").schema["wide"].categories == (str(2**60 + 1),)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_labels_beside_files_that_hold_none(tmp_path: Path, suffix: str) -> None:
    data = read(survey(tmp_path / "s.sav"))
    notes = write(data, tmp_path / f"s{suffix}")
    assert notes == (
        "labels are not in the file; write_schema(data, 'schema.toml') keeps them beside it: "
        "sex, educ, income, likes, vote, town",
        "missing values lose their codes: sex, educ, income, town",
    )
    write_schema(data, tmp_path / "schema.toml")
    again = read(tmp_path / f"s{suffix}", tmp_path / "schema.toml")
    assert [v.kind for v in again.schema] == [v.kind for v in data.schema]
    assert again.schema["educ"] == data.schema["educ"]
    assert again.schema["sex"].spelled(2) == "female"
    for name in data.names:
        assert np.array_equal(again.columns[name], data.columns[name], equal_nan=True), name


def test_long_lists_of_labels_stay_in_the_file(tmp_path: Path) -> None:
    labels: dict[int | float, str] = {i: f"town {i}" for i in range(60)}
    frame = pl.DataFrame({"town": [float(i) for i in range(60)]})
    pyreadstat.write_sav(frame, tmp_path / "t.sav", variable_value_labels={"town": labels})
    data = read(tmp_path / "t.sav")
    assert "# labels: 60, not listed; those of the file hold" in schema_text(data)
    (tmp_path / "schema.toml").write_text(schema_text(data))
    assert read(tmp_path / "t.sav", tmp_path / "schema.toml").schema["town"].spelled(7) == "town 7"
    assert len(tomllib.loads(schema_text(data.schema))["variables"]["town"]["labels"]) == 60
