"""Which keys records must agree in, and how many: from the scenarios of the schema and from the measures that judge."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sfumato.core import Measure
from sfumato.data.schema import ALL_KEYS, Scenario, Schema
from sfumato.risk import KAnonymity

USUAL = (KAnonymity().k, 5, 10)  # how many records are made alike where nobody says it


@dataclass(frozen=True)
class KeySet:
    """Keys that are known together, and the number of records that must agree in them."""

    keys: tuple[str, ...]
    k: int

    def within(self, names: Collection[str]) -> "KeySet":
        """Return those of the keys that are among some names, in the order of the names."""
        return KeySet(tuple(name for name in names if name in self.keys), self.k)

    def implies(self, other: "KeySet") -> bool:
        """Tell whether records that agree as this asks agree as the other asks."""
        return set(other.keys) <= set(self.keys) and other.k <= self.k


def intruders_of(measure: Measure, schema: Schema) -> tuple[Scenario, ...]:
    """Return the intruders that a measure judges by: those of the schema, if it reads scenarios, or its own keys.

    >>> from sfumato import Reidentification
    >>> [intruder.keys for intruder in intruders_of(Reidentification(variables=("town", "age")), Schema())]
    [('town', 'age')]
    """
    if not measure.about.keys:
        return ()
    if measure.variables is None and hasattr(measure, "scenarios"):
        named = measure.scenarios
        return tuple(one for one in schema.intruders() if named is None or one.name in named)
    keys = measure.variables or schema.analysed(role="key")
    stated = getattr(measure, "k", None)
    return (Scenario(ALL_KEYS, keys, max(stated or USUAL[0], 2)),) if keys else ()


def read_by(measure: Measure, schema: Schema) -> tuple[str, ...]:
    """Name the variables that a measure reads in a table."""
    named = dict.fromkeys(name for intruder in intruders_of(measure, schema) for name in intruder.keys)
    return tuple(named) or measure.variables or schema.analysed(*measure.about.kinds)


def wanted(keys: Sequence[str], schema: Schema, judging: Sequence[Measure]) -> list[tuple[KeySet, ...]]:
    """Return what to ask of the keys, one way after the other.

    Without scenarios all keys are one set, with the largest k of a measure that has one, or else with 3, 5 and 10. With
    scenarios each has a set of its own and its own k; where no measure has a k, at least 5 and 10 are tried as well.
    """
    stated = sorted((int(k) for m in judging if (k := getattr(m, "k", None)) is not None), reverse=True)
    if not schema.scenarios:
        return [(KeySet(tuple(keys), k),) for k in stated[:1] or USUAL]
    intruders = judged(schema, judging)
    several = []
    for least in (0,) if stated else (0, *USUAL[1:]):
        sets = [KeySet(one.keys, max(one.k, least)).within(keys) for one in intruders]
        several.append(_needed(one for one in sets if one.keys))
    return list(dict.fromkeys(sets for sets in several if sets))


def found_among(schema: Schema, judging: Iterable[Measure]) -> tuple[KeySet, ...]:
    """Return the keys of those who know that a person is in the file: among n records alike their chance is 1/n."""
    known = [one for one in judged(schema, judging) if one.knows_membership]
    return _needed(KeySet(one.exact, one.k) for one in known if one.exact)


def judged(schema: Schema, judging: Iterable[Measure]) -> tuple[Scenario, ...]:
    """Return the intruders of all measures over keys; where there is no such measure, those of the schema."""
    found = tuple(one for measure in judging for one in intruders_of(measure, schema))
    return found or schema.intruders()


def _needed(sets: Iterable[KeySet]) -> tuple[KeySet, ...]:
    """Leave out what another set implies; the widest come first."""
    left: list[KeySet] = []
    for one in sorted(dict.fromkeys(sets), key=lambda s: (-len(s.keys), -s.k)):
        if not any(other.implies(one) for other in left):
            left.append(one)
    return tuple(left)
