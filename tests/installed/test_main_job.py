"""The main job where nothing but the wheel is installed, outside the source tree."""

import re
import shutil
from pathlib import Path

from plain_install import needs_wheel, ran

import sfumato

pytestmark = needs_wheel
ROOT = Path(__file__).parents[2]


def test_it_is_the_wheel_that_runs(tmp_path: Path) -> None:
    assert ran(tmp_path, "sfumato", "--version") == f"sfumato {sfumato.__version__}\n"
    where = ran(tmp_path, "python", "-c", "import sfumato; print(sfumato.__file__)")
    assert "plain/lib" in where and "src" not in Path(where).parts


def test_the_demo_ends_with_a_verdict_and_a_report_with_pictures(tmp_path: Path) -> None:
    printed = ran(tmp_path, "sfumato", "demo")
    assert "Publish: " in printed and "report.html" in printed
    page = (tmp_path / "sfumato-demo" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml;base64,") > 1 and "vegaEmbed" in page
    for name in ("plots/map.svg", "plots/map.png", "release/survey.protected.csv", "release/about.html"):
        assert (tmp_path / "sfumato-demo" / name).stat().st_size > 0, name


def test_the_tutorial_runs_as_it_stands(tmp_path: Path) -> None:
    """From inspect over sweep, report and compare to audit and protect."""
    for file in (ROOT / "tests" / "run_page.py", ROOT / "docs" / "tutorial.md"):
        shutil.copy(file, tmp_path)  # nothing of the source tree is in reach
    printed = ran(tmp_path, "python", "-W", "error", "run_page.py", "tutorial.md")
    assert printed.count("Publish: ") == 2  # for researchers, and for everybody
    report = (tmp_path / "sweep" / "report.html").read_text(encoding="utf-8")
    assert re.search(r"<h2[^>]*>", report) and "data:image/svg+xml;base64," in report
