import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compare_toys import Guess, Loss
from hypothesis import given, settings
from hypothesis import strategies as st
from tune_toys import DATA, Dial, Gain, Harm, Knob, Level

from sfumato import DistanceLinkage, Experiment, InformationLoss, IntervalOverlap, RankSwapping, grid
from sfumato.compare.score import Recipe
from sfumato.compare.search import lattice
from sfumato.compare.tune import tune
from sfumato.errors import NotApplicable, ParameterError
from tables import census

CENSUS_KEYS = ("AFNLWGT", "EMCONTRB", "POTHVAL", "STATETAX", "AGI", "TAXINC", "FEDTAX")
CENSUS_MODEL = "AGI ~ EMCONTRB + FEDTAX + TAXINC + PTOTVAL + STATETAX"  # Karr, equation (10)
MEETS = -math.log(0.2)  # where exp(-x) is 0.2


@given(st.floats(0.001, 0.9), st.integers(2, 300))
@settings(max_examples=40, deadline=None)
def test_a_whole_number_is_found_exactly(bound: float, far: int) -> None:
    found = tune(Knob, DATA, between=(1, far), utility=Harm("rising"), at_most={Level(): bound})
    keeping = [k for k in range(1, far + 1) if math.exp(-k) <= bound]
    assert found.keeps == bool(keeping)
    assert found.value == (keeping[0] if keeping else far)
    assert found.interval == (found.value, found.value)
    assert found.tables <= 5 + 2 * math.ceil(math.log2(far)) + 2  # the values next to it are tried too


def test_a_number_is_found_on_its_lattice_and_the_cost_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOY_COUNTS", str(tmp_path / "counts"))
    found = tune(
        Dial, DATA, over="to", between=(0.5, 4.0), tolerance=0.01, utility=Harm("rising"), at_most={Level(): 0.2}
    )
    # -ln 0.2 = 1.6094, and 1.61 is the first hundredth that keeps the bound; no noise, so no doubt
    assert (found.value, found.interval, found.method) == (1.61, (1.61, 1.61), Dial(1.61))
    assert found.tables == (tmp_path / "counts").read_text().splitlines().count("table")
    assert found.row.means[repr(Level())] == pytest.approx(math.exp(-1.61))
    assert "leave no other value open" in found.sentence


def test_the_sentence_says_what_was_found_and_that_it_is_exact() -> None:
    found = tune(Knob(at=7), DATA, utility=Harm("rising"), at_most={Level(): 0.01})  # exp(-5) = 0.0067, exp(-4) = 0.018
    assert found.sentence == (
        "Of at from 1 to 40 with toy at most 0.01, Knob(at=5) has the lowest toy (toy 5; toy 0.006738). "
        "That is where the bound is met. Nothing in it is random: it is exact. "
        "Next to it 4 (breaks the bound) and 6 (keeps it, toy 6) were tried, in steps of 1. "
        f"{found.tables} tables were masked, for {found.tables} values of at."
    )
    assert repr(found) == f"Tuning: {found.sentence}"


@pytest.mark.parametrize("shared", [True, False])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(shared: bool) -> None:
    risk, held, widths = Level(noise=0.02), 0, []
    for seed in range(40):
        found = tune(Dial(1.0, shared), DATA, utility=Harm("rising"), at_most={risk: 0.2}, budget=40, seed=seed)
        assert found.keeps and found.tables <= 40
        assert found.row.means[repr(risk)] <= 0.2
        assert found.interval[0] <= found.value <= found.interval[1]
        held += found.interval[0] - 0.01 <= MEETS <= found.interval[1]  # 0.01: the steps of the lattice
        widths.append(found.interval[1] - found.interval[0])
    # with probability 0.95 each: 31 or fewer of 40 has a probability of 0.0005
    assert held >= 32
    # one draw moves the crossing by 0.02 / 0.2 = 0.1; chance must not be called nothing, nor fill the range
    assert 0.02 < np.median(widths) < 0.5


def test_the_same_seed_finds_the_same() -> None:
    wish: dict[str, Any] = {
        "utility": Harm("rising", noise=0.1),
        "at_most": {Level(noise=0.02): 0.2},
        "budget": 30,
        "seed": 3,
    }
    first, second = tune(Dial, DATA, **wish), tune(Dial, DATA, **wish)
    assert (first.value, first.interval, first.sentence) == (second.value, second.interval, second.sentence)


