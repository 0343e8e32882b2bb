"""What goes out as wheel and source distribution: all that is needed, and nothing else."""

import subprocess
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

from plain_install import distribution, needs_wheel

import sfumato

pytestmark = needs_wheel
ROOT = Path(__file__).parents[2]


def tracked(*under: str) -> set[str]:
    """Return the files that the project keeps under version control."""
    found = subprocess.run(["git", "ls-files", *under], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(found.stdout.split("\n")) - {""}


def test_the_wheel_is_the_package_and_what_is_said_of_it() -> None:
    with zipfile.ZipFile(distribution("whl")) as wheel:
        held = set(wheel.namelist())
    about = f"sfumato-{sfumato.__version__}.dist-info"
    assert {name for name in held if not name.startswith(about)} == {
        name.removeprefix("src/") for name in tracked("src")
    }
    assert {name for name in held if name.startswith(about)} == {
        f"{about}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }


def test_what_is_no_program_is_in_the_wheel() -> None:
    with zipfile.ZipFile(distribution("whl")) as wheel:
        held = set(wheel.namelist())
    for needed in (
        "sfumato/py.typed",
        "sfumato/__init__.pyi",
        "sfumato/report/templates/report.html.j2",
        "sfumato/workbench/static/htmx.min.js",
        "sfumato/workbench/templates/recode.html.j2",
    ):
        assert needed in held, needed


def test_the_metadata_are_those_of_the_project() -> None:
    with zipfile.ZipFile(distribution("whl")) as wheel:
        said = message_from_string(wheel.read(f"sfumato-{sfumato.__version__}.dist-info/METADATA").decode())
    assert said["Name"] == "sfumato" and said["Version"] == sfumato.__version__
    assert said["License-Expression"] == "BSD-3-Clause" and said["Requires-Python"] == ">=3.11"
    plain = [need for need in said.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert not any(need.startswith(("altair", "pillow", "pandas", "polars", "starlette")) for need in plain), plain


def test_the_source_distribution_holds_what_tests_and_documentation_need() -> None:
    with tarfile.open(distribution("tar.gz")) as sources:
        held = {Path(*Path(name).parts[1:]).as_posix() for name in sources.getnames()}
    wanted = tracked("src", "tests", "docs", "benchmarks", "*.md", "LICENSE", "CITATION.cff", "Makefile", "mkdocs.yml")
    assert {name for name in wanted if (ROOT / name).is_file()} <= held
    assert held - tracked() == {"PKG-INFO"}
