"""Excel workbooks in and out: sheets, headers, gaps, dates, numbers as text, errors."""

import datetime as dt
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import DataError, FileError, Microdata, ParameterError, Schema, Variable, read, write

openpyxl = pytest.importorskip("openpyxl")


def book(path: Path, *sheets: tuple[str, Sequence[Any]]) -> Path:
    """Write a workbook with these sheets."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets:
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def columns(data: Microdata) -> dict[str, list[object]]:
    found: dict[str, list[object]] = data.to_arrow().to_pydict()
    return found


def test_a_survey_as_people_keep_it(tmp_path: Path) -> None:
    day, moment = dt.date(2020, 2, 29), dt.datetime(2020, 2, 29, 13, 30)
    rows = [
        [],
        [None, "id", " income ", "code", "born", "seen", "member", "age", "empty"],
        [None, 1, 1500.25, "007", day, moment, True, 34, None],
        [],
        [None, 2, None, "012", None, dt.datetime(2021, 1, 1), False, "90+", None],
        [None, 3, 7, "NA", dt.date(1950, 1, 1), None, None, 41.0, None],
    ]
    data = read(book(tmp_path / "s.xlsx", ("data", rows), ("notes", [])))
    assert columns(data) == {
        "id": [1, 2, 3],
        "income": [1500.25, None, 7.0],
        "code": ["007", "012", None],
        "born": [day, None, dt.date(1950, 1, 1)],
        "seen": [moment, dt.datetime(2021, 1, 1), None],
        "member": [True, False, None],
        "age": ["34", "90+", "41"],
        "empty": [None, None, None],
    }
    assert data.schema["id"].kind == "numeric" and data.schema["age"].kind == "nominal"
    kept = read(tmp_path / "s.xlsx", missing=[""])
    assert columns(kept)["code"] == ["007", "012", "NA"]
    coded = read(tmp_path / "s.xlsx", missing=["NA", "7", "34"])
    assert columns(coded)["income"] == [1500.25, None, None] and columns(coded)["age"] == [None, "90+", "41"]
    stated = read(tmp_path / "s.xlsx", Schema((Variable("age", kind="nominal", role="key"),)))
    assert stated.schema["age"].role == "key"


def test_numbers_kept_as_text_are_numbers_unless_they_are_codes(tmp_path: Path) -> None:
    rows = [["a", "b", "c", "d"], ["1", "1.5", "01", 1], ["2", 2, "2", "x"]]
    assert columns(read(book(tmp_path / "s.xlsx", ("s", rows)))) == {
        "a": [1, 2], "b": [1.5, 2.0], "c": ["01", "2"], "d": ["1", "x"]
    }  # fmt: skip


def test_one_of_several_sheets_has_to_be_named(tmp_path: Path) -> None:
    file = book(tmp_path / "s.xlsx", ("2019", [["a"], [1]]), ("empty", []), ("2020 new", [["b"], [2]]))
    with pytest.raises(FileError, match=r"has several sheets: 2019, 2020 new; say which, for example table='2019'"):
        read(file)
    assert columns(read(file, table="2020 new")) == {"b": [2]} == columns(read(f"{file}#2020 new"))
    with pytest.raises(FileError, match="has no sheet '2021'; it has 2019, empty, 2020 new"):
        read(file, table="2021")
    with pytest.raises(FileError, match="sheet 'empty' is empty"):
        read(f"{file}#empty")
    with pytest.raises(ParameterError, match="names the table '2019', and table='2020 new' another"):
        read(f"{file}#2019", table="2020 new")
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match="table is for Excel and R files"):
        read(tmp_path / "t.csv", table="2019")
    odd = book(tmp_path / "a#b.xlsx", ("s", [["c"], [3]]))  # a # that belongs to the name of the file
    assert columns(read(odd)) == {"c": [3]}


def test_errors_are_refused_with_their_cell(tmp_path: Path) -> None:
    made = openpyxl.Workbook()
    sheet = made.active
    sheet.title = "data"
    for row in ([], ["a", "b"], [1, 2], [3, 4]):
        sheet.append(row)
    sheet["B4"].value, sheet["A3"].value = "#DIV/0!", "#N/A"
    sheet["B4"].data_type = sheet["A3"].data_type = "e"
    made.save(tmp_path / "s.xlsx")
    with pytest.raises(DataError, match="cell B4 of sheet 'data' is the error #DIV/0!; correct its formula"):
        read(tmp_path / "s.xlsx")
    sheet["B4"].value = None
    made.save(tmp_path / "s.xlsx")
    assert columns(read(tmp_path / "s.xlsx")) == {"a": [None, 3], "b": [2, None]}


def test_a_size_that_is_not_the_sheets_is_not_believed(tmp_path: Path) -> None:
    file = book(tmp_path / "s.xlsx", ("s", [["a", "b"], [], [1, None], [None, 2], [3]]))
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert b'<dimension ref="A1:B5"' in parts[sheet]
    parts[sheet] = parts[sheet].replace(b'<dimension ref="A1:B5"', b'<dimension ref="A1"')
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert columns(read(file)) == {"a": [1, None, 3], "b": [None, 2, None]}


def test_bad_workbooks_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.xlsx"
    for rows, said in (
        ([["a", None], [1, 2]], "sheet 's': column 2 has no name"),
        ([["a", "a"], [1, 2]], "columns 1, 2 have the same name 'a'"),
        ([["a", "b"]], "has a header but no records"),
        ([], "none of its sheets holds a value"),
    ):
        with pytest.raises((DataError, FileError), match=said):
            read(book(file, ("s", rows)))
    for content in (b"", b"a,b\n1,2\n", file.read_bytes()[:300]):
        file.write_bytes(content)
        with pytest.raises(FileError, match="cannot be read as an Excel workbook"):
            read(file)
    file.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(FileError, match="password"):
        read(file)
    with pytest.raises(FileError, match=r"Sfumato reads .*an old workbook has to be saved as \.xlsx"):
        read(tmp_path / "s.xls")
    with pytest.raises(ParameterError, match="are for text files, not Excel"):
        read(file, delimiter=";")


def test_without_openpyxl_the_cure_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = book(tmp_path / "s.xlsx", ("s", [["a"], [1]]))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(FileError, match=r"pip install 'sfumato\[excel\]'"):
        read(file)
    with pytest.raises(FileError, match=r"pip install 'sfumato\[excel\]'"):
        write(pa.table({"a": [1]}), tmp_path / "t.xlsx")
    assert not (tmp_path / "t.xlsx").exists()


VALUES = {
    "number": st.none() | st.floats(-1e300, 1e300).map(lambda number: float(f"{number:.16g}")),
    "whole": st.none() | st.integers(-(2**53), 2**53),
    "text": st.none() | st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=6).map(
        lambda text: f"t{text}"
    ),
    "day": st.none() | st.dates(dt.date(1950, 1, 1), dt.date(2100, 1, 1)),
}  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6).flatmap(lambda n: st.fixed_dictionaries(
    {name: st.lists(value, min_size=n, max_size=n) for name, value in VALUES.items()}
)))  # fmt: skip
def test_what_is_written_reads_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, list[Any]]
) -> None:
    kinds = {"number": pa.float64(), "whole": pa.int64(), "text": pa.string(), "day": pa.date32()}
    made = pa.table({"id": pa.array(range(len(table["day"]))), **{n: pa.array(v, kinds[n]) for n, v in table.items()}})
    file = tmp_path_factory.mktemp("excel") / "t.xlsx"
    assert write(made, file) == ()
    assert columns(read(file)) == columns(Microdata.from_frame(made))


def test_numbers_of_more_digits_are_told(tmp_path: Path) -> None:
    third = 0.1 + 0.2  # 0.30000000000000004
    lost = write(pa.table({"a": [1.5, third], "b": [0.1, None]}), tmp_path / "t.xlsx")
    assert lost == ("numbers are kept to 16 digits: a",)
    assert columns(read(tmp_path / "t.xlsx"))["a"] == [1.5, pytest.approx(third, rel=1e-15)]
    with pytest.raises(FileError, match="'a' has numbers beyond"):
        write(pa.table({"a": [1.7e308]}), tmp_path / "t.xlsx")


def test_texts_that_look_like_formulas_stay_texts_and_limits_are_said(tmp_path: Path) -> None:
    table = pa.table({"a": ["=1+1", "@x", "+3"], "wide": ["9007199254740993", "1e5", "=A1"]})
    write(table, tmp_path / "t.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert sheet["A2"].data_type == "s" and sheet["A2"].value == "=1+1"
    assert columns(read(tmp_path / "t.xlsx")) == table.to_pydict()
    with pytest.raises(FileError, match="at most 1,048,575 records"):
        write(pa.table({"a": pa.nulls(1_048_576, pa.int64())}), tmp_path / "large.xlsx")
    with pytest.raises(FileError, match=r"cannot write .* control character.*; write \.csv or \.parquet instead"):
        write(pa.table({"a": ["bell \x07"]}), tmp_path / "odd.xlsx")
    with pytest.raises(FileError, match="at most 32,767 characters, and a text of 'a' has more"):
        write(pa.table({"a": ["x" * 40_000]}), tmp_path / "odd.xlsx")
    ordered = pa.array(["lo", "hi", "lo"]).dictionary_encode()
    write(pa.table({"o": ordered, "yes": [True, None, False]}), tmp_path / "o.xlsx")
    assert columns(read(tmp_path / "o.xlsx")) == {"o": ["lo", "hi", "lo"], "yes": [True, None, False]}


def test_a_formula_without_a_value_is_refused_with_its_cell(tmp_path: Path) -> None:
    """openpyxl computes nothing: read as gaps, two of the three records would be gone."""
    file = book(tmp_path / "f.xlsx", ("data", [["a"], [1], ["=A2+1"], ["=A3+1"]]), ("notes", [["x"], [1]]))
    with pytest.raises(
        DataError, match=r"cell A3 of sheet 'data' is a formula without a value, .*LibreOffice and save"
    ):
        read(file, table="data")
    assert columns(read(file, table="notes")) == {"x": [1]}
    alone = book(tmp_path / "g.xlsx", ("data", [["=1+1"], ["=2+2"]]))
    with pytest.raises(DataError, match="cell A1 of sheet 'data' is a formula without a value"):
        read(alone)


def test_a_formula_with_a_value_counts_by_it_and_empty_text_is_a_value(tmp_path: Path) -> None:
    """As Excel saves them: <v> holds the value, for empty text in a cell of the type str."""
    file = book(tmp_path / "f.xlsx", ("data", [["a", "b"], [1, "x"], ["=A2+1", '=IF(A2=1,"","y")']]))
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    sheet = sheet.replace('<c r="A3"><f>A2+1</f><v></v></c>', '<c r="A3"><f>A2+1</f><v>2</v></c>').replace(
        '<c r="A3"><f>A2+1</f><v /></c>', '<c r="A3"><f>A2+1</f><v>2</v></c>'
    )
    sheet = sheet.replace('<c r="B3"><f>', '<c r="B3" t="str"><f>')
    assert "<v>2</v>" in sheet and 't="str"' in sheet
    parts["xl/worksheets/sheet1.xml"] = sheet.encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    assert columns(read(file)) == {"a": [1, 2], "b": ["x", None]}


def test_dates_that_a_sheet_has_no_place_for_are_written_as_text_and_said(tmp_path: Path) -> None:
    """Excel counts days from 1900 and has a 29 February in that year: only from March on is its calendar ours."""
    days = [dt.date(1850, 1, 1), dt.date(1900, 2, 28), None, dt.date(2020, 1, 1)]
    moments = [dt.datetime(1899, 12, 30, 5, 6), None, dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1, 1, 1, 1)]
    late = [dt.date(1900, 3, 1), dt.date(2020, 1, 1), None, None]
    fine = [dt.datetime(2020, 1, 1, 0, 0, 0, 123_456), None, None, None]
    data = Microdata.from_frame(pa.table({"day": days, "moment": moments, "late": late, "fine": fine}))
    notes = write(data, tmp_path / "d.xlsx")
    assert any("written as text, and with them all of: day, moment" in note for note in notes)
    assert any("times are kept to the millisecond: fine" in note for note in notes)
    again = columns(read(tmp_path / "d.xlsx"))
    assert again["day"] == ["1850-01-01", "1900-02-28", None, "2020-01-01"]
    assert again["moment"] == ["1899-12-30 05:06:00", None, "2020-01-01 00:00:00", "2021-01-01 01:01:01"]
    assert again["late"] == late
    stated = Schema((Variable("day", kind="date"), Variable("moment", kind="date")))
    dated = read(tmp_path / "d.xlsx", stated)
    for name in ("day", "moment"):
        assert np.array_equal(dated.columns[name], data.columns[name], equal_nan=True)


def test_calamine_reads_what_openpyxl_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of each sheet by both libraries, whichever one Sfumato takes for it."""
    pytest.importorskip("python_calamine")
    rng = np.random.default_rng(5)
    moments = (dt.datetime(1900, 3, 1) + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 10**9, 30))
    rows = [
        [i, float(x), f"t{i} é", m, m.date(), bool(i % 2), m.time()]
        for i, (x, m) in enumerate(zip(rng.normal(size=30), moments, strict=True))
    ]
    moments_of_day = dt.datetime(2020, 2, 29, 13, 30)
    for gap in range(7):
        rows[5 + gap][gap] = None
    sheets: dict[str, list[Any]] = {
        "plain": rows,
        "merged": [["a", "b"], ["x y", None], [1, 2]],
        "early": [["a"], [dt.date(1900, 1, 3)], [dt.date(1900, 2, 28)]],
        "negative": [["a", "b"], [-1, -0.5], [2, 1e-300]],
        "escaped": [["a"], ["_x0041_"], ["&lt; <b>"]],
        "names": [["a", 2019, 2020.5, True, dt.date(2020, 2, 29), moments_of_day], [1, 2, 3, 4, 5, 6]],
        "spaces": [["a", "b"], [" x", "y "], ["", "z"]],
        "markers": [["a"], ["NA"], ["#N/A"], ["'"], [" "]],
    }
    for name, cells in sheets.items():
        made = openpyxl.Workbook()
        for row in ([f"v{i}" for i in range(7)], *cells) if name == "plain" else cells:
            made.active.append(row)
        if name == "merged":
            made.active.merge_cells("A2:B2")
        if name == "negative":  # no date, though it is shown as one: openpyxl gives a day of 1899
            made.active["A2"].number_format = "yyyy-mm-dd"
        made.save(file := tmp_path / f"{name}.xlsx")
        found = columns(read(file))
        with monkeypatch.context() as without:
            without.setitem(sys.modules, "python_calamine", None)
            without.setattr("sfumato.table.formats.excel.find_spec", lambda _: None)
            assert found == columns(read(file)), name


