"""Scenarios of a table in parts: counts over all records, and a sample of them looked for among all protected ones.

Who agrees in all keys is counted over the classes of both tables, so that it holds for every record. Who is nearest is
asked for a simple random sample of the original records, each searched for among all protected ones. Where the keys
have few combinations one record of each is looked for instead, and every attack holds for every record.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import matching_sums
from sfumato.kernels.groups import class_sums, classes, first_records
from sfumato.kernels.spread import standardised
from sfumato.pair import Half, Pair, design_weights
from sfumato.pair.sample import NORMAL, Columns, Sample
from sfumato.pair.statistics import KeyClasses, Moments, Sums, Values
from sfumato.pair.terms import Terms
from sfumato.risk.attacks import LookedFor, agree, alike_in_sets, fewest_changed_chance
from sfumato.risk.compared_variables import codes_among
from sfumato.risk.individual import household_chances
from sfumato.risk.judged import (
    ALIKE,
    GOWER,
    MIN_CHANGED,
    NEAREST,
    TRUE_ALIKE,
    Chances,
    IntruderKnowledge,
    JudgedScenario,
)
from sfumato.risk.points import Ends, Places, SoughtRecords, Space, linked
from sfumato.risk.population import Matches, PopulationModel, WithRegister, population_weights
from sfumato.risk.told_by_others import with_functions
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Scenario

# Attacks on some original records against all protected ones, part by part: counts that add up. A part needs no more
# than the records that are looked for, how far their own records lie, and how its values are put on the footing of both
# tables. So a search goes to another process, and what comes back are a few numbers per record.

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coder:
    """Keys as codes by which the records that are looked for agree with others, as in codes of both whole tables.

    Of a number only the values of the records looked for have codes of their own: all others agree with none of them.
    """

    values: tuple[tuple[str, Floats | None], ...]  # None: of categories, which have codes already

    @classmethod
    def of(cls, before: Columns, names: Sequence[str]) -> "Coder":
        """Take the keys of the records that are looked for."""
        return cls(tuple((name, _numbers_of(before[name])) for name in names))

    def __call__(self, columns: Columns) -> Codes:
        """Return the keys of records, on the footing of both tables, as codes; missing is -1."""
        coded = [_coded(columns[name], values) for name, values in self.values]
        records = len(next(iter(columns.values())))
        return np.column_stack(coded) if coded else np.empty((records, 0), dtype=np.int32)


def _numbers_of(column: NDArray[Any]) -> Floats | None:
    return np.unique(column[~np.isnan(column)]) if column.dtype.kind == "f" else None


def _coded(column: NDArray[Any], values: Floats | None) -> Codes:
    if values is None:
        return column.astype(np.int32)
    places = np.searchsorted(values, column)
    there = np.append(values, np.nan)[places] == column
    return np.where(np.isnan(column), -1, np.where(there, places, len(values))).astype(np.int32)


class Attack(ABC):
    """One attack on the records looked for."""

    @abstractmethod
    def counted(self, columns: Columns, weights: Floats | None) -> dict[str, NDArray[Any]]:
        """Count what a part holds for each record looked for; the counts of parts add up."""

    @abstractmethod
    def chance(self, counts: Mapping[str, NDArray[Any]]) -> Floats:
        """Return the chance of each record looked for, from the counts of all parts."""


@dataclass(frozen=True, eq=False)
class AlikeAttack(Attack):
    """Any of the records that agree in every key."""

    coder: Coder
    before: Codes
    own: Codes

    @classmethod
    def of(cls, before: Columns, after: Columns, names: Sequence[str]) -> "AlikeAttack":
        """Look for records by these keys."""
        coder = Coder.of(before, names)
        return cls(coder, coder(before), coder(after))

    def counted(self, columns: Columns, weights: Floats | None) -> dict[str, NDArray[Any]]:
        """Count the records that agree, and what they weigh."""
        asked, _ = classes(self.before)
        wanted = self.before[first_records(asked)]
        codes = self.coder(columns)
        cell_of, sizes = classes(codes)
        rows = codes[first_records(cell_of)]
        found = {"number": np.rint(matching_sums(wanted, rows, sizes))[asked]}
        if weights is not None:
            found["units"] = matching_sums(wanted, rows, class_sums(cell_of, weights, len(sizes)))[asked]
        return found

    def chance(self, counts: Mapping[str, NDArray[Any]]) -> Floats:
        """Return one over the number of those that agree, if the own record is among them."""
        return np.where(agree(self.before, self.own), 1 / np.maximum(counts["number"], 1), 0.0)


@dataclass(frozen=True, eq=False)
class FewestChanged(AlikeAttack):
    """The records that differ in the fewest of the keys that were changed, and agree in all others."""

    changed: tuple[int, ...] = ()

    def counted(self, columns: Columns, weights: Floats | None) -> dict[str, NDArray[Any]]:
        """Count the records that agree in the rest and in sets of what was changed."""
        found = alike_in_sets(self.before, self.coder(columns), self.changed)
        return {str(size): counts for size, counts in enumerate(found)}

    def chance(self, counts: Mapping[str, NDArray[Any]]) -> Floats:
        """Return one over the number of those with the fewest changes, if the own record is one of them."""
        found = np.stack([counts[str(size)] for size in range(len(self.changed) + 1)])
        return fewest_changed_chance(self.before, self.own, self.changed, found)


@dataclass(frozen=True, eq=False)
class NearestAttack(Attack):
    """The nearest in some numbers, of the records that agree in other keys."""

    coder: Coder
    numbers: tuple[str, ...]
    mean: Floats
    spread: Floats
    space: Space
    looked_for: LookedFor

    @classmethod
    def of(
        cls,
        before: Columns,
        after: Columns,
        agreeing: Sequence[str],
        numbers: Sequence[str],
        scale: tuple[Floats, Floats],
        space: Space,
    ) -> "NearestAttack":
        """Look for records by these keys; ``scale`` has the means and standard deviations of the original."""
        coder = Coder.of(before, agreeing)
        here, own = (
            space.placed(standardised(np.column_stack([side[name] for name in numbers]), *scale))
            for side in (before, after)
        )
        looked_for = LookedFor.of(coder(before), coder(after), here, own, space)
        return cls(coder, tuple(numbers), *scale, space, looked_for)

    def counted(self, columns: Columns, weights: Floats | None) -> dict[str, NDArray[Any]]:
        """Count the records nearer than the own, and those as near."""
        values = np.column_stack([columns[name] for name in self.numbers])
        there = self.space.placed(standardised(values, self.mean, self.spread))
        nearer, tied = self.looked_for.among(self.coder(columns), there, self.space)
        return {"nearer": nearer, "tied": tied}

    def chance(self, counts: Mapping[str, NDArray[Any]]) -> Floats:
        """Return one over the number of the nearest, if the own record is one of them."""
        return self.looked_for.chance(counts["nearer"], counts["tied"])


@dataclass(frozen=True, eq=False)
class GowerAttack(Attack):
    """The nearest over all keys in Gower's distance."""

    places: tuple[tuple[str, Places], ...]
    sought: SoughtRecords

    @classmethod
    def of(cls, before: Columns, after: Columns, places: Mapping[str, Places]) -> "GowerAttack":
        """Look for records by these keys."""
        here, own = (np.column_stack([place(side[name]) for name, place in places.items()]) for side in (before, after))
        return cls(tuple(places.items()), SoughtRecords.gower(here, own))

    def counted(self, columns: Columns, weights: Floats | None) -> dict[str, NDArray[Any]]:
        """Count the records nearer than the own, and those as near."""
        there = np.column_stack([place(columns[name]) for name, place in self.places])
        nearer, tied = self.sought.among(there)
        return {"nearer": nearer, "tied": tied}

    def chance(self, counts: Mapping[str, NDArray[Any]]) -> Floats:
        """Return one over the number of the nearest, if the own record is one of them."""
        return linked(counts["nearer"], counts["tied"], share=True)[0]


