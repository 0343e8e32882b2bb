"""What the intruder of a scenario knows, and which attacks that allows."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.pair import Pair
from sfumato.pair.keys import countable, perturbed_key
from sfumato.pair.statistics import Values
from sfumato.risk.attacks import in_windows, nearest_group, own_group
from sfumato.risk.compared_variables import codes_of
from sfumato.risk.points import mixed_points, points
from sfumato.risk.rank_attack import Window, window
from sfumato.table.recoding import Recoding
from sfumato.table.schema import Scenario

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Notes = tuple[str, ...]

SIDES = ("original", "protected")
ALIKE, NEAREST, TRUE_ALIKE, GOWER = "alike", "nearest", "nearest of those alike in true numbers", "Gower's nearest"
MIN_CHANGED = "fewest changed keys"
MAX_CHANGED = 5  # keys that may differ at a time: records alike in each of their 32 sets are counted


@dataclass(frozen=True, eq=False)
class IntruderKnowledge:
    """What the intruder of a scenario knows, on the footing of the protected table."""

    pair: Pair
    scenario: Scenario
    keys: tuple[str, ...]
    notes: Notes
    derived: Mapping[str, Recoding] = field(default_factory=dict)  # numbers that follow from others, such as sums

    @classmethod
    def of(cls, pair: Pair, scenario: Scenario) -> "IntruderKnowledge":
        """Find the keys that tell something."""
        return cls(pair, scenario, *comparable_keys(pair, scenario))

    @cached_property
    def seen(self) -> dict[str, Recoding]:
        """The keys of both tables on one footing."""
        return {name: self.derived.get(name) or self.pair.footing(name) for name in self.keys}

    @cached_property
    def numbers(self) -> list[str]:
        """The keys that are numbers or dates."""
        return [name for name in self.keys if self.seen[name].quantitative]

    @property
    def categories(self) -> list[str]:
        """The keys that are not."""
        return [name for name in self.keys if name not in self.numbers]

    @cached_property
    def perturbed(self) -> set[str]:
        """The keys whose published values need not be true."""
        derived = {name for name, seen in self.derived.items() if seen.quantitative}
        own = (name for name in self.keys if name not in self.derived)
        return derived.intersection(self.keys) | {name for name in own if perturbed_key(self.pair, name)}

    @cached_property
    def untrue(self) -> list[str]:
        """The numbers that were perturbed, or that he only knows about."""
        return [name for name in self.numbers if name in self.perturbed or name in self.scenario.about]

    @property
    def true(self) -> list[str]:
        """The keys in which records must agree to be alike."""
        return [name for name in self.keys if name not in self.untrue]

    def places(self) -> tuple[Floats, Floats]:
        """Place the records of both tables so that distances are those of Gower."""
        return mixed_points(self.seen.values()) if self.derived else points(self.pair, self.keys)

    def attacks(self) -> tuple[str, ...]:
        """Name the attacks that the keys allow."""
        some_true = bool(self.untrue) and len(self.untrue) < len(self.numbers)
        allowed = {ALIKE: True, NEAREST: bool(self.numbers), TRUE_ALIKE: some_true, GOWER: bool(self.keys)}
        allowed[MIN_CHANGED] = not self.perturbed.isdisjoint(self.true)
        return tuple(attack for attack, fits in allowed.items() if fits)

    def changed(self, before: Codes, after: Codes) -> list[int]:
        """Number the columns, of codes by ``true``, that were perturbed; the most changed if they are many."""
        places = [place for place, name in enumerate(self.true) if name in self.perturbed]
        differ = {place: int((before[:, place] != after[:, place]).sum()) for place in places}
        return sorted(sorted(places, key=lambda place: -differ[place])[:MAX_CHANGED])

    @property
    def methods(self) -> list[str]:
        """The numbers of which it is recorded by which method they were masked."""
        own = (name for name in self.untrue if name not in self.derived)
        done = {name: self.pair.protected.schema[name].treatment for name in own}
        return [name for name, treatment in done.items() if treatment.by_rank or treatment.averaged]

    @cached_property
    def windows(self) -> list[Window]:
        """Where a record may be by each number, or group of numbers, whose method is known."""
        everybody, found, blocks = self.scenario.knows_membership, [], dict[tuple[str, ...], list[str]]()
        for name in self.methods:
            seen, treatment = self.seen[name], self.pair.protected.schema[name].treatment
            if treatment.by_rank:
                ranked = Values.of(seen.original) if everybody and name in self.scenario.exact else None
                found.append(window(Values.of(seen.protected), seen.original, seen.protected, known=ranked))
            else:
                blocks.setdefault(treatment.averaged, []).append(name)
        for block, names in blocks.items():
            before, after = (np.column_stack([getattr(self.seen[n], side) for n in names]) for side in SIDES)
            again = everybody and set(block) == set(names) & set(self.scenario.exact)
            found.append(own_group(after) if again else nearest_group(before, after))
        return found

    def by_method(self) -> Floats:
        """Return the chance of each record by who knows the method; changed categories agree or are left aside."""
        records = len(self.pair.original)
        kept = [name for name in self.true if name not in self.perturbed]
        tried = [in_windows(*codes_of(self.seen, names, records), self.windows) for names in (kept, self.true)]
        return max(tried, key=lambda chance: float(chance.mean()))

    @cached_property
    def counted(self) -> "IntruderKnowledge | None":
        """The keys that he knows exactly, if records can be counted by them; None where counting says nothing."""
        names = tuple(name for name in self.keys if name in self.scenario.exact)
        if self.perturbed & set(names) or not countable(self.pair.protected, names):
            return None
        return replace(self, keys=names)


def comparable_keys(pair: Pair, scenario: Scenario) -> tuple[tuple[str, ...], Notes]:
    """Name the keys of a scenario that tell something of the protected table, and say which do not, and why."""
    gone = [name for name in scenario.keys if name not in pair.protected.schema]
    notes = [f"left out, not in the protected table: {', '.join(gone)}"] if gone else []
    kept = []
    for name in (name for name in scenario.keys if name not in gone):
        found = pair.footing(name)
        if not found.comparable:
            notes.append(f"left out, {name}: {found.note}")
            continue
        if found.note:
            notes.append(f"{name}: {found.note}")
        if tells_something(found):
            kept.append(name)
        else:
            notes.append(f"left out, {name}: it has no value in one of the tables")
    if not kept:
        notes.append(f"{scenario.name}: the protected table has none of the keys, so the intruder can only guess")
    return tuple(kept), tuple(notes)


def missing(column: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Tell which values of a column on the footing of both tables are missing."""
    gaps: NDArray[np.bool_] = np.isnan(column) if column.dtype.kind == "f" else column < 0  # type: ignore[operator]
    return gaps


def tells_something(seen: Recoding) -> bool:
    """Tell whether a variable can be compared and has a value in both tables."""
    return seen.comparable and all((~missing(column)).any() for column in (seen.original, seen.protected))
