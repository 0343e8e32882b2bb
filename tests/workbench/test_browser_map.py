"""The map of Explore: it is seen first, says what a candidate does, and a click leads on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pages import browser, enter, needs_browser, served, settled
from swept import OWN, finished_run

__all__ = ["browser", "enter", "finished_run"]
pytestmark = needs_browser
K2, K3, MDAV = OWN
POINTS = "#map svg .mark-symbol path"


def point(page: Any, name: str) -> Any:
    """Return the point of a candidate, which the others do not cover."""
    for one in page.locator(POINTS).all():
        one.hover(force=True)
        if page.locator("#tip strong").count() and page.inner_text("#tip strong") == name:
            return one
    raise AssertionError(f"no point says that it is {name}")


def test_a_point_says_in_words_what_it_is_inside_the_window(finished_run: Path, enter: Callable[..., Any]) -> None:
    with served(finished_run) as running:
        page = enter(running, to="explore")
        page.wait_for_selector(POINTS)
        settled(page)
        top = page.locator("#map").bounding_box()
        assert top["y"] + 200 < 900  # seen without scrolling
        point(page, K3)
        said = page.inner_text("#tip")
        assert "Key values are blanked where fewer than 3 records look alike." in said
        assert "Re-identification under the worst scenario" in said
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0 and box["y"] >= 0
        assert box["x"] + box["width"] <= 1280 and box["y"] + box["height"] <= 900
        names = page.evaluate(
            "[...document.querySelectorAll('#tip dt')].map((one) => one.getBoundingClientRect().width)"
        )
        assert min(names) > 100  # once each name stood in a box of 12 pixels
        page.mouse.move(5, 5)
        page.wait_for_selector("#tip", state="detached")
        assert page.problems == []


def test_a_click_selects_and_leads_on(finished_run: Path, enter: Callable[..., Any]) -> None:
    with served(finished_run) as running:
        page = enter(running, to="explore")
        page.wait_for_selector(POINTS)
        settled(page)
        chosen = page.inner_text("#verdict .sentence").removeprefix("Chosen: ")
        other = K3 if chosen == K2 else K2
        point(page, other).click(force=True)
        page.wait_for_selector(f"#picked h3 >> text='{other}'")
        assert "Key values are blanked" in page.inner_text("#picked")
        page.click("#picked >> text=Choose this one")
        page.wait_for_selector("#picking")
        settled(page)
        assert page.inner_text("#picked h3") == other  # it stays picked
        page.click("#picked >> text=Compare with the chosen one")
        page.wait_for_selector("main h1:text-is('Compare')")
        assert [one for one in (chosen, other) if one not in page.inner_text("main")] == []
        page.go_back()
        page.wait_for_selector(POINTS)
        settled(page)
        point(page, MDAV).click(force=True)
        page.wait_for_selector(f"#picked h3 >> text='{MDAV}'")
        assert "breaks" in page.inner_text("#picked")
        assert page.locator("#picked >> text=Choose this one").count() == 0
        assert page.problems == []
