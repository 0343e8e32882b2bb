"""Newton's method for likelihoods: steps, halved where they do not lead down, until the last one is negligible.

The caller sums over the records, or over parts of them, what an iteration needs, and says which step is negligible;
this file knows vectors and matrices only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Solve = Callable[[Floats, Floats], Floats | None]
Outcome = Literal["converged", "stuck", "flat", "unfinished"]

RIDGES = (0.0, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5)


@dataclass(frozen=True, eq=False)
class State:
    """What one pass over the records tells about a choice of coefficients.

    The objective is to be made small. Gradient and Hessian may be those of a multiple of it, such as half a deviance;
    the gradient has the sign that leads down.
    """

    objective: float
    gradient: Floats
    hessian: Floats


S = TypeVar("S", bound=State)


@dataclass(frozen=True, eq=False)
class Progress(Generic[S]):
    """The state, and the squared lengths in standard errors (gradient times step) of the next step and the last one."""

    state: S
    length: float
    before: float


@dataclass(frozen=True, eq=False)
class NewtonResult(Generic[S]):
    """Where the steps have ended, the step that would come next, and why they ended.

    *converged*: the next step is negligible. *stuck*: no part of the next step leads down that a float can tell.
    *flat*: the Hessian leaves no step to take (``step`` is zero). *unfinished*: there were as many steps as allowed.
    ``length`` is the next step's squared length, as in ``Progress``.
    """

    coefficients: Floats
    state: S
    step: Floats
    length: float
    outcome: Outcome


def newton(
    state_of: Callable[[Floats], S],
    start: Floats,
    *,
    arrived: Callable[[Progress[S]], bool],
    solve: Solve,
    most_steps: int,
    most_halvings: int,
    rounding: float,
    first: S | None = None,
    objective_of: Callable[[Floats], float] | None = None,
) -> NewtonResult[S]:
    """Step from ``start`` until ``arrived`` says of the progress that the next step is negligible.

    ``solve`` makes a step of Hessian and gradient (``ridged``, ``curved``). A step leads down if the objective is not
    higher than before by more than ``rounding``, relative; one that does not is halved, up to ``most_halvings`` times.
    ``first`` is the state at ``start`` if it is known already, and ``objective_of`` gives the objective alone, where
    that costs less than a state: it is then asked while a step is halved.

    >>> def state_of(x: Floats) -> State:  # the least of x^4 - x
    ...     return State(float(x[0] ** 4 - x[0]), 1 - 4 * x**3, np.diag(12 * x**2))
    >>> found = newton(state_of, np.ones(1), arrived=lambda now: now.length < 1e-20,
    ...                solve=ridged, most_steps=20, most_halvings=9, rounding=0.0)
    >>> found.outcome, round(float(found.coefficients[0] ** 3), 9)
    ('converged', 0.25)
    """
    coefficients, state = start, state_of(start) if first is None else first
    step, length = np.zeros_like(start), np.inf
    for _ in range(most_steps):
        solved = solve(state.hessian, state.gradient)
        if solved is None:
            return NewtonResult(coefficients, state, np.zeros_like(start), length, "flat")
        step, before = solved, length
        length = float(state.gradient @ step)
        if arrived(Progress(state, length, before)):
            return NewtonResult(coefficients, state, step, length, "converged")
        limit = state.objective + rounding * abs(state.objective)
        taken, there = step, state_of(coefficients + step)
        for _ in range(most_halvings):
            if there.objective <= limit:
                break
            taken = taken / 2
            if objective_of is None or objective_of(coefficients + taken) <= limit:
                there = state_of(coefficients + taken)
        if not there.objective <= limit:
            return NewtonResult(coefficients, state, step, length, "stuck")
        coefficients, state = coefficients + taken, there
    return NewtonResult(coefficients, state, step, length, "unfinished")


def ridged(hessian: Floats, gradient: Floats) -> Floats | None:
    """Solve for a step; the smallest ridge that serves helps where there is next to no curvature in some direction."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    scale = 1 / np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    scaled = hessian * np.outer(scale, scale)
    for ridge in RIDGES:
        try:
            factor = cho_factor(scaled + ridge * np.eye(len(scaled)))
        except LinAlgError:
            continue
        solved: Floats = scale * cho_solve(factor, scale * gradient)
        return solved
    return None


def curved(least: float) -> Solve:
    """Make the function that solves for a step, unless the Hessian's lowest eigenvalue is ``least`` or less.

    Such a Hessian tells of a coefficient that runs off to infinity.
    """

    def solve(hessian: Floats, gradient: Floats) -> Floats | None:
        if not np.isfinite(hessian).all() or np.linalg.eigvalsh(hessian)[0] <= least:
            return None
        return np.asarray(np.linalg.solve(hessian, gradient))

    return solve
