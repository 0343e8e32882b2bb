"""What is left of models and scales that users name: section 3.6 of the paper.

Coefficients are compared as pairs are, by 1 - |a - b| / max(a, b): adjusted R squared and all standardised betas of a
linear model, Cox and Snell's R squared and all odds or rate ratios of a logistic or Poisson model, Cronbach's alpha and
all alphas without an item of a scale. R squared and alpha are shares of variance already, so they are not squared;
below zero they count as zero. Betas are squared. The quotient of two ratios is the same whichever group comes first,
so they stand as they are. What is left of a model or a scale is the mean over its coefficients.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from sfumato.errors import NotApplicable
from sfumato.table.microdata import Floats, Microdata
from sfumato.table.schema import Schema, a_kind
from sfumato.utility.models.design import Coding, Design, Rows, Usable
from sfumato.utility.models.fitting import Sufficient, filled, gather, maximum_likelihood, triangle
from sfumato.utility.models.formula import Model

Figures = Mapping[str, float]  # coefficients by name; NaN where there is none
RATIOS = ("odds ratio", "rate ratio")
S = TypeVar("S")  # one of the two tables, as the figures are made of it


@dataclass(frozen=True)
class Outcome:
    """A model or scale in both tables; ``after`` is empty where the protected table does not allow it."""

    name: str
    weight: float
    before: Figures
    after: Figures
    note: str = ""

    @property
    def utility(self) -> float:
        """What is left of it, the mean over its coefficients; 0 where the protected table does not allow it at all."""
        return float(np.mean(list(self._left.values()))) if self.after else 0.0

    @cached_property
    def _left(self) -> Figures:
        """What is left of each coefficient that the original has."""
        told = {name: value for name, value in self.before.items() if not np.isnan(value)}
        return {name: _alike(name, value, self.after.get(name, np.nan)) for name, value in told.items()}

    def rows(self) -> list[Mapping[str, Any]]:
        """Lay out its coefficients."""
        return [
            {
                "model": self.name,
                "coefficient": name,
                "before": None if np.isnan(value) else value,
                "after": None if np.isnan(self.after.get(name, np.nan)) else self.after[name],
                "utility": self._left.get(name),
                "note": self.note,
            }
            for name, value in self.before.items()
        ]


def _alike(name: str, a: float, b: float) -> float:
    """Compare one coefficient of both tables; one that the protected table lacks counts 0, and so does a reversed one.

    >>> round(_alike("odds ratio of sex", 0.5, 0.25), 3), _alike("odds ratio of sex", 0.9, 1.1)
    (0.5, 0.0)
    """
    if np.isnan(b):
        return 0.0
    if name.startswith(RATIOS):
        return 0.0 if (a - 1) * (b - 1) < 0 else _ratio(a, b)
    if name.startswith("beta"):
        return 0.0 if a * b < 0 else _ratio(a * a, b * b)
    return _ratio(a, b)


def _ratio(a: float, b: float) -> float:
    a, b = max(a, 0.0), max(b, 0.0)
    return 1.0 if a == b else 1 - abs(a - b) / max(a, b)


def models_compared(
    models: Sequence[Model], tables: tuple[Microdata, Microdata], schema: Schema | None = None
) -> list[Outcome]:
    """Fit models to both tables, in the original's coding; what only the protected table refuses is an outcome.

    ``schema`` is that of the whole original where the tables have some of its variables only.
    """
    usable = Usable(tables[0], "original"), Usable(tables[1], "protected")
    coding, found = Coding(usable[0], schema), []
    for model in models:
        strength = partial(_strength, coding.design(model), original=tables[0].schema)
        found.append(_outcome(model.label, model.weight, strength, usable))
    return found


def _outcome(name: str, weight: float, figures: Callable[[S], Figures], sides: tuple[S, S]) -> Outcome:
    """Compute the coefficients in both tables; what only the protected one refuses is an outcome."""
    before = figures(sides[0])
    try:
        return Outcome(name, weight, before, figures(sides[1]))
    except NotApplicable as refusal:
        return Outcome(name, weight, before, {}, refusal.text)


def _strength(design: Design, usable: Usable, *, original: Schema) -> Figures:
    rows = design.rows(usable, original)
    moments = gather([design], rows)
    return _linear(design, moments, rows) if design.model.family == "linear" else _likelihood(design, moments, rows)


def _linear(design: Design, moments: Sufficient, rows: Rows) -> Figures:
    count, start = len(design.columns), int(design.intercept)
    factor = triangle(moments.factor(design), design, rows)
    coefficients = np.linalg.solve(factor[:count, :count], factor[:count, count])
    place = moments.place
    spread = np.sqrt(np.diag(moments.products))
    rest = float(factor[count, count] ** 2)
    whole = float(np.sum(factor[start:, count] ** 2))  # about the mean where there is a constant, else about zero
    explained = 1 - rest / whole * (rows.count - start) / (rows.count - count)
    found = {"adjusted R squared": explained}
    for column, coefficient in zip(design.columns, coefficients, strict=True):
        if column.parts:
            found[f"beta of {column.name}"] = float(
                coefficient * spread[place[column]] / spread[place[design.response]]
            )
    return found


def _likelihood(design: Design, moments: Sufficient, rows: Rows) -> Figures:
    """Return Cox and Snell's R squared, 1 - (L0 / L)^(2/n), and the odds (or rate) ratios."""
    coefficients = maximum_likelihood(design, moments, robust=False).coefficients
    logistic = design.model.family == "logistic"
    mean = float(moments.means[moments.place[design.response]])
    gain = 0.0
    for block in rows.blocks():
        values = filled(block, (*design.columns, design.response))
        weights = block.weights()
        gains = _gain(values[:, :-1] @ coefficients, values[:, -1], mean, logistic=logistic)
        gain += float(gains.sum() if weights is None else weights @ gains)
    found = {"Cox and Snell's R squared": float(-np.expm1(-2 * gain / rows.count))}
    word = "odds ratio" if logistic else "rate ratio"
    for column, coefficient in zip(design.columns, coefficients, strict=True):
        if column.parts:
            found[f"{word} of {column.name}"] = float(np.exp(min(coefficient, 700.0)))
    return found


