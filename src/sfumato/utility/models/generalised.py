"""Logistic and Poisson regression: Newton's method over blocks of records, normal approximation at the end."""

from dataclasses import dataclass

import numpy as np

from sfumato.data.microdata import Floats
from sfumato.errors import NotApplicable
from sfumato.kernels.newton import State, curved, newton
from sfumato.pair.statistics import Sums
from sfumato.utility.models.design import Design
from sfumato.utility.models.linear import Estimate, sandwich
from sfumato.utility.models.rows import Block, Rows
from sfumato.utility.models.statistics import Sufficient, filled, inverted, triangle

MOST_STEPS = 60
MOST_HALVINGS = 29
ROUNDING = 1e-12  # a likelihood this near to the last, relative, is not lower
CLOSE = 1e-18  # of the squared Newton step, in standard errors
STALLED = 1e-10  # the same where steps have stopped getting shorter: rounding, as with responses of billions
FLAT = 1e-9  # information this small beside that of the start: a coefficient that runs off to infinity


@dataclass(frozen=True, eq=False)
class _State(State):
    """The objective is minus the log-likelihood, up to a constant; ``meat`` is the products of the records' scores."""

    meat: Floats


def estimate(design: Design, gathered: Sufficient, *, robust: bool) -> Estimate:
    """Fit one model by maximum (weighted) likelihood.

    Steps are taken in the coordinates in which the design's columns are orthonormal, so that their units do not matter.
    """
    rows, count = gathered.rows, len(design.columns)
    inverse = inverted(triangle(gathered.factor(design), design, rows)[:count, :count])
    start = _pass(design, rows, inverse, None, robust=robust)
    found = newton(
        lambda place: _pass(design, rows, inverse, place, robust=robust),
        np.asarray(np.linalg.solve(start.hessian, start.gradient)),
        arrived=lambda now: now.length < CLOSE or (now.length < STALLED and now.length >= now.before / 4),
        solve=curved(FLAT * float(np.linalg.eigvalsh(start.hessian)[-1])),
        most_steps=MOST_STEPS,
        most_halvings=MOST_HALVINGS,
        rounding=ROUNDING,
    )
    if found.outcome != "converged" and not (found.outcome == "stuck" and found.length < STALLED):
        raise _diverging(design, inverse @ found.coefficients, gathered)
    covariance = inverted(found.state.hessian)
    if robust:
        return Estimate(inverse @ found.coefficients, sandwich(design, rows, inverse @ covariance, found.state.meat))
    return Estimate(inverse @ found.coefficients, inverse @ covariance @ inverse.T)


def _pass(design: Design, rows: Rows, inverse: Floats, place: Floats | None, *, robust: bool) -> _State:
    """Sum over the records; without coefficients, start from means drawn half way to each response."""
    logistic = design.model.family == "logistic"

    def of(block: Block) -> Sums:
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
        residual = weights * (response - mean)
        scores = basis * residual[:, None] if robust else np.zeros((0, len(inverse)))
        return Sums(
            {
                "loss": float(weights @ (cumulant - response * predictor)),
                "gradient": basis.T @ (residual + weights * variance * predictor if place is None else residual),
                "information": basis.T @ (basis * (weights * variance)[:, None]),
                "meat": scores.T @ scores,
            }
        )

    found = rows.total(of)
    loss = found["loss"] if np.isfinite(found["loss"]) else np.inf
    return _State(loss, found["gradient"], found["information"], found["meat"])


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


def _diverging(design: Design, coefficients: Floats, gathered: Sufficient) -> NotApplicable:
    """Name the term whose coefficient, times the spread of its column, has run furthest."""
    rows, place = gathered.rows, gathered.place
    spread = np.sqrt(np.diag(gathered.products))
    constant = 0.0 if len(design.columns) > 1 else 1.0  # the intercept only follows the term that runs away
    sizes = [constant if not c.parts else spread[place[c]] / np.sqrt(rows.count) for c in design.columns]
    worst = int(np.argmax(np.abs(coefficients) * sizes))
    return NotApplicable(
        f"{design.where}: it has no finite estimate in the {rows.label} table; the term {design.names[worst]!r} "
        "separates the responses (or leaves only zeros)"
    )
