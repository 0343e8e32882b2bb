"""Models fitted to a table, or to both tables in the original's coding, and what all measures of them share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import permutations

import numpy as np

from sfumato import parameters
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.newton import State, curved, newton
from sfumato.pair import Half, Pair
from sfumato.pair.statistics import CrossProducts, Sums, Triangle, triangular
from sfumato.table.microdata import Floats, Microdata
from sfumato.table.schema import Schema
from sfumato.utility.models import formula
from sfumato.utility.models.design import Block, Coding, Column, Design, Rows, Usable
from sfumato.utility.models.formula import Family, Model, as_models

# Sufficient statistics of many columns in one pass over the records, and the triangular factor of a model.
#
# Every linear model among the columns is solved from one centred matrix of products. Where that would lose digits (the
# matrix squares the condition number), the factor comes from a second pass of QR steps over blocks instead, which does
# not.

MIN_PIVOT = 1e-3  # below it (a variance inflation of a million) products have lost too many digits
COLLINEAR = 1e-10  # a column whose remainder is this small beside it is a combination of the others
CONSTANT = 1e-13


def filled(block: Block, columns: Sequence[Column]) -> Floats:
    """Return the columns of a block side by side."""
    values = np.empty((len(block), len(columns)), order="F")
    for j, column in enumerate(columns):
        found = column.values(block)
        values[:, j] = 1.0 if found is None else found
    return values


@dataclass(frozen=True, eq=False)
class Sufficient:
    """Means and centred sums of products of columns; weights sum to the number of records."""

    rows: Rows
    columns: tuple[Column, ...]
    found: CrossProducts

    @classmethod
    def of(cls, rows: Rows, columns: tuple[Column, ...]) -> "Sufficient":
        """Gather them in one pass; they are kept with the table, for other measures."""
        found = rows.half.keep(
            ("cross-products", rows.holed, columns),
            lambda: rows.total(lambda block: CrossProducts.of(filled(block, columns), block.weights())),
        )
        return cls(rows, columns, found)

    @cached_property
    def place(self) -> dict[Column, int]:
        """Where each column is."""
        return {column: j for j, column in enumerate(self.columns)}

    @property
    def means(self) -> Floats:
        """The means of the columns."""
        return self.found.means

    @property
    def products(self) -> Floats:
        """The sums of products of the columns' deviations from their means."""
        return self.found.products

    def factor(self, design: Design) -> Floats:
        """Return the triangular factor of the columns 1, the design's without the constant, and the response."""
        columns = [column for column in design.columns if column.parts] + [design.response]
        chosen = [self.place[column] for column in columns]
        means, products = self.means[chosen], self.products[np.ix_(chosen, chosen)]
        spread = np.sqrt(np.diag(products))
        factor = np.zeros((len(columns) + 1,) * 2)
        root = np.sqrt(float(self.rows.count))
        factor[0, 0], factor[0, 1:] = root, root * means
        factor[1:, 1:] = self._spread_factor(columns, means, products, spread)
        return factor

    def _spread_factor(self, columns: list[Column], means: Floats, products: Floats, spread: Floats) -> Floats:
        if (spread > 0).all():
            try:
                root = np.linalg.cholesky(products / np.outer(spread, spread))
            except np.linalg.LinAlgError:
                pass
            else:
                if np.diag(root).min() > MIN_PIVOT:
                    return root.T * spread
        return self._by_blocks(columns, means)

    def _by_blocks(self, columns: list[Column], means: Floats) -> Floats:

        def of(block: Block) -> Triangle:
            values, weights = filled(block, columns) - means, block.weights()
            if weights is not None:
                values *= np.sqrt(weights)[:, None]
            return Triangle.of(values)

        factor = self.rows.total(of).factor
        padded = np.zeros((len(columns),) * 2)
        padded[: len(factor)] = factor
        return padded


