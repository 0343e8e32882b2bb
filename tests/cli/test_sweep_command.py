"""The command sweep: reports, choices, mixed candidates, what goes out."""

import json
from pathlib import Path

import pytest

import sfumato
from small_survey import run


def test_sweep_reports_chooses_and_continues(survey: Path, schema: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    words = ["sweep", survey, "--schema", schema, "--out", out, "--workers", 1, "--replicates", 2]
    words += ["--method", "MDAV(k=[3, 10])", "--method", "Noise(scale=0.2)", "--at-most", "DistanceLinkage=90%"]
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Publish: ") and len(result.output.splitlines()) <= 40
    assert "3 candidates, " in result.stdout and str(out / "report.html") in result.stdout
    for name in (
        "report.html",
        "results.json",
        "results.sqlite",
        "plots/map.png",
        "release/survey.protected.csv",
        "seed",
    ):
        assert (out / name).is_file()
    first = json.loads((out / "results.json").read_text())
    masked = (out / "release" / "survey.protected.csv").read_bytes()
    again = run(*words, "--json")  # the seed is remembered, so the figures are those of the store
    assert json.loads(again.stdout)["candidates"] == first["candidates"]
    assert (out / "release" / "survey.protected.csv").read_bytes() == masked
    assert (
        json.loads((out / "survey.protected.csv.provenance.json").read_text())["method"]
        == first["sentence"].split(" ")[0]
    )


def test_the_table_of_a_sweep_is_that_of_protect_with_its_seed(survey: Path, tmp_path: Path) -> None:
    out, alone = tmp_path / "release", tmp_path / "alone.csv"
    method = ("--method", "Noise(scale=0.2)", "--seed", 12, "--on-undeclared", "accept")
    bound = ("--at-most", "DistanceLinkage=1", "--workers", 1, "--replicates", 1)
    assert run("sweep", survey, *method, *bound, "--out", out).exit_code == 0
    assert run("protect", survey, "--on-undeclared", "accept", *method, "--out", alone).exit_code == 0
    assert (out / "release" / "survey.protected.csv").read_bytes() == alone.read_bytes()


def test_sweep_takes_files_protected_elsewhere(survey: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    run("protect", survey, "--on-undeclared", "accept", "--method", "MDAV(k=4)", "--out", other)
    words = ("sweep", survey, "--method", "MDAV(k=4)", "--candidate", other, "--workers", 1, "--out", tmp_path / "o")
    lines = json.loads(run(*words, "--json").stdout)["candidates"]
    mine, theirs = (next(line for line in lines if line["label"] == name) for name in ("MDAV(k=4)", "other.csv"))
    assert theirs["family"] == "protected elsewhere"
    assert theirs["figures"]["InformationLoss()"]["value"] == pytest.approx(
        mine["figures"]["InformationLoss()"]["value"]
    )


def test_sweep_where_nothing_keeps_the_bound_leaves_with_1(survey: Path, tmp_path: Path) -> None:
    words = ("sweep", survey, "--method", "MDAV(k=2)", "--workers", 1, "--out", tmp_path / "o")
    result = run(*words, "--at-most", "DistanceLinkage=0")
    assert result.exit_code == 1
    assert "Do not publish: no candidate keeps the bounds" in result.stdout
    assert "is not reached" in result.stdout and "--breadth 3" in result.stdout
    assert (tmp_path / "o" / "report.html").is_file()
    assert not (tmp_path / "o" / "release").exists()


def test_a_bound_that_the_original_keeps_is_said_before_anything_is_protected(survey: Path, tmp_path: Path) -> None:
    words = ("sweep", survey, "--method", "MDAV(k=3)", "--workers", 1, "--out", tmp_path / "o")
    result = run(*words, "--at-most", "DistanceLinkage=1", "--on-undeclared", "accept")
    assert result.exit_code == 0
    assert "the original keeps the bound on DistanceLinkage()" in result.stderr
    assert "asks for nothing" in result.stdout
    said = json.loads((tmp_path / "o" / "results.json").read_text())
    assert any("asks for nothing" in warning for warning in said["verdict"]["warnings"])
    assert said["original"]["figures"]["DistanceLinkage()"]["value"] > 0.5


def test_sweep_names_the_candidates_that_failed(survey: Path, tmp_path: Path) -> None:
    words = ("sweep", survey, "--method", "MDAV(k=[3, 500])", "--workers", 1, "--out", tmp_path / "o")
    result = run(*words)
    assert result.exit_code == 1
    assert "MDAV(k=500) lacks a figure" in result.stderr


def test_one_sweep_mixes_numbers_categories_chains_samples_and_synthesis(tmp_path: Path) -> None:

    survey, out = sfumato.household_survey(80), tmp_path / "sweep"
    sfumato.write(survey, tmp_path / "survey.csv")
    sfumato.write_schema(survey, tmp_path / "schema.toml")
    methods = (
        "RankSwapping(p=0.1)",
        "PRAM(retention=[0.9, 0.5])",
        "GlobalRecoding(groups=3, rare=0.1) + LocalSuppression(k=2) + MDAV(k=3)",
        "Sampling(0.5)",
        "CARTSynthesis()",
    )
    words: list[object] = [word for method in methods for word in ("--method", method)]
    words += ["--risk", "DiSCO", "--utility", "GlobalDataUtility", "--measure", "KAnonymity"]
    words += ["--at-most", "DiSCO=90%", "--replicates", 1, "--seed", 1, "--workers", 1, "--out", out]
    result = run("sweep", tmp_path / "survey.csv", "--schema", tmp_path / "schema.toml", *words)
    assert result.exit_code == 0, result.output
    told = json.loads((out / "results.json").read_text())
    assert len(told["candidates"]) == 6
    on = [line["label"] for line in told["candidates"] if line["on_frontier"]]
    assert on and "spec-map" in (out / "report.html").read_text()
    # the same from Python: seeds go by the names of the methods, so the figures are the same
    made = [m for text in methods for m in sfumato.catalogue.parse(text) if isinstance(m, sfumato.Method)]
    measures = [sfumato.DiSCO(), sfumato.GlobalDataUtility(), sfumato.KAnonymity()]
    data = sfumato.read(tmp_path / "survey.csv", tmp_path / "schema.toml")
    results = sfumato.Experiment(data, made, measures, seed=1).run()
    assert set(results.frontier(risk="DiSCO", utility="GlobalDataUtility").on) == set(on)


def test_a_sweep_in_which_all_fail_still_reports(survey: Path, tmp_path: Path) -> None:
    words = ("sweep", survey, "--method", "MDAV(k=500)", "--workers", 1, "--out", tmp_path / "o")
    result = run(*words, "--at-most", "DistanceLinkage=5%")
    assert result.exit_code == 1
    assert (tmp_path / "o" / "report.html").is_file()
    assert not (tmp_path / "o" / "plots" / "map.png").exists()


def test_another_map_brings_only_its_own_measures(survey: Path, schema: Path, tmp_path: Path) -> None:
    words = ("sweep", survey, "--schema", schema, "--method", "MDAV(k=3)", "--replicates", 1, "--workers", 1)
    axes = ("--risk", "RankInterval", "--utility", "CDFMaximum", "--out", tmp_path / "o")
    assert run(*words, *axes).exit_code == 0
    told = json.loads((tmp_path / "o" / "results.json").read_text())
    assert {measure["name"] for measure in told["measures"]} == {"RankInterval", "CDFMaximum"}


def test_a_release_holds_nothing_that_names_the_units(tmp_path: Path) -> None:

    survey, out = sfumato.household_survey(60), tmp_path / "sweep"
    sfumato.write(survey, tmp_path / "survey.csv")
    sfumato.write_schema(survey, tmp_path / "schema.toml")
    words = ("--method", "MDAV(k=3)", "--at-most", "DistanceLinkage=100%", "--replicates", 1, "--workers", 1)
    result = run("sweep", tmp_path / "survey.csv", "--schema", tmp_path / "schema.toml", *words, "--out", out)
    assert result.exit_code == 0, result.output
    header = (out / "release" / "survey.protected.csv").read_text().splitlines()[0].split(",")
    assert "person" not in header and "weight" in header
    told = json.loads((out / "results.json").read_text())
    assert not any("person" in caution for caution in told["cautions"])
