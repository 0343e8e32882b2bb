"""Records chosen for a release so that a family of regressions comes out as with all of them (Karr, section 4).

The paper names the idea in words: "release a set of records that preserve fidelity of a family of regressions", which
is "very similar to psi-optimality in Chaloner (1984)" and "a daunting discrete optimization problem". It prints neither
criterion nor search. Ours: psi-optimality minimises the variances of coefficients, tr psi (X'X)^-1; psi weighs each by
the inverse of what it is with all records. Because the answers are in the database, unlike in a design, the squared
shift of each coefficient is added, in the same unit. The search is greedy: whoever costs least is left out, one by one,
and then records are exchanged as long as that gains.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core import Measure
from sfumato.studies.study import Finding
from sfumato.table.microdata import Microdata

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.intp]

RANDOM = 20  # samples drawn at random to compare with
WEIGHTY = 0.05  # of the records: those of the largest leverage
MIN_REMAINDER = 1e-9  # less than this is left of a record that alone determines a coefficient


@dataclass(frozen=True, eq=False)
class Regression:
    """A linear regression: a matrix and an answer for each record, and what all of them say."""

    x: Floats
    y: Floats
    coefficients: Floats
    spread: float  # the variance of the residuals
    weight: Floats  # what the square of each coefficient's error counts: the mean is over variances with all records

    @classmethod
    def of(cls, x: Floats, y: Floats) -> "Regression":
        """Fit it to all records."""
        inverse = np.linalg.inv(x.T @ x)
        coefficients = inverse @ x.T @ y
        residual = y - x @ coefficients
        spread = float(residual @ residual) / (len(y) - x.shape[1])
        return cls(x, y, coefficients, spread, 1 / (spread * np.diag(inverse) * x.shape[1]))

    def fitted(self, inside: Flags | Rows) -> tuple[Floats, Floats]:
        """Return the inverse of the cross products of some records, and their coefficients less those of all."""
        x = self.x[inside]
        inverse = np.asarray(np.linalg.inv(x.T @ x), dtype=np.float64)
        return inverse, inverse @ (x.T @ self.y[inside]) - self.coefficients

    def errors(self, rows: Rows) -> tuple[float, float]:
        """Return variances and squared shifts with some records, in variances with all, in the mean of coefficients."""
        inverse, shift = self.fitted(rows)
        return float(self.spread * np.diag(inverse) @ self.weight), float(shift**2 @ self.weight)

    def changed(self, inside: Flags, sign: int) -> Floats:
        """Return by how much the sum of both errors grows with each record more (sign 1) or less (-1).

        With h = x' A^-1 x and e = y - x'b the variances change by -sign A^-1 x x' A^-1 / (1 + sign h), the coefficients
        by sign A^-1 x e / (1 + sign h).
        """
        inverse, shift = self.fitted(inside)
        moved = self.x @ inverse
        left = 1 + sign * np.einsum("ij,ij->i", moved, self.x)
        residual = self.y - self.x @ (self.coefficients + shift)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = moved**2 @ self.weight
            by = sign * residual / left
            cost = -sign * self.spread * size / left + 2 * by * (moved @ (self.weight * shift)) + by**2 * size
        return np.where(left > MIN_REMAINDER, cost, np.inf)


def chosen_records(family: Sequence[Regression], number: int) -> Rows:
    """Choose so many records with which the regressions are as near to those of all records as the search finds."""
    inside = np.ones(len(family[0].y), dtype=bool)
    for _ in range(len(inside) - number):
        inside[_best(family, inside, -1)] = False
    best = _error(family, inside)
    while number < len(inside):
        tried = inside.copy()
        tried[_best(family, tried, 1)] = True
        tried[_best(family, tried, -1)] = False
        found = _error(family, tried)
        if found >= best * (1 - 1e-9):
            break
        inside, best = tried, found
    return np.flatnonzero(inside)


def _error(family: Sequence[Regression], inside: Flags) -> float:
    return float(sum(sum(one.errors(np.flatnonzero(inside))) for one in family))


def _best(family: Sequence[Regression], inside: Flags, sign: int) -> int:
    """Return the record outside that is best taken in, or the one inside that is best left out."""
    cost = np.sum([one.changed(inside, sign) for one in family], axis=0)
    return int(np.argmin(np.where(inside == (sign < 0), cost, np.inf)))


def regressions(data: Microdata, formulas: Sequence[str]) -> list[Regression]:
    """Read linear regressions on numbers, "y ~ a + b", with an intercept; predictors have mean 0 and spread 1."""
    found = []
    for formula in formulas:
        answer, _, terms = formula.partition("~")
        x = np.column_stack([data.columns[name.strip()] for name in terms.split("+")])
        x = np.column_stack([np.ones(len(data)), (x - x.mean(axis=0)) / x.std(axis=0)])
        found.append(Regression.of(x, data.columns[answer.strip()]))
    return found


def of_records(data: Microdata, overlap: Measure, formulas: Sequence[str], seed: int) -> Finding:
    """Compare half of the records, chosen for a family of regressions, with halves drawn at random."""
    family, rng = regressions(data, formulas), np.random.default_rng([seed, 4])
    size = len(data) // 2
    chosen = chosen_records(family, size)
    halves = [chosen, *(np.sort(rng.choice(len(data), size, replace=False)) for _ in range(RANDOM))]
    variances, shifts = np.mean([[one.errors(rows) for one in family] for rows in halves], axis=1).T
    kept = [overlap.evaluate(data, data.take(rows)).value for rows in halves]
    x = family[0].x
    leverage = np.einsum("ij,jk,ik->i", x, np.linalg.inv(x.T @ x), x)
    weighty = np.argsort(-leverage, kind="stable")[: round(WEIGHTY * len(data))]

    def beside(figures: Sequence[float] | Floats, shown: str) -> str:
        return f"{figures[0]:{shown}} (at random {min(figures[1:]):{shown}} to {max(figures[1:]):{shown}})"

    return Finding(
        f"CPS: half of the records, chosen for {len(family)} regressions, keep them better than any of {RANDOM} random "
        "halves",
        bool(shifts[0] < shifts[1:].min() and variances[0] < variances[1:].min()),
        f"in variances with all records, squared shifts of coefficients {beside(shifts, '.3g')}, variances "
        f"{beside(variances, '.2f')}; IO {beside(kept, '.3f')}; but of the {len(weighty)} records that weigh most "
        f"{int(np.isin(weighty, chosen).sum())} go out as they are",
    )
