"""Candidates that keep households apart: what their members share is made so coarse that it puts nobody together.

Who knows all members of a household finds them by their keys together, if the file shows who lives together: by a
number, or by what they share. So the number is left out; region, dwelling, size and amounts of the household are made
coarser step by step, and left out at last; and the weight is raked to what is left, so that it tells no more. The keys
of persons are treated as ever, but for fewer to be found than is asked for, because several members tell more than
one. How coarse what they share must be follows from the bound: the first step that keeps it, as far as can be told
before any value is blanked.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.compare.clauses import clauses
from sfumato.compare.coarsening import Ladders, Rung, Stage
from sfumato.compare.key_sets import KeySet
from sfumato.core import Method
from sfumato.data.households import household_level, once_per_household, units
from sfumato.data.microdata import Microdata
from sfumato.data.reassembly import number_published, sizes
from sfumato.kernels.groups import classes
from sfumato.methods import VariableRemoval, WeightMasking
from sfumato.risk.household_attack import Members

Codes = NDArray[np.integer]
STRICTER = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1)  # times the share of persons that may be found: so strict are keys
AIMS = (
    (0.92, 3),
    (0.7, 1),
    (0.45, 1),
)  # of a bound on households, as blanks change what is found; and how many ways for each
SURE = 0.75  # of the bound, up to which what they share is made finer again
OF_CLASSES = 0.85  # the same for persons, as where no household is bounded
AT_LEAST = 2  # households of each combination of what they share, at the end of the climb: as many as there are
DEAR = 0.02  # of its detail is what a variable that is left out counts as having left


@dataclass(frozen=True)
class Apart:
    """What is done to what households share, before persons' keys are treated and after, and how strictly these are."""

    before: tuple[Method, ...]
    after: tuple[Method, ...]
    share: float  # of the bound that persons are held to

    @property
    def clause(self) -> str:
        """What is done before."""
        return "; ".join(filter(None, clauses(self.before)))


@dataclass(frozen=True)
class Judged:
    """A stage judged before any value is blanked."""

    found: float  # the share of households
    detail: float  # left of keys and of what households share, as entropy: 1 for each that stays as it came
    keys: tuple[tuple[str, int], ...] = ()  # how much coarser than the stage each key is made


