"""The sets of keys that local suppression looks at: stated, taken from the scenarios, or all keys as one set."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.errors import NotApplicable
from sfumato.pair import Half
from sfumato.pair.keys import countable
from sfumato.table.keys import key_names
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema

Sets = Literal["scenarios"] | tuple[tuple[tuple[str, ...], int], ...]
EXAMPLE = '(("region", "sex", "age"), 3), (("occupation", "education"), 5)'


@dataclass(frozen=True)
class KeysAlike:
    """Keys that somebody knows together, how many records must agree in them, and what the set is called."""

    keys: tuple[str, ...]
    k: int
    name: str = ""

    def __str__(self) -> str:
        called = f"{self.name}: " if self.name else ""
        return f"{called}{', '.join(self.keys)} k={self.k}"


def checked_sets(owner: object, value: Any) -> Sets | None:
    """Return the sets of keys as a parameter that can be hashed; what is none is refused."""
    if value is None or (isinstance(value, str) and value == "scenarios"):
        return value  # type: ignore[return-value]
    sets = parameters.frozen(value) if isinstance(value, list | tuple) else ()
    good = bool(sets) and all(isinstance(one, tuple) and len(one) == 2 and _is_set(*one) for one in sets)
    if not good:
        raise parameters.refuse(
            owner, f"sets must be 'scenarios' or pairs of keys and k, such as ({EXAMPLE}); got {value!r}"
        )
    for keys, _ in sets:
        if len(set(keys)) < len(keys):
            raise parameters.refuse(owner, f"sets names a variable twice in one set: {keys!r}")
    return sets


def _is_set(keys: object, k: object) -> bool:
    names = isinstance(keys, tuple) and bool(keys) and all(isinstance(name, str) and name for name in keys)
    return names and isinstance(k, Integral) and not isinstance(k, bool) and int(k) >= 1


def sets_asked(
    data: Microdata | Half, sets: Sets | None, variables: tuple[str, ...] | None, k: int
) -> tuple[KeysAlike, ...]:
    """Return the sets of keys of a table; in each, ``k`` records must agree at least."""
    schema = data.schema
    if sets is None:
        return (KeysAlike(_all_keys(schema, variables), k),)
    if sets == "scenarios":
        intruders = schema.intruders()
        found = [KeysAlike(_counted(data, one.keys, one.about), max(one.k, k), one.name) for one in intruders]
        found = [one for one in found if one.keys]
        if not found:
            key_names(schema, None)  # says that there is no key
            raise NotApplicable("no scenario has a key that can be counted over; mask the numbers as numbers")
        return tuple(found)
    return tuple(KeysAlike(key_names(schema, keys), max(own, k)) for keys, own in sets)


def _all_keys(schema: Schema, variables: tuple[str, ...] | None) -> tuple[str, ...]:
    if variables is None and not schema.analysed(role="key"):
        return key_names(schema, schema.analysed("ordinal", "nominal", "date") or None)
    return key_names(schema, variables)


def _counted(data: Microdata | Half, keys: tuple[str, ...], about: Iterable[str]) -> tuple[str, ...]:
    """Leave out what an intruder knows about but not exactly, if hardly two records have the same value of it."""
    vague, half = set(about), Half.of(data)
    return tuple(name for name in keys if name not in vague or countable(half, (name,)))


def places(names: tuple[str, ...], keys: Iterable[str]) -> tuple[int, ...]:
    """Return where these keys stand among the names."""
    where = {name: place for place, name in enumerate(names)}
    return tuple(where[name] for name in keys)


def most_values(codes: NDArray[np.integer], share: float, counts: NDArray[np.int64] | None) -> int:
    """Return how many values of a key may be suppressed at most, given the share of those present.

    ``counts`` are the records that each row stands for, if not one.
    """
    there = codes >= 0
    return int(np.floor(share * int(there.sum() if counts is None else counts[there].sum()) + 1e-9))