@given(st.integers(10, 60), st.floats(0.001, 0.3), st.floats(0.05, 0.5), st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_whatever_the_noise_the_budget_is_kept_and_the_value_was_measured(
    budget: int, noise: float, bound: float, replicates: int
) -> None:
    risk = Level(noise=noise)
    found = tune(
        Dial, DATA, utility=Harm("rising"), at_most={risk: bound}, budget=budget, replicates=replicates, tolerance=0.05
    )
    assert found.tables <= budget
    assert found.keeps == (found.row.means[repr(risk)] <= bound)
    assert found.interval[0] <= found.value <= found.interval[1]
    assert found.tables == sum(row.replicates for row in found.results.rows)


def test_a_bound_that_every_value_keeps_leaves_the_end_of_best_utility() -> None:
    found = tune(Knob, DATA, utility=Harm("rising"), at_most={Level(): 0.9})
    assert (found.value, found.keeps) == (1, True)
    assert found.sentence.startswith("The bound bars no better value: of at from 1 to 40, Knob() has the lowest toy")


def test_a_bound_that_no_value_keeps_is_said_and_the_nearest_end_returned() -> None:
    for method, level in ((Knob, Level()), (Dial, Level(noise=0.001))):
        found = tune(method, DATA, between=(1, 4), utility=Harm("rising"), at_most={level: 0.001})
        assert (found.value, found.keeps) == (4, False)  # exp(-4) = 0.018
        assert "No value of" in found.sentence and "comes nearest" in found.sentence


def test_least_risk_with_enough_utility() -> None:
    # risk falls and utility, better when higher, is exp(-x) and must be at least 0.1: -ln 0.1 = 2.3026
    found = tune(Dial, DATA, risk=Level(), at_least={Gain(): 0.1}, tolerance=0.01)
    assert found.value == 2.3


def test_all_of_several_bounds_are_kept() -> None:
    # exp(-x) <= 0.2 from 1.61 on; the other risk is looser (x >= 1.2), the third bounds x from above
    loose = Level("valley")  # (x - 2)² <= 0.64 from 1.2 to 2.8
    found = tune(Dial, DATA, between=(0.5, 2.0), utility=Harm("rising"), at_most={Level(): 0.2, loose: 0.64})
    assert found.value == pytest.approx(1.61, abs=0.006)
    assert set(found.bounds) == {"Level()", "Level(shape='valley')"}
    # bounds of opposite directions that leave no value: exp(-x) <= 0.2 and x <= 1
    none = tune(Dial, DATA, utility=Harm("rising"), at_most={Level(): 0.2, Level("rising"): 1.0})
    assert not none.keeps
    assert "No value of" in none.sentence


def test_a_utility_that_is_best_inside_the_range_is_found_there() -> None:
    found = tune(Dial, DATA, utility=Harm("valley"), at_most={Level(): 0.9}, tolerance=0.01, budget=200, replicates=2)
    assert found.value == pytest.approx(2.0, abs=0.011)
    assert found.interval[0] <= 2 <= found.interval[1]
    assert (
        "It is best inside the range." in found.sentence
        and "Not monotone in to over the values tried: toy" in found.sentence
    )
    exact = tune(Knob, DATA, between=(-9, 9), utility=Gain("hill"), at_most={Level("rising"): 7.0})
    assert exact.value == 2


def test_a_risk_that_is_not_monotone_is_told() -> None:
    found = tune(Knob, DATA, between=(1, 9), utility=Harm("rising"), at_most={Level("wave"): 0.1})
    assert not found.monotone["Level(shape='wave')"]
    assert "Not monotone in at over the values tried" in found.sentence
    # a valley whose ends both violate: the probes inside see it
    valley = tune(Dial, DATA, between=(0.0, 4.0), utility=Harm("rising"), at_most={Level("valley"): 1.0})
    assert valley.keeps and valley.value == pytest.approx(1.0, abs=0.02)  # (1 - 2)² = 1
    assert not valley.monotone["Level(shape='valley')"]


def test_chance_alone_is_not_called_a_violation() -> None:
    risks = [Level(noise=0.02) for _ in range(20)]
    found = [tune(Dial, DATA, utility=Harm("rising"), at_most={r: 0.2}, seed=s) for s, r in enumerate(risks)]
    assert sum(not tuning.monotone[repr(Level(noise=0.02))] for tuning in found) <= 2


def test_a_random_measure_of_a_table_that_is_not_is_drawn_several_times() -> None:
    found = tune(Knob, DATA, utility=Harm("rising"), at_most={Guess(): 0.99})
    assert found.row.replicates > 1


def test_a_score_can_be_the_objective() -> None:
    score = Recipe("Sum", ((Harm("rising"), 2.0),))
    assert tune(Knob, DATA, utility=score, at_most={Level(): 0.01}).value == 5


def test_processes_and_a_store_change_nothing(tmp_path: Path) -> None:
    wish: dict[str, Any] = {"utility": Harm("rising"), "at_most": {Level(noise=0.02): 0.2}, "budget": 20}
    here = tune(Dial, DATA, **wish)
    there = tune(Dial, DATA, **wish, workers=2, store=tmp_path / "tuning.sqlite")
    assert (here.value, here.interval) == (there.value, there.interval)
    assert (tmp_path / "tuning.sqlite").stat().st_size > 0


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"over": "q"}, "tune: Knob has the parameters at; got 'q'"),
        ({"between": (3, 3)}, r"between must be two whole numbers, the lower one first; got \(3, 3\)"),
        ({"between": (1, 2.5)}, "between must be two whole numbers"),
        ({"budget": 3}, "budget must be a whole number of at least 10; got 3"),
        ({"replicates": 0}, "replicates must be a whole number of at least 1"),
        ({"tolerance": -1}, "tolerance must be a number above 0"),
        ({"at_most": {}}, "tune: there is no bound"),
        ({"at_most": {"Levl": 0.1}}, "there is no method or measure 'Levl'"),
        ({"at_least": {Level(): 0.1}}, "its bound goes into at_most"),
        ({"utility": Level()}, "tune: Level.. is a measure of risk, not of utility"),
        ({"utility": Knob}, "Knob is not a measure"),
    ],
)
def test_wishes_that_cannot_be_are_refused(wish: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        tune(Knob, DATA, **{"utility": Harm("rising"), "at_most": {Level(): 0.1}, **wish})


def test_a_value_that_does_not_fit_the_table_is_refused_with_the_reason() -> None:
    with pytest.raises(NotApplicable, match=r"it turns to 1000 and no further\); give a range of values that fit"):
        tune(Dial, DATA, between=(1, 2000), utility=Harm("rising"), at_most={Level(): 0.1})
    with pytest.raises(ParameterError, match="nothing says which values of shared"):
        tune(Dial, DATA, over="shared", utility=Harm("rising"), at_most={Level(): 0.1})
    with pytest.raises(ParameterError, match="is not a method"):
        tune(Loss, DATA, utility=Harm("rising"), at_most={Level(): 0.1})  # type: ignore[arg-type]


@given(st.floats(0.001, 1), st.floats(0.01, 10))
def test_a_lattice_is_ordered_round_and_has_both_ends(low: float, width: float) -> None:
    values = lattice(low, low + width, whole=False, tolerance=None)
    assert values[0] == low and values[-1] == low + width
    assert list(values) == sorted(set(values))
    assert 200 <= len(values) <= 503
    assert max(np.diff(values)) <= width / 200 * (1 + 1e-6)


def test_where_utility_is_flat_it_is_said_that_values_are_alike() -> None:
    flat = tune(Dial, DATA, utility=Harm("flat", noise=0.1), at_most={Level(): 0.2})
    assert flat.alike[1] == 4.0
    assert "cannot be told from that at" in flat.sentence
    steep = tune(Dial, DATA, utility=Harm("rising", noise=0.001), at_most={Level(): 0.2})
    assert steep.alike == (steep.value, steep.value)


def test_on_the_census_file_a_fifth_of_a_fine_grid_finds_what_it_finds() -> None:
    data, loss, overlap = census(), InformationLoss(), IntervalOverlap(CENSUS_MODEL)
    risk = DistanceLinkage(known=CENSUS_KEYS, ties="linked")
    values = [round(float(p), 4) for p in np.linspace(0.02, 0.2, 50)]
    step = values[1] - values[0]
    fine = Experiment(data, grid(RankSwapping, p=values), [loss, overlap, risk], replicates=3, seed=1).run(workers=2)
    for utility in (loss, overlap):
        best = fine.row(str(fine.choose(utility=utility, at_most={risk: 0.05}).chosen))
        found = tune(RankSwapping, data, utility=utility, at_most={risk: 0.05}, budget=30, seed=1)
        assert found.tables <= 50 * 3 / 5
        assert found.keeps and found.row.means[repr(risk)] <= 0.05
        # a grid finds the first of its own values beyond the crossing, or, where utility is flat, any value alike
        assert isinstance(best.method, RankSwapping)
        assert found.interval[0] <= best.method.p <= max(found.interval[1] + step, found.alike[1])
        key = repr(utility)
        spread = math.hypot(found.row.errors[key], best.errors[key])
        assert abs(found.row.means[key] - best.means[key]) <= 1.96 * spread


@pytest.mark.parametrize("seed", range(4))
def test_no_value_drawn_as_often_is_better_than_the_one_returned(seed: int) -> None:
    from sfumato import DistanceLinkage, InformationLoss, RankSwapping
    from tables import incomes

    risk, loss = DistanceLinkage(), InformationLoss()
    found = tune(RankSwapping, incomes(120), utility=loss, at_most={risk: 0.3}, budget=20, seed=seed)
    mine = found.row
    often = len(mine.values[repr(loss)])
    for row in found.results.rows:
        if len(row.values[repr(loss)]) >= often and row.means[repr(risk)] <= 0.3:
            assert row.means[repr(loss)] >= mine.means[repr(loss)]
    assert found.keeps == (mine.means[repr(risk)] <= 0.3)
    assert not found.known or often > 1


def test_a_short_range_that_goes_up_and_down_is_tried_whole_and_said_to_be() -> None:
    """The risk is a wave and utility a hill: of 1 to 9 each is tried, though halving would stop before."""
    found = tune(Knob, DATA, between=(1, 9), utility=Gain("hill"), at_most={Level("wave"): 0.1})
    assert found.tables == len(found.results) == 9
    kept = [row for row in found.results.rows if row.means["Level(shape='wave')"] <= 0.1]
    assert found.row.candidate == max(kept, key=lambda row: row.means[found.objective]).candidate
    assert found.interval == (found.value, found.value)
    assert "every value was tried: it is exact" in found.sentence
    assert not any(said in found.sentence for said in ("budget ended", "another value may do better"))


def test_a_bound_that_bars_a_better_value_is_not_said_to_bar_none() -> None:
    # utility (x - 2)² is best around 2, and the risk, -(x - 2)², is at most -3 from two away on: both ends keep it
    wish: dict[str, Any] = {"utility": Harm("valley"), "at_most": {Level("hill"): -3.0}}
    short = tune(Knob, DATA, between=(-3, 5), **wish)
    assert short.value in (0, 4) and short.tables == 9
    assert "bars no better value" not in short.sentence and "where the bound is met" not in short.sentence
    longer = tune(Knob, DATA, between=(-30, 32), **wish)
    assert longer.keeps and "bars no better value" not in longer.sentence


SHAPES = ("falling", "rising", "valley", "hill", "wave")


@given(
    st.sampled_from(SHAPES),
    st.sampled_from(SHAPES),
    st.floats(0.05, 0.95),
    st.integers(-20, 2),
    st.integers(12, 90),
)
@settings(max_examples=60, deadline=None)
def test_no_value_next_to_the_one_found_keeps_the_bounds_and_is_better(
    utility: Any, risk: Any, share: float, low: int, width: int
) -> None:
    """Whatever rises, falls or does both: what lies one step from what is reported was tried, and is no better."""
    truth = {x: (_toy(utility, x), _toy(risk, x)) for x in range(low, low + width + 1)}
    levels = sorted(risk for _, risk in truth.values())
    bound = levels[int(share * (len(levels) - 1))]
    found = tune(Knob, DATA, between=(low, low + width), utility=Harm(utility), at_most={Level(risk): bound})
    tried = {int(row.method.at) for row in found.results.rows if isinstance(row.method, Knob)}
    if (
        not found.keeps
    ):  # a wave may keep the bound where no probe fell: it is said that none was found, not that none is
        assert "was found with" in found.sentence and all(truth[at][1] > bound for at in tried)
        return
    for near in {found.value - 1, found.value + 1} & set(truth):
        assert near in tried
        assert truth[int(near)][1] > bound or truth[int(near)][0] >= truth[int(found.value)][0]
    # nor does any bound that bars a better value lie in a gap between two values tried
    for before, after in zip(sorted(tried), sorted(tried)[1:], strict=False):
        kept = [truth[x][1] <= bound for x in (before, after)]
        barred = [truth[x][0] < truth[int(found.value)][0] for x in (before, after)]
        assert after - before == 1 or kept[0] == kept[1] or not (barred[0] if kept[1] else barred[1])


def _toy(shape: str, x: float) -> float:
    return {
        "falling": math.exp(-x),
        "rising": x,
        "valley": (x - 2) ** 2,
        "hill": -((x - 2) ** 2),
        "wave": math.exp(-x) + 0.3 * math.sin(4 * x),
    }[shape]


@pytest.mark.parametrize("seed", range(5))
def test_between_a_value_that_breaks_the_bound_and_the_one_reported_none_is_left_untried(seed: int) -> None:
    risk = Level(noise=0.02)
    found = tune(Dial, DATA, utility=Harm("rising"), at_most={risk: 0.2}, seed=seed, budget=120)
    below = found.beside[0]
    assert below is not None and found.step == 0.01
    assert found.value - below == pytest.approx(found.step)  # one step before, the mean breaks the bound
    assert found.results.row(repr(Dial(below))).means[repr(risk)] > 0.2
    assert f"{below:g} (breaks the bound)" in found.sentence and "in steps of 0.01." in found.sentence


def test_where_the_budget_ends_before_the_step_it_is_said() -> None:
    found = tune(Dial, DATA, utility=Harm("rising"), at_most={Level(noise=0.02): 0.2}, seed=0, budget=16, replicates=3)
    below = found.beside[0]
    assert below is not None and found.value - below > 0.011
    assert "the budget ended before values between were tried, so raise it" in found.sentence
