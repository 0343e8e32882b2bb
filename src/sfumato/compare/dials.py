"""The parameters that a search may turn: of a method, or of a step of a chain, named such as ``RankSwapping.p``."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, get_type_hints

from sfumato.arguments import is_number, require
from sfumato.compare.curve import lattice
from sfumato.compare.experiment import grid
from sfumato.composition import Chain, Within
from sfumato.core import Method
from sfumato.errors import ParameterError

Range = tuple[float, float] | None  # None: from the least to the greatest value of the method's own grid


@dataclass(frozen=True)
class Dial:
    """One parameter and the values it may take."""

    text: str  # as it was named
    step: int  # of the chain; 0 where there is one method only
    name: str
    values: tuple[float, ...]


def steps(method: Method | type[Method]) -> tuple[Method | type[Method], ...]:
    """Return the steps of a chain, or the one method or class; what is done by blocks as it is done in each."""
    if isinstance(method, Within):
        return steps(method.method)
    if isinstance(method, Chain):
        return tuple(inner for step in method.steps for inner in steps(step))
    if not isinstance(method, Method) and not (isinstance(method, type) and issubclass(method, Method)):
        raise ParameterError(f"tune: {method!r} is not a method")
    return (method,)


def turned(method: Method | type[Method], values: Mapping[Dial, float]) -> Method:
    """Return the method with these values of its parameters."""
    made: list[Any] = list(steps(method))
    for place, step in enumerate(made):
        given: dict[str, Any] = {dial.name: value for dial, value in values.items() if dial.step == place}
        if given:
            made[place] = grid(step, **given)[0] if isinstance(step, type) else replace(step, **given)
    return _put_back(method, iter(made))


def _put_back(method: Method | type[Method], made: Iterator[Method]) -> Method:
    """Return the method with other steps, in chains and blocks as they were."""
    if isinstance(method, Within):
        return replace(method, method=_put_back(method.method, made))
    if isinstance(method, Chain):
        return Chain(tuple(_put_back(step, made) for step in method.steps))
    return next(made)


def dial(method: Method | type[Method], text: str | None, between: Range, tolerance: float | None = None) -> Dial:
    """Find the parameter that a text names, and the values to consider.

    Of a chain, ``RankSwapping.p`` is p of the step RankSwapping, and ``GlobalRecoding[2].groups`` that of the second
    such step; ``p`` alone will do where one step only has it. Without a text it is the first parameter of a method's
    own grid.
    """
    require("tune", str | None, "the name of a parameter", over=text)
    place, name = _found(method, text)
    cls = _class(steps(method)[place])
    ends = _ends(cls, name, between)
    wrong = tolerance is not None and not (is_number(tolerance) and tolerance > 0)
    if wrong:
        raise ParameterError(f"tune: tolerance must be a number above 0; got {tolerance!r}")
    spoken = text or (name if len(steps(method)) == 1 else f"{cls.__name__}.{name}")
    found = Dial(spoken, place, name, lattice(ends[0], ends[1], whole=_whole(cls, name), tolerance=tolerance))
    for end in ends:
        turned(method, {found: end})  # a value that cannot be is refused before anything is masked
    return found


def _found(method: Method | type[Method], text: str | None) -> tuple[int, str]:
    classes = [_class(step) for step in steps(method)]
    if text is None and len(classes) > 1:
        listed = ", ".join(f"{cls.__name__}.{name}" for cls in classes for name in _numeric(cls))
        raise ParameterError(f"tune: say which parameter of the chain to search, such as {listed}")
    owner, _, name = (text or "").rpartition(".")
    wanted = re.fullmatch(r"(\w*)(?:\[(\d+)\])?", owner)
    if wanted is None:
        raise ParameterError(f"tune: cannot read the parameter {text!r}; write for example RankSwapping.p")
    named = [place for place, cls in enumerate(classes) if not wanted[1] or cls.__name__ == wanted[1]]
    if text is None:
        name = next(iter(_numeric(classes[0])), "")
    having = [place for place in named if name in _names(classes[place])]
    if wanted[2] is not None:
        having = having[int(wanted[2]) - 1 : int(wanted[2])] if int(wanted[2]) else []
    if not having:
        who = " + ".join(cls.__name__ for cls in classes)
        known = ", ".join(
            f"{cls.__name__}.{entry}" if len(classes) > 1 else entry for cls in classes for entry in _names(cls)
        )
        given = f"got {text!r}" if text is not None else "say over which"
        raise ParameterError(f"tune: {who} has the parameters {known or 'none'}; {given}")
    if len(having) > 1:
        choices = " or ".join(
            f"{classes[place].__name__}[{1 + sum(c is classes[place] for c in classes[:place])}].{name}"
            for place in having
        )
        raise ParameterError(f"tune: several steps have a parameter {name}; write {choices}")
    return having[0], name


def _ends(cls: type[Method], name: str, between: Range) -> tuple[float, float]:
    numeric = _numeric(cls)
    if between is None and name not in numeric:
        raise ParameterError(f"tune: nothing says which values of {name} to consider; give between=(low, high)")
    ends = (min(numeric[name]), max(numeric[name])) if between is None else between
    whole = _whole(cls, name)
    good = isinstance(ends, tuple | list) and len(ends) == 2
    good = good and all(isinstance(e, Integral if whole else Real) and not isinstance(e, bool) for e in ends)
    if not good or not -float("inf") < ends[0] < ends[1] < float("inf"):
        kind = "two whole numbers" if whole else "two numbers"
        raise ParameterError(f"tune: between must be {kind}, the lower one first; got {between!r}")
    return ends[0], ends[1]


def _class(step: Method | type[Method]) -> type[Method]:
    return step if isinstance(step, type) else type(step)


def _names(cls: type[Method]) -> list[str]:
    return [entry.name for entry in fields(cls) if entry.name != "variables"]


def _whole(cls: type[Method], name: str) -> bool:
    return get_type_hints(cls).get(name) in (int, int | None)


def _numeric(cls: type[Method]) -> dict[str, tuple[Any, ...]]:
    """Return the numeric parameters of a class's own grid, with their values."""
    return {
        name: choices
        for name, choices in cls.about.grid.items()
        if all(isinstance(choice, Real) and not isinstance(choice, bool) for choice in choices)
    }
