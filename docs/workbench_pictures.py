"""The pictures of the page "Work in the browser", taken of a real browser.

Run ``python docs/workbench_pictures.py docs/img``.
It needs Chromium and Playwright. The demo survey is opened, run and shown; the whole takes about a minute.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import sfumato
from sfumato.workbench.commands import sweep_asked
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.server import running_address

SCREENS = ("variables", "scenarios", "explore", "decide")
WIDTH, HEIGHT = 1280, 860
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


def project(folder: Path, households: int) -> None:
    """Make a project of the demo survey, and run it to its end."""
    desk = Desk(folder)
    survey = sfumato.household_survey(households)
    sfumato.write(survey, folder / "survey.csv")
    intruders = (
        sfumato.Scenario("register", keys=("region", "sex", "age", "marital"), k=3, knows_membership=False),
        sfumato.Scenario("acquaintance", keys=("sex", "age", "education", "occupation"), k=5),
    )
    schema = replace(survey.schema, scenarios=intruders)
    draft = Draft(
        source="survey.csv",
        confirmed=True,
        schema=desk.restated(schema),
        at_most={"Reidentification": 0.05},
        bounds_stated="2026-01-15T09:30:00+00:00 before results were seen",
        replicates=2,
    )
    desk.change(lambda _: draft, screen="open", what="opened survey.csv")
    asked = {**sweep_asked(desk, draft), "out": folder, "schema": folder / "schema.toml"}
    sfumato.sweep(folder / "survey.csv", seed=2001, bootstrap=False, **asked)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a project, and give the address that lets a browser in."""
    command = [sys.executable, "-m", "sfumato", "open", str(folder), "--no-browser"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        address, end = None, time.monotonic() + 60
        while address is None and time.monotonic() < end:
            time.sleep(0.2)
            address = running_address(folder)
        if address is None:
            raise RuntimeError("the workbench did not start")
        yield address
    finally:
        process.terminate()
        process.wait()


def take(browser: Any, address: str, out: Path) -> list[Path]:
    """Take a picture of each screen."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.goto(address)
    page.wait_for_selector("nav.steps")
    base, taken = page.evaluate("document.baseURI"), []
    for screen in SCREENS:
        page.goto(base + screen)
        page.wait_for_load_state("networkidle")
        if screen == "explore":
            page.wait_for_selector("#map svg")
            page.locator("#map").scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        taken.append(out / f"workbench-{screen}.png")
        page.screenshot(path=str(taken[-1]))
    page.close()
    return taken


def make(out: Path, households: int = 850) -> list[Path]:
    """Make all pictures into a folder."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as driver:
        folder = Path(temporary) / "survey.sfumato"
        project(folder, households)
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        with served(folder) as address:
            taken = take(browser, address, out)
        browser.close()
    return taken


def named(page: str) -> Sequence[str]:
    """Return the names of the pictures that a page shows."""
    return re.findall(r"img/(workbench-[a-z]+\.png)", page)


if __name__ == "__main__":
    for path in make(Path(sys.argv[1])):
        print(path)
