"""What came of a scenario: the attacks that its keys allow, and the chance of each record under the best of them.

All records of a table at hand are looked for. Of a table in parts, or of a sample, it is a simple random sample of the
original records, each searched for among all protected ones; who agrees in all keys is counted over the classes of both
tables, so that it holds for every record. Where the keys have few combinations one record of each is looked for
instead, and every attack holds for every record.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.groups import class_sums, first_records
from sfumato.pair import Half, Pair, design_weights
from sfumato.pair.keys import perturbed_key
from sfumato.pair.pair import Terms
from sfumato.pair.sample import NORMAL, Columns, Sample
from sfumato.pair.statistics import KeyClasses, Moments, Sums, Values
from sfumato.risk.attacks import (
    AlikeAttack,
    Attack,
    FewestChanged,
    GowerAttack,
    NearestAttack,
    PublishedRecords,
    Search,
    agree,
    agreeing,
    counts_of,
    kinds,
    nothing_known,
)
from sfumato.risk.compared_variables import codes_among, codes_of
from sfumato.risk.household_attack import Members, alike_households, nearest_households
from sfumato.risk.individual import household_chances
from sfumato.risk.intruder import ALIKE, GOWER, MIN_CHANGED, NEAREST, TRUE_ALIKE, IntruderKnowledge
from sfumato.risk.points import Ends, Places, Space
from sfumato.risk.population import Matches, PopulationModel, WithRegister, population_weights
from sfumato.risk.told_by_others import likeliest, told_by_others
from sfumato.table.households import counted
from sfumato.table.schema import EVERYTHING, Scenario

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Notes = tuple[str, ...]
K = TypeVar("K", bound=np.generic)

ALL_ALIKE = "all members alike"
BY_METHOD = "by who knows the method"
IN_GROUPS = "all members alike, among records that share what households share"
GROUPS_ALIKE = "all members alike and nobody else who shares what they share"
NEAREST_HOME = "nearest household, all members"
NUMBERED = "if the file told who lives together"
WITH_OTHERS = "with what the rest of the file tells"

CHUNK = 500_000  # records of whole columns that are looked at together
MAX_CELLS = 4_000_000  # combinations of the keys of both tables that are counted for all records
MAX_VALUES = 1_000_000  # different values of a number up to which it is counted so
MAX_KINDS = 20_000  # combinations of keys up to which one record of each is looked for, in place of a sample
MAX_MEMBERS = 20  # times as many records as were drawn may live with them


@dataclass(frozen=True, eq=False)
class Chances:
    """How surely records are found: of each one, or of kinds of records and how many there are of each.

    ``sample`` says which records of the table these are, if not all. ``counted`` then has the chances of the same
    records under an attack that was counted for all, and those of all. Means are that of all plus the mean difference
    over the sample (the difference estimator: Cochran 1977, Sampling Techniques, 7.9), which hardly varies where one
    attack finds much the same records as the other.
    """

    values: Floats
    times: Floats | None = None  # None: one record each
    sample: Sample | None = None
    counted: "tuple[Floats, Chances] | None" = None

    @property
    def mean(self) -> float:
        """The mean chance of a record."""
        return self.figure(None)

    @property
    def largest(self) -> float:
        """The largest chance of a record looked at."""
        return float(self.values.max())

    def above(self, limit: float) -> float:
        """Return the share of records whose chance exceeds a limit."""
        return self.figure(limit)

    def expected(self, records: int) -> float:
        """Return how many records of the table are found on average over guesses."""
        if self.times is None and self.sample is None:
            return float(self.values.sum())
        return self.mean * records

    def error(self, limit: float | None) -> float:
        """Return the standard error of the mean, or of the share above a limit; 0 where all records were looked at."""
        if self.sample is None:
            return 0.0
        figures = self._differences(limit)
        drawn = figures if self.times is None else figures[self.times > 0]
        if self.counted is None:
            return self.sample.error(drawn)
        less = _figures(self.counted[1].values, limit)
        return self.sample.error(drawn, -float(less.max()), 1 - float(less.min()))

    def figure(self, limit: float | None) -> float:
        """Return the mean chance, or the share of records whose chance exceeds a limit."""
        figures = self._differences(limit)
        mean = float(figures.mean()) if self.times is None else float(figures @ self.times / self.times.sum())
        if self.counted is None:
            return mean
        return min(max(self.counted[1].figure(limit) + mean, 0.0), 1.0)

    def _differences(self, limit: float | None) -> Floats:
        """Return the chances, or whether they exceed a limit, less what was counted of the same records."""
        figures = _figures(self.values, limit)
        return figures if self.counted is None else figures - _figures(self.counted[0], limit)

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.values.nbytes


def surer(best: Chances, others: Sequence[tuple[str, Chances]]) -> tuple[tuple[str, Chances], ...]:
    """Return the attacks with which, at some limit, more records exceed it than with the best on average."""
    if any(one.sample is not None or one.times is not None for one in (best, *(one for _, one in others))):
        return tuple(others)
    most = np.sort(best.values)
    return tuple(one for one in others if (np.sort(one[1].values) > most * (1 + 1e-9)).any())


def _figures(chances: Floats, limit: float | None) -> Floats:
    return chances if limit is None else (chances > limit).astype(np.float64)


@dataclass(frozen=True, eq=False)
class JudgedScenario:
    """A scenario with the chances of records, or households, under its best attack."""

    scenario: Scenario
    attack: str
    chances: Chances
    violating: float | None
    notes: Notes
    together: Mapping[str, float] | None = None  # what households add, where it was found with the records
    sampled: Sample | None = None  # the records that attacks were tried on, if not all
    rivals: tuple[Chances, ...] = ()  # under attacks that the sample does not show to find fewer
    lesser: tuple[tuple[str, Chances], ...] = ()  # attacks that find fewer on average, but single records more surely
    given_back: float | None = None  # the mean chance with what the rest of the file tells of the keys, where it does
    other: Chances | None = None  # of an intruder who knows the same but for who took part, where there are weights
    other_lesser: tuple[Chances, ...] = ()  # as ``lesser``, of him
    estimate: Matches | None = None  # of the population, where there are weights

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        lesser = (*(one for _, one in self.lesser), *self.other_lesser)
        return sum(one.nbytes for one in (self.chances, *self.rivals, *lesser, self.other) if one is not None)

    @property
    def of_estimate(self) -> Notes:
        """The notes that are about the estimate of the population."""
        notes = () if self.estimate is None else self.estimate.all_notes
        return tuple(f"{self.scenario.name}: {note}" for note in notes)

    def or_with_others(self, told: "Sequence[JudgedScenario]") -> "JudgedScenario":
        """Return the larger of this and of the same intruder with what the rest of the file tells."""
        if not told:
            return self
        most = max(told, key=lambda one: one.chances.mean)
        best, found = self, self
        if most.chances.mean > self.chances.mean:
            best, found = replace(most, scenario=self.scenario, attack=f"{most.attack}, {WITH_OTHERS}"), most
        without = {note for one in (self, *told) for note in one.of_estimate} - set(found.of_estimate)
        notes = tuple(dict.fromkeys(note for one in (self, *told) for note in one.notes if note not in without))
        named = [(one, "" if one is self else f", {WITH_OTHERS}") for one in (self, *told)]
        tried = [(f"{attack}{by}", chances) for one, by in named for attack, chances in one.tried]
        others = [one for judged in (self, *told) for one in (judged.other, *judged.other_lesser)]
        return replace(
            best,
            notes=notes,
            violating=self.violating,
            given_back=most.chances.mean,
            lesser=surer(best.chances, [one for one in tried if one[1] is not best.chances]),
            other_lesser=tuple(one for one in others if one is not None and one is not best.other),
        )

    @property
    def tried(self) -> tuple[tuple[str, Chances], ...]:
        """The attacks that are looked at for single records, the best on average first."""
        return (self.attack, self.chances), *self.lesser

    @property
    def largest(self) -> float:
        """The largest chance of a record looked at, whatever attack is made."""
        return max(chances.largest for _, chances in self.tried)

    def at(self, above: float | None) -> "JudgedScenario":
        """Return what came of it by the attack that decides: of single records the one with which most exceed a limit.

        A bound on single records holds for whatever attack is made on them.
        """
        if above is None or not self.lesser:
            return self
        attack, chances = max(self.tried, key=lambda one: one[1].figure(above))
        rivals = self.rivals if self.sampled is None else tuple(one for _, one in self.tried if one is not chances)
        return replace(self, attack=attack, chances=chances, rivals=rivals)

    def others_figure(self, above: float | None) -> float | None:
        """Return what is found by the intruder who differs in whether he knows who took part; None without weights."""
        if self.other is None:
            return None
        tried = (self.other,) if above is None else (self.other, *self.other_lesser)
        return max(one.figure(above) for one in tried)

    def value(self, above: float | None) -> float:
        """Return the mean chance, or the share of records whose chance exceeds a limit."""
        return self.chances.figure(above)

    def error(self, above: float | None) -> float | None:
        """Return the standard error of the value; None where nothing of it is estimated.

        Another attack may be the best over all records: 1.96 standard errors reach as far as the interval of its
        figure. Its mean is then the larger; its share above a limit may be the smaller.
        """
        if self.chances.sample is None and not self.rivals:
            return None
        widths = [NORMAL * self.chances.error(above)]
        for rival in self.rivals:
            apart = rival.figure(above) - self.value(above)
            widths.append((apart if above is None else abs(apart)) + NORMAL * rival.error(above))
        return max(widths) / NORMAL

    def row(self, records: int) -> dict[str, object]:
        """Return what is said of the scenario in a table."""
        scenario = self.scenario
        return {
            "scenario": scenario.name,
            "knows": ", ".join(f"about {name}" if name in scenario.about else name for name in scenario.keys),
            "attack": self.attack,
            "share": self.chances.mean,
            "expected": self.chances.expected(records),
            "largest": self.largest,
            "k": scenario.k,
            "violating k": self.violating,
        }


@dataclass(frozen=True, eq=False)
class Families:
    """Households to look for: of each record, and what the protected table shows of who belongs together."""

    unit: Integers
    group: Integers | None = None  # of each protected record, alike in what households share; None: it is numbered
    by: tuple[str, ...] = ()  # the columns that the records of a group have in common
    sizes: tuple[str, ...] = ()  # the columns that say how many members a household has


@dataclass(frozen=True, eq=False)
class SoughtRecords:
    """The original records that are looked for: their keys in both tables, and how many records each stands for."""

    before: Columns
    after: Columns
    times: Floats | None = None  # None: each for itself; 0: looked for because of whom it lives with
    sample: Sample | None = None  # None: all records are accounted for
    rows: Integers | None = None  # their numbers in the whole table, where it is not at hand
    unit: Integers | None = None  # their households, where these are asked for
    kind: Integers | None = None  # at hand: which of these each record of the table is like; None: itself

    @classmethod
    def at_hand(cls, known: IntruderKnowledge) -> "SoughtRecords":
        """Look for all records of a table, for one of those that have equal keys in both tables."""
        before, after = _columns(known, "original"), _columns(known, "protected")
        kind, sizes = kinds(before, after)
        if 2 * len(sizes) > len(kind):
            return cls(before, after)
        first = first_records(kind)
        before, after = ({name: column[first] for name, column in side.items()} for side in (before, after))
        return cls(before, after, kind=kind)

    def of_table(self, values: NDArray[K]) -> NDArray[K]:
        """Return what was found for each record of a table at hand, or for each record looked for."""
        return values if self.kind is None else values[self.kind]

    @property
    def unchanged(self) -> bool:
        """Whether all records are looked for by categories, and show all of them as they were."""
        if self.sample is not None:
            return False
        both = [(before, self.after[name]) for name, before in self.before.items()]
        return all(
            before.dtype.kind != "f" and before.min(initial=0) >= 0 and np.array_equal(before, after)
            for before, after in both
        )

    def may_lead(self, values: Floats, best: Floats) -> bool:
        """Tell whether the mean of some chances may be as large as that of the best, over all records, at 95 %."""
        if self.sample is None:
            return False
        ahead = values - best if self.times is None else (values - best)[self.times > 0]
        return float(ahead.mean()) + NORMAL * self.sample.error(ahead, low=-1.0) >= 0

    def with_households(self, chance: Floats) -> dict[str, float] | None:
        """Return the mean over the records drawn, and the largest, of the chance that one of a household is found."""
        if self.unit is None:
            return None
        together = household_chances(chance, self.unit)
        return {
            "records, with their household": Chances(together[self.unit], self.times, self.sample).mean,
            "largest of a household": float(together.max()),
        }


@dataclass(frozen=True, eq=False)
class AttackChances:
    """What an attack finds: of the records looked for, of the table, and the estimate of the population behind it."""

    values: Floats
    chances: Chances
    estimate: Matches | None = None

    @classmethod
    def of_households(cls, values: Floats, estimate: Matches | None = None) -> "AttackChances":
        """Take the chances of all households of a table."""
        return cls(values, Chances(values), estimate)


Attacked = Mapping[str, AttackChances]


def judge(
    pair: Pair,
    scenario: Scenario,
    model: PopulationModel,
    *,
    sample: Sample | None = None,
    homes: Half | None = None,
    families: Families | None = None,
) -> JudgedScenario:
    """Try the attacks that the keys of a scenario allow, and keep the best; on households where there are any.

    The same attacks are tried with what the rest of the file tells of the keys. Without a sample all records are looked
    for, which must be at hand. ``homes`` tells who lives with the records of a sample.
    """
    known = IntruderKnowledge.of(pair, scenario)
    everything, at_hand = scenario.name == EVERYTHING, sample is None
    chances: Mapping[str, Floats] = {}
    if at_hand:
        chances, said = likeliest(known, learns_all=everything)
        known = replace(known, notes=(*known.notes, *said))
    found = _judged(known, model, sample, homes, families, chances)
    if at_hand and everything:  # nothing is left that the rest of the file could tell
        return found
    told = told_by_others(known, at_hand=at_hand)
    return found.or_with_others([_judged(one.known, model, sample, homes, families, one.chances) for one in told])


def _judged(
    known: IntruderKnowledge,
    model: PopulationModel,
    sample: Sample | None,
    homes: Half | None,
    families: Families | None,
    further: Mapping[str, Floats],
) -> JudgedScenario:
    """Try the attacks of an intruder, and ``further`` ones whose chances are known already."""
    pair, scenario = known.pair, known.scenario
    weights, said = population_weights(pair)
    notes = known.notes if scenario.knows_membership else (*known.notes, f"{scenario.name}: {said}")
    cells = None if sample is None or sample.whole else _cells(known, weights)
    if sample is None:
        sought = SoughtRecords.at_hand(known)
    elif _by_kinds(known, cells, weights, homes):
        assert cells is not None
        sought = cells.sought()
    else:
        sought = _drawn(known, sample, homes)
    if sample is not None and known.methods:
        notes = (*notes, f"{scenario.name}: of a sample the attack of who knows the method is not tried")
    attacks = _attacks(known, sought)
    search, found = _searched(known, attacks, weights, at_hand=sample is None)
    chances = {attack: sought.of_table(values) for attack, values in search.chances(found).items()}
    if GOWER in known.attacks() and GOWER not in chances:  # the nearest are those alike
        chances[GOWER] = chances[ALIKE]
    if sample is None and known.methods:
        chances[BY_METHOD] = known.by_method()
    chances |= further
    of_cells = None if cells is None or sought.sample is None else cells.alike()[0]
    knowing: Attacked = _of_table(chances, of_cells, sought, cells)
    register = None if weights is None else WithRegister(pair, model, weights, sampled=sample is not None)
    searching: Attacked = {}
    if register is not None:
        units = partial(_units, known, attacks[ALIKE], found, sought, weights)
        searching = _among_population(known, register, chances, units, sought, cells)
    together: dict[str, float] = {}
    if families is not None:
        knowing, searching, numbered = _of_families(known, families, knowing, searching, register)
        if numbered:
            together = {NUMBERED: numbered[0 if scenario.knows_membership or register is None else 1]}
    best = best_of(knowing)
    mine, theirs, estimate, other = knowing, searching, None, None
    if searching:
        # by weights of each record it is the best in the file, because only those alike have weights of their own
        of_register = best if model == "Benedetti-Franconi" else best_of(searching)
        estimate, other = searching[of_register].estimate, searching[of_register].chances
        if not scenario.knows_membership:
            mine, theirs, other, best = searching, knowing, knowing[best].chances, of_register
            notes = (*notes, *(f"{scenario.name}: {note}" for note in (estimate.all_notes if estimate else ())))
    settled = cells is not None and not known.untrue and cells.unchanged
    rest = {} if settled else {attack: one for attack, one in mine.items() if attack != best}
    chosen = mine[best].chances
    of_others = [] if settled or other is None else [(attack, one.chances) for attack, one in theirs.items()]
    return JudgedScenario(
        scenario,
        best,
        chosen,
        None if families is not None else _violating(known, sought, found, cells, at_hand=sample is None),
        notes,
        together or sought.with_households(mine[best].values),
        sought.sample,
        tuple(one.chances for one in rest.values() if sought.may_lead(one.values, mine[best].values)),
        lesser=surer(chosen, [(attack, one.chances) for attack, one in rest.items()]),
        other=other,
        other_lesser=() if other is None else tuple(one for _, one in surer(other, of_others)),
        estimate=estimate,
    )


def best_of(found: Attacked) -> str:
    """Name the attack with the largest mean; the first of those that tie."""
    return max(found, key=lambda attack: found[attack].chances.mean)


def _by_kinds(known: IntruderKnowledge, cells: "_Cells | None", weights: Floats | None, homes: Half | None) -> bool:
    """Tell whether the keys have so few combinations that one record of each is looked for, in place of a sample."""
    if cells is None or known.untrue or len(cells.found) > MAX_KINDS or homes is not None:
        return False
    return weights is None or known.scenario.knows_membership


def _of_table(
    chances: Mapping[str, Floats],
    alike: Floats | None,
    sought: SoughtRecords,
    cells: "_Cells | None",
    estimates: Mapping[str, Matches | None] | None = None,
) -> dict[str, AttackChances]:
    """Return what attacks find in the whole table; ``alike`` has the chances of all combinations of those alike."""
    of_all = None
    if cells is not None and alike is not None:
        of_all = chances[ALIKE], cells.chances(alike)
    found = {}
    for attack, values in chances.items():
        of_table = Chances(values, sought.times, sought.sample, of_all)
        if attack == ALIKE and of_all is not None:
            of_table = of_all[1]
        found[attack] = AttackChances(values, of_table, None if estimates is None else estimates[attack])
    return found


def _among_population(
    known: IntruderKnowledge,
    register: WithRegister,
    chances: Mapping[str, Floats],
    units: Callable[[], Floats],
    sought: SoughtRecords,
    cells: "_Cells | None",
) -> dict[str, AttackChances]:
    """Return what the attacks on records find where the whole population may be meant."""
    own = register.weights if sought.rows is None else np.asarray(register.weights[sought.rows])
    if cells is not None and sought.rows is None:  # one record of each combination is looked for
        assert cells.found.weights is not None
        own = cells.found.weights / cells.found.sizes
    lowered, estimates = {}, {}
    for attack, values in chances.items():
        names = tuple(known.true) if attack == ALIKE else known.keys
        lowered[attack], estimates[attack] = register.lowered(values, names, own, units if attack == ALIKE else None)
    of_cells = None
    if cells is not None and sought.sample is not None:
        alike, all_units = cells.alike()
        assert all_units is not None
        of_cells = register.lowered(alike, tuple(known.true), alike, partial(np.asarray, all_units))[0]
    return _of_table(lowered, of_cells, sought, cells, estimates)


def _of_families(
    known: IntruderKnowledge,
    families: Families,
    knowing: Attacked,
    searching: Attacked,
    register: WithRegister | None,
) -> tuple[Attacked, Attacked, tuple[float, float] | None]:
    """Return the chances of households, and the means of both intruders if the file numbered them, where it does not.

    They are found by all of their members, or by one.
    """
    whole = _by_all_members(known, families, perturbed=GOWER in knowing)
    unit, lowered = families.unit, dict[str, AttackChances]()
    if register is not None:
        weights = _mean_of(register.weights, unit)
        for attack, chance in whole.items():
            found = register.of_households(chance, weights, tuple(known.true))
            lowered[attack] = AttackChances.of_households(*found)
    numbered = None
    if NUMBERED in whole:  # no attack on this file, but what one would find if it numbered households
        mean = float(whole.pop(NUMBERED).mean())
        numbered = mean, lowered.pop(NUMBERED).chances.mean if lowered else mean
    by_all = {attack: AttackChances.of_households(chance) for attack, chance in whole.items()}
    return by_all | _by_one_member(knowing, unit), lowered | _by_one_member(searching, unit), numbered


def _by_all_members(known: IntruderKnowledge, homes: Families, *, perturbed: bool) -> dict[str, Floats]:
    """Return the chance of each household by attacks that use all members together.

    Where the file does not number households, NUMBERED has the chances if it did.
    """
    unit, group = homes.unit, homes.group
    codes = codes_of(known.seen, known.true, len(known.pair.original))
    if group is None:
        chances = {ALL_ALIKE: alike_households(*codes, unit)}
    else:
        members = Members.of(*_with_sizes(known, codes, homes.sizes))
        chances = {IN_GROUPS: members.in_groups(unit, group), GROUPS_ALIKE: members.alike(unit, group)}
        chances[NUMBERED] = members.alike(unit, None)
    if perturbed and (known.perturbed or min(side.min(initial=0) for side in codes) < 0):
        chances[NEAREST_HOME] = nearest_households(*known.places(), unit, group)
    return chances


def _by_one_member(by_record: Attacked, unit: Integers) -> dict[str, AttackChances]:
    """Return the chance of each household by attacks on one of its members."""
    return {
        f"{attack}, one member": AttackChances.of_households(_mean_of(found.values, unit), found.estimate)
        for attack, found in by_record.items()
    }


def _with_sizes(known: IntruderKnowledge, codes: tuple[Codes, Codes], sizes: tuple[str, ...]) -> tuple[Codes, Codes]:
    """Return the keys with the size of the household: who knows all members knows how many they are."""
    pair = known.pair
    names = [name for name in sizes if name in pair.protected.schema and name not in known.keys]
    seen = {name: pair.footing(name) for name in names if not perturbed_key(pair, name)}
    more = codes_of(seen, [name for name, found in seen.items() if found.comparable], len(pair.original))
    before, after = (np.column_stack(both).astype(np.int32) for both in zip(codes, more, strict=True))
    return before, after


def _mean_of(figures: Floats, unit: Integers) -> Floats:
    """Return the mean of a figure over the members of each household."""
    return class_sums(unit, figures, counted(unit)) / np.bincount(unit)


# the search


def _attacks(known: IntruderKnowledge, sought: SoughtRecords) -> dict[str, Attack]:
    """Return the attacks on single records, but for Gower's nearest where these are those alike."""
    alike = AlikeAttack.of(sought.before, sought.after, known.true)
    attacks: dict[str, Attack] = {ALIKE: alike}
    allowed = known.attacks()
    if NEAREST in allowed:
        attacks[NEAREST] = _nearest(known, sought, known.categories, known.numbers)
    if TRUE_ALIKE in allowed:
        attacks[TRUE_ALIKE] = _nearest(known, sought, known.true, known.untrue)
    if GOWER in allowed and not sought.unchanged:
        places = {name: Places.of(known.seen[name]) for name in known.keys}
        attacks[GOWER] = GowerAttack.of(sought.before, sought.after, places)
    if MIN_CHANGED in allowed:
        changed = tuple(known.changed(sought.of_table(alike.before), sought.of_table(alike.own)))
        attacks[MIN_CHANGED] = FewestChanged(alike.coder, alike.before, alike.own, changed)
    return attacks


