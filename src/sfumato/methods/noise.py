"""Additive noise."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import chosen
from sfumato.display import Phrase
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import mean_and_spread
from sfumato.methods.columns import MISSING_STAYS, ColumnMethod, Floats
from sfumato.pair import Half, Masking
from sfumato.pair.masking import rounded
from sfumato.registry import catalogued
from sfumato.table.draws import Draws
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema
from sfumato.table.treatment import PERTURBED


@dataclass(frozen=True)
class NoiseInParts(Masking):
    """Noise by the standard deviations of the whole table."""

    schema: Schema
    scale: float
    spreads: Mapping[str, float]

    @property
    def changes(self) -> frozenset[str]:
        return frozenset(self.spreads)

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> Floats:
        return _added(part.columns[name], self.scale, self.spreads[name], draws.normal(name, first, len(part)))


@catalogued(
    MethodAbout(
        title="Additive noise",
        source="J. J. Kim (1986); Domingo-Ferrer, Mateo-Sanz and Torres, section 2 (Noise p)",
        missing=MISSING_STAYS,
        random=True,
        grid={"scale": (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)},
        neutral={"scale": 0.0},
        caveat="inflates variances by 1 + scale^2 and weakens correlations; outliers stay recognisable",
        formula="x'_i = x_i + scale * s * e_i,   e_i ~ N(0, 1), independent\n"
        "s = standard deviation (n - 1) of the variable's values present",
        reading="``scale`` is in standard deviations of each variable: 0.05 to 0.1 is light, 0.3 to 0.5 heavy. A "
        "variance grows by the factor 1 + scale^2 (1 % at 0.1, 25 % at 0.5), and a correlation between two masked "
        "variables, like the slope of a simple regression on a masked variable, shrinks by the factor 1 / (1 + "
        "scale^2); an analyst who is told the scale can correct both.",
        group="Change numbers",
        effect="noisy",
        labels={"scale": "Strength, in standard deviations of each variable (scale)"},
    )
)
class Noise(ColumnMethod):
    """Normal noise with standard deviation ``scale`` times that of the variable, each variable by itself.

    ``scale`` multiplies the standard deviation, not the variance: ``Noise(0.1)`` adds 1 % to a variance. A missing
    value stays missing. Limits: covariances are kept but variances grow, so correlations shrink; whole numbers, bounds
    and zeros are not kept (an income of 0 becomes a small number of either sign); an outlier remains an outlier.

    >>> import pyarrow as pa
    >>> Noise(0.1).protect(pa.table({"income": [10.0, 20.0, 30.0]}), rng=1).num_rows
    3
    """

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.number(self, "scale", least=0)

    def learn(self, half: Half, draws: Draws) -> Masking:
        spreads = {}
        for name in chosen(self, half.schema):
            found = half.moments((name,))
            if not found.present[0]:
                raise NotApplicable(f"every value of variable {name!r} is missing")
            spreads[name] = rounded(float(found.spread[0]))
        changed = (half.schema[name].treated(PERTURBED) for name in spreads)
        return NoiseInParts(half.schema.replace(*changed), self.scale, spreads)

    def _column(self, values: Floats, rng: np.random.Generator) -> Floats:
        _, spread = mean_and_spread(values[:, None])
        return _added(values, self.scale, float(spread[0]), rng.standard_normal(values.size))

    def in_words(self, schema: Schema | None = None) -> str:
        return f"noise of {self.scale:g} standard deviations is added to {self.subject()}"

    def short(self) -> Phrase:
        return Phrase("noise", "noise", f"{self.scale:g} sd")


def _added(values: Floats, scale: float, spread: float, draws: Floats) -> Floats:
    """Return values with noise; what would be carried beyond the largest number there is, is refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        noisy: Floats = values + scale * spread * draws
    if not (np.isfinite(noisy) | np.isnan(values)).all():
        raise NotApplicable(
            f"noise of {scale:g} standard deviations of {spread:g} goes beyond the largest number there is; rescale "
            "the variable, or take less"
        )
    return noisy
