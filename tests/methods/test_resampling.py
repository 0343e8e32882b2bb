import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import ParameterError, Resampling
from tables import numbers


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30, unique=True), st.integers(1, 4), st.integers(0, 99))
def test_ranks_are_kept_and_values_stay_in_range(values: list[int], t: int, seed: int) -> None:
    x = np.array(values, dtype=float)
    masked = Resampling(t).protect(numbers(x=x), rng=seed).columns["x"]
    assert (np.diff(masked[np.argsort(x)]) >= 0).all()
    assert masked.min() >= x.min() and masked.max() <= x.max()
    if t == 1:
        assert set(masked) <= set(x)


def test_by_theory_the_mean_is_kept_in_expectation_and_t_divides_the_variance() -> None:
    # the mean of an average of t bootstrap samples has variance s^2 / (n t), with s^2 the variance of the values (/ n)
    x = np.random.default_rng(3).lognormal(size=60)
    data = numbers(x=x)
    for t in (1, 4):
        means = np.array([Resampling(t).protect(data, rng=seed).columns["x"].mean() for seed in range(800)])
        theory = x.var() / (60 * t)
        assert abs(means.mean() - x.mean()) < 5 * np.sqrt(theory / 800)
        assert means.var(ddof=1) == pytest.approx(theory, rel=5 * np.sqrt(2 / 800))


@pytest.mark.parametrize("t", [0, -1, 1.5, "3", True])
def test_a_number_of_samples_that_cannot_be_right_is_refused(t: object) -> None:
    with pytest.raises(ParameterError, match="Resampling: t must be a whole number of at least 1"):
        Resampling(t)  # type: ignore[arg-type]
