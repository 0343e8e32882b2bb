"""What a search is asked for: the measure to make best, the bounds, and the measures and scores these need."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sfumato.about import MeasureAbout
from sfumato.arguments import require_bounds
from sfumato.compare.choose import wishes
from sfumato.compare.results import Results, Which
from sfumato.compare.score import Recipe
from sfumato.core import Measure
from sfumato.data.microdata import Microdata
from sfumato.data.parts import TableInParts
from sfumato.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The key of the measure to make as good as possible, the bounds by key, and what must be computed for them."""

    objective: str
    bounds: Mapping[str, float]
    measures: tuple[Measure, ...]
    scores: tuple[Recipe, ...]
    figures: Mapping[str, MeasureAbout]


def read_asked(
    data: Microdata | TableInParts,
    *,
    utility: Which | None,
    risk: Which | None,
    at_most: Mapping[Any, float] | None,
    at_least: Mapping[Any, float] | None,
) -> Asked:
    """Read what is wished for: instances, classes, or texts such as ``DistanceLinkage(ties='linked')``."""
    require_bounds("tune", at_most=at_most, at_least=at_least)
    named = {}  # each wish is read once: what it names, then the measure or recipe itself
    for which in (utility, risk, *(at_most or {}), *(at_least or {})):
        if which is not None and _text(which) not in named:
            named[_text(which)] = _figure(which)
    wished = {repr(figure): figure for figure in named.values()}
    scores = tuple(figure for figure in wished.values() if isinstance(figure, Recipe))
    measures = {repr(f): f for f in wished.values() if isinstance(f, Measure)}
    measures |= {repr(part): part for score in scores for part in score.measures}
    empty = Results(
        original=data.parts[0] if isinstance(data, TableInParts) else data,
        measures=(*measures.values(), *scores),
        rows=(),
        seed=0,
        replicates=1,
        seconds=0.0,
        versions={},
    )

    def bounded(bounds: Mapping[Any, float] | None) -> dict[Any, float]:
        return {named[_text(which)]: bound for which, bound in (bounds or {}).items()}

    objective, bounds = wishes(
        empty,
        "tune",
        utility=None if utility is None else named[_text(utility)],
        risk=None if risk is None else named[_text(risk)],
        at_most=bounded(at_most),
        at_least=bounded(at_least),
    )
    return Asked(
        objective=objective,
        bounds=bounds,
        measures=tuple(measures.values()),
        scores=scores,
        figures=empty.figures,
    )


MOST = 100_000  # tables that are masked, draws, or processes


def check_counts(**given: tuple[Any, int]) -> None:
    """Require whole numbers of at least so much, and of no more tables or processes than anybody waits for."""
    for name, (value, least) in given.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ParameterError(f"tune: {name} must be a whole number of at least {least}; got {value!r}")
        if name != "seed" and int(value) > MOST:
            raise ParameterError(f"tune: {name} must be at most {MOST:,}; got {value!r}")


def _text(which: Which) -> str:
    return which.__name__ if isinstance(which, type) else which if isinstance(which, str) else repr(which)


def _figure(which: Which) -> "Measure | Recipe":
    """Read a measure or a score: an instance, a class, or a text."""
    from sfumato.catalogue import parse

    if isinstance(which, Measure | Recipe):
        return which
    made = which() if isinstance(which, type) else parse(which)[0] if isinstance(which, str) else which
    if not isinstance(made, Measure | Recipe):
        raise ParameterError(f"tune: {_text(which)} is not a measure; see sfumato.measures()")
    return made