def triangle(factor: Floats, design: Design, rows: Rows) -> Floats:
    """Return the triangular factor of the design's columns and the response; refuse what cannot be estimated.

    Its last entry, squared, is the residual sum of squares.
    """
    here, count = f"in the {rows.label} table", len(design.columns)
    matrix = factor if design.intercept else factor[:, 1:]
    varied = np.linalg.norm(factor[1:, 1:], axis=0)
    sizes = np.linalg.norm(factor[:, 1:], axis=0)
    if varied[-1] <= CONSTANT * sizes[-1]:
        raise NotApplicable(f"{design.where}: the response {design.response.name!r} is constant {here}")
    found = triangular(matrix)
    offset = int(design.intercept)
    for j in range(offset, count):
        name, pivot = design.names[j], abs(found[j, j])
        scale = varied[j - offset] if design.intercept else sizes[j]
        if design.intercept and scale <= CONSTANT * sizes[j - offset]:
            raise NotApplicable(f"{design.where}: the term {name!r} is constant {here}")
        if scale == 0 or pivot <= COLLINEAR * scale:
            others = ", ".join(map(repr, design.names[:j])) or "nothing"
            raise NotApplicable(
                f"{design.where}: the term {name!r} is a combination of {others} {here} (collinear); leave one out"
            )
    return found


def _inverted(matrix: Floats) -> Floats:
    """Return the inverse of a matrix."""
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


# Linear regression: least squares from sufficient statistics, with the paper's t posterior or robust errors

EPSILON = float(np.finfo(np.float64).eps)
NO_DIGIT = 1e-12  # of the terms that a variance is the sum of: what is left below it is no digit of a variance


@dataclass(frozen=True)
class Estimate:
    """Coefficients and the covariance (for t: the scale matrix) of their posterior."""

    coefficients: Floats
    covariance: Floats


def least_squares(design: Design, gathered: Sufficient, *, robust: bool) -> Estimate:
    """Fit one model; ``robust`` gives the covariance that holds for survey weights."""
    rows, count = gathered.rows, len(design.columns)
    found = triangle(gathered.factor(design), design, rows)
    inverse = _inverted(found[:count, :count])
    coefficients = inverse @ found[:count, count]
    residual = float(found[count, count] ** 2)
    varies = np.linalg.norm(found[int(design.intercept) :, count])  # without the mean, which may be large
    if abs(found[count, count]) <= 1e-12 * varies + 8 * EPSILON * np.linalg.norm(found[:, count]):
        raise NotApplicable(f"{design.where}: it fits the {rows.label} table exactly, so there is no standard error")
    if not robust:
        return Estimate(coefficients, inverse @ inverse.T * (residual / (rows.count - count)))
    return Estimate(coefficients, _sandwich(design, rows, inverse, _meat(design, rows, coefficients, inverse)))


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


def _sandwich(design: Design, rows: Rows, bread: Floats, meat: Floats) -> Floats:
    """Return n/(n - 1) times HC0: Taylor linearisation for records drawn with replacement, as survey packages do it.

    A coefficient that is told by records which fit exactly, such as a group of one, has none.
    """
    found: Floats = bread @ meat @ bread.T * (rows.count / (rows.count - 1))
    terms = np.abs(bread) @ np.abs(meat) @ np.abs(bread).T
    for name, variance, size in zip(design.names, np.diag(found), np.diag(terms), strict=True):
        if variance <= NO_DIGIT * size:
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


# Logistic and Poisson regression: Newton's method over blocks of records, normal approximation at the end

MAX_STEPS = 60
MAX_HALVINGS = 29
ROUNDING = 1e-12  # a likelihood this near to the last, relative, is not lower
STEP_TOLERANCE = 1e-18  # of the squared Newton step, in standard errors
STALLED = 1e-10  # the same where steps have stopped getting shorter: rounding, as with responses of billions
FLAT = 1e-9  # information this small beside that of the start: a coefficient that runs off to infinity


@dataclass(frozen=True, eq=False)
class _State(State):
    """The objective is minus the log-likelihood, up to a constant; ``meat`` is the products of the records' scores."""

    meat: Floats


