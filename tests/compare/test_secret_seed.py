"""Without a seed the draws of an experiment are secret: who has the protected table and the code cannot repeat them."""

from pathlib import Path

import numpy as np
import pytest

from sfumato import DistanceLinkage, Experiment, InformationLoss, RankSwapping, household_survey, tune
from sfumato.compare.seeds import generator
from sfumato.table.microdata import Microdata

SURVEY = household_survey(households=60, seed=1)
MEASURES = (InformationLoss(), DistanceLinkage())
SWAP = RankSwapping(0.1, variables=("income", "wealth"))


@pytest.fixture(autouse=True)
def known_seed() -> None:
    """Let seeds be drawn."""


def experiment(seed: int | None = None) -> Experiment:
    return Experiment(SURVEY, [SWAP], MEASURES, seed=seed)


def same(one: Microdata, other: Microdata) -> bool:
    return np.array_equal(one.columns["income"], other.columns["income"], equal_nan=True)


def test_an_intruder_who_runs_the_same_code_does_not_get_the_same_draws() -> None:
    released = experiment().run()
    known = [experiment().run().seed, experiment(seed=0).run().seed, 0]
    assert released.seed not in known
    table = released.protect(repr(SWAP))
    for guess in known:
        assert not same(SWAP.protect(SURVEY, rng=generator(guess, SWAP, 0)), table)
    assert same(SWAP.protect(SURVEY, rng=generator(released.seed, SWAP, 0)), table)  # why it is to stay secret


def test_one_experiment_run_twice_gives_the_same_figures() -> None:
    one = experiment()
    first, second = one.run(), one.run()
    assert first.seed == second.seed
    assert first.row(repr(SWAP)).means == second.row(repr(SWAP)).means


def test_a_store_goes_on_with_the_seed_that_was_drawn_for_the_data(tmp_path: Path) -> None:
    store = tmp_path / "figures.db"
    first = experiment().run(store=store)
    again = experiment().run(store=store)
    assert again.seed == first.seed and again.row(repr(SWAP)).means == first.row(repr(SWAP)).means
    stated = experiment(seed=3).run(store=store)
    assert stated.seed == 3 and experiment().run(store=store).seed == first.seed
    fewer = Experiment(SURVEY.take(np.arange(len(SURVEY) - 1)), [SWAP], MEASURES)
    assert fewer.run(store=store).seed != first.seed


def test_tuning_draws_a_secret_seed_too(tmp_path: Path) -> None:
    seeds = {
        tune(RankSwapping, SURVEY, utility="InformationLoss", at_most={"DistanceLinkage": 0.5}, budget=12).results.seed
        for _ in range(2)
    }
    assert len(seeds) == 2 and 0 not in seeds


def test_the_seed_is_not_part_of_what_a_notebook_shows() -> None:
    found = experiment(seed=73_911_113).run()
    assert "73911113" not in repr(found) and "73911113" not in found._repr_html_()
