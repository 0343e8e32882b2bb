"""Scores: a weighted sum of measures, printed as the recipe it is.

A score mixes what should be kept apart, risk and loss, with weights that are a judgement; it ranks candidates quickly,
and the frontier shows what it hides.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from sfumato import catalogue
from sfumato.about import Better, MeasureAbout, Purpose, Unit
from sfumato.core import Measure, Seed
from sfumato.errors import ParameterError, refusing
from sfumato.measurement import Measurement
from sfumato.parameters import random_generator

DOMINGO = "Domingo-Ferrer, Mateo-Sanz and Torres, Concepts for the Evaluation of Anonymized Data"


@dataclass(frozen=True, repr=False)
class Recipe:
    """A weighted sum of measures under a name of its own.

    Each term is a measure and its weight. In a score where lower is better, a measure that is better when higher
    takes a negative weight, and the other way round: a term that pulls the wrong way is refused.
    """

    name: str
    terms: tuple[tuple[Measure, float], ...]
    title: str = ""
    better: Better = "lower"
    unit: Unit = "number"
    source: str = field(default="", compare=False)

    @refusing(ParameterError)
    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ParameterError(f"Recipe: name must be text; got {self.name!r}")
        if self.better not in ("lower", "higher"):
            raise ParameterError(f"Recipe: better must be 'lower' or 'higher'; got {self.better!r}")
        try:
            terms = tuple(self.terms.items() if isinstance(self.terms, Mapping) else ((m, w) for m, w in self.terms))
        except (TypeError, ValueError):
            raise ParameterError(
                f"{self.name}: terms must be measures with their weights; got {self.terms!r}"
            ) from None
        if not terms:
            raise ParameterError(f"{self.name}: a recipe needs at least one term, a measure and its weight")
        for measure, weight in terms:
            self._check(measure, weight)
        keys = [repr(measure) for measure, _ in terms]
        if len(set(keys)) < len(keys):
            raise ParameterError(f"{self.name}: a measure stands in the recipe twice: {', '.join(keys)}")
        object.__setattr__(self, "terms", tuple((measure, float(weight)) for measure, weight in terms))

    def _check(self, measure: Any, weight: Any) -> None:
        if not isinstance(measure, Measure):
            raise ParameterError(f"{self.name}: a term must be a measure and its weight; got {measure!r}")
        good = isinstance(weight, Real) and not isinstance(weight, bool) and math.isfinite(weight) and weight != 0
        if not good:
            raise ParameterError(
                f"{self.name}: the weight of {measure!r} must be a number other than 0; got {weight!r}"
            )
        if (weight > 0) != (measure.about.better == self.better):
            raise ParameterError(
                f"{self.name}: {measure!r} is better when {measure.about.better}, so in a score that is better when "
                f"{self.better} its weight must be {'negative' if weight > 0 else 'positive'}; got {weight:g}"
            )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures that the score is made of."""
        return tuple(measure for measure, _ in self.terms)

    @property
    def recipe(self) -> str:
        """The recipe in words and numbers."""
        terms = "".join(
            f" {'-' if weight < 0 else '+'} {abs(weight):g} {repr(measure).removesuffix('()')}"
            for measure, weight in self.terms
        )
        return f"{self.name} = {terms.removeprefix(' + ').strip()}"

    @property
    def about(self) -> MeasureAbout:
        """What is known of the score, from what is known of its terms."""
        abouts = [measure.about for measure in self.measures]
        purposes = {about.purpose for about in abouts}
        purpose: Purpose = "risk" if purposes == {"risk"} else "utility"
        kinds = dict.fromkeys(kind for about in abouts for kind in about.kinds)
        return MeasureAbout(
            title=self.title or (f"{self.name}, a mixture of risk and utility" if len(purposes) > 1 else self.name),
            source=self.source or f"own recipe: {self.recipe}",
            missing="as its terms say",
            kinds=tuple(kinds),
            purpose=purpose,
            better=self.better,
            range=(self._extreme(min), self._extreme(max)),
            unit=self.unit,
            paired=any(about.paired for about in abouts),
            random=any(about.random for about in abouts),
            joint=any(about.joint for about in abouts),
            caveat="a sum of unlike things: its weights are a judgement" if len(purposes) > 1 else "",
        )

    def _extreme(self, which: Any) -> float:
        return float(sum(which(weight * end for end in measure.about.range) for measure, weight in self.terms))

    def of(self, means: Mapping[str, float]) -> Measurement:
        """Compute the score from figures already there, by the keys of their measures."""
        lacking = [repr(measure) for measure in self.measures if repr(measure) not in means]
        if lacking:
            raise ParameterError(
                f"{self.name} needs {', '.join(lacking)}; there are {', '.join(means) or 'no figures'}"
            )
        parts = {repr(measure): weight * float(means[repr(measure)]) for measure, weight in self.terms}
        return Measurement(
            measure=self.name, about=self.about, value=math.fsum(parts.values()), parts=parts, notes=(self.recipe,)
        )

    def evaluate(self, original: Any, protected: Any, *, rng: Seed = None) -> Measurement:
        """Evaluate every term on a protected table and its original, and add them up."""
        generator = random_generator(rng)
        return self.of({repr(m): m.evaluate(original, protected, rng=generator).value for m in self.measures})

    def __str__(self) -> str:
        return self.recipe

    def __repr__(self) -> str:
        return f"Recipe(name={self.name!r}, terms={self.terms!r}, better={self.better!r}, unit={self.unit!r})"


class Score(Recipe):
    """The score of Domingo, section 5: half information loss, a quarter record linkage, a quarter interval disclosure.

    Score = 0.5 IL + 0.125 DLD + 0.125 PLD + 0.25 ID, all in percent; shares are multiplied by 100. The measures
    may be given where they are not the ones with default parameters.
    """

    def __init__(
        self,
        *,
        loss: Measure | None = None,
        distance: Measure | None = None,
        probabilistic: Measure | None = None,
        interval: Measure | None = None,
    ) -> None:
        super().__init__(
            name="Score",
            title="Score, a mixture of information loss and disclosure risk",
            terms=(
                _term(0.5, loss, "InformationLoss"),
                _term(0.125, distance, "DistanceLinkage"),
                _term(0.125, probabilistic, "ProbabilisticLinkage"),
                _term(0.25, interval, "RankInterval"),
            ),
            unit="percent",
            source=f"{DOMINGO}, section 5",
        )


class Score2(Recipe):
    """The score of Domingo, section 6 (Torres): half information loss, a quarter linkage, an eighth each interval.

    Score2 = 0.5 IL + 0.25 DLD + 0.125 ID1 + 0.125 ID2 with the IL of section 6, all in percent.
    """

    def __init__(
        self,
        *,
        loss: Measure | None = None,
        distance: Measure | None = None,
        rank_interval: Measure | None = None,
        spread_interval: Measure | None = None,
    ) -> None:
        super().__init__(
            name="Score2",
            title="Score2, a mixture of information loss and disclosure risk",
            terms=(
                _term(0.5, loss, "InformationLossTorres"),
                _term(0.25, distance, "DistanceLinkage"),
                _term(0.125, rank_interval, "RankInterval"),
                _term(0.125, spread_interval, "SpreadInterval"),
            ),
            unit="percent",
            source=f"{DOMINGO}, section 6",
        )


def _term(weight: float, given: Measure | None, name: str) -> tuple[Measure, float]:
    """Build a term of a score in percent: the weight of a share is a hundredfold."""
    measure = catalogue.measures()[name]() if given is None else given
    return measure, weight * (100 if measure.about.unit == "share" else 1)
