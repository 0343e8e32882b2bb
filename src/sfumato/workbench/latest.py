"""The last run in the project's folder: what it was about, what it reported, and whether it is of the draft."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.compare.figures import written
from sfumato.errors import FileError, SfumatoError
from sfumato.project import decision as decisions
from sfumato.project import record as records
from sfumato.project.candidates import behind
from sfumato.project.options import named
from sfumato.project.plan import as_stated
from sfumato.project.reading import read_measures, read_method, read_methods
from sfumato.project.record import REPORT, Record
from sfumato.report.summary import Decision, Summary, from_json
from sfumato.workbench.commands import sweep_asked
from sfumato.workbench.draft import Draft

if TYPE_CHECKING:
    from sfumato.workbench.desk import Desk

NEVER = "Nothing has been run yet."
GOING = "A run is going on."


@dataclass(frozen=True)
class Latest:
    """The last run into the folder, seen from a draft."""

    record: Record | None = None  # what it was about; None: nothing was run
    summary: Summary | None = None  # what the last run that came to its end reported
    why_old: str = NEVER  # why that is not of the draft; empty: it is
    figures_hold: bool = False  # whether the figures in the store are of the draft's table
    recoded_alike: bool = False  # whether every candidate begins as the draft says


def latest(desk: "Desk", draft: Draft) -> Latest:
    """Return the last run; of the same files and the same draft it is looked at once."""
    told = desk.jobs.told()
    places = (desk.folder / records.NAME, desk.folder / REPORT)
    if not places[0].exists():
        return Latest(why_old=GOING if told is not None and told.running else NEVER)
    from sfumato.workbench.desk import stamp

    source = desk.source(draft) if draft.source else None
    files = [f"{path} {stamp(path)}" for path in (source, *places) if path is not None and path.exists()]
    found = desk.kept("latest run", f"{files} {draft.to_json()}", lambda: _looked_at(desk, draft))
    if told is None or not told.running:
        return found
    return replace(found, why_old=GOING)


def _looked_at(desk: "Desk", draft: Draft) -> Latest:
    try:
        record = Record.read(desk.folder)
    except SfumatoError:
        return Latest(why_old="The record of the last run cannot be read: another version wrote it, or it was edited.")
    if record is None:
        return Latest()
    summary = reported(desk)
    if desk.table(draft).fingerprint != record.fingerprint:
        return Latest(record, summary, "The file, its variables or its scenarios were changed after the last run.")
    alike = _repr_of_method(sweep_asked(desk, draft).get("first")) == record.first
    other = "" if alike else "The recodings were changed after the last run."
    other = other or _other_measures(desk, draft, record) or _other_candidates(desk, draft, record)
    other = other or _other_wishes(draft, record)
    if not other and not Record.carried_out(desk.folder):
        other = "The last run did not come to its end."
    return Latest(record, summary, other, figures_hold=True, recoded_alike=alike)


def signature(desk: "Desk", summary: Summary | None) -> Decision | None:
    """Return who signed; a signature under another file than the last run released does not hold."""
    there = _signed(desk)
    if there is None or there.void or summary is None or summary.released == there.file:
        return there
    other = f"released {summary.released}" if summary.released else "released nothing"
    return replace(there, void=f"it is under {there.file}, and the last run {other}")


def seen_before(desk: "Desk", draft: Draft) -> bool:
    """Tell whether results of this file could be seen: a run was begun, and its figures are shown as they are made.

    A run of another file that was opened in the same folder tells nothing of this one.
    """
    try:
        record = Record.read(desk.folder)
    except SfumatoError:
        return True
    if record is None:
        return (desk.folder / REPORT).exists()
    return not record.file or not draft.source or Path(record.file).name == Path(draft.source).name


def reported(desk: "Desk") -> Summary | None:
    """Return what the last run that came to its end reported; None where there is none."""
    from sfumato.workbench.desk import stamp

    place = desk.folder / REPORT
    if not place.exists():
        return None

    def read() -> Summary | None:
        try:
            return from_json(place.read_text(encoding="utf-8"))
        except (OSError, SfumatoError, ValueError):
            return None

    return desk.kept("last report", stamp(place), read)


def _signed(desk: "Desk") -> Decision | None:
    """Return who signed, void if the release is another file by now; the same file is read once, not on every page."""
    from sfumato.workbench.desk import stamp

    place, release = desk.folder / decisions.NAME, desk.folder / "release"
    if not place.exists():
        return None
    of = []
    for path in (place, *(sorted(release.iterdir()) if release.is_dir() else ())):
        with suppress(FileError):  # a run may just be taking it away
            of.append(f"{path.name} {stamp(path)}")
    return desk.kept("signature", "; ".join(of), lambda: decisions.read(desk.folder))


def _other_measures(desk: "Desk", draft: Draft, record: Record) -> str:
    """Say whether other figures would be computed."""
    asked = sweep_asked(desk, draft)
    if _keys(asked.get("measures", ())) != set(record.asked) or draft.population != record.population:
        return "What is measured was changed after the last run."
    if draft.replicates != record.replicates:
        return "The number of draws was changed after the last run."
    return ""


def _other_candidates(desk: "Desk", draft: Draft, record: Record) -> str:
    """Say whether candidates were added or taken away; those composed for earlier bounds stay."""
    asked = sweep_asked(desk, draft)
    named, composed = set(named_labels(draft, asked.get("first"), asked.get("methods", ()))), record.whys.keys()
    proposed = bool(asked.get("also_composed")) or not asked.get("methods")
    lacking, gone = named - set(record.methods), set(record.methods) - named - composed
    if lacking or gone or {Path(name).name for name in draft.elsewhere} != set(record.elsewhere):
        return "Candidates were added or taken away after the last run."
    if proposed != record.composed or (proposed and draft.breadth != record.breadth):
        return "Which candidates are proposed was changed after the last run."
    return ""


def named_labels(draft: Draft, first: str | None, methods: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of the candidates that a draft names."""
    made = read_methods(methods)
    if first is None:
        return tuple(map(repr, made))
    begun = read_method(first, "--first")
    return (repr(begun), *(repr(behind(begun, method)) for method in made))