def _nearest(
    known: IntruderKnowledge, sought: SoughtRecords, agreeing_in: list[str], numbers: list[str]
) -> NearestAttack:
    """Look for the nearest, on the scale of the original's means and standard deviations over all records."""
    mean, spread = np.empty(len(numbers)), np.empty(len(numbers))
    ends: list[list[tuple[float, float, bool]]] = [[], []]
    for place, name in enumerate(numbers):
        seen = known.seen[name]
        sides = [_moments(seen.original), _moments(seen.protected)]
        mean[place], spread[place] = sides[0].mean[0], sides[0].spread[0]
        if not np.isfinite(spread[place]):
            raise NotApplicable(f"{name!r} has values too large for a standard deviation")
        scale = spread[place] if spread[place] > 0 else 1.0
        for side, found in zip(ends, sides, strict=True):
            low, high = (float((end[0] - mean[place]) / scale) for end in (found.low, found.high))
            side.append((low, high, bool(found.present[0] < len(seen.original))))
    here, there = (Ends(*(np.array(column) for column in zip(*side, strict=True))) for side in ends)
    space = Space.between(here, there)
    return NearestAttack.of(sought.before, sought.after, agreeing_in, numbers, (mean, spread), space)


def _searched(
    known: IntruderKnowledge, attacks: Mapping[str, Attack], weights: Floats | None, *, at_hand: bool
) -> tuple[Search, Sums]:
    """Look among all protected records: at hand, or part by part, those with the weights where they count."""
    if at_hand:
        search = Search((), attacks, weighted=False)
        return search, search.among(PublishedRecords.of(_columns(known, "protected")))
    search = Search(tuple(Terms.of(known.pair, name) for name in known.keys), attacks, weighted=weights is not None)
    half = design_weights(known.pair)[0] if weights is not None else None
    found: Sums = (half or known.pair.protected).total(search)
    return search, found


