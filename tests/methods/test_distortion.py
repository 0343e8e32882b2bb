import numpy as np
import pytest
from scipy import stats

from sfumato import DistributionDistortion, NotApplicable
from sfumato.methods.distortion import best_family
from tables import numbers


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("norm", (10, 3)),
        ("lognorm", (0.8, 0, 5)),
        ("gamma", (3.0, 0, 2)),
        ("weibull_min", (0.6, 0, 3)),
        ("uniform", (5, 2)),
        ("gumbel_r", (0, 2)),
    ],
)
def test_by_theory_the_family_that_made_the_data_is_found(family: str, parameters: tuple[float, ...]) -> None:
    values = getattr(stats, family).rvs(*parameters, size=4000, random_state=np.random.default_rng(1))
    found, fitted = best_family(values)
    assert found.name == family
    # by reference: the distance is that of scipy's one-sample test, and no worse than the true distribution's
    distance = stats.kstest(values, found.cdf, args=fitted).statistic
    assert distance <= stats.kstest(values, family, args=parameters).statistic + 1e-12


def test_draws_follow_the_fit_and_keep_the_rank_order() -> None:
    x = np.random.default_rng(2).lognormal(2, 0.7, size=3000)
    masked = DistributionDistortion().protect(numbers(x=x), rng=5).columns["x"]
    assert np.array_equal(np.argsort(masked, kind="stable"), np.argsort(x, kind="stable"))
    assert stats.ks_2samp(masked, x).pvalue > 1e-4
    assert not np.isin(masked, x).any()


def test_negative_and_zero_values_rule_out_the_positive_families() -> None:
    x = np.concatenate([[0.0], np.random.default_rng(2).lognormal(2, 0.7, size=500)])
    assert best_family(x)[0].name in ("norm", "logistic", "gumbel_r", "gumbel_l", "uniform")


def test_a_constant_has_nothing_to_fit() -> None:
    with pytest.raises(NotApplicable, match="DistributionDistortion: variable 'x': a distribution cannot be fitted"):
        DistributionDistortion().protect(numbers(x=[2.0, 2.0, 2.0]))
