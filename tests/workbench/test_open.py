"""Screen 1: files of every format dropped, chosen and read; what is wrong with one is told where it can be cured."""

import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from pages import Bench, empty_bench, said

import sfumato
from labelled_tables import survey
from sfumato.errors import FileError
from sfumato.workbench.begin import begin
from sfumato.workbench.desk import Desk
from sfumato.workbench.uploads import received

TABLE = "id;town;income\n" + "".join(f"{i};Köln;{i},5\n" for i in range(30))


def csv(folder: Path) -> Path:
    path = folder / "plain.csv"
    path.write_text("id,sex\n" + "".join(f"{i},{'fm'[i % 2]}\n" for i in range(30)))
    return path


def parquet(folder: Path) -> Path:
    sfumato.write(sfumato.read(csv(folder)), folder / "plain.parquet")
    return folder / "plain.parquet"


def excel(folder: Path) -> Path:
    sfumato.write(sfumato.read(csv(folder)), folder / "plain.xlsx")
    return folder / "plain.xlsx"


def spss(folder: Path) -> Path:
    return survey(folder / "labelled.sav", records=5)


def compressed(folder: Path) -> Path:
    sfumato.write(sfumato.read(csv(folder)), folder / "plain.csv.gz")
    return folder / "plain.csv.gz"


def row_named(folder: Path) -> Path:
    (folder / "pandas.csv").write_text(",sex\n" + "".join(f"{i},{'fm'[i % 2]}\n" for i in range(30)))
    return folder / "pandas.csv"


