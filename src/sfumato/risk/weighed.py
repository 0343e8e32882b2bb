"""Who is who among records that agree: each is weighed by how likely it is published so, for the person looked for.

The intruder knows the keys of everybody, and each published record belongs to one person. How likely a record is to be
published as it is for a person: 0 if they disagree in a key that is true, else the product of what its further columns
are worth, which is learnt. These likelihoods are scaled until each person has one record and each record one person
(iterative proportional fitting): so a blank that agrees with everybody goes to whom no shown value is left for, and a
value that all who agree are likely to have tells nothing. He picks the likeliest; records that look the same share it.

Whether one pick is right is luck; what a person has to fear is how often such picks are. So the chance of a person is
the share of right picks among the persons he is as sure of: their mean is the share that he finds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.agreement import agreeing_pairs, matching_sums
from sfumato.kernels.groups import class_sums, classes, first_records

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_PAIRS = 4_000_000  # of persons with records that agree
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
        if matching_sums(wanted, rows, np.ones(len(rows))).sum() > MOST_PAIRS:
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
    if int(number.sum()) > MOST_PAIRS:
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
