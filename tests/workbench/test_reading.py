"""Reading a file is a job: pages answer while it goes on, it can be cancelled, and what failed is not tried again."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pages import Bench, empty_bench, said

import sfumato
from sfumato.errors import FileError
from sfumato.table.capacity import step
from sfumato.table.microdata import Microdata
from sfumato.workbench import desk as desks
from sfumato.workbench.desk import Desk
from waiting import until

__all__ = ["empty_bench"]


class SlowReader:
    """Reads as ``sfumato.read`` does, but files of this name only when it is let go."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[str] = []
        self.go, self.ended = Event(), Event()

    def __call__(self, path: Path, schema: Any = None, **dialect: Any) -> Microdata:
        self.calls.append(path.name)
        try:
            while path.name == self.name and not self.go.is_set():
                step("unpacking", 40, 100)
                self.go.wait(0.01)
            return sfumato.read(path, schema, **dialect)
        finally:
            self.ended.set()


@pytest.fixture
def slow(empty_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowReader]:
    """A desk with a file that takes long, slow.csv, and one that does not; its pages wait for no file."""
    folder = empty_bench.desk.folder
    for name, records in (("slow.csv", 30), ("quick.csv", 20)):
        (folder / name).write_text("id,sex\n" + "".join(f"{i},{'fm'[i % 2]}\n" for i in range(records)))
    reader = SlowReader("slow.csv")
    monkeypatch.setattr(desks, "read", reader)
    yield reader
    reader.go.set()


def opened_slowly(bench: Bench) -> str:
    """Open the slow file, and return what the page shows as soon as its reading has begun."""
    bench.desk.readings.patience = 0
    assert bench.post("open", "choose", name="slow.csv").status_code == 200

    def shown() -> str | None:
        page = str(bench.get("open").text)
        return page if "unpacking" in page else None

    return until(shown, "the reading does not begin")


def cancelled(bench: Bench, page: str) -> str:
    number = re.search(r'name="reading" value="(\d+)"', page)
    assert number is not None, page
    return said(bench.post("open", "cancel", reading=number[1]))


def until_read(bench: Bench, place: str = "open") -> str:
    def shown() -> str | None:
        page = bench.text(place)
        return None if "is being read" in page else page

    return until(shown, "it is not read")


def test_a_page_shows_how_far_a_long_reading_is_and_then_the_file(empty_bench: Bench, slow: SlowReader) -> None:
    page = opened_slowly(empty_bench)
    assert "slow.csv is being read: unpacking, 40 %" in " ".join(page.split()) and 'value="0.4" max="1"' in page
    assert "Open a file first" in empty_bench.text("variables")
    slow.go.set()
    assert "slow.csv : 30 records" in until_read(empty_bench)
    assert slow.calls == ["slow.csv"]  # once, however many pages asked


def test_another_file_can_be_chosen_while_one_is_read(empty_bench: Bench, slow: SlowReader) -> None:
    opened_slowly(empty_bench)
    empty_bench.post("open", "choose", name="quick.csv")
    assert "quick.csv : 20 records" in until_read(empty_bench)
    until(lambda: slow.ended.is_set() or None, "what nobody waits for is still being read")
    slow.go.set()
    empty_bench.post("", "undo", screen="open")  # it was left, not cancelled
    assert "slow.csv : 30 records" in until_read(empty_bench)


def test_a_cancelled_reading_is_not_begun_again_by_a_visit(empty_bench: Bench, slow: SlowReader) -> None:
    page = cancelled(empty_bench, opened_slowly(empty_bench))
    assert "The reading of slow.csv was cancelled." in page and "Another file" in page
    until(lambda: slow.ended.is_set() or None, "it goes on")
    for _ in range(3):
        assert "was cancelled" in empty_bench.text("open")
    assert slow.calls == ["slow.csv"]
    slow.go.set()
    empty_bench.post("open", "read_as", encoding="", delimiter="", decimal="")
    assert "slow.csv : 30 records" in until_read(empty_bench)


def test_a_cancelled_reading_can_be_begun_again_by_a_button(empty_bench: Bench, slow: SlowReader) -> None:
    cancelled(empty_bench, opened_slowly(empty_bench))
    slow.go.set()
    empty_bench.post("open", "again")
    assert "slow.csv : 30 records" in until_read(empty_bench)
    assert empty_bench.post("open", "cancel", reading="").status_code == 422


def test_what_could_not_be_read_is_read_again_only_as_another_file(
    empty_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, calls = empty_bench.desk.folder / "broken.csv", []

    def counted(path: Path, schema: Any = None, **dialect: Any) -> Microdata:
        calls.append(path.name)
        return sfumato.read(path, schema, **dialect)

    monkeypatch.setattr(desks, "read", counted)
    path.write_text("a,b\n1,2\n1,2,3\n")
    empty_bench.post("open", "choose", name="broken.csv")
    before = len(calls)
    for _ in range(3):
        assert 'role="alert"' in empty_bench.get("open").text
    assert len(calls) == before == 1
    path.write_text("a,b\n1,2\n1,23\n")
    now = path.stat()
    os.utime(path, ns=(now.st_atime_ns, now.st_mtime_ns + 1))  # a clock may be coarse
    assert "broken.csv : 2 records" in empty_bench.text("open")


def test_a_mistake_of_the_program_leaves_a_page_to_choose_another_file(
    empty_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(path: Path, schema: Any = None, **dialect: Any) -> Microdata:
        raise ZeroDivisionError

    monkeypatch.setattr(desks, "read", mistaken)
    (empty_bench.desk.folder / "odd.csv").write_text("a,b\n1,2\n")
    page = said(empty_bench.post("open", "choose", name="odd.csv"))
    assert "odd.csv cannot be read: something went wrong in the program itself (ZeroDivisionError)" in page
    assert "Another file" in page


def test_every_page_of_a_server_started_anew_waits_for_a_long_reading(empty_bench: Bench, slow: SlowReader) -> None:
    slow.go.set()
    empty_bench.post("open", "choose", name="slow.csv")
    empty_bench.post("open", "confirm")
    slow.go.clear()
    again = Bench(Desk(empty_bench.desk.folder))
    again.desk.readings.patience = 0
    for place in ("variables", "scenarios", "risk", "recode", "mask", "bounds", "open"):
        assert "slow.csv is being read" in again.text(place), place
    assert again.get("").headers["location"] in ("open", "variables", "scenarios")
    slow.go.set()
    assert "sex" in until_read(again, "variables")


def test_more_than_one_reading_fails_alone(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "project")
    (desk.folder / "file.csv").write_text("a\n1\n")

    def refused() -> str:
        raise FileError("no")

    with pytest.raises(FileError, match="no"):
        desk.read("one", "x", desk.folder / "file.csv", refused)
    assert desk.read("two", "x", desk.folder / "file.csv", lambda: "made") == "made"
    with pytest.raises(FileError, match="no"):
        desk.read("one", "x", desk.folder / "file.csv", lambda: "made")


@pytest.mark.parametrize("name", ["=cmd|'/C calc'!A0", "@SUM(1)"])
def test_a_column_named_like_a_formula_is_said(empty_bench: Bench, name: str) -> None:
    (empty_bench.desk.folder / "formula.csv").write_text(f'id,"{name}"\n' + "".join(f"{i},{i % 3}\n" for i in range(9)))
    page = said(empty_bench.post("open", "choose", name="formula.csv"))
    assert (
        "formula.csv : 9 records, 2 variables" in page and "a spreadsheet that opens a text file with the name" in page
    )
