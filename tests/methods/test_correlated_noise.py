import numpy as np
import pytest

from sfumato import CorrelatedNoise, KimNoise, NormalSynthesis, NotApplicable, ParameterError, ResidualNoise
from sfumato.catalogue import parse
from sfumato.methods.correlated_noise import root
from sfumato.methods.microaggregation import ProjectionMicroaggregation
from tables import census, incomes, numbers

N = 20_000


def relative_gap(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def test_by_theory_correlated_noise_inflates_the_covariance_by_one_plus_c() -> None:
    data = incomes(N)
    x = data.numeric()
    noise = CorrelatedNoise(0.16).protect(data, rng=1).numeric() - x
    # a sample covariance entry has relative error of the order sqrt(2 / n) = 0.01
    assert relative_gap(np.cov(noise, rowvar=False), 0.16 * np.cov(x, rowvar=False)) < 0.05
    assert abs(np.corrcoef(noise[:, 0], x[:, 0])[0, 1]) < 5 / np.sqrt(N)


def test_by_theory_kims_noise_keeps_mean_and_covariance_in_expectation() -> None:
    data = incomes(N)
    x, z = data.numeric(), KimNoise(0.5).protect(data, rng=1).numeric()
    assert relative_gap(np.cov(z, rowvar=False), np.cov(x, rowvar=False)) < 0.05
    assert np.abs(z.mean(axis=0) - x.mean(axis=0)).max() < 5 * x.std(axis=0).max() / np.sqrt(N)


def test_by_hand_kims_noise_is_the_shrunk_difference() -> None:
    data = numbers(x=[1.0, 2.0, 6.0])
    z = KimNoise(3.0).protect(data, rng=4).columns["x"]  # c = sqrt(1/4) = 1/2
    noise = data.columns["x"] - (z - 0.5 * 3.0) / 0.5  # solves z = c (x - e) + (1 - c) 3
    other = CorrelatedNoise(3.0).protect(data, rng=4).columns["x"] - data.columns["x"]
    np.testing.assert_allclose(noise, other)


@pytest.mark.parametrize("seed", range(3))
def test_by_theory_normal_synthesis_has_exactly_the_mean_and_covariance_of_the_original(seed: int) -> None:
    data = incomes(500)
    x, y = data.numeric(), NormalSynthesis().protect(data, rng=seed).numeric()
    np.testing.assert_allclose(y.mean(axis=0), x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(np.cov(y, rowvar=False), np.cov(x, rowvar=False), rtol=1e-9)
    assert abs(np.corrcoef(x[:, 0], y[:, 0])[0, 1]) < 0.2  # rows have nothing to do with each other


def test_a_singular_covariance_is_kept_as_it_is() -> None:
    data = census()  # PTOTVAL = POTHVAL + PEARNVAL
    y = NormalSynthesis().protect(data, rng=0)
    total = y.columns["POTHVAL"] + y.columns["PEARNVAL"]
    np.testing.assert_allclose(y.columns["PTOTVAL"], total, rtol=1e-6, atol=1e-3)


def test_by_theory_residual_noise_restores_the_covariance_that_microaggregation_took() -> None:
    data = incomes(N)
    x = data.numeric()
    plain = ProjectionMicroaggregation(3).protect(data).numeric()
    mended = ResidualNoise(ProjectionMicroaggregation(3)).protect(data, rng=1).numeric()
    assert relative_gap(np.cov(plain, rowvar=False), np.cov(x, rowvar=False)) > 0.1
    assert relative_gap(np.cov(mended, rowvar=False), np.cov(x, rowvar=False)) < 0.05
    assert len(np.unique(mended[:, 0])) == N


def test_by_hand_the_root_of_a_matrix() -> None:
    np.testing.assert_allclose(root(np.array([[5.0, 4.0], [4.0, 5.0]])), [[2, 1], [1, 2]])  # [[2,1],[1,2]]^2
    np.testing.assert_allclose(root(np.array([[4.0, 0.0], [0.0, -1.0]])), [[2, 0], [0, 0]])


def test_a_method_inside_a_method_can_be_written_as_text() -> None:
    assert parse("ResidualNoise(of=ProjectionMicroaggregation(k=3))") == [ResidualNoise(ProjectionMicroaggregation(3))]
    assert len(parse("ResidualNoise(of=ProjectionMicroaggregation(k=[3, 5]))")) == 2


def test_bad_parameters_and_tables_are_refused() -> None:
    with pytest.raises(ParameterError, match="ResidualNoise: of must be a method"):
        ResidualNoise(3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="CorrelatedNoise: c must be a number of at least 0; got -1"):
        CorrelatedNoise(-1)
    with pytest.raises(NotApplicable, match="NormalSynthesis: 2 records cannot have a given covariance in 2 variables"):
        NormalSynthesis().protect(numbers(a=[1.0, 2.0], b=[3.0, 1.0]))
    nan = float("nan")
    with pytest.raises(NotApplicable, match=r"KimNoise: a covariance needs at least two records .* there are 0"):
        KimNoise(0.1).protect(numbers(a=[1.0, nan, 3.0, nan], b=[nan, 1.0, nan, 2.0]))


@pytest.mark.parametrize("turned", [False, True])
def test_by_theory_a_share_beside_a_turnover_keeps_its_own_scale(turned: bool) -> None:
    rng = np.random.default_rng(0)
    n = 4_000
    share = 0.01 * rng.standard_normal(n)
    columns = {"share": share, "other": 0.7 * share + 0.005 * rng.standard_normal(n), "turnover": 1e9 * rng.random(n)}
    data = numbers(**(dict(reversed(columns.items())) if turned else columns))
    x = data.numeric()
    exact = NormalSynthesis().protect(data, rng=1).numeric()
    np.testing.assert_allclose(exact.std(axis=0, ddof=1), x.std(axis=0, ddof=1), rtol=1e-8)
    np.testing.assert_allclose(np.corrcoef(exact.T), np.corrcoef(x.T), atol=1e-8)
    for method, factor in (
        (CorrelatedNoise(0.16), np.sqrt(1.16)),
        (KimNoise(0.5), 1.0),
        (ResidualNoise(ProjectionMicroaggregation(3)), 1.0),
    ):
        ratio = method.protect(data, rng=1).numeric().std(axis=0) / x.std(axis=0)
        np.testing.assert_allclose(ratio, factor, rtol=0.06)


@pytest.mark.parametrize("constant", [0.1, 1234.567, 1e9 + 0.1])
def test_a_constant_stays_what_it_is_to_the_last_digit(constant: float) -> None:
    data = numbers(a=np.random.default_rng(0).normal(size=400), b=np.full(400, constant))
    for method in (
        CorrelatedNoise(0.1),
        KimNoise(0.3),
        NormalSynthesis(),
        ResidualNoise(ProjectionMicroaggregation(3)),
    ):
        assert (method.protect(data, rng=1).columns["b"] == constant).all(), method


def test_values_too_large_for_a_covariance_are_refused() -> None:
    x = np.random.default_rng(0).normal(size=50) * 1e200
    with pytest.raises(NotApplicable, match="too large for a covariance"):
        CorrelatedNoise(0.1).protect(numbers(x=x))
