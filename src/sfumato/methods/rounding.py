"""Rounding of numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method, chosen
from sfumato.display import Phrase
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import mean_and_spread
from sfumato.methods.selection import checked
from sfumato.pair import Half, Masking
from sfumato.pair.masking import rounded as rounded_off
from sfumato.pair.statistics import Sums
from sfumato.registry import catalogued
from sfumato.table.bands import is_whole, round_below, shown
from sfumato.table.draws import Draws
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, a_kind
from sfumato.table.treatment import Treatment

Floats = NDArray[np.float64]
TOLERANCE = 1e-9  # closer than this to a multiple, in bases, is that multiple: 0.3 is three times 0.1


@catalogued(
    MethodAbout(
        title="Rounding",
        source="Hundepool et al. (2012), Statistical Disclosure Control, chapter 3 (rounding)",
        missing="stays missing",
        random=False,
        households="whole",
        grid={"scale": (0.1, 0.2, 0.5, 1.0)},
        caveat="totals of rounded parts no longer add up; an outlier stays an outlier, and a known value leads to its "
        "multiple of the base",
        formula="x' = b rint(x / b),   halves to the even multiple\n"
        "random:  x' = b (floor(x / b) + 1) with probability x / b - floor(x / b), else b floor(x / b)\n"
        "scale:   b = the largest of ..., 1, 2, 5, 10, 20, ... up to scale times the standard deviation;\n"
        "         a constant, or whole numbers with b <= 1, stay as they are",
        reading="An error is at most b / 2 (random: below b). A base of 0.1 standard deviations (``scale=0.1``) "
        "changes hardly any analysis and little of the risk; 0.5 to 1 makes classes. Values that many people report "
        "round anyway are not changed at all.",
        group="Coarsen",
        labels={
            "base": "Multiples of (base)",
            "scale": "Multiples of this many standard deviations (scale)",
            "random": "Up or down by chance (random)",
        },
    )
)
class Rounding(Method):
    """Each number replaced by a multiple of a base: the nearest one, or by chance one of the two around it.

    ``base`` is one number for all variables or one for each, ``{"income": 100, "age": 5}``. Instead, ``scale`` takes
    for every variable the largest of 1, 2, 5, 10, 20, 50 and so on, up and down, that is not above so many of its
    standard deviations; a constant is then left alone. Halves go to the even multiple, so that they do not drift
    upwards. With ``random=True`` a value between two multiples becomes the upper one with probability (value - lower) /
    base: the expectation is the value itself, so means and totals are unbiased, and no value moves by a whole base. A
    multiple of the base stays as it is either way. Limits: a sum of rounded parts is not the rounded sum.

    >>> import pyarrow as pa
    >>> Rounding(10).protect(pa.table({"income": [12, 25, 38, 40]}))["income"].to_pylist()
    [10, 20, 40, 40]
    """

    base: float | Mapping[str, float] | None = None
    scale: float | None = field(default=None, kw_only=True)
    random: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.base is None) == (self.scale is None):
            raise parameters.refuse(self, "give a base, such as 10 or {'income': 100}, or a scale, such as 0.5")
        if self.scale is not None:
            parameters.number(self, "scale", above=0)
        elif isinstance(self.base, Mapping):
            parameters.by_variable(self, "base", "{'income': 100}")
            if self.variables is not None:
                raise parameters.refuse(self, "variables goes with one base for all; a dict names its own")
            for name, base in self.base.items():
                if not isinstance(base, int | float) or isinstance(base, bool) or not 0 < base < float("inf"):
                    raise parameters.refuse(self, f"base of {name!r} must be a number above 0; got {base!r}")
        else:
            parameters.number(self, "base", above=0)
        if not isinstance(self.random, bool):
            raise parameters.refuse(self, f"random must be True or False; got {self.random!r}")
        if self.random:  # what is known of the class holds for the nearest multiple
            about = replace(self.about, title="Random rounding", random=True, households="apart")
            object.__setattr__(self, "about", about)

    def only(self, names: tuple[str, ...], data: Microdata) -> Method:
        if not isinstance(self.base, Mapping):
            return super().only(names, data)
        return replace(self, base={name: base for name, base in self.base.items() if name in names})

    def masked(self, data: Microdata) -> tuple[str, ...]:
        if not isinstance(self.base, Mapping):
            return chosen(self, data.schema)
        checked(data, self.base)
        for name in self.base:
            if data.schema[name].kind != "numeric":
                raise NotApplicable(f"variable {name!r} is {a_kind(data.schema[name].kind)}; it must be numeric")
        return tuple(name for name in data.names if name in self.base)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        root = int(rng.integers(2**63))
        notes = []
        for name in self.masked(data):
            column = data.columns[name]
            base = self._base(name, column)
            if base is None:
                continue
            # a stream per variable name: neither the order of the columns nor a further column changes the draws
            stream = np.random.default_rng([root, crc32(name.encode())])
            draws = stream.random(len(column)) if self.random else None
            treatment = Treatment(base=base, perturbed=self.random)
            data = data.replace({name: rounded(column, base, draws)}, treatment=treatment)
            notes.append(f"{name} to {shown(base)}")
        return replace(data, notes=(*data.notes, f"{type(self).__name__}: {', '.join(notes) or 'nothing to round'}"))

    def learn(self, half: Half, draws: Draws) -> Masking:
        bases = {name: self._learned_base(name, half) for name in self.masked(half.parts[0])}
        used = {name: base for name, base in bases.items() if base is not None}
        changed = (half.schema[n].treated(Treatment(base=b, perturbed=self.random)) for n, b in used.items())
        return RoundingInParts(half.schema.replace(*changed), used, self.random)

    def _learned_base(self, name: str, half: Half) -> float | None:
        if self.scale is None:
            return self._base(name, np.zeros(0))
        spread = rounded_off(float(half.moments((name,)).spread[0]))
        if not np.isfinite(spread):
            raise NotApplicable(f"the values of {name!r} are too large for a standard deviation")
        base = self._round(name, spread)
        if base is None or base > 1:
            return base
        odd = half.total(lambda part: Sums({"odd": _fractions(part.columns[name])}))["odd"]
        return base if odd else None

    def _round(self, name: str, spread: float) -> float | None:
        """Return a round base for a variable of this standard deviation; None for a constant."""
        wanted = float(self.scale or 0) * spread
        if not np.isfinite(wanted):
            raise NotApplicable(f"a base of {self.scale:g} standard deviations of {name!r} is larger than any number")
        return round_below(wanted) if wanted > 0 else None

    def _base(self, name: str, column: Floats) -> float | None:
        if self.scale is None:
            return float(self.base[name] if isinstance(self.base, Mapping) else self.base or 0)
        spread = float(mean_and_spread(column[:, None])[1][0])
        if not np.isfinite(spread):
            raise NotApplicable(f"the values of {name!r} are too large for a standard deviation")
        base = self._round(name, spread)
        return None if base is not None and base <= 1 and is_whole(column[~np.isnan(column)]) else base

    def in_words(self, schema: Schema | None = None) -> str:
        how = " by chance up or down" if self.random else ""
        if isinstance(self.base, Mapping):
            return f"{self.subject_is(self.base)} rounded{how}"
        grid = (
            f"multiples of {self.base:g}" if self.base is not None else f"steps of {self.scale:g} standard deviations"
        )
        return f"{self.subject_is()} rounded{how} to {grid}"

    def short(self) -> Phrase:
        words = "random round" if self.random else "round"
        if isinstance(self.base, Mapping):
            return Phrase(words, "round")
        return Phrase(words, "round", f"{self.base:g}" if self.base is not None else f"{self.scale:g} sd")


@dataclass(frozen=True)
class RoundingInParts(Masking):
    """The base of each variable."""

    schema: Schema
    bases: Mapping[str, float]
    random: bool

    @property
    def changes(self) -> frozenset[str]:
        return frozenset(self.bases)

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> Floats:
        by_chance = draws.uniform(name, first, len(part)) if self.random else None
        return rounded(part.columns[name], self.bases[name], by_chance)


def _fractions(column: Floats) -> int:
    """Count the numbers that are not whole."""
    return 0 if is_whole(column[~np.isnan(column)]) else 1


def rounded(values: Floats, base: float, draws: Floats | None = None) -> Floats:
    """Round to the nearest multiple, or up where a draw is below the share of the base that a value is above the lower.

    >>> rounded(np.array([0.26, 0.3]), 0.1)
    array([0.3, 0.3])
    >>> rounded(np.array([12.0, 12.0]), 10, np.array([0.1, 0.9]))
    array([20., 10.])
    """
    multiples = values / base
    nearest = np.rint(multiples)
    if draws is not None:
        lower = np.floor(multiples)
        by_chance = lower + (draws < multiples - lower)
        nearest = np.where(np.abs(multiples - nearest) < TOLERANCE, nearest, by_chance)
    # back in decimals, so that three times 0.1 is 0.3 and not 0.30000000000000004
    exponent = Decimal(repr(float(base))).normalize().as_tuple().exponent
    decimals = max(-int(exponent), 0)
    product = nearest * base
    return np.round(product, decimals) if decimals <= 15 else product
