"""What the rest of a protected file tells an intruder of the keys that he knows, and the attacks that use it.

He knows the keys of everybody, and with them all that follows from them (``pair.consequences``): functions of the keys
are keys too, whatever became of the keys themselves; a number that is a sum of published parts is added up; and of a
column that a key tells in part he learns how likely each value is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import agreeing_pairs, matching_sums
from sfumato.kernels.groups import class_sums, classes, first_records
from sfumato.pair import Pair
from sfumato.pair.consequences import CodedColumn, Consequences, determines, levels
from sfumato.pair.keys import perturbed_key
from sfumato.risk.compared_variables import codes_of
from sfumato.risk.intruder import IntruderKnowledge, missing, tells_something
from sfumato.table.recoding import Recoding

# Who is who among records that agree: each is weighed by how likely it is published so, for the person looked for.
#
# The intruder knows the keys of everybody, and each published record belongs to one person. How likely a record is to
# be published as it is for a person: 0 if they disagree in a key that is true, else the product of what its further
# columns are worth, which is learnt. These likelihoods are scaled until each person has one record and each record one
# person (iterative proportional fitting): so a blank that agrees with everybody goes to whom no shown value is left
# for, and a value that all who agree are likely to have tells nothing. He picks the likeliest; records that look the
# same share it.
#
# Whether one pick is right is luck; what a person has to fear is how often such picks are. So the chance of a person is
# the share of right picks among the persons he is as sure of: their mean is the share that he finds.

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_PAIRS = 4_000_000  # of persons with records that agree
SCALINGS = 10  # of persons and of records in turn
SAME = 1e-9  # likelihoods this close, relatively, are a tie
STEPS = 20  # of how sure he is, from 0 to 1
PRIOR = 1.0  # records that the usual shares count for beside those that teach


@dataclass(frozen=True, eq=False)
class Term:
    """A published column that tells something of what a person is known by, both as whole numbers from 0."""

    known: Integers
    published: Integers

    def likelihoods(self, half: Integers) -> Floats:
        """Learn how often each value is published for each known one: for the records of each half from the other.

        A record that taught would look likelier than the person's own one, if that did not: nobody would find his own.
        """
        rows, columns = int(self.known.max()) + 1, int(self.published.max()) + 1
        cells = self.known * columns + self.published
        usual = np.bincount(self.published, minlength=columns) / len(cells)
        tables = []
        for part in (0, 1):
            counts = np.bincount(cells[half != part], minlength=rows * columns).reshape(rows, columns) + PRIOR * usual
            tables.append(counts / counts.sum(axis=1, keepdims=True))
        return np.stack(tables)


def weighed(before: Codes, after: Codes, terms: Sequence[Term] = ()) -> tuple[Floats, int] | None:
    """Return the chance of each original record, and how many of the terms were used; None: there are too many pairs.

    ``before`` and ``after`` are true keys of both tables, record by record; -1 agrees with every value. The terms that
    come first are those kept where all would make too many pairs of persons and records.

    >>> towns = np.array([[0], [0], [1]], dtype=np.int32)
    >>> weighed(towns, np.array([[0], [-1], [-1]], dtype=np.int32))[0].tolist()  # he takes what is shown for a 0
    [0.5, 0.5, 0.5]
    """
    half = _half(np.column_stack([before, after, *(codes for term in terms for codes in (term.known, term.published))]))
    keys = _Sides.of(before, after)
    if keys is None:
        return None
    for used in range(len(terms), -1, -1):
        if used == 0 and terms:
            return None
        found = _chances(keys, half, terms[:used])
        if found is not None:
            return found, used
    return None


def _half(codes: NDArray[np.integer]) -> Integers:
    """Put each record into one of two halves by what it is, so that the order of the records does not matter."""
    mixed = np.full(len(codes), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in codes.T:
        mixed = (mixed ^ (column + 1).astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(17)).astype(np.int64) & 1


@dataclass(frozen=True, eq=False)
class _Sides:
    """The different keys of the persons and of the records, and which of them agree."""

    person: Integers  # the class of each original record
    row: Integers  # the class of each protected record
    pairs: tuple[Integers, Integers]  # a class of persons with each class of records that agrees with it

    @classmethod
    def of(cls, before: Codes, after: Codes) -> "_Sides | None":
        """Put both sides into classes; None where too many of them agree."""
        person, _ = classes(before)
        row, _ = classes(after)
        wanted, rows = before[first_records(person)], after[first_records(row)]
        if matching_sums(wanted, rows, np.ones(len(rows))).sum() > MAX_PAIRS:
            return None
        return cls(person, row, agreeing_pairs(wanted, rows))


def _chances(keys: _Sides, half: Integers, terms: Sequence[Term]) -> Floats | None:
    """Weigh the pairs that agree; None where they are too many."""
    person, row = keys.person, keys.row
    if terms:
        person, _ = classes(np.column_stack([keys.person, *(term.known for term in terms)]))
        row, _ = classes(np.column_stack([keys.row, *(term.published for term in terms)]))
    persons, rows = _Members.of(keys.person, person), _Members.of(keys.row, row)
    number = persons.sizes[keys.pairs[0]] * rows.sizes[keys.pairs[1]]
    if int(number.sum()) > MAX_PAIRS:
        return None
    who, what = persons.crossed(rows, keys.pairs, number)
    weight = np.ones(len(who))
    if terms:
        in_half = class_sums(row, half.astype(np.float64), len(first_records(row))) / _sizes(row)
        weight = _likely((person, who), (row, what), in_half[what], [(term, term.likelihoods(half)) for term in terms])
    return _picked(who, what, weight, person, row)


def _likely(
    persons: tuple[Integers, Integers],
    rows: tuple[Integers, Integers],
    in_half: Floats,
    learnt: Sequence[tuple[Term, Floats]],
) -> Floats:
    """Return how likely each record is for each person by all terms; the mean over the records that look the same.

    Of both sides come the class of each record, and which classes are paired; ``in_half`` is the share in half 1.
    """
    one, other = (first_records(of_each)[paired] for of_each, paired in (persons, rows))
    weight = np.zeros(len(in_half))
    for part, share in enumerate((1 - in_half, in_half)):
        there = np.flatnonzero(share)
        likely = share[there]
        for term, table in learnt:
            likely *= table[part, term.known[one[there]], term.published[other[there]]]
        weight[there] += likely
    return weight


@dataclass(frozen=True, eq=False)
class _Members:
    """The finer classes that each class falls into."""

    order: Integers
    start: Integers
    sizes: Integers

    @classmethod
    def of(cls, coarse: Integers, fine: Integers) -> "_Members":
        owner = coarse[first_records(fine)]
        order = np.argsort(owner, kind="stable")
        sizes = np.bincount(owner, minlength=int(coarse.max()) + 1)
        return cls(order, np.cumsum(sizes) - sizes, sizes)

    def crossed(
        self, other: "_Members", pairs: tuple[Integers, Integers], number: Integers
    ) -> tuple[Integers, Integers]:
        """Return each finer class of one side with each of the other, for classes that agree."""
        within = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
        width = np.repeat(other.sizes[pairs[1]], number)
        one = self.order[np.repeat(self.start[pairs[0]], number) + within // width]
        two = other.order[np.repeat(other.start[pairs[1]], number) + within % width]
        return one, two


def _picked(who: Integers, what: Integers, weight: Floats, person: Integers, row: Integers) -> Floats:
    """Scale the weights, let each person pick the likeliest record, and return how often it is the own one.

    To the intruder persons of the same keys are one and the same, so they share what is found of them.
    """
    persons, rows = _sizes(person), _sizes(row)
    of_person, of_row = np.ones(len(persons)), np.ones(len(rows))
    for _ in range(SCALINGS):
        of_row = _inverse(class_sums(what, weight * (persons * of_person)[who], len(rows)))
        of_person = _inverse(class_sums(who, weight * (rows * of_row)[what], len(persons)))
    likely = weight * of_row[what]  # what belongs to the person alone does not change the pick
    best = np.zeros(len(persons))
    np.maximum.at(best, who, likely)
    picked = likely >= best[who] * (1 - SAME)
    among = class_sums(who[picked], rows[what[picked]], len(persons))
    own = who * len(rows) + what
    mine = np.isin(person * len(rows) + row, own[picked])
    found = np.where(mine, 1 / np.maximum(among[person], 1), 0.0)
    sure = best / np.maximum(class_sums(who, likely * rows[what], len(persons)), np.finfo(np.float64).tiny)
    return _by_sureness(sure[person], found)


def _by_sureness(sure: Floats, found: Floats) -> Floats:
    """Return for each person the share found among those of whom he is as sure, in steps; more where he is surer."""
    from scipy.optimize import isotonic_regression

    level, step = np.unique(np.floor(sure * STEPS * (1 + SAME)), return_inverse=True)
    persons = np.bincount(step, minlength=len(level))
    share = np.bincount(step, weights=found, minlength=len(level)) / persons
    rising: Floats = isotonic_regression(share, weights=persons).x
    return rising[step]


def _sizes(class_of: Integers) -> Floats:
    """Return how many records are in each class."""
    return np.bincount(class_of).astype(np.float64)


def _inverse(sums: Floats) -> Floats:
    return np.where(sums > 0, 1 / np.maximum(sums, np.finfo(np.float64).tiny), 0.0)


# what the rest of the file tells

Notes = tuple[str, ...]

LIKELIEST = "likeliest of those alike"
MAX_TERMS = 12  # columns of which the keys tell a part that are looked at, those first of which they tell most
SHOWN = 6  # columns that a note names


@dataclass(frozen=True, eq=False)
class InformedIntruder:
    """An intruder with what follows from his keys, and the chances under the attack that only he can make."""

    known: IntruderKnowledge
    chances: dict[str, Floats]


def told_by_others(known: IntruderKnowledge, *, at_hand: bool = True) -> list[InformedIntruder]:
    """Return the intruder with what the rest of the file tells; without the sums' own keys, too; none if it is nothing.

    A sum of parts may be nearer to the truth than the total that is published. Sums, gaps and what is learnt of other
    columns need the records of both tables ``at_hand``; else functions of the keys are all that is tried.
    """
    pair, scenario = known.pair, known.scenario
    found = Consequences.of(pair.original, scenario.keys)
    functions = _functions(known, found, at_hand=at_hand)
    gaps, sums, finer, terms = dict[str, Recoding](), dict[str, Recoding](), dict[str, tuple[str, Recoding]](), []
    if at_hand:
        gaps, sums, finer = _gaps(known, found), _sums(pair, found), _finer(known, found)
        terms = [(name, source) for name, source in _parts(known, found, functions) if source not in finer]
    if not (functions or gaps or sums or finer or terms):
        return []
    read = {f"{name} by {column}": seen for name, (column, seen) in finer.items()}
    vague = [name for name in functions if set(found.functions[name]) & set(scenario.about)]
    notes = _said(scenario.name, found, functions, gaps, sums, terms)
    if finer:
        listed = _listed([f"{name} (by {column})" for name, (column, _) in finer.items()])
        notes = (f"{scenario.name}: read from published columns that tell it in full: {listed}", *notes)
    seen = replace(
        known,
        scenario=replace(scenario, keys=(*scenario.keys, *functions), about=(*scenario.about, *vague)),
        keys=(*known.keys, *functions, *gaps, *sums, *read),
        notes=notes,
        derived={**gaps, **sums, **read},
    )
    chances, more = likeliest(seen, terms) if at_hand else ({}, ())
    told = [InformedIntruder(replace(seen, notes=(*notes, *more)), chances)]
    totals = {name for name, _ in found.sums} & set(known.keys)
    if sums and totals:
        told.append(
            InformedIntruder(replace(seen, keys=tuple(name for name in seen.keys if name not in totals), notes=()), {})
        )
    return told


def likeliest(
    known: IntruderKnowledge, told: Sequence[tuple[str, str]] = (), *, learns_all: bool = False
) -> tuple[dict[str, Floats], Notes]:
    """Weigh the records that agree in the true keys by what else they show: blanks, perturbed keys, other columns.

    Of keys that were perturbed it is learnt what became of which value, but only beside other columns that tell of
    them, or if ``learns_all``: what the keys tell by themselves the other attacks look at.
    """
    true = [name for name in known.true if name not in known.perturbed]
    before, after = codes_of(known.seen, true, len(known.pair.original))
    untrue = [name for name in known.keys if name not in true and name not in known.derived]
    learnt = [*((name, name) for name in untrue), *told] if told or learns_all else []
    blank = bool((after < 0).any()) and len(true) == len(known.keys)
    if not learnt and not blank:
        return {}, ()
    terms = _terms(known, learnt[:MAX_TERMS] if learns_all else learnt)
    found = weighed(before, after, terms)
    many = f"more than {MAX_PAIRS:,} pairs of a person and a record that agree"
    if found is None:
        return {}, (f"{known.scenario.name}: an attack is not tried, by who weighs records that agree: {many}",)
    chances, used = found
    few = f"{known.scenario.name}: records are weighed by {used} of {len(terms)} columns, for by more there are {many}"
    return {LIKELIEST: chances}, (few,) if used < len(terms) else ()


def _functions(known: IntruderKnowledge, found: Consequences, *, at_hand: bool = True) -> list[str]:
    """Name the published functions of the keys that tell records apart which the published keys do not.

    Whether they do is looked at where the records are ``at_hand``.
    """
    pair = known.pair
    published = (name for name in found.functions if name in pair.protected.schema)
    offered = [name for name in published if tells_something(pair.footing(name))]
    if known.perturbed or not offered or not at_hand:
        return offered
    refining = _refining(known, {name: pair.footing(name) for name in offered})
    return [name for name in offered if name in refining or perturbed_key(pair, name)]


def _refining(known: IntruderKnowledge, offered: Mapping[str, Recoding]) -> set[str]:
    """Name the columns that tell records apart which show the same keys."""
    records, kept = len(known.pair.original), set()
    _, row = codes_of(known.seen, known.keys, records)
    for name, seen in offered.items():
        finer = np.column_stack([row, codes_of({name: seen}, [name], records)[1]])
        if len(classes(finer)[1]) > len(classes(row)[1]):
            kept.add(name)
            row = finer
    return kept


def _gaps(known: IntruderKnowledge, found: Consequences) -> dict[str, Recoding]:
    """Return which values are missing, of columns where the keys tell that and the published keys do not."""
    before, after = known.pair.tables()
    offered = {}
    for name in (name for name in found.gaps if name in after.schema):
        sides = [table.missing(name).astype(np.int32) for table in (before, after)]
        if (sides[1] > 0).any():
            offered[f"{name} missing"] = Recoding("nominal", sides[0], sides[1], ("no", "yes"))
    if known.perturbed or not offered:
        return offered
    return {name: offered[name] for name in _refining(known, offered)}


def _sums(pair: Pair, found: Consequences) -> dict[str, Recoding]:
    """Add up the published parts of each known number: beside them stands what the intruder knows it to be."""
    sums = {}
    schema = pair.protected.schema
    for name, relation in found.sums:
        if not all(part in schema and schema[part].kind == "numeric" for part in relation.parts):
            continue
        after = relation.applied({part: pair.footing(part).protected for part in relation.parts})
        before = pair.original.column(name)
        if np.isfinite(after).any() and np.isfinite(before).any():
            sums[str(relation)] = Recoding("numeric", before, after)
    return sums


def _shut(known: IntruderKnowledge) -> set[str]:
    """Name the keys that the file shows in full."""
    return {
        name
        for name in known.keys
        if name in known.true and not known.seen[name].recoded and not missing(known.seen[name].protected).any()
    } - known.perturbed


def _finer(known: IntruderKnowledge, found: Consequences) -> dict[str, tuple[str, Recoding]]:
    """Read keys that the file does not show in full from a published column of which they are functions.

    The column must tell the key as it is published, too: it may have been coarsened, or changed.
    """
    before, after = known.pair.tables()
    finer: dict[str, tuple[str, Recoding]] = {}
    for name in (name for name in found.finer if name not in _shut(known) and name not in known.scenario.about):
        key = CodedColumn.of(before, name)
        for column in (column for column in found.finer[name] if column in after.schema):
            shown = CodedColumn.of(after, column)
            there = shown.codes > 0
            if there.any() and determines(shown.only(there), key.only(there)):
                finer[name] = column, Recoding("nominal", key.codes - 1, _read(shown, key) - 1)
                break
    return finer


def _read(shown: CodedColumn, key: CodedColumn) -> Integers:
    """Return the key's commonest value among the records that show the same; 0 where nothing is shown."""
    cells, counts = np.unique(shown.codes * key.number + key.codes, return_counts=True)
    cells = cells[np.argsort(counts, kind="stable")]
    usual = np.zeros(shown.number, dtype=np.int64)
    usual[cells // key.number] = cells % key.number
    usual[0] = 0
    return usual[shown.codes]


def _parts(known: IntruderKnowledge, found: Consequences, functions: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each published column with the key that tells most of it, of those that the file does not show in full."""
    pair = known.pair
    shut = _shut(known)
    told: dict[str, str] = {}
    for name, source in found.partly:
        if name in pair.protected.schema and name not in functions and source not in shut:
            told.setdefault(name, source)
    return list(told.items())[:MAX_TERMS]


def _terms(known: IntruderKnowledge, told: Iterable[tuple[str, str]]) -> list[Term]:
    """Return what is learnt of: published columns, and beside each what it is told by."""
    pair = known.pair
    before, after = pair.tables()
    return [
        Term(levels(CodedColumn.of(before, source)).codes, levels(CodedColumn.of(after, name)).codes)
        for name, source in told
        if name in after.schema
    ]


def _said(
    scenario: str,
    found: Consequences,
    functions: Sequence[str],
    gaps: Iterable[str],
    sums: Iterable[str],
    told: Sequence[tuple[str, str]],
) -> Notes:
    """Say what the intruder of a scenario knows besides the keys, and from which of them."""
    notes = []
    follow = {name: found.functions[name] for name in functions}
    follow |= {f"whether {name} is": found.gaps[name.removesuffix(" missing")] for name in gaps}
    if follow:
        listed = _listed([f"{name} (from {' and '.join(sources)})" for name, sources in follow.items()])
        notes.append(f"{scenario}: who knows the keys knows as well {listed}")
    if sums:
        totals = {str(relation): name for name, relation in found.sums}
        notes.append(f"{scenario}: added up from published columns: {_listed([f'{totals[s]} = {s}' for s in sums])}")
    if told:
        listed = _listed([f"{name} (by {source})" for name, source in told])
        notes.append(f"{scenario}: told in part by the keys, and learnt from half of the records: {listed}")
    return tuple(notes)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
