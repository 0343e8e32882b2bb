"""What measures of generalisation share: which variables they look at, how each was made coarser, records by key class.

Recoding and suppression work on the keys, so these measures look at the keys that the schema names, or else at all
variables. A variable that was removed has lost all its values.
"""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from sfumato.core import Measure, chosen
from sfumato.data.recoding import Recoding
from sfumato.errors import NotApplicable
from sfumato.pair import Keys, Pair
from sfumato.pair.keys import SHOWN, Rows
from sfumato.pair.statistics import KeyClasses
from sfumato.utility.global_utility.deletion import left, present, side_by_side

Notes = tuple[str, ...]


def generalised_names(measure: Measure, pair: Pair) -> tuple[str, ...]:
    """Name the variables to look at: those the measure was told, the keys of the schema, or else all of its kinds."""
    keys = pair.original.schema.analysed(role="key") if measure.variables is None else ()
    return keys or chosen(measure, pair.original.schema)


def still_there(pair: Pair, names: tuple[str, ...]) -> tuple[str, ...]:
    """Name the variables that the protected table still has; refused where it has none."""
    there = tuple(name for name in names if name in pair.protected.schema)
    if not there:
        raise NotApplicable(f"the protected table has no comparable {', '.join(names)}")
    return there


# one variable at a time


@dataclass(frozen=True, eq=False)
class Coarsened:
    """A variable of the original: its values, the share of them that is left, and the two tables side by side.

    ``both`` is None where the variable was removed.
    """

    name: str
    values: NDArray[Any]
    left: float
    both: Pair | None

    @property
    def recoding(self) -> Recoding | None:
        """How the values were put together; None: the variable was removed."""
        return None if self.both is None else self.both.footing(self.name)


def one_by_one(pair: Pair, names: tuple[str, ...]) -> tuple[list[Coarsened], list[str]]:
    """Return each variable that has a value in the original, and say which have none and which were removed."""
    there = still_there(pair, names)
    both = side_by_side(pair.gathered(names))
    still = left(both, there).alone
    found: list[Coarsened] = []
    notes: list[str] = []
    for name in names:
        values = both.original.column(name)
        if not present(values).any():
            notes.append(f"left out, for the original has no value: {name}")
        elif name not in there:
            found.append(Coarsened(name, values, 0.0, None))
            notes.append(f"removed, so nothing is known of it: {name}")
        else:
            found.append(Coarsened(name, values, still[name], both))
    return found, notes


def traced(pair: Pair, names: tuple[str, ...], what: str) -> tuple[list[Coarsened], list[str]]:
    """Return the variables whose recoding can be traced, and say which are left out; refused if all are."""
    variables, notes = one_by_one(pair, names)
    found = []
    for variable in variables:
        if variable.recoding is None or variable.recoding.comparable:
            found.append(variable)
        else:
            notes.append(f"left out, {variable.name}: {variable.recoding.note}")
    if not found:
        raise NotApplicable(f"{what} the values of {', '.join(names)} are cannot be told")
    return found, notes


# all variables together


@dataclass(frozen=True, eq=False)
class RecordsByKey:
    """The records of both tables by the values they share; a missing value is a value of its own in a class.

    Of the original by all keys, of the protected table by those that are left, because what was removed tells nothing
    apart.
    """

    original: KeyClasses
    keys: Keys
    notes: Notes

    @classmethod
    def of(cls, measure: Measure, pair: Pair) -> "RecordsByKey":
        """Put the records of both tables into classes."""
        names = generalised_names(measure, pair)
        there = still_there(pair, names)
        gone = [name for name in names if name not in there]
        notes = (f"removed, so it tells no records apart: {', '.join(gone)}",) if gone else ()
        return cls(pair.original.classes(names), Keys(there, pair.protected), notes)

    @property
    def protected(self) -> KeyClasses:
        """The classes of the protected table."""
        return self.keys.classes

    def largest(self) -> Rows:
        """List the classes of most records."""
        sizes = self.protected.sizes
        return self.keys.listed(self.protected.first((-sizes,), SHOWN), class_size=sizes)


def beyond_the_original(before: float, after: float, most: float) -> float:
    """Return how far a figure went from the original's towards the most it can be: 0 as it was, 1 nothing is left.

    So ARX shows its measures of records. A table that tells more apart than the original did is no better.
    """
    return min(1.0, max(0.0, (after - before) / (most - before))) if most > before else 0.0