def test_a_plain_sheet_needs_no_openpyxl_to_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("python_calamine")
    file = book(tmp_path / "s.xlsx", ("s", [["a", "b"], [1, "x"], [2.5, None]]))
    monkeypatch.setattr("openpyxl.load_workbook", None)
    assert columns(read(file)) == {"a": [1.0, 2.5], "b": ["x", None]}


def repacked(path: Path, source: Path, *changes: tuple[str, str]) -> Path:
    """Write a workbook anew with changes to the names and the texts of its files."""
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(path, "w") as after:
        for entry in before.namelist():
            name, content = entry, before.read(entry).decode()
            for old, new in changes:
                name, content = name.replace(old, new), content.replace(old, new)
            after.writestr(name, content)
    return path


@pytest.mark.parametrize("place", ["data/one.xml", "Worksheets/sheet1.xml", "worksheets/sheet1"])
def test_sheets_are_looked_through_wherever_they_are_in_the_file(tmp_path: Path, place: str) -> None:
    moved = "worksheets/sheet1.xml", place
    wrong = book(tmp_path / "wrong.xlsx", ("a", [["x", "y"], [1, "#DIV/0!"], [2, 3]]))
    with pytest.raises(DataError, match=r"cell B2 of sheet 'a' is the error #DIV/0!"):
        read(repacked(tmp_path / "moved.xlsx", wrong, moved))
    formula = book(tmp_path / "formula.xlsx", ("a", [["x", "y"], [1, "=A2+1"], [2, 3]]))
    with pytest.raises(DataError, match="cell B2 of sheet 'a' is a formula without a value"):
        read(repacked(tmp_path / "moved.xlsx", formula, moved))
    twice = book(tmp_path / "twice.xlsx", ("a", [["x"], [1], [2]]))
    with pytest.raises(FileError, match="row 2 stands behind row 2"):
        read(repacked(tmp_path / "moved.xlsx", twice, moved, ('<row r="3"', '<row r="2"'), ('r="A3"', 'r="A2"')))


