"""Audit, Decide and Release: what a run found is shown, repaired, signed and given out."""

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from pages import Bench, bench, said
from released import made_once, run, swept

from sfumato.auditing.findings import Audit, Checked, Restored, Route
from sfumato.project.decision import read
from sfumato.report.summary import from_json, to_json
from sfumato.workbench.latest import latest

WHY = "Bounds of our house for files under contract; the most useful candidate within them."


def alarmed(bench: Bench) -> None:
    """Put a failed audit into the report of the last run: another column tells a protected one."""
    place = bench.desk.folder / "results.json"
    summary = from_json(place.read_text())
    told = Restored(
        variable="region",
        level="as published",
        evidence=("urbanity",),
        values=100,
        restored=0.9,
        exactly=0.0,
        guess=0.3,
        holds=0.95,
        learnt="the file",
        reading="restores",
        columns=("urbanity",),
    )
    routes = (
        Route("columns", told, (told,), verdict="restores 90 %", repair="declare linked"),
        Route("household", replace(told, columns=()), (replace(told, columns=()),), repair="suppress for all"),
        Route("ids", replace(told, columns=("person",)), (replace(told, columns=("person",)),), repair="new ids"),
        Route("order", replace(told, columns=()), (replace(told, columns=()),), repair="random order"),
        Route("beside", untried="no other release was given"),
    )
    audit = Audit(100, {"region": 100}, routes, 0.01, 0.1, "order", "The file gives protected values back.")
    verdict = replace(summary.verdict, publish=False, words="Do not publish yet")
    changed = replace(summary, checked=Checked(audit=audit), verdict=verdict)
    place.write_text(to_json(changed))


def test_before_a_run_each_of_them_says_what_to_do(bench: Bench) -> None:
    assert "Nothing has been attacked yet" in bench.text("audit")
    assert "There is nothing to decide yet" in bench.text("decide")
    assert "There is no release yet" in bench.text("release")


def test_the_audit_of_a_good_release_is_shown_with_what_was_repaired(swept: Bench) -> None:
    words = swept.text("audit")
    assert "The file keeps what was protected" in words
    assert "Left out, for they name the units: person" in words
    assert "Records stand in random order" in words
    assert latest(swept.desk, swept.draft).why_old == ""


def test_every_route_that_fails_has_its_button_and_the_button_repairs(swept: Bench) -> None:
    alarmed(swept)
    words = swept.text("audit")
    assert "gives values back" in words
    for button in (
        "Let urbanity follow region",
        "Leave urbanity out of the file",
        "Protect region for all members of a household together",
        "Treat person as an identifier",
    ):
        assert button in words
    swept.post("audit", "link", name="urbanity", source="region")
    assert swept.desk.stated(swept.draft)["urbanity"].sources == ("region",)
    assert "changed after the last run" in swept.text("audit")
    swept.post("audit", "shared", name="region")
    assert swept.desk.stated(swept.draft)["region"].level == "household"
    swept.post("audit", "identifier", name="person")
    assert swept.desk.stated(swept.draft)["person"].role == "identifier"
    swept.post("audit", "leave_out", name="urbanity")
    assert list(swept.draft.removed) == ["urbanity"]
    swept.post("audit", "take_back", name="urbanity")
    assert not swept.draft.removed
    assert [event.what for event in swept.desk.journal.events(2)] == [
        "urbanity is kept in the file after all",
        "repair: urbanity is left out of the file",
    ]


def test_what_is_kept_from_the_repairs_is_a_step_and_has_a_button_where_it_tells(swept: Bench) -> None:
    swept.post("audit", "keep", keep_order="on")
    assert swept.draft.keep_order
    assert not swept.draft.keep_weights
    alarmed(swept)
    assert "Put the records in random order" in swept.text("audit")
    swept.post("audit", "renew", which="keep_order")
    assert not swept.draft.keep_order
    assert swept.post("audit", "renew", which="source").status_code == 422


def test_a_variable_left_out_is_in_no_candidate(swept: Bench) -> None:
    swept.post("audit", "leave_out", name="rent")
    run(swept.desk)
    released = (swept.desk.folder / "release" / "survey.protected.csv").read_text().splitlines()[0].split(",")
    assert "rent" not in released
    assert "wealth" in released
    assert latest(swept.desk, swept.draft).why_old == ""


