"""Files of the project's folder that a page leads to: reports, plots, the release, the scripts."""

import mimetypes
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

# what a reader may be led to; the original, the store, the journal and the seed are not among them
PLACES = ("report.html", "report.md", "results.json", "schema.toml", "decision.json", "reproduce.sh", "reproduce.py")
FOLDERS = ("release", "plots")
# a page of ours with scripts inside it: it runs as if it came from nowhere, so that it reaches nothing of this server
APART = (
    "sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "frame-ancestors 'none'"
)


def served(folder: Path, place: str) -> Response:
    """Return a file by its place in the folder; refuse any that no page leads to."""
    parts = place.split("/")
    known = place in PLACES or (len(parts) == 2 and parts[0] in FOLDERS)
    path = folder.joinpath(*parts)
    if not known or any(part in ("", ".", "..") or "\\" in part or "\x00" in part for part in parts):
        raise HTTPException(404)
    if path.is_symlink() or not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
        raise HTTPException(404)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    shown = path.suffix in (".html", ".png", ".svg")
    headers = {"content-security-policy": APART} if path.suffix in (".html", ".svg") else {}
    disposition = "inline" if shown else "attachment"
    return FileResponse(
        path, media_type=kind, headers=headers, filename=path.name, content_disposition_type=disposition
    )
