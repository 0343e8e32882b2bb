"""Logistic models of which file a record comes from, by Newton's method on blocks of records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.newton import Progress, State, newton, ridged
from sfumato.utility.propensity.pooled import Codes, Flags, Floats, Pooled, standardised

# The terms of a logistic model: powers and products of the variables, built a block of records at a time

Degree = Literal["first", "products", "second", "paper II"]
BLOCK = 4_096  # records built at a time: a megabyte for 30 terms, which stays in the cache
MAX_TERMS = 2_000


@dataclass(frozen=True)
class Column:
    """One standardised number, or the indicator (0 or 1) of one category."""

    variable: str
    source: Floats | Codes
    level: int | None = None  # the category whose indicator this is
    two_valued: bool = False  # its square is a combination of itself and the constant
    offset: float = 0.0  # mean over standard deviation of the values before they were standardised

    def values(self, rows: slice) -> Floats:
        """Return the column's values in these rows."""
        values = self.source[rows] if self.level is None else self.source[rows] == self.level
        return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True)
class Term:
    """A product of columns, given by their places; ``squares`` is the product of the squares of two."""

    columns: tuple[int, ...]
    squares: bool = False


@dataclass(frozen=True)
class Design:
    """The terms of a model over the pooled records; the first is the constant 1, a product of no columns."""

    columns: tuple[Column, ...]
    terms: tuple[Term, ...]
    rows: int

    def __len__(self) -> int:
        return len(self.terms)

    def only(self, places: NDArray[np.intp]) -> "Design":
        """Return the design with these terms."""
        return Design(self.columns, tuple(self.terms[place] for place in places), self.rows)

    def on(self, sources: Sequence[Floats | Codes], rows: int) -> "Design":
        """Return the design over other records, of which these are the columns."""
        columns = (replace(column, source=source) for column, source in zip(self.columns, sources, strict=True))
        return Design(tuple(columns), self.terms, rows)

    @property
    def orders(self) -> NDArray[np.intp]:
        """The order of each term: how many columns are multiplied in it."""
        return np.array([len(term.columns) * (2 if term.squares else 1) for term in self.terms])

    def with_variable(self, name: str) -> NDArray[np.bool_]:
        """Tell which terms a variable has a part in."""
        return np.array([any(self.columns[c].variable == name for c in term.columns) for term in self.terms])

    def name(self, place: int) -> str:
        """Spell a term out."""
        term = self.terms[place]
        return " x ".join(self.columns[c].variable for c in term.columns * (2 if term.squares else 1))

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of records and their terms, a row for each term; the array is used again for the next block."""
        size = min(self.rows, BLOCK)
        held = np.empty((len(self.terms), size))
        used = sorted({column for term in self.terms for column in term.columns})
        for start in range(0, self.rows, size):
            rows = slice(start, min(start + size, self.rows))
            block = held[:, : rows.stop - start]
            values = {column: self.columns[column].values(rows) for column in used}
            for row, term in zip(block, self.terms, strict=True):
                self._fill(row, term, values)
            yield rows, block

    def _fill(self, row: Floats, term: Term, values: dict[int, Floats]) -> None:
        if not term.columns:
            row[:] = 1.0
            return
        row[:] = values[term.columns[0]]
        for column in term.columns[1:]:
            row *= values[column]
        if term.squares:
            # (x + a)^2 (y + b)^2 less what other terms hold: the square's product of the values as they are, not as
            # they are standardised, without the loss of digits that values far from zero would bring
            first, second = (self.columns[column] for column in term.columns)
            x, y = (values[column] for column in term.columns)
            row *= row + 2 * second.offset * x + 2 * first.offset * y


def design(pooled: Pooled, degree: Degree) -> Design:
    """Build the model: first order; that and the products of two variables; all of second order; or that and more.

    All of second order is (3.1) of the paper for any p, with squares' products and cubes it is (3.2).

    Nominal variables enter as the indicators of all their categories but the first. Columns of one variable are not
    multiplied with each other, and a column of two values has no powers: both would repeat other terms.
    """
    columns: list[Column] = []
    for number in pooled.numbers:
        values, mean, spread = standardised(number.values, pooled.weights)
        if spread > 0:
            low, high = values.min(), values.max()
            two_valued = bool(((values == low) | (values == high)).all())
            columns.append(Column(number.variable, values, None, two_valued=two_valued, offset=mean / spread))
    for category in pooled.categories:
        columns += [
            Column(category.variable, category.codes, level, two_valued=True) for level in range(1, category.count)
        ]
    order = {name: place for place, name in enumerate(pooled.names)}
    columns.sort(key=lambda column: order[column.variable])
    return arranged(columns, degree, len(pooled))


def arranged(columns: Sequence[Column], degree: Degree, rows: int) -> Design:
    """Build the model of columns that stand in the order of their variables."""
    _check_size(columns, degree)
    return Design(tuple(columns), (Term(()), *_terms(columns, degree)), rows)


def _terms(columns: Sequence[Column], degree: Degree) -> Iterator[Term]:
    places = range(len(columns))
    yield from (Term((i,)) for i in places)
    if degree == "first":
        return
    curved = [i for i in places if not columns[i].two_valued]
    pairs = [(i, j) for i, j in combinations(places, 2) if columns[i].variable != columns[j].variable]
    if degree != "products":
        yield from (Term((i, i)) for i in curved)
    yield from (Term(pair) for pair in pairs)
    if degree in ("products", "second"):
        return
    yield from (Term((i, j), squares=True) for i, j in pairs if i in curved or j in curved)
    yield from (Term((i, i, i)) for i in curved)


def _check_size(columns: Sequence[Column], degree: Degree) -> None:
    """Refuse a model whose terms nobody could count, before they are listed."""
    count = len(columns) if degree == "first" else len(columns) * (len(columns) + 1) // 2
    if count > MAX_TERMS:
        variables = [column.variable for column in columns]
        largest = max(set(variables), key=variables.count)
        raise NotApplicable(
            f"the logistic model would have about {count:,} terms, more than {MAX_TERMS:,} "
            f"({largest!r} alone takes {variables.count(largest):,} columns); choose variables, or model='tree'"
        )


# The model

COLLINEAR = 1e-11  # a term whose square keeps no more than this share when others are taken out adds nothing
CONVERGED = 1e-12  # Newton's last step, squared in units of standard errors, over the gain in deviance
ITERATIONS = 300  # separated records take about 30, heavy tails more
STUCK = 1e-7  # where no shorter step leads down, one no longer than this, as above, has arrived
HALVINGS = 60
ROUNDING = 1e-14  # a deviance within rounding of the last is not higher
SURE = 1e-9  # a propensity this near to 0 or 1 is as good as that
NO_CURVATURE = "the logistic model has no curvature left to follow"


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


def fit(pooled: Pooled, degree: Degree) -> Fit:
    """Fit the model by maximum (weighted) likelihood, and return the propensities."""
    response, weights = pooled.protected.astype(np.float64), pooled.weights
    found = estimated(
        design(pooled, degree),
        pooled.names,
        float(np.average(pooled.protected, weights=weights)),
        float(weights.sum()),
        lambda model, coefficients: state(model, coefficients, response, weights),
        lambda model, coefficients: deviance(model, coefficients, response, weights),
    )
    scores = propensities(found.model, found.coefficients)
    return Fit(scores, len(found.model), found.by_variable, found.collinear, surely_told(scores))


def surely_told(scores: Floats) -> int:
    """Count the records whose propensity is as good as 0 or 1."""
    return int((np.minimum(scores, 1 - scores) < SURE).sum())


def estimated(
    model: Design,
    names: tuple[str, ...],
    share: float,
    weight: float,
    state_of: Callable[[Design, Floats], State],
    deviance_of: Callable[[Design, Floats], float],
) -> Estimate:
    """Find the coefficients of greatest (weighted) likelihood.

    ``share`` is that of protected records, ``weight`` what all weigh. ``state_of`` sums deviance, gradient and Hessian
    of a model with some coefficients over all records, ``deviance_of`` the deviance alone.

    Where terms separate records of the two files, their coefficients have no finite maximum; Newton's steps then go on
    until the propensities are within about 1e-12 of their limits 0 and 1, which are unique.
    """
    coefficients = np.zeros(len(model))
    coefficients[0] = np.log(share / (1 - share))
    at = state_of(model, coefficients)
    information = at.hessian / (share * (1 - share))  # weights are still equal: plain sums of products
    kept = _independent(information, model.orders)
    losses = _losses(model, information, at.gradient, kept, names)
    collinear = tuple(model.name(place) for place in np.setdiff1d(np.arange(len(model)), kept))
    model = model.only(kept)
    within = np.ix_(kept, kept)
    first = State(at.objective, at.gradient[kept], at.hessian[within])
    found = _maximum(partial(state_of, model), partial(deviance_of, model), weight, coefficients[kept], first)
    return Estimate(model, found, losses, collinear)


def _maximum(
    state_of: Callable[[Floats], State],
    deviance_of: Callable[[Floats], float],
    weight: float,
    start: Floats,
    first: State,
) -> Floats:
    """Return the coefficients of the greatest likelihood; ``first`` is the state at the start."""
    negligible = 1e-22 * weight  # where the files are as alike as rounding lets them be

    def gained(state: State) -> float:
        return first.objective - state.objective

    def arrived(now: Progress[State]) -> bool:
        within = now.length <= CONVERGED * gained(now.state) + negligible
        return bool(within or now.state.objective <= CONVERGED * first.objective)

    found = newton(
        state_of,
        start,
        arrived=arrived,
        solve=ridged,
        most_steps=ITERATIONS,
        most_halvings=HALVINGS,
        rounding=ROUNDING,
        first=first,
        objective_of=deviance_of,
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


# Modified logistic models: clusters of the pooled records, and a logistic model inside each


def fit_in_groups(
    pooled: Pooled, degree: Degree, groups: int, least: int = 1
) -> tuple[Fit, dict[str, float], tuple[str, ...]]:
    """Fit a logistic model in each of ``groups`` clusters of the pooled records.

    A cluster with records of one file only gives them the share of that file, 1 or 0; one of fewer than ``least``
    records its share of protected ones; one whose records the terms separate the limits of the likelihood, 1 and 0.
    Parts tell what the clusters' shares alone explain (the cluster
    utility) and what the models inside them add.
    """
    labels = clusters(pooled, groups)
    order = np.argsort(labels, kind="stable")
    scores = np.empty(len(pooled))
    shares = np.empty(len(pooled))
    coefficients, one_file, small, separable = 0, 0, 0, 0
    losses = dict.fromkeys(pooled.names, 0.0)
    members = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    for rows in members:
        part = pooled.take(rows)
        shares[rows] = np.average(part.protected, weights=part.weights)
        if part.protected.all() or not part.protected.any():
            scores[rows] = shares[rows]
            coefficients += 1
            one_file += 1
            continue
        if len(rows) < least:
            scores[rows] = shares[rows]
            coefficients += 1
            small += 1
            continue
        found = fit(part, degree)
        scores[rows] = found.scores
        coefficients += found.coefficients
        separable += found.separated > 0
        for name, loss in found.by_variable.items():
            losses[name] += loss
    between = float(np.average((shares - pooled.share) ** 2, weights=pooled.weights))
    whole = float(np.average((scores - pooled.share) ** 2, weights=pooled.weights))
    parts = {"groups": float(len(members)), "between groups": between, "within groups": whole - between}
    notes = []
    if one_file:
        notes.append(f"{one_file} of {len(members)} groups hold records of one file only: propensity 0 or 1")
    if small:
        notes.append(f"{small} of {len(members)} groups have fewer than {least} records: propensity is their share")
    if separable:
        notes.append(f"in {separable} of {len(members)} groups the model gives records propensity 0 or 1")
    return Fit(scores, coefficients, losses, (), 0), parts, tuple(notes)


def clusters(pooled: Pooled, groups: int) -> NDArray[np.intp]:
    """Return the cluster of each record: average linkage on squared distances, as in the cluster utility.

    Numbers are standardised over the pooled records, and so are marks of missing values; two different categories of a
    nominal variable are at squared distance 2, as are two numbers on average. A record of weight 3 counts as three.
    Equal records fall in one cluster, so there may be fewer than asked for.
    """
    from sfumato.kernels.average_linkage import partition
    from sfumato.kernels.boxes import distinct

    points, place, _ = distinct(_coordinates(pooled))
    masses = np.bincount(place, pooled.weights).astype(np.float64)
    labels = partition(points, masses, min(groups, len(points)))
    return np.asarray(labels[place], dtype=np.intp)


def _coordinates(pooled: Pooled) -> Floats:
    axes = [standardised(number.values, pooled.weights)[0] for number in pooled.numbers]
    for category in pooled.categories:
        axes += [(category.codes == level).astype(np.float64) for level in range(category.count)]
    return np.column_stack(axes)