def maximum_likelihood(design: Design, gathered: Sufficient, *, robust: bool) -> Estimate:
    """Fit one model by maximum (weighted) likelihood.

    Steps are taken in the coordinates in which the design's columns are orthonormal, so that their units do not matter.
    """
    rows, count = gathered.rows, len(design.columns)
    inverse = _inverted(triangle(gathered.factor(design), design, rows)[:count, :count])
    start = _pass(design, rows, inverse, None, robust=robust)
    found = newton(
        lambda place: _pass(design, rows, inverse, place, robust=robust),
        np.asarray(np.linalg.solve(start.hessian, start.gradient)),
        arrived=lambda now: now.length < STEP_TOLERANCE or (now.length < STALLED and now.length >= now.before / 4),
        solve=curved(FLAT * float(np.linalg.eigvalsh(start.hessian)[-1])),
        most_steps=MAX_STEPS,
        most_halvings=MAX_HALVINGS,
        rounding=ROUNDING,
    )
    if found.outcome != "converged" and not (found.outcome == "stuck" and found.length < STALLED):
        raise _diverging(design, inverse @ found.coefficients, gathered)
    covariance = _inverted(found.state.hessian)
    if robust:
        return Estimate(inverse @ found.coefficients, _sandwich(design, rows, inverse @ covariance, found.state.meat))
    return Estimate(inverse @ found.coefficients, inverse @ covariance @ inverse.T)


def _pass(design: Design, rows: Rows, inverse: Floats, place: Floats | None, *, robust: bool) -> _State:
    """Sum over the records; without coefficients, start from means drawn half way to each response."""
    logistic = design.model.family == "logistic"

    def of(block: Block) -> Sums:
        values, weights = filled(block, (*design.columns, design.response)), block.weights()
        response, basis = values[:, -1], values[:, :-1] @ inverse
        weights = np.ones(len(response)) if weights is None else weights
        if place is None:
            _check_response(design, rows, response)
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


def _check_response(design: Design, rows: Rows, response: Floats) -> None:
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


# Fitting models to a table, or to both tables in the original's coding


@dataclass(frozen=True, eq=False)
class Fit:
    """The estimates of a model in one table: a t posterior (linear) or a normal one (``degrees_of_freedom`` infinite).

    ``covariance`` is the scale matrix of the t, s^2 (X'X)^-1, or the covariance of the normal.
    """

    model: Model
    names: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    degrees_of_freedom: float
    records: int
    robust: bool = False
    notes: tuple[str, ...] = ()
    freedom: Floats | None = None  # degrees of freedom of each coefficient, where several copies were combined

    @property
    def family(self) -> Family:
        """The family of the model."""
        return self.model.family

    @cached_property
    def standard_errors(self) -> Floats:
        """The standard errors of the coefficients."""
        return np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of the coefficients' intervals."""
        half = _quantile(level, self._freedom) * self.standard_errors
        return self.coefficients - half, self.coefficients + half

    def probability(self, low: Floats, high: Floats) -> Floats:
        """Return the posterior probability that each coefficient lies between two ends."""
        scaled = [(end - self.coefficients) / self.standard_errors for end in (low, high)]
        return _between(scaled[0], scaled[1], self._freedom)

    @property
    def _freedom(self) -> Floats:
        return np.full(len(self.names), self.degrees_of_freedom) if self.freedom is None else self.freedom


