"""Logistic models of which file a record comes from, by Newton's method on blocks of records."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.newton import Progress, State, newton, ridged
from sfumato.utility.propensity.pooled import Flags, Floats, Pooled
from sfumato.utility.propensity.terms import Degree, Design, design

COLLINEAR = 1e-11  # a term whose square keeps no more than this share when others are taken out adds nothing
CONVERGED = 1e-12  # Newton's last step, squared in units of standard errors, over the gain in deviance
ITERATIONS = 300  # separated records take about 30, heavy tails more
STUCK = 1e-7  # where no shorter step leads down, one no longer than this, as above, has arrived
HALVINGS = 60
ROUNDING = 1e-14  # a deviance within rounding of the last is not higher
SURE = 1e-9  # a propensity this near to 0 or 1 is as good as that
NO_CURVATURE = "the logistic model has no curvature left to follow"


class Files(Protocol):
    """The records of both files, as a logistic model needs them: sums over them all."""

    @property
    def share(self) -> float:
        """The share c of protected records."""

    @property
    def weight(self) -> float:
        """What all records weigh together."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""

    def state(self, model: Design, coefficients: Floats) -> State:
        """Return deviance, gradient and Hessian."""

    def deviance(self, model: Design, coefficients: Floats) -> float:
        """Return the deviance alone."""


@dataclass(frozen=True)
class Estimate:
    """The model of greatest likelihood: the terms that tell something, their coefficients, what each variable adds."""

    model: Design
    coefficients: Floats
    by_variable: dict[str, float]  # sum of squares lost by the first step's least squares without the variable
    collinear: tuple[str, ...]


@dataclass(frozen=True)
class Fit:
    """The propensities, the number of coefficients with the constant, and what each variable adds."""

    scores: Floats
    coefficients: int
    by_variable: dict[str, float]
    collinear: tuple[str, ...]
    separated: int  # records whose propensity is as good as 0 or 1


@dataclass(frozen=True)
class InMemory:
    """The records of both files in memory."""

    pooled: Pooled

    @cached_property
    def share(self) -> float:
        """The share c of protected records."""
        return float(np.average(self.pooled.protected, weights=self.pooled.weights))

    @property
    def weight(self) -> float:
        """What all records weigh together."""
        return float(self.pooled.weights.sum())

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.pooled.names

    @cached_property
    def response(self) -> Floats:
        """1 for the records of the protected file."""
        return self.pooled.protected.astype(np.float64)

    def state(self, model: Design, coefficients: Floats) -> State:
        """Return deviance, gradient and Hessian."""
        return state(model, coefficients, self.response, self.pooled.weights)

    def deviance(self, model: Design, coefficients: Floats) -> float:
        """Return the deviance alone."""
        return deviance(model, coefficients, self.response, self.pooled.weights)


def fit(pooled: Pooled, degree: Degree) -> Fit:
    """Fit the model by maximum (weighted) likelihood, and return the propensities."""
    found = estimated(InMemory(pooled), design(pooled, degree))
    scores = propensities(found.model, found.coefficients)
    return Fit(scores, len(found.model), found.by_variable, found.collinear, surely_told(scores))


def surely_told(scores: Floats) -> int:
    """Count the records whose propensity is as good as 0 or 1."""
    return int((np.minimum(scores, 1 - scores) < SURE).sum())


def estimated(files: Files, model: Design) -> Estimate:
    """Find the coefficients of greatest (weighted) likelihood.

    Where terms separate records of the two files, their coefficients have no finite maximum; Newton's steps then go on
    until the propensities are within about 1e-12 of their limits 0 and 1, which are unique.
    """
    share = files.share
    coefficients = np.zeros(len(model))
    coefficients[0] = np.log(share / (1 - share))
    at = files.state(model, coefficients)
    information = at.hessian / (share * (1 - share))  # weights are still equal: plain sums of products
    kept = _independent(information, model.orders)
    losses = _losses(model, information, at.gradient, kept, files.names)
    collinear = tuple(model.name(place) for place in np.setdiff1d(np.arange(len(model)), kept))
    model = model.only(kept)
    within = np.ix_(kept, kept)
    first = State(at.objective, at.gradient[kept], at.hessian[within])
    return Estimate(model, _maximum(files, model, coefficients[kept], first), losses, collinear)


