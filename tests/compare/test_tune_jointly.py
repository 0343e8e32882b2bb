"""Several parameters of a chain at once: against a full grid on which the truth is known."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from joint_toys import DATA, Blank, Coarsen, Found, Lost, Near, Swap

from sfumato import ParameterError, tune, tune_jointly
from sfumato.errors import NotApplicable

CHAIN = Coarsen(5) + Blank(3) + Swap(0.1)
OVER = {"Coarsen.groups": (2, 10), "Blank.k": (2, 8), "Swap.p": (0.02, 0.3)}
BOUNDS = {Found(): 0.6, Near(): 0.45}


def _grid_best() -> float:
    """The least loss within the bounds on a full grid of 9 x 7 x 8 = 504 points, by the formulas themselves."""
    grid = product(range(2, 11), range(2, 9), np.linspace(0.02, 0.3, 8))
    return min(Lost.value(g, k, p) for g, k, p in grid if Found.value(g, k, p) <= 0.6 and Near.value(g, k, p) <= 0.45)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sixty_tables_find_what_a_grid_of_five_hundred_does(seed: int) -> None:
    found = tune_jointly(CHAIN, DATA, over=OVER, utility=Lost(), at_most=BOUNDS, budget=60, replicates=1, seed=seed)
    assert found.keeps and found.tables <= 60
    loss = found.row.means[repr(Lost())]
    assert loss <= _grid_best() + found.error
    assert found.error < 0.05  # of figures from 0.2 to 1.6 or so: the statement is not an empty one
    assert loss == pytest.approx(Lost.value(*found.values.values()))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_chance_in_the_figures_the_best_keeps_the_bounds_in_the_mean(seed: int) -> None:
    bounds = {Found(noise=0.02): 0.6, Near(noise=0.01): 0.45}
    found = tune_jointly(
        CHAIN, DATA, over=OVER, utility=Lost(noise=0.01), at_most=bounds, budget=60, replicates=5, seed=seed
    )
    assert found.keeps and found.tables <= 60 and found.row.replicates == 5
    truth = Lost.value(*found.values.values())
    assert truth <= _grid_best() + found.error
    values = list(found.values.values())
    assert Found.value(*values) <= 0.6 + 3 * 0.02 / np.sqrt(5)


def test_the_frontier_is_that_of_the_points_tried_and_every_table_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_COUNTS", str(tmp_path / "counts"))
    found = tune_jointly(CHAIN, DATA, over=OVER, utility=Lost(), at_most=BOUNDS, budget=30, replicates=1)
    assert found.frontier is not None
    assert repr(found.method) in found.frontier.on  # the best within bounds is beaten by none
    assert len(found.results) == found.tables <= 30
    assert len((tmp_path / "counts").read_text().splitlines()) == found.tables
    again = tune_jointly(CHAIN, DATA, over=OVER, utility=Lost(), at_most=BOUNDS, budget=30, replicates=1)
    assert again.values == found.values  # the seed fixes all of it


def test_a_store_gives_back_what_was_measured(tmp_path: Path) -> None:
    ask = {"over": OVER, "utility": Lost(), "at_most": BOUNDS, "budget": 24, "store": tmp_path / "s.sqlite"}
    one = tune_jointly(CHAIN, DATA, **ask)  # type: ignore[arg-type]
    two = tune_jointly(CHAIN, DATA, **ask)  # type: ignore[arg-type]
    assert one.values == two.values and one.row.means == two.row.means


def test_bounds_out_of_reach_give_the_point_that_comes_nearest() -> None:
    found = tune_jointly(CHAIN, DATA, over=OVER, utility=Lost(), at_most={Found(): 0.001}, budget=40, replicates=1)
    assert not found.keeps
    assert found.sentence.startswith("No point of Coarsen.groups from 2 to 10, ")
    values = list(found.values.values())
    assert Found.value(*values) < 0.1  # the least there is: 2 groups, k = 8, p = 0.3 gives 0.04


def test_points_that_fail_are_passed_over_and_all_failing_is_said() -> None:
    some = tune_jointly(
        CHAIN, DATA, over={"k": (2, 150), "p": (0.02, 0.3)}, utility=Lost(), at_most={Near(): 0.9}, budget=30
    )
    assert some.keeps and some.values["k"] <= 100
    with pytest.raises(NotApplicable, match=r"no point tried has its figures \(.*too few records"):
        tune_jointly(CHAIN, DATA, over={"k": (101, 150), "p": None}, utility=Lost(), at_most={Near(): 0.9})


def test_one_parameter_of_a_chain_is_searched_as_that_of_a_method() -> None:
    found = tune(CHAIN, DATA, over="Swap.p", between=(0.02, 0.3), utility=Lost(), at_most={Near(): 0.45})
    assert found.keeps and found.over == "Swap.p"
    # 1 / (1 + 12 p) + 0.1 = 0.45 at p = (1 / 0.35 - 1) / 12 = 0.15476
    assert found.value == pytest.approx(0.155)
    assert repr(found.method) == "Coarsen(groups=5) + Blank(k=3) + Swap(p=0.155)"


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"Swap.q": (0, 1)}, r"has the parameters Coarsen.groups, Blank.k, Swap.p; got 'Swap.q'"),
        ({"k": (2.5, 3.0)}, "two whole numbers"),
        ({"k": (2, 4), "Blank.k": (2, 4)}, "are the same parameter"),
        ({}, "over must give each parameter its range"),
    ],
)
def test_what_cannot_be_is_refused(over: dict[str, tuple[float, float]], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        tune_jointly(CHAIN, DATA, over=over, utility=Lost(), at_most=BOUNDS)


def test_steps_of_one_name_are_told_apart_by_number() -> None:
    twice = Blank(3) + Coarsen(5) + Blank(4)
    with pytest.raises(ParameterError, match=r"write Blank\[1\].k or Blank\[2\].k"):
        tune(twice, DATA, over="k", utility=Lost(), at_most={Near(): 1.0})
    found = tune(twice, DATA, over="Blank[2].k", between=(2, 8), utility=Lost(), at_most={Near(): 2.0})
    assert repr(found.method).startswith("Blank(k=3) + Coarsen(groups=5) + Blank(k=2")
    with pytest.raises(ParameterError, match="say which parameter of the chain"):
        tune(twice, DATA, utility=Lost(), at_most={Near(): 1.0})
