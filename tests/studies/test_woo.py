"""The study of Woo and others at a small size: what must hold at any size, and how its data are made."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import CDFMaximum, CDFSquares, ParameterError
from sfumato.studies import woo
from sfumato.studies.study import Settings
from tables import SHARED, numbers, printed_table


@pytest.mark.parametrize("kind", woo.TYPES)
def test_by_theory_the_data_have_the_stated_correlation_and_shape(kind: str) -> None:
    x = woo.sample(kind, 40_000, seed=1).numeric()
    expected = woo.CORRELATIONS[kind.partition(" ")[2]]
    assert np.asarray(np.corrcoef(x.T))[0, 1] == pytest.approx(expected, abs=0.06)
    first = x[:, 0]
    skewness = np.mean(((first - first.mean()) / first.std()) ** 3)
    assert (abs(skewness) < 0.5) == kind.startswith("symmetric")


def test_small_tables_show_what_the_paper_finds() -> None:
    study = woo.run(Settings(records=250))
    assert len(study.lines) == 80 and study.columns == tuple(woo.METHODS)
    held = {finding.statement: finding for finding in study.findings}
    for start in ("Logistic I scores Syn 0", "Table 1: Syn keeps", "Table 1: Resampling keeps none"):
        assert next(finding for statement, finding in held.items() if statement.startswith(start)).holds, start
    for line in study.lines:
        figures = {method: figure.ours for method, figure in line.figures.items()}
        if line.name.endswith((": MD", ": MCM")):
            assert max(figures["Rank"], figures["Resampling"]) < figures["Syn"]
        assert all(np.isfinite(value) and value >= 0 for value in figures.values()), line.name
    assert "Syn keeps every one of these" in study.setting[-1] and "slope" in study.setting[-1]
    assert set(study.reasons) >= {line.family for line in study.lines} | set(study.columns)


def test_table_1_by_hand() -> None:
    # means 2 and 1, variances 8/2 and 1.5/2, covariance 3/2: slope 2, intercept 2 - 2
    x1, x2 = [0.0, 2.0, 4.0], [0.5, 0.5, 2.0]
    found = woo.moments_and_coefficients(numbers(x1=x1, x2=x2))
    expected = {"mean of x1": 2, "mean of x2": 1, "variance of x1": 4, "variance of x2": 0.75}
    expected |= {"correlation": 1.5 / np.sqrt(3), "intercept": 0, "slope": 2}
    assert found == pytest.approx(expected)


def printed_rows() -> dict[str, dict[str, float]]:
    """All printed rows by their names."""
    printed_table("woo_tables_2_to_9.csv")  # skips where it is absent
    tables = woo.printed_tables(SHARED / "woo_tables_2_to_9.csv")
    return {f"{kind}: {name}": row for (kind, name), row in tables.items()}


@pytest.mark.parametrize("statement", woo.STATEMENTS, ids=lambda statement: statement.text[:40])
def test_by_reference_statements_hold_in_as_many_printed_rows_as_is_said(statement: woo.Statement) -> None:
    chosen = woo.rows_of(statement, printed_rows())
    assert len(chosen) == len([k for k in woo.TYPES if k.startswith(statement.types)]) * len(statement.measures)
    assert sum(statement.holds(row) for row in chosen.values()) == statement.printed


def test_every_printed_row_is_in_some_statement() -> None:
    rows = printed_rows()
    assert len(rows) == 80
    spoken_of = {name for statement in woo.STATEMENTS for name in woo.rows_of(statement, rows)}
    assert spoken_of == set(rows)
    assert woo._degree(rows).detail == "in 8 of 8 types of ours, in 8 of 8 printed"


@pytest.mark.parametrize("kind", ["high negative", "high positive", "low negative"])
def test_noise_after_microaggregation_is_the_best_of_three_as_printed(kind: str) -> None:
    # print: in all 9 rows of each of the three types
    n, seed = woo.RECORDS, 101
    original = woo.sample(f"nonsymmetric {kind}", n, seed)
    protected = {m: woo.METHODS[m].protect(original, rng=seed) for m in woo.THREE}
    for name, measure in woo.measures(n).items():
        if name != "Logistic I":
            found = {m: measure.evaluate(original, table).value for m, table in protected.items()}
            assert min(found, key=lambda m: found[m]) == "Micz03+Noise", name


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_by_theory_cdf_measures_of_swapping_depend_on_ranks_alone(seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(60, 2))
    plain, bent = numbers(x1=x[:, 0], x2=x[:, 1]), numbers(x1=np.exp(x[:, 0]), x2=x[:, 1] ** 3)
    for measure in (CDFMaximum(), CDFSquares()):
        found = [measure.evaluate(data, woo.METHODS["Rank"].protect(data, rng=seed)).value for data in (plain, bent)]
        assert found[0] == found[1]


def test_by_theory_a_large_tree_sees_nothing_where_margins_are_kept() -> None:
    data = woo.sample("symmetric high positive", 2_000, 5)
    masked = woo.METHODS["Rank"].protect(data, rng=5)
    measure = woo.measures(2_000)["Tree Model II"]
    assert measure.evaluate(data, masked).value == 0
    rounded = masked.replace({name: np.round(masked.columns[name], 2) for name in masked.names})
    assert measure.evaluate(data, rounded).value > 0


def test_data_are_refused_because_the_study_makes_its_own() -> None:
    with pytest.raises(ParameterError, match="leave out --data"):
        woo.run(Settings(data=SHARED / "casc_census.csv"))
