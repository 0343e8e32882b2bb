"""Records chosen to keep regressions: the criterion by hand, its changes by fitting anew, the choice by trying all."""

from itertools import combinations

import numpy as np
import pytest

from sfumato.studies.karr_records import Regression, chosen_records


def of_numbers(n: int, seed: int, predictors: int = 2) -> Regression:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=(n, predictors))])
    return Regression.of(x, x @ np.arange(1.0, predictors + 2) + rng.normal(size=n))


def error(family: list[Regression], rows: list[int]) -> float:
    return sum(sum(one.errors(np.array(rows))) for one in family)


def test_errors_by_hand() -> None:
    # the mean of 0, 2, 4, 6 is 3, the variance of an answer 20 / 3, that of the mean a fourth of it: 5 / 3
    mean = Regression.of(np.ones((4, 1)), np.array([0.0, 2.0, 4.0, 6.0]))
    assert mean.coefficients == pytest.approx([3]) and mean.spread == pytest.approx(20 / 3)
    # of 0 and 2 it is 1, 2 below, and half of the records have twice the variance
    assert mean.errors(np.array([0, 1])) == pytest.approx((2.0, 4 / (5 / 3)))
    assert mean.errors(np.array([0, 3])) == pytest.approx((2.0, 0.0))
    assert set(chosen_records([mean], 2).tolist()) in ({0, 3}, {1, 2})


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_record_more_or_less_changes_the_criterion_as_fitting_anew_does(sign: int) -> None:
    one = of_numbers(12, seed=3)
    inside = np.arange(12) % 3 > 0
    before = error([one], np.flatnonzero(inside).tolist())
    found = one.changed(inside, sign)
    for row in np.flatnonzero(inside == (sign < 0)):
        other = inside.copy()
        other[row] = sign > 0
        assert found[row] == pytest.approx(error([one], np.flatnonzero(other).tolist()) - before)


def test_who_alone_determines_a_coefficient_is_never_left_out() -> None:
    x = np.column_stack([np.ones(6), np.array([0, 0, 0, 0, 0, 1.0])])
    one = Regression.of(x, np.array([1.0, 2, 3, 4, 5, 9]))
    assert 5 in chosen_records([one], 2)


def test_the_choice_is_among_the_best_of_all() -> None:
    for seed in range(10):
        family = [of_numbers(10, seed), of_numbers(10, seed + 100, predictors=1)]
        every = sorted(error(family, list(rows)) for rows in combinations(range(10), 6))
        found = error(family, chosen_records(family, 6).tolist())
        assert found <= every[len(every) // 20]  # of the best twentieth, of 210
