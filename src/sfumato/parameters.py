"""Checks on the parameters of methods and measures: one shape of message everywhere."""

from numbers import Integral, Real
from typing import Any

from sfumato.errors import ParameterError


def refuse(owner: object, message: str) -> ParameterError:
    """Build the error for a parameter of ``owner`` that cannot be right."""
    return ParameterError(f"{type(owner).__name__}: {message}")


def whole(owner: object, name: str, *, least: int = 1, most: int | None = None) -> None:
    """Require a whole number in [least, most]."""
    value = getattr(owner, name)
    good = isinstance(value, Integral) and not isinstance(value, bool)
    if not good or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise refuse(owner, f"{name} must be a whole number {limits}; got {value!r}")
    object.__setattr__(owner, name, int(value))


def number(owner: object, name: str, *, above: float | None = None, least: float | None = None) -> None:
    """Require a finite number, above or at least a bound where one is given."""
    value = getattr(owner, name)
    good = isinstance(value, Real) and not isinstance(value, bool) and abs(float(value)) < float("inf")
    if not good or (above is not None and value <= above) or (least is not None and value < least):
        limits = "" if above is None else f" above {above:g}"
        limits += "" if least is None else f" of at least {least:g}"
        raise refuse(owner, f"{name} must be a number{limits}; got {value!r}")
    object.__setattr__(owner, name, float(value))


def share(owner: object, name: str) -> None:
    """Require a share in (0, 1]; a percentage is refused with a hint."""
    value = getattr(owner, name)
    good = isinstance(value, Real) and not isinstance(value, bool)
    if not good or not 0 < value <= 1:
        hint = f" (did you mean {value / 100:g}?)" if good and 1 < value <= 100 else ""
        raise refuse(owner, f"{name} must be in (0, 1]; got {value!r}{hint}")
    object.__setattr__(owner, name, float(value))


def one_of(owner: object, name: str, allowed: tuple[Any, ...]) -> None:
    """Require one of a few named choices."""
    value = getattr(owner, name)
    if value not in allowed:
        raise refuse(owner, f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")


def names(owner: object, name: str) -> None:
    """Require None or a list of variable names, kept as a tuple; one name alone is a list of one."""
    value = getattr(owner, name)
    if value is None:
        return
    listed = (value,) if isinstance(value, str) else tuple(value)
    if not listed or not all(isinstance(item, str) for item in listed):
        raise refuse(owner, f"{name} must be a list of variable names; got {value!r}")
    if len(set(listed)) < len(listed):
        raise refuse(owner, f"{name} names a variable twice: {listed!r}")
    object.__setattr__(owner, name, listed)
