"""The study of global data utility: a small survey, every protection, the account of the ranking."""

from pathlib import Path

import pytest

from sfumato import ParameterError
from sfumato.report.study_page import write_study
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


def test_shuffled_columns_are_last_in_the_effect_size_view_too(study: Study) -> None:
    views = {line.name: line.figures["effect size"].ours for line in study.lines}
    assert min(views, key=lambda name: views[name]) == kocar.SHUFFLED
    assert views[kocar.SHUFFLED] < views["noise, 10 % of the spread"] - 0.1


def test_the_page_has_its_pictures(study: Study, tmp_path: Path) -> None:
    page = write_study(study, tmp_path).read_text()
    for name in ("ranked", "figure-1-local-data-utility"):
        assert (tmp_path / "plots" / f"{name}.svg").stat().st_size > 1_000
    assert page.count("<img ") == 2
    assert "Figures of the paper, redrawn" in page and "Ranked by GDU" in page
    # Figure 1 names two points in its text: 0.50 at P = 0.05, 0.13 at P = 0.01
    assert {"P = 0.05: 0.50", "P = 0.01: 0.13"} <= set(kocar.figure_1().marks)


def test_it_takes_no_data_of_others() -> None:
    with pytest.raises(ParameterError, match="makes its own survey"):
        run("kocar", data=__file__)  # type: ignore[arg-type]


def test_by_hand_scores_go_together() -> None:
    scores = {
        "a": {"univariate": 0.9, "bivariate": 0.8, "multivariate": 0.1},
        "b": {"univariate": 0.5, "bivariate": 0.7, "multivariate": 0.2},
        "c": {"univariate": 0.1, "bivariate": 0.6, "multivariate": 0.3},
    }
    told = kocar.together(scores)
    assert told.holds is None
    assert (
        "univariate and bivariate 1.00, univariate and multivariate -1.00, bivariate and multivariate -1.00"
        in told.detail
    )
    assert told.detail.endswith("farthest apart in a: in pairs 0.80, in models 0.10")


def test_by_hand_other_weights_order_otherwise() -> None:
    # (alone, pairs): with 1/2 the order is a .6, b .55, c .5, d .45; with 0 it is d, c, b, a: a and d move three places
    halves = {"a": (1.0, 0.2), "b": (0.8, 0.3), "c": (0.6, 0.4), "d": (0.3, 0.6)}
    told = kocar.other_weights(halves).detail
    assert "0: rank correlation -1.00, 2 move by three places or more" in told
    assert "1: rank correlation 1.00, 0 move by three places or more" in told
    assert told.endswith("the best: d (0), a (0.5) and a (1)")


def test_scores_of_the_modelled_variables_alone_in_pairs_and_in_models() -> None:
    from sfumato import household_survey

    data = household_survey(100, seed=1)
    same = kocar.scored(data, [data])
    assert same == pytest.approx(dict.fromkeys(kocar.KINDS, 1.0), abs=1e-5)
    turned = data.replace({"income": data.columns["income"][::-1].copy()})
    other = kocar.scored(data, [turned])
    assert other["univariate"] > 0.9 > other["bivariate"]  # its distribution stays, its associations do not
    half = kocar.scored(data, [data, turned])
    assert half["multivariate"] == pytest.approx((1 + other["multivariate"]) / 2, abs=1e-5)
