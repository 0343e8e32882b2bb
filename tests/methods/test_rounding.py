import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Noise, NotApplicable, ParameterError, Rounding, Treatment, catalogue
from sfumato.methods.rounding import rounded
from tables import incomes, numbers, persons


def test_by_hand_the_nearest_multiple_and_halves_to_the_even_one() -> None:
    data = numbers(x=[12.0, 25.0, 35.0, -18.0, float("nan"), 40.0])
    done = Rounding(10).protect(data)
    np.testing.assert_array_equal(done.columns["x"], [10, 20, 40, -20, np.nan, 40])
    assert done.schema["x"].treatment == Treatment(base=10.0)
    assert rounded(np.array([0.3, 0.34, 0.36]), 0.1).tolist() == [0.3, 0.3, 0.4]
    assert rounded(np.array([0.7, 7.4]), 0.3).tolist() == [0.6, 7.5]
    assert rounded(np.array([1234.0]), 250).tolist() == [1250]


def test_a_base_for_each_variable_leaves_the_others() -> None:
    done = Rounding({"income": 100, "age": 5}).protect(persons())
    assert (done.columns["income"] % 100 == 0).all() and (done.columns["age"] % 5 == 0).all()
    assert done.schema["age"].treatment.base == 5
    two = Rounding({"a": 10}).protect(numbers(a=[12.0], b=[12.0]))
    assert two.columns["b"].tolist() == [12.0]


def test_by_hand_a_base_by_scale_is_the_round_number_not_above_it() -> None:
    # the standard deviation of 0, 100 is 70.7; half of it 35.4: the round number not above is 20
    done = Rounding(scale=0.5).protect(numbers(x=[0.0, 100.0], y=[0.0, 1000.0], same=[7.3, 7.3]))
    assert done.schema["x"].treatment.base is None  # both are multiples of 20 already: nothing changed
    assert "x to 20, y to 200" in done.notes[-1] and "same" not in done.notes[-1]


def test_by_theory_random_rounding_is_unbiased_and_stays_within_a_base() -> None:
    n = 40_000
    x = np.full(n, 12.0)
    done = Rounding(10, random=True).protect(numbers(x=x), rng=4)
    values = done.columns["x"]
    assert set(values) == {10.0, 20.0} and done.schema["x"].treatment == Treatment(base=10.0, perturbed=True)
    # up with probability 0.2: the share has standard error sqrt(0.2 * 0.8 / n) = 0.002; 5 of them
    assert abs((values == 20).mean() - 0.2) < 0.01
    exact = Rounding(0.1, random=True).protect(numbers(x=[0.3, 0.7, 1.1]), rng=1)
    assert exact.columns["x"].tolist() == [0.3, 0.7, 1.1]  # 0.3 / 0.1 is 2.9999999999999996
    assert Rounding(10, random=True).about.random and not Rounding(10).about.random
    assert (Rounding(10, random=True) + Rounding(100)).about.random


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.sampled_from([0.01, 0.25, 1, 3, 5, 1000]))
def test_no_value_moves_by_more_than_half_a_base_and_again_changes_nothing(values: list[float], base: float) -> None:
    x = np.array(values)
    done = rounded(x, base)
    assert (np.abs(done - x) <= base / 2 * (1 + 1e-6) + 1e-9).all()
    np.testing.assert_array_equal(rounded(done, base), done)
    by_chance = rounded(x, base, np.random.default_rng(1).random(len(x)))
    assert (np.abs(by_chance - x) < base * (1 + 1e-6)).all()


def test_a_further_column_changes_no_draw_and_bases_share_them() -> None:
    x = list(incomes().columns["earnings"])
    alone = Rounding(10, random=True).protect(numbers(x=x), rng=7).columns["x"]
    both = Rounding(10, random=True).protect(numbers(w=x, x=x), rng=7).columns
    np.testing.assert_array_equal(alone, both["x"])
    assert not np.array_equal(both["w"], both["x"])


def test_what_cannot_be_is_refused() -> None:
    for make, message in [
        (lambda: Rounding(), "give a base"),
        (lambda: Rounding(10, scale=0.5), "give a base"),
        (lambda: Rounding(0), "base must be a number above 0"),
        (lambda: Rounding({"x": -5}), "base of 'x' must be a number above 0"),
        (lambda: Rounding({"x": 5}, variables=("x",)), "variables goes with one base"),
        (lambda: Rounding(5, random=1), "random must be True or False"),  # type: ignore[arg-type]
        (lambda: Rounding(scale=-1), "scale must be a number above 0"),
    ]:
        with pytest.raises(ParameterError, match=f"Rounding: {message}"):
            make()  # type: ignore[no-untyped-call]
    with pytest.raises(NotApplicable, match="Rounding: variable 'region' is nominal; it must be numeric"):
        Rounding({"region": 5}).protect(persons())
    with pytest.raises(NotApplicable, match="Rounding: there is no variable 'incom'"):
        Rounding({"incom": 5}).protect(persons())
    assert catalogue.parse("Rounding({'income': 100}) + Noise(0.1)") == [Rounding({"income": 100}) + Noise(0.1)]
    assert catalogue.parse(repr(Rounding(5, random=True))) == [Rounding(5, random=True)]
