"""IL1s: how far values moved, in standard deviations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import IL1s, NotApplicable, ParameterError, StructureLoss
from tables import incomes, numbers

NAN = float("nan")


def test_two_variables_by_hand() -> None:
    # a: 1, 3, 5, standard deviation 2, moved by 1, 0, 3; b: 0, 0, 6, standard deviation sqrt(12), moved by 0, 6, 0
    before, after = numbers(a=[1.0, 3, 5], b=[0.0, 0, 6]), numbers(a=[2.0, 3, 2], b=[0.0, 6, 6])
    of_a, of_b = 4 / (np.sqrt(2) * 2), 6 / (np.sqrt(2) * np.sqrt(12))
    found = IL1s().evaluate(before, after)
    assert found.value == pytest.approx((of_a + of_b) / 6)
    assert found.parts == pytest.approx({"mean": (of_a + of_b) / 6, "sum": of_a + of_b})
    assert found.by_variable == pytest.approx({"a": of_a / 3, "b": of_b / 3})
    total = IL1s("sum").evaluate(before, after)
    assert total.value == pytest.approx(of_a + of_b) and total.by_variable == pytest.approx({"a": of_a, "b": of_b})


def test_missing_values_and_constants_are_left_out_and_said() -> None:
    before = numbers(a=[1.0, 3, 5, NAN], b=[2.0, 2, 2, 2])
    after = numbers(a=[2.0, NAN, 5, 7], b=[3.0, 2, 2, 2])
    found = IL1s().evaluate(before, after)
    assert found.value == pytest.approx(1 / (np.sqrt(2) * 2) / 2)  # a moved by 1 and 0
    assert "left out, for they do not vary in the original: b" in found.notes
    with pytest.raises(NotApplicable, match="IL1s: no variable varies"):
        IL1s(variables=("b",)).evaluate(before, after)
    with pytest.raises(ParameterError, match="form must be one of 'mean', 'sum'"):
        IL1s("total")  # type: ignore[arg-type]


def test_unrelated_normal_draws_are_four_fifths_apart() -> None:
    rng = np.random.default_rng(0)
    before, after = (numbers(a=rng.normal(5, 3, 200_000)) for _ in range(2))
    # the mean distance of two draws is 2 / sqrt(pi) standard deviations
    assert IL1s().evaluate(before, after).value == pytest.approx(2 / np.sqrt(np.pi) / np.sqrt(2), abs=0.005)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), scale=st.floats(0.01, 100), shift=st.floats(-100, 100))
def test_units_do_not_matter_and_more_noise_costs_more(seed: int, scale: float, shift: float) -> None:
    data = incomes(seed=seed)
    names = data.schema.analysed("numeric")
    masked, stronger = (sfumato.Noise(s).protect(data, rng=seed) for s in (0.1, 0.3))
    value = IL1s().evaluate(data, masked).value
    one, other = (t.replace({n: scale * t.columns[n] + shift for n in names}) for t in (data, masked))
    assert IL1s().evaluate(one, other).value == pytest.approx(value, rel=1e-6)
    assert IL1s().evaluate(data, stronger).value == pytest.approx(3 * value)  # the same draws, three times as far


def test_sdcmicros_il1_is_the_mean_variation_of_the_values() -> None:
    before, after = numbers(a=[1.0, 2, 4]), numbers(a=[1.0, 3, 4])
    # IL1 of dUtility: sum of |x - x'| / |x|, here 1/2; StructureLoss divides by the three values
    assert 3 * StructureLoss().evaluate(before, after).value == pytest.approx(0.5)
