"""The whole way in a real browser: from a dropped file to the release folder; the scripts make the same file again."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import Running, browser, enter, needs_browser, served, settled, write_demo

import labelled_tables
from sfumato.project.decision import read
from sfumato.workbench.desk import Desk

__all__ = ["browser", "enter"]
pytestmark = [*needs_browser, pytest.mark.skipif(os.name != "posix", reason="the script is for a POSIX shell")]
LONG = 600_000  # milliseconds that a run may take on a busy machine


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Running]:
    (tmp_path / "project").mkdir(mode=0o700)
    with served(tmp_path / "project") as running:
        yield running


class Steward:
    """Somebody who has never programmed, in front of the page."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def next(self, title: str) -> None:
        """Go to the next screen by the link at the end of the page."""
        self.page.click(f'.onward a:has-text("{title}")')
        self.page.wait_for_selector(f'main h1:text-is("{title}")')
        self.calm()

    def calm(self) -> None:
        """Wait until what the page asked for is there."""
        settled(self.page)

    def press(self, words: str) -> None:
        """Press a button, and wait until its answer is there."""
        self.page.click(f'main button:has-text("{words}")')
        self.calm()

    def drop(self, file: Path) -> None:
        """Put a file into the picker, which is what a drop does too."""
        self.page.set_input_files("#picked", str(file))
        self.page.wait_for_selector("main button:has-text('Read as shown')", timeout=LONG)
        self.calm()
        self.press("Read as shown")
        self.page.wait_for_selector('main h1:text-is("Variables")')
        self.calm()

    def call_the_rest_other(self) -> None:
        """Say of every variable whose role is still a proposal that it is neither known nor secret."""
        unsaid = "all => all.filter(one => !one.value).map(one => one.getAttribute('aria-label'))"
        for label in self.page.eval_on_selector_all('#list select[name="role"]', unsaid):
            self.page.select_option(f'select[aria-label="{label}"]', "other")
            self.calm()

    def run(self) -> None:
        self.page.click("#run button.first")
        self.page.wait_for_function("() => document.querySelector('.going')", timeout=LONG)
        self.page.wait_for_function(
            "() => !document.querySelector('.going') && document.querySelector('#verdict')", timeout=LONG
        )
        self.calm()

    def sign(self) -> None:
        self.page.fill("#by", "A. Muster, methods")
        self.page.fill("#reasons", "Scientific file under contract.\nMost useful candidate within our bounds.")
        self.press("Sign this release")
        self.page.wait_for_selector('main h1:text-is("Release")')


