"""Fitting models to a table, or to both tables in the original's coding."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sfumato.data.microdata import Floats, Microdata
from sfumato.data.schema import Schema
from sfumato.pair import Half, Pair
from sfumato.utility.models import generalised, linear
from sfumato.utility.models.design import Coding, Design
from sfumato.utility.models.model import Family, Model
from sfumato.utility.models.rows import Rows, Usable


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
    before, after = fit_halves(models, pair.original, (pair.protected,))
    return tuple(BothFits(*fits) for fits in zip(before, after, strict=True))


def fit_halves(models: Sequence[Model], original: Half, others: Sequence[Half]) -> list[tuple[Fit, ...]]:
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
        gathered = linear.gather([designs[place] for place in places], rows[places[0]])
        for place in places:
            design = designs[place]
            family = linear if design.model.family == "linear" else generalised
            found = family.estimate(design, gathered, robust=robust[place])
            fits[place] = _dressed(design, rows[place], found, robust=robust[place])
    return tuple(fits[place] for place in range(len(designs)))


def _dressed(design: Design, rows: Rows, found: linear.Estimate, *, robust: bool) -> Fit:
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