@dataclass(frozen=True)
class BothFits:
    """A model fitted to both tables."""

    original: Fit
    protected: Fit

    @property
    def model(self) -> Model:
        """The model."""
        return self.original.model

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out in either table."""
        return (*self.original.notes, *self.protected.notes)


def fit(model: Model | str, table: Half | Microdata) -> Fit:
    """Fit a model to a table, whole or in parts.

    >>> import pyarrow as pa
    >>> table = Microdata.from_frame(pa.table({"y": [1.0, 2.0, 6.0]}))
    >>> fit("y ~ 1", table).coefficients.round(9).tolist()
    [3.0]
    """
    usable = Usable(table, "given")
    design = Coding(usable).design(Model(model) if isinstance(model, str) else model)
    robust = usable.rows(design.variables).unequal
    (found,) = _fit_all((design,), usable, usable.half.schema, (robust,))
    return found


def fit_both(models: Sequence[Model], pair: Pair) -> tuple[BothFits, ...]:
    """Fit models to both tables, in the original's coding.

    Unequal survey weights in one of the tables give robust standard errors in both.
    """
    before, after = _fit_halves(models, pair.original, (pair.protected,))
    return tuple(BothFits(*fits) for fits in zip(before, after, strict=True))


def _fit_halves(models: Sequence[Model], original: Half, others: Sequence[Half]) -> list[tuple[Fit, ...]]:
    """Fit models to the original and to others in its coding; each table keeps its fits, for other measures."""
    labels = ["protected"] if len(others) == 1 else [f"{i}. protected" for i in range(1, len(others) + 1)]
    usable = [Usable(half, label) for half, label in zip((original, *others), ("original", *labels), strict=True)]
    coding = Coding(usable[0])
    designs = tuple(original.keep(("design", model), partial(coding.design, model)) for model in models)
    robust = tuple(any(one.rows(d.variables).unequal for one in usable if _has(one, d)) for d in designs)
    return [
        one.half.keep(("fits", one.label, designs, robust), partial(_fit_all, designs, one, original.schema, robust))
        for one in usable
    ]


def _has(usable: Usable, design: Design) -> bool:
    return all(name in usable.half.schema for name in design.variables)


def _fit_all(
    designs: tuple[Design, ...], usable: Usable, original: Schema, robust: tuple[bool, ...]
) -> tuple[Fit, ...]:
    """Fit models to one table, those that use the same records from one set of sufficient statistics."""
    rows = [design.rows(usable, original) for design in designs]
    alike: dict[int, list[int]] = {}
    for place, one in enumerate(rows):
        alike.setdefault(id(one), []).append(place)
    fits: dict[int, Fit] = {}
    for places in alike.values():
        gathered = gather([designs[place] for place in places], rows[places[0]])
        for place in places:
            design = designs[place]
            estimate = least_squares if design.model.family == "linear" else maximum_likelihood
            found = estimate(design, gathered, robust=robust[place])
            fits[place] = _dressed(design, rows[place], found, robust=robust[place])
    return tuple(fits[place] for place in range(len(designs)))


def _dressed(design: Design, rows: Rows, found: Estimate, *, robust: bool) -> Fit:
    free = float(rows.count - len(design.columns)) if design.model.family == "linear" else math.inf
    notes: tuple[str, ...] = ()
    if rows.incomplete:
        notes = (
            f"{rows.incomplete:,} records of the {rows.label} table left out of {design.model.label!r}: "
            "a value is missing",
        )
    return Fit(
        design.model, design.names, found.coefficients, found.covariance, free, rows.count, robust=robust, notes=notes
    )


def _quantile(level: float, free: Floats) -> Floats:
    from scipy.special import ndtri, stdtrit

    upper = (1 + level) / 2
    # stdtrit(inf, .) is not the normal's in every scipy
    found: Floats = np.where(np.isinf(free), ndtri(upper), stdtrit(np.where(np.isinf(free), 1.0, free), upper))
    return found


def _between(low: Floats, high: Floats, free: Floats) -> Floats:
    """Return the probability of a standard t or normal between two ends, exact also in the tails."""
    from scipy.special import ndtr, stdtr

    turned = low > 0  # a difference of two values near 1 has no digits left: take the mirror image
    low, high = np.where(turned, -high, low), np.where(turned, -low, high)
    normal, finite = np.isinf(free), np.where(np.isinf(free), 1.0, free)
    found: Floats = np.where(normal, ndtr(high) - ndtr(low), stdtr(finite, high) - stdtr(finite, low))
    return found


# What all measures that fit models share: the models to fit, and both tables' estimates

Models = str | Model | Sequence[str | Model] | None


@dataclass(frozen=True)
class Fitted:
    """The models fitted to both tables, and what was left out."""

    both: tuple[BothFits, ...]
    notes: tuple[str, ...]
    variables: tuple[str, ...] = ()  # those compared where no model was named

    def mean(self, values: Sequence[float]) -> float:
        """Return the mean of the models' values, by their weights (section 4 of the paper)."""
        return float(np.average(values, weights=[fits.model.weight for fits in self.both]))

    def by_variable(self, values: Sequence[float]) -> dict[str, float]:
        """Return for each variable the mean over the models it has a part in; nothing where models were named."""
        if not self.variables:
            return {}
        own: dict[str, list[float]] = {name: [] for name in self.variables}
        for fits, value in zip(self.both, values, strict=True):
            for name in formula.parse(fits.model.formula).variables:
                own[name].append(value)
        return {name: float(np.mean(found)) for name, found in own.items()}


