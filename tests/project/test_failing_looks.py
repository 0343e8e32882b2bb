"""No look at a table, no examination and no picture ends a sweep: a failed one is a line in the report."""

from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.auditing import proposals, repairs
from sfumato.cli import inspect as inspect_command
from sfumato.compare import candidates
from sfumato.compare.examine import look
from sfumato.report import plots
from sfumato.report.summary import Summary
from small_survey import run

METHODS = ("MDAV(3)", "MDAV(10)")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("file") / "t.csv"
    path.write_text(
        "age,income,sex\n" + "".join(f"{20 + i * 7 % 50},{1000 + i * i},{'fm'[i % 2]}\n" for i in range(90))
    )
    return path


def failing(*_: Any, **__: Any) -> Any:
    """Fail as a computation may that nobody foresaw."""
    raise ZeroDivisionError("scale 0")


def swept(file: Path, out: Path, **options: Any) -> tuple[Summary, list[str]]:
    told: list[str] = []
    asked: dict[str, Any] = {"methods": METHODS, "at_most": {"InformationLoss": 100}, "workers": 1, **options}
    asked = {"on_undeclared": "accept", **asked}  # no schema is given, and that is not what is looked at here
    summary = sfumato.sweep(file, out=out, tell=told.append, bootstrap=False, seed=2**50, **asked)
    return summary, told


@pytest.mark.parametrize("piece", ["caution_facts", "distributions", "utility_found", "records_at_risk"])
def test_a_piece_that_fails_is_a_line_in_the_report(
    piece: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look, piece, failing)
    summary, _ = swept(file, tmp_path / "o")
    assert summary.verdict.publish is True
    assert any("could not be worked out (ZeroDivisionError: scale 0)" in one for one in summary.cautions)
    assert "could not be worked out" in (tmp_path / "o" / "report.html").read_text()
    assert (tmp_path / "o" / "release" / "t.protected.csv").exists()


def test_a_table_of_which_nothing_can_be_told_to_the_public_stays(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look, "release_facts", failing)
    summary, _ = swept(file, tmp_path / "o")
    assert summary.verdict.publish is False
    assert "what its users may be told could not be worked out" in summary.verdict.words
    assert not list((tmp_path / "o").glob("release/*"))


@pytest.mark.parametrize("despite", [False, True])
def test_what_could_not_be_audited_is_not_published(
    despite: bool, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairs, "audit_of", failing)
    summary, told = swept(file, tmp_path / "o", despite_audit=despite)
    assert summary.verdict.publish is despite  # who asks for it in spite of an audit does so of none
    if not despite:
        assert "could not be audited" in summary.verdict.words
        assert sum("was not audited: ZeroDivisionError: scale 0" in line for line in told) == 2  # both were tried
        assert not list((tmp_path / "o").glob("release/*"))
    assert any("was not tried: ZeroDivisionError: scale 0" in one for one in summary.verdict.warnings)


def test_what_could_not_be_made_ready_never_goes_out(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairs, "copies_of_names", failing)  # before identifiers are left out
    for number, options in enumerate(({}, {"despite_audit": True})):
        summary, _ = swept(file, tmp_path / f"{number}", **options)
        assert summary.verdict.publish is False and "could not be made ready to go out" in summary.verdict.words
        assert not list((tmp_path / f"{number}").glob("release/*"))


def test_a_picture_that_fails_is_a_note(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "before_and_after", failing)
    summary, _ = swept(file, tmp_path / "o")
    assert summary.verdict.publish is True
    page = (tmp_path / "o" / "report.html").read_text()
    assert "could not be drawn (ZeroDivisionError: scale 0)" in page
    assert "could not be drawn" in (tmp_path / "o" / "report.md").read_text()
    assert (tmp_path / "o" / "plots" / "map.png").exists()


def test_columns_that_cannot_be_described_and_candidates_that_cannot_be_composed_are_told(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.table.describe.describe", failing)
    monkeypatch.setattr(candidates, "_seen", failing)
    summary, told = swept(file, tmp_path / "o", also_composed=True)
    assert summary.verdict.publish is True
    assert "no candidates could be composed (ZeroDivisionError: scale 0)" in told
    assert any("could not be described (ZeroDivisionError: scale 0)" in line for line in told)


def test_inspect_tells_what_it_could_not_look_for(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "behaviours", failing)
    monkeypatch.setattr(proposals, "dependencies", failing)
    monkeypatch.setattr(inspect_command, "_hierarchies", failing)
    done = run("inspect", file, "--out", tmp_path / "s.toml")
    assert done.exit_code == 0 and (tmp_path / "s.toml").exists()
    said = " ".join((done.stdout + done.stderr).split())
    assert "not looked for: what others determine (ZeroDivisionError: scale 0)" in said
    assert "not looked for: weights, households and ids by their values (ZeroDivisionError: scale 0)" in said
    assert "hierarchies: not worked out (ZeroDivisionError: scale 0)" in said


def test_what_is_no_fault_of_the_table_still_ends_the_run(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(look, "caution_facts", full)
    with pytest.raises(OSError, match="No space left"):
        swept(file, tmp_path / "o")
