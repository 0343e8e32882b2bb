"""Screen 12, Release: what goes out, what stays inside, and the scripts that make it again."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.project.scripts import PYTHON, SHELL
from sfumato.project.tables import digest
from sfumato.workbench.desk import Desk, stamp
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import Latest, latest, signature
from sfumato.workbench.screens.screen import Refused, SameCommand, Screen

INSIDE = {
    "report.html": "internal report: every figure, the map, the records at risk",
    "results.json": "the same as data",
    SHELL: "the whole as a shell script, with the seed",
    PYTHON: "the whole as a Python script, with the seed",
    "decision.json": "who approved, and why",
    "schema.toml": "what the variables are and who the intruders are",
}
OUTSIDE = {
    "about.html": "page for its users: what was done in general, what not to do with the file",
    "about.md": "the same as Markdown",
    "about.json": "the same as data",
}


@dataclass(frozen=True)
class ListedFile:
    """One file, as the page shows it."""

    place: str
    name: str
    words: str
    size: str
    sha256: str = ""


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """List what goes out and what stays."""
    found = latest(desk, draft)
    released, names, earlier = _in_release(desk, found)
    return {
        "found": found,
        "summary": found.summary,
        "decision": signature(desk, found.summary),
        "earlier": earlier,
        "outside": [
            _listed(desk, f"release/{name}", OUTSIDE.get(name, "the protected file"), hashed=name not in OUTSIDE)
            for name in sorted(names, key=lambda name: (name != released, name in OUTSIDE, name))
        ],
        "inside": [_listed(desk, name, words) for name, words in INSIDE.items() if (desk.folder / name).is_file()],
        "shell": _text(desk.folder / SHELL),
        "python": _text(desk.folder / PYTHON),
        "place": str(desk.folder / "release"),
    }


def _in_release(desk: Desk, found: Latest) -> tuple[str, list[str], list[str]]:
    """Return the name of the protected file, all names that go out, and those that an earlier run left there."""
    folder = desk.folder / "release"
    names = sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    released = found.summary.released if found.summary is not None else ""
    earlier = [name for name in names if found.summary is not None and name != released and name not in OUTSIDE]
    return released, [name for name in names if name not in earlier], earlier


def download(desk: Desk, draft: Draft, query: Mapping[str, str]) -> tuple[str, bytes]:
    """Return all that goes out as one zip; the same files give the same bytes. Nothing else of the folder is in it."""
    _, names, _ = _in_release(desk, latest(desk, draft))
    if not names:
        raise Refused("", "there is no release yet")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name in names:
            path = desk.folder / "release" / name
            if path.is_symlink():
                raise Refused("", f"{name} in the release leads elsewhere; take it out")
            packed.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return f"{desk.folder.stem}-release.zip", content.getvalue()


def _listed(desk: Desk, place: str, words: str, *, hashed: bool = False) -> ListedFile:
    path = desk.folder / place
    size = path.stat().st_size
    shown = f"{size / 1024**2:,.1f} MB" if size >= 1024**2 else f"{max(size / 1024, 0.1):,.1f} kB"
    sha = desk.kept("sha256", f"{path} {stamp(path)}", lambda: digest(path)) if hashed else ""
    return ListedFile(place, path.name, words, shown, sha)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say how the release is made again."""
    if not (desk.folder / SHELL).is_file():
        return None
    return SameCommand(f"sh {SHELL}", f"# python {PYTHON}\n\n{_text(desk.folder / PYTHON)}")


SCREEN = Screen(
    slug="release",
    title="Release",
    why="What goes out is the protected file and the page for its users. All else stays inside the house.",
    practice="send the file and its page, keep the report, the note and the scripts; make the next release of this "
    "survey from this one.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=lambda desk, draft: False,
    same=same,
    download=download,
)
