"""Newton's method on objectives whose least value is known."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from sfumato.kernels.newton import Floats, Progress, Solve, State, curved, newton, ridged


def close(now: Progress[State]) -> bool:
    return now.length < 1e-24


search = partial(newton, arrived=close, most_steps=50, most_halvings=20, rounding=0.0)


def quadratic(x: Floats) -> State:
    """(x - c)' A (x - c) / 2 with c = (1, 2)."""
    hessian = np.array([[4.0, 1.0], [1.0, 3.0]])
    away = np.array([1.0, 2.0]) - x
    return State(float(away @ hessian @ away) / 2, hessian @ away, hessian)


def root(x: Floats) -> State:
    """sqrt(1 + x^2): Newton's step goes from x to -x^3, so that from 2 whole steps run away."""
    height = np.sqrt(1 + x @ x)
    return State(float(height), -x / height, np.array([[1 / height**3]]))


@pytest.mark.parametrize("solve", [ridged, curved(1e-9)])
def test_one_step_ends_at_the_least_of_a_quadratic(solve: Solve) -> None:
    asked: list[Floats] = []

    def state_of(x: Floats) -> State:
        asked.append(x)
        return quadratic(x)

    found = search(state_of, np.zeros(2), solve=solve)
    assert found.outcome == "converged"
    assert found.coefficients == pytest.approx([1, 2], rel=1e-15)
    assert len(asked) == 2


def objective(x: Floats) -> float:
    return root(x).objective


@pytest.mark.parametrize("objective_of", [None, objective])
def test_steps_that_lead_up_are_halved(objective_of: Callable[[Floats], float] | None) -> None:
    found = search(root, np.array([2.0]), solve=ridged, objective_of=objective_of)
    assert found.outcome == "converged"
    assert abs(found.coefficients[0]) < 1e-12


def test_a_state_that_is_known_is_not_asked_for() -> None:
    def state_of(x: Floats) -> State:
        assert x.any()
        return quadratic(x)

    assert search(state_of, np.zeros(2), first=quadratic(np.zeros(2)), solve=ridged).outcome == "converged"


def test_a_gradient_with_the_wrong_sign_gets_stuck() -> None:
    def uphill(x: Floats) -> State:
        return State(float(x @ x), x, np.eye(1))

    found = search(uphill, np.ones(1), solve=ridged)
    assert (found.outcome, found.coefficients.tolist(), found.length) == ("stuck", [1.0], 1.0)


@pytest.mark.parametrize("solve", [ridged, curved(0.0)])
def test_no_curvature_is_told(solve: Solve) -> None:
    def hill(x: Floats) -> State:
        return State(0.0, x, -np.eye(1))

    assert search(hill, np.ones(1), solve=solve).outcome == "flat"


def test_steps_are_limited() -> None:
    found = newton(root, np.array([0.9]), arrived=close, solve=ridged, most_steps=2, most_halvings=9, rounding=0.0)
    assert found.outcome == "unfinished"
    assert found.coefficients[0] == pytest.approx(0.9**9)  # x to -x^3, twice


def test_a_ridge_serves_where_columns_repeat() -> None:
    step = ridged(np.ones((2, 2)), np.ones(2))
    assert step is not None
    assert step.sum() == pytest.approx(1.0, rel=1e-6)