@dataclass(frozen=True, eq=False)
class Search:
    """All attacks of a scenario, tried on a part of the protected table; it goes to other processes."""

    terms: tuple[Terms, ...]
    attacks: Mapping[str, Attack]
    weighted: bool

    def __call__(self, part: Microdata) -> Sums:
        """Return what the part holds for each attack and record."""
        columns = {terms.name: terms(part) for terms in self.terms} or nothing_known(len(part))
        weights = part.weights() if self.weighted else None
        return Sums(
            {
                f"{name}: {what}": counts
                for name, attack in self.attacks.items()
                for what, counts in attack.counted(columns, weights).items()
            }
        )

    def chances(self, found: Sums) -> dict[str, Floats]:
        """Return the chance of each record looked for, by attack."""
        return {name: attack.chance(counts_of(found, name)) for name, attack in self.attacks.items()}


def nothing_known(records: int) -> Columns:
    """Return a column for records of which nothing is known, so that all are alike."""
    return {"": np.zeros(records, dtype=np.int32)}


def counts_of(found: Sums, attack: str) -> dict[str, NDArray[Any]]:
    """Return what was counted for one attack."""
    start = f"{attack}: "
    return {name.removeprefix(start): counts for name, counts in found.named.items() if name.startswith(start)}


# what came of a scenario

