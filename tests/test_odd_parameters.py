"""Parameters of types and sizes that no class was made for: refused by the class, in the words of all refusals."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato import (
    MDAV,
    CorrelatedNoise,
    DateShift,
    DistanceLinkage,
    DistributionDistortion,
    EllipsoidOverlap,
    Experiment,
    GlobalDataUtility,
    InformationLoss,
    KimNoise,
    KullbackLeibler,
    Method,
    Microdata,
    Noise,
    NotApplicable,
    ParameterError,
    Rounding,
    Schema,
    SinglingOut,
    SpreadInterval,
    Variable,
    WeightMasking,
)


@pytest.mark.parametrize(
    "given", [3, 0.5, True, object(), dt.date(2020, 1, 1), np.float32(1), len], ids=lambda given: type(given).__name__
)
def test_variables_that_are_no_list(given: Any) -> None:
    with pytest.raises(ParameterError, match="InformationLoss: variables must be a list of variable names; got"):
        InformationLoss(variables=given)


@pytest.mark.parametrize("given", [np.array([1, 2]), pd.Series([1.0]), pd.DataFrame({"a": [1]}), ["euclidean"]])
def test_a_word_that_is_an_array(given: Any) -> None:
    with pytest.raises(ParameterError, match="DistanceLinkage: distance must be one of"):
        DistanceLinkage(distance=given)


@pytest.mark.parametrize("given", [dt.date(2020, 1, 1), object(), None])
def test_what_a_class_was_not_made_for_is_refused_by_name(given: Any) -> None:
    with pytest.raises(ParameterError, match="SpreadInterval: "):
        SpreadInterval(percents=given)


def test_a_count_that_is_larger_than_any_table() -> None:
    classes: tuple[tuple[Any, str], ...] = ((MDAV, "k"), (DateShift, "days"), (SinglingOut, "orders"))
    for cls, name in classes:
        with pytest.raises(ParameterError, match=rf"{name} must be a whole number from \d+ to 1,000,000,000; got"):
            cls(**{name: 2**63})


def test_a_seed_may_be_as_large_as_those_that_are_drawn() -> None:
    data = Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0]}))
    for seed in (2**63 - 1, 2**128 - 1):
        assert Experiment(data, [DateShift(3)], [InformationLoss()], seed=seed).seed == seed


def test_weights_too_large_to_compute_with_are_refused_too() -> None:
    columns = {"w": [1e300, 2e300, 3e300, 1e300], "x": [1.0, 2.0, 3.0, 5.0], "y": [1.0, 4.0, 2.0, 2.0]}
    data = Microdata.from_frame(pa.table(columns), Schema((Variable("w"),), weight="w"))
    with pytest.raises(NotApplicable, match="the values of 'w' reach 3e"):
        KullbackLeibler(variables=("w", "x")).evaluate(data, data)


def test_a_distribution_of_nearly_equal_values_is_fitted_without_a_warning() -> None:
    values = [2.0**53, 2.0**53 + 2, 2.0**53 + 4]
    protected = DistributionDistortion().protect(pa.table({"x": values}), rng=1)
    assert len(protected) == 3


def test_noise_and_bases_beyond_the_largest_number() -> None:
    data = Microdata.from_frame(pa.table({"x": [1.0, 5.0, 900.0], "y": [3.0, 2.0, 9.0]}))
    for method in (CorrelatedNoise(1e308), KimNoise(1e308), Rounding(scale=1e308)):
        with pytest.raises(NotApplicable, match=r"beyond the largest number|larger than any number"):
            method.protect(data, rng=1)


def test_noise_that_no_weight_outlives() -> None:
    frame = pa.table({"x": np.arange(40.0), "w": np.linspace(1.1, 5, 40)})
    data = Microdata.from_frame(frame, Schema((Variable("w"),), weight="w"))
    for scale in (1e4, 1e18):
        with pytest.raises(NotApplicable, match="leaves no weight that can be computed with"):
            WeightMasking("noise", scale=scale).protect(data, rng=1)


def test_levels_too_small_for_arithmetic() -> None:
    with pytest.raises(ParameterError, match="EllipsoidOverlap: level must be at least 1e-06"):
        EllipsoidOverlap(level=1e-300)
    data = Microdata.from_frame(pa.table({"x": [1.0, 5.0, 900.0], "y": [3.0, 2.0, 9.0]}))
    found = GlobalDataUtility(threshold=1e-300).evaluate(data, data)
    assert any("no correlation below 1.00" in note for note in found.notes)
    assert any("below 0.00" in note for note in GlobalDataUtility(threshold=1.0).evaluate(data, data).notes)


@pytest.mark.parametrize("method", [Noise(3.0, variables=("w",)), CorrelatedNoise(9.0, variables=("w", "x"))], ids=repr)
def test_weights_that_would_be_below_zero(method: Method) -> None:
    frame = pa.table({"x": np.arange(40.0), "w": np.linspace(0.1, 5, 40)})
    data = Microdata.from_frame(frame, Schema((Variable("w"),), weight="w"))
    with pytest.raises(NotApplicable, match=r"the weight 'w' would be below zero or missing in .* WeightMasking"):
        method.protect(data, rng=1)
    assert Rounding(0.5, variables=("w",)).protect(data, rng=1).weights().min() >= 0
