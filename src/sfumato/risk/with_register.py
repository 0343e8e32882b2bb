"""An intruder with a register of the population who does not know who took part: chances of 1/f become those of 1/F."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.pair import Keys, Pair, design_weights
from sfumato.pair.keys import countable, repeated_units
from sfumato.risk.log_linear import LogLinearRisk
from sfumato.risk.population import Matches, PopulationModel, matches, matches_of

Floats = NDArray[np.float64]

WHOLE = 1e-9  # 1/c is a number of records if it is as near to one, relatively


@dataclass(frozen=True, eq=False)
class Crowds:
    """The crowds that chances are shared in: of f records a share, else of f + 1, so that c = a/f + (1 - a)/(f + 1).

    A chance that is no reciprocal is that of picks that are not always right. Rounded, one of 0.7 would be that of
    somebody alone, who with continuous keys is found for sure.

    >>> Crowds.of(np.array([1.0, 1 / 3, 0.7])).share.round(3).tolist()  # 0.4 x 1 + 0.6 x 1/2 = 0.7
    [1.0, 1.0, 0.4]
    """

    fewer: Floats
    share: Floats

    @classmethod
    def of(cls, chance: Floats) -> "Crowds":
        """Find the crowds behind chances above 0."""
        inverse = 1 / chance
        whole = np.rint(inverse)
        exact = np.abs(inverse - whole) <= WHOLE * inverse
        fewer = np.where(exact, whole, np.floor(inverse))
        share = (chance - 1 / (fewer + 1)) * fewer * (fewer + 1)
        return cls(fewer, np.where(exact, 1.0, np.clip(share, 0.0, 1.0)))

    def mean(self, of_sizes: Callable[[Floats], Floats]) -> Floats:
        """Return what is said of the sizes, by the shares of both."""
        found = of_sizes(self.fewer)
        between = self.share < 1
        if not between.any():
            return found
        return np.where(between, self.share * found + (1 - self.share) * of_sizes(self.fewer + 1), found)

    def records(self) -> tuple[Floats, Floats]:
        """Return the different sizes, and how many records are in crowds of each."""
        sizes, place = np.unique(np.concatenate([self.fewer, self.fewer + 1]), return_inverse=True)
        number: Floats = np.bincount(place, np.concatenate([self.share, 1 - self.share])).astype(np.float64)
        return sizes[number > 0], number[number > 0]


@dataclass(frozen=True, eq=False)
class WithRegister:
    """The population behind the protected table, and the model by which chances fall when all of it may be meant.

    ``weights`` says how many units each record stands for, in the order of the original records. ``sampled``: chances
    are those of some of the records.
    """

    pair: Pair
    model: PopulationModel
    weights: Floats
    sampled: bool = False

    def over(self, names: tuple[str, ...]) -> Matches:
        """Estimate how the key classes of the protected table continue in the population."""
        found: Matches = self.pair.keep(
            ("in the population", names, self.model, self.sampled), lambda: self._over(names)
        )
        return found

    def _over(self, names: tuple[str, ...]) -> Matches:
        keys = Keys(names, self.pair.protected)
        weights, _ = keys.weights(self.pair)
        assert weights is not None
        outside = LogLinearRisk().expected_outside(self.pair, keys) if self.model == "log-linear" else None
        unit = None if self.sampled else repeated_units(self.pair, names)[0]
        return matches_of(keys.classes, self.model, weights, unit=unit, outside=outside)

    def lowered(
        self, chance: Floats, names: tuple[str, ...], own: Floats, units: Callable[[], Floats] | None = None
    ) -> tuple[Floats, Matches | None]:
        """Return the chances of an attack by these keys among the population, and the estimate they rest on.

        The f records that look the same are a class of the keys if these can be counted; the chance is E(1/F | f). A
        record that is alone with continuous keys has no class to hide in: its chance stays. Those that share the
        nearest place are a class of such places. The model of Benedetti and Franconi takes the ``units`` that the f
        records stand for, or else as many for each as for the ``own``.
        """
        if not chance.any():
            return chance, None
        if not names:
            return chance * (len(self.weights) / float(self.weights.sum())), None
        published = tuple(name for name in names if name in self.pair.protected.schema)
        counted = countable(self.pair.protected, published)
        if self.model == "Benedetti-Franconi":
            return _by_weights(chance, own, units, alone_stay=not counted), None
        if not counted or published != names:  # some follow from other columns, so that there are no classes of them
            return _among_places(chance, len(chance) * float(self.weights.mean()), alone_stay=not counted)
        estimate = self.over(names)
        if estimate.decides == "Benedetti-Franconi":
            return _by_weights(chance, own, units), estimate
        found = np.flatnonzero(chance)
        crowds = Crowds.of(chance[found])
        result = np.zeros(len(chance))
        result[found] = crowds.mean(estimate.inverse)
        classes = self.pair.protected.classes(names)
        if classes.cell_of is not None and not self.sampled:  # of a record that is found, the own class
            of_own = classes.cell_of[found]
            own_class = (classes.counts[of_own] == crowds.fewer) & (crowds.share == 1)
            result[found] = np.where(own_class, estimate.chances[of_own], result[found])
        return result, estimate

    def of_households(self, chance: Floats, weights: Floats, names: tuple[str, ...]) -> tuple[Floats, Matches | None]:
        """Return the chances of households found by all their members, each standing for as many as its weight."""
        if not chance.any():
            return chance, None
        published = [name for name in names if name in self.pair.protected.schema]
        alone_stay = not countable(self.pair.protected, published)
        if self.model == "Benedetti-Franconi":
            return _by_weights(chance, weights, None, alone_stay=alone_stay), None
        return _among_places(chance, float(weights.sum()), alone_stay=alone_stay)


def _by_weights(chance: Floats, own: Floats, units: Callable[[], Floats] | None, *, alone_stay: bool = False) -> Floats:
    """Return E(1/F | f) of Benedetti and Franconi."""
    found = np.flatnonzero(chance)
    known = None if units is None else units()[found]

    def inverse(alike: Floats) -> Floats:
        population = alike * own[found] if known is None else known
        expected = expected_inverse(alike, np.maximum(population, alike))
        return np.where(alike == 1, 1.0, expected) if alone_stay else expected

    result = np.zeros(len(chance))
    result[found] = Crowds.of(chance[found]).mean(inverse)
    return result


def _among_places(chance: Floats, population: float, *, alone_stay: bool) -> tuple[Floats, Matches | None]:
    """Return the chances where those that look the same are the classes, whatever the keys are."""
    found = np.flatnonzero(chance)
    crowds = Crowds.of(chance[found])
    sizes, number = crowds.records()
    population *= len(found) / len(chance)
    if population <= len(found) * (1 + 1e-9):
        return chance, None
    estimate = matches(sizes, number / sizes, population, "Pitman-Yor")

    def expected(alike: Floats) -> Floats:
        place = np.minimum(np.searchsorted(sizes, alike), len(sizes) - 1)  # beyond the last is the other half of nobody
        return np.where(alike == 1, 1.0, estimate.chances[place]) if alone_stay else estimate.chances[place]

    result = np.zeros(len(chance))
    result[found] = crowds.mean(expected)
    return result, estimate


def population_weights(pair: Pair) -> tuple[Floats | None, str]:
    """Return how many units of the population each record stands for, and what to say of it; None: itself alone."""
    try:
        half, notes = design_weights(pair)
    except NotApplicable as refusal:
        return None, f"{refusal}; the file is taken for a census of the population"
    if half is None:
        return None, notes[0]
    said = f"expected chance 1/F among the units of the population that the weights {half.schema.weight!r} stand for"
    weights = half.table.weights() if not half.in_parts else half.column(str(half.schema.weight))
    return weights, "; ".join([said, *notes])
