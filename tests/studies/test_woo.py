"""The study of Woo and others at a small size: what must hold at any size, and how its data are made."""

import numpy as np
import pytest

from sfumato import ParameterError
from sfumato.studies import woo
from sfumato.studies.study import Figure, Line
from tables import SHARED, printed_table


@pytest.mark.parametrize("kind", woo.TYPES)
def test_by_theory_the_data_have_the_stated_correlation_and_shape(kind: str) -> None:
    x = woo.sample(kind, 40_000, seed=1).numeric()
    expected = woo.CORRELATIONS[kind.partition(" ")[2]]
    assert np.asarray(np.corrcoef(x.T))[0, 1] == pytest.approx(expected, abs=0.06)
    first = x[:, 0]
    skewness = np.mean(((first - first.mean()) / first.std()) ** 3)
    assert (abs(skewness) < 0.5) == kind.startswith("symmetric")


def test_small_tables_show_what_the_paper_finds() -> None:
    study = woo.run(records=250)
    assert len(study.lines) == 80 and study.columns == tuple(woo.METHODS)
    held = {finding.statement: finding.holds for finding in study.findings}
    assert next(holds for statement, holds in held.items() if statement.startswith("Logistic I scores Syn 0"))
    for line in study.lines:
        figures = {method: figure.ours for method, figure in line.figures.items()}
        if line.name.endswith((": MD", ": MCM")):
            assert max(figures["Rank"], figures["Resampling"]) < figures["Syn"]
        assert all(np.isfinite(value) and value >= 0 for value in figures.values()), line.name
    assert "Syn keeps every one of these" in study.setting[-1]


def test_the_statements_are_those_of_the_printed_tables() -> None:
    printed_table("woo_tables_2_to_9.csv")  # skips where it is absent
    tables = woo.printed_tables(SHARED / "woo_tables_2_to_9.csv")
    lines = [
        Line(f"{kind}: {name}", kind.partition(" ")[0], "", {m: Figure(v, 0.0, v) for m, v in row.items()})
        for (kind, name), row in tables.items()
    ]
    assert len(lines) == 80
    failing = [finding.statement for finding in woo.findings(lines) if not finding.holds]
    # print itself breaks one: with low positive non-symmetric data Tree Model II scores Micz03 better than with noise
    assert [statement[:28] for statement in failing] == ["Tree Model II punishes Micz0"]


def test_data_are_refused_because_the_study_makes_its_own() -> None:
    with pytest.raises(ParameterError, match="leave out --data"):
        woo.run(data=SHARED / "casc_census.csv")
