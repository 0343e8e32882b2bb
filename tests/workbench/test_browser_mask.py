"""Mask and Bounds in a real browser: a chain built and reordered without a mouse, live estimates, late figures."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pages import browser, enter, needs_browser, served, settled

import sfumato
from sfumato.table.microdata import Microdata
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft

pytestmark = needs_browser
HOSTILE = "<img src=x onerror=alert(1)>'\"&amp;"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the demo survey, its roles stated."""
    return begun(tmp_path, sfumato.household_survey(120))


def begun(tmp_path: Path, data: Microdata, **said: Any) -> Path:
    """Put a table into a folder and on its desk, confirmed."""
    desk = Desk(tmp_path / "project")
    sfumato.write(data, desk.folder / "survey.csv")
    draft = Draft(source="survey.csv", confirmed=True, schema=desk.restated(data.schema), **said)
    desk.change(lambda _: draft, screen="open", what="set up")
    return desk.folder


def titles(page: Any) -> list[str]:
    return list(page.locator("ol.chain .step-words strong").all_inner_texts())


def own(project: Path) -> tuple[str, ...]:
    return Desk(project).now().draft.own


def test_a_chain_is_built_and_reordered_by_keyboard(project: Path, enter: Any) -> None:
    with served(project) as running:
        page = enter(running, to="mask")
        settled(page)
        page.get_by_label("Begins with").focus()
        page.keyboard.type("Rounding")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("#editing")
        page.get_by_label("Multiples of this many standard deviations").fill("0.3")
        page.keyboard.press("Enter")
        page.wait_for_selector("ol.chain >> text=0.3 standard deviations")
        for method in ("Additive noise", "Local suppression"):
            settled(page)  # a page that comes to rest moves the focus once more
            page.get_by_label("Then").focus()
            page.keyboard.type(method)
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")
            page.wait_for_selector(f"ol.chain .step.open >> text={method}")
            page.get_by_role("link", name="Leave as it was").press("Enter")
            page.wait_for_selector("#editing", state="detached")
        assert titles(page) == ["Rounding", "Additive noise", "Local suppression"]
        # the button keeps the focus as its step moves, so that Enter moves it on
        page.get_by_role("button", name="Do step 3, Local suppression, earlier").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("ol.chain li:nth-child(2):has-text('suppression')")
        page.wait_for_selector("button[aria-label='Do step 2, Local suppression, earlier']:focus")
        page.keyboard.press("Enter")
        page.wait_for_selector("ol.chain li:nth-child(1):has-text('suppression')")
        # at the top it cannot go up: the focus is on the button down
        page.wait_for_selector("button[aria-label='Do step 1, Local suppression, later']:focus")
        assert titles(page) == ["Local suppression", "Rounding", "Additive noise"]
        assert "LocalSuppression is now step 1 of 3." in page.inner_text("[role=status].said")
        assert own(project) == ("LocalSuppression(k=3) + Rounding(scale=0.3) + Noise(scale=0.05)",)
        page.get_by_role("button", name="Undo").click()
        page.wait_for_selector("ol.chain li:nth-child(1):has-text('Rounding')")
        assert page.problems == []


def test_a_step_can_be_dragged(project: Path, enter: Any) -> None:
    Desk(project).change(lambda d: d.but(own=("Rounding(scale=0.3) + Noise(scale=0.1)",)), screen="mask", what="set")
    with served(project) as running:
        page = enter(running, to="mask")
        page.locator("#step-0-0 .grip").drag_to(page.locator("#step-0-1 .step-words"))
        page.wait_for_selector("ol.chain li:nth-child(1):has-text('noise')")
        assert own(project) == ("Noise(scale=0.1) + Rounding(scale=0.3)",)
        assert page.problems == []


def test_the_estimate_follows_what_is_typed(project: Path, enter: Any) -> None:
    Desk(project).change(lambda d: d.but(own=("LocalSuppression(k=2)",)), screen="mask", what="set")
    data = sfumato.read(project / "survey.csv", project / "schema.toml")
    with served(project) as running:
        page = enter(running, to="mask?edit=0.0")

        def blank(k: int) -> str:
            after = sfumato.LocalSuppression(k).protect(data)
            return f"{sum(int((after.missing(n) & ~data.missing(n)).sum()) for n in data.names):,} values made missing"

        page.wait_for_selector(f"#estimate >> text={blank(2)}")
        page.get_by_label("Records that must look alike").fill("4")
        page.keyboard.press("Tab")
        page.wait_for_selector(f"#estimate >> text={blank(4)}")
        assert own(project) == ("LocalSuppression(k=2)",)  # nothing is kept until it is asked for
        page.get_by_role("button", name="Keep this step").click()
        page.wait_for_selector("#editing", state="detached")
        assert own(project) == ("LocalSuppression(k=4)",)
        assert page.problems == []


def test_late_figures_leave_what_is_typed_alone(project: Path, enter: Any) -> None:
    with served(project) as running:
        page = enter(running, to="bounds")
        page.locator("#bound-0").fill("7")
        page.wait_for_selector("#original-0 strong")
        assert page.locator("#bound-0").input_value() == "7"
        page.get_by_role("button", name="State these bounds").click()
        page.wait_for_selector("text=before results were seen.")
        assert Desk(project).now().draft.at_most == {"Reidentification()": 0.07}
        assert page.problems == []


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_nothing_runs_from_the_file_and_nothing_is_wider_than_the_page(
    tmp_path: Path,
    enter: Any,
    width: int,
) -> None:
    number = range(40)
    table = pa.table({HOSTILE: [i % 7 + 0.5 for i in number], "x": [("a", HOSTILE)[i % 2] for i in number]})
    methods = (sfumato.MDAV(3, variables=(HOSTILE,)), sfumato.LocalSuppression(2, variables=("x",)))
    blank = sfumato.Suppressed(variables=(HOSTILE,))
    project = begun(tmp_path, Microdata.from_frame(table), own=tuple(map(repr, methods)), at_most={repr(blank): 0.03})
    with served(project) as running:
        page = enter(running, width=width, to="mask?edit=1.0&try=0&show=links")
        page.wait_for_selector("#estimate >> text=made missing")
        for place in ("mask?edit=0.0", "bounds?show=original", "mask?show=proposals"):
            page.goto(page.evaluate("document.baseURI") + place)
            page.wait_for_selector("main h1")
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, place
        assert page.problems == []
