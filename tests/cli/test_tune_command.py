import json
from pathlib import Path

import pytest

from sfumato.project.tables import provenance_path
from small_survey import run, write_schema, write_survey


@pytest.fixture
def words(tmp_path: Path) -> list[object]:
    return ["tune", write_survey(tmp_path), "--schema", write_schema(tmp_path), "--workers", 1, "--seed", 1]


def test_tune_says_what_it_found_and_writes_the_table(words: list[object], tmp_path: Path) -> None:
    out = tmp_path / "masked.csv"
    ask = [*words, "--method", "MDAV", "--at-most", "DistanceLinkage=30%", "--out", out]
    found = run(*ask)
    assert found.exit_code == 0
    assert "Distance linkage disclosure (DLD) at most 30 %" in " ".join(found.stdout.split())
    assert out.exists() and provenance_path(out).exists()
    assert "--force" in run(*ask).stderr  # never overwritten unasked
    told = json.loads(run(*ask, "--force", "--json").stdout)
    assert told["keeps"] and told["method"].startswith("MDAV(k=")


def test_the_table_written_has_the_figures_noted_beside_it(words: list[object], tmp_path: Path) -> None:
    from sfumato import DistanceLinkage, read, read_schema

    out = tmp_path / "masked.csv"
    bound = ["--at-most", "DistanceLinkage=40%", "--budget", 20, "--out", out]
    assert run(*words, "--method", "Noise", "--between", 0.1, 2, *bound).exit_code == 0
    schema = read_schema(tmp_path / "survey.toml")
    again = DistanceLinkage().evaluate(read(tmp_path / "survey.csv", schema), read(out, schema)).value
    noted = json.loads(provenance_path(out).read_text())["figures"]["DistanceLinkage()"]
    assert again == pytest.approx(noted, abs=0.02)  # the file holds rounded numbers


CHAIN = ["--method", "TopBottomCoding(share=0.05) + RankSwapping(p=0.1)"]


def test_a_chain_is_tuned_over_several_parameters_at_once(words: list[object], tmp_path: Path) -> None:
    out = tmp_path / "masked.csv"
    over = ["--parameter", "TopBottomCoding.share=0.01:0.1", "--parameter", "p=0.02:0.3"]
    bounds = ["--at-most", "DistanceLinkage=60%", "--at-most", "RankInterval=90%"]
    found = run(*words, *CHAIN, *over, *bounds, "--budget", 20, "--replicates", 2, "--out", out, "--json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["keeps"] and told["tables"] <= 20 and out.exists()
    assert list(told["values"]) == ["TopBottomCoding.share", "p"]
    assert told["method"] in {row["candidate"] for row in told["tried"]} and told["frontier"]


def test_one_parameter_of_a_chain_is_tuned_alone(words: list[object]) -> None:
    found = run(*words, *CHAIN, "--parameter", "RankSwapping.p=0.02:0.3", "--at-most", "RankInterval=60%", "--json")
    told = json.loads(found.stdout)
    assert told["keeps"] and told["method"].startswith("TopBottomCoding(share=0.05) + RankSwapping(p=")


def test_a_bound_out_of_reach_is_exit_code_1_and_nothing_is_written(words: list[object], tmp_path: Path) -> None:
    out = tmp_path / "masked.csv"
    found = run(*words, "--method", "MDAV", "--between", 3, 5, "--at-most", "RankInterval=0.1%", "--out", out)
    assert found.exit_code == 1
    assert "No value of k" in found.stdout
    assert not out.exists()


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (["--method", "MDAV"], "tune needs a bound"),
        (["--method", "DistanceLinkage", "--at-most", "DistanceLinkage=5%"], "is not a method"),
        (["--method", "MDAV(k=[3, 4])", "--at-most", "DistanceLinkage=5%"], "stands for 2"),
        (["--method", "MDAV", "--over", "q", "--at-most", "DistanceLinkage=5%"], "MDAV has the parameters k"),
        ([*CHAIN, "--at-most", "DistanceLinkage=5%"], "say which parameter of the chain"),
        ([*CHAIN, "--parameter", "p=high", "--at-most", "DistanceLinkage=5%"], "must be a name and a range"),
        ([*CHAIN, "--parameter", "p=0.1:0.2", "--over", "p", "--at-most", "DistanceLinkage=5%"], "not both"),
    ],
)
def test_what_cannot_be_is_exit_code_2(words: list[object], rest: list[str], message: str) -> None:
    refused = run(*words, *rest)
    assert refused.exit_code == 2
    assert message in refused.stderr


def test_a_sweep_can_choose_the_least_risk(words: list[object], tmp_path: Path) -> None:
    ask = ["sweep", *words[1:], "--method", "MDAV(k=[3, 10])", "--measure", "InformationLoss", "--least-risk"]
    assert "--least-risk needs a bound on utility" in run(*ask, "--out", tmp_path / "a").stderr
    found = run(*ask, "--at-most", "InformationLoss=100000", "--out", tmp_path / "a", "--json")
    assert found.exit_code == 0
    told = json.loads(found.stdout)
    assert "has the lowest Distance linkage disclosure" in told["sentence"]
    assert told["question"].count("has the least distance linkage disclosure") == 1
