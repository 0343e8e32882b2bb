"""What came of a scenario: the attacks that its keys allow, and the chance of each record under the best of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.groups import class_sums
from sfumato.pair import Pair
from sfumato.pair.keys import countable, perturbed_key
from sfumato.pair.sample import NORMAL, Sample
from sfumato.pair.statistics import Values
from sfumato.risk.attacks import alike, fewest_changed, in_windows, nearest, nearest_group, own_group
from sfumato.risk.compared_variables import codes_of, scores_of
from sfumato.risk.household_attack import Members, alike_households, nearest_households
from sfumato.risk.points import mixed_points, own_is_nearest_mixed, points
from sfumato.risk.population import Matches, PopulationModel, WithRegister, population_weights
from sfumato.risk.rank_attack import Window, window
from sfumato.risk.told_by_others import likeliest, told_by_others
from sfumato.table.households import counted
from sfumato.table.recoding import Recoding
from sfumato.table.schema import EVERYTHING, Scenario

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Notes = tuple[str, ...]

SIDES = ("original", "protected")
ALIKE, NEAREST, TRUE_ALIKE, GOWER = "alike", "nearest", "nearest of those alike in true numbers", "Gower's nearest"
ALL_ALIKE = "all members alike"
BY_METHOD = "by who knows the method"
MIN_CHANGED = "fewest changed keys"
MAX_CHANGED = 5  # keys that may differ at a time: records alike in each of their 32 sets are counted
IN_GROUPS = "all members alike, among records that share what households share"
GROUPS_ALIKE = "all members alike and nobody else who shares what they share"
NEAREST_HOME = "nearest household, all members"
NUMBERED = "if the file told who lives together"
WITH_OTHERS = "with what the rest of the file tells"


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
        return cls(pair, scenario, *_comparable(pair, scenario))

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

    def violating(self) -> float | None:
        """Return the share of records whose keys fewer than k protected records agree with, a blank with every key.

        It is counted as the attack on records alike counts: from what he knows of a person, not from what is published.
        """
        if self.counted is None:
            return None
        number = alike(*codes_of(self.counted.seen, self.counted.keys, len(self.pair.original)))[1]
        return float((number < self.scenario.k).mean())


@dataclass(frozen=True, eq=False)
class Families:
    """Households to look for: of each record, and what the protected table shows of who belongs together."""

    unit: Integers
    group: Integers | None = None  # of each protected record, alike in what households share; None: it is numbered
    by: tuple[str, ...] = ()  # the columns that the records of a group have in common
    sizes: tuple[str, ...] = ()  # the columns that say how many members a household has


def judge(pair: Pair, scenario: Scenario, homes: Families | None, model: PopulationModel) -> JudgedScenario:
    """Try the attacks that the keys of a scenario allow, and keep the best; on households where there are any.

    The same attacks are tried with what the rest of the file tells of the keys.
    """
    known = IntruderKnowledge.of(pair, scenario)
    everything = scenario.name == EVERYTHING
    chances, said = likeliest(known, learns_all=everything)
    found = _judged(replace(known, notes=(*known.notes, *said)), homes, model, chances)
    if everything:  # nothing is left that the rest of the file could tell
        return found
    return found.or_with_others([_judged(one.known, homes, model, one.chances) for one in told_by_others(known)])


def _judged(
    known: IntruderKnowledge,
    homes: Families | None,
    model: PopulationModel,
    further: Mapping[str, Floats] | None = None,
) -> JudgedScenario:
    """Try the attacks of an intruder, and ``further`` ones whose chances are known already."""
    pair, scenario = known.pair, known.scenario
    seen, records, attacks = known.seen, len(pair.original), known.attacks()
    codes = codes_of(seen, known.true, records)
    chances = {ALIKE: alike(*codes)[0]}
    if NEAREST in attacks:
        chances[NEAREST] = nearest(*codes_of(seen, known.categories, records), *scores_of(seen, known.numbers))
    if TRUE_ALIKE in attacks:
        chances[TRUE_ALIKE] = nearest(*codes, *scores_of(seen, known.untrue))
    if GOWER in attacks:
        chances[GOWER] = own_is_nearest_mixed(*known.places(), share=True)[0]
    if MIN_CHANGED in attacks:
        chances[MIN_CHANGED] = fewest_changed(*codes, known.changed(*codes))
    if known.methods:
        chances[BY_METHOD] = known.by_method()
    chances |= further or {}
    weights, said = population_weights(pair)
    notes = known.notes if scenario.knows_membership else (*known.notes, f"{scenario.name}: {said}")
    knowing = {attack: AttackChances(chance) for attack, chance in chances.items()}
    register = None if weights is None else WithRegister(pair, model, weights)
    searching = {} if register is None else _among_population(register, known, codes, chances)
    together: dict[str, float] = {}
    if homes is not None:
        whole = _by_all_members(pair, known, codes, homes, perturbed=GOWER in chances)
        lowered = {name: _of_population(register, known, chance, homes.unit) for name, chance in whole.items()}
        if NUMBERED in whole:  # no attack on this file, but what one would find if it numbered households
            numbered, behind = whole.pop(NUMBERED), lowered.pop(NUMBERED).chances
            together = {NUMBERED: float((numbered if scenario.knows_membership else behind).mean())}
        knowing = {name: AttackChances(chance) for name, chance in whole.items()} | _by_one_member(knowing, homes.unit)
        searching = {} if register is None else lowered | _by_one_member(searching, homes.unit)
    attack, found = best_of(knowing)
    other, estimate, mine, theirs = None, None, knowing, dict[str, AttackChances]()
    if searching:
        # by weights of each record it is the best in the file, because only those alike have weights of their own
        best = (attack, searching[attack]) if model == "Benedetti-Franconi" else best_of(searching)
        estimate, other, theirs = best[1].estimate, Chances(best[1].chances), searching
        if not scenario.knows_membership:
            other, mine, theirs = Chances(found.chances), searching, knowing
            attack, found = best
            notes = (*notes, *(f"{scenario.name}: {note}" for note in (estimate.all_notes if estimate else ())))
    chosen = Chances(found.chances)
    lesser = surer(chosen, [(name, Chances(one.chances)) for name, one in mine.items() if name != attack])
    further_others = [(name, Chances(one.chances)) for name, one in theirs.items()]
    return JudgedScenario(
        scenario,
        attack,
        chosen,
        None if homes is not None else known.violating(),
        notes,
        together or None,
        lesser=lesser,
        other=other,
        other_lesser=() if other is None else tuple(one for _, one in surer(other, further_others)),
        estimate=estimate,
    )


@dataclass(frozen=True, eq=False)
class AttackChances:
    """The chance of each record, or household, under an attack, and the estimate of the population that it rests on."""

    chances: Floats
    estimate: Matches | None = None


def best_of(found: Mapping[str, AttackChances]) -> tuple[str, AttackChances]:
    """Return the attack with the largest mean, by name, and what it finds; the first of those that tie."""
    return max(found.items(), key=lambda entry: float(entry[1].chances.mean()))


def _among_population(
    register: WithRegister, known: IntruderKnowledge, codes: tuple[Codes, Codes], chances: Mapping[str, Floats]
) -> dict[str, AttackChances]:
    """Return what the attacks on records find where the whole population may be meant."""
    found = {}
    for attack, chance in chances.items():
        if attack == ALIKE:
            names, units = tuple(known.true), lambda: alike(*codes, register.weights)[2]
            found[attack] = AttackChances(*register.lowered(chance, names, register.weights, units))
        else:
            found[attack] = AttackChances(*register.lowered(chance, known.keys, register.weights))
    return found


def _of_population(
    register: WithRegister | None, known: IntruderKnowledge, chance: Floats, unit: Integers
) -> AttackChances:
    """Return the chances of households found by all members where the whole population may be meant."""
    if register is None:
        return AttackChances(chance)
    return AttackChances(*register.of_households(chance, _mean_of(register.weights, unit), tuple(known.true)))


def _by_all_members(
    pair: Pair, known: IntruderKnowledge, codes: tuple[Codes, Codes], homes: Families, *, perturbed: bool
) -> dict[str, Floats]:
    """Return the chance of each household by attacks that use all members together.

    Where the file does not number households, NUMBERED has the chances if it did.
    """
    unit, group = homes.unit, homes.group
    if group is None:
        chances = {ALL_ALIKE: alike_households(*codes, unit)}
    else:
        members = Members.of(*_with_sizes(pair, known, codes, homes.sizes))
        chances = {IN_GROUPS: members.in_groups(unit, group), GROUPS_ALIKE: members.alike(unit, group)}
        chances[NUMBERED] = members.alike(unit, None)
    if perturbed and (known.perturbed or min(side.min(initial=0) for side in codes) < 0):
        chances[NEAREST_HOME] = nearest_households(*known.places(), unit, group)
    return chances


def _by_one_member(by_record: Mapping[str, AttackChances], unit: Integers) -> dict[str, AttackChances]:
    """Return the chance of each household by attacks on one of its members."""
    return {
        f"{attack}, one member": AttackChances(_mean_of(found.chances, unit), found.estimate)
        for attack, found in by_record.items()
    }


def _with_sizes(
    pair: Pair, known: IntruderKnowledge, codes: tuple[Codes, Codes], sizes: tuple[str, ...]
) -> tuple[Codes, Codes]:
    """Return the keys with the size of the household: who knows all members knows how many they are."""
    names = [name for name in sizes if name in pair.protected.schema and name not in known.keys]
    seen = {name: pair.footing(name) for name in names if not perturbed_key(pair, name)}
    more = codes_of(seen, [name for name, found in seen.items() if found.comparable], len(pair.original))
    before, after = (np.column_stack(both).astype(np.int32) for both in zip(codes, more, strict=True))
    return before, after


def _mean_of(figures: Floats, unit: Integers) -> Floats:
    """Return the mean of a figure over the members of each household."""
    return class_sums(unit, figures, counted(unit)) / np.bincount(unit)


def _comparable(pair: Pair, scenario: Scenario) -> tuple[tuple[str, ...], Notes]:
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
        if all((~_missing(column)).any() for column in (found.original, found.protected)):
            kept.append(name)
        else:
            notes.append(f"left out, {name}: it has no value in one of the tables")
    if not kept:
        notes.append(f"{scenario.name}: the protected table has none of the keys, so the intruder can only guess")
    return tuple(kept), tuple(notes)


def _missing(column: NDArray[np.generic]) -> NDArray[np.bool_]:
    gaps: NDArray[np.bool_] = np.isnan(column) if column.dtype.kind == "f" else column < 0  # type: ignore[operator]
    return gaps