def test_a_leaking_file_is_released_only_with_a_reason(swept: Bench) -> None:
    alarmed(swept)
    refused = swept.post("audit", "despite", reason="so")
    assert refused.status_code == 422
    assert "the reason stays in the journal" in said(refused)
    assert not swept.draft.despite_audit
    swept.post("audit", "despite", reason="the two are the same office's published map")
    assert swept.draft.despite_audit
    assert "published map" in swept.desk.journal.events(1)[0].what
    swept.post("audit", "despite", back="yes")
    assert not swept.draft.despite_audit


def test_a_release_is_signed_once_and_by_somebody_with_a_reason(swept: Bench) -> None:
    words = swept.text("decide")
    assert "Publish:" in words
    assert "Expected re-identifications" in words
    for by, reasons, field in (("", WHY, "name the person"), ("A. Muster", "ok", "why")):
        refused = swept.post("decide", "sign", by=by, reasons=reasons)
        assert refused.status_code == 422
        assert field in said(refused)
        assert read(swept.desk.folder) is None
    answer = swept.post("decide", "sign", by="A. Muster, methods", reasons=f"{WHY}\n\nSecond reason.", once="x")
    assert "Signed by A. Muster, methods" in said(answer)
    first = read(swept.desk.folder)
    assert first is not None
    assert first.reasons == (WHY, "Second reason.")
    swept.post("decide", "sign", by="A. Muster, methods", reasons=f"{WHY}\n\nSecond reason.", once="x")
    assert read(swept.desk.folder) == first  # a double click signs nothing anew
    lines = [event.what for event in swept.desk.journal.events() if "signed by" in event.what]
    assert lines == ["release of survey.protected.csv signed by A. Muster, methods"]
    assert "A. Muster" in (swept.desk.folder / "report.html").read_text()


def test_nothing_is_signed_that_is_not_of_the_draft(swept: Bench) -> None:
    swept.post("audit", "leave_out", name="rent")
    answer = swept.post("decide", "sign", by="A. Muster", reasons=WHY)
    assert answer.status_code == 422
    assert read(swept.desk.folder) is None


def test_a_signature_is_void_when_the_file_is_another(swept: Bench) -> None:
    swept.post("decide", "sign", by="A. Muster", reasons=WHY)
    place = swept.desk.folder / "release" / "survey.protected.csv"
    place.write_text(place.read_text() + "\n")
    assert "does not hold any more" in swept.text("decide")
    assert "does not hold any more" in swept.text("release")


@pytest.mark.parametrize(("released", "words"), [("", "released nothing"), ("births.csv", "released births.csv")])
def test_a_signature_under_another_release_than_the_last_does_not_hold(swept: Bench, released: str, words: str) -> None:
    swept.post("decide", "sign", by="A. Muster", reasons=WHY)
    place = swept.desk.folder / "results.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), "released": released}))
    held = "does not hold any more: it is under survey.protected.csv, and the last run"
    assert f"{held} {words}" in swept.text("decide")
    page = swept.text("release")
    assert "Of an earlier run, in the same folder: survey.protected.csv." in page
    assert "survey.protected.csv the protected file" not in page


def test_that_nothing_is_released_is_written_down(swept: Bench) -> None:
    alarmed(swept)
    assert "not to publish" in swept.text("decide")
    swept.post("decide", "decline", by="A. Muster", reasons="Too much would be given back.")
    assert swept.desk.journal.events(1)[0].what == (
        "decided by A. Muster: nothing is released; Too much would be given back."
    )


def test_the_release_lists_what_goes_out_and_gives_it(swept: Bench) -> None:
    words = swept.text("release")
    assert "Nobody has signed this release yet" in words
    assert "survey.protected.csv" in words
    given = swept.get("file/release/survey.protected.csv")
    assert given.content == (swept.desk.folder / "release" / "survey.protected.csv").read_bytes()
    assert "attachment" in given.headers["content-disposition"]
    for name in ("reproduce.sh", "reproduce.py", "results.json", "report.html", "schema.toml"):
        assert swept.get(f"file/{name}").status_code == 200
    script = (swept.desk.folder / "reproduce.sh").read_text()
    assert str(json.loads((swept.desk.folder / "plan.json").read_text())["seed"]) in script
    assert "END_OF_SCHEMA" in words


