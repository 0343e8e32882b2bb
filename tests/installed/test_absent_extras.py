"""What a plain install says where an extra is absent: which one, and how to get it."""

from pathlib import Path

import pytest
from plain_install import needs_wheel, ran

pytestmark = needs_wheel
SURVEY = "region,income\n" + "".join(f"{'NSEW'[i % 4]},{1000 + 37 * i % 911}\n" for i in range(60))


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("open", "survey.csv"), "workbench"),
        (("protect", "survey.csv", "--on-undeclared", "accept", "--method", "JPEG(80)"), "jpeg"),
        (("inspect", "survey.xlsx"), "excel"),
        (("inspect", "survey.sav"), "labelled"),
        (("inspect", "survey.rds"), "r"),
        (("study", "woo", "--records", "100"), "charts"),
    ],
)
def test_a_command_names_the_extra(words: tuple[str, ...], extra: str, tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text(SURVEY)
    for name in ("survey.xlsx", "survey.sav", "survey.rds"):
        (tmp_path / name).write_bytes(b"never read")
    said = " ".join(ran(tmp_path, "sfumato", *words, code=2).split())
    assert f"sfumato[{extra}]" in said


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("sfumato.plot(sfumato.InformationLoss().evaluate(t, t))", "charts"),
        ("sfumato.Engine('dask://127.0.0.1:1').__enter__()", "dask"),
        ("sfumato.IntervalOverlap('income ~ log(income + 1)').evaluate(t, t)", "models"),
    ],
)
def test_python_names_the_extra(code: str, extra: str, tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text(SURVEY)
    program = (
        "import sfumato\n"
        "t = sfumato.read('survey.csv')\n"
        f"try:\n    {code}\nexcept sfumato.SfumatoError as refused:\n    print(refused)\n"
    )
    assert f"sfumato[{extra}]" in ran(tmp_path, "python", "-c", program)


def test_a_sweep_that_names_jpeg_tells_why_in_its_row(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text(SURVEY)
    words = ("--method", "JPEG(80)", "--method", "RankSwapping(0.1)", "--measure", "InformationLoss", "--seed", 1)
    said = ran(tmp_path, "sfumato", "sweep", "survey.csv", "--out", "sweep", *words, code=1)
    assert "sfumato[jpeg]" in " ".join(said.split())
    assert (tmp_path / "sweep" / "report.html").stat().st_size > 0
