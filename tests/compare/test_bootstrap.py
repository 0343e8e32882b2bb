import math
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from compare_toys import Closeness, Loss
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import CDFMaximum, DistanceLinkage, Experiment, InformationLoss, Noise, RankInterval, Score
from sfumato.about import MeasureAbout
from sfumato.compare.bootstrap import bootstrap
from sfumato.core import Measure
from sfumato.errors import NotApplicable, ParameterError
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable
from tables import incomes, numbers


@dataclass(frozen=True, repr=False)
class Drift(Measure):
    """The difference of the means of x, which needs no matching records."""

    about: ClassVar[MeasureAbout] = MeasureAbout(
        title="drift", source="none", missing="none", purpose="utility", better="lower", range=(-9, 9), paired=False
    )

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        original, protected = pair.tables()
        return self.measurement(float(protected.columns["x"].mean() - original.columns["x"].mean()))


def test_two_records_by_hand() -> None:
    # contributions 0 and 1: the mean of two draws is 0, 1/2 or 1 with probability 1/4, 1/2, 1/4; sd sqrt(1/8) = 0.354
    found = bootstrap(numbers(x=[0.0, 0.0]), numbers(x=[0.0, 1.0]), Loss(), repetitions=4000, rng=1)
    assert (found.value, found.way, found.interval) == (0.5, "contributions", (0.0, 1.0))
    assert set(found.values) == {0.0, 0.5, 1.0}
    assert found.error == pytest.approx(math.sqrt(1 / 8), rel=0.05)
    assert "95% of 4000 repetitions from 0 to 1, by resampling what each record contributes" in repr(found)


@given(st.lists(st.floats(0, 100), min_size=2, max_size=40))
@settings(max_examples=20, deadline=None)
def test_contributions_have_the_standard_error_of_a_mean(changes: list[float]) -> None:
    # by theory: sd / sqrt(n), the sd with n; 1000 repetitions know it to 1 / sqrt(2000) = 2.2 %, kurtosis apart
    found = bootstrap(numbers(x=[0.0] * len(changes)), numbers(x=changes), Loss(), repetitions=1000, rng=2)
    assert found.error == pytest.approx(np.std(changes) / math.sqrt(len(changes)), rel=0.2, abs=1e-9)
    assert found.interval[0] <= found.value * (1 + 1e-9) and found.value <= found.interval[1] * (1 + 1e-9) + 1e-12


def test_tables_are_resampled_apart_or_together() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    shifted = numbers(x=x + 1)
    apart = bootstrap(numbers(x=x), shifted, Drift(), repetitions=1000, rng=3)
    together = bootstrap(numbers(x=x), shifted, Drift(), matched=True, rng=3)
    # by theory: sqrt(s²/n + s²/n) apart; together the shift is 1 whichever records are drawn
    assert (apart.way, together.way) == ("tables", "pairs")
    assert apart.error == pytest.approx(math.sqrt(2 * x.var() / 400), rel=0.1)
    assert together.error == pytest.approx(0, abs=1e-12)


def test_the_error_is_the_one_over_other_samples() -> None:
    # by theory: the sd of the figure over many files of one population, here 60 of them
    loss, noise = RankInterval(), Noise(0.3)

    def masked(seed: int) -> tuple[Microdata, Microdata]:
        data = incomes(n=150, seed=seed)
        return data, noise.protect(data, rng=seed)

    spread = np.std([loss.evaluate(*masked(seed)).value for seed in range(60)], ddof=1)
    errors = [bootstrap(*masked(seed), loss, repetitions=100, rng=seed).error for seed in range(5)]
    assert np.mean(errors) == pytest.approx(spread, rel=0.35)


def test_linkage_is_not_recomputed_among_twins() -> None:
    data = incomes(n=120)
    copy = bootstrap(data, data, DistanceLinkage(), rng=1)
    # an exact copy links every record; among records drawn twice ties would halve that
    assert (copy.value, copy.error, copy.way) == (1.0, 0.0, "contributions")
    masked = bootstrap(data, Noise(0.5).protect(data, rng=1), DistanceLinkage(), rng=1)
    assert masked.interval[0] < masked.value < masked.interval[1]


def test_a_distance_between_tables_says_that_its_interval_is_shifted() -> None:
    data = incomes(n=80)
    found = bootstrap(data, data, CDFMaximum(), repetitions=30, rng=1)
    assert found.value == 0 and found.interval[0] > 0
    assert "the interval is shifted" in found.notes[-1]


