"""Explore and Compare in a real browser: a run is started, seen to its end, a bound is moved, another one chosen."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import browser, enter, needs_browser, served, settled, until
from swept import BOUND, FAMILIES, OWN, begun, finished_run

pytestmark = needs_browser
K2, K3, MDAV = OWN
LONG = 600_000  # milliseconds that a run may take on a busy machine


def test_from_the_run_to_a_choice_by_hand(enter: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    desk = begun(tmp_path / "project", households=150)
    with served(tmp_path / "project") as running:
        page = enter(running, to="explore")
        assert "The map is empty" in page.inner_text("#answer")
        page.dblclick("#run button.first")
        page.wait_for_selector(".going progress")
        page.wait_for_selector("#map svg", timeout=LONG)  # it fills while the run goes on, or is there at its end
        page.wait_for_selector("#trying", state="visible", timeout=LONG)
        assert sum(event.what == "a run was started" for event in desk.journal.events()) == 1
        assert "Chosen: LocalSuppression(k=2)" in page.inner_text("#verdict")
        drawn = page.inner_html("#map svg")

        page.fill("#bound0", "74")  # the keyboard: typed, then by arrows on the slider
        page.wait_for_function("() => document.querySelector('#verdict').innerText.includes('LocalSuppression(k=3)')")
        assert "tried out, not taken" in page.inner_text("#verdict")
        page.wait_for_function("(old) => document.querySelector('#map svg').innerHTML !== old", arg=drawn)
        assert page.locator("#map svg").count() == 1
        page.focus(".slide")
        page.keyboard.press("End")
        page.wait_for_function("() => document.querySelector('#verdict').innerText.includes('MDAV(k=3)')")
        assert desk.now().draft.at_most == {"Reidentification()": BOUND, **FAMILIES}
        settled(page)  # ticks are put back then
        page.check(f'input[aria-label="Compare {K3}"]')
        page.click("text=Back to the bounds as stated")
        page.wait_for_function("() => !document.querySelector('#verdict').innerText.includes('tried out, not')")
        settled(page)
        assert page.is_checked(f'input[aria-label="Compare {K3}"]')  # what was ticked stays so

        page.click(f'a[aria-label="Choose {K3} by hand"]')
        page.wait_for_selector("#picking")
        until(page, "document.activeElement.id === 'why'")
        page.keyboard.type("fewer are found")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelector('#verdict').innerText.includes('by hand')")
        assert desk.now().draft.choose == K3

        settled(page)  # the table is put in anew with the verdict, and its filter with it
        page.fill(".filter input[type=search]", "MDAV")
        visible = "[...document.querySelectorAll('#ranked tbody tr')].filter((row) => !row.hidden).length"
        page.wait_for_function(f"() => {visible} === 1")
        page.fill(".filter input[type=search]", "")
        page.check(f'input[aria-label="Compare {MDAV}"]')
        page.check(f'input[aria-label="Compare {K3}"]')
        page.click("text=Compare the ticked ones")
        page.click('button:has-text("Look closely")')
        page.wait_for_selector("svg.spread", timeout=LONG)
        assert "What users lose" in page.inner_text("main")
        assert page.problems == []


@pytest.mark.parametrize("width", [390, 768, 1920])
def test_nothing_is_wider_than_the_screen(enter: Callable[..., Any], finished_run: Path, width: int) -> None:
    with served(finished_run) as running:
        for place in ("explore", "compare"):
            page = enter(running, to=place, width=width)
            settled(page)
            assert page.evaluate("() => document.documentElement.scrollWidth") <= width
            assert page.problems == []