def scripts(page: Any) -> dict[str, str]:
    """Return the scripts that the last screen shows."""
    page.evaluate("() => document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    return {name: page.text_content(f"#{name} code") for name in ("shell", "python")}


def made_again(words: list[str], script: str, data: Path, folder: Path) -> Path:
    """Run a script in a clean folder beside a copy of the original; return the folder of its release."""
    folder.mkdir()
    shutil.copy(data, folder / data.name)
    (folder / "again").write_text(script, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*words, "again"], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "sweep" / "release"


def check_scripts(page: Any, project: Path, data: Path, tmp_path: Path) -> None:
    """Make the release again by both scripts: the protected file and its page are the same to the byte."""
    told = scripts(page)
    released = project / "release"
    for name, words in (("shell", ["sh"]), ("python", [sys.executable])):
        again = made_again(words, told[name], data, tmp_path / name)
        assert sorted(path.name for path in again.iterdir()) == sorted(path.name for path in released.iterdir())
        for path in released.iterdir():
            assert (again / path.name).read_bytes() == path.read_bytes(), (name, path.name)


def test_the_demo_survey_from_a_dropped_file_to_a_signed_release(
    empty: Running, enter: Callable[..., Any], tmp_path: Path
) -> None:
    file = write_demo(tmp_path, 150)
    page = enter(empty)
    steward = Steward(page)
    steward.drop(file)

    steward.press("Take weight, household and id as proposed")
    for name, role in (("region", "key"), ("sex", "key"), ("age", "key"), ("income", "confidential")):
        page.select_option(f'select[aria-label="Role of {name}"]', role)
        steward.calm()
    steward.call_the_rest_other()
    page.select_option('select[aria-label="Role of wealth"]', "confidential")
    steward.next("Scenarios")  # at once: the link waits until the change is kept
    assert Desk(empty.folder).stated(Desk(empty.folder).now().draft)["wealth"].role == "confidential"
    steward.press("Somebody else")
    page.fill("#name", "register")
    page.keyboard.press("Tab")
    steward.calm()
    assert "would be found" in page.inner_text("main")
    steward.next("Risk now")
    page.wait_for_selector("text=What makes records rare", timeout=LONG)
    steward.next("Recode")
    page.goto(page.evaluate("() => document.baseURI") + "recode?variable=" + _place(empty.folder, "age"))
    steward.calm()
    page.fill("#cuts", "20, 40, 60")
    page.click("text=Cut here")
    steward.calm()
    steward.next("Mask")
    page.uncheck("input[name=proposed]")
    steward.press("Keep this")
    page.fill("#text", "LocalSuppression(k=[2, 3])")
    page.click('form[action="mask/write"] button:has-text("Add")')
    steward.calm()
    steward.next("Bounds")
    page.fill("#bound-0", "30")
    page.fill("#bound-1", "100")  # of households: what is done here does nothing for who knows all members
    steward.press("State these bounds")
    steward.next("Explore")
    steward.run()
    assert page.locator("#map svg").count() == 1
    steward.next("Compare")
    steward.next("Audit")
    assert "keeps what was protected" in page.inner_text("main")
    steward.next("Decide")
    steward.sign()
    assert page.problems == []

    desk = Desk(empty.folder)
    draft = desk.now().draft
    assert desk.stated(draft).weight == "weight"
    assert [s.name for s in desk.stated(draft).scenarios] == ["register"]
    assert draft.at_most == {"Reidentification()": 0.3, "Reidentification(unit='household')": 1.0}
    signed = read(empty.folder)
    assert signed is not None
    assert signed.by == "A. Muster, methods"
    assert not signed.void
    check_scripts(page, empty.folder, file, tmp_path)


def _place(folder: Path, name: str) -> str:
    """Return how the page of recodings names a variable: by its place in the file."""
    desk = Desk(folder)
    return str(desk.table(desk.now().draft).names.index(name))


def test_an_spss_file_from_a_dropped_file_to_a_signed_release(
    empty: Running, enter: Callable[..., Any], tmp_path: Path
) -> None:
    file = labelled_tables.survey(tmp_path / "survey.sav", records=40)
    page = enter(empty)
    steward = Steward(page)
    steward.drop(file)
    for name in ("sex", "educ", "town"):
        page.select_option(f'select[aria-label="Role of {name}"]', "key")
        steward.calm()
    page.select_option("#id", "id")
    steward.calm()
    steward.call_the_rest_other()
    for title in ("Scenarios", "Risk now", "Recode", "Mask"):
        steward.next(title)
    page.uncheck("input[name=proposed]")
    steward.press("Keep this")
    page.fill("#text", "LocalSuppression(k=3) + RankSwapping(p=0.2, variables=['income'])")
    page.click('form[action="mask/write"] button:has-text("Add")')
    steward.calm()
    steward.next("Bounds")
    page.fill("#bound-0", "60")
    steward.press("State these bounds")
    steward.next("Explore")
    steward.run()
    for title in ("Compare", "Audit", "Decide"):
        steward.next(title)
    steward.sign()
    assert page.problems == []
    released = empty.folder / "release" / "survey.protected.sav"
    assert released.is_file()
    check_scripts(page, empty.folder, file, tmp_path)
