"""The steward's signature under a release, kept in the sweep's folder and shown in its internal report."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import FileError, NotApplicable, ParameterError
from sfumato.project.folder import held
from sfumato.project.record import REPORT, Record
from sfumato.project.tables import digest
from sfumato.report.summary import Decision

if TYPE_CHECKING:
    from sfumato.report.summary import Summary

NAME = "decision.json"


def sign(folder: str | Path, *, by: str, reasons: str | Iterable[str]) -> Decision:
    """Sign the release in a sweep's folder, and show that in its internal report; an earlier signature is replaced.

    Refused where nothing is released, or where the file is not the one that was measured.
    """
    from sfumato.compare.plain import to_json
    from sfumato.report.page import save
    from sfumato.report.report import write_report

    folder, said = Path(folder), tuple([reasons] if isinstance(reasons, str) else reasons)
    if not by.strip():
        raise ParameterError("say who signs")
    for text in (by, *said):
        if any("\ud800" <= sign <= "\udfff" for sign in text):  # an argument of another encoding than the terminal's
            raise ParameterError(f"no file can hold {text!r}, which has half of a surrogate pair; correct the text")
    if not said or not all(reason.strip() for reason in said):
        raise ParameterError("say why the release is approved: a decision without a reason cannot be explained later")
    if not folder.is_dir():
        raise FileError(f"there is no folder {folder}")
    with held(folder):
        summary = _summary(folder)
        if not Record.carried_out(folder):  # signing writes the report anew, which would then pass for the last sweep's
            raise NotApplicable(f"the last sweep into {folder} did not come to its end; run it again, then sign")
        chosen = summary.chosen
        if chosen is None or not summary.verdict.publish:
            raise NotApplicable(
                f"nothing is released in {folder}, so there is nothing to sign: {summary.verdict.words}"
            )
        decision = Decision(
            by=by.strip(),
            reasons=tuple(reason.strip() for reason in said),
            signed=datetime.now(UTC).isoformat(timespec="seconds"),
            candidate=chosen.label,
            file=summary.released,
            sha256=_measured(folder, summary.released),
            bounds=tuple(f"{bound.name} {bound.text}" for bound in summary.bounds),
        )
        save(folder / NAME, to_json(decision, indent=1).encode())
        write_report(replace(summary, decision=decision), folder)
    return decision


def withdraw(folder: str | Path) -> None:
    """Take a signature back: the file, and the words on it in the internal report."""
    from sfumato.report.report import write_report

    folder = Path(folder)
    with held(folder):
        try:
            (folder / NAME).unlink(missing_ok=True)
        except OSError as error:
            raise FileError(f"cannot remove {folder / NAME}: {error.strerror}") from None
        summary = _summary(folder)
        if summary.decision is not None:
            write_report(replace(summary, decision=None), folder)


def read(folder: str | Path) -> Decision | None:
    """Return the decision that was signed in a folder, void if the release is another file by now; None if none was."""
    from sfumato.compare.plain import from_file

    folder = Path(folder)
    decision = from_file(Decision, folder / NAME, "sign the release again")
    if decision is None:
        return None
    place = folder / "release" / decision.file
    if not place.exists():
        return replace(decision, void=f"{decision.file} is not in the release any more")
    if digest(place) != decision.sha256:
        return replace(decision, void=f"{decision.file} is another file than the one that was signed")
    return decision


def _summary(folder: Path) -> "Summary":
    from sfumato.compare.plain import from_file
    from sfumato.report.summary import Summary

    found = from_file(Summary, folder / REPORT, "run the sweep again: its figures are kept")
    if found is None:
        raise FileError(f"{folder} holds no finished sweep: there is no results.json in it")
    return found


def _measured(folder: Path, name: str) -> str:
    """Return the SHA-256 of the release, which must be that of the file that was measured and written."""
    place, note = folder / "release" / name, folder / f"{name}.provenance.json"
    try:
        written = json.loads(note.read_text(encoding="utf-8"))["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        raise FileError(f"{note} does not tell how {place} was made; run the sweep again") from None
    found = digest(place)
    if found != written:
        raise FileError(f"{place} is not the file that was measured: it was changed since; run the sweep again")
    return found
