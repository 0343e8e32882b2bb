"""``sfumato compare`` says yes or no to each bound: those said, or those of the sweep that wrote the file."""

import json
from pathlib import Path

from small_survey import run

ASKED = ("--measure", "DistanceLinkage", "--measure", "InformationLoss")


def swept(survey: Path, schema: Path, out: Path) -> Path:
    done = run(
        "sweep", survey, "--schema", schema, "--method", "RankSwapping(p=0.1)", *ASKED, "--risk", "DistanceLinkage",
        "--utility", "InformationLoss", "--at-most", "DistanceLinkage=90%", "--despite-audit", "--no-bootstrap",
        "--workers", 1, "--seed", 2**50, "--out", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.stdout
    return out / "release" / "survey.protected.csv"


def test_the_bounds_of_the_sweep_are_known_and_its_own_figures_agree(
    survey: Path, schema: Path, tmp_path: Path
) -> None:
    file = swept(survey, schema, tmp_path / "out")
    done = run("compare", survey, file, "--schema", schema, *ASKED)
    assert done.exit_code == 0
    assert "Keeps the bound of the sweep in" in done.stdout.replace("\n", " ") and "kept" in done.stdout
    summary = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    compared = json.loads(run("compare", survey, file, "--schema", schema, *ASKED, "--json").stdout)
    out = [c["after"] for c in summary["verdict"]["changes"] if c["what"] == "of the file that goes out"]
    own = {figure["text"] for figure in compared["candidates"][0]["figures"].values()}
    assert out and set(out) <= own  # what the sweep says of the file is what compare finds in it
    assert "Figures are means over 3 draws; the first of them is the file that goes out." in summary["verdict"]["basis"]


def test_a_bound_that_is_said_decides_and_a_broken_one_is_an_exit_code(
    survey: Path, schema: Path, tmp_path: Path
) -> None:
    words = ("compare", survey, survey, "--schema", schema, "--measure", "InformationLoss")
    broken = run(*words, "--at-most", "DistanceLinkage=5%", "--at-most", "InformationLoss=10")
    assert broken.exit_code == 1  # of the original itself every record is linked
    assert "Breaks 1 of 2 bounds: distance linkage disclosure (DLD) 100 %, at most 5 %." in " ".join(
        broken.stdout.split()
    )
    kept = run(*words, "--at-most", "InformationLoss=10")
    assert kept.exit_code == 0 and "Keeps the bound: information loss (IL) 0, at most 10." in " ".join(
        kept.stdout.split()
    )
    wrong = run(*words, "--at-least", "InformationLoss=10")
    assert wrong.exit_code == 2 and "is better when lower" in wrong.output


def test_without_bounds_nothing_is_said_of_them(survey: Path, schema: Path) -> None:
    done = run("compare", survey, survey, "--schema", schema, "--measure", "InformationLoss")
    assert done.exit_code == 0 and "bound" not in done.stdout
