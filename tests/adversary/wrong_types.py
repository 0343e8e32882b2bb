"""Wrong types through the whole catalogue: a result that is one, or a refusal in Sfumato's words."""

import math
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from adversary.attack import CALLS, Finding, Kind, Rng, one_of, only, several
from adversary.odd_values import odd, shown, table
from sfumato import Measure, Measurement, Method, Microdata, SfumatoError, catalogue

BATCH = 30  # classes that are made and used on one pair of tables
METHODS = [*catalogue.methods().values()]
MEASURES = [*catalogue.measures().values()]
# text that is measured in the whole catalogue with what fits, so that what is made can be used
FITS = ["pay", "size", "age", "town", "sex", "born", "w", "home"]


def strike(rng: Rng, _: Path) -> Counter[str]:
    """Make methods and measures with odd parameters and use those that are made."""
    original = table(rng)
    done: Counter[str] = Counter()
    if original is None:
        return done
    tables = [original]
    for _number in range(BATCH):
        cls: Any = one_of(rng, METHODS + MEASURES)
        made = make(rng, cls, done)
        if made is None:
            continue
        if isinstance(made, Method):
            protected = masked(rng, made, original, done)
            if protected is not None and protected is not original:
                tables.append(protected)
        else:
            measured(rng, made, original, one_of(rng, tables), done)
    return done


def make(rng: Rng, cls: Any, done: Counter[str]) -> Any:
    """Make an instance with some odd parameters; None if that is refused."""
    known = [entry.name for entry in fields(cls) if entry.init]
    base = one_of(rng, catalogue.default_grid(cls)) if issubclass(cls, Method) else None
    given: dict[str, Any] = {} if base is None else {name: getattr(base, name) for name in known}
    for name in several(rng, known, 2):
        given[name] = odd(rng)
    if "variables" in known and rng.random() < 0.3:
        given["variables"] = tuple(several(rng, FITS, 3)) or None
    doing = f"{cls.__name__}({', '.join(f'{name}={shown(value)}' for name, value in given.items())})"
    done[CALLS] += 1
    made = None
    with only(SfumatoError, doing=doing):
        made = cls(**given)
        hash(made)
        repr(made)
    return made


def masked(rng: Rng, method: Method, data: Microdata, done: Counter[str]) -> Microdata | None:
    """Protect a table; what comes back has the same variables and numbers that are finite."""
    doing = f"{shown(method)}.protect of {_told(data)}"
    done[CALLS] += 1
    protected = None
    with only(SfumatoError, doing=doing) as refused:
        protected = method.protect(data, rng=int(rng.integers(2**31)))
    if refused or protected is None:
        return None
    if not isinstance(protected, Microdata):
        raise Finding(f"{doing}: gave {type(protected).__name__}")
    strange = set(protected.names) - set(data.names) - {"weight"}  # which a sample is given
    if strange:
        raise Finding(f"{doing}: made up the variables {strange}")
    for name in protected.schema.analysed("numeric"):
        if np.isinf(protected.columns[name]).any():
            raise Finding(f"{doing}: {name!r} has infinite values")
    return protected


def measured(rng: Rng, measure: Measure, data: Microdata, protected: Microdata, done: Counter[str]) -> None:
    """Evaluate a measure; its figure is in its range, or a note says why there is none."""
    doing = f"{shown(measure)}.evaluate of {_told(data)} and {_told(protected)}"
    done[CALLS] += 1
    with only(SfumatoError, doing=doing):
        found = measure.evaluate(data, protected, rng=int(rng.integers(2**31)))
        figure(measure, found, doing)
        repr(found)
        found._repr_html_()


def figure(measure: Measure, found: Measurement, doing: str) -> None:
    """Require a figure in its range, or a note."""
    low, high = measure.about.range
    if math.isnan(found.value):
        if not found.notes:
            raise Finding(f"{doing}: nan without a note")
    elif not math.isfinite(found.value):
        raise Finding(f"{doing}: {found.value}")
    elif not low - 1e-9 <= found.value <= high + 1e-9:
        raise Finding(f"{doing}: {found.value} is outside [{low}, {high}]")


def _told(data: Microdata) -> str:
    return f"{len(data)} records of {', '.join(data.names)}"


KIND = Kind("wrong-types", strike, share=6.0, in_tests=12)
