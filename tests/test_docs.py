"""The README and the documentation hold: every block runs, every link leads somewhere, the site builds."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from run_page import blocks
from sfumato import catalogue

ROOT = Path(__file__).parents[1]
README, TUTORIAL = ROOT / "README.md", ROOT / "docs" / "tutorial.md"
PAGES = {page.relative_to(ROOT).as_posix(): page for page in (README, *sorted((ROOT / "docs").rglob("*.md")))}
# they show figures of the survey, or need all of it for a release; elsewhere its first records will do
OF_ALL_RECORDS = {f"docs/how-to/{name}.md" for name in ("audit", "hierarchies", "nightly-run", "reports", "risk-now")}
OF_ALL_RECORDS |= {"README.md"}
METHODS, MEASURES = catalogue.methods(), catalogue.measures()


def code_of(page: Path) -> list[tuple[str, str, str]]:
    """Return the blocks of a page that run."""
    return blocks(page.read_text(encoding="utf-8"))


def executed(page: Path, folder: Path) -> str:
    """Run a page's blocks in a folder; return what they printed."""
    runner = Path(__file__).with_name("run_page.py")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(runner), str(page)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The two files that the tutorial makes and that all other pages start from."""
    folder = tmp_path_factory.mktemp("survey")
    made = [code for language, code, _ in code_of(TUTORIAL) if language == "python"][:2]
    page = folder / "start.md"
    page.write_text("".join(f"```python\n{code}```\n" for code in made), encoding="utf-8")
    executed(page, folder)
    return {name: (folder / name).read_text(encoding="utf-8") for name in ("survey.csv", "schema.toml")}


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page != TUTORIAL and code_of(page)])
def test_every_block_runs(name: str, survey: dict[str, str], tmp_path: Path) -> None:
    files = survey
    if name not in OF_ALL_RECORDS:
        files = {**survey, "survey.csv": "".join(survey["survey.csv"].splitlines(keepends=True)[:601])}
    for file, text in files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    executed(PAGES[name], tmp_path)


def test_the_tutorial_leads_from_nothing_to_a_verdict_and_a_protected_file(tmp_path: Path) -> None:
    printed = executed(TUTORIAL, tmp_path)
    assert "Publish: " in printed
    assert printed.count("Publish: ") == 2  # for researchers, and for everybody
    for name in (
        "report.html",
        "results.sqlite",
        "release/survey.protected.csv",
        "release/about.html",
        "plots/map.svg",
    ):
        assert (tmp_path / "sweep" / name).stat().st_size > 0, name


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere_and_stay_at_home(name: str) -> None:
    page, text = PAGES[name], PAGES[name].read_text(encoding="utf-8")
    assert "http:" not in text and "https:" not in text
    made = {f"methods/{name}.md" for name in METHODS} | {f"measures/{name}.md" for name in MEASURES} | {"index.md"}
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        where, generated, target = link.partition("catalogue/")
        if generated:  # made from the catalogue when the site is built
            assert target in made, link
            assert (page.parent / where).resolve() == ROOT / "docs", link
        else:
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_fixes_a_seed_says_that_a_release_must_not(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    if re.search(r"--seed \d|\bseed=\d", text):  # a seed that can be guessed undoes a random method
        assert "With real data leave it out: a seed is drawn that nobody can\nguess" in text


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    there = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES.values() if page != README]
    assert sorted(listed) == sorted([*there, "catalogue/index.md"])


@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("material") is None,
    reason="mkdocs and mkdocs-material are not installed",
)
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {page.parent.name for page in tmp_path.rglob("index.html")}
    assert pages >= {*METHODS, *MEASURES}
    for page in tmp_path.rglob("*.html"):  # nothing is fetched from elsewhere
        html = page.read_text(encoding="utf-8")
        assert not re.search(r"<(?:script|link|img|iframe)\b[^>]*https?:", html), page
