"""Statements judged with several seeds: by hand, and that those known to change are statements of the studies."""

import math

import pytest

from sfumato import ParameterError, studies
from sfumato.studies import karr, woo
from sfumato.studies.domingo import findings
from sfumato.studies.study import CHANGING, SEEDS, Figure, Finding, Line, Study, over_seeds, unsettled


def made_up(seed: int, *found: Finding, name: str = "woo") -> Study:
    return Study(
        name=name,
        title="A toy",
        source="Nobody (2001)",
        setting=(),
        columns=(),
        lines=(),
        findings=found,
        seed=seed,
        replicates=1,
        seconds=2.0,
        versions={},
        fingerprint="",
    )


def test_a_verdict_that_seeds_do_not_share_is_not_given() -> None:
    runs = [
        made_up(
            seed,
            Finding("always", True, f"a{seed}"),
            Finding("never", False, "b"),
            Finding("sometimes", seed != 3, f"place {seed}"),
            Finding("unjudged", None, "c"),
        )
        for seed in (2, 3, 4)
    ]
    joined = over_seeds(runs)
    always, never, sometimes, unjudged = joined.findings
    assert (always.holds, always.changes, always.detail) == (True, False, "a2; the same verdict with 3 seeds")
    assert (never.holds, never.changes) == (False, False)
    assert (sometimes.holds, sometimes.changes) == (None, True)
    assert "it holds with 2 of 3 (2 and 4)" in sometimes.detail
    assert "where it holds: place 2; where it does not: place 3" in sometimes.detail
    assert unjudged == Finding("unjudged", None, "c")
    assert joined.seconds == 6.0 and "seeds 2, 3 and 4; figures are of seed 2" in joined.setting[-1]


def test_with_one_seed_those_known_to_change_get_no_verdict() -> None:
    known, held = next(iter(CHANGING["woo"].items()))
    study = unsettled(made_up(0, Finding(known, True, "in 2 of 4"), Finding("another", True, "")))
    doubted, kept = study.findings
    assert (doubted.holds, doubted.changes) == (None, True)
    assert doubted.detail == f"in 2 of 4; the verdict changes with the seed: it held with {held} of 5"
    assert kept == Finding("another", True, "")


def test_those_known_to_change_are_statements_of_the_studies() -> None:
    assert set(CHANGING) == set(studies.names())
    assert all(0 < held < SEEDS for known in CHANGING.values() for held in known.values())
    assert set(CHANGING["woo"]) <= {statement.text for statement in woo.STATEMENTS}
    flat = {column: Figure(0.5, 0.1, math.nan) for column in karr.COLUMNS}
    lines = [
        Line(f"{name} {variables}: {method}", method, "", flat)
        for name in karr.CENTRES
        for variables in karr.DIMENSIONS
        for method in karr.METHODS
    ]
    assert set(CHANGING["karr"]) <= {finding.statement for finding in karr.of_simulation(lines, 5)}
    from test_domingo import made_up as rows

    said = {finding.statement for finding in findings(rows(), printed=True, replicates=5)}
    assert set(CHANGING["domingo"]) <= said


def test_a_study_with_two_seeds() -> None:
    study = studies.run("kocar", records=60, seeds=2)
    assert "seeds 0 and 1" in study.setting[-1]
    judged = [finding for finding in study.findings if finding.holds is not None]
    assert judged and all("the same verdict with 2 seeds" in finding.detail for finding in judged)
    assert all(finding.holds is None for finding in study.findings if finding.changes)
    with pytest.raises(ParameterError, match="seeds must be at least 1"):
        studies.run("kocar", records=60, seeds=0)
