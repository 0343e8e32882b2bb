"""Checks on the arguments of functions that users call: what is of another type is refused, by name, in a sentence."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from types import UnionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

TEXT = "a text"
YES_OR_NO = "True or False"
LARGEST = 10**9  # of a whole number that counts something


def require(who: str, kind: type | UnionType, words: str, /, **given: object) -> None:
    """Require arguments of a type; ``words`` say what it is to whoever gave another.

    >>> require("tune", str | None, TEXT, over=None)
    >>> require("tune", str | None, TEXT, over=3)
    Traceback (most recent call last):
    ...
    sfumato.errors.ParameterError: tune: over must be a text; got 3
    """
    for name, value in given.items():
        if not isinstance(value, kind):
            raise ParameterError(f"{who}: {name} must be {words}; got {_told(value)}")


def require_number(who: str, /, *, least: float, **given: object) -> None:
    """Require finite numbers of at least so much, or None."""
    for name, value in given.items():
        if value is not None and not (is_number(value) and value >= least):  # type: ignore[operator]  # it is a number
            raise ParameterError(f"{who}: {name} must be a number of at least {least:g}; got {_told(value)}")


def require_bounds(who: str, /, **given: object) -> None:
    """Require None or bounds by measure: a dict of finite numbers."""
    for name, bounds in given.items():
        require(who, Mapping | None, "bounds by measure, such as {'Reidentification': 0.05}", **{name: bounds})
        for bound in bounds.values() if isinstance(bounds, Mapping) else ():
            if not is_number(bound):
                raise ParameterError(f"{who}: a bound in {name} must be a number; got {_told(bound)}")


def require_whole(who: str, /, *, least: int, most: int | None = LARGEST, **given: object) -> None:
    """Require whole numbers of at least so much; more than any number of records is refused unless ``most`` is None."""
    for name, value in given.items():
        good = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
        if not good:
            raise ParameterError(f"{who}: {name} must be a whole number of at least {least}; got {_told(value)}")
        if most is not None and value > most:  # type: ignore[operator]  # it is a whole number
            raise ParameterError(f"{who}: {name} must be at most {most:,}; got {_told(value)}")


def entries(who: str, kind: type | UnionType, words: str, /, **given: Any) -> tuple[Any, ...]:
    """Return the entries of the one list that is given, each of which must be of a type; a text is no list.

    >>> entries("look", str, "labels of candidates", candidates=["MDAV(k=3)"])
    ('MDAV(k=3)',)
    """
    ((name, value),) = given.items()
    try:
        found = () if isinstance(value, str | bytes) else tuple(value)
        good = not isinstance(value, str | bytes) and all(isinstance(entry, kind) for entry in found)
    except TypeError:
        found, good = (), False
    if not good:
        raise ParameterError(f"{who}: {name} must be a list of {words}; got {_told(value)}")
    return found


def as_array(value: object) -> NDArray[Any] | None:
    """Return an array of what was given; None if none can be made of it."""
    try:
        return np.asarray(value)
    except (ValueError, TypeError, RecursionError):  # a list that holds itself, or others of several lengths
        return None


def is_number(value: Any) -> bool:
    """Tell whether it is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def _told(value: object) -> str:
    """Write what is short as it is, and say of anything else what it is."""
    short = value is None or isinstance(value, str | bool | int | float | type | list | tuple | dict | set | frozenset)
    text = repr(value) if short else f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]} ..."
