"""What a command has masked and measured it does not mask or measure again."""

import json
from collections import Counter
from pathlib import Path

import pytest

from sfumato.catalogue import measures as known
from sfumato.core import Measure, Method
from small_survey import run


def test_a_second_identical_sweep_costs_rendering_only(
    survey: Path, schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "o"
    words = ["sweep", survey, "--schema", schema, "--out", out, "--workers", 1, "--replicates", 2, "--seed", 3]
    words += ["--method", "MDAV(k=[3, 10])", "--method", "Noise(scale=0.2)", "--at-most", "DistanceLinkage=90%"]
    assert run(*words).exit_code == 0
    first = {path.relative_to(out): path.read_bytes() for path in out.rglob("*.*")}
    for cls, name in ((Method, "protect"), (Measure, "evaluate_pair")):
        monkeypatch.setattr(cls, name, lambda *_, **__: pytest.fail("made again"))
    again = run(*words)
    assert again.exit_code == 0, again.output
    assert "removed the release" not in again.stderr
    for path in ("release/survey.protected.csv", "survey.protected.csv.provenance.json", "plots/map.png"):
        assert (out / path).read_bytes() == first[Path(path)]
    told, before = (json.loads(text) for text in ((out / "results.json").read_bytes(), first[Path("results.json")]))
    assert {**told, "run": None} == {**before, "run": None}
    monkeypatch.undo()
    (out / "release" / "survey.protected.csv").write_text("tampered with")
    assert run(*words).exit_code == 0
    assert (out / "release" / "survey.protected.csv").read_bytes() == first[Path("release/survey.protected.csv")]


def test_a_sweep_without_bootstrap_has_no_broad_bars(survey: Path, schema: Path, tmp_path: Path) -> None:
    words = ["sweep", survey, "--schema", schema, "--method", "MDAV(k=3)", "--workers", 1, "--replicates", 1]
    words += ["--at-most", "DistanceLinkage=90%", "--seed", 3]
    with_bars = json.loads(run(*words, "--out", tmp_path / "a", "--json").stdout)
    without = json.loads(run(*words, "--out", tmp_path / "b", "--no-bootstrap", "--json").stdout)
    assert with_bars["over_records"] and with_bars["detail"]["records"] == without["detail"]["records"]
    assert without["over_records"] == {} and without["resampling"] == []


def test_a_compare_measures_once(survey: Path, schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    masked = tmp_path / "masked.csv"
    run("protect", survey, "--on-undeclared", "accept", "--schema", schema, "--method", "MDAV(k=3)", "--out", masked)
    counted: Counter[str] = Counter()
    evaluate = Measure.evaluate_pair

    def counting(self: Measure, *args: object, **kwargs: object) -> object:
        counted[type(self).__name__] += 1
        return evaluate(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Measure, "evaluate_pair", counting)
    words = ("compare", survey, masked, "--schema", schema, "--report", tmp_path / "report", "--records", 3)
    assert run(*words).exit_code == 0
    # the risks that matter are measured of the original too, for before and after
    assert counted["GlobalDataUtility"] == 1 and max(counted.values()) == 2
    assert all(known()[name].about.purpose == "risk" for name, times in counted.items() if times == 2)
    counted.clear()
    named = ("--measure", "InformationLoss", "--measure", "RankInterval")
    two = run("compare", survey, masked, "--schema", schema, *named)
    assert two.exit_code == 0
    assert counted == {"InformationLoss": 1, "RankInterval": 2}  # and nothing that the terminal does not show
