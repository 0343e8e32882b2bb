"""Screen 2 in a real browser: find, sort, tick, and changes that are kept without a jump of the page."""

from collections.abc import Callable
from typing import Any

import pytest
from pages import Running, browser, enter, needs_browser, running_server, until

from sfumato.table.schema import Schema
from sfumato.table.schema_file import read_schema

pytestmark = needs_browser
SHOWN = "[...document.querySelectorAll('table.variables > tbody')].filter((r) => !r.hidden).map((r) => r.dataset.name)"
SETTLED = """document.querySelectorAll('.htmx-request, .htmx-swapping, .htmx-settling').length === 0
  && document.body.dataset.revision === """
NAMED = """[...document.querySelectorAll('input:not([type=hidden]), select')]
  .every((field) => field.labels.length || field.ariaLabel)"""
Enter = Callable[..., Any]


def opened(running: Running, enter: Enter, width: int = 1280) -> Any:
    """Confirm the file and wait until proposals are there."""
    page = enter(running, width=width)
    page.get_by_role("button", name="Read as shown").click()
    page.wait_for_selector("table.variables")
    page.get_by_text("income follows from").wait_for()
    return page


def stated(running: Running) -> Schema:
    return read_schema(running.folder / "schema.toml")


def after(page: Any, change: Callable[[], Any], steps: int = 1) -> None:
    """Make a change and wait until the page has its revision."""
    before = int(page.evaluate("document.body.dataset.revision"))
    change()
    until(page, f"{SETTLED}'{before + steps}'")


def test_finding_and_sorting_need_no_server(running_server: Running, enter: Enter) -> None:
    page = opened(running_server, enter)
    page.locator("#many-set:disabled").wait_for()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "pulse" not in request.url else None)
    every = page.evaluate(SHOWN)
    page.fill("#find", "INC")
    assert page.evaluate(SHOWN) == ["capital_income", "income"]
    page.fill("#find", "nominal")
    assert set(page.evaluate(SHOWN)) == {"region", "urbanity", "sex", "marital", "education", "occupation", "tenure"}
    page.fill("#find", "no such thing")
    assert page.evaluate(SHOWN) == [] and page.locator("#none").is_visible()
    page.focus("#find")
    page.keyboard.press("Escape")
    assert page.evaluate(SHOWN) == every
    page.locator("th[data-sort=name] button").click()
    assert page.evaluate(SHOWN) == sorted(every)
    page.locator("th[data-sort=name] button").click()
    assert page.evaluate(SHOWN) == sorted(every)[::-1]
    page.select_option("#sort", "missing")
    missing = page.evaluate("[...document.querySelectorAll('table.variables > tbody')].map((r) => +r.dataset.missing)")
    assert missing == sorted(missing, reverse=True) and missing[0] > missing[-1]
    page.select_option("#sort", "place")
    assert page.evaluate(SHOWN) == every
    assert asked == [] and page.problems == []


def test_all_that_are_shown_get_a_role_and_the_filter_stays(running_server: Running, enter: Enter) -> None:
    page = opened(running_server, enter)
    page.fill("#find", "nominal")
    page.check("#all")
    assert page.locator("#ticked").inner_text() == "7 ticked"
    page.select_option("#many-role", "key")
    after(page, lambda: page.click("#many-set"))
    schema = stated(running_server)
    assert {v.name for v in schema if v.role == "key"} == set(page.evaluate(SHOWN))
    assert len(page.evaluate(SHOWN)) == 7 and page.input_value("#find") == "nominal"
    assert "7 keys" in page.inner_text("#summary")
    assert page.locator("#ticked").inner_text() == "7 shown"
    after(page, lambda: page.get_by_role("button", name="Undo").click())
    assert not any(variable.role == "key" for variable in stated(running_server))
    assert page.problems == []


def test_what_is_ticked_and_then_filtered_away_is_not_changed(running_server: Running, enter: Enter) -> None:
    page = opened(running_server, enter)
    page.get_by_label("Tick age").check()
    page.fill("#find", "sex")
    page.get_by_label("Tick sex").check()
    page.select_option("#many-role", "key")
    after(page, lambda: page.click("#many-set"))
    assert [v.name for v in stated(running_server) if v.role == "key"] == ["sex"]