Integers = NDArray[np.int64]

CHUNK = 500_000  # records of whole columns that are looked at together
MAX_CELLS = 4_000_000  # combinations of the keys of both tables that are counted for all records
MAX_VALUES = 1_000_000  # different values of a number up to which it is counted so
MAX_KINDS = 20_000  # combinations of keys up to which one record of each is looked for, in place of a sample
MAX_MEMBERS = 20  # times as many records as were drawn may live with them


@dataclass(frozen=True, eq=False)
class _Looked:
    """The records that are looked for: their keys in both tables, and how many records each stands for."""

    before: Columns
    after: Columns
    times: Floats | None  # None: each for itself; 0: looked for because of whom it lives with
    sample: Sample | None  # None: all records are accounted for
    rows: Integers | None = None  # their numbers in the whole table
    unit: Integers | None = None  # their households, where these are asked for

    def chances(self, values: Floats, counted: tuple[Floats, Chances] | None = None) -> Chances:
        return Chances(values, self.times, self.sample, counted)

    def may_lead(self, values: Floats, best: Floats) -> bool:
        """Tell whether the mean of some chances may be as large as that of the best, over all records, at 95 %."""
        if self.sample is None:
            return False
        ahead = values - best if self.times is None else (values - best)[self.times > 0]
        return float(ahead.mean()) + NORMAL * self.sample.error(ahead, low=-1.0) >= 0


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
        asked, _ = classes(self.before)
        cell_of, _ = classes(self.after)
        rows = self.after[first_records(cell_of)]
        return matching_sums(self.before[first_records(asked)], rows, class_sums(cell_of, figures, len(rows)))[asked]

    def chances(self, values: Floats) -> Chances:
        return Chances(values, self.found.sizes.astype(np.float64))

    def looked_for(self) -> _Looked:
        """Return one record of each combination."""
        sides = [
            {name: _decoded(codes, values) for name, values, codes in zip(self.names, self.values, side.T, strict=True)}
            for side in (self.before, self.after)
        ]
        before, after = (side or nothing_known(len(self.found)) for side in sides)
        return _Looked(before, after, self.found.sizes.astype(np.float64), None)


def _decoded(codes: NDArray[np.int32], values: Floats | None) -> NDArray[Any]:
    return codes if values is None else np.append(values, np.nan)[codes]


