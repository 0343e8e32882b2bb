"""Linear regression: least squares from sufficient statistics, with the paper's t posterior or robust errors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.microdata import Floats
from sfumato.errors import NotApplicable
from sfumato.pair.statistics import Sums
from sfumato.utility.models.design import Column, Design
from sfumato.utility.models.rows import Block, Rows
from sfumato.utility.models.statistics import Sufficient, filled, inverted, triangle

EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 1e-12  # of the terms that a variance is the sum of: what is left below it is no digit of a variance


@dataclass(frozen=True)
class Estimate:
    """Coefficients and the covariance (for t: the scale matrix) of their posterior."""

    coefficients: Floats
    covariance: Floats


def estimate(design: Design, gathered: Sufficient, *, robust: bool) -> Estimate:
    """Fit one model; ``robust`` gives the covariance that holds for survey weights."""
    rows, count = gathered.rows, len(design.columns)
    found = triangle(gathered.factor(design), design, rows)
    inverse = inverted(found[:count, :count])
    coefficients = inverse @ found[:count, count]
    residual = float(found[count, count] ** 2)
    varies = np.linalg.norm(found[int(design.intercept) :, count])  # without the mean, which may be large
    if abs(found[count, count]) <= 1e-12 * varies + 8 * EPSILON * np.linalg.norm(found[:, count]):
        raise NotApplicable(f"{design.where}: it fits the {rows.label} table exactly, so there is no standard error")
    if not robust:
        return Estimate(coefficients, inverse @ inverse.T * (residual / (rows.count - count)))
    return Estimate(coefficients, sandwich(design, rows, inverse, _meat(design, rows, coefficients, inverse)))


def _meat(design: Design, rows: Rows, coefficients: Floats, inverse: Floats) -> Floats:
    """Sum the squares of the records' scores, in the coordinates in which the design is orthonormal."""

    def of(block: Block) -> Sums:
        values = filled(block, (*design.columns, design.response))
        residuals = values[:, -1] - values[:, :-1] @ coefficients
        weights = block.weights()
        scores = values[:, :-1] @ inverse
        scores *= (residuals if weights is None else residuals * weights)[:, None]
        return Sums({"meat": scores.T @ scores})

    found: Floats = rows.total(of)["meat"]
    return found


def sandwich(design: Design, rows: Rows, bread: Floats, meat: Floats) -> Floats:
    """Return n/(n - 1) times HC0: Taylor linearisation for records drawn with replacement, as survey packages do it.

    A coefficient that is told by records which fit exactly, such as a group of one, has none.
    """
    found: Floats = bread @ meat @ bread.T * (rows.count / (rows.count - 1))
    terms = np.abs(bread) @ np.abs(meat) @ np.abs(bread).T
    for name, variance, size in zip(design.names, np.diag(found), np.diag(terms), strict=True):
        if variance <= ROUNDING * size:
            raise NotApplicable(
                f"{design.where}: the records of the {rows.label} table that tell the coefficient of {name!r} fit "
                "exactly, so there is no robust standard error"
            )
    return found


def gather(designs: Sequence[Design], rows: Rows) -> Sufficient:
    """Gather the sufficient statistics of all columns of several models at once."""
    columns: dict[Column, None] = {}
    for design in designs:
        columns |= dict.fromkeys(column for column in (*design.columns, design.response) if column.parts)
    return Sufficient.of(rows, tuple(columns))