def test_roles_by_keyboard_alone_one_after_the_other(running_server: Running, enter: Enter) -> None:
    page = opened(running_server, enter)
    page.get_by_label("Role of region").focus()
    page.evaluate("document.activeElement.scrollIntoView({block: 'center', behavior: 'instant'})")

    def pressed() -> None:
        page.keyboard.press("k")
        page.keyboard.press("Tab")  # to More, then tick, kind, what is proposed, and role of the next row
        for _ in range(4):
            page.keyboard.press("Tab")
        page.keyboard.press("c")

    top = page.evaluate("window.scrollY")
    after(page, pressed, steps=2)
    until(page, "document.activeElement.getAttribute('aria-label') === 'Role of urbanity'")
    assert (stated(running_server)["region"].role, stated(running_server)["urbanity"].role) == ("key", "confidential")
    assert abs(page.evaluate("window.scrollY") - top) < 200
    after(page, lambda: page.get_by_role("button", name="Undo").click())
    assert len(page.evaluate(SHOWN)) == 20  # the whole page, though only parts of it were asked for before
    assert stated(running_server)["urbanity"].role == "other"
    assert not page.locator("#elsewhere").is_visible()
    assert page.problems == []


def test_a_kind_that_cannot_be_is_told_in_its_row_and_can_be_put_right(running_server: Running, enter: Enter) -> None:
    page = opened(running_server, enter)
    page.select_option("[aria-label='Kind of sex']", "numeric")
    told = page.locator("table.variables [role=alert]")
    told.wait_for()
    assert "'sex' is numeric, but row 1 holds the text" in told.inner_text()
    assert page.locator("[aria-label='Kind of sex']").get_attribute("aria-invalid") == "true"
    after(page, lambda: page.select_option("[aria-label='Kind of sex']", "ordinal"))
    assert told.count() == 0
    assert stated(running_server)["sex"].kind == "ordinal"
    assert page.problems == []


def test_the_order_of_categories_is_moved_and_saved(running_server: Running, enter: Enter) -> None:
    page = opened(running_server, enter)
    after(page, lambda: page.select_option("[aria-label='Kind of urbanity']", "ordinal"))
    before = stated(running_server)["urbanity"].categories
    page.get_by_label("More of urbanity").click()
    page.locator("[data-order] li").nth(2).wait_for()
    until(page, "document.activeElement.name === 'label'")
    page.keyboard.type("Kind of place")
    page.locator("[data-order] li").nth(2).get_by_role("button").first.click()
    page.locator("[data-order] li").nth(1).get_by_role("button").first.press("Enter")
    after(page, lambda: page.get_by_role("button", name="Save").click())
    found = stated(running_server)["urbanity"]
    assert found.categories == (before[2], before[0], before[1])
    assert found.label == "Kind of place" and page.get_by_text("Kind of place").count()
    page.get_by_label("Close urbanity").click()
    page.locator("[data-order]").wait_for(state="detached")
    assert page.problems == []


def test_proposals_are_taken_and_declined_with_one_click(running_server: Running, enter: Enter) -> None:
    page = opened(running_server, enter)
    after(page, lambda: page.get_by_role("button", name="Take weight, household and id").click())
    assert stated(running_server).special() == {"weight": "weight", "household": "household", "id": "person"}
    assert page.input_value("#weight") == "weight"
    after(page, lambda: page.get_by_role("button", name="Link it to these").click())
    assert stated(running_server)["income"].sources == ("benefits", "capital_income", "earnings")
    page.get_by_text("household_size is counted from household").wait_for()
    after(page, lambda: page.get_by_role("button", name="No: household_size is counted").click())
    assert page.get_by_text("household_size is counted from household").count() == 0
    assert page.problems == []


def test_a_change_in_another_tab_is_not_written_over(running_server: Running, enter: Enter) -> None:
    first = opened(running_server, enter)
    second = enter(running_server, to="variables")
    after(first, lambda: first.select_option("[aria-label='Role of age']", "key"))
    second.select_option("[aria-label='Role of sex']", "key")
    second.wait_for_selector("main .problem >> text=another tab")
    assert stated(running_server)["sex"].role == "other"
    assert second.input_value("[aria-label='Role of sex']") != "key"  # the page shows what holds, and says so
    until(second, f"{SETTLED}'{first.evaluate('document.body.dataset.revision')}'")
    assert "1 key" in second.inner_text("#summary")
    after(second, lambda: second.select_option("[aria-label='Role of sex']", "key"))
    assert [v.name for v in stated(running_server) if v.role == "key"] == ["sex", "age"]


@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
def test_no_page_is_wider_than_its_screen(running_server: Running, enter: Enter, width: int) -> None:
    page = opened(running_server, enter, width=width)
    page.get_by_label("More of tenure").click()
    page.locator("[data-editor]").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(NAMED)
    assert page.problems == []
