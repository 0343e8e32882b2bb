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
            by_weights = _by_weights(chance, own, units)
            return by_weights if counted else np.where(chance == 1, 1.0, by_weights), None
        if not counted or published != names:  # some follow from other columns, so that there are no classes of them
            return _among_places(chance, len(chance) * float(self.weights.mean()), alone_stay=not counted)
        estimate = self.over(names)
        if estimate.decides == "Benedetti-Franconi":
            return _by_weights(chance, own, units), estimate
        found = np.flatnonzero(chance)
        alike = np.rint(1 / chance[found])
        result = np.zeros(len(chance))
        result[found] = estimate.inverse(alike)
        classes = self.pair.protected.classes(names)
        if classes.cell_of is not None and not self.sampled:  # of a record that is found, the own class
            of_own = classes.cell_of[found]
            result[found] = np.where(classes.counts[of_own] == alike, estimate.chances[of_own], result[found])
        return result, estimate

    def of_households(self, chance: Floats, weights: Floats, names: tuple[str, ...]) -> tuple[Floats, Matches | None]:
        """Return the chances of households found by all their members, each standing for as many as its weight."""
        if not chance.any():
            return chance, None
        published = [name for name in names if name in self.pair.protected.schema]
        alone_stay = not countable(self.pair.protected, published)
        if self.model == "Benedetti-Franconi":
            by_weights = _by_weights(chance, weights, None)
            return np.where(chance == 1, 1.0, by_weights) if alone_stay else by_weights, None
        return _among_places(chance, float(weights.sum()), alone_stay=alone_stay)


def _by_weights(chance: Floats, own: Floats, units: Callable[[], Floats] | None) -> Floats:
    """Return E(1/F | f) of Benedetti and Franconi."""
    found = np.flatnonzero(chance)
    alike = np.rint(1 / chance[found])
    population = alike * own[found] if units is None else units()[found]
    result = np.zeros(len(chance))
    result[found] = expected_inverse(alike, np.maximum(population, alike))
    return result


def _among_places(chance: Floats, population: float, *, alone_stay: bool) -> tuple[Floats, Matches | None]:
    """Return the chances where those that look the same are the classes, whatever the keys are."""
    found = np.flatnonzero(chance)
    alike = np.rint(1 / chance[found])
    sizes, place, number = np.unique(alike, return_inverse=True, return_counts=True)
    population *= len(found) / len(chance)
    if population <= len(found) * (1 + 1e-9):
        return chance, None
    estimate = matches(sizes, number / sizes, population, "Pitman-Yor")
    result = np.zeros(len(chance))
    result[found] = np.where(alike == 1, 1.0, estimate.chances[place]) if alone_stay else estimate.chances[place]
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
