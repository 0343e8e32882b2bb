import math
import pickle
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from compare_toys import Closeness, Guess, Jitter, Loss, Rows, Shift, Unfit
from test_frontier import results_of

from sfumato.compare.experiment import Experiment
from sfumato.compare.score import Recipe, Score, Score2
from sfumato.core import Measure
from sfumato.errors import ParameterError
from sfumato.table.microdata import Microdata
from tables import printed_table

DATA = Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0, 4.0]}))
MIXTURE = Recipe("mixture", ((Loss(), 2.0), (Closeness(), 10.0)))


@dataclass(frozen=True, repr=False)
class Rank(Closeness):
    """A second interval."""


@dataclass(frozen=True, repr=False)
class Other(Closeness):
    """A second linkage."""


TOYS: dict[str, Measure] = {"loss": Loss(), "distance": Closeness(), "probabilistic": Other(), "interval": Rank()}


def test_score_is_the_formula_of_section_5() -> None:
    score = Score(**TOYS)
    found = score.of({"Loss()": 10.0, "Closeness()": 0.2, "Other()": 0.1, "Rank()": 0.5})
    # 0.5 * 10 + 0.125 * 20 + 0.125 * 10 + 0.25 * 50 = 5 + 2.5 + 1.25 + 12.5
    assert found.value == 21.25
    assert found.parts == {"Loss()": 5.0, "Closeness()": 2.5, "Other()": 1.25, "Rank()": 12.5}
    assert str(score) == "Score = 0.5 Loss + 12.5 Closeness + 12.5 Other + 25 Rank"
    assert found.notes == (str(score),)
    assert (found.better, found.about.purpose, found.about.unit) == ("lower", "utility", "percent")
    assert "mixture" in found.about.title
    assert found.range == (0.0, math.inf)


def test_score2_is_the_formula_of_section_6() -> None:
    score = Score2(loss=Loss(), distance=Closeness(), rank_interval=Rank(), spread_interval=Other())
    # 0.5 * 10 + 0.25 * 20 + 0.125 * 50 + 0.125 * 10 = 5 + 5 + 6.25 + 1.25
    assert score.of({"Loss()": 10.0, "Closeness()": 0.2, "Other()": 0.1, "Rank()": 0.5}).value == 17.5
    assert str(score) == "Score2 = 0.5 Loss + 25 Closeness + 12.5 Rank + 12.5 Other"


def test_the_scores_of_the_paper_are_made_of_the_catalogue_measures() -> None:
    named = [type(measure).__name__ for measure in Score().measures]
    assert named == ["InformationLoss", "DistanceLinkage", "ProbabilisticLinkage", "RankInterval"]
    named = [type(measure).__name__ for measure in Score2().measures]
    assert named == ["InformationLossTorres", "DistanceLinkage", "RankInterval", "SpreadInterval"]
    assert [weight for _, weight in Score().terms] == [0.5, 12.5, 12.5, 25.0]
    assert [weight for _, weight in Score2().terms] == [0.5, 25.0, 12.5, 12.5]


def test_score_gives_the_printed_column_of_table_2() -> None:
    """By reference: Domingo, Table 2, 109 rows; the inputs are rounded to 0.01, so the score to 0.005 + 0.005."""
    rows = printed_table("domingo_table2.csv")
    assert len(rows) == 109
    score = Score(**TOYS)
    for method, row in rows.items():
        shares = {key: row[name] / 100 for key, name in (("Closeness()", "DLD"), ("Other()", "PLD"), ("Rank()", "ID"))}
        ours = score.of({"Loss()": row["IL"], **shares}).value
        assert ours == pytest.approx(row["score"], abs=0.0101), method


