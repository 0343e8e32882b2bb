import warnings

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Noise, NotApplicable, ParameterError
from tables import numbers


def test_by_theory_the_noise_has_the_stated_standard_deviation_and_is_independent_between_variables() -> None:
    rng = np.random.default_rng(0)
    n = 40_000
    a = rng.lognormal(size=n)
    data = numbers(a=a, b=2 * a + rng.normal(size=n))
    masked = Noise(0.3).protect(data, rng=1)
    added = {name: masked.columns[name] - data.columns[name] for name in ("a", "b")}
    for name, noise in added.items():
        # the sd of a sample sd is sd / sqrt(2 (n - 1)) = 0.0035 sd; 5 of them
        assert noise.std() / data.columns[name].std() == pytest.approx(0.3, rel=0.018)
        assert abs(noise.mean()) < 5 * noise.std() / np.sqrt(n)
    assert abs(np.corrcoef(added["a"], added["b"])[0, 1]) < 5 / np.sqrt(n)


def test_by_hand_all_scales_share_their_draws() -> None:
    data = numbers(x=[1.0, 2.0, 3.0, 4.0])  # sd = sqrt(5/3)
    small = Noise(0.1).protect(data, rng=7).columns["x"] - data.columns["x"]
    large = Noise(0.3).protect(data, rng=7).columns["x"] - data.columns["x"]
    np.testing.assert_allclose(large, 3 * small)


def test_a_further_column_changes_no_other_columns_draws() -> None:
    one = Noise(0.1).protect(numbers(x=[1.0, 2.0, 3.0]), rng=7).columns["x"]
    two = Noise(0.1).protect(numbers(w=[5.0, 1.0, 2.0], x=[1.0, 2.0, 3.0]), rng=7).columns["x"]
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("scale", [-0.1, float("nan"), float("inf"), "0.1", None, True])
def test_a_scale_that_cannot_be_right_is_refused(scale: object) -> None:
    with pytest.raises(ParameterError, match="Noise: scale must be a number"):
        Noise(scale)  # type: ignore[arg-type]


def test_noise_beyond_the_largest_number_is_refused() -> None:
    table = pa.table({"pay": [1.0, 2.0, 4.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            NotApplicable, match=r"Noise: variable .pay.: noise of 1e\+308 standard deviations .* rescale the variable"
        ):
            Noise(1e308).protect(pa.table({"pay": [1e9, -1e9, 4.0]}), rng=1)
        assert np.isfinite(Noise(1e300).protect(table, rng=1)["pay"].to_numpy()).all()
