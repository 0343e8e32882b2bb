"""Screen 1 in a real browser: files dropped and picked, the first of them and the next."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import Running, browser, enter, needs_browser, served, write_demo

import sfumato
from labelled_tables import survey
from sfumato.workbench.desk import Desk

pytestmark = needs_browser
DROP = """([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0));
  const moved = new DataTransfer();
  moved.items.add(new File([bytes], name));
  const drop = new DragEvent("drop", { dataTransfer: moved, bubbles: true, cancelable: true });
  document.querySelector("[data-drop]").dispatchEvent(drop);
}"""


@pytest.fixture
def running_empty(tmp_path: Path) -> Iterator[Running]:
    """A real server on a folder without a file."""
    with served(tmp_path / "project", "--folder", tmp_path / "project") as running:
        yield running


def drop(page: Any, path: Path) -> None:
    page.evaluate(DROP, [path.name, base64.b64encode(path.read_bytes()).decode()])


def test_a_dropped_file_is_shown_and_the_next_one_too(
    running_empty: Running, enter: Callable[..., Any], tmp_path: Path
) -> None:
    page = enter(running_empty)
    assert "Which file?" in page.inner_text("main")
    drop(page, write_demo(tmp_path))
    page.get_by_text("20 variables").wait_for()
    drop(page, survey(tmp_path / "labelled.sav", records=5))  # there is a list of files by now
    page.get_by_text("a .sav file, which says itself").wait_for()
    page.get_by_role("button", name="Read as shown").click()
    page.wait_for_selector("table.variables")
    draft = Desk(running_empty.folder).now().draft
    assert (draft.source, draft.confirmed) == ("labelled.sav", True)
    assert page.problems == []


def test_a_picked_file_is_taken_and_what_cannot_be_is_told(
    running_empty: Running, enter: Callable[..., Any], tmp_path: Path
) -> None:
    page = enter(running_empty, width=390)
    empty = tmp_path / "empty.csv"
    empty.write_bytes(b"")
    page.set_input_files("#picked", empty)
    page.get_by_text("empty.csv is empty").wait_for()
    (tmp_path / "notes.docx").write_bytes(b"x")
    page.set_input_files("#picked", tmp_path / "notes.docx")
    page.get_by_text("has the suffix '.docx'").wait_for()
    data = sfumato.household_survey(40)
    sfumato.write(data, tmp_path / "survey.parquet")
    page.set_input_files("#picked", tmp_path / "survey.parquet")
    page.get_by_text(f"{len(data)} records").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.problems == []


def test_a_wrong_encoding_is_cured_with_one_click(
    running_empty: Running, enter: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "old.csv"
    path.write_bytes(("id;town\n" + "".join(f"{i};Köln\n" for i in range(30))).encode("cp1252"))
    page = enter(running_empty)
    drop(page, path)
    page.get_by_text("old.csv is not UTF-8").wait_for()
    assert page.get_by_label("Encoding").get_attribute("aria-invalid") == "true"
    page.get_by_role("button", name="Windows, western Europe").click()
    page.get_by_text("text in cp1252").wait_for()
    assert page.get_by_text("Köln").count() == 8
    assert page.problems == []