@dataclass(frozen=True, repr=False)
class ModelMeasure(Measure):
    """A measure that compares what models say of the two tables.

    ``model`` is a formula, a ``Model``, or several of them. Without one, the simple regressions of each numeric
    variable on each other are compared (one variable alone: its mean), and ``variables`` may choose among them.
    """

    model: Models = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model is None:
            return
        if self.variables is not None:
            raise parameters.refuse(self, "a model names its variables; give model or variables, not both")
        if not isinstance(self.model, str | Model | tuple):
            try:
                object.__setattr__(self, "model", tuple(self.model))
            except TypeError:
                raise parameters.refuse(
                    self, f"model must be a formula text, a Model or a list of them; got {self.model!r}"
                ) from None
        as_models(self, self.model)

    def fitted(self, pair: Pair) -> Fitted:
        """Fit the models to both tables."""
        models, names, notes = self._models(pair)
        both = fit_both(models, pair)
        return Fitted(both, (*notes, *told(both, named=not names)), names)

    def fitted_copies(self, original: Half, copies: Sequence[Half]) -> tuple[tuple[Fit, ...], list[tuple[Fit, ...]]]:
        """Fit the models to the original and to each of several protected copies."""
        models, _, _ = self._models(Pair(original, copies[0]))
        before, *after = _fit_halves(models, original, copies)
        return before, after

    def _models(self, pair: Pair) -> tuple[tuple[Model, ...], tuple[str, ...], list[str]]:
        if self.model is not None:
            return as_models(self, self.model), (), []
        shared, notes = self.shared(pair)
        half = pair.original
        names = tuple(
            name for name in shared if "`" not in name and half.keep(("varies", name), partial(_varies, half, name))
        )
        if not names:
            raise NotApplicable(f"none of {', '.join(shared)} varies in the original")
        apart = [name for name in shared if name not in names]
        said = [*notes, *([f"left out, constant in the original: {', '.join(apart)}"] if apart else [])]
        if len(names) == 1:
            return (Model(f"{_quoted(names[0])} ~ 1"),), names, said
        return tuple(Model(f"{_quoted(a)} ~ {_quoted(b)}") for a, b in permutations(names, 2)), names, said


def told(both: tuple[BothFits, ...], *, named: bool) -> list[str]:
    """Say what was left out and how standard errors were had; in one sentence where the models were not named."""
    notes = list(dict.fromkeys(note for fits in both for note in fits.notes)) if named else []
    if not named and any(fits.notes for fits in both):
        notes.append("each regression leaves out the records in which one of its two values is missing")
    if any(fits.original.robust for fits in both):
        notes.append("survey weights: weighted estimates, robust standard errors (n/(n - 1) times HC0) in both tables")
    return notes


def _varies(half: Half, name: str) -> bool:
    """Tell whether a numeric variable has two different values."""
    if half.on_disk:
        found = half.moments((name,))
        return bool(found.low[0] < found.high[0])
    columns = [part.columns[name] for part in half.parts if len(part)]
    low, high = (end.reduce([end.reduce(column) for column in columns]) for end in (np.fmin, np.fmax))
    return bool(low < high)


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"
