"""Scenarios, Risk now and Recode in a real browser: ticking, cutting by keyboard and by drag, putting together."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pages import Running, browser, enter, needs_browser, served, settled, until
from tiny import SCHEMA, hostile

from sfumato.compare.recodings import Recode
from sfumato.workbench.commands import recodings_of
from sfumato.workbench.desk import Desk

pytestmark = needs_browser
__all__ = ["browser", "enter"]
TOWNS = "AAAAABBBCC"


@pytest.fixture
def towns(tmp_path: Path) -> Iterator[Running]:
    """A server on sixty persons of three towns, opened and confirmed."""
    folder = tmp_path / "towns"
    desk = Desk(folder)
    lines = [f"{TOWNS[i % 10]},{'fm'[i % 2]},{20 + i},low" for i in range(60)]
    (folder / "people.csv").write_text("\n".join(["town,sex,age,grade", *lines]) + "\n")
    (folder / "schema.toml").write_text(SCHEMA)
    desk.change(
        lambda draft: draft.but(source="people.csv", schema=SCHEMA, confirmed=True), screen="open", what="opened"
    )
    with served(folder) as running:
        yield running


def recoded(running: Running, name: str) -> Recode | None:
    return recodings_of(Desk(running.folder).now().draft)[name]


def test_ticking_a_key_changes_the_figures_and_nothing_jumps(towns: Running, enter: Callable[..., Any]) -> None:
    page = enter(towns, to="scenarios")
    page.click("button[value='took part']")
    page.wait_for_selector("#told")
    # women and men: A 18 and 12, B 6 and 12, C 6 and 6; six found, one of each, and nobody below 3
    assert page.inner_text("#told .big >> nth=2") == "6"
    box = page.get_by_label("sex", exact=True)
    place = box.bounding_box()
    box.uncheck()
    page.wait_for_selector("#told div:nth-child(3) > dd > .big >> text='3'")
    assert page.inner_text("#told .change:not(.none)") == "−3\nby the last change"
    assert box.bounding_box() == place
    page.keyboard.press("Space")  # the focus stays on the box, and the form goes on from the new revision
    page.wait_for_selector("#told div:nth-child(3) > dd > .big >> text='6'")
    until(page, "document.activeElement.name === 'keys'")
    page.fill("#k", "7")
    page.keyboard.press("Tab")
    page.wait_for_selector("#told div:nth-child(2) > dd > .big >> text='18'")  # three times 6
    (scenario,) = Desk(towns.folder).stated(Desk(towns.folder).now().draft).scenarios
    assert (scenario.keys, scenario.k) == (("town", "sex"), 7)
    page.click("text=Undo")
    page.wait_for_selector("#k[value='3']")
    assert page.problems == []


def test_the_last_key_cannot_be_unticked_and_the_page_says_why(towns: Running, enter: Callable[..., Any]) -> None:
    page = enter(towns, to="scenarios")
    page.click("button[value='took part']")
    page.wait_for_selector("#told")
    page.get_by_label("sex", exact=True).uncheck()
    settled(page)
    page.get_by_label("town", exact=True).uncheck()
    page.wait_for_selector("#told .problem")
    assert "tick at least one key" in page.inner_text("#told .problem")
    page.get_by_label("sex", exact=True).check()
    page.wait_for_selector("#told .problem", state="detached")
    (scenario,) = Desk(towns.folder).stated(Desk(towns.folder).now().draft).scenarios
    assert scenario.keys == ("sex",)
    assert page.problems == []


def test_a_change_in_another_tab_is_told_and_not_overwritten(towns: Running, enter: Callable[..., Any]) -> None:
    one = enter(towns, to="scenarios")
    one.click("button[value='took part']")
    one.wait_for_selector("#told")
    Desk(towns.folder).change(lambda draft: draft.but(population=1000.0), screen="bounds", what="elsewhere")
    one.get_by_label("sex", exact=True).uncheck()
    one.wait_for_selector("main .problem >> text=another tab")
    one.wait_for_selector("#kept >> text='Not kept: sex'")
    assert one.get_by_label("sex", exact=True).is_checked()  # as it is now
    (scenario,) = Desk(towns.folder).stated(Desk(towns.folder).now().draft).scenarios
    assert scenario.keys == ("town", "sex")


def test_the_risk_comes_by_itself_and_leads_to_the_key(towns: Running, enter: Callable[..., Any]) -> None:
    page = enter(towns, to="risk")
    page.wait_for_selector("#risk .sentence")
    assert page.inner_text("#risk .sentence") == "6.0 of 60 persons would be found, 10.0 %."
    page.click("#risk table a >> nth=0")
    page.wait_for_selector("#work")
    assert page.url.endswith(("recode?variable=0", "recode?variable=1"))
    assert page.problems == []


def test_cuts_by_keyboard(towns: Running, enter: Callable[..., Any]) -> None:
    page = enter(towns, to="recode?variable=2")
    page.fill("#cuts", "30, 50")
    page.keyboard.press("Enter")
    page.wait_for_selector("#now >> text=cut at 30, 50")
    page.focus("#cut-1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#now >> text=cut at 30, 52")
    until(page, "document.activeElement.id === 'cut-1'")
    assert page.get_attribute("#cut-1", "aria-valuenow") == "52"
    page.keyboard.press("Insert")  # between 52 and the end, 80
    page.wait_for_selector("#now >> text=cut at 30, 52, 66")
    page.keyboard.press("Delete")
    page.wait_for_selector("#now >> text='cut at 30, 52'")
    page.focus("#cut-0")
    page.keyboard.press("Delete")
    page.wait_for_selector("#now >> text='cut at 52'")
    assert page.inner_text("#effect .result").split() == ["<52", "32", "52+", "28"]
    settled(page)
    assert recoded(towns, "age") == Recode(cuts=(52,))
    page.click("text=Undo")
    page.wait_for_selector("#now >> text='cut at 30, 52'")
    assert page.get_attribute("#cut-0", "aria-valuenow") == "30"
    assert page.problems == []


def test_classes_of_a_width_that_is_offered(towns: Running, enter: Callable[..., Any]) -> None:
    page = enter(towns, to="recode?variable=2")
    page.fill("#width", "7")
    page.click("text=10 wide")
    page.wait_for_selector("#now >> text='classes of 10'")
    assert recoded(towns, "age") == Recode(width=10)
    assert page.inner_text("#effect .result").split()[:4] == ["20-29", "10", "30-39", "10"]
    assert page.problems == []


def test_cuts_by_pointer(towns: Running, enter: Callable[..., Any]) -> None:
    page = enter(towns, to="recode?variable=2")
    box = page.locator("#cut-here").bounding_box()

    def across(age: float) -> float:
        return float(box["x"] + box["width"] * (age - 20) / 60)  # 20 to 79, a bar each

    page.mouse.click(across(40), box["y"] + 60)
    page.wait_for_selector("#now >> text='cut at 40'")
    settled(page)
    page.mouse.move(across(40), box["y"] + 60)
    page.mouse.down()
    page.mouse.move(across(50), box["y"] + 60, steps=6)
    page.mouse.move(across(55), box["y"] + 60, steps=6)
    page.mouse.up()
    page.wait_for_selector("#now >> text='cut at 55'")
    settled(page)
    assert recoded(towns, "age") == Recode(cuts=(55,))
    assert page.problems == []


def test_categories_are_put_together_by_ticking_by_drag_and_taken_apart(
    towns: Running, enter: Callable[..., Any]
) -> None:
    page = enter(towns, to="recode?variable=0")
    page.get_by_label("A", exact=True).check()
    page.get_by_label("B", exact=True).check()
    page.fill("#into", "cities")
    page.keyboard.press("Enter")
    page.wait_for_selector("#groups >> text=cities")
    assert recoded(towns, "town") == Recode(merge=(("A", "cities"), ("B", "cities")))
    assert page.inner_text("#effect .result").split() == ["cities", "48", "C", "12"]
    page.click("text=Take apart")
    page.wait_for_selector("#now >> text=It stays as it is")
    settled(page)
    one, two = (page.locator(f"#groups li[data-name={name}]") for name in "CB")
    from_, to = one.locator(".grip").bounding_box(), two.bounding_box()
    page.mouse.move(from_["x"] + 5, from_["y"] + 5)
    page.mouse.down()
    page.mouse.move(to["x"] + 60, to["y"] + 8, steps=8)
    page.mouse.up()
    page.wait_for_selector("#now >> text=into 1 group")
    settled(page)
    assert recoded(towns, "town") == Recode(merge=(("C", "B"),))
    assert page.problems == []


def test_names_that_would_run_do_not(tmp_path: Path, enter: Callable[..., Any]) -> None:
    def prepared() -> None:
        bench = hostile(tmp_path / "nasty")
        bench.post("scenarios", "add", preset="took part")
        bench.post("recode", "merge", variable=0, groups=[0, 1], into="<img src=x onerror=alert(1)>")

    with ThreadPoolExecutor(1) as apart:  # the browser has the loop of this thread
        apart.submit(prepared).result()
    with served(tmp_path / "nasty") as running:
        page = enter(running, width=390, to="scenarios")
        for slug in ("scenarios", "risk", "recode?variable=0", "recode?variable=1", "recode?variable=3"):
            page.goto(page.evaluate("document.baseURI") + slug)
            page.wait_for_selector("main h1")
            settled(page)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{slug} is {wide} px too wide"
        assert page.problems == []


def test_another_step_begins_at_its_top_and_a_wrong_number_is_told(towns: Running, enter: Callable[..., Any]) -> None:
    page = enter(towns, to="bounds")
    page.set_viewport_size({"width": 1000, "height": 500})
    page.evaluate("window.scrollTo(0, 600)")
    page.click(".onward .back")  # further down still
    page.wait_for_selector("h1:has-text('Mask')")
    settled(page)
    assert page.evaluate("window.scrollY") == 0
    page.goto(page.url.replace("mask", "scenarios"))
    page.click("button[value='took part']")
    page.wait_for_selector("#k")
    page.fill("#k", "0")
    page.keyboard.press("Tab")
    settled(page)
    until(page, "document.activeElement.id === 'k'")  # the browser leads back to it and says why
    assert Desk(towns.folder).stated(Desk(towns.folder).now().draft).scenarios[0].k != 0