def book(path: Path, **sheets: list[list[Any]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def dropped(bench: Bench, path: Path) -> Any:
    """Drop a file on the page and let the page choose it, as its script does."""
    answer = bench.upload(path.name, path.read_bytes())
    assert answer.status_code == 200, answer.text
    return bench.post("open", "choose", name=answer.json()["name"])


@pytest.mark.parametrize("make", [csv, parquet, excel, spss, compressed, row_named])
def test_a_dropped_file_of_any_format_is_shown_and_confirmed(
    empty_bench: Bench, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    path = make(tmp_path)
    page = said(dropped(empty_bench, path))
    data = sfumato.read(path)
    assert f"{path.name} : {len(data)} records, {len(data.names)} variables" in page
    kept = empty_bench.desk.folder / path.name
    assert kept.read_bytes() == path.read_bytes() and stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "Variables" in said(empty_bench.post("open", "confirm"))
    there = sfumato.read(kept, empty_bench.desk.folder / "schema.toml")
    assert there.fingerprint == data.fingerprint


def test_a_first_column_without_a_name_is_told_of_and_becomes_an_identifier(empty_bench: Bench, tmp_path: Path) -> None:
    assert "the first column has no name" in said(dropped(empty_bench, row_named(tmp_path)))
    empty_bench.post("open", "confirm")
    assert empty_bench.desk.table(empty_bench.draft).schema["row"].role == "identifier"


def test_the_sheets_of_a_workbook_are_offered(empty_bench: Bench, tmp_path: Path) -> None:
    rows = [[i, i % 3] for i in range(25)]
    path = book(tmp_path / "survey.xlsx", persons=[["id", "sex"], *rows], homes=[["home", "rent"], *rows], empty=[])
    page = dropped(empty_bench, path)
    options = re.findall(r"<option[^>]*>(\w+)</option>", page.text[page.text.index('id="table"') :])[:2]
    assert options == ["persons", "homes"]  # the empty one is none
    assert "choose the one to protect" in said(page) and 'aria-describedby="problem-table"' in page.text
    page = said(empty_bench.post("open", "table", table="homes"))
    assert "survey.xlsx , table homes : 25 records, 2 variables" in page
    assert empty_bench.draft.source == "survey.xlsx#homes"
    assert "sfumato inspect 'survey.xlsx#homes' --out schema.toml" in page
    assert empty_bench.post("open", "table", table="empty").status_code == 422
    empty_bench.post("open", "table", table="persons")
    empty_bench.post("open", "confirm")
    assert empty_bench.desk.table(empty_bench.draft).names == ("id", "sex")


def test_a_sheet_of_a_file_named_on_the_command_line(tmp_path: Path) -> None:
    rows = [[i, i % 3] for i in range(25)]
    path = book(tmp_path / "survey.xlsx", persons=[["id", "sex"], *rows], homes=[["home", "rent"], *rows])
    begin(tmp_path / "project", path, None)
    bench = Bench(Desk(tmp_path / "project"))
    bench.post("open", "table", table="homes")
    assert bench.draft.source == f"{path}#homes"
    begin(tmp_path / "project", path, None)  # the same file, opened again
    assert Desk(tmp_path / "project").now().draft.source == f"{path}#homes"


def test_a_file_of_the_command_line_is_shown_by_its_name(tmp_path: Path) -> None:
    path = csv(tmp_path)
    begin(tmp_path / "project", path, None)
    page = Bench(Desk(tmp_path / "project")).get("open").text
    assert "<strong>plain.csv</strong>" in page
    assert f"in {tmp_path}</span>" in page


def test_a_wrong_encoding_is_told_at_its_field_and_cured_with_one_click(empty_bench: Bench) -> None:
    (empty_bench.desk.folder / "old.csv").write_bytes(TABLE.encode("cp1252"))
    page = empty_bench.post("open", "choose", name="old.csv").text
    assert re.search(r'id="encoding"[^>]*aria-invalid="true" aria-describedby="problem-encoding"', page)
    problem = re.search(r'id="problem-encoding" role="alert">(.*?)</p>', page)
    assert problem is not None and problem[1].startswith("old.csv is not UTF-8: line 2 holds the byte 0xf6")
    wrong = empty_bench.post("open", "read_as", encoding="no-such", delimiter="", decimal="")
    assert wrong.status_code == 422 and 'value="no-such"' in wrong.text  # what was typed is kept
    page = said(empty_bench.post("open", "read_as", encoding=["", "cp1252"], delimiter="", decimal=""))
    assert "Köln" in page and "text in cp1252, fields divided by semicolon, decimal comma" in page


def test_decimal_commas_are_found_and_can_be_said(empty_bench: Bench) -> None:
    (empty_bench.desk.folder / "commas.csv").write_text(TABLE)
    page = said(empty_bench.post("open", "choose", name="commas.csv"))
    assert "decimal comma" in page and "0.5" in page
    assert empty_bench.desk.table(empty_bench.draft).schema["income"].kind == "numeric"
    empty_bench.post("open", "read_as", encoding="", delimiter=";", decimal=".")
    assert empty_bench.desk.table(empty_bench.draft).schema["income"].kind == "nominal"


def test_numbers_that_may_be_read_in_two_ways_are_asked_at_the_decimal_sign(empty_bench: Bench) -> None:
    lines = "id;pay\n" + "".join(f"{i};1,{200 + i}\n" for i in range(20))
    (empty_bench.desk.folder / "doubt.csv").write_text(lines)
    page = empty_bench.post("open", "choose", name="doubt.csv").text
    assert re.search(r'id="decimal"[^>]*aria-invalid="true"', page)
    empty_bench.post("open", "read_as", encoding="", delimiter="", decimal=",")
    assert empty_bench.desk.table(empty_bench.draft).columns["pay"][0] == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("picture.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff", "picture.csv"),
        ("broken.parquet", b"PAR1 and nothing more", "broken.parquet"),
        ("broken.sav", b"$FL2 and nothing more", "broken.sav"),
        ("broken.xlsx", b"PK\x03\x04 and nothing more", "broken.xlsx cannot be read as an Excel workbook"),
        ("blank.csv", b"\n \n", "blank.csv is empty"),
        ("header.csv", b"a,b\n", "header.csv has a header but no records"),
        ("twice.csv", b"a,a\n1,2\n", "have the same name"),
    ],
)
def test_what_is_no_table_is_told_and_the_page_goes_on(
    empty_bench: Bench, name: str, content: bytes, words: str
) -> None:
    (empty_bench.desk.folder / name).write_bytes(content)
    page = empty_bench.post("open", "choose", name=name)
    assert page.status_code == 200
    assert words in said(page) and 'role="alert"' in page.text
    assert str(empty_bench.desk.folder) not in re.sub(r"(?s)<details.*", "", page.text)
    assert "Drop a file here" in said(page)
    assert empty_bench.post("open", "confirm").status_code == 422
    assert "Open a file first" in empty_bench.text("variables")
    csv(empty_bench.desk.folder)
    assert "plain.csv : 30 records" in said(empty_bench.post("open", "choose", name="plain.csv"))


@pytest.mark.parametrize("name", ["notes.docx", "old.xls", "noname"])
def test_a_file_that_nothing_reads_is_refused_before_it_is_copied(empty_bench: Bench, name: str) -> None:
    answer = empty_bench.upload(name, b"x")
    assert answer.status_code == 422 and "Sfumato reads .csv" in answer.json()["error"]
    assert not (empty_bench.desk.folder / name).exists()
    (empty_bench.desk.folder / name).write_bytes(b"x")
    chosen = empty_bench.post("open", "choose", name=name)
    assert chosen.status_code == 422 and 'id="problem-name"' in chosen.text
    assert empty_bench.draft.source == ""


def test_the_same_file_twice_is_one_and_another_of_its_name_is_refused(empty_bench: Bench, tmp_path: Path) -> None:
    path = csv(tmp_path)
    dropped(empty_bench, path)
    assert "30 records" in said(dropped(empty_bench, path))
    other = empty_bench.upload(path.name, b"id,sex\n1,f\n")
    assert other.status_code == 422 and "rename yours, or choose that one" in other.json()["error"]
    assert (empty_bench.desk.folder / path.name).read_bytes() == path.read_bytes()
    assert [one.name for one in empty_bench.desk.folder.glob(".*.part")] == []


def test_a_file_that_is_too_large_leaves_nothing_behind(tmp_path: Path) -> None:
    import asyncio
    from collections.abc import AsyncIterator

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b"1234567890"

    with pytest.raises(FileError, match="open it from where it is"):
        asyncio.run(received(tmp_path, "big.csv", chunks(), most=49))
    assert list(tmp_path.iterdir()) == []
    assert asyncio.run(received(tmp_path, "big.csv", chunks(), most=50)).stat().st_size == 50


def test_another_file_begins_without_what_was_said_of_the_first(empty_bench: Bench) -> None:
    folder = empty_bench.desk.folder
    csv(folder)
    (folder / "commas.csv").write_text(TABLE)
    empty_bench.post("open", "choose", name="plain.csv")
    empty_bench.post("open", "confirm")
    empty_bench.post("variables", "say", name="sex", role="key")
    first = (folder / "schema.toml").read_text()
    assert "commas.csv : 30 records" in said(empty_bench.post("open", "choose", name="commas.csv"))
    empty_bench.post("open", "confirm")
    assert "town" in (folder / "schema.toml").read_text()
    empty_bench.post("", "undo", screen="open")
    empty_bench.post("", "undo", screen="open")
    assert (folder / "schema.toml").read_text() == first
    assert empty_bench.draft.source == "plain.csv"


def test_a_third_file_begins_without_what_was_said_of_the_first(empty_bench: Bench) -> None:
    folder = empty_bench.desk.folder
    csv(folder)
    (folder / "broken.csv").write_text("a,b\n1,2\n1,2,3\n")
    (folder / "third.csv").write_text("height,width\n1,2\n3,4\n")
    empty_bench.post("open", "choose", name="plain.csv")
    empty_bench.post("open", "confirm")
    empty_bench.post("open", "choose", name="broken.csv")  # never confirmed: schema.toml is still of the first
    page = said(empty_bench.post("open", "choose", name="third.csv"))
    assert "third.csv : 2 records, 2 variables" in page and "Begin without it" not in page


def test_a_file_read_as_one_column_is_doubted(empty_bench: Bench) -> None:
    (empty_bench.desk.folder / "one.csv").write_text("a;b\n1;2\n3;4\n")
    empty_bench.post("open", "choose", name="one.csv")
    page = said(empty_bench.post("open", "read_as", encoding="", delimiter=",", decimal=""))
    assert "2 records, 1 variable;" in page and "Only one variable was found" in page


def test_an_empty_file_is_refused_once(empty_bench: Bench) -> None:
    assert empty_bench.upload("empty.csv", b"").json()["error"] == "empty.csv is empty; export it again"


def test_a_schema_of_another_file_can_be_set_aside(empty_bench: Bench) -> None:
    folder = empty_bench.desk.folder
    csv(folder)
    (folder / "schema.toml").write_text('[variables.height]\nkind = "numeric"\n')
    page = said(empty_bench.post("open", "choose", name="plain.csv"))
    assert "which the table does not have" in page and "Begin without it" in page
    page = said(empty_bench.post("open", "without_schema"))
    assert "plain.csv : 30 records" in page
    assert (folder / "schema.set-aside.toml").read_text().startswith("[variables.height]")


def test_missing_codes_are_confirmed_by_ticks(empty_bench: Bench) -> None:
    rows = "".join(f"{i},{-9 if i % 7 == 0 else i}\n" for i in range(1, 40))
    (empty_bench.desk.folder / "codes.csv").write_text("id,hours\n" + rows)
    assert "hours: -9" in said(empty_bench.post("open", "choose", name="codes.csv"))
    empty_bench.post("open", "confirm", codes="hours")
    assert empty_bench.desk.stated(empty_bench.draft)["hours"].missing == (-9,)
    assert int(empty_bench.desk.table(empty_bench.draft).missing("hours").sum()) == 5