def test_the_release_as_a_zip_has_what_goes_out_and_nothing_else(swept: Bench) -> None:
    folder = swept.desk.folder / "release"
    (folder / "of-an-earlier-run.csv").write_text("secret\n")
    answer = swept.get("download/release")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        names = set(packed.namelist())
        assert names == {path.name for path in folder.iterdir()} - {"of-an-earlier-run.csv"}
        assert all(packed.read(name) == (folder / name).read_bytes() for name in names)
    assert swept.get("download/release").content == answer.content
    next(folder.glob("*.protected.*")).unlink()
    (folder / "about.md").unlink()
    (folder / "about.md").symlink_to(swept.desk.folder / "reproduce.sh")
    assert swept.get("download/release").status_code == 422


def test_a_sweep_of_the_terminal_is_gone_on_with(made_once: Path, tmp_path: Path) -> None:
    import shutil

    from sfumato.workbench.begin import begin

    folder = tmp_path / "sweep"
    shutil.copytree(made_once, folder)
    (folder / "journal.sqlite").unlink()
    begin(folder, None, None)
    from sfumato.workbench.desk import Desk

    desk = Desk(folder)
    draft = desk.now().draft
    assert draft.confirmed
    assert draft.at_most == {"Reidentification()": 0.4, "Reidentification(unit='household')": 1.0}
    assert len(draft.own) == 3
    assert latest(desk, draft).why_old == ""


def test_an_old_page_signs_no_release_that_it_does_not_show(swept: Bench) -> None:
    shown = str(swept.desk.now().revision)
    bounds = {**swept.draft.at_most, "Reidentification()": 0.32}
    swept.desk.change(lambda old: old.but(at_most=bounds), screen="bounds", what="another tab")
    run(swept.desk)  # the other tab has another release made, which the first has not seen
    assert latest(swept.desk, swept.draft).why_old == ""
    for action in ("sign", "decline"):
        answer = swept.post("decide", action, by="A. Steward", reasons=WHY, revision=shown)
        assert answer.status_code == 409
    assert read(swept.desk.folder) is None
    assert not [event for event in swept.desk.journal.events() if "Steward" in event.what]
    assert swept.post("decide", "sign", by="A. Steward", reasons=WHY).status_code == 200
    assert read(swept.desk.folder) is not None


def test_a_signed_release_is_not_read_again_for_every_page(swept: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.project import decision
    from sfumato.project.tables import digest

    swept.post("decide", "sign", by="A. Steward", reasons=WHY)
    swept.get("decide")
    asked: list[Path] = []

    def counted(path: Path) -> str:
        asked.append(path)
        return digest(path)

    monkeypatch.setattr(decision, "digest", counted)
    for slug in ("open", "decide", "release"):
        swept.get(slug)
    assert asked == []
    (released,) = (path for path in (swept.desk.folder / "release").iterdir() if path.suffix == ".csv")
    released.write_bytes(released.read_bytes() + b"\n")
    assert "does not hold any more" in swept.text("decide")
    assert asked == [released]


def test_a_double_click_writes_a_refusal_down_once(swept: Bench) -> None:
    for _ in range(2):
        assert swept.post("decide", "decline", by="A. Steward", reasons=WHY).status_code == 200
    assert len([event for event in swept.desk.journal.events() if "nothing is released" in event.what]) == 1


def test_a_decision_not_to_release_takes_the_signature_back(swept: Bench) -> None:
    swept.post("decide", "sign", by="A. Steward", reasons=WHY)
    assert "A. Steward" in (swept.desk.folder / "report.html").read_text()
    swept.post("decide", "decline", by="A. Steward", reasons="A colleague found a way back into the file.")
    assert read(swept.desk.folder) is None
    assert "A. Steward" not in (swept.desk.folder / "report.html").read_text()
    assert swept.desk.journal.events(1)[0].what.endswith("(the signature is taken back)")
    assert "Nobody has signed this release yet" in swept.text("release")


def test_no_command_on_a_page_takes_the_bounds_away(swept: Bench) -> None:
    """A sweep without bounds into the folder would remove the release that is there."""
    for slug in ("recode", "mask", "bounds", "explore"):
        assert "--at-most Reidentification=40%" in swept.text(slug), slug
