"""The verdict: what it says is what the figures say, whatever was decided."""

from dataclasses import replace
from typing import Any

import pytest

import sfumato
from sfumato import Reidentification, Scenario
from sfumato.auditing.findings import Checked
from sfumato.compare.choose import Choice
from sfumato.compare.examine import examine
from sfumato.compare.experiment import UNPROTECTED, Experiment
from sfumato.compare.results import Results
from sfumato.measurement import KNOWING, WITH_REGISTER
from sfumato.report import verdict
from sfumato.report.summarise import summarise
from sfumato.report.summary import Summary, from_json, to_json
from sfumato.report.terminal import deciding_table, verdict_text
from sfumato.report.verdict import SweepFacts
from sfumato.report.wording import percentage

K = "KAnonymity()"
SUPPRESSED = "Suppressed()"


@pytest.fixture(scope="module")
def results() -> Results:
    survey = sfumato.household_survey(60, seed=4)
    experiment = Experiment(
        survey,
        [
            sfumato.GlobalRecoding(groups=2, rare=0.2),
            sfumato.GlobalRecoding(groups=2, rare=0.2) + sfumato.LocalSuppression(3),
            sfumato.LocalSuppression(3),
        ],
        [sfumato.KAnonymity(), sfumato.Reidentification(), sfumato.Suppressed(), sfumato.GlobalDataUtility()],
    )
    return experiment.run(original=True)


def told(results: Results, **bounds: float) -> Summary:
    measures = {"k": K, "blank": SUPPRESSED, "found": "Reidentification()"}
    at_most: dict[Any, float] = {measures[name]: limit for name, limit in bounds.items()}
    return summarise(results, risk="Reidentification()", utility="GlobalDataUtility()", at_most=at_most)


def test_the_original_is_measured_as_if_it_were_published(results: Results) -> None:
    before = results.unprotected
    assert before is not None and before.candidate == UNPROTECTED
    alone = sfumato.Reidentification().evaluate(results.original, results.original)
    assert before.means["Reidentification()"] == alone.value
    assert before.means[SUPPRESSED] == 0
    # the paper turns a P value of 1 into 0.9999992, not into 1
    assert before.means["GlobalDataUtility()"] == pytest.approx(1, abs=1e-6)
    assert UNPROTECTED not in [row.candidate for row in results.rows]


def test_before_and_after_stand_side_by_side(results: Results) -> None:
    summary = told(results, k=0.0)
    verdict = summary.verdict
    assert verdict.publish is True and verdict.words.startswith("Publish: ")
    first = verdict.changes[0]
    assert (first.what, first.bound, first.kept) == ("Records that violate k-anonymity", "at most 0 %", True)
    assert first.after == "0 %" and first.before != "0 %"
    assert summary.original is not None and summary.original.figures[K].text == first.before
    row = results.row(str(summary.chosen.label))  # type: ignore[union-attr]
    expected = [r.parts["Reidentification()"]["expected re-identifications"] for r in (results.unprotected, row)]  # type: ignore[union-attr]
    said = [float(word.replace(",", "")) for word in verdict.found.split() if word[0].isdigit()]
    assert said[0] == pytest.approx(expected[0], abs=0.5) and said[-1] == pytest.approx(expected[1], abs=0.5)
    assert said[1] == len(results.original)


def test_a_bound_that_the_original_keeps_is_said(results: Results) -> None:
    summary = told(results, found=1.0)
    assert any("asks for nothing" in said for said in summary.verdict.warnings)
    # what is left is said of weights without a scenario, whatever the bounds are
    (said,) = told(results, found=0.5, k=0.0).verdict.warnings
    assert said.startswith("No scenario is declared, and the file has weights")


