"""The page on the shape of the project is short, and leads to files that exist; so do the pages for engineers."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sfumato import Measure, Method, registry
from sfumato.testing import amounts, checks

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
DOCS = ROOT / "docs"
ENGINEERS = [
    PAGE,
    ROOT / "CONTRIBUTING.md",
    DOCS / "tables-in-parts.md",
    DOCS / "release-safety.md",
    *sorted((DOCS / "decisions").glob("*.md")),
]
MOST_WORDS = 1_600
MIN_WORDS_OF_READING = 25  # as on the pages of the catalogue
NAMED = re.compile(r"`(?:src/sfumato/)?([\w./-]+(?:\.py|\.pyi|\.toml|\.md|\.txt)|(?:tests/|\w+/)[\w/]*)`")
EXAMPLES = {"schema.toml", "release/", "workbench/screens/NAME.py", "build/wheel/dist"}  # of users, of nobody, made


def lacking(text: str) -> list[str]:
    """Return the paths that a page names in backticks and that are neither in the package nor in the repository."""
    named = {name for name in NAMED.findall(text) if name not in EXAMPLES}
    return sorted(n for n in named if not (ROOT / "src" / "sfumato" / n).exists() and not (ROOT / n).exists())


def test_a_path_that_leads_nowhere_is_noticed() -> None:
    text = "`core.py`, `src/sfumato/core.py`, `pair/`, `tests/tiers.py`, `gone.py`, `risk/gone.py`, `gone/`"
    assert lacking(text) == ["gone.py", "gone/", "risk/gone.py"]


@pytest.mark.parametrize("page", ENGINEERS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_path_exists(page: Path) -> None:
    assert not lacking(page.read_text(encoding="utf-8"))


def test_the_page_is_read_in_ten_minutes() -> None:
    assert len(PAGE.read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_every_link_of_the_page_leads_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (ROOT / link).exists(), link


def test_what_is_printed_keeps_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    examples = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    made: list[type[Method] | type[Measure]] = []
    for place, code in enumerate(examples):
        printed = ModuleType(f"printed_{place}")
        monkeypatch.setitem(sys.modules, printed.__name__, printed)
        with monkeypatch.context() as entered:  # they are none of the catalogue
            entered.setattr(registry, "METHODS", {})
            entered.setattr(registry, "MEASURES", {})
            exec(compile(code, "CONTRIBUTING.md", "exec"), vars(printed))
            made += [*registry.METHODS.values(), *registry.MEASURES.values()]
    assert [cls.__name__ for cls in made] == ["MeanShift", "MultiplicativeNoise"]
    assert all(len(cls.about.reading.split()) >= MIN_WORDS_OF_READING for cls in made)
    for check in (check for cls in made for data in (None, amounts()) for check in checks(cls, data=data)):
        check()
