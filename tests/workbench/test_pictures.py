"""The pictures of the how-to page: each is there, and can be made anew."""

import struct
import sys
from pathlib import Path

from pages import needs_browser

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
pytestmark = needs_browser


def size(path: Path) -> tuple[int, int]:
    """Return width and height of a PNG file."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return int(width), int(height)


def test_every_picture_of_the_page_is_made_anew(tmp_path: Path) -> None:
    import workbench_pictures

    page = (ROOT / "docs" / "how-to" / "workbench.md").read_text(encoding="utf-8")
    shown = set(workbench_pictures.named(page))
    taken = workbench_pictures.make(tmp_path, households=150)
    assert {path.name for path in taken} == shown
    for path in taken:
        kept = ROOT / "docs" / "img" / path.name
        assert size(kept) == size(path) == (workbench_pictures.WIDTH, workbench_pictures.HEIGHT)
        assert path.stat().st_size > 20_000  # more than an empty page