def _gain(predictor: Floats, response: Floats, mean: float, *, logistic: bool) -> Floats:
    """Return the log-likelihood of each record above that of the model that knows the mean only."""
    if logistic:
        null = float(np.log(mean / (1 - mean)))
        return np.asarray(response * (predictor - null) - np.logaddexp(0.0, predictor) + float(np.logaddexp(0.0, null)))
    return np.asarray(response * (predictor - np.log(mean)) - np.exp(predictor) + mean)


def scales_compared(scales: Sequence[tuple[str, ...]], tables: tuple[Microdata, Microdata]) -> list[Outcome]:
    """Compare Cronbach's alpha of scales, and alpha without each item."""
    sides = (tables[0], "original"), (tables[1], "protected")
    return [_outcome(f"scale of {', '.join(items)}", 1.0, partial(_alphas, items), sides) for items in scales]


def _alphas(items: tuple[str, ...], side: tuple[Microdata, str]) -> Figures:
    table, label = side
    for name in items:
        if name not in table.schema:
            raise NotApplicable(f"the {label} table has no variable {name!r} for the scale")
        if table.schema[name].kind not in ("numeric", "ordinal"):
            raise NotApplicable(
                f"item {name!r} of a scale is {a_kind(table.schema[name].kind)} in the {label} table; it must be "
                "numeric or ordinal"
            )
    columns = [table.columns[name].astype(np.float64) for name in items]
    for name, column in zip(items, columns, strict=True):
        if table.schema[name].kind == "ordinal":
            column[column < 0] = np.nan  # the place among the categories is the score
    values = np.column_stack(columns)
    weights = table.weights()
    complete = ~np.isnan(values).any(axis=1) & (weights > 0)
    if np.count_nonzero(complete) < 2:
        raise NotApplicable(f"fewer than two records of the {label} table have all items of {', '.join(items)}")
    products = np.cov(values[complete], rowvar=False, aweights=weights[complete])
    found = {"Cronbach's alpha": _alpha(products)}
    if np.isnan(found["Cronbach's alpha"]):
        raise NotApplicable(f"the sum of {', '.join(items)} does not vary in the {label} table")
    if len(items) > 2:
        for place, name in enumerate(items):
            others = np.delete(np.delete(products, place, axis=0), place, axis=1)
            found[f"alpha without {name}"] = _alpha(others)
    return found


def _alpha(products: Floats) -> float:
    """Return k/(k - 1) (1 - sum of the items' variances / variance of their sum)."""
    count, total = len(products), float(products.sum())
    return float("nan") if total <= 0 else count / (count - 1) * (1 - float(np.trace(products)) / total)
