"""Methods, measures and bounds as they are written, and how measures are named once they were read."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.core import Measure, Method
    from sfumato.table.microdata import Microdata

OnUndeclared = Literal["refuse", "leave-out", "accept"]  # what becomes of variables of which nobody has said the role
NAMING = ("variables", "targets", "confidential", "first", "known", "scales")  # parameters that name variables


def read_methods(texts: "Iterable[str | Method]") -> "list[Method]":
    """Read method texts such as ``MDAV(k=[3, 5])``; a method is taken as it is."""
    from sfumato.core import Method

    return _read(texts, Method, "method", "sfumato methods")


def read_method(said: "str | Method", option: str) -> "Method":
    """Read the text of one method, or of one chain."""
    found = read_methods([said])
    if len(found) != 1:
        raise ParameterError(
            f"{option} takes one method; {said!r} stands for {len(found)}: give each parameter one value"
        )
    return found[0]


def read_measures(texts: "Iterable[str | Measure]") -> "list[Measure]":
    """Read measure texts such as ``Reidentification``; a measure is taken as it is."""
    from sfumato.core import Measure

    return _read(texts, Measure, "measure", "sfumato measures")


def _read(texts: Iterable[Any], kind: type[Any], word: str, where: str) -> list[Any]:
    from sfumato.catalogue import parse

    found: dict[str, Any] = {}
    for text in texts:
        for made in parse(text) if isinstance(text, str) else [text]:
            if not isinstance(made, kind):
                raise ParameterError(f"{text!r} is not a {word}; see `{where}`")
            found[repr(made)] = made
    return list(found.values())


def read_bounds(option: str, texts: Iterable[str]) -> dict[str, float]:
    """Read bounds such as ``DistanceLinkage=0.05`` or ``DistanceLinkage=5%``.

    A measure with parameters goes by its repr, however it was written; beside it, the name alone is that by defaults.

    >>> read_bounds("--at-most", ["DistanceLinkage=5%", "InformationLoss = 30"])
    {'DistanceLinkage': 0.05, 'InformationLoss': 30.0}
    >>> read_bounds("--at-most", ["Suppressed(region)=5%", "Suppressed=1%"])
    {"Suppressed(variables=('region',))": 0.05, 'Suppressed()': 0.01}
    """
    bounds: dict[str, float] = {}
    for text in texts:
        name, equals, limit = (part.strip() for part in text.rpartition("="))
        number = re.fullmatch(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%?)", limit)
        if not equals or not name or number is None or name[-1] in "<>=!":
            hint = ""
            if re.search(r"\d,\d", limit):
                hint = "; write the number with a decimal point"
            elif re.search(r"[<>=≤≥]\s*[\d.]+\s*%?$", text):
                hint = f"; write = alone, for {option} says which side it is"
            raise ParameterError(
                f'{option} must be a measure and a number, such as "DistanceLinkage=5%"; got {text!r}{hint}'
            )
        bounds[name] = share_in(number[1]) if number[2] else float(number[1])
    return bounds_by_name(bounds)


def share_in(percent: str) -> float:
    """Read a percentage as the share that is written so: 0.7 divided by 100 would be a little less than 0.007.

    >>> share_in("0.7"), share_in("5"), 0.7 / 100
    (0.007, 0.05, 0.006999999999999999)
    """
    return float(Decimal(percent) / 100)


def bounds_by_name(bounds: "Mapping[Any, float]") -> dict[str, float]:
    """Name bounds as measures are named once they were read; what is bounded is a text or a measure."""
    texts = {name if isinstance(name, str) else repr(name): float(bound) for name, bound in bounds.items()}
    several = {name.partition("(")[0] for name in texts if "(" in name}
    known = {repr(name) for name in bounds if not isinstance(name, str)}
    return {
        _measure_key(name) if name not in known and name.partition("(")[0] in several else name: bound
        for name, bound in texts.items()
    }


def _measure_key(text: str) -> str:
    """Return the repr of the one measure that a text stands for."""
    found = read_measures([text])
    if len(found) != 1:
        raise ParameterError(f"{text!r} must name one measure")
    return repr(found[0])


def measure_name(text: str) -> str:
    """Return how a measure is named after it was read: a class's name as it is, anything else by its repr.

    >>> measure_name("KAnonymity"), measure_name("KAnonymity(5)"), measure_name('Suppressed(region)')
    ('KAnonymity', 'KAnonymity(k=5)', "Suppressed(variables=('region',))")
    """
    return text.strip() if text.strip().isidentifier() else _measure_key(text)


def refuse_unknown(measures: "Iterable[Measure]", data: "Microdata") -> None:
    """Refuse a measure that names a variable which the table does not have, and say which one may be meant."""
    for measure in measures:
        for name in _variables_named(measure):
            if name not in data.schema:
                raise ParameterError(f"{measure!r}: {data.schema.unknown(name)}")


def _variables_named(measure: "Measure") -> Iterator[str]:
    """Name the variables that a measure's parameters name, its models' among them."""
    from sfumato.utility.models.formula import parse

    for parameter in NAMING:
        yield from _texts(getattr(measure, parameter, None))
    for parameter in ("model", "models"):
        for formula in _texts(getattr(measure, parameter, None)):
            if "~" in formula:  # else one of a measure's own models, by name
                yield from parse(formula).variables


def _texts(value: Any) -> Iterator[str]:
    """Return the texts in a parameter, however deep; of a model its formula."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from _texts(entry)
    elif hasattr(value, "formula"):
        yield value.formula


def of_population(measures: "Iterable[Measure]", population: float | None) -> "list[Measure]":
    """Tell the measures that take it how large the population is, unless it was said for them."""
    return [
        replace(m, population=population)  # type: ignore[call-arg]
        if population is not None and getattr(m, "population", population) is None
        else m
        for m in measures
    ]


def chosen_measures(texts: "Iterable[str | Measure]", named: Iterable[str]) -> "list[Measure]":
    """Read the measures, and add those that a bound or an axis names and that are not among them."""
    measures = read_measures(texts)
    for name in named:
        known = {text for m in measures for text in (repr(m), type(m).__name__)}
        if name not in known:
            measures += read_measures([name])
    return measures
