import math
from dataclasses import replace

import numpy as np
import pytest
from compare_toys import Closeness, Guess, Loss, Rows
from test_frontier import results_of

import sfumato
from sfumato.compare.choose import Choice, keeps
from sfumato.compare.seeds import generator
from sfumato.errors import NotApplicable, ParameterError
from tables import incomes


def chosen(alpha: float = 0.25, **figures: tuple[float, float, float, float]) -> Choice:
    """Choose among candidates given as risk, its error, loss, its error."""
    pairs = {name: ((risk, e), (loss, f)) for name, (risk, e, loss, f) in figures.items()}
    return results_of(pairs, (Closeness(), Loss())).choose(utility=Loss, at_most={Closeness: alpha})


def test_the_least_loss_within_the_bound_is_chosen() -> None:
    choice = chosen(a=(0.1, 0, 9, 0), b=(0.25, 0, 4, 0), c=(0.26, 0, 1, 0))
    assert choice.chosen == "b"
    assert choice.feasible == ("b", "a")  # a bound is kept by what equals it
    assert (choice.ties, choice.unsure, choice.unknown) == ((), (), ())
    assert choice.bounds == {"Closeness()": 0.25}
    assert choice.sentence == (
        "b has the lowest mean change of the 2 of 3 candidates with closeness at most 25 % "
        "(mean change 4; closeness 25 %)."
    )
    assert repr(choice) == f"Choice: {choice.sentence}"


def test_equal_utility_is_decided_by_the_lower_risk_then_by_name() -> None:
    assert chosen(b=(0.1, 0, 4, 0), a=(0.2, 0, 4, 0)).chosen == "b"
    choice = chosen(b=(0.1, 0, 4, 0), a=(0.1, 0, 4, 0))
    assert choice.chosen == "a"
    assert choice.ties == ("b",)


def test_candidates_that_cannot_be_told_apart_are_told() -> None:
    # the losses of a and b differ by 0.2 < 1.96 * sqrt(0.1² + 0.1²) = 0.277, those of a and c by 0.3
    choice = chosen(a=(0.1, 0, 4.0, 0.1), b=(0.1, 0, 4.2, 0.1), c=(0.1, 0, 4.3, 0.1))
    assert choice.chosen == "a"
    assert choice.ties == ("b",)
    assert "cannot be told apart from b" in choice.sentence


def test_risks_near_the_bound_are_told() -> None:
    # 1.96 standard errors are 0.0196: a at 0.24 may be above 0.25, b at 0.26 below it, c at 0.2 may not
    choice = chosen(a=(0.24, 0.01, 4, 0), b=(0.26, 0.01, 2, 0), c=(0.2, 0.01, 9, 0))
    assert choice.unsure == ("a", "b")
    assert "95 % interval of its figure holds the bound" in choice.sentence
    assert "may keep it as well: b" in choice.sentence


def test_one_replicate_of_what_is_random_is_told() -> None:
    choice = chosen(a=(0.1, math.nan, 4, 0), b=(0.1, 0, 9, 0))
    assert choice.chosen == "a"
    assert choice.unknown == ("a",)
    assert "drawn once, so its spread is unknown" in choice.sentence
    assert "the others were drawn once" in chosen(a=(0.1, 0, 4, 0), b=(0.1, math.nan, 9, 0)).sentence


def test_when_nobody_keeps_the_bound_the_nearest_is_named() -> None:
    choice = chosen(0.01, a=(0.1, 0, 9, 0), b=(0.034, 0, 4, 0))
    assert choice.chosen is None
    assert choice.feasible == ()
    assert choice.sentence == "No candidate has closeness at most 1 %. The lowest closeness is 3.4 %, of b."
    lacking = chosen(a=(math.nan, 0, 9, 0))
    assert lacking.chosen is None
    assert (
        lacking.sentence
        == "No candidate has the figures to choose by (Closeness(): failed: the measure gave no number)."
    )


