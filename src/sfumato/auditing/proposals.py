"""What a look at a table proposes for its schema: who is weighed, grouped and named, and what follows what.

``sfumato inspect`` and the page of variables show the same. Nothing is decided here: a schema decides.

Which variables others determine is found before anything is protected. Each is taken for removed, and the audit's own
routes say what gives it back: another column (a copy, a function, a rounded copy), two or three together, a sum or a
product. Where two tell each other, one is the source: a key before other variables, else the one that stands first. In
a wide table a look at all variables at once says which of them to try.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing import evidence as held
from sfumato.auditing.audit import FALSE_ALARMS
from sfumato.auditing.evidence import Evidence
from sfumato.auditing.routes import MAX_VALUES_TO_COMBINE, combined, joined
from sfumato.auditing.targets import Floats, Mask, Target, gone
from sfumato.auditing.trials import Trial, restored_by, screened, tried
from sfumato.errors import OF_THE_RUN, SchemaError, unexpected
from sfumato.parameters import random_generator
from sfumato.table import toml_text
from sfumato.table.describe import Behaviour, Finding, behaviours, describe
from sfumato.table.households import units
from sfumato.table.microdata import Microdata
from sfumato.table.roles import ProposedRole, proposed_roles
from sfumato.table.sums import relation

T = TypeVar("T")

MAX_VARIABLES = 1_000  # variables that are held against each other
MAX_RECORDS_READ = 4_000  # records that are looked through, a random sample where there are more
MIN_RECORDS = 20  # records from which on a dependency says something
MAX_RANK_DISTANCE = 0.01  # of the records may lie between a number and what is told of it
MIN_SHARE_TOLD = 0.9  # of what the best guess leaves open the sources must tell
MIN_SHARE_OF_SOURCE = 0.1  # of what there is to know of a source the variable must tell, or linking it is not worth it
MAX_COMBINED_VARIABLES = 60  # variables that are combined into sets or sums
MAX_SETS = 1_500  # pairs of variables tried in all
SCREENING = 0.05  # by which a share found on a sample may be too low
MIN_SHARE_OF_PILE = 0.2  # of the records that have one value of an amount, such as no rent
ENTROPY_TOLERANCE = 1e-9  # bits by which what there is to know of two copies differs
MAX_PARTS = 8  # of a sum
MARGIN = 0.1
ROLES = ("key", "confidential", "other", "identifier")

MIN_NEIGHBOUR_AGREEMENT = 0.5  # of what chance leaves open records next to each other in a source must agree in
NEIGHBOURS = 0.05  # of the records may lie between two numbers that agree so
MAX_PAIRS, MIN_PAIRS_OF_COLUMN = 10_000, 10  # of columns that are tried in a wide table, and for each column
# of the table that is looked at: fewer records if it is wide, but so many
CELLS, MIN_RECORDS_OF_WIDE_TABLE = 200_000, 500

Special = Literal["weight", "household", "id"]
# what a suggestion by name means
SPECIALS_BY_SUGGESTION = {"weight": "weight", "household": "household", "identifier": "id"}


@dataclass(frozen=True)
class Dependency:
    """A variable that others determine: ``holds`` for this share of the records looked through, one by one.

    ``tells`` is the share of what there is to know of the sources that the variable tells: 1 of a copy. ``formula`` is
    what it is a sum or a product of.
    """

    name: str
    sources: tuple[str, ...]
    holds: float
    tells: float
    formula: str = ""

    @property
    def copy(self) -> bool:
        """Whether it and its one source tell each other, as under another name or in another unit."""
        return len(self.sources) == 1 and min(self.holds, self.tells) > MIN_SHARE_TOLD

    @property
    def line(self) -> str:
        """What to write under the variable in schema.toml."""
        return f"linked = {toml_text.names(self.sources)}"

    @property
    def sentence(self) -> str:
        """The dependency in words.

        >>> Dependency("cohort", ("age",), holds=1.0, tells=1.0).sentence
        'age tells it in 100.0% of the records, and it tells age'
        """
        if self.formula:
            return f"{self.name} = {self.formula}, in {self.holds:.1%} of the records"
        one = len(self.sources) == 1
        told = f"{' and '.join(self.sources)} {'tells' if one else 'tell'} it in {self.holds:.1%} of the records"
        whom = self.sources[0] if one else "them"
        return f"{told}, and it tells {whom if self.tells > MIN_SHARE_TOLD else f'{self.tells:.0%} of {whom}'}"


@dataclass(frozen=True)
class Dependencies:
    """What to link, what tells most first; ``apart`` are sentences on what determines others and is no source."""

    records: int
    looked: int  # records that were looked through
    found: tuple[Dependency, ...]
    apart: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what of a wide table was not tried


def dependencies(
    data: Microdata, *, found: Iterable[Behaviour] | None = None, rng: np.random.Generator | int | None = 0
) -> Dependencies:
    """Find the variables of a table that one other, a few together or a sum determine, wholly or nearly.

    A variable is proposed if nine tenths of what the best guess leaves open are told by its sources, record by record
    from the others, and by more than luck: with a chance of 1 % of any false proposal in a table. Variables that are
    linked already, that have one value, and ids, households and weights are not; nor is what tells little of its
    source. ``found`` is what behaves like an id or a household, if that is known already.

    >>> import pyarrow as pa
    >>> ages = [18 + 7 * i % 60 for i in range(120)]
    >>> table = pa.table({"age": ages, "cohort": [2020 - age for age in ages], "sex": ["f", "m", "m"] * 40})
    >>> [(one.name, one.line) for one in dependencies(Microdata.from_frame(table)).found]
    [('cohort', 'linked = "age"')]
    """
    if len(data) < MIN_RECORDS:
        return Dependencies(len(data), 0, ())
    generator = random_generator(rng)
    # not as they stood, because of each household the first teaches
    rows = generator.permutation(len(data))[:MAX_RECORDS_READ]
    search = _Search(data.take(rows), _naming(data, behaviours(data) if found is None else found), generator)
    return Dependencies(len(data), len(rows), tuple(search.proposals()), tuple(search.apart()), tuple(search.notes))


def _naming(data: Microdata, found: Iterable[Behaviour]) -> frozenset[str]:
    """Name the columns that behave like ids, or like numbers of households whose members stand together.

    What does not stand together may as well be an age with its copies, which are constant in each age.
    """
    named = []
    for one in found:
        column = data.columns[one.name]
        runs = 1 + int(np.count_nonzero(column[1:] != column[:-1]))
        if one.behaves == "id" or (one.behaves == "household" and runs == len(np.unique(column))):
            named.append(one.name)
    return frozenset(named)


@dataclass(frozen=True, eq=False)
class _Search:
    """The records looked through, and what was found in them."""

    data: Microdata
    naming: frozenset[str]  # columns that name records or households
    rng: np.random.Generator
    notes: list[str] = field(default_factory=list)

    @cached_property
    def columns(self) -> Mapping[str, Evidence]:
        """The variables that may determine others or be determined, as evidence."""
        names = [name for name in self.data.schema.analysed() if name not in self.naming]
        if len(names) > MAX_VARIABLES:  # each is held against each
            self.notes.append(f"looked through: the first {MAX_VARIABLES:,} of {len(names):,} variables")
            names = names[:MAX_VARIABLES]
        found = {name: held.column(self.data, name) for name in names}
        return {name: one for name, one in found.items() if held.informative(one)}

    @cached_property
    def targets(self) -> Mapping[str, Target]:
        """Every variable that is not linked yet, taken for removed."""
        order = self.rng.permutation(len(self.data))
        households = units(self.data) if self.data.schema.household is not None else None
        found = {}
        for name in (name for name in self.columns if not self.data.schema[name].sources):
            for target in gone(self.data, name, MAX_RANK_DISTANCE):
                found[name] = replace(target, order=order, units=households)
        return found

    def proposals(self) -> list[Dependency]:
        """Return what to link: no two that say the same, nothing that goes round in a circle."""
        likely = likely_sources(self.data, self.columns, self.rng)
        if any(len(sources) >= most_likely(len(self.columns)) for sources in likely.values()):
            self.notes.append(f"tried as a source of a variable: the {most_likely(len(self.columns))} likeliest ones")
        alone = {name: self._alone(target, likely[name]) for name, target in self.targets.items()}
        copies = self._copies(alone)
        once = [name for name in self.columns if name not in copies]
        several = [*self._sums(once, alone), *self._together(once, alone)]
        made_of = {
            one.name: one.sources for one in several
        }  # a stratum tells region and age group, and is made of them
        proposed = [self._dependency(name, (source,), alone[name][source]) for name, source in copies.items()]
        for name in (name for name in once if name in alone):
            sources = [s for s in alone[name] if s not in copies and name not in made_of.get(s, ())]
            offered = [self._dependency(name, (source,), alone[name][source]) for source in sources]
            if offered:
                proposed.append(max(offered, key=lambda one: (one.tells, -self._rank(one.sources[0]))))
        proposed = [one for one in proposed if one.tells >= MIN_SHARE_OF_SOURCE]
        proposed.sort(key=lambda one: (-one.tells, self._rank(one.name)))
        return self._without_circles([*proposed, *several])

    def apart(self) -> Iterable[str]:
        """Say what determines others and is no source of them."""
        schema = self.data.schema
        named = [name for name in schema.names if name in self.naming]
        if named:
            yield f"{', '.join(named)}: names records or households, so it determines what these have; not linked"
        told = self._told_by_weight()
        if told:
            said = "it is raked anew before a release if it gives values back"
            yield f"{schema.weight}: the weight tells {', '.join(told)}; {said}, so nothing need be linked to it"

    def _alone(self, target: Target, likely: Sequence[str]) -> dict[str, float]:
        """Return the columns that determine a variable, with the share that each gives back.

        There is at least as much to know of a source as of what it determines, but for exceptions.
        """
        found, least = {}, MIN_SHARE_TOLD * self._entropies[target.name]
        offered = [self.columns[source] for source in likely if self._entropies[source] >= least]
        for one, share in screened(target, offered):
            if share - target.guess.share < MIN_SHARE_TOLD * (1 - target.guess.share) - SCREENING:
                break
            trial = tried(target, one)
            if self._determines(trial, len(self.columns) ** 2) and not self._asked_of_some(trial):
                found[one.shown[0]] = trial.share
        return found

    @cached_property
    def _entropies(self) -> Mapping[str, float]:
        return {name: _entropy(one.codes) for name, one in self.columns.items()}

    def _determines(self, trial: Trial, tests: int) -> bool:
        enough = trial.share - trial.guess >= MIN_SHARE_TOLD * (1 - trial.guess)
        return enough and restored_by(trial, FALSE_ALARMS / 2 / tests, MARGIN, associated=False).alarm

    def _asked_of_some(self, trial: Trial) -> bool:
        """Tell whether sources determine a variable only by having a value: a question that was asked of some.

        An amount that is zero for many is such a question too.
        """
        there = np.ones(len(trial.rows), dtype=bool)
        for source in trial.evidence.shown:
            column, missing = self.data.columns[source][trial.rows], self.data.missing(source)[trial.rows]
            there &= ~missing
            values, counts = np.unique(column[~missing], return_counts=True)
            if self.data.schema[source].kind == "numeric" and counts.max(initial=0) > MIN_SHARE_OF_PILE * counts.sum():
                there &= column != values[counts.argmax()]
        if there.all():
            return False
        true = trial.target.truth.codes[trial.rows][there]
        usual = np.bincount(true).max(initial=0) / max(len(true), 1)
        return not len(true) or usual == 1 or trial.right[there].mean() - usual < MIN_SHARE_TOLD * (1 - usual)

    def _copies(self, alone: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
        """Return the source of each variable that has a copy: the finer one, or the one that ranks before it."""
        copies: dict[str, str] = {}
        for name in sorted(alone, key=self._rank, reverse=True):
            twins = [other for other in alone[name] if name in alone.get(other, ())]
            before = [o for o in twins if o not in copies and self._before(o, name)]
            if before:
                copies[name] = min(before, key=self._rank)
        return copies

    def _before(self, one: str, other: str) -> bool:
        finer = self._entropies[one] - self._entropies[other]
        return finer > 0 if abs(finer) > ENTROPY_TOLERANCE else self._rank(one) < self._rank(other)

    def _rank(self, name: str) -> int:
        place = self.data.names.index(name)
        return ROLES.index(self.data.schema[name].role) * len(self.data.names) + place

    def _dependency(self, name: str, sources: tuple[str, ...], holds: float, formula: str = "") -> Dependency:
        return Dependency(name, sources, holds, self._tells(name, sources), formula)

    def _tells(self, name: str, sources: Sequence[str]) -> float:
        """Return the share of the sources' entropy that the variable has, at most 1."""
        whole = np.zeros(len(self.data), dtype=np.int64)
        for source in sources:
            evidence = self.columns[source]
            whole = np.unique(whole * evidence.number + evidence.codes, return_inverse=True)[1].astype(np.int64)
        return min(_entropy(self.columns[name].codes) / max(_entropy(whole), 1e-12), 1.0)

    def _together(self, once: Sequence[str], alone: Mapping[str, Mapping[str, float]]) -> Iterable[Dependency]:
        """Yield what two or three variables determine that none of them does alone."""
        most = max(min(MAX_VALUES_TO_COMBINE, len(self.data) // 4), 2)
        few = [self.columns[name] for name in once if self.columns[name].number <= most]
        few = self._first(few, lambda one: one.shown[0], "variables with few values, for sets that determine others")
        asked = [one.shown[0] for one in few if one.shown[0] in alone and not alone[one.shown[0]]]
        room = max(int(np.sqrt(2 * MAX_SETS / max(len(asked), 1))), 6)
        for name in asked if len(few) > 2 else ():
            trial = combined(self.targets[name], few, room)
            tests = max(trial.tests, 1) * len(asked) if trial is not None else 1
            if trial is None or not self._determines(trial, tests) or self._asked_of_some(trial):
                continue
            trial = self._coarsest(trial, {one: alone[one] for one in once if one in alone})
            found = self._dependency(name, trial.evidence.shown, trial.share)
            if found.tells >= MIN_SHARE_OF_SOURCE:
                yield found

    def _first(self, offered: list[T], name_of: Callable[[T], str], what: str) -> list[T]:
        """Return as many as can be combined, those that rank first as sources, and say what is left out."""
        if len(offered) <= MAX_COMBINED_VARIABLES:
            return offered
        self.notes.append(f"looked through: {MAX_COMBINED_VARIABLES} of {len(offered):,} {what}")
        kept = {
            name_of(one) for one in sorted(offered, key=lambda one: self._rank(name_of(one)))[:MAX_COMBINED_VARIABLES]
        }
        return [one for one in offered if name_of(one) in kept]

    def _coarsest(self, trial: Trial, alone: Mapping[str, Mapping[str, float]]) -> Trial:
        """Take, for each of some sources, the coarsest variable that it determines and that does as well."""
        for source in trial.evidence.shown:
            taken = {*trial.evidence.shown, trial.target.name}
            coarser = [name for name in alone if source in alone[name] and name not in taken]
            for name in sorted(coarser, key=lambda name: self._entropies[name]):
                others = [self.columns[other] for other in trial.evidence.shown if other != source]
                tested = tried(trial.target, joined(self.columns[name], *others))
                if tested.share >= trial.share:
                    trial = replace(tested, tests=trial.tests)
                    break
        return trial

    def _sums(self, once: Sequence[str], alone: Mapping[str, Mapping[str, float]]) -> Iterable[Dependency]:
        """Yield sums and products; of those that say the same the total, else what is least worth as a source."""
        amounts = [name for name in once if self.data.schema[name].kind == "numeric"]
        amounts = self._first(amounts, lambda name: name, "numbers, for sums and products")
        numbers = {name: self.data.columns[name] for name in amounts}
        found: dict[frozenset[str], tuple[bool, int, Dependency]] = {}
        for name in (name for name in numbers if name in alone and not alone[name]):
            others = {n: x for n, x in numbers.items() if n != name}
            holds = relation(numbers[name], others, set(), factors=others)
            if holds is None or not 1 < len(holds.parts) <= MAX_PARTS or holds.holds < MIN_SHARE_TOLD:
                continue
            same = frozenset({name, *holds.parts})
            total = min(holds.factors) > 0, self._rank(name)
            if same not in found or total > found[same][:2]:
                found[same] = *total, self._dependency(name, holds.parts, holds.holds, str(holds))
        yield from (one for _, _, one in found.values())

    def _told_by_weight(self) -> list[str]:
        weight = self.data.schema.weight
        if weight is None or not held.informative(held.column(self.data, weight)):
            return []
        evidence = held.column(self.data, weight)
        trials = {name: tried(target, evidence) for name, target in self.targets.items()}
        return [name for name, trial in trials.items() if self._determines(trial, len(trials))]

    def _without_circles(self, ranked: Iterable[Dependency]) -> list[Dependency]:
        """Keep one proposal for each variable, and none that closes a circle with those before it."""
        schema, kept = self.data.schema, []
        for one in ranked:
            if schema[one.name].sources:
                continue
            try:
                schema = schema.replace(replace(schema[one.name], linked=one.sources))
            except SchemaError:
                continue
            kept.append(one)
        return kept


def _entropy(codes: NDArray[np.int64]) -> float:
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    return float(-(shares * np.log2(shares)).sum())


def likely_sources(
    data: Microdata, columns: Mapping[str, Evidence], rng: np.random.Generator
) -> Mapping[str, list[str]]:
    """Return for each column those that may determine it: records next to each other in these mostly agree in it.

    Next to each other are records with the same value, and of a source that has an order also those with the next one.
    Whatever determines a column, wholly or nearly, is among them; most of what does not is not. In a table of more
    columns than ``MAX_PAIRS`` allows to try all of them for, those stay in which records agree most.
    """
    if not columns:
        return {}
    offered: dict[str, list[tuple[float, int, str]]] = {name: [] for name in columns}
    names = list(columns)
    rows = slice(0, max(MIN_RECORDS_OF_WIDE_TABLE, CELLS // len(names)))
    values = np.column_stack([_places(columns[name])[rows] for name in names])
    missing = np.column_stack([data.missing(name)[rows] for name in names])
    quantity = np.array([data.columns[name].dtype.kind == "f" for name in names])
    apart = np.where(quantity, NEIGHBOURS * len(data), 0.0)
    usual = _agreement(values, missing, apart, rng.permutation(len(values)), None)
    for source in names:
        codes = columns[source].codes[rows]
        order = np.argsort(codes, kind="stable")
        same = None if columns[source].ordered else codes[order][1:] == codes[order][:-1]
        found = _agreement(values, missing, apart, order, same)
        for place in np.flatnonzero(found - usual >= MIN_NEIGHBOUR_AGREEMENT * (1 - usual)):
            if names[place] != source:
                offered[names[place]].append((-float(found[place]), len(offered[names[place]]), source))
    most = most_likely(len(names))
    return {name: [source for *_, source in sorted(found)[:most]] for name, found in offered.items()}


def most_likely(columns: int) -> int:
    """Return how many sources are tried for each of so many columns."""
    return max(MAX_PAIRS // max(columns, 1), MIN_PAIRS_OF_COLUMN)


def _places(evidence: Evidence) -> Floats:
    """Return the codes of a category, of what has an order the ranks.

    >>> _places(Evidence(("age",), np.array([2, 0, 2, 1]), ordered=True))
    array([3. , 0.5, 3. , 1.5])
    """
    if not evidence.ordered:
        return evidence.codes.astype(np.float64)
    below = np.concatenate([[0], np.cumsum(np.bincount(evidence.codes))])
    return np.asarray((below[evidence.codes] + below[evidence.codes + 1]) / 2)


def _agreement(values: Floats, missing: Mask, apart: Floats, order: NDArray[np.intp], same: Mask | None) -> Floats:
    """Return for each variable how often two records agree that are next to each other in an order."""
    one, two = (order[:-1], order[1:]) if same is None else (order[:-1][same], order[1:][same])
    both = ~(missing[one] | missing[two])
    agree = both & (np.abs(values[one] - values[two]) <= apart)
    return np.asarray(agree.sum(axis=0) / np.maximum(both.sum(axis=0), 1))


@dataclass(frozen=True)
class Proposed:
    """A variable that may be the weight, the household or the id of the records, and why."""

    name: str
    special: Special
    by_name: bool  # its name says so, and nothing in its values speaks against it
    by_behaviour: bool  # its values say so, whatever its name
    why: str


@dataclass(frozen=True)
class Proposals:
    """All that a look at a table proposes.

    ``specials`` has, for each of weight, household and id that the schema does not name yet, the variables that may be
    it: those first of which name and values say so, then those whose values do. ``links`` tells which variables others
    determine, copies among them. ``roles`` has a role for each variable of which nobody has declared one.
    """

    findings: tuple[Finding, ...]
    found: tuple[Behaviour, ...]
    specials: tuple[Proposed, ...]
    links: Dependencies  # its notes say too what could not be looked for
    roles: tuple[ProposedRole, ...] = ()

    @property
    def copies(self) -> dict[str, str]:
        """By variable that is a copy of another under another name or code, that other one."""
        return {one.name: one.sources[0] for one in self.links.found if one.copy}


def proposals(data: Microdata) -> Proposals:
    """Look at a table: what each variable holds, what it may be, and what determines it.

    >>> import pyarrow as pa
    >>> ages = [18 + 7 * i % 60 for i in range(120)]
    >>> table = pa.table({"home": [i // 2 for i in range(120)], "age": ages, "cohort": [2020 - age for age in ages]})
    >>> found = proposals(Microdata.from_frame(table))
    >>> [(one.name, one.special) for one in found.specials], found.copies
    ([('home', 'household')], {'cohort': 'age'})
    """
    findings = tuple(describe(data))
    failed: list[str] = []
    none: tuple[Behaviour, ...] = ()
    found = _unless_failed(lambda: behaviours(data), none, "weights, households and ids by their values", failed)
    weights = {one.name for one in findings if one.suggestion is not None and one.suggestion.doubt == "weight"}
    nothing = Dependencies(len(data), 0, ())
    linked = _unless_failed(lambda: dependencies(data, found=found), nothing, "what others determine", failed)
    # what looks like a survey weight is made of other variables, and is no source of them
    linked = replace(linked, found=tuple(one for one in linked.found if weights.isdisjoint(one.sources)))
    specials = _specials(data, findings, found)
    roles: tuple[ProposedRole, ...] = ()
    roles = _unless_failed(lambda: proposed_roles(data, findings), roles, "roles", failed)
    numbers = {one.name: one for one in specials if one.special != "weight" and one.by_behaviour}
    roles = tuple(
        replace(one, role="identifier", why=f"it may be the {numbers[one.name].special}: {numbers[one.name].why}")
        if one.role == "other" and one.name in numbers
        else one
        for one in roles
    )
    linked = replace(linked, notes=(*linked.notes, *failed))
    return Proposals(findings, found, specials, linked, roles)


def _unless_failed(look: Callable[[], T], otherwise: T, what: str, failed: list[str]) -> T:
    """Return what a look at a table finds; if it fails, what stands for it, and a line that says so."""
    try:
        return look()
    except OF_THE_RUN:
        raise
    except Exception as error:
        failed.append(f"not looked for: {what} ({unexpected(error)})")
        return otherwise


def _specials(data: Microdata, findings: tuple[Finding, ...], found: tuple[Behaviour, ...]) -> tuple[Proposed, ...]:
    said: dict[tuple[str, str], str] = {}
    for finding in findings:
        if finding.suggestion is not None and finding.suggestion.doubt in SPECIALS_BY_SUGGESTION:
            said[finding.name, SPECIALS_BY_SUGGESTION[finding.suggestion.doubt]] = finding.suggestion.sentence
    shown: dict[tuple[str, str], str] = {(one.name, one.behaves): one.evidence for one in found}
    specials: tuple[Special, ...] = ("weight", "household", "id")
    unnamed = [special for special in specials if data.schema.special().get(special) is None]
    proposed = [
        # what its values show says more than its name
        Proposed(*both, both in said, both in shown, shown.get(both) or said[both])
        for both in product(data.names, unnamed)
        if both in said or both in shown
    ]
    return tuple(sorted(proposed, key=lambda one: (specials.index(one.special), -one.by_behaviour, -one.by_name)))
