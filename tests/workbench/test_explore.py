"""Explore: what is tried, what is found, bounds that are tried out and taken, and a choice by hand."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from pages import Bench, said
from swept import BOUND, FAMILIES, OWN, begun, finished_run, swept

from sfumato.project.record import Record
from sfumato.workbench.board import mark, read_limit, weigh
from sfumato.workbench.desk import Desk
from sfumato.workbench.jobs import JobStatus
from sfumato.workbench.latest import latest

K2, K3, MDAV = OWN


def figures(desk: Desk) -> dict[str, tuple[float, float]]:
    """Read risk and utility of every candidate from the store, as the tests know them."""
    draft = desk.now().draft
    record = Record.read(desk.folder)
    assert record is not None
    results = record.results(desk.table(draft), desk.folder)
    risk, utility = results.key(record.risk), results.key(record.utility)
    return {row.candidate: (row.means[risk], row.means[utility]) for row in results.rows}


def test_the_three_candidates_are_what_the_tests_take_them_for(swept: Desk) -> None:
    found = figures(swept)
    assert found[K3][0] < found[K2][0] < BOUND < found[MDAV][0]
    assert found[K3][1] < found[K2][1] < found[MDAV][1]


def test_before_a_run_the_page_says_what_will_be_tried(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    bench = Bench(begun(tmp_path / "project"))
    text = bench.text("explore")
    assert "What will be tried" in text and "3 of your own: LocalSuppression(k=2)" in text
    assert "Re-identification under the worst scenario at most 85 %" in text
    assert "The map is empty" in text
    assert "sfumato sweep survey.csv --schema schema.toml --method 'LocalSuppression(k=2)'" in text


def test_nothing_to_try_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    desk = begun(tmp_path / "project")
    desk.change(lambda old: old.but(own=()), screen="mask", what="none")
    page = Bench(desk).get("explore").text
    assert "None yet." in page
    assert re.search(r"<button[^>]*disabled[^>]*>Run</button>", page)


def test_the_most_useful_within_the_bounds_is_chosen(swept: Desk) -> None:
    text = Bench(swept).text("explore")
    assert f"Chosen: {K2}" in text and "2 of 3 candidates keep the bound" in text
    assert "The figures below are of this draft" in text or "the figures below are of this draft" in text


def test_bounds_that_an_old_page_tries_out_are_not_those_of_others(swept: Desk) -> None:
    bench = Bench(swept)
    of = " ".join(swept.now().draft.at_most)
    assert "tried out, not taken" in said(bench.get(f"explore?part=answer&bound0=1&of={of}"))
    assert "tried out, not taken" not in said(bench.get("explore?part=answer&bound0=1&of=Suppressed"))


@pytest.mark.parametrize("percent", [1, 20, 74, 78, 83, 99.9])
def test_a_bound_that_is_tried_out_chooses_as_by_hand_and_changes_nothing(swept: Desk, percent: float) -> None:
    bench, before = Bench(swept), swept.now()
    page = bench.get(f"explore?part=answer&bound0={percent}")
    keep = {label: utility for label, (risk, utility) in figures(swept).items() if risk <= percent / 100}
    if keep:
        best = max(keep, key=lambda label: keep[label])
        assert f"Chosen: {best}" in said(page)
        assert f"{len(keep)} of 3 candidates keep the bound" in said(page)
    else:
        assert "No candidate keeps the bounds" in said(page)
    assert "tried out, not taken" in said(page)
    assert "<html" not in page.text and 'id="spec-map"' in page.text
    assert swept.now() == before


def test_what_is_no_bound_is_told_and_not_tried(swept: Desk) -> None:
    text = said(Bench(swept).get("explore?part=answer&bound0=much"))
    assert "a number is needed here; got 'much'" in text and f"Chosen: {K2}" in text
    assert "between 0 and 100 %" in said(Bench(swept).get("explore?part=answer&bound0=101"))


def test_a_bound_is_taken_with_a_reason_that_the_journal_keeps(swept: Desk) -> None:
    bench = Bench(swept)
    asked = {"key": "Reidentification()", "limit": "78"}
    refused = bench.post("explore", "take?bound0=78", reason="  ", **asked)
    assert refused.status_code == 422 and "say why" in said(refused)
    assert "tried out, not taken" in said(refused)  # what was tried is still there
    assert bench.draft.at_most == {"Reidentification()": BOUND, **FAMILIES}
    page = said(bench.post("explore", "take", reason="the contract says so", **asked))
    assert bench.draft.at_most == {"Reidentification()": 0.78, **FAMILIES}
    line = swept.journal.events()[0].what
    assert "moved after results were seen" in line and "85 % -> 78 %" in line and "the contract says so" in line
    assert "The bounds were changed after the last run: Re-identification under the worst scenario was 85 %" in page
    assert f"Chosen: {K3}" in page
    assert bench.draft.bounds_stated


def test_a_bound_of_a_page_that_is_old_is_not_taken(swept: Desk) -> None:
    bench, old = Bench(swept), swept.now().revision
    swept.change(lambda draft: draft.but(breadth=2), screen="mask", what="more")
    answer = bench.post("explore", "take", key="Reidentification()", limit="45", reason="x", revision=str(old))
    assert answer.status_code == 409 and bench.draft.at_most == {"Reidentification()": BOUND, **FAMILIES}


def test_another_candidate_is_chosen_by_hand_and_taken_back(swept: Desk) -> None:
    bench = Bench(swept)
    asked = said(bench.get(f"explore?pick={mark(K3)}"))
    assert f"Choose {K3} instead of {K2}?" in asked
    page = said(bench.post("explore", "choose", pick=mark(K3), reason="fewer are found"))
    assert bench.draft.choose == K3
    assert f"Chosen by hand: {K3}" in page and f"by its figures {K2} would have been taken" in page
    assert "Another candidate was chosen after the last run" in page
    assert swept.journal.events()[0].what == f"chose {K3} by hand instead of {K2}. Reason: fewer are found"
    page = said(bench.post("explore", "unchoose"))
    assert bench.draft.choose is None and f"Chosen: {K2}" in page


def test_one_that_breaks_a_bound_cannot_be_chosen(swept: Desk) -> None:
    bench = Bench(swept)
    answer = bench.post("explore", "choose", pick=mark(MDAV), reason="it is the best")
    assert answer.status_code == 422 and "breaks a bound" in said(answer)
    assert bench.draft.choose is None
    assert f"explore?pick={mark(MDAV)}" not in bench.get("explore").text


def test_a_choice_by_hand_that_tried_bounds_exclude_is_told(swept: Desk) -> None:
    bench = Bench(swept)
    bench.post("explore", "choose", pick=mark(K2), reason="x")
    page = said(bench.get(f"explore?part=answer&bound0={100 * figures(swept)[K3][0] + 0.01}"))
    assert f"{K2} cannot be chosen" in page and f"Chosen: {K3}" in page


def test_two_or_three_are_ticked_to_compare_them(swept: Desk) -> None:
    bench = Bench(swept)
    answer = bench.post("explore", "compare", follow=False, tick=[mark(K2), mark(MDAV)])
    assert answer.headers["location"] == f"../compare?first={mark(K2)}&second={mark(MDAV)}"
    assert "tick two or three" in said(bench.post("explore", "compare", tick=[mark(K2)]))


def test_figures_of_another_table_are_said_to_be_so(swept: Desk) -> None:
    other = swept.now().draft.schema.replace('role = "key"', 'role = "other"', 1)
    swept.change(lambda old: old.but(schema=other), screen="variables", what="another role")
    page = Bench(swept).get("explore")
    assert "These figures are of the draft before. The file, its variables or its scenarios were changed" in said(page)
    assert 'id="bound0"' not in page.text and "choose this one" not in page.text
    assert 'id="spec-map"' in page.text  # the map of the last report


def test_while_a_run_goes_on_the_page_asks_again_and_at_its_end_once(
    swept: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    going = JobStatus(
        "running", "Protecting and measuring candidates, 1 of 3", running=True, share=1 / 3, phase="candidates"
    )
    monkeypatch.setattr(swept.jobs, "told", lambda: replace(going, now=("MDAV(k=3)",), command="sweep"))
    bench = Bench(swept)
    part = bench.get("explore?part=run")
    assert 'hx-trigger="every 2s"' in part.text and "<html" not in part.text
    assert "At work on MDAV(k=3)" in said(part) and 'id="answer"' in part.text
    assert "Best so far" in said(part) and "choose this one" not in part.text
    monkeypatch.setattr(swept.jobs, "told", lambda: JobStatus("done", "The last run is done", running=False))
    part = bench.get("explore?part=run")
    assert 'hx-trigger="load"' in part.text and 'id="answer"' not in part.text


def test_a_run_is_not_started_from_a_page_that_is_old(swept: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(swept.jobs, "start", started.append)
    bench, old = Bench(swept), swept.now().revision
    swept.change(lambda draft: draft.but(breadth=2), screen="mask", what="more")
    assert bench.post("explore", "run", revision=str(old)).status_code == 409 and started == []
    bench.post("explore", "run")
    assert len(started) == 1 and started[0][:2] == ["sweep", "survey.csv"]


def test_candidates_that_the_last_run_passed_over_stay_passed_over(swept: Desk) -> None:
    draft, found = swept.now().draft, latest(swept, swept.now().draft)
    assert found.summary is not None
    lines = [replace(line, chosen=line.label == K3) for line in found.summary.candidates]
    leaks = replace(found, summary=replace(found.summary, candidates=tuple(lines)))
    board = weigh(swept, draft, leaks)
    assert board is not None and board.summary.chosen is not None
    assert board.summary.chosen.label == K3  # as K2 ranks before it and was not taken


def test_bounds_as_they_stand_in_a_field() -> None:
    assert read_limit("7", "share") == 0.07 and read_limit("0.3 %", "share") == 0.003
    assert read_limit("29", "share") == 0.29  # 29 / 100 is one bit off


@pytest.mark.parametrize("bound", [0.7 / 100, 0.007, 1 / 3, 0.123456789012345])
def test_a_bound_that_nobody_touches_is_not_moved(swept: Desk, bound: float) -> None:
    swept.change(lambda old: old.but(at_most={"Reidentification()": bound}), screen="bounds", what="a bound")
    draft = swept.now().draft
    board = weigh(swept, draft, swept.latest(draft))
    assert board is not None
    again = weigh(swept, draft, swept.latest(draft), {0: board.limits[0].shown})
    assert again is not None and not again.moved
    answer = Bench(swept).post("explore", "take", key="Reidentification()", limit=board.limits[0].shown, reason="none")
    assert answer.status_code == 200
    assert swept.now().draft.at_most == {"Reidentification()": bound}
