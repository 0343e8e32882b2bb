"""Noise with the correlations of the data: added, added and shrunk back, or in place of the data."""

import math
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method, chosen
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import mean_and_spread
from sfumato.methods.microaggregation import ProjectionMicroaggregation
from sfumato.pair import Half, Masking
from sfumato.pair.masking import rounded
from sfumato.pair.statistics import CrossProducts, merged
from sfumato.registry import catalogued
from sfumato.table.draws import Draws
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema
from sfumato.table.treatment import PERTURBED

# Noise with the correlations of a table in parts: covariances of the whole table, draws numbered by record

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
        column = self.names.index(name)
        noise = np.zeros(len(part))
        for other, weight in zip(self.names, self.factor[:, column].tolist(), strict=True):
            noise += weight * draws.normal(other, first, len(part))
        found: Floats = self.shrink * (part.columns[name] + noise) + (1 - self.shrink) * self.means[column]
        return found


def _scaled(covariance: Floats, share: float) -> Floats:
    """Return so many times a covariance matrix; what is beyond the largest number there is, is refused."""
    with np.errstate(over="ignore"):
        scaled: Floats = share * covariance
    if not np.isfinite(scaled).all():
        raise NotApplicable(
            f"noise of {share:g} times the covariances goes beyond the largest number there is; rescale the variables, "
            "or take less"
        )
    return scaled


def _learned(half: Half, names: tuple[str, ...], share: float, shrink: float) -> CorrelatedInParts:
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
    covariance = _scaled(np.vectorize(rounded)(found.products / (found.weight - 1)), share)
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
        column = self.names.index(name)
        found = np.full(len(part), self.means[column])
        for other, weight, mean in zip(self.names, self.factor[:, column], self.drawn_means, strict=True):
            found += weight * (draws.normal(other, first, len(part)) - mean)
        found[np.isnan(part.columns[name])] = np.nan
        return found


def _synthesised(half: Half, names: tuple[str, ...], draws: Draws) -> SyntheticInParts:
    """Learn means and covariances, of the records and of the draws, which are then given those of the records."""
    data = _learned(half, names, 1.0, 1.0)
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


# The method


def _noise_in_words(method: Method, share: float) -> str:
    spread = f"{math.sqrt(share):.2g} standard deviations"
    return f"noise of {spread}, correlated as the data are, is added to {method.subject()}"


COMPLETE = "stays missing; means are those of the values present, covariances those of the complete records"


@catalogued(
    MethodAbout(
        title="Correlated additive noise",
        source="J. J. Kim (1986); Karr, Kohnen, Oganian, Reiter and Sanil (2006), section 3.1.1, Noise(c)",
        missing=COMPLETE,
        random=True,
        grid={"c": (0.02, 0.08, 0.16, 0.3)},
        neutral={"c": 0.0},
        caveat="correlations are kept, but every variance grows by the factor 1 + c",
        formula="X' = X + E,   rows of E ~ N(0, c S), independent\n"
        "S = covariance matrix (n - 1) of the records without missing values",
        reading="``c`` is the share of each variance that is added: 0.02 is light (noise of 0.14 standard "
        "deviations), 0.16 means 0.4, 0.3 means 0.55. Correlations, slopes and R squared stay as they are in "
        "expectation; variances, covariances and residual variances are 1 + c times too large, which an analyst who "
        "is told c can undo.",
        group="Change numbers",
        effect="noisy",
        labels={"c": "Share of each variance that is added (c)"},
    )
)
class CorrelatedNoise(Method):
    """Normal noise with covariance ``c`` times that of the data: X' = X + E, E ~ N(0, c Sigma).

    ``c`` multiplies variances: ``CorrelatedNoise(0.16)`` adds noise with 0.4 standard deviations. Correlations stay as
    they are in expectation. Limits: marginal shapes are blurred, zeros and bounds are not kept, outliers stay out.
    """

    c: float

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.number(self, "c", least=0)

    def learn(self, half: Half, draws: Draws) -> Masking:
        return _learned(half, chosen(self, half.schema), self.c, 1.0)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        values = data.numeric(names)
        noise = coloured(normal_draws(names, len(data), rng), _scaled(complete_covariance(values), self.c))
        return data.replace(_masked(names, values, values + noise))

    def in_words(self, schema: Schema | None = None) -> str:
        return _noise_in_words(self, self.c)