def test_least_risk_with_enough_utility() -> None:
    figures = {"a": ((0.1, 0.0), (90.0, 0.0)), "b": ((0.2, 0.0), (99.0, 0.0)), "c": ((0.05, 0.0), (50.0, 0.0))}
    results = results_of(figures, (Closeness(), Rows()))
    choice = results.choose(risk=Closeness, at_least={Rows: 90})
    assert choice.chosen == "a"
    assert choice.objective == "Closeness()"
    assert "records at least 90" in choice.sentence
    assert "The highest records is 99, of b" in results.choose(risk=Closeness, at_least={Rows: 100}).sentence


def test_a_choice_by_hand_takes_the_place_of_the_best() -> None:
    figures = {"a": ((0.1, 0.0), (9.0, 0.0)), "b": ((0.25, 0.0), (4.0, 0.0)), "c": ((0.26, 0.0), (1.0, 0.0))}
    results = results_of(figures, (Closeness(), Loss()))
    choice = results.choose(utility=Loss, at_most={Closeness: 0.25}, by_hand="a")
    assert (choice.chosen, choice.best, choice.by_hand) == ("a", "b", True)
    assert choice.feasible == ("b", "a")
    assert choice.sentence == (
        "a is one of the 2 of 3 candidates with closeness at most 25 % (mean change 9; closeness 10 %). "
        "It was chosen by hand; by its figures b would have been taken (mean change 4)."
    )
    best = results.choose(utility=Loss, at_most={Closeness: 0.25}, by_hand="b")
    assert best.chosen == best.best == "b" and best.sentence.endswith("and would have been taken anyway.")
    free = results.choose(utility=Loss, at_most={Closeness: 0.25})
    assert (free.chosen, free.best, free.by_hand) == ("b", "b", False)


def test_a_choice_by_hand_that_breaks_a_bound_or_is_unknown_is_refused() -> None:
    figures = {"a": ((0.1, 0.0), (90.0, 0.0)), "b": ((0.3, 0.0), (99.0, 0.0)), "c": ((math.nan, 0.0), (99.0, 0.0))}
    results = results_of(figures, (Closeness(), Rows()))
    few = "records is 90, and at least 95 is asked for (5 too little)"
    with pytest.raises(ParameterError) as refusal:
        results.choose(risk=Closeness, at_least={Rows: 95}, by_hand="a")
    assert few in str(refusal.value)
    with pytest.raises(
        ParameterError, match=r"closeness is 30 %, and at most 25 % is asked for \(5 percentage points too"
    ):
        results.choose(risk=Closeness, at_most={Closeness: 0.25}, by_hand="b")
    with pytest.raises(ParameterError, match="there is no candidate 'd' to choose; there are a, b"):
        results.choose(risk=Closeness, at_least={Rows: 90}, by_hand="d")
    with pytest.raises(ParameterError, match="c cannot be chosen, for it lacks a figure"):
        results.choose(risk=Closeness, at_least={Rows: 90}, by_hand="c")


def test_an_undefined_figure_keeps_no_bound() -> None:
    about, nan = Closeness().about, math.nan
    assert not about.keeps(nan, 1.0) and not about.keeps(0.1, nan)
    assert not Rows().about.keeps(nan, 1.0) and not Rows().about.keeps(0.1, nan)
    row = replace(results_of({"a": ((0.1, 0.0), (4.0, 0.0))}, (Closeness(), Loss())).rows[0])
    for mean, first in ((nan, 0.1), (0.1, nan), (nan, nan)):
        odd = replace(row, means={"Closeness()": mean}, values={"Closeness()": (first, 0.1)})
        assert not keeps(odd, "Closeness()", 0.25, about)
        assert not keeps(odd, "Closeness()", 0.0, Rows().about)  # of one that is better when higher
    # the mean is fine, the table that would be written is not: c is no candidate, and b is chosen
    results = results_of(dict.fromkeys("abc", ((0.1, 0.0), (9.0, 0.0))), (Closeness(), Loss()))
    a, b, c = results.rows
    c = replace(c, means={**c.means, "Loss()": 1.0}, values={**c.values, "Closeness()": (nan, 0.1)})
    b = replace(b, means={**b.means, "Loss()": 2.0})
    held = replace(results, rows=(a, b, c))
    assert held.choose(utility=Loss, at_most={Closeness: 0.25}).feasible == ("b", "a")
    alone = replace(results, rows=(c,), unprotected=c).choose(utility=Loss, at_most={Closeness: 0.25})
    assert alone.chosen is None and alone.idle == ()
    assert not alone.shortfalls[0].reached
    both = replace(results, rows=(c, replace(a, means={**a.means, "Closeness()": 0.3})))
    assert both.choose(utility=Loss, at_most={Closeness: 0.25}).shortfalls[0].candidate == "a"


