"""Logistic and Poisson regression: Newton's method over blocks of records, normal approximation at the end."""

from dataclasses import dataclass

import numpy as np

from sfumato.data.microdata import Floats
from sfumato.errors import NotApplicable
from sfumato.utility.models.design import Design
from sfumato.utility.models.linear import Estimate, sandwich
from sfumato.utility.models.rows import Rows
from sfumato.utility.models.statistics import Moments, filled, inverted, triangle

MOST_STEPS = 60
CLOSE = 1e-18  # of the squared Newton step, in standard errors
STALLED = 1e-10  # the same where steps have stopped getting shorter: rounding, as with responses of billions
FLAT = 1e-9  # information this small beside that of the start: a coefficient that runs off to infinity


@dataclass
class State:
    """What one pass over the records gives at a value of the coefficients."""

    loss: float  # minus the log-likelihood, up to a constant
    gradient: Floats
    information: Floats
    meat: Floats


def estimate(design: Design, moments: Moments, robust: bool) -> Estimate:
    """Fit one model by maximum (weighted) likelihood.

    Steps are taken in the coordinates in which the design's columns are orthonormal, so that their units do not matter.
    """
    rows, count = moments.rows, len(design.columns)
    inverse = inverted(triangle(moments.factor(design), design, rows)[:count, :count])
    start = _pass(design, rows, inverse, None, robust)
    place: Floats = np.asarray(np.linalg.solve(start.information, start.gradient))
    state = _pass(design, rows, inverse, place, robust)
    least = FLAT * float(np.linalg.eigvalsh(start.information)[-1])
    before = np.inf
    for _ in range(MOST_STEPS):
        if not np.isfinite(state.information).all() or np.linalg.eigvalsh(state.information)[0] <= least:
            raise _diverging(design, inverse @ place, moments, rows)
        step = np.linalg.solve(state.information, state.gradient)
        left = float(step @ state.gradient)
        if left < CLOSE or (left < STALLED and left >= before / 4):
            covariance = inverted(state.information)
            if robust:
                covariance = sandwich(covariance, state.meat, rows.count)
            return Estimate(inverse @ place, inverse @ covariance @ inverse.T)
        before = left
        for _ in range(30):
            tried = _pass(design, rows, inverse, place + step, robust)
            if tried.loss <= state.loss + 1e-12 * abs(state.loss):
                break
            step = step / 2
        place, state = place + step, tried
    raise _diverging(design, inverse @ place, moments, rows)


def _pass(design: Design, rows: Rows, inverse: Floats, place: Floats | None, robust: bool) -> State:
    """Sum over the records; without coefficients, start from means drawn half way to each response."""
    count = len(inverse)
    state = State(0.0, np.zeros(count), np.zeros((count, count)), np.zeros((count, count)))
    logistic = design.model.family == "logistic"
    for block in rows.blocks():
        values, weights = filled(block, (*design.columns, design.response)), block.weights()
        response, basis = values[:, -1], values[:, :-1] @ inverse
        weights = np.ones(len(response)) if weights is None else weights
        if place is None:
            _check(design, rows, response)
            mean = (response + 0.5) / 2
            predictor = np.log(mean / (1 - mean)) if logistic else np.log(mean)
        else:
            predictor = basis @ place
        mean, cumulant = _logistic(predictor) if logistic else _poisson(predictor)
        variance = mean * (1 - mean) if logistic else mean
        state.loss += float(weights @ (cumulant - response * predictor))
        residual = weights * (response - mean)
        state.gradient += basis.T @ (residual + weights * variance * predictor if place is None else residual)
        state.information += basis.T @ (basis * (weights * variance)[:, None])
        if robust:
            scores = basis * residual[:, None]
            state.meat += scores.T @ scores
    if not np.isfinite(state.loss):
        state.loss = np.inf
    return state


def _logistic(predictor: Floats) -> tuple[Floats, Floats]:
    """Return the means 1 / (1 + e^-x) and log(1 + e^x), neither of which overflows."""
    small = np.exp(-np.abs(predictor))
    mean: Floats = np.where(predictor > 0, 1.0, small) / (1 + small)
    return mean, np.maximum(predictor, 0.0) + np.log1p(small)


def _poisson(predictor: Floats) -> tuple[Floats, Floats]:
    """Return the means e^x twice, for the sum of them is what the likelihood subtracts."""
    with np.errstate(over="ignore"):
        mean: Floats = np.exp(predictor)
    return mean, mean


def _check(design: Design, rows: Rows, response: Floats) -> None:
    name = design.response.name
    if design.model.family == "logistic":
        if ((response != 0) & (response != 1)).any():
            raise NotApplicable(
                f"{design.where}: the response {name!r} of a logistic model must be 0 or 1, which it is not in the "
                f"{rows.label} table"
            )
    elif (response < 0).any():
        raise NotApplicable(
            f"{design.where}: the response {name!r} of a Poisson model has negative values in the {rows.label} table"
        )


def _diverging(design: Design, coefficients: Floats, moments: Moments, rows: Rows) -> NotApplicable:
    """Name the term whose coefficient, times the spread of its column, has run furthest."""
    place = {column: j for j, column in enumerate(moments.columns)}
    spread = np.sqrt(np.diag(moments.products))
    constant = 0.0 if len(design.columns) > 1 else 1.0  # the intercept only follows the term that runs away
    sizes = [constant if not c.parts else spread[place[c]] / np.sqrt(rows.count) for c in design.columns]
    worst = int(np.argmax(np.abs(coefficients) * sizes))
    return NotApplicable(
        f"{design.where}: it has no finite estimate in the {rows.label} table; the term {design.names[worst]!r} "
        "separates the responses (or leaves only zeros)"
    )