def test_ids_and_missing_values_are_no_obstacle() -> None:
    schema = Schema((Variable("id", "nominal", "identifier"),), id="id")
    rng = np.random.default_rng(0)
    x = np.where(rng.random(40) < 0.2, np.nan, rng.lognormal(size=40))
    table = pa.table({"id": [f"r{i}" for i in range(40)], "x": x, "y": rng.lognormal(size=40)})
    data = Microdata.from_frame(table, schema)
    turned = Noise(0.2).protect(data, rng=1).take(np.arange(40)[::-1])
    for measure in (RankInterval(), InformationLoss()):
        straight = bootstrap(data, Noise(0.2).protect(data, rng=1), measure, repetitions=30, rng=5)
        assert bootstrap(data, turned, measure, repetitions=30, rng=5).error == pytest.approx(straight.error)


def test_results_have_it_for_their_candidates() -> None:
    results = Experiment(incomes(n=100), [Noise(0.2)], [RankInterval(), InformationLoss()], seed=4).run()
    found = results.bootstrap("Noise(scale=0.2)", "RankInterval", repetitions=50)
    assert found.value == results.row("Noise(scale=0.2)").values["RankInterval()"][0]
    assert found.error > 0
    assert results.bootstrap("Noise(scale=0.2)", RankInterval, repetitions=50).error == found.error


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"repetitions": 5}, "repetitions must be a whole number of at least 20; got 5"),
        ({"level": 95}, "level must be a share from 0.5 to below 1; got 95"),
        ({"matched": False}, "compares record with record"),
        ({"seconds": 0}, "seconds must be a number above 0"),
        ({"measure": Score()}, "is not a measure; take its measures one by one"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    data = numbers(x=[1.0, 2.0])
    with pytest.raises(ParameterError, match=message):
        bootstrap(data, data, **{"measure": Closeness(), **given})


def test_the_time_is_bounded_and_too_few_repetitions_are_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    data, masked = incomes(n=60), Noise(0.2).protect(incomes(n=60), rng=1)
    now = iter(range(10_000))
    monkeypatch.setattr(import_module("sfumato.compare.bootstrap"), "perf_counter", lambda: float(next(now)))
    # a second for every look at the clock: after 49 repetitions 50 seconds are over
    found = bootstrap(data, masked, InformationLoss(), rng=1, seconds=50.0)
    assert (found.values.size, found.wanted) == (49, 200)
    assert "49 of 200 repetitions were made" in found.notes
    whole = bootstrap(data, masked, InformationLoss(), rng=1, repetitions=49)
    assert (found.values == whole.values).all()  # what was made is as it would have been
    with pytest.raises(NotApplicable, match="in 5 s there is time for fewer than 20 of 200 repetitions"):
        bootstrap(data, masked, InformationLoss(), rng=1, seconds=5.0)


def test_what_is_known_is_not_computed_again() -> None:
    data, masked = incomes(n=60), Noise(0.2).protect(incomes(n=60), rng=1)
    for measure in (RankInterval(), InformationLoss()):
        whole = measure.evaluate(data, masked)
        known = bootstrap(data, masked, measure, rng=1, repetitions=30, known=whole)
        assert (known.values == bootstrap(data, masked, measure, rng=1, repetitions=30).values).all()
    contributions = bootstrap(data, None, RankInterval(), rng=1, known=RankInterval().evaluate(data, masked))
    assert contributions.way == "contributions"


def test_a_shifted_figure_is_given_up_early_if_wished() -> None:
    data = incomes(n=80)
    told: list[int] = []
    found = bootstrap(data, data, CDFMaximum(), rng=1, unless_shifted=True, told=told.append)
    assert found.shifted and found.values.size == 20 == told[-1]
    # an interval that holds its figure is not given up
    masked = Noise(0.2).protect(data, rng=1)
    kept = bootstrap(data, masked, InformationLoss(), rng=1, repetitions=40, unless_shifted=True)
    assert not kept.shifted and kept.values.size == 40


def test_samples_without_a_figure_are_counted_or_refused() -> None:
    # both values of x present in one record of three only: 8 of 27 samples lack it
    data = numbers(x=[1.0, math.nan, math.nan], y=[1.0, 2.0, 3.0])
    with pytest.raises(NotApplicable, match="resampled tables have no figure"):
        bootstrap(data, data, RankInterval(variables=("x",)), repetitions=100, rng=1)
