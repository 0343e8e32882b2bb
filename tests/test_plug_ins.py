"""Classes of an installed package: in the catalogue, on the command line and in the report, held to the contract."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato

MODULE = '''
import numpy as np

from sfumato import Measure, MeasureAbout, Method, MethodAbout, catalogued


@catalogued(
    MeasureAbout(
        title="Mean shift in standard deviations", source="our own", purpose="utility", better="lower",
        range=(0.0, float("inf")), missing="left out", paired=False, parts="summaries",
    )
)
class MeanShift(Measure):
    """Largest shift of a mean, in standard deviations of the original."""

    def compute(self, pair, rng):
        names, notes = self.shared(pair)
        before, after = pair.original.moments(names), pair.protected.moments(names)
        gaps = abs(before.mean - after.mean) / np.where(before.spread > 0, before.spread, 1.0)
        return self.measurement(gaps.max(), by_variable=dict(zip(names, gaps.tolist())), notes=notes)


@catalogued(MethodAbout(title="Shift", source="our own", missing="stays missing", random=False, grid={"by": (1.0,)}))
class Shift(Method):
    """Adds a constant."""

    by: float = 1.0

    def apply(self, data, rng):
        return data.replace({name: data.columns[name] + self.by for name in self.masked(data)})
'''
DECLARED = """
[sfumato.measures]
MeanShift = shifts:MeanShift
[sfumato.methods]
Shift = shifts:Shift
"""


def installed(folder: Path, module: str, declared: str) -> dict[str, str]:
    """Lay a package out as an installer would, and return the environment in which it is found."""
    (folder / "shifts.py").write_text(module)
    info = folder / "shifts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shifts\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(declared)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(Path(sfumato.__file__).parents[1])])}


def run(environment: dict[str, str], *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    from sfumato.testing import amounts

    sfumato.write(amounts(60), tmp_path / "original.csv")
    sfumato.write(sfumato.Noise(0.2).protect(amounts(60), rng=1), tmp_path / "protected.csv")
    return tmp_path


def test_an_installed_class_is_on_the_command_line_and_in_the_report(files: Path, tmp_path: Path) -> None:
    environment = installed(tmp_path, MODULE, DECLARED)
    listed = run(environment, "-m", "sfumato", "measures", "MeanShift", cwd=files)
    assert listed.returncode == 0 and "Mean shift in standard deviations" in listed.stdout, listed.stderr
    named = ("--measure", "MeanShift", "--report", "report")
    compared = run(environment, "-m", "sfumato", "compare", "original.csv", "protected.csv", *named, cwd=files)
    assert compared.returncode == 0, compared.stderr
    assert "Mean shift in standard deviations" in (files / "report" / "report.html").read_text()
    sweep = ("--method", "Shift(by=[1.0, 5.0])", "--measure", "RankInterval", "--no-bootstrap", "--replicates", "1")
    swept = run(
        environment, "-m", "sfumato", "sweep", "original.csv", *sweep, "--utility", "MeanShift", "--risk",
        "RankInterval", "--at-most", "RankInterval=100%", "--seed", "1", "--on-undeclared", "accept", cwd=files,
    )  # fmt: skip
    assert swept.returncode == 0, swept.stderr
    assert "Shift(by=" in swept.stdout


def test_an_installed_class_can_be_held_to_the_contract(tmp_path: Path) -> None:
    environment = installed(tmp_path, MODULE, DECLARED)
    program = "import sfumato.testing, shifts\nfor c in (shifts.MeanShift, shifts.Shift):\n    for k in "
    done = run(environment, "-c", program + "sfumato.testing.checks(c): k()", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_one_that_cannot_be_loaded_is_left_out_and_said(tmp_path: Path) -> None:
    environment = installed(tmp_path, "import no_such_library", DECLARED)
    done = run(environment, "-m", "sfumato", "measures", cwd=tmp_path)
    assert done.returncode == 0 and "KAnonymity" in done.stdout
    assert "'MeanShift' of shifts cannot be loaded and is left out: ModuleNotFoundError" in done.stderr


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    taken = MODULE.replace("class Shift", "class Noise").replace("class MeanShift", "class KAnonymity")
    environment = installed(tmp_path, taken, DECLARED.replace(":MeanShift", ":KAnonymity"))
    done = run(environment, "-m", "sfumato", "measures", cwd=tmp_path)
    assert done.returncode != 0
    assert "shifts declares a KAnonymity, which sfumato.risk.k_anonymity has already" in done.stderr
