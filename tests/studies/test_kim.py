"""The study of Kyu-Seong Kim with few repetitions, and the sampling it rests on."""

import numpy as np
import pytest

from sfumato.studies import kim
from sfumato.studies.study import Settings
from tables import SHARED, printed_table


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
    study = kim.run(Settings(replicates=25, records=100))
    for finding in study.findings:
        if "exceeds" in finding.statement or "the measures rise" in finding.statement:
            assert finding.holds, finding
    assert len(study.lines) == 3 * (1 + 3 + 3)


def printed() -> dict[tuple[str, str, float], dict[str, float]]:
    """The printed rows, mended."""
    printed_table("kim_tables_1_2.csv")  # skips where it is absent
    return kim.printed_tables(SHARED / "kim_tables_1_2.csv")


def test_by_reference_what_is_said_of_print_is_in_print() -> None:
    rows = printed()
    assert len(rows) == 18
    ratios = {
        (a, b): [row[b] / row[a] for row in rows.values()] for a, b in (("DU_max", "DUW_max"), ("DU_sq", "DUW_sq"))
    }
    assert all(ratio > 1 for found in ratios.values() for ratio in found)  # 18 of 18, twice
    largest, squares = ratios.values()
    assert [round(float(f), 2) for f in (min(largest), max(largest), np.mean(largest))] == [1.68, 2.81, 1.98]
    assert round(float(np.mean(squares)), 2) == 2.49
    of_table_2 = [row["DUW_sq"] / row["DU_sq"] for (table, _, _), row in rows.items() if table == "Table 2"]
    assert round(np.mean(of_table_2), 2) == 2.63
    series = {
        (table, method, column): [row[column] for (t, m, _), row in rows.items() if (t, m) == (table, method)]
        for table in ("Table 1", "Table 2")
        for method in kim.ALPHAS
        for column in kim.COLUMNS
    }
    falling = [values == sorted(values, reverse=True) for (t, _, _), values in series.items() if t == "Table 1"]
    rising = [values == sorted(values) for (t, _, _), values in series.items() if t == "Table 2"]
    assert (sum(falling), len(falling)) == (11, 12) and (sum(rising), len(rising)) == (12, 12)
    # the two tables are no margins of one cross of n and alpha: their means would be equal
    for method, first, second in (
        ("noise addition", 0.1078, 0.1122),
        ("rank swapping", 0.0288, 0.0267),
        ("microaggregation", 0.0629, 0.0597),
    ):
        assert round(np.mean(series["Table 1", method, "DU_max"]), 4) == first
        assert round(np.mean(series["Table 2", method, "DU_max"]), 4) == second


def test_the_page_lists_how_print_was_mended() -> None:
    (mended,) = [paragraph for paragraph in kim.SETTING if paragraph.startswith("Print, mended")]
    for slip in ("wrong order", "0.0114", "0.1014", "1.52", "2.62", "over k", "0.0597"):
        assert slip in mended


def test_printed_rows_stand_beside_the_setting_that_is_named() -> None:
    study = kim.run(Settings(replicates=2, printed=SHARED / "kim_tables_1_2.csv")) if printed() else None
    assert study is not None and len(study.lines) == 18 + 27
    beside = {line.name: line.figures["DU_max"].printed for line in study.lines}
    assert beside["Table 1: noise addition, n = 300, alpha = 0.5"] == 0.1014
    assert beside["Table 2: microaggregation, n = 100, alpha = 0.08"] == 0.0745
    assert np.isnan(beside["All settings: rank swapping, n = 200, alpha = 0.04"])


def test_workers_change_nothing() -> None:
    one, two = (kim.run(Settings(replicates=3, records=60, workers=workers)) for workers in (1, 2))
    for a, b in zip(one.lines, two.lines, strict=True):
        assert a == b
