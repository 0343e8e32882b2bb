"""Who refuses, and which variables are meant: what methods and measures have in common."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sfumato.errors import NotApplicable
from sfumato.table.schema import Schema, a_kind


@contextmanager
def speaking(owner: Any) -> Iterator[None]:
    """Name the class of a method or measure that refuses, once, in front of what it says."""
    try:
        yield
    except NotApplicable as refusal:
        raise refusal.by(type(owner).__name__) from refusal.__cause__


def chosen(owner: Any, schema: Schema) -> tuple[str, ...]:
    """Name the variables a method or measure works on: those it was told, or all of its kinds."""
    kinds = owner.about.kinds
    names: tuple[str, ...] = owner.variables if owner.variables is not None else schema.analysed(*kinds)
    needed = " or ".join(kinds)
    if not names:
        raise NotApplicable(f"the table has no {needed} variable")
    for name in names:
        if name not in schema:
            raise NotApplicable(schema.unknown(name))
        if schema[name].kind not in kinds:
            raise NotApplicable(f"variable {name!r} is {a_kind(schema[name].kind)}; it must be {needed}")
    return names


def refuse_special(names: tuple[str, ...], schema: Schema) -> None:
    """Refuse weight, household and id as what blocks are made of."""
    special = {name: what for what, name in schema.special().items()}
    for name in names:
        if name in special:
            raise NotApplicable(f"{name!r} is the {special[name]} of the records, which makes no blocks")
