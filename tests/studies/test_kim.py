"""The study of Kim and Park with few repetitions, and the sampling it rests on."""

import numpy as np
import pytest

from sfumato.studies import kim


def test_by_theory_units_are_drawn_with_their_probabilities() -> None:
    units = {"income": np.array([1.0, 2.0, 3.0, 4.0, 30.0])}
    # three of five: 30 is certain (3 * 30 / 40 > 1), the others share two: 2 * (1, 2, 3, 4) / 10
    expected = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
    np.testing.assert_allclose(kim.inclusion_probabilities(units["income"], 3), expected)
    rng = np.random.default_rng(0)
    drawn = [kim.sample(units, 3, rng) for _ in range(4000)]
    shares = [np.mean([value in table.columns["income"] for table in drawn]) for value in units["income"]]
    np.testing.assert_allclose(shares, expected, atol=5 * np.sqrt(0.25 / 4000))
    for table in drawn[:20]:
        np.testing.assert_allclose(
            table.weights(), 1 / expected[np.searchsorted(units["income"], table.columns["income"])]
        )


def test_by_theory_weighted_totals_are_unbiased() -> None:
    units = kim.population(0)
    rng = np.random.default_rng(1)
    totals = []
    for _ in range(400):
        table = kim.sample(units, 100, rng)
        totals.append(table.weights() @ table.columns["cost"])
    assert np.mean(totals) == pytest.approx(units["cost"].sum(), abs=4 * np.std(totals) / np.sqrt(400))


def test_weighted_measures_exceed_the_others_and_all_rise_with_alpha() -> None:
    study = kim.run(replicates=25, records=100)
    for finding in study.findings:
        if "exceeds" in finding.statement or "rise with alpha" in finding.statement:
            assert finding.holds, finding
    assert len(study.lines) == 3 * (1 + 3)


def test_workers_change_nothing() -> None:
    one, two = (kim.run(replicates=3, records=60, workers=workers) for workers in (1, 2))
    for a, b in zip(one.lines, two.lines, strict=True):
        assert a == b
