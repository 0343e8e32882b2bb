"""Small methods and measures whose figures are known by hand; importable, so that worker processes find them."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.about import MeasureAbout, MethodAbout
from sfumato.core import Measure, Method
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.table.microdata import Microdata


def _method(*, random: bool) -> MethodAbout:
    return MethodAbout(title="toy", source="none", missing="kept", random=random)


def _measure(title: str, **known: object) -> MeasureAbout:
    given = {"purpose": "utility", "better": "lower", "range": (0.0, float("inf"))} | known
    return MeasureAbout(title=title, source="none", missing="ignored", **given)  # type: ignore[arg-type]


@dataclass(frozen=True, repr=False)
class Shift(Method):
    """Add a constant."""

    about: ClassVar[MethodAbout] = _method(random=False)
    by: float = 1.0

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        count("Shift")
        return data.replace({"x": data.columns["x"] + self.by}, note="shifted x")


@dataclass(frozen=True, repr=False)
class Jitter(Method):
    """Add one normal draw to every value; the draw is the same for every scale."""

    about: ClassVar[MethodAbout] = _method(random=True)
    scale: float = 1.0

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        count("Jitter")
        return data.replace({"x": data.columns["x"] + self.scale * rng.standard_normal()})


@dataclass(frozen=True, repr=False)
class Slow(Method):
    """Take some time."""

    about: ClassVar[MethodAbout] = _method(random=False)
    number: int = 0

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        count(f"Slow {self.number}")
        time.sleep(float(os.environ.get("TOY_SECONDS", "0.15")))
        return data.replace({"x": data.columns["x"] + self.number})


@dataclass(frozen=True, repr=False)
class Broken(Method):
    """Fail, unless the environment says that all is well again."""

    about: ClassVar[MethodAbout] = _method(random=False)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        if "TOY_MENDED" not in os.environ:
            raise ZeroDivisionError("no luck")
        return data


@dataclass(frozen=True, repr=False)
class Unfit(Method):
    """Never fit the table."""

    about: ClassVar[MethodAbout] = _method(random=False)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        count("Unfit")
        raise NotApplicable("Unfit: the table has no moustache")


@dataclass(frozen=True, repr=False)
class Deadly(Method):
    """End the process it runs in."""

    about: ClassVar[MethodAbout] = _method(random=False)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        os._exit(7)


@dataclass(frozen=True, repr=False)
class Loss(Measure):
    """The mean absolute change of x."""

    about: ClassVar[MeasureAbout] = _measure("mean change")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        original, protected = pair.tables()
        count("Loss")
        change = np.abs(protected.columns["x"] - original.columns["x"])
        value = float(change.mean())
        return self.measurement(
            value,
            by_variable={"x": value},
            parts={"half": value / 2},
            by_pair={("x", "x"): value},
            by_record=change,
            notes=("measured x",),
        )


@dataclass(frozen=True, repr=False)
class Closeness(Measure):
    """A share that falls with the change: 1 / (1 + change)."""

    about: ClassVar[MeasureAbout] = _measure("closeness", purpose="risk", range=(0.0, 1.0), unit="share")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        original, protected = pair.tables()
        count("Closeness")
        change = float(np.abs(protected.columns["x"] - original.columns["x"]).mean())
        return self.measurement(1 / (1 + change))


@dataclass(frozen=True, repr=False)
class Guess(Measure):
    """An attack that is all luck: one uniform draw."""

    about: ClassVar[MeasureAbout] = _measure("guess", purpose="risk", range=(0.0, 1.0), unit="share", random=True)
    known: int = 1

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        count("Guess")
        return self.measurement(rng.random())


@dataclass(frozen=True, repr=False)
class Rows(Measure):
    """The number of records, which need not match."""

    about: ClassVar[MeasureAbout] = _measure("records", better="higher", paired=False)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        return self.measurement(len(pair.protected))


@dataclass(frozen=True, repr=False)
class NotANumber(Measure):
    """A measure that goes wrong without saying so."""

    about: ClassVar[MeasureAbout] = _measure("nothing")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        return self.measurement(float("nan"))


def count(what: str) -> None:
    """Write down that something was computed, where the environment says so: one line each, from any process."""
    if "TOY_COUNTS" in os.environ:
        with Path(os.environ["TOY_COUNTS"]).open("a") as file:
            file.write(f"{what}\n")
