"""The study of global data utility: a small survey, every protection, the account of the ranking."""

import pytest

from sfumato import ParameterError
from sfumato.studies import kocar, run
from sfumato.studies.study import Study


@pytest.fixture(scope="module")
def study() -> Study:
    return run("kocar", records=400)


def test_every_protection_has_its_figures_and_they_are_ranked(study: Study) -> None:
    assert len(study.lines) == len(kocar.protections()) + 2 >= 12
    values = [line.figures["GDU"].ours for line in study.lines]
    assert values == sorted(values, reverse=True)
    for line in study.lines:
        halves = (line.figures["univariate"].ours + line.figures["bivariate"].ours) / 2
        assert line.figures["GDU"].ours == pytest.approx(halves)
        assert set(line.figures) == set(kocar.COLUMNS)


def test_what_a_statistician_accepts_holds_and_what_she_does_not_is_told(study: Study) -> None:
    accepted = [finding for finding in study.findings if finding.holds is not None]
    assert all(finding.holds for finding in accepted), [f.statement for f in accepted if not f.holds]
    assert sum("Not to be accepted" in finding.statement for finding in study.findings) >= 3
    assert study.lines[0].name == kocar.ITSELF and study.lines[-1].name == kocar.SHUFFLED


def test_it_takes_no_data_of_others() -> None:
    with pytest.raises(ParameterError, match="makes its own survey"):
        run("kocar", data=__file__)  # type: ignore[arg-type]