def test_several_bounds_must_all_be_kept() -> None:
    figures = {"a": ((0.1, 0.0), (0.5, 0.0), (1.0, 0.0)), "b": ((0.1, 0.0), (0.2, 0.0), (2.0, 0.0))}
    results = results_of(figures, (Closeness(), Guess(), Loss()))
    assert results.choose(utility=Loss, at_most={Closeness: 0.1, "Guess": 0.3}).chosen == "b"


def test_choices_that_cannot_be_right_are_refused() -> None:
    results = results_of({"a": ((0.1, 0.0), (5.0, 0.0), (5.0, 0.0))}, (Closeness(), Loss(), Rows()))
    with pytest.raises(ParameterError, match=r"its bound cannot be 5 \(did you mean 0.05\?\)"):
        results.choose(utility=Loss, at_most={Closeness: 5})
    with pytest.raises(ParameterError, match=r"Rows\(\) is better when higher, so its bound goes into at_least"):
        results.choose(risk=Closeness, at_most={Rows: 5})
    with pytest.raises(ParameterError, match="must be a number; got 'low'"):
        results.choose(utility=Loss, at_most={Closeness: "low"})  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match="there is no bound"):
        results.choose(utility=Loss)
    with pytest.raises(ParameterError, match="name one measure"):
        results.choose(at_most={Closeness: 0.1})
    with pytest.raises(ParameterError, match=r"Closeness\(\) is a measure of risk, not of utility"):
        results.choose(utility=Closeness, at_most={Closeness: 0.1})
    with pytest.raises(ParameterError, match="there is no figure Guess"):
        results.choose(utility=Loss, at_most={Guess: 0.1})


def test_a_choice_leads_to_its_table() -> None:
    data = incomes()
    methods = [sfumato.RankSwapping(0.1), sfumato.Noise(0.3), sfumato.MDAV(3)]
    measures = [sfumato.DistanceLinkage(), sfumato.InformationLoss()]
    results = sfumato.Experiment(data, methods, measures, seed=7, replicates=2).run()
    choices: dict[str, Choice] = {}
    for _ in methods:
        wish = {"utility": "InformationLoss", "at_most": {"DistanceLinkage": 1.0}}
        choice = results.choose(**wish, passed_over=tuple(choices))  # type: ignore[arg-type]
        assert choice.chosen is not None
        table, row = choice.protect(), results.row(choice.chosen)
        assert row.method is not None
        again = row.method.protect(data, rng=generator(7, row.method, 0))
        assert all(np.array_equal(table.columns[n], again.columns[n], equal_nan=True) for n in data.names)
        # the figure of the first draw is that of this table
        assert sfumato.InformationLoss().evaluate(data, table).value == row.values["InformationLoss()"][0]
        choices[choice.chosen] = choice
    assert len(choices) == 3


def test_without_a_candidate_there_is_no_table() -> None:
    nothing = chosen(alpha=0.01, a=(0.1, 0, 9, 0))
    assert nothing.chosen is None
    with pytest.raises(NotApplicable, match=r"nothing was chosen, so there is no table\. No candidate has"):
        nothing.protect()
    with pytest.raises(NotApplicable, match="put together by hand"):
        replace(chosen(a=(0.1, 0, 9, 0)), results=None).protect()
