"""The study of Karr and others: what does not depend on the unknown correlation matrices comes out as printed."""

import math
from pathlib import Path

import numpy as np
import pytest

from sfumato import DataError, KullbackLeibler
from sfumato.studies import karr
from sfumato.studies.study import Figure, Line, Settings, Study
from tables import SHARED, census, printed_table


@pytest.mark.parametrize(("centre", "expected"), [(0.0, 0.0), (0.9, 0.888)])
def test_by_theory_correlations_are_drawn_around_their_centre(centre: float, expected: float) -> None:
    rng = np.random.default_rng(1)
    drawn = [karr.correlations(centre, 6, rng) for _ in range(2_000)]
    assert all(np.linalg.eigvalsh(one)[0] > 0 and np.allclose(np.diag(one), 1) for one in drawn)
    apart = np.array([one[np.triu_indices(6, 1)] for one in drawn])
    # with 7 degrees of freedom a correlation falls short of its centre by r (1 - r^2) / 14: 0.9 - 0.012
    assert apart.mean() == pytest.approx(expected, abs=0.01)
    assert apart.std() > 0.05


def test_the_data_are_normal_with_means_that_are_not_zero() -> None:
    x = karr.normal(0.0, 3, 50_000, seed=1).numeric()
    assert ((x.mean(axis=0) > 10) & (x.mean(axis=0) < 20)).all()
    np.testing.assert_allclose(x.std(axis=0), 1, atol=0.02)
    assert not np.array_equal(karr.normal(0.0, 3, 10, 1).numeric(), karr.normal(0.0, 3, 10, 2).numeric())


@pytest.fixture(scope="module")
def study() -> Study:
    census()  # skips where the file is absent
    return karr.run(Settings(data=SHARED / "casc_census.csv", replicates=2, records=150))


@pytest.fixture(scope="module")
def printed() -> dict[tuple[str, str], dict[str, float]]:
    printed_table("karr_tables_1_2.csv")  # skips where it is absent
    return karr.printed_tables(SHARED / "karr_tables_1_2.csv")


@pytest.mark.parametrize(("variables", "io", "eo"), [(3, 0.926, 0.916), (6, 0.929, 0.907), (10, 0.920, 0.870)])
def test_by_reference_overlaps_of_correlated_noise_are_as_printed(variables: int, io: float, eo: float) -> None:
    # print is the mean of five data sets, whose standard error is 0.02; ours of thirty
    measures = karr.simulated_measures(variables)
    found: dict[str, list[float]] = {"IO": [], "EO": []}
    for seed in range(30):
        data = karr.normal(0.0, variables, 10_000, seed)
        masked = karr.METHODS["Noise(.16)"].protect(data, rng=seed)
        for column, values in found.items():
            values.append(measures[column].evaluate(data, masked).value)
    assert np.mean(found["IO"]) == pytest.approx(io, abs=0.03)
    assert np.mean(found["EO"]) == pytest.approx(eo, abs=0.03)


@pytest.mark.parametrize("method", ["Micz(p,3)", "Micp(p,3)"])
@pytest.mark.parametrize("variables", [3, 6])
def test_by_theory_divergence_of_projections_is_free_of_the_correlations(method: str, variables: int) -> None:
    expected = (variables - 1) / 2 * (3 - 1 - math.log(3))
    found = []
    for seed in range(3):
        data = karr.normal(0.0, variables, 10_000, seed)
        found.append(KullbackLeibler().evaluate(data, karr.METHODS[method].protect(data, rng=seed)).value)
    assert np.mean(found) == pytest.approx(expected, rel=0.03)


def test_by_reference_all_40_cells_of_table_3_follow_from_print(
    printed: dict[tuple[str, str], dict[str, float]],
) -> None:
    counts = karr.counted(printed)
    found = {method: tuple(own.values()) for method, own in counts.items()}
    assert found == karr.TABLE_3
    anchor = karr.anchor(printed)
    assert anchor.holds and anchor.detail.startswith("40 of its 40 cells; its totals are 19, 19, 29, 20, 30")


def test_by_reference_statements_hold_in_as_many_printed_rows_as_is_said(
    printed: dict[tuple[str, str], dict[str, float]],
) -> None:
    structures = karr.structured({f"{s}: {m}": row for (s, m), row in printed.items()})
    for text, holds, count in karr.STATEMENTS:
        assert sum(holds(rows) for rows in structures.values()) == count, text
    for finding in karr._trends(structures):
        ours, theirs = finding.detail.split(" of ours, ")
        assert ours.removesuffix(" rows") == theirs.partition(" printed")[0], finding


def test_bold_marks_are_those_of_the_frontier() -> None:
    # by hand: b is beaten by a in EO and risk; c has the lowest risk
    rows = {"a": (0.9, 0.5, 0.1, 0.5), "b": (0.8, 0.6, 0.2, 0.6), "c": (0.1, 0.1, 3.0, 0.0)}
    lines = [
        Line(f"low 3: {name}", name, "", {c: Figure(v, 0.0, math.nan) for c, v in zip(karr.PRINTED, row, strict=True)})
        for name, row in rows.items()
    ]
    marked = {line.family: [c for c, f in line.figures.items() if f.bold] for line in karr.bold(lines)}
    assert marked == {"a": ["EO", "IO", "KL"], "b": ["IO"], "c": ["EO", "IO", "KL"]}
    assert not any(f.printed_bold for line in karr.bold(lines) for f in line.figures.values())


def test_ours_stand_beside_all_printed_figures(printed: dict[tuple[str, str], dict[str, float]], study: Study) -> None:
    simulated = [line for line in study.lines if not line.name.startswith("CPS")]
    assert [tuple(line.name.split(": ")) for line in simulated if tuple(line.name.split(": ")) not in printed] == []
    assert len(simulated) == 48 == len(printed)
    assert {line.family for line in study.lines} <= set(study.reasons)
    for line in study.lines:  # of other sizes nothing is printed
        assert all(math.isnan(f.printed) and math.isfinite(f.ours) for f in line.figures.values()), line.name


def test_with_a_risk_of_ten_percent_noise_is_the_choice_as_printed(study: Study) -> None:
    for column in ("IO", "EO"):
        (chosen,) = [f for f in study.findings if f.statement.endswith(f"Noise(.16) is the choice by {column}")]
        assert chosen.holds and chosen.detail == (
            "ours: Noise(.16); if the risk is that of distance linkage: Micp(p,3)"
        )
    of_cps = [f for f in study.findings if f.statement.startswith("CPS")]
    assert len(of_cps) == 10 and all(f.holds for f in of_cps)
    assert sum(f.statement.startswith("Table 3, frontier") for f in study.findings) == 5


def test_the_choice_does_not_depend_on_the_agreement_bins() -> None:
    from sfumato import ProbabilisticLinkage

    data = census()
    measures = karr.applied_measures()
    for bins in (5, 20, 100):
        allowed = {}
        for name in ("Noise(.16)", "Micp(p,3)", "Micz(p,3)", "Rank(.15)"):
            masked = karr.METHODS[name].protect(data, rng=1)
            risk = ProbabilisticLinkage(known=(karr.SIX,), bins=bins).evaluate(data, masked, rng=1).value
            if risk <= 0.1:
                allowed[name] = measures["IO"].evaluate(data, masked).value
        assert max(allowed, key=lambda name: allowed[name]) == "Noise(.16)", bins


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(DataError, match="needs the Census file of the paper"):
        karr.run(Settings(data=path, replicates=1, records=50))