def _columns(known: IntruderKnowledge, side: str) -> Columns:
    """Return all keys of one of the tables."""
    return {name: getattr(seen, side) for name, seen in known.seen.items()} or nothing_known(len(known.pair.original))


def _units(
    known: IntruderKnowledge, alike: Attack, found: Sums, sought: SoughtRecords, weights: Floats | None
) -> Floats:
    """Return the units that those alike stand for; at hand they are summed up where somebody asks."""
    units = counts_of(found, ALIKE).get("units")
    if units is None:
        units = alike.counted(PublishedRecords.of(_columns(known, "protected"), weights))["units"]
    return sought.of_table(np.asarray(units))


def _violating(
    known: IntruderKnowledge,
    sought: SoughtRecords,
    found: Sums,
    cells: "_Cells | None",
    *,
    at_hand: bool,
) -> float | None:
    """Return the share of records whose keys fewer than k protected records agree with, a blank with every key.

    It is counted as the attack on records alike counts: from what he knows of a person, not from what is published. Of
    a sample it is counted by combinations; where there are too many of them, among the protected records alone.
    """
    counted_by = known.counted
    if counted_by is None:
        return None
    k = known.scenario.k
    if at_hand:
        number = counts_of(found, ALIKE)["number"]
        if list(counted_by.keys) != known.true:
            by_keys = AlikeAttack.of(sought.before, sought.after, counted_by.keys)
            number = by_keys.counted(PublishedRecords.of(_columns(known, "protected")))["number"]
        return float((sought.of_table(number) < k).mean())
    by_cells = cells if cells is not None and cells.names == counted_by.keys else _cells(counted_by, None)
    if by_cells is not None:
        return by_cells.fewer_than(k)
    classes_of = known.pair.protected.classes(counted_by.keys)
    return classes_of.share(classes_of.counts < k)