@catalogued(
    MethodAbout(
        title="Kim's noise",
        source="J. J. Kim (1986); Kyu-Seong Kim, Measures of Data Utility for Complex Survey Data, section 3",
        missing=COMPLETE,
        random=True,
        grid={"alpha": (0.1, 0.3, 0.5, 0.7)},
        neutral={"alpha": 0.0},
        caveat="means and covariances are kept in expectation, marginal shapes are pulled towards the normal",
        formula="z_i = c (x_i - e_i) + (1 - c) m,   c = sqrt(1 / (1 + alpha)),   e_i ~ N(0, alpha S)\n"
        "m = means of the values present; S = covariance matrix (n - 1) of the complete records",
        reading="alpha / (1 + alpha) is the share of each masked variance that is noise: 9 % at 0.1, 33 % at 0.5, 41 "
        "% at 0.7; masked and original values are correlated by c, 0.95 at 0.1 and 0.77 at 0.7. Nothing needs to be "
        "corrected in means, variances, covariances or slopes; everything that depends on shape (medians, tails, "
        "zeros) changes.",
        group="Change numbers",
        effect="noisy",
        labels={"alpha": "Amount of noise: of the masked variance alpha / (1 + alpha) is noise (alpha)"},
    )
)
class KimNoise(Method):
    """Correlated noise, then shrunk so that mean and covariance are kept: z = c (x - e) + (1 - c) mean(x).

    The noise e has covariance ``alpha`` times that of the data, and c = sqrt(1 / (1 + alpha)), so that the masked data
    have the mean and covariance of the original in expectation. Limits: only the first two moments are kept; skewed
    variables become more symmetric and may turn negative.
    """

    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.number(self, "alpha", least=0)

    def learn(self, half: Half, draws: Draws) -> Masking:
        return _learned(half, chosen(self, half.schema), self.alpha, float(np.sqrt(1 / (1 + self.alpha))))

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        values = data.numeric(names)
        noise = coloured(normal_draws(names, len(data), rng), _scaled(complete_covariance(values), self.alpha))
        shrink = np.sqrt(1 / (1 + self.alpha))
        masked = shrink * (values - noise) + (1 - shrink) * np.nanmean(values, axis=0)
        return data.replace(_masked(names, values, masked))

    def in_words(self, schema: Schema | None = None) -> str:
        return _noise_in_words(self, self.alpha)


@catalogued(
    MethodAbout(
        title="Normal synthesis",
        source="Karr, Oganian, Reiter and Woo, New Measures of Data Utility, section 1 and Table 1 (Syn)",
        missing=COMPLETE,
        random=True,
        caveat="keeps means and covariances exactly and nothing else: skewness, bounds and curved relations are gone",
        formula="X' = m + Z R^(1/2) D\n"
        "m, D, R = means, standard deviations (diagonal) and correlations of the original\n"
        "Z = draws from N(0, I), then made to have mean exactly 0 and covariance exactly I",
        reading="There is no parameter. With no value missing, every mean, covariance, correlation and linear "
        "regression of the numeric variables is that of the original to the last digit, and nothing else is: use it "
        "to see what a measure that looks at two moments only fails to notice. The variables it does not draw stay "
        "with their records.",
        group="Synthesise",
        effect="made up",
    )
)
class NormalSynthesis(Method):
    """Normal draws with exactly the sample mean and covariance of the original, in place of its values.

    The draws are standardised so that their own sample mean and covariance are exactly those of the original, not only
    in expectation; with missing values that holds for the complete records' covariance, before the cells missing in
    the original are made missing again. Row i of the result has nothing to do with row i of the original. Limits:
    everything beyond the first two moments is that of a normal distribution.
    """

    def learn(self, half: Half, draws: Draws) -> Masking:
        names = chosen(self, half.schema)
        _refuse_few(len(half), names)
        return _synthesised(half, names, draws)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        values = data.numeric(names)
        _refuse_few(len(data), names)
        covariance = complete_covariance(values)
        draws = normal_draws(names, len(data), rng)
        draws -= draws.mean(axis=0)
        white = draws @ np.linalg.inv(root(draws.T @ draws / (len(data) - 1)))
        synthetic = coloured(white, covariance)
        synthetic += np.nanmean(values, axis=0) - synthetic.mean(axis=0)
        return data.replace(_masked(names, values, np.where(np.isnan(values), np.nan, synthetic)))

    def in_words(self, schema: Schema | None = None) -> str:
        return f"{self.subject_is()} replaced by draws from normal distributions"


