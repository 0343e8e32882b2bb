"""Logistic models of two tables in parts: what is learned of the variables first, then sums over the parts.

Each of Newton's steps is one pass over the records of both tables. No more than a block of them is held as terms.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import fsum

import numpy as np

from sfumato.core import Measure
from sfumato.data.microdata import Microdata
from sfumato.engine import current
from sfumato.kernels.newton import State
from sfumato.pair import Half, Pair
from sfumato.pair.sorting import Runs
from sfumato.pair.statistics import Sums
from sfumato.utility.one_distribution import functions
from sfumato.utility.propensity import logistic, scores
from sfumato.utility.propensity.learning import File, learned
from sfumato.utility.propensity.pooled import Floats, of_one_kind
from sfumato.utility.propensity.terms import Column, Degree, Design, arranged


@dataclass(frozen=True, eq=False)
class BothFiles:
    """The original and the protected table in parts, as a logistic model needs them."""

    halves: tuple[Half, Half]
    files: tuple[File, File]
    columns: tuple[Column, ...]  # what is known of them; their values are made when a part is looked at
    names: tuple[str, ...]
    notes: tuple[str, ...]
    constant: list[str]
    dead: int  # records of weight zero
    sizes: scores.Sizes

    @classmethod
    def of(cls, measure: Measure, pair: Pair) -> "BothFiles":
        """Look through both tables twice: for what occurs, then for means and spreads."""
        names, notes = of_one_kind(pair, *measure.shared(pair))
        halves = pair.original, pair.protected
        found = learned(halves, names)
        return cls(halves, found.files, found.columns, names, notes, found.constant, found.dead, found.sizes)

    @property
    def share(self) -> float:
        """The share c of protected records."""
        return self.sizes.share

    @property
    def weight(self) -> float:
        """What all records weigh together."""
        return float(self.sizes.size)

    def design(self, degree: Degree) -> Design:
        """Build the model, without records."""
        return arranged(self.columns, degree, 0)

    def state(self, model: Design, coefficients: Floats) -> State:
        """Return deviance, gradient and Hessian."""
        found = self._total(partial(_state, model, coefficients))
        return State(float(found["deviance"]), found["gradient"], found["hessian"])

    def deviance(self, model: Design, coefficients: Floats) -> float:
        """Return the deviance alone."""
        return float(self._total(partial(_deviance, model, coefficients))["deviance"])

    def _total(self, of: "partial[Sums]") -> Sums:
        before, after = (half.total(partial(of, file)) for half, file in zip(self.halves, self.files, strict=True))
        return before.merge(after)

    def figures(self, found: logistic.Estimate) -> tuple[scores.Figures, int]:
        """Return what the propensities of all records say, and how many of them are as good as 0 or 1.

        The propensities are sorted on disk, because their K-S distance needs them in order.
        """
        squares: list[float] = []
        weight, right, separated = [0.0, 0.0], [0.0, 0.0], 0
        runs = Runs(self.halves[0].room, "propensities in order", self.sizes.size, np.float64)
        for side, (half, file) in enumerate(zip(self.halves, self.files, strict=True)):
            engine, parts = current(len(half)), [(part,) for part in half.parts if len(part)]
            told = partial(_propensities, found.model, found.coefficients, file)
            # what comes back is as long as the part: it is not kept with the summaries
            several = engine.each(told, parts, stored=False) if half.on_disk else (told(*part) for part in parts)
            for propensities, weights in several:
                squares.append(float(weights @ (propensities - self.share) ** 2))
                right[side] += scores.told_right(propensities, weights, protected=bool(side))
                weight[side] += float(weights.sum())
                separated += logistic.surely_told(propensities)
                runs.add(np.round(propensities, scores.EQUAL), -weights if side else weights)
        specks = max(
            float(np.abs(ours / weight[0] - theirs / weight[1]).max()) for _, _, ours, theirs in functions(runs)
        )
        runs.close()
        over_fifty = scores.over_fifty_of(self.share, right[0] / weight[0], right[1] / weight[1])
        return scores.Figures(self.sizes.size, fsum(squares) / fsum(weight), specks, over_fifty), separated


def _designs(model: Design, file: File, part: Microdata) -> Iterator[tuple[Design, Floats, Floats]]:
    """Yield the design over stretches of a part, with response and weights."""
    for sources, weights in file.stretches(part):
        yield model.on(sources, len(weights)), np.full(len(weights), float(file.protected)), weights


def _state(model: Design, coefficients: Floats, file: File, part: Microdata) -> Sums:
    terms = len(model)
    total = Sums({"deviance": 0.0, "gradient": np.zeros(terms), "hessian": np.zeros((terms, terms))})
    for stretch, response, weights in _designs(model, file, part):
        at = logistic.state(stretch, coefficients, response, weights)
        total = total.merge(Sums({"deviance": at.objective, "gradient": at.gradient, "hessian": at.hessian}))
    return total


def _deviance(model: Design, coefficients: Floats, file: File, part: Microdata) -> Sums:
    found = (logistic.deviance(one, coefficients, *rest) for one, *rest in _designs(model, file, part))
    return Sums({"deviance": sum(found, start=0.0)})


def _propensities(model: Design, coefficients: Floats, file: File, part: Microdata) -> tuple[Floats, Floats]:
    found = [
        (logistic.propensities(stretch, coefficients), weights) for stretch, _, weights in _designs(model, file, part)
    ]
    propensities, weights = (np.concatenate(side) for side in zip(*found, strict=True)) if found else ((), ())
    return np.asarray(propensities, dtype=np.float64), np.asarray(weights, dtype=np.float64)