def test_a_score_is_added_to_results_with_its_standard_error() -> None:
    results = Experiment(DATA, [Jitter(), Shift(), Unfit()], [Loss(), Closeness()], replicates=4).run()
    scored = results.with_score(MIXTURE)
    row = scored.row("Jitter()")
    losses = row.values["Loss()"]
    # replicate by replicate: 2 loss + 10 / (1 + loss); the terms go together, so their errors do not just add up
    values = [2 * loss + 10 / (1 + loss) for loss in losses]
    mean = sum(values) / 4
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / 3) / 2
    assert row.values["mixture"] == pytest.approx(values)
    assert row.means["mixture"] == pytest.approx(mean)
    assert row.errors["mixture"] == pytest.approx(error)
    assert scored.row("Shift()").means["mixture"] == 2 * 1 + 10 * 0.5
    assert scored.row("Shift()").errors["mixture"] == 0.0
    assert scored.row("Shift()").parts["mixture"] == {"Loss()": 2.0, "Closeness()": 5.0}
    assert str(scored.row("Unfit()").reasons["mixture"]).startswith("needs Loss(): not applicable")
    assert scored.key(MIXTURE) == scored.key("mixture") == "mixture"
    assert scored.measures[-1] == MIXTURE
    assert scored.figures["mixture"].title == "mixture, a mixture of risk and utility"
    assert "mixture = 2 Loss + 10 Closeness" in repr(scored)
    assert scored.with_score(MIXTURE) is scored
    assert "mixture" not in results.figures
    assert scored.measurement("Shift()", "mixture").value == 7.0
    assert scored.to_records()[1]["figures"]["mixture"]["parts"] == {"Loss()": 2.0, "Closeness()": 5.0}


def test_a_score_over_one_random_and_one_fixed_measure() -> None:
    results = Experiment(DATA, [Shift()], [Loss(), Guess()], replicates=2).run()
    row = results.with_score(Recipe("luck", ((Loss(), 1.0), (Guess(), 2.0)))).rows[0]
    assert row.values["luck"] == pytest.approx([1 + 2 * guess for guess in row.values["Guess()"]])
    once = Experiment(DATA, [Shift()], [Loss(), Guess()]).run().with_score(Recipe("luck", ((Guess(), 2.0),)))
    assert math.isnan(once.rows[0].errors["luck"])
    assert once.figures["luck"].purpose == "risk"


def test_a_missing_measure_is_named_with_the_remedy() -> None:
    results = results_of({"a": ((1.0, 0.0),)}, (Loss(),))
    with pytest.raises(ParameterError, match=r"mixture needs Closeness\(\), which was not measured.*Add Closeness\(\)"):
        results.with_score(MIXTURE)
    with pytest.raises(ParameterError, match=r"mixture needs Closeness\(\); there are Loss\(\)"):
        MIXTURE.of({"Loss()": 1.0})
    taken = results.with_score(Recipe("mine", ((Loss(), 1.0),)))
    with pytest.raises(ParameterError, match="already a figure 'mine'"):
        taken.with_score(Recipe("mine", ((Loss(), 2.0),)))


def test_a_recipe_evaluates_a_table() -> None:
    found = MIXTURE.evaluate(DATA, Shift(by=3.0).protect(DATA))
    assert found.value == 2 * 3 + 10 / 4
    assert found.measure == "mixture"


def test_own_recipes_may_be_better_when_higher() -> None:
    recipe = Recipe("kept", ((Rows(), 1.0), (Loss(), -0.5)), better="higher")
    assert str(recipe) == "kept = 1 Rows - 0.5 Loss"
    assert recipe.of({"Rows()": 10.0, "Loss()": 4.0}).value == 8.0
    assert recipe.about.better == "higher"
    assert recipe.about.range == (-math.inf, math.inf)


def test_recipes_travel_and_compare() -> None:
    assert pickle.loads(pickle.dumps(MIXTURE)) == MIXTURE
    assert pickle.loads(pickle.dumps(Score(**TOYS))) == Score(**TOYS)
    assert eval(repr(MIXTURE)) == MIXTURE


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "", "terms": ((Loss(), 1.0),)}, "name must be text"),
        ({"name": "s", "terms": ()}, "at least one term"),
        ({"name": "s", "terms": ((Loss, 1.0),)}, "a term must be a measure and its weight"),
        ({"name": "s", "terms": ((Loss(), 0.0),)}, "must be a number other than 0; got 0.0"),
        ({"name": "s", "terms": ((Loss(), "1"),)}, "must be a number other than 0; got '1'"),
        ({"name": "s", "terms": ((Loss(), 1.0), (Loss(), 2.0))}, "stands in the recipe twice"),
        ({"name": "s", "terms": ((Rows(), 1.0),)}, r"Rows\(\) is better when higher.*must be negative; got 1"),
        ({"name": "s", "terms": ((Loss(), 1.0),), "better": "more"}, "better must be 'lower' or 'higher'"),
    ],
)
def test_recipes_that_cannot_be_right_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Recipe(**given)
