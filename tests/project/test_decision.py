"""A signature under a release: kept, shown, and void if the release is another file."""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.errors import FileError, NotApplicable, ParameterError
from sfumato.project.decision import read, sign
from sfumato.project.folder import held
from sfumato.report.summary import from_json
from small_survey import run

COMMON: dict[str, Any] = {
    "methods": ["MDAV(k=[3, 20])"],
    "measures": ["DistanceLinkage", "InformationLoss"],
    "risk": "DistanceLinkage",
    "utility": "InformationLoss",
    "at_most": {"DistanceLinkage": 0.9},
    "despite_audit": True,
    "bootstrap": False,
    "workers": 1,
    "seed": 2**50,
}
HOSTILE = "<script>alert('x')</script>"


@pytest.fixture
def swept(survey: Path, schema: Path, tmp_path: Path) -> Path:
    sfumato.sweep(survey, schema, **COMMON, out=tmp_path / "out")
    return tmp_path / "out"


def test_what_was_signed_is_kept_and_shown(swept: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    decision = sign(swept, by="A. Steward ", reasons=["as agreed", HOSTILE])
    released = (swept / "release" / "survey.protected.csv").read_bytes()
    assert decision.sha256 == hashlib.sha256(released).hexdigest()
    assert (decision.by, decision.reasons) == ("A. Steward", ("as agreed", HOSTILE))
    assert (decision.candidate, decision.file) == ("MDAV(k=3)", "survey.protected.csv")
    assert decision.bounds == ("DistanceLinkage at most 90 %",)
    assert before <= datetime.fromisoformat(decision.signed) <= datetime.now(UTC)
    assert read(swept) == decision
    page, text = ((swept / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    for shown in (page, text):
        assert "Approved by" in shown and "A. Steward" in shown and decision.sha256 in shown
    assert HOSTILE not in page
    assert from_json((swept / "results.json").read_text(encoding="utf-8")).decision == decision
    assert not any("Steward" in path.read_text(encoding="utf-8") for path in (swept / "release").iterdir())
    if os.name == "posix":
        assert (swept / "decision.json").stat().st_mode & 0o077 == 0


def test_the_same_sweep_keeps_a_decision_and_another_release_voids_it(swept: Path, survey: Path, schema: Path) -> None:
    decision, heard = sign(swept, by="A. Steward", reasons="as agreed"), list[str]()
    again = sfumato.sweep(survey, schema, **COMMON, out=swept, tell=heard.append)
    assert again.decision == decision and not any("void" in line for line in heard)
    (swept / "release" / "survey.protected.csv").unlink()  # made again, byte for byte
    again = sfumato.sweep(survey, schema, **COMMON, out=swept)
    assert again.decision == decision
    other = sfumato.sweep(survey, schema, **COMMON, choose="MDAV(k=20)", out=swept, tell=heard.append)
    assert other.decision is not None and "another file" in other.decision.void
    assert any("approval by A. Steward" in line and "void" in line for line in heard)
    assert "void" in (swept / "report.md").read_text(encoding="utf-8")
    assert from_json((swept / "results.json").read_text(encoding="utf-8")) == other
    none = sfumato.sweep(survey, schema, **{**COMMON, "at_most": {"DistanceLinkage": 0.0}}, out=swept)
    assert none.decision is not None and "not in the release" in none.decision.void


def test_what_cannot_be_signed_is_refused(swept: Path, survey: Path, schema: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="who signs"):
        sign(swept, by=" ", reasons="as agreed")
    for reasons in ([], [" "]):
        with pytest.raises(ParameterError, match="say why"):
            sign(swept, by="A. Steward", reasons=reasons)
    with pytest.raises(FileError, match="no folder"):
        sign(tmp_path / "none", by="A. Steward", reasons="as agreed")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="no finished sweep"):
        sign(tmp_path / "empty", by="A. Steward", reasons="as agreed")
    with (swept / "release" / "survey.protected.csv").open("a") as file:
        file.write("\n")
    with pytest.raises(FileError, match="changed since"):
        sign(swept, by="A. Steward", reasons="as agreed")
    sfumato.sweep(survey, schema, **{**COMMON, "at_most": {"DistanceLinkage": 0.0}}, out=swept)
    with pytest.raises(NotApplicable, match="nothing is released"):
        sign(swept, by="A. Steward", reasons="as agreed")
    assert read(swept) is None


def test_nobody_signs_while_a_sweep_runs(swept: Path) -> None:
    import threading

    refused: list[BaseException] = []

    def try_to_sign() -> None:
        try:
            sign(swept, by="A. Steward", reasons="as agreed")
        except FileError as error:
            refused.append(error)

    with held(swept):
        thread = threading.Thread(target=try_to_sign)
        thread.start()
        thread.join()
    assert len(refused) == 1 and "is in use" in str(refused[0])


def test_the_command_signs(swept: Path) -> None:
    done = run("sign", swept, "--by", "A. Steward", "--reason", "as agreed", "--reason", "bounds of the policy")
    assert done.exit_code == 0 and "signed by A. Steward: MDAV(k=3)" in done.stdout
    decision = read(swept)
    assert decision is not None and decision.reasons == ("as agreed", "bounds of the policy")
    told = run("sign", swept, "--by", "B. Steward", "--reason", "as agreed", "--json")
    assert json.loads(told.stdout)["by"] == "B. Steward"
    assert run("sign", swept, "--by", "A. Steward").exit_code == 2


def test_nothing_is_signed_while_a_later_sweep_has_not_come_to_its_end(swept: Path) -> None:
    plan, report = swept / "plan.json", swept / "results.json"
    later = report.stat().st_mtime_ns + 1_000_000_000
    os.utime(plan, ns=(later, later))  # as a sweep does that is killed before it reports
    with pytest.raises(NotApplicable, match="did not come to its end"):
        sign(swept, by="A. Steward", reasons="as agreed")
    assert read(swept) is None
    assert report.stat().st_mtime_ns < later