def test_it_says_which_intruder_decides_and_what_the_other_finds() -> None:
    survey = sfumato.household_survey(400, seed=4)
    keys = ("region", "sex", "age")
    silent = replace(survey, schema=replace(survey.schema, scenarios=()))
    knows, searches = (
        replace(silent, schema=replace(silent.schema, scenarios=(Scenario("x", keys, knows_membership=member),)))
        for member in (True, False)
    )
    methods, measures = [sfumato.GlobalRecoding(groups=2, rare=0.2)], [Reidentification()]
    for table in (silent, knows, searches):
        results = Experiment(table, methods, [*measures, sfumato.Suppressed()]).run(original=True)
        summary = summarise(
            results, risk="Reidentification()", utility="Suppressed()", at_most={"Reidentification()": 1.0}
        )
        lines = [said for said in summary.verdict.warnings if "intruder who knows who took part" in said]
        row = next(row for row in results.rows if row.candidate != UNPROTECTED)
        value = row.means["Reidentification()"]
        if table is silent:
            (said,) = lines
            assert f"decides, and finds {percentage(value)}" in said
            assert f"who does not know it, finds {percentage(row.parts['Reidentification()'][WITH_REGISTER])}" in said
            assert row.parts["Reidentification()"][WITH_REGISTER] < value
        elif table is knows:
            assert not lines, "who declares a scenario has decided"
        else:
            (said,) = lines
            assert "rests on a model of the population" in said and "in 95 of 100 cases" in said
            assert f"finds {percentage(row.parts['Reidentification()'][KNOWING])}" in said
            assert row.parts["Reidentification()"][KNOWING] > value


def test_a_bound_on_what_is_lost_is_never_idle(results: Results) -> None:
    assert not any("asks for nothing" in said for said in told(results, blank=0.5).verdict.warnings)


def test_if_nothing_keeps_the_bounds_it_says_which_fails_how_near_and_what_to_change(results: Results) -> None:
    summary = told(results, k=0.0, blank=0.0)
    verdict = summary.verdict
    assert verdict.publish is False and summary.chosen is None and not verdict.price
    said = " ".join(verdict.advice)
    # each bound can be kept, but not both: the nearest of those that keep the other is named for each
    assert said.count("of those that keep the other bounds") == 2
    nearest = min(row.means[SUPPRESSED] for row in results.rows if row.means[K] == 0)
    assert f"{100 * nearest:.4g} %" in said
    assert "--breadth" in said or "larger loss" in said


def test_a_bound_that_none_reaches_is_told_apart_from_those_that_can_be_kept(results: Results) -> None:
    advice = " ".join(told(results, found=0.0, blank=1.0).verdict.advice)
    assert "Re-identification under the worst scenario at most 0 % is not reached" in advice
    assert "Values lost" not in advice


def test_without_a_bound_nothing_is_decided(results: Results) -> None:
    assert told(results).verdict.publish is None


def test_the_table_that_is_written_keeps_the_bound_not_only_the_mean(results: Results) -> None:
    row = results.rows[1]
    lucky = replace(
        row, means={**row.means, K: 0.04}, errors={**row.errors, K: 0.01}, values={**row.values, K: (0.06, 0.03, 0.03)}
    )
    found = replace(results, rows=(lucky,))
    assert found.choose(utility="GlobalDataUtility()", at_most={K: 0.05}).chosen is None
    assert found.choose(utility="GlobalDataUtility()", at_most={K: 0.06}).chosen == row.candidate


def test_the_verdict_goes_to_json_and_back_and_comes_before_the_details(results: Results) -> None:
    summary = told(results, k=0.0)
    text = to_json(summary)
    assert from_json(text).verdict == summary.verdict
    assert text.index('"verdict"') < text.index('"variables"')


def test_the_terminal_says_it_too(results: Results) -> None:
    summary = told(results, k=0.0)
    said = verdict_text(summary).plain
    assert summary.verdict.words in said and summary.verdict.found in said
    table = deciding_table(summary)
    assert table is not None and table.row_count <= 12


def test_of_records_drawn_anew_it_is_said_that_membership_was_not_measured(results: Results) -> None:
    survey = sfumato.household_survey(60, seed=4)
    elsewhere = sfumato.CARTSynthesis(5).protect(survey, rng=2)
    drawn = Experiment(
        survey,
        [sfumato.CARTSynthesis()],
        [sfumato.RepU(), sfumato.GlobalDataUtility()],
        candidates={"theirs": elsewhere},
    ).run()
    for row in drawn.rows:
        choice = Choice(chosen=row.candidate, objective="GlobalDataUtility()", bounds={})
        said = verdict.verdict_of(verdict.Case(results=drawn, row=row, choice=choice, name=row.candidate, measures={}))
        assert sum(warning.startswith("Who took part was not measured.") for warning in said.warnings) == 1
    masked = told(results, found=1.0).verdict
    assert masked is not None and not any("not measured" in warning for warning in masked.warnings)