# what is counted for all records of a table that is not at hand


@dataclass(frozen=True, eq=False)
class _Cells:
    """The combinations of key values of a record in both tables, and how many records have each."""

    names: tuple[str, ...]
    values: tuple[Floats | None, ...]  # of numbers, what the codes stand for
    found: KeyClasses  # the codes of the original first, then those of the protected table

    @property
    def before(self) -> NDArray[np.int32]:
        return self.found.cells[:, : len(self.names)]

    @property
    def after(self) -> NDArray[np.int32]:
        return self.found.cells[:, len(self.names) :]

    @property
    def unchanged(self) -> bool:
        """Whether every record shows its own keys, all of them: then the nearest are those alike."""
        return bool((self.before == self.after).all() and (self.found.cells >= 0).all())

    def alike(self) -> tuple[Floats, Floats | None]:
        """Return the chance of each combination among those alike, and the units these stand for."""
        number, units = self._agreeing(self.found.sizes), None
        if self.found.weights is not None:
            units = self._agreeing(self.found.weights)
        return np.where(agree(self.before, self.after), 1 / np.maximum(np.rint(number), 1), 0.0), units

    def fewer_than(self, k: int) -> float:
        """Return the share of records whose keys fewer than k protected records agree with."""
        return self.found.share(np.rint(self._agreeing(self.found.sizes)) < k)

    def _agreeing(self, figures: NDArray[np.generic]) -> Floats:
        """Sum figures over the protected records that agree with the original keys of each combination."""
        return agreeing(self.before, self.after, figures)[0]

    def chances(self, values: Floats) -> Chances:
        return Chances(values, self.found.sizes.astype(np.float64))

    def sought(self) -> SoughtRecords:
        """Look for one record of each combination."""
        sides = [
            {name: _decoded(codes, values) for name, values, codes in zip(self.names, self.values, side.T, strict=True)}
            for side in (self.before, self.after)
        ]
        before, after = (side or nothing_known(len(self.found)) for side in sides)
        return SoughtRecords(before, after, self.found.sizes.astype(np.float64))


