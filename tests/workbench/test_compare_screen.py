"""Compare: candidates side by side, looked at on demand in a process of its own."""

import time

import pytest
from pages import Bench, said
from swept import OWN, finished_run, swept

from sfumato.project.closely import look
from sfumato.workbench.board import mark
from sfumato.workbench.desk import Desk
from sfumato.workbench.screens.side_by_side import PLACES
from waiting import until

K2, K3, MDAV = OWN


def address(*labels: str) -> str:
    return "compare?" + "&".join(f"{place}={mark(one)}" for place, one in zip(PLACES, labels, strict=False))


def test_without_a_run_the_page_teaches(bench_of_nothing: Bench) -> None:
    text = bench_of_nothing.text("compare")
    assert "There is nothing to compare yet" in text and "tick two or three" in text


@pytest.fixture
def bench_of_nothing(swept: Desk) -> Bench:
    for name in ("plan.json", "results.json", "results.sqlite"):
        (swept.folder / name).unlink()
    return Bench(swept)


def test_the_chosen_one_and_the_next_on_the_frontier_are_proposed(swept: Desk) -> None:
    page = Bench(swept).get("compare").text
    assert page.count(" selected>") == 2
    assert f'<option value="{mark(K2)}" selected>' in page


def test_what_was_not_looked_at_is_said_and_its_figures_are_there(swept: Desk) -> None:
    text = Bench(swept).text(address(K3, MDAV))
    assert f"{K3} and {MDAV} were measured, and not looked at closely yet" in text
    assert "Figures" in text and "Distributions" not in text
    assert "sfumato look . --candidate" in text


def test_it_is_looked_at_on_demand_and_then_shown(swept: Desk) -> None:
    bench = Bench(swept)
    page = bench.post("compare", "look", candidate=[mark(K3), mark(MDAV)])
    assert 'hx-trigger="every 2s"' in page.text
    assert str(page.url).endswith(address(K3, MDAV))
    again = bench.post("compare", "look", candidate=[mark(K3), mark(MDAV)])  # a second click
    assert again.status_code == 200
    until(
        lambda: not swept.jobs.told().running and swept.jobs._child.poll() is not None,  # type: ignore[union-attr]
        "the look does not end",
    )
    told = swept.jobs.told()
    assert told is not None and told.state == "done" and told.command == "look"
    text = bench.text(address(K3, MDAV))
    assert "What users lose" in text and "Distributions" in text and "Associations that changed" in text
    assert swept.current(swept.now().draft) == ""  # the last run is still that of the draft
    assert sum(event.what.startswith("looked closely") for event in swept.journal.events()) == 1


def test_the_bars_are_the_shares(swept: Desk) -> None:
    found = look(swept.folder, [K2, K3])
    page = Bench(swept).get(address(K2, K3))
    rows = {row[0].name: row for row in found.variables}
    blank = [one.suppressed for one in rows["age"]]
    for share in blank:
        assert share is not None
        shown = f"{100 * share:.1f} % made blank"
        assert shown in said(page)
        height = round(104.0 * share, 1)
        assert f'height="{height}"' in page.text  # beside a histogram it reaches from none to all records
    assert f"<title>suppressed: {100 * blank[0]:.1f} % of all records after</title>" in page.text  # type: ignore[operator]


def test_candidates_that_are_not_there_are_not_shown(swept: Desk) -> None:
    bench = Bench(swept)
    assert bench.get("compare?first=nobody&second=<script>").status_code == 200
    assert bench.post("compare", "look", candidate=["nobody"]).status_code == 422


def test_hostile_names_stay_words(swept: Desk) -> None:
    """A candidate protected elsewhere is called as its file is."""
    name = "<img src=x onerror=alert(1)>.csv"
    (swept.folder / name).write_bytes((swept.folder / "survey.csv").read_bytes())
    swept.change(lambda old: old.but(elsewhere=(name,)), screen="mask", what="a file")
    for place in ("explore", "compare"):
        assert "<img src=x" not in Bench(swept).get(place).text
    assert "&lt;img src=x" in Bench(swept).get("explore").text
