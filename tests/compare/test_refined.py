"""Stages that keep more of the keys than a climb does: by hand, and that they never break what was asked."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Microdata, Schema, Variable
from sfumato.compare.coarsening import DETAIL_OF_REMOVED_KEY, MAX_SHARE_IN_SMALL_CLASSES, KeySet, Ladders, Stage
from sfumato.kernels.groups import classes


def table(ages: list[int], towns: list[str]) -> Microdata:
    schema = Schema((Variable("age", "numeric", "key"), Variable("town", "nominal", "key")))
    return Microdata.from_frame(pa.table({"age": ages, "town": towns}), schema)


def of(ladders: Ladders, stage: Stage, names: tuple[str, ...]) -> int:
    return len(classes(np.column_stack([ladders.rungs[n][stage.rungs[n]].codes for n in names]))[1])


def test_by_hand_what_is_left_of_a_key_is_what_utility_counts() -> None:
    # ages 20..59, ten times each, in bands of 10: within a band the mean distance to its mean is 2.5, to that of all 10
    data = table([20 + i % 40 for i in range(400)], ["a", "b"] * 200)
    rungs = {rung.categories: rung.detail for rung in Ladders.of(data, ["age"]).rungs["age"]}
    assert rungs[40] == 1.0
    assert rungs[4] == pytest.approx(1 - 2.5 / 10)


def test_what_is_too_coarse_is_made_finer_again() -> None:
    data = table([20 + i % 40 for i in range(400)], ["a", "b"] * 200)
    ladders = Ladders.of(data, ("age", "town"))
    last = {name: len(ladder) - 1 for name, ladder in ladders.rungs.items()}
    found = ladders.refined(Stage(last, 0, 1), (), [KeySet(("age", "town"), 2)], 16)
    assert found.classes == of(ladders, found, ("age", "town")) <= 16
    finer = {**found.rungs, "age": found.rungs["age"] - 1}
    assert of(ladders, Stage(finer, 0, 0), ("age", "town")) > 16, "one rung finer would be too many"


def test_a_key_that_is_left_out_keeps_nothing_and_the_others_more() -> None:
    rng = np.random.default_rng(1)
    towns = [f"t{code:02d}" for code in rng.integers(0, 40, 600)]
    wide = Ladders.of(table(rng.integers(20, 60, 600).tolist(), towns), ("age", "town")).with_removal()
    start = Stage({name: len(ladder) - 1 for name, ladder in wide.rungs.items()}, 0, 1)
    assert all(
        ladder[-1].detail == DETAIL_OF_REMOVED_KEY and ladder[-1].categories == 1 for ladder in wide.rungs.values()
    )
    found = wide.refined(start, (), [KeySet(("age", "town"), 2)], 40)
    assert of(wide, found, ("age", "town")) <= 40
    assert sum(wide.rungs[n][p].detail for n, p in found.rungs.items()) >= 0.9  # one of the two nearly as it came


@given(st.integers(0, 10_000), st.integers(2, 60))
@settings(max_examples=40)
def test_nothing_asked_is_broken_and_never_less_is_left(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    towns = [f"t{code}" for code in (rng.zipf(1.7, 300) - 1) % 15]
    ladders = Ladders.of(table(rng.integers(18, 80, 300).tolist(), towns), ("age", "town"))
    crowds, sets = [KeySet(("age", "town"), 300 // most)], [KeySet(("age", "town"), 3)]
    stages = [stage for stage in ladders.climb(crowds, {}) if stage.classes <= most]
    if not stages:
        return

    def left(stage: Stage) -> float:
        return sum(ladders.rungs[n][p].detail for n, p in stage.rungs.items()) - small(stage) / 300

    def small(stage: Stage) -> int:
        sizes = classes(np.column_stack([ladders.rungs[n][p].codes for n, p in stage.rungs.items()]))[1]
        return int(sizes[sizes < 3].sum())

    found = ladders.refined(stages[0], sets, crowds, most)
    assert of(ladders, found, ("age", "town")) <= most
    assert left(found) >= left(stages[0]) - 1e-9
    assert small(found) <= max(MAX_SHARE_IN_SMALL_CLASSES * 300, small(stages[0]))