@pytest.mark.parametrize("number", ["x", "1.0", "-1"])
def test_a_text_that_is_not_numbered_is_not_the_first_one(tmp_path: Path, number: str) -> None:
    plain = book(tmp_path / "plain.xlsx", ("a", [["name"], ["one"], ["two"]]))
    kind = "openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
    path = repacked(
        tmp_path / "s.xlsx",
        plain,
        ('t="inlineStr"><is><t>two</t></is>', f't="s"><v>{number}</v>'),
        ("</Types>", f'<Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.{kind}"/></Types>'),
        (
            "</Relationships>",
            f'<Relationship Id="rId99" Type="{relation}" Target="sharedStrings.xml"/></Relationships>',
        ),
    )
    with zipfile.ZipFile(path, "a") as file:
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        file.writestr("xl/sharedStrings.xml", f'<sst xmlns="{space}"><si><t>first</t></si><si><t>last</t></si></sst>')
    if number == "-1":  # openpyxl counts from the end
        assert columns(read(path)) == {"name": ["one", "last"]}
    else:
        with pytest.raises(FileError, match="cannot be read as an Excel workbook: invalid literal"):
            read(path)


def test_spaces_that_are_written_as_numbers_of_signs_are_kept(tmp_path: Path) -> None:
    plain = book(tmp_path / "plain.xlsx", ("a", [["name"], ["one"], ["two"]]))
    path = repacked(tmp_path / "s.xlsx", plain, ("<t>two</t>", "<t>&#32;two&#32;</t>"))
    assert columns(read(path)) == {"name": ["one", " two "]}


def test_the_cells_of_another_workbook_that_are_kept_in_it_are_no_sheet(tmp_path: Path) -> None:
    path = book(tmp_path / "s.xlsx", ("a", [["x"], [1], [2]]))
    rows = '<sheetData sheetId="0"><row r="2"/></sheetData><sheetData sheetId="1"><row r="1"/></sheetData>'
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(
            "xl/externalLinks/externalLink1.xml", f"<externalLink><sheetDataSet>{rows}</sheetDataSet></externalLink>"
        )
    assert columns(read(path)) == {"x": [1, 2]}


def test_a_sheet_takes_no_longer_than_it_is_long(tmp_path: Path) -> None:
    plain = book(tmp_path / "plain.xlsx", ("a", [["x"], [1], [2]]))
    begun = "<!--" + "<row " * 400_000 + "-->"  # of which each would be looked through to the end: for hours
    assert columns(read(repacked(tmp_path / "s.xlsx", plain, ("</sheetData>", f"</sheetData>{begun}")))) == {
        "x": [1, 2]
    }