@dataclass(frozen=True, eq=False)
class Shared:
    """What households share, on ladders of coarser versions, and the keys of those who know all members of one."""

    data: Microdata
    names: tuple[str, ...]
    guessing: tuple[KeySet, ...]
    _judged: dict[tuple[int, float], Judged] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Microdata, guessing: Sequence[KeySet]) -> "Shared":
        """Look at what households share; ``guessing`` are the keys of intruders who know that one took part."""
        special = (data.schema.weight, data.schema.household)
        names = [name for name in household_level(data) if name not in special and name in data.schema.analysed()]
        return cls(data, tuple(name for name in names if name not in data.schema.led(names)), tuple(guessing))

    @cached_property
    def _homes(self) -> tuple[Microdata, NDArray[np.int64]]:
        return once_per_household(self.data, self.names)

    @cached_property
    def ladders(self) -> Ladders:
        """The ladders of what households share; the last rung of each leaves it out."""
        homes = self._homes[0]
        found = Ladders.of(homes, self.names).rungs.items()
        nothing = np.zeros(len(homes), dtype=np.int64)
        return Ladders(
            {name: (*one, Rung(nothing, 1, entropy=DEAR * one[0].entropy, detail=0.0)) for name, one in found}
        )

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages from what households share as it came to nothing at all, one rung more each."""
        if not self.names:
            return (Stage({}, 0, 1),)
        stages = self.ladders.climb([KeySet(self.names, AT_LEAST)], {})
        for households in (5, 20, 100, len(self._homes[0]) + 1):  # what is rare first, then ever larger groups
            start = Ladders({n: self.ladders.rungs[n][place:] for n, place in stages[-1].rungs.items()})
            more = start.climb([KeySet(self.names, households)], {})[1:]
            base = stages[-1].rungs
            stages += tuple(replace(s, rungs={n: base[n] + place for n, place in s.rungs.items()}) for s in more)
        return stages

    @cached_property
    def persons(self) -> Ladders:
        """The ladders of the keys that members of a household need not share."""
        keys = dict.fromkeys(name for one in self.guessing for name in one.keys if name not in self.names)
        return Ladders.of(self.data, keys)

    @cached_property
    def size(self) -> str | None:
        """A variable that says how many members a household has."""
        return next((name for name in sizes(self.data) if name in self.names), None)

    @cached_property
    def _records(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The place of each record's household in the table of households, and its number."""
        return self._homes[1], units(self.data)

    def judged(self, number: int, persons: float) -> Judged:
        """Judge a stage, by its number, where so many persons may be found by their keys."""
        key = number, persons
        if key not in self._judged:
            self._judged[key] = self._judge(self.stages[number], persons)
        return self._judged[key]

    def _judge(self, stage: Stage, persons: float) -> Judged:
        home, unit = self._records
        rungs: dict[str, tuple[Rung, ...]] = dict(self.persons.rungs)
        for name, place in stage.rungs.items():
            left = self.ladders.rungs[name][place:]
            rungs[name] = tuple(replace(rung, codes=rung.codes[home]) for rung in left[: len(left) - 1] or left)
        group = classes(np.column_stack([*(rungs[n][0].codes for n in self.names), np.zeros_like(home)]))[0]
        at, found, short = dict.fromkeys(self.names, 0), 0.0, 0
        for known in self.guessing:
            crowd = replace(known, k=max(known.k, math.ceil(1 / persons)))
            stages = Ladders({name: rungs[name] for name in known.keys}).climb([crowd], {})
            enough = (one for one in stages if one.classes <= OF_CLASSES * persons * len(home))
            reached = next(enough, None)
            keys = (reached or stages[-1]).rungs
            short += reached is None
            at |= {name: max(place, at.get(name, 0)) for name, place in keys.items()}
            columns = [rungs[name][place].codes for name, place in keys.items()]
            columns += [rungs[self.size][0].codes] if self.size is not None else []
            codes = np.column_stack(columns).astype(np.int32)
            members = Members.of(codes, codes)
            attacks = members.in_groups(unit, group.astype(np.int64)), members.alike(unit, group.astype(np.int64))
            found = max(found, *(float(chance.mean()) for chance in attacks))
        finest = {**self.persons.rungs, **self.ladders.rungs}
        detail = sum(rungs[name][place].entropy / finest[name][0].entropy for name, place in at.items())
        return Judged(found, detail - short * len(at), tuple(at.items()))

    def mildest(self, limit: float, persons: float) -> int:
        """Return the number of the first stage at which households keep a bound; the last one if none does."""
        low, high = 0, len(self.stages) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.judged(middle, persons).found <= limit else (middle + 1, high)
        return low

    def finer(self, stage: Stage, limit: float, persons: float) -> Stage:
        """Return a stage with what households share one rung finer where they keep a bound all the same.

        A climb takes one rung after the other; by its end some of the first ones may not be needed any more.
        """
        at = dict(stage.rungs)

        def gain(name: str) -> float:
            ladder = self.ladders.rungs[name]
            return ladder[at[name] - 1].detail - ladder[at[name]].detail if at[name] else 0.0

        for name in sorted(at, key=lambda one: -gain(one)):
            while at[name] and gain(name) > 0:
                one = replace(stage, rungs={**at, name: at[name] - 1})
                if self._judge(one, persons).found > limit:
                    break
                at = dict(one.rungs)
        return replace(stage, rungs=at)

    def coarsened(self, stage: Stage) -> tuple[Method, ...]:
        """Return the steps that bring what households share to a stage."""
        gone = tuple(n for n, place in stage.rungs.items() if place == len(self.ladders.rungs[n]) - 1)
        left = replace(stage, rungs={name: place for name, place in stage.rungs.items() if name not in gone})
        removal = (VariableRemoval(variables=gone),) if gone else ()
        return (*self.ladders.recodings(left), *removal)


def kept_apart(data: Microdata, guessing: Sequence[KeySet], found: float, limit: float) -> Iterator[Apart]:
    """Return ways to keep households apart, so that no more than ``limit`` are found; none where no household is named.

    ``found`` is the share of persons that may be found.
    """
    home, weight = data.schema.household, data.schema.weight
    if home is None or not guessing or found <= 0:
        return
    shared = Shared.of(data, guessing)
    after: list[Method] = []
    if weight is not None and np.ptp(data.weights()) > 0:
        after.append(WeightMasking("margins"))
    if number_published(data):
        after.append(VariableRemoval(variables=(home,)))
    tried: set[object] = set()
    for aim, several in AIMS:
        ways = [(shared.mildest(aim * limit, share * found), share) for share in STRICTER]
        judged = {way: shared.judged(way[0], way[1] * found) for way in ways}
        best = sorted(ways, key=lambda way: (judged[way].found > aim * limit, -judged[way].detail))
        different: dict[tuple[object, ...], tuple[int, float]] = {}
        for way in best:
            different.setdefault((way[0], judged[way].keys), way)
        for which in [one for one in different if one not in tried][:several]:
            tried.add(which)
            number, share = different[which]
            stage = shared.finer(shared.stages[number], min(aim, SURE) * limit, share * found)
            yield Apart(shared.coarsened(stage), tuple(after), share)
