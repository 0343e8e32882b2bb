"""Checks on the parameters of methods and measures: one shape of message everywhere."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import wraps
from numbers import Integral, Real
from typing import Any

import numpy as np

from sfumato.arguments import LARGEST
from sfumato.errors import ParameterError, SfumatoError


class Described:
    """What has parameters for fields: a repr that evaluates back, and a refusal for whatever cannot be a parameter."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__post_init__" in vars(cls):
            cls.__post_init__ = _refusing(cls.__post_init__)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        given = []
        for entry in sorted(fields(self), key=lambda entry: entry.name == "variables"):  # type: ignore[arg-type]
            value = getattr(self, entry.name)
            if entry.default is MISSING or value != entry.default:
                given.append(f"{entry.name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"


def _refusing(check: Callable[[Any], None]) -> Callable[[Any], None]:
    """Let a check of parameters refuse, in the same words, what it was not made for: an array for a word, say."""

    @wraps(check)
    def checked(self: Any) -> None:
        try:
            check(self)
            if getattr(type(self).__post_init__, "__wrapped__", None) is check:  # the last of all checks
                hash(self)
        except SfumatoError:
            raise
        except Exception as error:
            raise refuse(self, f"its parameters cannot be used: {error}") from error

    return checked


class FrozenMap(Mapping[Any, Any]):
    """A dict that cannot change, so that a parameter can be hashed; it equals, and prints as, a plain dict.

    >>> FrozenMap({"region": "north"})
    {'region': 'north'}
    """

    def __init__(self, entries: Mapping[Any, Any]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, key: Any) -> Any:
        return self._entries[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return repr(self._entries)


def frozen(value: Any) -> Any:
    """Return a parameter that can be hashed: dicts as frozen ones, lists as tuples, numpy's numbers as Python's."""
    if isinstance(value, Mapping):
        return FrozenMap({frozen(key): frozen(entry) for key, entry in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(entry) for entry in value)
    return value.item() if isinstance(value, np.generic) else value


def refuse(owner: object, message: str) -> ParameterError:
    """Build the error for a parameter of ``owner`` that cannot be right."""
    return ParameterError(f"{type(owner).__name__}: {message}")


def whole(owner: object, name: str, *, least: int = 1, most: int | None = None) -> None:
    """Require a whole number in [least, most]; more than any number of records or draws is refused everywhere."""
    value = getattr(owner, name)
    good = isinstance(value, Integral) and not isinstance(value, bool)
    highest = LARGEST if most is None else most
    if not good or value < least or value > highest:
        open_ended = most is None and not (good and value > highest)
        limits = f"of at least {least}" if open_ended else f"from {least} to {highest:,}"
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


def share(owner: object, name: str, *, zero: bool = False) -> None:
    """Require a share in (0, 1], or in [0, 1]; a percentage is refused with a hint."""
    value = getattr(owner, name)
    good = isinstance(value, Real) and not isinstance(value, bool)
    if not good or not (0 < value <= 1 or (zero and value == 0)):
        hint = f" (did you mean {value / 100:g}?)" if good and 1 < value <= 100 else ""
        raise refuse(owner, f"{name} must be in {'[' if zero else '('}0, 1]; got {value!r}{hint}")
    object.__setattr__(owner, name, float(value))


def one_of(owner: object, name: str, allowed: tuple[Any, ...]) -> None:
    """Require one of a few named choices."""
    value = getattr(owner, name)
    plain = value is None or isinstance(value, str | Real | tuple)  # an array or a frame is compared by its values
    if not plain or value not in allowed:
        raise refuse(owner, f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")


def names(owner: object, name: str) -> None:
    """Require None or a list of variable names, kept as a tuple; one name alone is a list of one."""
    value = getattr(owner, name)
    if value is None:
        return
    listed = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else ()
    if not listed or not all(isinstance(item, str) for item in listed):
        raise refuse(owner, f"{name} must be a list of variable names; got {value!r}")
    if len(set(listed)) < len(listed):
        raise refuse(owner, f"{name} names a variable twice: {listed!r}")
    object.__setattr__(owner, name, listed)


def by_variable(owner: object, name: str, example: str) -> None:
    """Require None or a dict from names of variables to what is said of each, kept so that it can be hashed."""
    value = getattr(owner, name)
    if value is None:
        return
    if not isinstance(value, Mapping) or not value or not all(isinstance(variable, str) for variable in value):
        raise refuse(owner, f"{name} must be a dict by variable, such as {example}; got {value!r}")
    object.__setattr__(owner, name, frozen(value))


def importance(owner: object, name: str = "importance") -> None:
    """Require None or, by variable, what one of its values is worth: a number above 0."""
    by_variable(owner, name, '{"age": 3, "sex": 1}')
    for variable, worth in (getattr(owner, name) or {}).items():
        if isinstance(worth, bool) or not isinstance(worth, Real) or not 0 < float(worth) < float("inf"):
            raise refuse(owner, f"the {name} of {variable!r} must be a number above 0; got {worth!r}")


def random_generator(rng: Any) -> np.random.Generator:
    """Return a generator of random numbers of what numpy takes for one (SPEC 7); anything else is refused."""
    several = rng if isinstance(rng, list | tuple | np.ndarray) else (rng,)
    flat = np.ndim(several) == 1 if isinstance(several, np.ndarray) else True
    if not flat or any(isinstance(one, list | tuple | np.ndarray | str) for one in several):
        # numpy goes down a list that holds itself until the process dies
        raise ParameterError(f"rng must be a whole number of at least 0, a Generator or None; got {rng!r}")
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        said = f"rng must be a whole number of at least 0, a Generator or None; got {rng!r} ({error})"
        raise ParameterError(said) from None
