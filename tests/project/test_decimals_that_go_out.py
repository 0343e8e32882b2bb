"""What a sweep and ``sfumato protect`` write has the decimals of the original, and the figures are of just that."""

import re
import runpy
import shutil
from csv import DictReader
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import sfumato
from sfumato import Microdata
from sfumato.project.record import Record
from small_survey import run

SCHEMA = """\
[variables.day]
kind = "date"
role = "other"
format = "%Y-%m-%d"

[variables.pay]
kind = "numeric"
role = "confidential"

[variables.hours]
kind = "numeric"
role = "key"
"""
NUMBER = {"pay": r"-?\d+\.\d\d", "hours": r"-?\d+", "day": r"\d{4}-\d\d-\d\d"}


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    """A file with money in cents, whole hours and days."""
    rng = np.random.default_rng(7)
    table = pa.table(
        {
            "day": pa.array(np.datetime64("2020-01-01") + rng.integers(0, 900, 120)),
            "pay": [f"{pay:.2f}" for pay in rng.lognormal(8, 0.5, 120)],
            "hours": rng.integers(5, 60, 120),
        }
    )
    path = tmp_path / "staff.csv"
    csv.write_csv(table, path, csv.WriteOptions(quoting_style="none"))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return path


def lines(path: Path) -> list[dict[str, str]]:
    """The cells of a CSV file as they are written."""
    with path.open(newline="") as file:
        return list(DictReader(file))


@pytest.mark.parametrize("method", ["MDAV(3, variables=('pay', 'hours'))", "Noise(0.3, variables=('pay', 'hours'))"])
def test_a_sweep_writes_what_it_measured_and_makes_it_again(
    staff: Path, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    summary = sfumato.sweep(
        staff, tmp_path / "schema.toml", methods=[method], measures=["InformationLoss", "DistanceLinkage"],
        at_most={"DistanceLinkage": 1.0}, utility="InformationLoss", keep_order=True, despite_audit=True,
        bootstrap=False, workers=1, seed=2**50, replicates=1, out=out,
    )  # fmt: skip
    assert summary.verdict.publish
    released = lines(out / "release" / "staff.protected.csv")
    for name, form in NUMBER.items():
        assert all(re.fullmatch(form, row[name]) for row in released), name
    original = sfumato.read(staff, tmp_path / "schema.toml")
    record = Record.read(out)
    assert record is not None
    made = record.results(original, out)
    said = "rounded to the decimals of the original: pay to 2 decimals; hours to whole numbers"
    assert any(said in note for note in made.rows[0].notes) and said in (out / "report.md").read_text()
    written = Microdata.beside(original, csv.read_csv(out / "release" / "staff.protected.csv"))
    for measure in (sfumato.InformationLoss(), sfumato.DistanceLinkage()):  # of the very file that goes out
        again = measure.evaluate(original, written).value
        assert again == pytest.approx(made.rows[0].means[repr(measure)], rel=1e-12)

    beside = tmp_path / "again"
    beside.mkdir()
    shutil.copy(staff, beside)
    shutil.copy(out / "reproduce.py", beside)
    monkeypatch.chdir(beside)
    runpy.run_path("reproduce.py", run_name="__main__")
    file = Path("release") / "staff.protected.csv"
    assert (beside / "sweep" / file).read_bytes() == (out / file).read_bytes()


def test_protect_rounds_unless_the_table_is_asked_for_as_it_is(staff: Path, tmp_path: Path) -> None:
    said = ["protect", staff, "--schema", tmp_path / "schema.toml", "--method", "MDAV(3, variables=('pay', 'hours'))"]
    said += ["--seed", 2**50, "--keep-order", "--despite-audit"]
    assert run(*said, "--out", tmp_path / "rounded.csv").exit_code == 0
    assert run(*said, "--as-is", "--out", tmp_path / "exact.csv").exit_code == 0
    pairs = list(zip(lines(tmp_path / "rounded.csv"), lines(tmp_path / "exact.csv"), strict=True))
    assert {row["hours"] for row, _ in pairs} == {str(round(float(exact["hours"]))) for _, exact in pairs}
    assert any("." in exact["hours"] for _, exact in pairs)


def test_a_sweep_of_parts_writes_them_too(staff: Path, tmp_path: Path) -> None:
    table = sfumato.read(staff, tmp_path / "schema.toml").to_arrow()
    for number, cut in enumerate((40, 80)):
        (tmp_path / f"parts{number}").mkdir()
        parquet.write_table(table.slice(0, cut), tmp_path / f"parts{number}" / "a.parquet")
        parquet.write_table(table.slice(cut), tmp_path / f"parts{number}" / "b.parquet")
        done = run(
            "protect", tmp_path / f"parts{number}", "--schema", tmp_path / "schema.toml", "--method",
            "Noise(0.3, variables=('pay', 'hours'))", "--seed", 2**50, "--keep-order", "--despite-audit", "--out",
            tmp_path / f"made{number}",
        )  # fmt: skip
        assert done.exit_code == 0, done.output
    one, two = (parquet.read_table(tmp_path / f"made{number}") for number in (0, 1))
    assert one.equals(two) and one.schema.field("hours").type == pa.int64()
    pay = one["pay"].to_numpy()
    np.testing.assert_array_equal(pay, np.round(pay, 2))