def test_without_a_bound_on_risk_the_verdict_says_so(results: Results) -> None:
    assert any("No risk is bounded" in said for said in told(results, blank=1.0).verdict.warnings)
    assert not any("No risk is bounded" in said for said in told(results, k=0.0).verdict.warnings)


def test_where_no_candidate_could_be_made_the_bounds_are_not_to_blame() -> None:
    survey = sfumato.household_survey(60, seed=4)
    impossible = sfumato.Noise(0.1, variables=("no such variable",))
    measures = [sfumato.Reidentification(), sfumato.GlobalDataUtility()]
    verdict = told(Experiment(survey, [impossible], measures).run(original=True), found=0.05).verdict
    assert verdict.publish is False and verdict.words == "Do not publish: no candidate could be made and measured"
    assert verdict.advice[0] == "No candidate has the figures to choose by."
    assert "there is no variable 'no such variable'" in verdict.advice[1]


def test_what_repairs_left_out_is_told_first_and_counted_nowhere() -> None:
    survey = sfumato.household_survey(60, seed=4)
    method = sfumato.LocalSuppression(3) + sfumato.RankSwapping(0.1, variables=("earnings", "income"))
    measures = [sfumato.KAnonymity(), sfumato.GlobalDataUtility()]
    results = Experiment(survey, [method], measures).run(original=True)
    utility = "GlobalDataUtility()"
    found = examine(results, results.rows[0].candidate, what=["cautions", "release", "detail", "usefulness"])
    there = {name: 0.0 for name in survey.schema.analysed() if name != "earnings"}
    checked = Checked(altered=("weight", "earnings"), left_out=("weight", "earnings"), missing=there, excused=True)
    checked = replace(checked, after={utility: 0.5})

    def told_of(checked: Checked | None) -> Summary:
        facts = SweepFacts(checked=checked)
        return summarise(results, found, risk=K, utility=utility, at_most={K: 1.0}, facts=facts)

    summary, before = told_of(checked), told_of(replace(checked, altered=(), after={}))
    verdict, price = summary.verdict, summary.verdict.price
    assert verdict.words.endswith(", 2 variables left out")
    first = verdict.warnings[0]
    assert first.startswith("2 variables had to be left out of the file that goes out: weight and earnings.")
    assert "weight is the survey weight: without it no population estimate can be made." in first
    assert first.endswith("of the file that goes out is 50 %.")
    place = next(place for place, change in enumerate(verdict.changes) if change.what == "Global data utility (GDU)")
    assert (verdict.changes[place + 1].what, verdict.changes[place + 1].after) == ("of the file that goes out", "50 %")
    assert ("50 %", "of the file that goes out") in [(text, said[26:51]) for text, said in summary.headline]
    (changed,) = (said for said in price if said.startswith("values changed"))
    assert "earnings" not in changed and "income" in changed
    assert any(said.startswith("removed: ") and "earnings" in said and "weight" in said for said in price)
    size = len(survey.schema.analysed())
    assert any(f" of {(size - 1) * (size - 2) // 2} pairs of variables" in said for said in price)
    assert any(f" of {size * (size - 1) // 2} pairs of variables" in said for said in before.verdict.price)
    assert not any("left out" in said for said in (before.verdict.words, *before.verdict.warnings))


def test_an_undefined_or_missing_figure_is_shown_as_a_broken_bound(results: Results) -> None:
    summary = told(results, k=0.0)
    row = results.row(summary.chosen.label) if summary.chosen is not None else results.rows[0]
    bound = summary.bounds[0]
    lines = {line.key: line for line in summary.measures}
    for means in ({**row.means, K: float("nan")}, {key: mean for key, mean in row.means.items() if key != K}):
        changes = verdict._changes(results, replace(row, means=means), lines, [bound], None)
        assert next(change.kept for change in changes if change.bound) is False
    line = next(one for one in summary.candidates if one.chosen)
    odd = replace(line, figures={**line.figures, K: replace(line.figures[K], value=float("nan"))})
    assert summary.broken(line, summary.bounds) == () and summary.broken(odd, summary.bounds) == (bound,)


