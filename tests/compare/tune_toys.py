"""Methods with one dial, and measures that are known functions of it; importable, so that workers find them."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from compare_toys import count

from sfumato.about import MeasureAbout, MethodAbout
from sfumato.core import Measure, Method
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.table.microdata import Microdata

DATA = Microdata.from_frame(pa.table({"x": [0.0, 0.0], "chance": [0.0, 0.0]}))
SOURCE: dict[str, Any] = {"title": "toy", "source": "none", "missing": "kept"}


def _set(data: Microdata, dial: float, chance: float) -> Microdata:
    count("table")
    return data.replace({"x": np.full(2, dial), "chance": np.full(2, chance)})


@dataclass(frozen=True, repr=False)
class Dial(Method):
    """Write the dial into the table, and a standard normal draw: the same at every value, or another at each."""

    about: ClassVar[MethodAbout] = MethodAbout(**SOURCE, random=True, grid={"to": (0.5, 4.0)})
    to: float
    shared: bool = True

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        if self.to > 1000:
            raise NotApplicable("Dial: it turns to 1000 and no further")
        stream = rng if self.shared else np.random.default_rng([int(rng.integers(2**31)), int(self.to * 1e6)])
        return _set(data, self.to, float(stream.standard_normal()))


@dataclass(frozen=True, repr=False)
class Knob(Method):
    """Write a whole number into the table; nothing is random."""

    about: ClassVar[MethodAbout] = MethodAbout(**SOURCE, random=False, grid={"at": (1, 40)})
    at: int = 1

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        return _set(data, self.at, 0.0)


@dataclass(frozen=True, repr=False)
class Level(Measure):
    """A known function of the dial, plus ``noise`` times the draw."""

    about: ClassVar[MeasureAbout] = MeasureAbout(**SOURCE, purpose="risk", better="lower", range=(-np.inf, np.inf))
    shape: Literal["falling", "rising", "valley", "hill", "wave", "flat"] = "falling"
    noise: float = 0.0

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        x = float(pair.protected.column("x")[0])
        value = {
            "falling": np.exp(-x),
            "rising": x,
            "valley": (x - 2) ** 2,
            "hill": -((x - 2) ** 2),
            "wave": np.exp(-x) + 0.3 * np.sin(4 * x),
            "flat": 1.0,
        }[self.shape]
        return self.measurement(float(value + self.noise * pair.protected.column("chance")[0]))


@dataclass(frozen=True, repr=False)
class Gain(Level):
    """The same as a utility that is better when higher."""

    about: ClassVar[MeasureAbout] = MeasureAbout(**SOURCE, purpose="utility", better="higher", range=(-np.inf, np.inf))


@dataclass(frozen=True, repr=False)
class Harm(Level):
    """The same as a utility that is better when lower."""

    about: ClassVar[MeasureAbout] = MeasureAbout(**SOURCE, purpose="utility", better="lower", range=(-np.inf, np.inf))