def _decoded(codes: NDArray[np.int32], values: Floats | None) -> NDArray[Any]:
    return codes if values is None else np.append(values, np.nan)[codes]


def _moments(column: NDArray[Any]) -> Moments:
    return Moments.together([Moments.of(np.asarray(column[rows])[:, None]) for rows in _chunks(len(column))])


def _chunks(records: int) -> Iterator[slice]:
    for start in range(0, records, CHUNK):
        yield slice(start, min(start + CHUNK, records))


def _cells(known: IntruderKnowledge, weights: Floats | None) -> _Cells | None:
    """Count the combinations of the keys in which records must agree; None: there are too many."""
    values: list[Floats | None] = []
    for name in known.true:
        seen = known.seen[name]
        found = None if not seen.quantitative else _different(seen.original, seen.protected)
        if found is not None and len(found) > MAX_VALUES:
            return None
        values.append(found)
    whole: KeyClasses | None = None
    for rows in _chunks(len(known.pair.original)):
        codes = np.column_stack(
            [
                codes_among(different, getattr(known.seen[name], side)[rows])
                for side in ("original", "protected")
                for name, different in zip(known.true, values, strict=True)
            ]
            or [np.empty((rows.stop - rows.start, 0), dtype=np.int32)]
        )
        part = KeyClasses.of_part(codes, None if weights is None else np.asarray(weights[rows]))
        whole = part if whole is None else whole.merge(part)
        if len(whole) > MAX_CELLS:
            return None
    assert whole is not None
    return _Cells(tuple(known.true), tuple(values), whole)


