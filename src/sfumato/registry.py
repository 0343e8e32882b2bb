"""Where classes enter the catalogue: the decorator, and the lists it fills. ``catalogue.py`` reads them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast, dataclass_transform

from sfumato.about import About, MethodAbout
from sfumato.core import Measure, Method
from sfumato.errors import ParameterError

C = TypeVar("C", bound=type[Method] | type[Measure])
METHODS: dict[str, type[Method]] = {}
MEASURES: dict[str, type[Measure]] = {}
PARAMETERS: dict[str, type] = {}
P = TypeVar("P", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def catalogued(about: About) -> Callable[[C], C]:
    """Make a class a frozen dataclass, attach what is known of it, and enter it in the catalogue."""

    def enter(cls: C) -> C:
        made: Any = dataclass(frozen=True, repr=False)(cls)
        made.about = about
        entered: dict[str, Any] = METHODS if isinstance(about, MethodAbout) else MEASURES
        other = entered.get(cls.__name__)
        if other is not None and other.__module__ != cls.__module__ and _ours(other) != _ours(cls):
            raise ParameterError(
                f"{cls.__module__} declares a {cls.__name__}, which {other.__module__} has already; "
                "give it another name"
            )
        entered[cls.__name__] = made
        return cast(C, made)

    return enter


def parameter_class(cls: P) -> P:
    """Let a class stand as a parameter in texts, such as ``IntervalOverlap(Model("y ~ x", family="poisson"))``."""
    PARAMETERS[cls.__name__] = cls
    return cls


def _ours(cls: type) -> bool:
    """Tell whether a class is Sfumato's own."""
    return cls.__module__.partition(".")[0] == "sfumato"
