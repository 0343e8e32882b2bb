"""The frame of all pages: steps, journal, undo, two tabs, double clicks, what is loaded when."""

import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from pages import Bench, bench, empty_bench, said

from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens import TITLES, screens

__all__ = ["bench", "empty_bench"]


def test_the_list_of_titles_is_that_of_the_screens() -> None:
    assert {screen.slug: screen.title for screen in screens()} == TITLES
    for screen in screens():
        assert screen.why.endswith(".")
        assert screen.practice.endswith(".")


def test_the_first_page_loads_little() -> None:
    code = (
        "import sys, sfumato.workbench.app; heavy = {'scipy', 'numba', 'pandas', 'polars', 'altair', 'vl_convert', "
        "'sklearn', 'sfumato.methods', 'sfumato.risk', 'sfumato.utility'}; print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_before_a_file_is_open_the_other_screens_wait(empty_bench: Bench) -> None:
    for slug in TITLES:
        answer = empty_bench.get(slug)
        assert answer.status_code == 200
        assert ("Open a file first" in said(answer)) == (slug != "open"), slug


def test_every_screen_shows_a_file_that_was_opened(bench: Bench) -> None:
    for slug, title in TITLES.items():
        answer = bench.get(slug)
        assert answer.status_code == 200, slug
        assert f"<h1>{title}</h1>" in answer.text
        assert "Good practice:" in answer.text


def test_undo_and_redo_walk_along_the_steps_and_the_journal_keeps_all(bench: Bench) -> None:
    before = bench.draft
    bench.desk.change(lambda old: old.but(replicates=5), screen="bounds", what="five draws")
    bench.post("", "undo", screen="bounds")
    assert bench.draft == before
    bench.post("", "redo", screen="bounds")
    assert bench.draft.replicates == 5
    bench.post("", "undo", screen="bounds")
    bench.desk.change(lambda old: old.but(replicates=7), screen="bounds", what="seven draws")
    assert bench.desk.now().redo is None  # another step took its place
    words = [event.what for event in bench.desk.journal.events(5)]
    assert words == ["seven draws", "undone: five draws", "done again: five draws", "undone: five draws", "five draws"]
    assert "seven draws" in bench.text("journal")


def test_what_was_undone_is_said(bench: Bench) -> None:
    bench.desk.change(lambda old: old.but(replicates=5), screen="bounds", what="five draws")
    assert "Undone: five draws." in said(bench.post("", "undo", screen="open"))
    assert "Done again: five draws." in said(bench.post("", "redo", screen="open"))


def test_a_page_that_asks_while_a_change_is_written_takes_it_for_no_edit_from_outside(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.post("open", "confirm")
    desk, write = bench.desk, bench.desk.write_schema
    asked: list[Thread] = []

    def slowly(draft: Draft) -> None:
        asked.append(Thread(target=desk.now))
        asked[-1].start()
        asked[-1].join(0.3)  # it may not come to its end before schema.toml is written
        write(draft)

    monkeypatch.setattr(desk, "write_schema", slowly)
    bench.post("variables", "say", name="sex", role="key")
    for one in asked:
        one.join()
    assert not any("outside" in event.what for event in desk.journal.events(10))


def test_the_first_step_cannot_be_undone(empty_bench: Bench) -> None:
    answer = empty_bench.post("", "undo", screen="open")
    assert answer.status_code == 200
    assert empty_bench.draft == Draft()


def test_a_page_that_is_no_longer_the_latest_changes_nothing(bench: Bench) -> None:
    old = str(bench.desk.now().revision)
    bench.desk.change(lambda draft: draft.but(replicates=5), screen="bounds", what="in another tab")
    answer = bench.post("open", "confirm", revision=old)
    assert answer.status_code == 409
    assert "changed in another tab" in said(answer)
    assert bench.draft.replicates == 5


def test_a_double_click_is_done_once(bench: Bench) -> None:
    # both clicks send the form of the same page: the same revision, the same token
    revision = str(bench.desk.now().revision)
    name = bench.draft.source
    events = len(bench.desk.journal.events())
    first = bench.post("open", "choose", name=name, revision=revision, once="abc", follow=False)
    second = bench.post("open", "choose", name=name, revision=revision, once="abc", follow=False)
    assert (first.status_code, second.status_code) == (303, 303)
    assert len(bench.desk.journal.events()) == events + 1


def test_a_revision_never_comes_twice(bench: Bench) -> None:
    seen = {bench.desk.now().revision}
    for number in range(5):
        bench.desk.change(lambda old, n=number: old.but(replicates=10 + n), screen="x", what=str(number))  # type: ignore[misc]
        seen.add(bench.desk.now().revision)
        bench.desk.undo()
        seen.add(bench.desk.now().revision)
    assert len(seen) == 11


def test_a_schema_edited_in_the_terminal_is_a_step(bench: Bench) -> None:
    place = bench.desk.folder / "schema.toml"
    assert place.read_text() == bench.draft.schema
    edited = place.read_text().replace('# weight = "..."', 'weight = "weight"')
    place.write_text(edited)
    assert bench.desk.table(bench.desk.now().draft).schema.weight == "weight"
    assert bench.desk.journal.events(1)[0].what == "schema.toml was edited outside the page"
    bench.post("", "undo", screen="variables")
    assert bench.desk.table(bench.draft).schema.weight is None
    assert '# weight = "..."' in place.read_text()


def test_a_schema_that_cannot_be_read_is_told_and_loses_nothing(bench: Bench) -> None:
    draft = bench.draft
    (bench.desk.folder / "schema.toml").write_text("weight = [")
    answer = bench.get("variables")
    assert answer.status_code == 200  # the page shows the last one that could be read
    assert "schema.toml" in said(answer) and "Take back the last one that could be read" in said(answer)
    (bench.desk.folder / "schema.toml").write_text(draft.schema)
    assert bench.draft == draft


def test_the_table_on_the_page_is_the_one_that_the_command_line_reads(bench: Bench) -> None:
    import sfumato

    stated = bench.desk.stated(bench.draft)
    from dataclasses import replace

    changed = replace(
        stated.replace(replace(stated["region"], role="key"), replace(stated["sex"], kind="nominal", role="key")),
        weight="weight",
        scenarios=(sfumato.Scenario("a", keys=("region",)),),
    )
    bench.desk.change(lambda old: old.but(schema=bench.desk.restated(changed)), screen="x", what="roles")
    again = sfumato.read(bench.desk.folder / "survey.csv", bench.desk.folder / "schema.toml")
    assert bench.desk.table(bench.draft).fingerprint == again.fingerprint


def test_the_journal_outlives_the_server(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "project")
    desk.change(lambda old: old.but(replicates=9), screen="bounds", what="nine draws")
    again = Desk(tmp_path / "project")
    assert again.now().draft.replicates == 9
    assert again.undo().draft.replicates == Draft().replicates


def test_a_reload_of_a_changed_address_leads_to_its_screen(bench: Bench) -> None:
    answer = bench.get("open/confirm")
    assert answer.status_code == 303
    assert answer.headers["location"] == "../open"


def test_the_pulse_tells_the_revision_and_the_run(bench: Bench) -> None:
    told = bench.get("pulse").json()
    assert told == {"revision": bench.desk.now().revision, "job": None}