def _different(*columns: NDArray[Any]) -> Floats:
    """Return the different values of columns, those of no more than a few chunks at a time."""
    found = np.empty(0)
    for column in columns:
        for rows in _chunks(len(column)):
            found = np.union1d(found, Values.of(np.asarray(column[rows])).values)
            if len(found) > MAX_VALUES:
                return found
    return found


def _drawn(known: IntruderKnowledge, sample: Sample, homes: Half | None) -> SoughtRecords:
    """Take the records of the sample, and those who live with them."""
    rows, times, unit = sample.rows, None, None
    if homes is not None:
        rows, unit = homes.keep(("members", sample.digest), lambda: _members(homes, sample))
        if len(rows) > len(sample):
            times = np.isin(rows, sample.rows).astype(np.float64)
    before, after = (
        {name: np.asarray(getattr(known.seen[name], side)[rows]) for name in known.keys} or nothing_known(len(rows))
        for side in ("original", "protected")
    )
    return SoughtRecords(before, after, times, None if sample.whole else sample, rows, unit)


def _members(homes: Half, sample: Sample) -> tuple[Integers, Integers | None]:
    """Return the records that live with those drawn, and number their households; None: they are too many."""
    name = str(homes.schema.household)
    column = homes.column(name)
    wanted = column[sample.rows]
    wanted = np.unique(wanted[wanted >= 0] if wanted.dtype.kind == "i" else wanted[~np.isnan(wanted)])
    there = [rows.start + np.flatnonzero(np.isin(column[rows], wanted)) for rows in _chunks(len(column))]
    rows = np.union1d(np.concatenate(there), sample.rows)
    if len(rows) > MAX_MEMBERS * len(sample):
        return sample.rows, None
    mine = np.asarray(column[rows])
    alone = mine < 0 if mine.dtype.kind == "i" else np.isnan(mine)
    unit = np.searchsorted(wanted, mine).astype(np.int64)
    unit[alone] = len(wanted) + np.arange(np.count_nonzero(alone))
    return rows, unit
