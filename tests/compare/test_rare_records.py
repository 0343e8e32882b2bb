"""A bound that no record may break, and a sample that saw none break it: the choice and the verdict are not sure."""

import math
from pathlib import Path

import pytest

from rare import rare
from scanned import scanned
from sfumato import Engine, Microdata, Reidentification, TableInParts, ValueDistance
from sfumato.compare.experiment import Experiment
from sfumato.compare.results import Results
from sfumato.compare.rows import half_width
from sfumato.report.summarise import summarise
from sfumato.report.verdict import basis_of

BEFORE, AFTER = rare(2_000, 4)
FOUND = Reidentification(variables=("x", "y"), above=0.2, sample=200)
ALL = Reidentification(variables=("x", "y"), above=0.2, sample=2_000)


def run(where: str, folder: Path, measure: Reidentification) -> Results:
    """Measure in memory or in parts, with the first seed whose sample sees no record at risk, if it is one."""
    before: Microdata | TableInParts = BEFORE
    after: Microdata | TableInParts = AFTER
    if where == "parts":
        before, after = scanned(BEFORE, folder / "original", 3), scanned(AFTER, folder / "protected", 3)
    with Engine("here"):
        for seed in range(20):
            found = Experiment(before, candidates={"p": after}, measures=[measure, ValueDistance()], seed=seed).run()
            if measure is ALL or found.rows[0].means[repr(measure)] == 0:
                return found
    raise AssertionError("each sample holds one of four records")


@pytest.mark.parametrize("where", ["memory", "parts"])
def test_a_sample_that_sees_nobody_does_not_show_that_nobody_is_found(where: str, tmp_path: Path) -> None:
    results = run(where, tmp_path, FOUND)
    row, key = results.rows[0], repr(FOUND)
    # 28.433 of 2,000 records may be found and missed by the sample: (1 - 200/2000)^28.433 = 0.05
    assert row.sampling[key] == pytest.approx(28.433 / 2_000 / 1.96, rel=1e-4)
    assert half_width(row, key) == pytest.approx(28.433 / 2_000, rel=1e-4)
    basis = basis_of(results, row)
    assert "is an estimate" in basis and "200 of 2,000 records, drawn at random, were looked for" in basis
    choice = results.choose(utility="ValueDistance", at_most={FOUND: 0.0})
    assert choice.chosen == "p" and choice.unsure == ("p",)
    assert "sure only where all records were looked for" in choice.sentence
    summary = summarise(results, risk=FOUND, utility=ValueDistance(), at_most={FOUND: 0.0})
    assert any(
        "by sample=2000, makes it sure" in said and "off by 1.422 %" in said for said in summary.verdict.warnings
    )
    # a bound far beyond what the sample leaves open is kept for sure, one within it is not
    assert results.choose(utility="ValueDistance", at_most={FOUND: 0.02}).unsure == ()
    near = results.choose(utility="ValueDistance", at_most={FOUND: 0.01})
    assert near.unsure == ("p",) and "all records" not in near.sentence


@pytest.mark.parametrize("where", ["memory", "parts"])
def test_all_records_looked_for_make_it_sure(where: str, tmp_path: Path) -> None:
    results = run(where, tmp_path, ALL)
    row, key = results.rows[0], repr(ALL)
    assert row.means[key] == 4 / 2_000 and row.sampling == {}
    assert math.isnan(row.errors[key]) or row.errors[key] == 0
    assert "estimate" not in basis_of(results, row)
    choice = results.choose(utility="ValueDistance", at_most={ALL: 0.0})
    assert choice.chosen is None and choice.unsure == ()


def test_one_record_seen_breaks_a_bound_that_none_may_break() -> None:
    with Engine("here"):
        for seed in range(20):
            measures = [FOUND, ValueDistance()]
            results = Experiment(BEFORE, candidates={"p": AFTER}, measures=measures, seed=seed).run()
            if results.rows[0].means[repr(FOUND)] > 0:
                break
    choice = results.choose(utility="ValueDistance", at_most={FOUND: 0.0})
    assert choice.chosen is None and choice.unsure == ()
    assert results.choose(utility="ValueDistance", at_most={FOUND: 0.01}).unsure == ("p",)
