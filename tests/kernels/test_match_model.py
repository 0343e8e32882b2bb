"""The model of matches: EM against the direct maximum, weights by theory."""

import numpy as np
import pytest
from bin_codes import Codes, files
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from sfumato.kernels.probabilistic_linkage import (
    MatchModel,
    agreeing_pairs,
    agreeing_within,
    fit_matches,
    pattern_counts,
)

Floats = NDArray[np.float64]


def independent(agreement: Floats) -> Floats:
    bits = np.arange(2 ** len(agreement))[:, np.newaxis] >> np.arange(len(agreement)) & 1
    return np.asarray(np.prod(np.where(bits == 1, agreement, 1 - agreement), axis=1))


def mixture_counts(m: Floats, u: Floats, matches: int, pairs: int) -> NDArray[np.int64]:
    expected = matches * independent(m) + (pairs - matches) * independent(u)
    return np.rint(expected).astype(np.int64)


M, U = np.array([0.9, 0.7, 0.6]), np.array([0.1, 0.2, 0.05])


def known_non_matches() -> NDArray[np.int64]:
    return np.rint(1e9 * independent(U)).astype(np.int64)


def test_em_recovers_the_mixture_that_made_the_counts() -> None:
    model = fit_matches(mixture_counts(M, U, 10_000, 1_000_000), 10_000, known_non_matches(), tolerance=1e-9)
    assert model.converged
    assert model.prior == 0.01
    np.testing.assert_allclose(model.match_agreement, M, atol=1e-3)
    np.testing.assert_allclose(model.non_match_agreement, U, atol=1e-6)
    # All three agree: log2(.9 * .7 * .6 / (.1 * .2 * .05)) = log2(378).
    assert model.weights[7] == pytest.approx(np.log2(378), abs=0.01)


@pytest.mark.parametrize("dependent", [True, False])
def test_em_is_the_direct_maximum_of_the_likelihood(dependent: bool) -> None:
    counts = mixture_counts(M, U, 300, 9_000)
    non_matches = known_non_matches() if dependent else None
    model = fit_matches(counts, 300, non_matches, tolerance=1e-10, most_iterations=100_000)
    non_match = independent(U) if dependent else independent(model.non_match_agreement)

    def loss(m: Floats) -> float:
        return -float(counts @ np.log(model.prior * independent(m) + (1 - model.prior) * non_match))

    bounds = [(float(low), 1 - 1 / 602) for low in model.non_match_agreement]
    best = minimize(loss, np.full(3, 0.5), bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-10})
    assert model.log_likelihood[-1] == pytest.approx(-best.fun, abs=1e-5)
    np.testing.assert_allclose(model.match_agreement, best.x, atol=2e-3)


@given(files(most=10), st.booleans())
@settings(deadline=None)
def test_em_never_lowers_the_likelihood_and_stays_finite(pair: tuple[Codes, Codes], dependent: bool) -> None:
    left, right = pair
    counts = pattern_counts(agreeing_pairs(left, right))
    non_matches = pattern_counts(agreeing_within(left)) if dependent else None
    model = fit_matches(counts, min(len(left), len(right)), non_matches, most_iterations=200)
    steps = np.diff(model.log_likelihood)
    assert (steps >= -1e-9 * np.abs(model.log_likelihood[0]) - 1e-9).all()
    assert np.isfinite(model.weights).all()
    assert ((model.match_agreement >= 0) & (model.match_agreement <= 1)).all()


def weights_of(left: Codes, right: Codes) -> MatchModel:
    counts = pattern_counts(agreeing_pairs(left, right))
    return fit_matches(counts, len(left), pattern_counts(agreeing_within(left)))


def test_a_constant_variable_has_no_weight() -> None:
    rng = np.random.default_rng(3)
    left = rng.integers(0, 4, (60, 3)).astype(np.int32)
    right = left.copy()
    right[:20, 0] = 0
    without = weights_of(left, right)
    for constant in (0, -1):  # always agrees, never agrees
        more = [np.column_stack([codes, np.full(60, constant)]).astype(np.int32) for codes in (left, right)]
        model = weights_of(*more)
        np.testing.assert_allclose(model.weights, np.tile(without.weights, 2))
        assert model.match_agreement[3] == model.non_match_agreement[3]


def test_one_variable_says_nothing_and_stays_at_the_start() -> None:
    left = np.repeat(np.arange(5), 4).astype(np.int32).reshape(-1, 1)
    model = weights_of(left, left)
    assert (model.iterations, model.converged) == (0, True)
    assert model.match_agreement[0] == 0.9


@given(files())
@settings(deadline=None)
def test_one_agreement_more_never_lowers_the_weight(pair: tuple[Codes, Codes]) -> None:
    left, right = pair
    counts = pattern_counts(agreeing_pairs(left, right))
    weights = fit_matches(counts, 2, pattern_counts(agreeing_within(left)), most_iterations=50).weights
    for j in range(left.shape[1]):
        by_bit = weights.reshape(-1, 2, 2**j)
        assert (by_bit[:, 0] <= by_bit[:, 1]).all()
