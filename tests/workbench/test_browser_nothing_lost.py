"""What a steward does is kept or asked about, however quick the hand, however slow the answer, in whichever tab."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import Running, browser, enter, needs_browser, running_server, served, settled, until
from swept import finished_run

from sfumato.table.schema import Schema
from sfumato.table.schema_file import read_schema
from sfumato.workbench.desk import Desk

__all__ = ["browser", "enter", "finished_run", "running_server"]
pytestmark = needs_browser
Enter = Callable[..., Any]
SLOW = 2000  # milliseconds that every answer is late
# three changes within one task of the page: no answer can come between them
AT_ONCE = """(changes) => changes.forEach(([label, value]) => {
  const select = [...document.querySelectorAll("select")].find((one) => one.ariaLabel === label || one.id === label);
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
})"""
CHANGES = [["weight", "weight"], ["household", "household"], ["Role of age", "key"], ["Kind of sex", "ordinal"]]


def variables(running: Running, enter: Enter) -> Any:
    page = enter(running)
    page.get_by_role("button", name="Read as shown").click()
    page.wait_for_selector("table.variables")
    page.get_by_text("income follows from").wait_for()
    settled(page)
    return page


def stated(running: Running) -> Schema:
    return read_schema(running.folder / "schema.toml")


def late(page: Any, milliseconds: int) -> None:
    """Let every answer come late."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    limits = {"offline": False, "latency": milliseconds, "downloadThroughput": -1, "uploadThroughput": -1}
    session.send("Network.emulateNetworkConditions", limits)


def check_all_kept(page: Any, running: Running) -> None:
    settled(page)
    schema = stated(running)
    assert (schema.weight, schema.household) == ("weight", "household")
    assert (schema["age"].role, schema["sex"].kind) == ("key", "ordinal")
    for label, value in CHANGES:
        shown = (
            "[...document.querySelectorAll('select')].find((one) => one.ariaLabel === LABEL || one.id === LABEL).value"
        )
        assert page.evaluate(shown.replace("LABEL", repr(label))) == value
    assert not page.locator("#elsewhere").is_visible()
    assert page.problems == []


@pytest.mark.parametrize("delay", [0, SLOW])
def test_changes_made_at_once_are_all_kept(running_server: Running, enter: Enter, delay: int) -> None:
    page = variables(running_server, enter)
    if delay:
        late(page, delay)
    page.evaluate(AT_ONCE, CHANGES)
    check_all_kept(page, running_server)


@pytest.mark.parametrize("pause", [100, 200, 350, 500])
def test_changes_in_the_pace_of_a_hand_are_all_kept(running_server: Running, enter: Enter, pause: int) -> None:
    page = variables(running_server, enter)
    for one in CHANGES:
        page.evaluate(AT_ONCE, [one])
        page.wait_for_timeout(pause)
    check_all_kept(page, running_server)


def test_a_change_is_said_to_be_kept_and_one_that_is_refused_is_not(running_server: Running, enter: Enter) -> None:
    page = variables(running_server, enter)
    late(page, 300)
    page.select_option("[aria-label='Role of age']", "key")
    until(page, "document.getElementById('kept').innerText === 'Keeping …'")
    until(page, "document.getElementById('kept').innerText === 'Kept'")
    page.evaluate(AT_ONCE, [["Kind of region", "numeric"], ["Role of sex", "key"]])
    page.wait_for_selector("table.variables [role=alert]")
    settled(page)
    assert "numeric" in page.inner_text("table.variables [role=alert]")
    assert page.input_value("[aria-label='Kind of region']") == "numeric"  # as it was chosen, and marked
    assert stated(running_server)["region"].kind == "nominal"
    assert stated(running_server)["sex"].role == "key"


def test_two_undone_steps_by_keyboard(running_server: Running, enter: Enter) -> None:
    page = variables(running_server, enter)
    page.evaluate(AT_ONCE, [["Role of age", "key"], ["Role of sex", "key"]])
    settled(page)
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    settled(page)
    assert not any(one.role == "key" for one in stated(running_server))
    page.keyboard.press("Control+Shift+z")
    settled(page)
    assert [one.name for one in stated(running_server) if one.role == "key"] == ["age"]
    assert page.problems == []


@pytest.mark.parametrize("delay", [0, SLOW])
def test_ticks_of_an_intruder_are_all_kept(running_server: Running, enter: Enter, delay: int) -> None:
    page = variables(running_server, enter)
    page.evaluate(AT_ONCE, [["Role of age", "key"], ["Role of sex", "key"], ["Role of region", "key"]])
    settled(page)
    page.goto(page.evaluate("document.baseURI") + "scenarios")
    page.click("button[value='']")
    page.wait_for_selector("#intruder")
    settled(page)
    if delay:
        late(page, delay)
    ticks = """(names) => names.forEach((name) => [...document.querySelectorAll("#intruder .what")]
      .find((one) => one.innerText.trim().startsWith(name)).querySelector("input").click())"""
    for name in ("age", "sex", "urbanity"):
        page.evaluate(ticks, [name])
        page.wait_for_timeout(60)
    settled(page)
    (scenario,) = stated(running_server).scenarios
    assert set(scenario.keys) == {"region", "urbanity"}
    assert page.problems == []


def test_in_another_tab_a_change_is_told_and_what_was_typed_stays(finished_run: Path, enter: Enter) -> None:
    with served(finished_run) as running:
        page = enter(running, to="decide")
        page.fill("#by", "A. Muster")
        page.fill("#reasons", "Because.\nAnd because.")
        Desk(running.folder).change(lambda draft: draft.but(population=9e6), screen="bounds", what="elsewhere")
        page.click("main form[action^=decide] button >> nth=0")
        page.wait_for_selector("main .problem[role=alert] >> text=another tab")
        assert page.input_value("#by") == "A. Muster"
        assert page.input_value("#reasons") == "Because.\nAnd because."
        settled(page)
        assert not page.locator("#elsewhere").is_visible()  # it is shown as it is now


def test_bounds_that_are_typed_are_asked_about_on_the_way_out(running_server: Running, enter: Enter) -> None:
    page = variables(running_server, enter)
    page.evaluate(AT_ONCE, [["Role of age", "key"], ["Role of sex", "key"]])
    settled(page)
    page.goto(page.evaluate("document.baseURI") + "bounds")
    settled(page)
    page.fill("#bound-0", "7")
    page.click(".onward .next")
    page.wait_for_selector("#unsent[open]")
    page.click("#unsent >> text=Stay here")
    assert page.input_value("#bound-0") == "7"
    page.click(".onward .next")
    page.click("#unsent >> text=Keep it and go on")
    page.wait_for_selector("main h1:text-is('Explore')")
    assert Desk(running_server.folder).now().draft.at_most == {"Reidentification()": 0.07}
    page.click(".onward .back")
    page.wait_for_selector("main h1:text-is('Bounds')")
    settled(page)
    page.fill("#bound-0", "9")
    page.click(".onward .next")
    page.click("#unsent >> text=Leave without it")
    page.wait_for_selector("main h1:text-is('Explore')")
    assert Desk(running_server.folder).now().draft.at_most == {"Reidentification()": 0.07}
    assert page.problems == []
