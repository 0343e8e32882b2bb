"""Three steps with a dial each, and figures that are known functions of the three dials; importable for workers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from compare_toys import count

from sfumato.about import MeasureAbout, MethodAbout
from sfumato.core import Measure, Method
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.table.microdata import Microdata

DATA = Microdata.from_frame(pa.table({name: [0.0, 0.0] for name in ("groups", "k", "p", "chance")}))
SOURCE: dict[str, Any] = {"title": "toy", "source": "none", "missing": "kept"}


def _write(data: Microdata, **values: float) -> Microdata:
    return data.replace({name: np.full(2, float(value)) for name, value in values.items()})


@dataclass(frozen=True, repr=False)
class Coarsen(Method):
    """Write the number of groups."""

    about: ClassVar[MethodAbout] = MethodAbout(**SOURCE, random=False, grid={"groups": (2, 10)})
    groups: int

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        return _write(data, groups=self.groups)


@dataclass(frozen=True, repr=False)
class Blank(Method):
    """Write k."""

    about: ClassVar[MethodAbout] = MethodAbout(**SOURCE, random=False, grid={"k": (2, 8)})
    k: int

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        if self.k > 100:
            raise NotApplicable("too few records")
        return _write(data, k=self.k)


@dataclass(frozen=True, repr=False)
class Swap(Method):
    """Write p and a standard normal draw."""

    about: ClassVar[MethodAbout] = MethodAbout(**SOURCE, random=True, grid={"p": (0.02, 0.3)})
    p: float

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        count("table")
        return _write(data, p=self.p, chance=rng.standard_normal())


@dataclass(frozen=True, repr=False)
class _Figure(Measure):
    noise: float = 0.0

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        _, protected = pair.tables()
        dials = {name: float(protected.columns[name][0]) for name in ("groups", "k", "p")}
        return self.measurement(self.value(**dials) + self.noise * float(protected.columns["chance"][0]))

    @staticmethod
    def value(groups: float, k: float, p: float) -> float:
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Found(_Figure):
    """Records found again: fewer with coarser groups, larger k and more swapping."""

    about: ClassVar[MeasureAbout] = MeasureAbout(**SOURCE, purpose="risk", better="lower", range=(0, 10))

    @staticmethod
    def value(groups: float, k: float, p: float) -> float:
        return float(groups / k * np.exp(-6 * p))


@dataclass(frozen=True, repr=False)
class Near(_Figure):
    """Values near their own: fewer the more is swapped, and a little with k."""

    about: ClassVar[MeasureAbout] = MeasureAbout(**SOURCE, purpose="risk", better="lower", range=(0, 10))

    @staticmethod
    def value(groups: float, k: float, p: float) -> float:
        return float(1 / (1 + 12 * p) + 0.02 * (8 - k))


@dataclass(frozen=True, repr=False)
class Lost(_Figure):
    """What is lost: by each dial, in ways that do not add up."""

    about: ClassVar[MeasureAbout] = MeasureAbout(**SOURCE, purpose="utility", better="lower", range=(0, 10))

    @staticmethod
    def value(groups: float, k: float, p: float) -> float:
        return float((10 - groups) ** 1.5 / 27 + 0.08 * k * np.sqrt(groups) / 3 + 2 * p + 0.5 * p * k / 8)
