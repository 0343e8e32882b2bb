"""From what is left of each variable, pair and model to one figure, its parts and its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.data.microdata import Floats
from sfumato.measurement import Table
from sfumato.utility.global_utility import bivariate
from sfumato.utility.global_utility.bivariate import Pairs
from sfumato.utility.global_utility.multivariate import Outcome
from sfumato.utility.global_utility.sample_size import RECORDS
from sfumato.utility.global_utility.univariate import VariableUtility


@dataclass(frozen=True, eq=False)
class Score:
    """Everything that was compared, with the weight of the univariate half."""

    variables: Sequence[VariableUtility]
    pairs: Pairs
    outcomes: Sequence[Outcome]
    univariate_weight: float
    importance: Mapping[str, float] = field(default_factory=dict)  # what a variable counts, 1 where nothing is said
    fewer: Floats | None = None  # the utility of each pair with no more than ``RECORDS`` records; None: there are none

    @cached_property
    def alone(self) -> Floats:
        """The utility of each variable by itself; NaN where it cannot be told."""
        return np.array([np.nan if v.utility is None else v.utility for v in self.variables])

    @cached_property
    def together(self) -> Floats:
        """The mean utility of each variable's pairs."""
        return self._of_pairs(self.pairs.means)

    @cached_property
    def alone_by_effect(self) -> Floats:
        """As ``alone``, in the effect-size view."""
        return np.array([np.nan if v.effect is None else v.effect for v in self.variables])

    @cached_property
    def together_by_effect(self) -> Floats:
        """As ``together``, in the effect-size view."""
        return self._of_pairs(self.pairs.effect_means)

    def _of_pairs(self, means: Floats) -> Floats:
        """Take each variable's mean; the pairs of a removed one count 0."""
        if len(self.variables) == 1:
            return np.array([np.nan])  # a variable alone has no pairs, gone or not
        place = {name: i for i, name in enumerate(self.pairs.names)}
        return np.array([0.0 if v.removed else means[place[v.name]] for v in self.variables])

    def value(self) -> float:
        """Return the mean of the two halves, as they are weighed."""
        return self._joined(self.alone, self.together)

    def with_fewer(self) -> float | None:
        """Return the value if no more than ``RECORDS`` records had been tested; None where there are no more."""
        if self.fewer is None:
            return None
        alone = [v.utility_with(RECORDS) for v in self.variables]
        found = np.array([np.nan if utility is None else utility for utility in alone])
        return self._joined(found, self._of_pairs(self.pairs.mean(self.fewer)))

    @property
    def unknown(self) -> bool:
        """Whether of a variable or a pair that the original tells of it is not known how much is left."""
        return bool(self.pairs.unknown.any()) or any(v.unknown for v in self.variables)

    def interval(self) -> tuple[float, float]:
        """Return the least and the greatest value, whatever became of the variables and pairs of which it is not told.

        They count 0, and as much as they can be.
        """
        untold = np.array([v.unknown for v in self.variables])
        most = np.array([v.most for v in self.variables])
        ends = []
        for bound, pairs in ((0.0, self.pairs.least()), (most, self.pairs.most())):
            ends.append(self._joined(np.where(untold, bound, self.alone), self._of_pairs(self.pairs.mean(pairs))))
        return ends[0], ends[1]

    def multivariate(self) -> float:
        """Return the weighted mean over models and scales."""
        return float(np.average([o.utility for o in self.outcomes], weights=[o.weight for o in self.outcomes]))

    def reduction(self) -> float:
        """Return the global reduction coefficient of the variables removed: GRC = n'(n' - 1) / n(n - 1)."""
        kept, every = sum(not v.removed for v in self.variables), len(self.variables)
        return kept * (kept - 1) / (every * (every - 1)) if every > 1 else 1.0

    def parts(self, *, reduction: bool) -> dict[str, float]:
        """Name the parts that can be told."""
        found = {"univariate": self._mean(self.alone), "bivariate": self._mean(self.together)}
        if self.outcomes:
            found["multivariate"] = self.multivariate()
        if reduction:
            found["reduction"] = self.reduction()
        found |= {
            "effect size": self._joined(self.alone_by_effect, self.together_by_effect),
            "effect size, univariate": self._mean(self.alone_by_effect),
            "effect size, bivariate": self._mean(self.together_by_effect),
        }
        return {name: part for name, part in found.items() if not np.isnan(part)}

    def by_variable(self) -> dict[str, float]:
        """Return what is left of each variable, by itself and in its pairs."""
        halves = zip(self.variables, self.alone.tolist(), self.together.tolist(), strict=True)
        own = {variable.name: self._weighed(alone, together) for variable, alone, together in halves}
        return {name: figure for name, figure in own.items() if not np.isnan(figure)}

    def by_pair(self) -> dict[tuple[str, str], float]:
        """Return what is left of each pair that can be compared."""
        return {(r["first"], r["second"]): r["utility"] for r in self._pair_rows if r["utility"] is not None}

    def tables(self) -> Mapping[str, Table]:
        """Lay out every test."""
        means = [None if np.isnan(mean) else float(mean) for mean in self.together]
        tables: dict[str, Table] = {
            "variables": tuple(v.row(mean) for v, mean in zip(self.variables, means, strict=True)),
            "pairs": self._pair_rows,
        }
        if self.outcomes:
            tables["models"] = tuple(row for outcome in self.outcomes for row in outcome.rows())
        return tables

    @cached_property
    def _pair_rows(self) -> tuple[Mapping[str, Any], ...]:
        labels = {v.name: v.label for v in self.variables}
        lost = {v.name for v in self.variables if v.removed}
        gone = [pair for pair in combinations(labels, 2) if lost & set(pair)] if lost else []
        return (*self.pairs.rows(labels), *(bivariate.removed_row(*pair, labels) for pair in gone))

    def _joined(self, alone: Floats, together: Floats) -> float:
        """Take the means of both halves over the variables, and weigh them."""
        return self._weighed(self._mean(alone), self._mean(together))

    def _weighed(self, alone: float, together: float) -> float:
        """Weigh the two halves; where one cannot be told, the other stands alone."""
        halves = [(alone, self.univariate_weight), (together, 1 - self.univariate_weight)]
        told = [(half, weight) for half, weight in halves if not np.isnan(half)]
        if not told:
            return float("nan")
        total = sum(weight for _, weight in told)
        return sum(half * weight for half, weight in told) / total if total > 0 else told[0][0]

    def _mean(self, values: Floats) -> float:
        """Return the mean over the variables that can be told, each counting as much as it is worth."""
        told = ~np.isnan(values)
        if not told.any():
            return float("nan")
        if not self.importance:
            return float(values[told].mean())
        weights = np.array([self.importance.get(v.name, 1.0) for v in self.variables])
        return float(np.average(values[told], weights=weights[told]))