HOMES = "Reidentification(unit='household')"


@pytest.fixture(scope="module")
def families() -> Results:
    """A survey of which one candidate keeps families apart: nothing that they share is left."""
    survey = sfumato.household_survey(120, seed=4)
    keys = sfumato.GlobalRecoding(groups=2, rare=0.3, bins={"age": (40,)}, variables=("marital", "education"))
    shared = ("region", "urbanity", "household_size", "tenure", "rent", "weight")
    apart = sfumato.VariableRemoval(variables=shared) + keys + sfumato.VariableRemoval(variables=("occupation",))
    measures = [
        sfumato.Reidentification(variables=("sex", "age", "marital", "education")),
        sfumato.Reidentification(variables=("sex", "age", "marital", "education"), unit="household"),
        sfumato.GlobalDataUtility(),
    ]
    return Experiment(survey, [keys, apart], measures).run(original=True)


def of_families(results: Results, persons: float, households: float) -> Summary:
    found, homes, utility = map(repr, results.measures)
    return summarise(results, risk=found, utility=utility, at_most={found: persons, homes: households})


def test_households_are_told_of_beside_persons(families: Results) -> None:
    found, homes, _ = map(repr, families.measures)
    apart = families.rows[1]
    said = of_families(families, 0.3, 0.3).verdict.found
    persons, together = (apart.parts[key]["expected re-identifications"] for key in (found, homes))
    assert " records before, " in said and " of 120 households before, " in said
    assert f"{verdict._persons(persons)} after; " in said and said.endswith(f"{verdict._persons(together)} after.")


def test_what_the_bound_on_households_costs_is_said(families: Results) -> None:
    _, homes, utility = map(repr, families.measures)
    keys, apart = families.rows
    limit = apart.means[homes] + 0.001
    assert keys.means[homes] > limit and keys.means[utility] > apart.means[utility]  # so the bound decides
    summary = of_families(families, 1.0, limit)
    assert summary.verdict.publish
    (price,) = [said for said in summary.verdict.price if "the bound on re-identification of households" in said]
    for row in (keys, apart):
        assert f"{100 * row.means[utility]:.4g} %" in price
    assert f"with {100 * keys.means[homes]:.4g} % in place of {100 * limit:.4g} %" in price
    assert not [said for said in of_families(families, 1.0, 1.0).verdict.price if said.startswith("the bound on")]


def test_which_bound_on_households_can_be_kept_is_said_where_none_keeps_that_of_persons(families: Results) -> None:
    _, homes, utility = map(repr, families.measures)
    apart = families.rows[1]
    summary = of_families(families, 1.0, apart.means[homes] / 2)
    assert not summary.verdict.publish
    (reachable,) = [said for said in summary.verdict.advice if "on households can be kept" in said]
    assert f"{100 * apart.means[utility]:.4g} %" in reachable and f'--at-most "{homes}=' in reachable
    limit = float(reachable.partition(f"{homes}=")[2].partition("%")[0]) / 100
    assert apart.means[homes] <= limit <= apart.means[homes] + 0.001
    assert of_families(families, 1.0, limit).verdict.publish  # what it says can be asked for


def test_records_that_seem_to_belong_together_are_warned_of_where_no_household_is_named() -> None:
    survey = sfumato.household_survey(80, seed=4)
    bare = replace(survey, schema=replace(survey.schema, household=None))
    bare = bare.recast({"household": (replace(bare.schema["household"], role="other"), bare.columns["household"])})
    bounds = {sfumato.Reidentification(): 1.0}
    for data, warned in ((bare, True), (survey, False)):
        run = Experiment(data, [sfumato.Noise(0.1)], [*bounds, sfumato.GlobalDataUtility()]).run(original=True)
        found = examine(run, run.rows[0].candidate, what=["cautions"])
        told = summarise(run, found, risk="Reidentification()", utility="GlobalDataUtility()", at_most=bounds)
        said = [one for one in told.verdict.warnings if 'Write household = "household"' in one]
        assert bool(said) is warned
        assert not warned or "constant in each: " in said[0]
