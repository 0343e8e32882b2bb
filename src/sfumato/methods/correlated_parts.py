"""Noise with the correlations of a table in parts: covariances of the whole table, draws numbered by record."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.draws import Draws
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Schema
from sfumato.data.treatment import PERTURBED
from sfumato.errors import NotApplicable
from sfumato.pair import Half, Masking
from sfumato.pair.masking import rounded
from sfumato.pair.statistics import CrossProducts, merged

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CorrelatedInParts(Masking):
    """x' = shrink (x + e) + (1 - shrink) mean, where e are draws of N(0, I) times ``factor``."""

    schema: Schema
    names: tuple[str, ...]
    factor: Floats  # one row and one column for each of the names
    means: Floats
    shrink: float

    @property
    def changes(self) -> frozenset[str]:
        """The variables that get noise; a constant has nothing to mask."""
        return frozenset(name for name, column in zip(self.names, self.factor.T, strict=True) if column.any())

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> Floats:
        """Add noise to a variable of a part."""
        column = self.names.index(name)
        noise = np.zeros(len(part))
        for other, weight in zip(self.names, self.factor[:, column].tolist(), strict=True):
            noise += weight * draws.normal(other, first, len(part))
        found: Floats = self.shrink * (part.columns[name] + noise) + (1 - self.shrink) * self.means[column]
        return found


def scaled(covariance: Floats, share: float) -> Floats:
    """Return so many times a covariance matrix; what is beyond the largest number there is, is refused."""
    with np.errstate(over="ignore"):
        found: Floats = share * covariance
    if not np.isfinite(found).all():
        raise NotApplicable(
            f"noise of {share:g} times the covariances goes beyond the largest number there is; rescale the variables, "
            "or take less"
        )
    return found


def learned(half: Half, names: tuple[str, ...], share: float, shrink: float) -> CorrelatedInParts:
    """Learn means and covariances; the noise has ``share`` times the covariances of the complete records."""
    moments = half.moments(names)
    if not np.isfinite(moments.spread).all():
        raise NotApplicable("a variable has values too large for a covariance; rescale it")
    empty = [name for name, there in zip(names, moments.present, strict=True) if not there]
    found = None if empty else half.total(lambda part: _complete(part, names))
    if found is None or found.weight < 2:
        number = 0 if found is None else int(found.weight)
        raise NotApplicable(
            f"a covariance needs at least two records without missing values; there {'is' if number == 1 else 'are'} "
            f"{number}"
        )
    covariance = scaled(np.vectorize(rounded)(found.products / (found.weight - 1)), share)
    covariance = np.where(np.outer(moments.spread, moments.spread) > 0, covariance, 0.0)
    scale = np.sqrt(np.diag(covariance))
    unit = np.where(scale > 0, scale, 1.0)
    factor = root(covariance / np.outer(unit, unit)) * scale
    means = np.vectorize(rounded)(moments.mean)
    changed = (half.schema[name].treated(PERTURBED) for name in names)
    return CorrelatedInParts(half.schema.replace(*changed), names, factor, means, shrink)


@dataclass(frozen=True, eq=False)
class SyntheticInParts(Masking):
    """x' = mean + (z - means of all z) ``factor``, where z are draws of N(0, I); missing values stay missing."""

    schema: Schema
    names: tuple[str, ...]
    factor: Floats  # one row and one column for each of the names
    means: Floats
    drawn_means: Floats
    constant: frozenset[str]

    @property
    def changes(self) -> frozenset[str]:
        """The variables that are drawn; a constant stays as it is."""
        return frozenset(self.names) - self.constant

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> Floats:
        """Draw a variable of a part anew."""
        column = self.names.index(name)
        found = np.full(len(part), self.means[column])
        for other, weight, mean in zip(self.names, self.factor[:, column], self.drawn_means, strict=True):
            found += weight * (draws.normal(other, first, len(part)) - mean)
        found[np.isnan(part.columns[name])] = np.nan
        return found


def synthesised(half: Half, names: tuple[str, ...], draws: Draws) -> SyntheticInParts:
    """Learn means and covariances, of the records and of the draws, which are then given those of the records."""
    data = learned(half, names, 1.0, 1.0)
    of_draws = merged(half.numbered(lambda part, first: CrossProducts.of(_drawn(names, first, len(part), draws))))
    covariance = np.vectorize(rounded)(of_draws.products / (of_draws.weight - 1))
    factor = np.linalg.inv(root(covariance)) @ data.factor
    return SyntheticInParts(
        data.schema,
        names,
        factor,
        data.means,
        np.vectorize(rounded)(of_draws.means),
        frozenset(names) - data.changes,
    )


def _drawn(names: tuple[str, ...], first: int, count: int, draws: Draws) -> Floats:
    return np.column_stack([draws.normal(name, first, count) for name in names])


def root(matrix: Floats) -> Floats:
    """Return the symmetric square root, the same in any order of the variables; negative parts count as zero."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _complete(part: Microdata, names: tuple[str, ...]) -> CrossProducts | None:
    values = part.numeric(names)
    values = values[~np.isnan(values).any(axis=1)]
    return CrossProducts.of(values) if len(values) else None