@catalogued(
    MethodAbout(
        title="Masking followed by residual noise",
        source="Karr, Oganian, Reiter and Woo, New Measures of Data Utility, section 3 (Micz03+Noise); Oganian and "
        "Karr (2006)",
        missing=COMPLETE,
        random=True,
        grid={"of": (ProjectionMicroaggregation(3), ProjectionMicroaggregation(10))},
        caveat="covariances are mended, but the shape of what the first method erased is not",
        formula="X' = M + E,   rows of E ~ N(0, [S_X - S_M]+)\n"
        "M = the table after the method in `of`; S_X, S_M = covariance matrices before and after it\n"
        "[A]+ = D (D^-1 A D^-1 without its negative eigenvalues) D,   D = the original's deviations",
        reading="``of`` is the method that goes first, with its parameters: ProjectionMicroaggregation(3) or (10), "
        "MDAV(5). The more it took away, the more noise is added; a method that adds variance gets none, and the "
        "result is then that method's own. Measure the risk anew: records that were equal after the first method no "
        "longer are.",
        group="Change numbers",
        effect="noisy",
        labels={"of": "The method that goes first, such as MDAV(k=5) (of)"},
    )
)
class ResidualNoise(Method):
    """Another method's table plus normal noise that restores the covariance it took away.

    The noise has the covariance of the original minus that of the masked table (negative directions, where the method
    added variance, count as none), so that the result has the original's covariance in expectation; after
    microaggregation it also parts the records that had become equal. Limits: what is restored is normal, whatever the
    shape of what was lost.
    """

    of: Method

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.of, Method):
            raise parameters.refuse(
                self, f"of must be a method such as ProjectionMicroaggregation(k=3); got {self.of!r}"
            )

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the variables this method masks: those it was told, or those of the method it follows."""
        return super().masked(data) if self.variables is not None else self.of.masked(data)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        table = replace(self.of, variables=names).apply(data, rng)
        before = complete_covariance(data.numeric(names))
        lost = before - complete_covariance(table.numeric(names))
        noise = coloured(normal_draws(names, len(data), rng), lost, np.sqrt(np.diag(before)))
        return table.replace(_masked(names, data.numeric(names), table.numeric(names) + noise))

    def in_words(self, schema: Schema | None = None) -> str:
        return f"{self.of.in_words()}; noise gives back the spread that this took"


def _refuse_few(records: int, names: tuple[str, ...]) -> None:
    if records <= len(names):
        raise NotApplicable(
            f"{records} records cannot have a given covariance in {len(names)} variables; more records than variables "
            "are needed"
        )


def normal_draws(names: tuple[str, ...], n: int, rng: np.random.Generator) -> Floats:
    """Draw independent standard normal columns, each from a stream of its own name."""
    base = int(rng.integers(2**63))
    return np.column_stack([np.random.default_rng([base, crc32(name.encode())]).standard_normal(n) for name in names])


def coloured(draws: Floats, covariance: Floats, scale: Floats | None = None) -> Floats:
    """Give standard normal draws this covariance.

    The root is taken of the correlations, and the scale put back column by column: in the covariances of a turnover and
    a share of it, the share would be lost to rounding.
    """
    scale = np.sqrt(np.diag(covariance)) if scale is None else scale
    unit = np.where(scale > 0, scale, 1.0)
    return np.asarray(draws @ root(covariance / np.outer(unit, unit)) * scale)


def complete_covariance(values: Floats) -> Floats:
    """Return the covariance matrix (n - 1) of the records without missing values."""
    complete = values[~np.isnan(values).any(axis=1)]
    if len(complete) < 2:
        raise NotApplicable(
            "a covariance needs at least two records without missing values; there "
            f"{'is' if len(complete) == 1 else 'are'} {len(complete)}"
        )
    _, spread = mean_and_spread(complete)
    if not np.isfinite(spread).all():
        raise NotApplicable("a variable has values too large for a covariance; rescale it")
    # from the first record on, so that a constant has exactly no variance
    found = np.atleast_2d(np.cov(complete - complete[0], rowvar=False))
    return np.where(np.outer(spread, spread) > 0, found, 0.0)


def _masked(names: tuple[str, ...], before: Floats, after: Floats) -> dict[str, Floats]:
    """Name the masked columns; a constant has nothing to mask and comes back to the last digit."""
    constant = mean_and_spread(before)[1] == 0
    return {name: np.ascontiguousarray((before if constant[j] else after)[:, j]) for j, name in enumerate(names)}
