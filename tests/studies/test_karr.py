"""The study of Karr and others: what does not depend on the unknown correlation matrices comes out as printed."""

from pathlib import Path

import numpy as np
import pytest

from sfumato import DataError
from sfumato.studies import karr
from sfumato.studies.study import Study
from tables import SHARED, census, printed_table


def test_by_theory_the_data_have_the_stated_correlations() -> None:
    x = karr.normal(0.75, 4, 50_000, seed=1).numeric()
    found = np.asarray(np.corrcoef(x.T))
    np.testing.assert_allclose(found[np.triu_indices(4, 1)], 0.75, atol=0.02)


@pytest.fixture(scope="module")
def study() -> Study:
    census()  # skips where the file is absent
    return karr.run(data=SHARED / "casc_census.csv", replicates=5)


def test_by_reference_noise_and_projection_come_out_as_printed(study: Study) -> None:
    for start in ("IO of Noise", "EO of Noise", "KL of Noise", "KL of Micz", "KL of Micp", "EO is at most"):
        finding = next(f for f in study.findings if f.statement.startswith(start))
        assert finding.holds, finding


@pytest.mark.parametrize(("variables", "io", "eo"), [(3, 0.926, 0.916), (6, 0.929, 0.907), (10, 0.920, 0.870)])
def test_by_reference_overlaps_of_correlated_noise_are_as_printed(variables: int, io: float, eo: float) -> None:
    # print is the mean of five data sets, whose standard error is 0.02; ours of thirty
    measures = karr.simulated_measures(variables)
    found: dict[str, list[float]] = {"IO": [], "EO": []}
    for seed in range(30):
        data = karr.normal(0.75, variables, 10_000, seed)
        masked = karr.METHODS["Noise(.16)"].protect(data, rng=seed)
        for column, values in found.items():
            values.append(measures[column].evaluate(data, masked).value)
    assert np.mean(found["IO"]) == pytest.approx(io, abs=0.03)
    assert np.mean(found["EO"]) == pytest.approx(eo, abs=0.03)


def test_ours_stand_beside_all_printed_figures(study: Study) -> None:
    printed = printed_table("karr_tables_1_2.csv")
    assert printed
    simulated = [line for line in study.lines if not line.name.startswith("CPS")]
    assert len(simulated) == 48
    assert all(np.isfinite(line.figures[c].printed) for line in simulated for c in karr.COLUMNS)
    assert {line.family for line in study.lines} <= set(study.reasons)


def test_the_two_frontiers_stand_beside_the_printed_ones(study: Study) -> None:
    found = [f for f in study.findings if f.statement.startswith("CPS, frontier")]
    assert len(found) == 2 and all(f.holds for f in found)
    assert sum(f.statement.startswith("Table 3") for f in study.findings) == 5


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(DataError, match="needs the Census file of the paper"):
        karr.run(data=path, replicates=1, records=50)