def judge_in_parts(
    pair: Pair, scenario: Scenario, sample: Sample, homes: Half | None, model: PopulationModel
) -> JudgedScenario:
    """Try the attacks that the keys of a scenario allow, and keep the best; with functions of the keys as keys too."""
    known = IntruderKnowledge.of(pair, scenario)
    found, wider = _judged(known, sample, homes, model), with_functions(known)
    if wider is None:
        return found
    return found.or_with_others([_judged(wider, sample, homes, model)])


def _judged(known: IntruderKnowledge, sample: Sample, homes: Half | None, model: PopulationModel) -> JudgedScenario:
    """Try the attacks of an intruder."""
    pair, scenario = known.pair, known.scenario
    weights, said = population_weights(pair)
    notes = known.notes if scenario.knows_membership else (*known.notes, f"{scenario.name}: {said}")
    if known.methods:
        notes = (*notes, f"{scenario.name}: of a sample the attack of who knows the method is not tried")
    cells = None if sample.whole else _cells(known, weights)
    every = cells is not None and not known.untrue and len(cells.found) <= MAX_KINDS
    each = every and (weights is None or scenario.knows_membership)
    looked = cells.looked_for() if each and homes is None and cells is not None else _drawn(known, sample, homes)
    search = Search(
        tuple(Terms.of(pair, name) for name in known.keys), _attacks(known, looked), weighted=weights is not None
    )
    found = _through(pair, search, weighted=weights is not None)
    knowing = _AttackResult(search.chances(found), None if cells is None or looked.sample is None else cells.alike()[0])
    searching = None
    if weights is not None:
        register = WithRegister(pair, model, np.asarray(weights), sampled=True)
        searching = _among_population(known, register, knowing, found, looked, cells)
    mine, other = (knowing, searching) if scenario.knows_membership or searching is None else (searching, knowing)
    judged, others = (None if one is None else one.judged(looked, cells) for one in (mine, other))
    assert judged is not None
    best = _best(judged)
    if model == "Benedetti-Franconi":  # as in memory
        best = _best(knowing.judged(looked, cells))
    settled = cells is not None and not known.untrue and cells.unchanged
    rivals = [
        attack
        for attack, chance in mine.chances.items()
        if attack != best and not settled and looked.may_lead(chance, mine.chances[best])
    ]
    estimate = None if searching is None else searching.estimates.get(best)
    if estimate is not None and not scenario.knows_membership:
        notes = (*notes, *(f"{scenario.name}: {note}" for note in estimate.all_notes))
    return JudgedScenario(
        scenario,
        best,
        judged[best],
        _violating(known, cells),
        notes,
        None if looked.unit is None else _with_households(mine.chances[best], looked),
        looked.sample,
        tuple(judged[attack] for attack in rivals),
        lesser=() if settled else tuple((attack, one) for attack, one in judged.items() if attack != best),
        other=None if others is None else others[_best(others)],
        other_lesser=() if others is None or settled else tuple(others.values()),
        estimate=estimate,
    )


def _violating(known: IntruderKnowledge, cells: _Cells | None) -> float | None:
    """Return the share of records whose keys fewer than k protected records agree with; see ``Known.violating``.

    Where there are too many combinations it is counted among the protected records alone.
    """
    counted = known.counted
    if counted is None:
        return None
    found = cells if cells is not None and cells.names == counted.keys else _cells(counted, None)
    if found is not None:
        return found.fewer_than(known.scenario.k)
    classes_of = known.pair.protected.classes(counted.keys)
    return classes_of.share(classes_of.counts < known.scenario.k)


@dataclass(frozen=True, eq=False)
class _AttackResult:
    """The chances of the records looked for by attack, those of all combinations among those alike, and estimates."""

    chances: Mapping[str, Floats]
    every_alike: Floats | None
    estimates: Mapping[str, Matches | None] = field(default_factory=dict)

    def judged(self, looked: _Looked, cells: _Cells | None) -> dict[str, Chances]:
        """Return what each attack finds in the whole table."""
        counted = None
        if cells is not None and self.every_alike is not None:
            counted = self.chances[ALIKE], cells.chances(self.every_alike)
        judged = {attack: looked.chances(chance, counted) for attack, chance in self.chances.items()}
        return judged if counted is None else judged | {ALIKE: counted[1]}


