"""Intruder scenarios: who may know what of a person, and how many records must then look alike."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sfumato.errors import SchemaError, refusing

ALL_KEYS = "all keys"  # the scenario of a schema that declares none
EVERYTHING = "all that is in the file"  # the scenario of who knows every variable, whatever is declared


@dataclass(frozen=True)
class Scenario:
    """An intruder: what he knows of a person, and how exactly.

    ``keys`` are the variables whose values he knows, ``about`` those of them that he knows about but not exactly (a
    colleague's income); of categories, ``about`` changes nothing. ``k`` records must look alike to him. He knows that
    the person is in the file unless ``knows_membership`` is False, as of a sample in which anybody might be.

    >>> Scenario("neighbour", keys=("region", "sex", "age"), k=5, about=("age",)).exact
    ('region', 'sex')
    """

    name: str
    keys: tuple[str, ...]
    k: int = 3
    about: tuple[str, ...] = ()
    knows_membership: bool = True

    @refusing(SchemaError)
    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"a scenario's name must be text, and not empty; got {self.name!r}")
        for word in ("keys", "about"):
            object.__setattr__(self, word, _names(f"scenario {self.name!r}: {word}", getattr(self, word)))
        if not self.keys:
            raise SchemaError(f"scenario {self.name!r} has no keys; name the variables this intruder knows")
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 2:
            raise SchemaError(f"scenario {self.name!r}: k must be a whole number of 2 or more; got {self.k!r}")
        strange = [name for name in self.about if name not in self.keys]
        if strange:
            raise SchemaError(
                f"scenario {self.name!r}: about names {', '.join(map(repr, strange))}, which is not among its keys "
                f"{', '.join(self.keys)}"
            )
        if not isinstance(self.knows_membership, bool):
            raise SchemaError(
                f"scenario {self.name!r}: knows_membership must be True or False; got {self.knows_membership!r}"
            )

    @property
    def exact(self) -> tuple[str, ...]:
        """The keys that he knows exactly."""
        return tuple(name for name in self.keys if name not in self.about)

    def only(self, names: Iterable[str]) -> "Scenario | None":
        """Return the scenario with those of its keys that are among these; None if none is."""
        kept = set(names)
        keys = tuple(name for name in self.keys if name in kept)
        return replace(self, keys=keys, about=tuple(n for n in self.about if n in kept)) if keys else None


def _names(where: str, said: object) -> tuple[str, ...]:
    """Check a list of names: texts, each once."""
    if isinstance(said, str) or not isinstance(said, Iterable):
        raise SchemaError(f"{where} must be a list of names; got {said!r}")
    names = tuple(said)
    for name in names:
        if not isinstance(name, str) or not name:
            raise SchemaError(f"{where} must be names of variables; got {name!r}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"{where} names {', '.join(map(repr, twice))} more than once")
    return names
