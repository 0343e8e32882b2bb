"""The reports in a real browser, with the network off: what a person does with them."""

import itertools
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hand_made_summary import hand_made_summary
from large_summary import large_summary

from sfumato.report.report import write_report
from sfumato.report.summary import Advice, Avoid, ChangedPair, Release, ReleaseVariable
from waiting import PATIENCE, until

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore"),  # of the browser's own pipes, closed at the end
]
WIDTHS = (390, 768, 1280, 1440)
PAPER = 718  # pixels across a sheet of A4, without its margins
OPEN = """[...document.querySelectorAll("tbody")].map((body) =>
  [...body.rows].filter((row) => row.getClientRects().length > 0).length)"""
CUT = """[...document.querySelectorAll("table")].filter((table) => table.getClientRects().length > 0)
  .map((table) => table.getBoundingClientRect().right).filter((right) => right > window.innerWidth + 1)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            timeout=1000 * PATIENCE,
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(hand_made_summary(), tmp_path_factory.mktemp("internal"))


@pytest.fixture(scope="module")
def about(tmp_path_factory: pytest.TempPathFactory) -> Path:
    release = Release(
        records=1_000,
        done=("rank swapping",),
        variables=tuple(
            ReleaseVariable(f"income{i}", "يدخل <b>", "numeric", "changed", 0.1, "as before", "use as before")
            for i in range(14)
        ),
        removed=("name",),
        statement="The association of income with region is weaker than in the original.",
        avoid=(Avoid(("wealth",), "The distribution of wealth."),),
        changed=(ChangedPair("wealth", "income1", "no longer there"),),
        advice=(Advice("Missing values", "Keep them."),),
    )
    summary = hand_made_summary()
    assert summary.detail is not None
    told = replace(summary, detail=replace(summary.detail, release=release), released="file.csv")
    return write_report(told, tmp_path_factory.mktemp("external"), audience="external")


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Any]:
    page = _open(browser, report)
    yield page
    page.context.close()


def _open(browser: Any, path: Path, width: int = 1440) -> Any:
    context = browser.new_context(offline=True, viewport={"width": width, "height": 900})
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda said: page.problems.append(said.text) if said.type == "error" else None)
    page.on("request", lambda r: page.problems.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
    page.on("dialog", lambda dialog: page.problems.append(f"a dialog: {dialog.message}"))
    page.goto(path.as_uri())
    return page


def _names(page: Any) -> list[str]:
    return [cell.inner_text() for cell in page.query_selector_all("#ranked tbody tr:not([hidden]) th")]


def test_it_opens_without_a_network_and_without_an_error(opened: Any) -> None:
    opened.wait_for_selector("#map .live svg")
    assert opened.problems == []
    assert opened.locator("h1").inner_text()


def test_pointing_at_a_mark_tells_its_name_and_figures(opened: Any) -> None:
    marks = opened.locator("#map .live svg .mark-symbol path")
    marks.first.wait_for()
    marks.first.scroll_into_view_if_needed()
    for place in range(marks.count()):
        box = marks.nth(place).bounding_box()
        if box is None:
            continue
        opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        tip = opened.locator("#vg-tooltip-element.visible")
        if tip.count() and "DistanceLinkage" in tip.inner_text():
            return
    pytest.fail("no mark has a tooltip")


def test_a_click_on_a_heading_sorts_and_a_second_turns_it_round(opened: Any) -> None:
    before = _names(opened)
    button = opened.locator("#ranked thead button", has_text="Candidate")
    button.click()
    rising = _names(opened)
    button.click()
    assert rising != before or sorted(before) == before
    assert sorted(rising, key=str.lower) == rising
    assert _names(opened) == rising[::-1]


def test_the_filter_hides_what_was_not_asked_for_and_counts_it(opened: Any) -> None:
    whole = _names(opened)
    opened.locator(".filter input[type=search]").fill("swapping")
    assert _names(opened) == [name for name in whole if "swapping" in name.lower()]
    opened.locator(".filter input[data-only=feasible]").check()
    assert "of" in opened.locator(".filter [aria-live]").inner_text()
    opened.locator(".filter input[type=search]").fill("")
    opened.locator(".filter input[data-only=feasible]").uncheck()
    assert _names(opened) == whole


def test_details_open(opened: Any) -> None:
    details = opened.locator("#run details")
    details.locator("summary").click()
    assert details.get_attribute("open") is not None
    assert details.locator("pre").is_visible()


def test_in_print_nothing_is_left_for_the_mouse(opened: Any, tmp_path: Path) -> None:
    opened.emulate_media(media="print")
    assert not opened.locator("nav").is_visible()
    assert not opened.locator(".filter").is_visible()
    opened.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_a_dozen_rows_of_any_table_are_open_and_one_click_shows_the_rest(browser: Any, tmp_path: Path) -> None:
    page = _open(browser, write_report(large_summary(30, 20), tmp_path))
    assert max(page.evaluate(OPEN)) == 12
    page.locator("#candidates details.rest summary").click()
    assert (
        len(page.evaluate("[...document.querySelectorAll('#ranked tbody tr')].filter((r) => r.offsetHeight > 0)")) == 30
    )
    page.locator("#candidates details.rest summary").click()
    page.locator("#ranked thead button", has_text="Candidate").click()
    assert max(page.evaluate(OPEN)) == 12  # the first dozen of the new order
    page.locator(".filter input[type=search]").fill("Method")  # what is looked for may be among the rest
    assert page.locator("#candidates details.rest").get_attribute("open") is not None
    page.context.close()


def test_the_public_page_opens_a_dozen_variables(browser: Any, about: Path) -> None:
    page = _open(browser, about, 390)
    assert max(page.evaluate(OPEN)) == 12
    heading = page.evaluate("getComputedStyle(document.querySelector('#variables td:last-child'), '::before').content")
    assert "Good for" in heading or "data-heading" in heading  # a narrow screen has no row of headings
    page.context.close()


@pytest.mark.parametrize("which", ["report", "about"])
def test_on_paper_no_table_is_cut_off(browser: Any, which: str, request: pytest.FixtureRequest) -> None:
    page = _open(browser, request.getfixturevalue(which), PAPER)
    page.emulate_media(media="print")
    assert page.evaluate(CUT) == []
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("which", ["report", "about"])
def test_no_page_is_wider_than_its_screen(browser: Any, width: int, which: str, request: pytest.FixtureRequest) -> None:
    page = _open(browser, request.getfixturevalue(which), width)
    drawn = "[...document.querySelectorAll('.live')].every((place) => place.querySelector('svg'))"
    until(lambda: page.evaluate(drawn), "a picture is not drawn")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.problems == []
    page.context.close()


def test_the_external_page_shows_foreign_script_as_text(browser: Any, about: Path) -> None:
    page = _open(browser, about)
    assert "يدخل <b>" in page.locator("#variables").inner_text()
    assert page.locator("#avoid li").count() == 1
    assert page.problems == []
    page.context.close()


def test_headings_pictures_and_inputs_can_be_told_without_seeing(opened: Any) -> None:
    opened.wait_for_selector("#map .live svg")
    levels = [int(tag[1]) for tag in opened.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => h.tagName)")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert opened.evaluate("[...document.images].every(i => i.alt)")
    assert opened.evaluate("[...document.querySelectorAll('input')].every(i => i.labels.length > 0)")


def test_a_report_of_500_candidates_and_200_variables_opens_answers_and_says_what_it_leaves_out(
    browser: Any, tmp_path: Path
) -> None:
    path = write_report(large_summary(), tmp_path)
    assert path.stat().st_size < 5_000_000
    page = _open(browser, path)
    marks = page.locator("#map .live svg .mark-symbol path")
    marks.first.wait_for()
    marks.first.scroll_into_view_if_needed()
    marks.nth(3).hover(force=True)
    page.locator("#vg-tooltip-element.visible").wait_for()
    page.locator(".filter input[type=search]").fill("Method7(")
    assert 0 < len(_names(page)) < 50
    assert "40 variables of 200" in page.locator("#usefulness").inner_text()
    assert page.problems == []
    page.context.close()