def _best(judged: Mapping[str, Chances]) -> str:
    return max(judged, key=lambda attack: judged[attack].mean)


def _among_population(
    known: IntruderKnowledge,
    register: WithRegister,
    knowing: _AttackResult,
    found: Sums,
    looked: _Looked,
    cells: _Cells | None,
) -> _AttackResult:
    """Return the chances of one who does not know who took part."""
    if looked.rows is not None:
        own = np.asarray(register.weights[looked.rows])
    else:  # one record of each combination is looked for
        assert cells is not None and cells.found.weights is not None
        own = cells.found.weights / cells.found.sizes
    chances, estimates = {}, {}
    for attack, chance in knowing.chances.items():
        units = counts_of(found, attack).get("units")
        names = tuple(known.true) if attack == ALIKE else known.keys
        chances[attack], estimates[attack] = register.lowered(
            chance, names, own, None if units is None else partial(np.asarray, units)
        )
    every = None
    if cells is not None and knowing.every_alike is not None:
        alike, units = cells.alike()
        assert units is not None
        every = register.lowered(alike, tuple(known.true), alike, partial(np.asarray, units))[0]
    return _AttackResult(chances, every, estimates)


def _attacks(known: IntruderKnowledge, looked: _Looked) -> dict[str, Attack]:
    attacks: dict[str, Attack] = {ALIKE: AlikeAttack.of(looked.before, looked.after, known.true)}
    wanted = known.attacks()
    if NEAREST in wanted:
        attacks[NEAREST] = _nearest(known, looked, known.categories, known.numbers)
    if TRUE_ALIKE in wanted:
        attacks[TRUE_ALIKE] = _nearest(known, looked, known.true, known.untrue)
    if MIN_CHANGED in wanted:
        codes = AlikeAttack.of(looked.before, looked.after, known.true)
        changed = tuple(known.changed(codes.before, codes.own))
        attacks[MIN_CHANGED] = FewestChanged(codes.coder, codes.before, codes.own, changed)
    if GOWER in wanted:
        places = {name: Places.of(known.seen[name]) for name in known.keys}
        attacks[GOWER] = GowerAttack.of(looked.before, looked.after, places)
    return attacks


def _nearest(known: IntruderKnowledge, looked: _Looked, agreeing: list[str], numbers: list[str]) -> NearestAttack:
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
    return NearestAttack.of(looked.before, looked.after, agreeing, numbers, (mean, spread), Space.between(here, there))


def _moments(column: NDArray[Any]) -> Moments:
    return Moments.together([Moments.of(np.asarray(column[rows])[:, None]) for rows in _chunks(len(column))])


def _chunks(records: int) -> Iterator[slice]:
    for start in range(0, records, CHUNK):
        yield slice(start, min(start + CHUNK, records))


def _through(pair: Pair, search: Search, *, weighted: bool) -> Any:
    """Search all parts of the protected table, those with the weights where they count."""
    half = design_weights(pair)[0] if weighted else None
    return (half or pair.protected).total(search)


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


def _drawn(known: IntruderKnowledge, sample: Sample, homes: Half | None) -> _Looked:
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
    return _Looked(before, after, times, None if sample.whole else sample, rows, unit)


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


def _with_households(chance: Floats, looked: _Looked) -> dict[str, float]:
    """Return the mean over the records drawn, and the largest, of the chance that one of a household is found."""
    assert looked.unit is not None
    together = household_chances(chance, looked.unit)
    return {
        "records, with their household": looked.chances(together[looked.unit]).mean,
        "largest of a household": float(together.max()),
    }
