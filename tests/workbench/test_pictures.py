"""The pictures of the how-to page: each is there, and can be made anew."""

import importlib.util
import struct
from pathlib import Path
from types import ModuleType

from pages import needs_browser

ROOT = Path(__file__).parents[2]
pytestmark = needs_browser


def size(path: Path) -> tuple[int, int]:
    """Return width and height of a PNG file."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return int(width), int(height)


def script() -> ModuleType:
    """Load the script that makes them, which stands beside the pages."""
    place = importlib.util.spec_from_file_location("workbench_pictures", ROOT / "docs" / "workbench_pictures.py")
    assert place is not None and place.loader is not None
    loaded = importlib.util.module_from_spec(place)
    place.loader.exec_module(loaded)
    return loaded


def test_every_picture_of_the_page_is_made_anew(tmp_path: Path) -> None:
    workbench_pictures = script()
    page = (ROOT / "docs" / "how-to" / "workbench.md").read_text(encoding="utf-8")
    shown = set(workbench_pictures.named(page))
    taken = workbench_pictures.make(tmp_path, households=150)
    assert {path.name for path in taken} == shown
    for path in taken:
        kept = ROOT / "docs" / "img" / path.name
        assert size(kept) == size(path) == (workbench_pictures.WIDTH, workbench_pictures.HEIGHT)
        assert path.stat().st_size > 20_000  # more than an empty page
