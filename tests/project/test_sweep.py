"""A whole sweep from Python, the steward's own choice in it, and the command line beside it."""

from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.errors import FileError, ParameterError
from sfumato.project.folder import held
from sfumato.project.progress import read_progress
from sfumato.report.summary import from_json
from small_survey import run

COMMON: dict[str, Any] = {
    "methods": ["MDAV(k=[3, 5, 20])"],
    "measures": ["DistanceLinkage", "InformationLoss"],
    "risk": "DistanceLinkage",
    "utility": "InformationLoss",
    "despite_audit": True,
    "bootstrap": False,
    "workers": 1,
    "seed": 2**50,
}


def test_python_and_the_command_line_do_the_same(survey: Path, schema: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    summary = sfumato.sweep(
        survey, schema, **COMMON, at_most={"DistanceLinkage": 0.5}, out=tmp_path / "a", tell=heard.append
    )
    done = run(
        "sweep", survey, "--schema", schema, "--method", "MDAV(k=[3, 5, 20])", "--measure", "DistanceLinkage",
        "--measure", "InformationLoss", "--risk", "DistanceLinkage", "--utility", "InformationLoss", "--at-most",
        "DistanceLinkage=50%", "--despite-audit", "--no-bootstrap", "--workers", 1, "--seed", 2**50,
        "--out", tmp_path / "b",
    )  # fmt: skip
    assert done.exit_code == 0 and summary.verdict.publish
    for name in ("survey.protected.csv", "about.html", "about.md", "about.json"):
        assert (tmp_path / "a" / "release" / name).read_bytes() == (tmp_path / "b" / "release" / name).read_bytes()
    assert from_json((tmp_path / "a" / "results.json").read_text(encoding="utf-8")) == summary
    assert any(line.startswith("release: ") for line in heard)
    call = summary.run.command
    assert call.startswith(f"sfumato.sweep({str(survey)!r}, schema={str(schema)!r}, methods=['MDAV(k=[3, 5, 20])']")
    assert "seed=1125899906842624" in call and "tell" not in call and "replicates" not in call


def test_the_steward_chooses_another_that_keeps_the_bounds(survey: Path, schema: Path, tmp_path: Path) -> None:
    out, bounds = tmp_path / "out", {"DistanceLinkage": 0.9}
    best = sfumato.sweep(survey, schema, **COMMON, at_most=bounds, out=out).chosen
    assert best is not None and best.label == "MDAV(k=3)"
    by_hand = sfumato.sweep(survey, schema, **COMMON, at_most=bounds, out=out, choose="MDAV(20)")
    assert by_hand.chosen is not None and by_hand.chosen.label == "MDAV(k=20)"
    assert by_hand.verdict.words == "Publish: MDAV(k=20), chosen by hand"
    assert "It was chosen by hand; by its figures MDAV(k=3) would have been taken" in by_hand.sentence
    loss = {line.label: line.figures["InformationLoss()"].text for line in by_hand.candidates}
    assert any(f"{loss['MDAV(k=3)']}, not {loss['MDAV(k=20)']}" in said for said in by_hand.verdict.warnings)
    assert from_json((out / "results.json").read_text(encoding="utf-8")) == by_hand
    same = sfumato.sweep(survey, schema, **COMMON, at_most=bounds, out=out, choose="MDAV(k=3)")
    assert "would have been taken anyway" in same.sentence
    assert not any("by hand" in said for said in same.verdict.warnings)


def test_a_choice_that_breaks_a_bound_is_refused_and_the_earlier_release_stays(
    survey: Path, schema: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    found = sfumato.sweep(survey, schema, **COMMON, at_most={"DistanceLinkage": 0.9}, out=out)
    figures = {line.label: line.figures["DistanceLinkage()"].value for line in found.candidates}
    limit = (figures["MDAV(k=3)"] + figures["MDAV(k=20)"]) / 2
    before = (out / "release" / "survey.protected.csv").read_bytes()
    over = 100 * (figures["MDAV(k=3)"] - limit)
    refusal = rf"MDAV\(k=3\) cannot be chosen, for it breaks a bound: .*{over:.3g} percentage points too much"
    with pytest.raises(ParameterError, match=refusal):
        sfumato.sweep(survey, schema, **COMMON, at_most={"DistanceLinkage": limit}, out=out, choose="MDAV(k=3)")
    assert (out / "release" / "survey.protected.csv").read_bytes() == before
    progress = read_progress(out)
    assert progress is not None and progress.state == "failed" and "breaks a bound" in progress.message
    with pytest.raises(ParameterError, match="cannot be chosen, for it breaks a bound"):
        found = sfumato.sweep(
            survey, schema, **COMMON, at_least={}, at_most={"InformationLoss": 0.001}, out=out, choose="MDAV(k=20)"
        )


def test_a_folder_in_use_is_refused_before_anything_is_read(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with held(out):
        with pytest.raises(FileError, match="is in use: process"):
            sfumato.sweep(tmp_path / "nosuch.csv", out=out)
        done = run("sweep", survey, "--out", out)
        assert done.exit_code == 2 and "is in use: process" in done.stderr