def kept_candidates(draft: Draft, found: Latest) -> tuple[str, ...]:
    """Return the candidates of the last run that stay candidates, though the draft does not name them.

    They are those that were composed, for whatever bounds, and the one that the steward chose. The store has their
    figures, so that they cost nothing.
    """
    record = found.record
    if record is None or not found.figures_hold or not found.recoded_alike:
        return ()
    return tuple(
        label for label in record.methods if (draft.proposed and label in record.whys) or label == draft.choose
    )


def _other_wishes(draft: Draft, record: Record) -> str:
    """Say whether another candidate would be chosen, or be released in another way."""
    at_most = as_stated(draft.at_most), as_stated(record.at_most)
    for now, then in (at_most, (draft.at_least, record.at_least)):
        if by_key(now) != by_key(then):
            return f"The bounds were changed after the last run{_from_to(by_key(then), by_key(now))}."
    if draft.choose != record.choose:
        return "Another candidate was chosen after the last run."
    if any(getattr(draft, name) != getattr(record, name) for name in named("release")):
        return "What is done before a release was changed after the last run."
    return ""


def _from_to(then: Mapping[str, float], now: Mapping[str, float]) -> str:
    """Name the one bound that was moved, if it is one."""
    moved = [key for key in then if key in now and then[key] != now[key]]
    if len(moved) != 1 or then.keys() != now.keys():
        return ""
    about = read_measures(moved)[0].about
    was, is_now = (written(limit, about.unit) for limit in (then[moved[0]], now[moved[0]]))
    return f": {about.title} was {was} and is {is_now} now"


def by_key(bounds: Mapping[str, float]) -> dict[str, float]:
    """Name bounds by the measure that they are on, however it was written."""
    return {_key(name): limit for name, limit in bounds.items()}


def _keys(measures: Iterable[str]) -> set[str]:
    return {_key(name) for name in measures}


@cache
def _key(name: str) -> str:
    return repr(read_measures([name])[0])


def _repr_of_method(text: str | None) -> str | None:
    return None if text is None else repr(read_method(text, "--first"))