def _maximum(files: Files, model: Design, start: Floats, first: State) -> Floats:
    """Return the coefficients of the greatest likelihood; ``first`` is the state at the start."""
    negligible = 1e-22 * files.weight  # where the files are as alike as rounding lets them be

    def gained(state: State) -> float:
        return first.objective - state.objective

    def arrived(now: Progress[State]) -> bool:
        within = now.length <= CONVERGED * gained(now.state) + negligible
        return bool(within or now.state.objective <= CONVERGED * first.objective)

    found = newton(
        lambda coefficients: files.state(model, coefficients),
        start,
        arrived=arrived,
        solve=ridged,
        most_steps=ITERATIONS,
        most_halvings=HALVINGS,
        rounding=ROUNDING,
        first=first,
        objective_of=lambda coefficients: files.deviance(model, coefficients),
    )
    if found.outcome == "converged":
        return found.coefficients + found.step
    if found.outcome == "stuck" and found.length <= STUCK * gained(found.state):
        return found.coefficients
    if found.outcome == "flat":
        raise NotApplicable(NO_CURVATURE)
    raise NotApplicable("the logistic model did not converge; choose variables, fewer terms, or model='tree'")


def state(model: Design, coefficients: Floats, response: Floats, weights: Floats) -> State:
    """Sum deviance, gradient and Hessian over the records of a design, a block at a time."""
    objective = 0.0
    gradient = np.zeros(len(model))
    hessian = np.zeros((len(model), len(model)))
    for rows, terms in model.blocks():
        predictor = coefficients @ terms
        propensity, other = _logistic(predictor)
        r, w = response[rows], weights[rows]
        objective += _deviance(predictor, r, w)
        gradient += terms @ (w * (r - propensity))
        terms *= np.sqrt(w * propensity * other)
        hessian += terms @ terms.T
    return State(objective, gradient, hessian)


def deviance(model: Design, coefficients: Floats, response: Floats, weights: Floats) -> float:
    """Sum the deviance alone."""
    return sum(_deviance(coefficients @ terms, response[rows], weights[rows]) for rows, terms in model.blocks())


def _deviance(predictor: Floats, r: Floats, w: Floats) -> float:
    """Return twice the sum of -log of the probability of the file each record comes from, without overflow."""
    surprise = np.maximum(predictor, 0.0) - r * predictor + np.log1p(np.exp(-np.abs(predictor)))
    return 2 * float(w @ surprise)


def propensities(model: Design, coefficients: Floats) -> Floats:
    """Return the propensity of each record of a design."""
    scores = np.empty(model.rows)
    for rows, terms in model.blocks():
        scores[rows] = _logistic(coefficients @ terms)[0]
    return scores


def _logistic(predictor: Floats) -> tuple[Floats, Floats]:
    """Return the propensity and one less it, both to full relative precision."""
    small = np.exp(-np.abs(predictor))
    large = 1 / (1 + small)
    small *= large
    positive = predictor >= 0
    return np.where(positive, large, small), np.where(positive, small, large)


def _independent(information: Floats, orders: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the places of terms that are no combination of each other, as many as there are.

    Terms of lower order go first: what the chosen ones explain is taken out of those of the next order, and a pivoted
    Cholesky factor finds which of these have something left.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.linalg.lapack import dpstrf

    scale = 1 / np.sqrt(np.maximum(np.diag(information), 1e-300))
    scaled = information * np.outer(scale, scale)
    kept = np.empty(0, dtype=np.intp)
    for order in np.unique(orders):
        these = np.flatnonzero(orders == order)
        left = scaled[np.ix_(these, these)]
        if kept.size:
            shared = scaled[np.ix_(kept, these)]
            left = left - shared.T @ cho_solve(cho_factor(scaled[np.ix_(kept, kept)]), shared)
        _, pivots, rank, _ = dpstrf(left, tol=COLLINEAR)
        if left.diagonal().max() > COLLINEAR:
            kept = np.append(kept, np.sort(these[pivots[:rank] - 1]))
    return kept


def _losses(
    model: Design, information: Floats, gradient: Floats, kept: NDArray[np.intp], names: tuple[str, ...]
) -> dict[str, float]:
    """Return what least squares of the file on the terms explains less without each variable's terms.

    The first step of Newton's method is this least squares fit; sums of products are all it takes, no further pass.
    """
    whole = _explained(information, gradient, kept)
    losses: dict[str, float] = {}
    for name in names:
        without: Flags = ~model.with_variable(name)
        if without.all():
            losses[name] = 0.0
            continue
        others = np.flatnonzero(without)
        if len(kept) < len(model):  # where terms repeat others, other ones may be needed when some are gone
            others = others[_independent(information[np.ix_(others, others)], model.orders[others])]
        losses[name] = max(whole - _explained(information, gradient, others), 0.0)
    return losses


def _explained(information: Floats, gradient: Floats, places: NDArray[np.intp]) -> float:
    solved = ridged(information[np.ix_(places, places)], gradient[places])
    if solved is None:
        raise NotApplicable(NO_CURVATURE)
    return float(gradient[places] @ solved)
