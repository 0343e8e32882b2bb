"""What happened to a correlation matrix as a whole: its inverse and its eigenvalues."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.robust_covariance import minimum_covariance_determinant
from sfumato.kernels.spread import ROUNDING, mean_and_spread, standardised
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.table.microdata import Floats, Microdata

MISSING = "records with a missing value in one of the variables are left out, and counted in a note"
SINGULAR = 1e-12  # of the largest eigenvalue: below it variables are tied by an exact linear relation


@catalogued(
    MeasureAbout(
        title="Loss in the inverse correlations (IL_correl)",
        source="Mlodak (2020), Information loss resulting from statistical disclosure control of output data, "
        "Wiadomosci Statystyczne 65(9); IL_correl of sdcMicro",
        purpose="utility",
        better="lower",
        range=(0.0, 1.0),
        weights=True,
        paired=False,
        parts="columns",
        missing=MISSING,
        caveat="it compares how well each variable is explained by the others, relative to the other variables: if all "
        "correlations shrink alike it may see little",
        formula="value = | d / |d| - d' / |d'| | / sqrt(2),   d = diag(R^-1),   |d| = root of the sum of squares\n"
        "R = correlations of the original, d' of the protected table's;\n"
        "d_j = 1 / (1 - R^2_j), the variance inflation of variable j given all others",
        reading="0 means that every variable is tied to the others as before, seen against the other variables; 1, "
        "which is hardly reached, that the ties went from one variable to another. Mlodak divides by 2 where sdcMicro "
        "and this measure divide by sqrt(2). Read it beside EigenvalueLoss and the correlations themselves.",
    )
)
class InverseCorrelationLoss(Measure):
    """Distance between the diagonals of the two inverse correlation matrices, each scaled to length 1: IL_correl.

    The diagonal of the inverse holds the variance inflation factors 1 / (1 - R^2), R^2 of each variable on all others.
    ``by_variable`` has each variable's part of the value; their squares add up to its square. Refused where variables
    are tied by an exact linear relation, with their names.

    >>> import pyarrow as pa
    >>> a, b, c = [1.0, 2, 3, 4], [1.0, 3, 2, 4], [4.0, 1, 3, 2]
    >>> before, after = pa.table({"a": a, "b": b, "c": c}), pa.table({"a": a, "b": c, "c": b})
    >>> round(InverseCorrelationLoss().evaluate(before, after).value, 6)
    0.488678
    """

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, tables, notes = _complete(self, pair)
        if len(names) < 2:
            raise NotApplicable("correlations need at least two variables that vary")
        diagonals = []
        for table in tables:
            values, vectors = np.linalg.eigh(table.correlations)
            if values[0] <= SINGULAR * values[-1]:
                tied = [name for name, part in zip(names, np.abs(vectors[:, 0]), strict=True) if part > 1e-6]
                raise NotApplicable(
                    f"{', '.join(tied)} are tied by an exact linear relation in the {table.label} table, so that its "
                    "correlations have no inverse; leave one out by variables="
                )
            diagonal = (vectors**2 / values).sum(axis=1)
            diagonals.append(diagonal / np.linalg.norm(diagonal))
        apart = np.abs(diagonals[1] - diagonals[0])
        apart = np.where(apart <= ROUNDING, 0.0, apart) / np.sqrt(2)
        return self.measurement(
            float(np.linalg.norm(apart)), by_variable=dict(zip(names, apart.tolist(), strict=True)), notes=notes
        )


@catalogued(
    MeasureAbout(
        title="Loss in the eigenvalues of the correlations",
        source="Templ and Meindl (2008), Robust statistics meets SDC; dUtility(method = 'eigen' and 'robeigen') of "
        "sdcMicro",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        weights=True,
        paired=False,
        parts="columns",
        missing=MISSING,
        caveat="the smallest eigenvalues decide, since differences are relative; and two tables with the same "
        "eigenvalues may tie different variables",
        formula="value = sum over the eigenvalues l of |l - l'| / l,   in descending order\n"
        "l of the original's correlations, l' of the protected table's;\n"
        "robust: of the covariances of the z-scores by the reweighted MCD",
        reading="0 for the same eigenvalues; independent variables have eigenvalues of 1, so that shuffling the "
        "columns of a table with strong ties gives a large figure. Divide by the number of variables to read it as a "
        "mean relative change.",
    )
)
class EigenvalueLoss(Measure):
    """Sum of the relative differences of the eigenvalues of the two correlation matrices: sdcMicro's "eigen".

    With ``robust=True`` the matrices are the covariances of the z-scores by the minimum covariance determinant
    ("robeigen"), which a few outliers do not move; survey weights play no part then. Eigenvalues of the original that
    are nothing but rounding (a total and its parts) are left out, and said. Parts: each relative difference, from the
    largest eigenvalue to the smallest.
    """

    robust: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "robust", (True, False))
        if self.robust:
            self.known_as(weights=False)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, tables, notes = _complete(self, pair)
        matrices = [table.robust if self.robust else table.correlations for table in tables]
        before, after = (np.linalg.eigvalsh(matrix)[::-1] for matrix in matrices)
        gone = before <= SINGULAR * before[0]
        if gone.any():
            notes = (*notes, f"{int(gone.sum())} of {len(names)} eigenvalues left out: zero in the original")
        apart = np.abs(before - after)
        apart = np.where(apart <= ROUNDING * before[0], 0.0, apart)[~gone] / before[~gone]
        parts = {f"eigenvalue {place}": float(part) for place, part in enumerate(apart, start=1)}
        return self.measurement(float(apart.sum()), parts=parts, notes=notes)


@dataclass(frozen=True, eq=False)
class _Table:
    """The complete records of a table in an order of their own, so that no sum depends on the parts they came in."""

    label: str
    values: Floats
    weights: Floats

    @classmethod
    def of(cls, table: Microdata, label: str, names: tuple[str, ...]) -> "_Table":
        """Take the complete records of positive weight."""
        values, weights = table.numeric(names), table.weights()
        kept = ~np.isnan(values).any(axis=1) & (weights > 0)
        values, weights = values[kept], weights[kept]
        order = np.lexsort((weights, *values.T))
        return cls(label, values[order], weights[order])

    def only(self, varied: NDArray[np.bool_]) -> "_Table":
        """Return some of the variables."""
        return replace(self, values=self.values[:, varied])

    @property
    def correlations(self) -> Floats:
        """The (weighted) correlations."""
        w = self.weights / self.weights.sum()
        centred = self.values - w @ self.values
        products = (centred * w[:, None]).T @ centred
        spread = np.sqrt(np.diag(products))
        found: Floats = products / np.outer(spread, spread)
        np.fill_diagonal(found, 1.0)
        return found

    @property
    def robust(self) -> Floats:
        """The robust covariances of the z-scores."""
        found = None
        if len(self.values) >= 2 * self.values.shape[1] + 2:
            found = minimum_covariance_determinant(standardised(self.values, *mean_and_spread(self.values)))
        if found is None:
            raise NotApplicable(
                f"the {self.label} table has no robust covariance: too few complete records, or half of them lie in a "
                "plane (a variable that is mostly zero, a total and its parts); leave a variable out by variables="
            )
        return found.covariance


def _complete(measure: Measure, pair: Pair) -> tuple[tuple[str, ...], list[_Table], tuple[str, ...]]:
    """Take the complete records of both tables, without variables that are constant in one of them."""
    names, notes = measure.shared(pair)
    tables = []
    for table, label in zip(pair.gathered(names).tables(), ("original", "protected"), strict=True):
        found = _Table.of(table, label, names)
        gone = len(table) - len(found.values)
        if gone:
            notes = (*notes, f"{gone:,} records of the {label} table left out: a value is missing or the weight zero")
        if len(found.values) < 2:
            raise NotApplicable(f"fewer than two records of the {label} table have all of {', '.join(names)}")
        tables.append(found)
    varied = np.all([mean_and_spread(table.values)[1] > 0 for table in tables], axis=0)
    constant = [name for name, varies in zip(names, varied, strict=True) if not varies]
    if len(constant) == len(names):
        raise NotApplicable(f"{', '.join(names)} constant: there is no correlation")
    if constant:
        notes = (*notes, f"left out, constant in one of the tables: {', '.join(constant)}")
    return tuple(n for n in names if n not in constant), [table.only(varied) for table in tables], notes
