"""One piece of evidence tried on one variable's protected values, and the best of many.

A trial is judged by what it restores: more than a guess does, more than luck does, and not as associations do.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from sfumato.auditing.aims import Aim, Values
from sfumato.auditing.evidence import Evidence, Lesson, UnseenCategories, lesson_of, predicted
from sfumato.auditing.findings import Basis, Name, Reading, Restored
from sfumato.auditing.guess import MIN_PROTECTED_VALUES, Guess, exact_guess, unaware_guess

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

MAX_TRIED_VALUES = 20_000  # protected values of a variable that are tried; a random sample where there are more
MAX_CHECKED_VALUES = 2_000  # unprotected values on which a relation is checked
SCREENED = (10_000, 1_000)  # records that teach, and values tried, when many columns are looked through
FINALISTS = 3  # of these, tried on all

DEPENDENCE = 2 / 3  # of what the guess leaves open other columns must give back: less is what users look for
# of the records at most are near one value of a number so fine that no mere association meets it
MAX_NEIGHBOUR_SHARE = 0.1
AS_OFTEN = 0.75  # of how often a relation holds for unprotected values it must hold for the protected ones
NEARLY_ALWAYS = 0.9  # of the unprotected values a relation must hold for, to count where protected values are few
FIRST, FURTHER = 0.8, 0.2  # of the chance of a false alarm: for the first comparison, and for the others in all


@dataclass(frozen=True, eq=False)
class Sample:
    """The records that large tables are looked through with: the same for all variables, whatever their order."""

    order: Rows  # the records of the file in random order

    def of(self, rows: Rows, most: int) -> Rows:
        """Return at most so many of these rows, drawn at random, in the order of the file."""
        if len(rows) <= most:
            return rows
        wanted = np.zeros(len(self.order), dtype=bool)
        wanted[rows] = True
        drawn = self.order[wanted[self.order]][:most]
        return np.sort(drawn)


@dataclass(frozen=True, eq=False)
class Target:
    """A variable's protected values, the best guess at each, and who can teach a relation."""

    aim: Aim
    guess: Guess
    sample: Sample
    units: Integers | None

    @cached_property
    def asked(self) -> Rows:
        """The rows whose values are tried."""
        return self.sample.of(self.aim.cells, MAX_TRIED_VALUES)

    @cached_property
    def lesson(self) -> Lesson:
        """Who teaches."""
        return lesson_of(self.aim, self.units)

    def part(self, teaching: int, asked: int) -> "tuple[Target, Rows]":
        """Return the target in a sample with fewer who teach and fewer who ask, and the rows of that sample."""
        everybody = np.arange(len(self.aim.band))
        cells = self.sample.of(self.aim.cells, asked)
        rows = np.union1d(self.sample.of(everybody, teaching), cells)
        if len(rows) == len(everybody) and len(cells) == len(self.aim.cells):
            return self, rows
        aim = replace(self.aim.part(rows), cells=np.searchsorted(rows, cells))
        units = None if self.units is None else np.unique(self.units[rows], return_inverse=True)[1]
        values, right = self.guessed(cells)
        guess = replace(self.guess, values=values, right=right)
        return Target(aim, guess, Sample(np.arange(len(rows))), units), rows

    @property
    def screened(self) -> bool:
        """Whether looking through many columns is done on a sample."""
        return len(self.aim.band) > SCREENED[0] or len(self.aim.cells) > SCREENED[1]

    @cached_property
    def unseen(self) -> UnseenCategories | None:
        """The protected values of which no record shows the category."""
        return UnseenCategories.of(self.aim)

    @cached_property
    def guessed_exactly(self) -> Mask:
        """Which protected values the guess meets exactly."""
        return self.aim.right(self.aim.cells, self.guess.values)[1]

    @cached_property
    def guessable_exactly(self) -> Mask:
        """Which protected numbers are met exactly by the guess, or by the most common ones if these meet more."""
        common = exact_guess(self.aim)
        return common if common.sum() > self.guessed_exactly.sum() else self.guessed_exactly

    @cached_property
    def unaware(self) -> Floats | None:
        """For each record, how likely an intruder is right who has the file alone."""
        return unaware_guess(self.aim, self.guess)

    @cached_property
    def unchanged(self) -> Rows:
        """The rows that show their true value, where he cannot know that they do."""
        if self.unaware is None:
            return np.empty(0, dtype=np.intp)
        return np.setdiff1d(np.flatnonzero(~np.isnan(self.unaware)), self.aim.cells, assume_unique=True)

    def guessed(self, rows: Rows) -> tuple[NDArray[Any], Mask]:
        """Return what is guessed for some of the protected values, and whether it is right."""
        at = np.searchsorted(self.aim.cells, rows)
        return self.guess.values[at], self.guess.right[at]


@dataclass(frozen=True, eq=False)
class Trial:
    """What one piece of evidence gave back of a variable's protected values.

    ``right`` and ``exact`` stand beside ``rows``; where the evidence says nothing the guess is taken. ``answered``
    tells where it said something. ``elsewhere`` is how likely an intruder is right, who follows it, on a sample of the
    ``unchanged`` rows. ``tests`` counts the trials of which this is the best.
    """

    target: Target
    evidence: Evidence
    rows: Rows
    right: Mask
    exact: Mask
    answered: Mask
    holds: float | None = None
    checked: int = 0
    usual: float = 0.0
    learnt_from_file: bool = True
    tests: int = 1
    unchanged: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    elsewhere: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def share(self) -> float:
        """The share restored."""
        return float(self.right.mean())

    @property
    def guess(self) -> float:
        """The share guessed right without the evidence."""
        return float(self.target.guessed(self.rows)[1].mean())


@dataclass(frozen=True)
class EvidenceRules:
    """How evidence is asked: whether records that share it count, how far off its neighbours are, who teaches."""

    ties: bool = True
    apart: int = 0  # records passed over on each side, where the relation is taken as known
    published: bool = False  # only what the file publishes of others teaches, whatever the variable
    own: bool = False  # the record's own published number counts as well


USUAL = EvidenceRules()


def tried(target: Target, evidence: Evidence, way: EvidenceRules = USUAL) -> Trial:
    """Try one piece of evidence on the protected values, and check it on unprotected ones."""
    lesson = published_lesson(target.aim, own=way.own) if way.published else target.lesson
    trial = _asked(target, evidence, way, lesson, target.asked)
    unchanged = target.sample.of(target.unchanged, MAX_CHECKED_VALUES)
    if unchanged.size:
        trial = _elsewhere(trial, unchanged, _answers(target.aim, evidence, way, lesson, unchanged))
    known = target.sample.of(_checked_on(target, evidence, way, lesson), MAX_CHECKED_VALUES)
    if not known.size:
        return trial
    if target.aim.taught:
        found = _answers(target.aim, evidence, way, lesson, known)
    else:
        found = predicted(target.aim, evidence, published_lesson(target.aim, own=False), known, banded=False)
    answered = ~np.isnan(found) if target.aim.number else found >= 0
    if not answered.any():
        return trial
    right = target.aim.right(known[answered], found[answered])[0]
    usual = _usual(target.aim, known[answered])
    return replace(trial, holds=float(right.mean()), checked=len(right), usual=usual)


def _checked_on(target: Target, evidence: Evidence, way: EvidenceRules, lesson: Lesson) -> Rows:
    """Return the unprotected rows on which a relation is checked: of one taken as known, of a recoding only."""
    if target.aim.taught:
        return np.setdiff1d(lesson.learners, target.aim.cells, assume_unique=True)
    by_code = _by_code(target, evidence, way)
    if target.unseen is None or by_code is None or not by_code.any():
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(target.unseen.shown)


def published_lesson(aim: Aim, *, own: bool) -> Lesson:
    """Return the published values as those that teach; a blank has nothing to say, a changed value has."""
    nobody = np.full(len(aim.band), len(aim.band)) if own else np.arange(len(aim.band))
    return Lesson(aim.told, np.flatnonzero(aim.told.present), nobody)


def best_of(target: Target, evidence: Iterable[Evidence], way: EvidenceRules = USUAL) -> Trial | None:
    """Try many pieces of evidence, on a sample where the table is large, and return the best tried on all."""
    ranked = screened(target, evidence, way)
    if not ranked:
        return None
    final = [tried(target, one, way) for one, _ in ranked[: FINALISTS if target.screened else 1]]
    best = max(final, key=lambda trial: trial.share)
    return replace(best, tests=len(ranked))


def screened(target: Target, evidence: Iterable[Evidence], way: EvidenceRules = USUAL) -> list[tuple[Evidence, float]]:
    """Return evidence with the share it restores, on a sample if the table is large; the best first."""
    part, rows = target.part(*SCREENED)
    found = [(one, share(part, one.part(rows), way)) for one in evidence]
    return sorted(found, key=lambda entry: (-entry[1], entry[0].shown))


def share(target: Target, evidence: Evidence, way: EvidenceRules = USUAL) -> float:
    """Return the share that a piece of evidence restores."""
    return _asked(target, evidence, way, target.lesson, target.aim.cells).share


def read_off(target: Target, answers: NDArray[Any], shown: str, *, parts: tuple[str, ...] = ()) -> Trial:
    """Take answers as they stand, one for each record of the file: a sum of other columns, another release's value."""
    evidence = Evidence((shown,), np.zeros(len(answers), dtype=np.int64), ordered=False, parts=parts)
    trial = _judged(target, evidence, target.asked, answers[target.asked], from_file=target.aim.taught)
    unchanged = target.sample.of(target.unchanged, MAX_CHECKED_VALUES)
    return _elsewhere(trial, unchanged, answers[unchanged])


def _elsewhere(trial: Trial, rows: Rows, found: NDArray[Any]) -> Trial:
    """Add to a trial what the same evidence says of values that were not changed."""
    likely, aim = trial.target.unaware, trial.target.aim
    if likely is None or not rows.size:
        return trial
    answered = (~np.isnan(found) if aim.number else found >= 0) & trial.evidence.shows(rows)
    return replace(trial, unchanged=rows, elsewhere=np.where(answered, aim.right(rows, found)[0], likely[rows]))


def _asked(target: Target, evidence: Evidence, way: EvidenceRules, lesson: Lesson, rows: Rows) -> Trial:
    found = _answers(target.aim, evidence, way, lesson, rows)
    by_code = _by_code(target, evidence, way)
    if by_code is not None:
        found = np.where(by_code[rows], target.aim.truth.codes[rows], found)
    return _judged(target, evidence, rows, found, from_file=target.aim.taught or way.published)


def _by_code(target: Target, evidence: Evidence, way: EvidenceRules) -> Mask | None:
    """Tell which values a code of their own tells that no record shows any more."""
    return None if target.unseen is None or way.published else target.unseen.told(evidence)


def _judged(target: Target, evidence: Evidence, rows: Rows, found: NDArray[Any], *, from_file: bool) -> Trial:
    """Compare answers with the truth; where there is none the guess is taken."""
    answered = ~np.isnan(found) if target.aim.number else found >= 0
    right, exact = target.aim.right(rows, found)
    at = np.searchsorted(target.aim.cells, rows)
    return Trial(
        target,
        evidence,
        rows,
        np.where(answered, right, target.guess.right[at]),
        np.where(answered, exact, target.guessed_exactly[at]),
        answered,
        learnt_from_file=from_file,
    )


def _answers(aim: Aim, evidence: Evidence, way: EvidenceRules, lesson: Lesson, rows: Rows) -> NDArray[Any]:
    known = not aim.taught and not way.published
    apart = way.apart if known else 0
    return predicted(aim, evidence, lesson, rows, banded=known, ties=way.ties, apart=apart)


def _usual(aim: Aim, rows: Rows) -> float:
    """Return the share of these rows that one value for all would get right."""
    values: Values = aim.truth
    if aim.ranks is None:
        counts = np.bincount(values.codes[rows])
        return float(counts.max() / counts.sum())
    return aim.ranks.likely(aim.level_ranks[values.codes[rows]])


@dataclass(frozen=True)
class _Compared:
    """What is restored and what is guessed, and how likely luck restores so much."""

    restored: float
    guess: float
    luck: float


def judged_by(name: Name, trial: Trial, level: float, margin: float) -> Restored:
    """Judge a trial of a route: by the distribution of the protected values, by the file alone, by what is met exactly.

    A route that tells no more than that distribution restores nevertheless if it gives an intruder who does not have it
    two thirds of what he cannot guess; or if it meets exactly the numbers that the guess only comes near to.
    """
    found = restored_by(trial, FIRST * level, margin, associated=_only_associated(name, trial))
    if found.alarm:
        return found
    unaware = _with_the_file_alone(trial)
    if unaware is not None and _restores(unaware, trial, FURTHER / 2 * level, margin, dependent=True):
        return _by(found, "the file alone", unaware)
    exact = _exactly(trial) if trial.target.aim.number else None
    dependent = name in ("columns", "combinations")
    if exact is not None and _restores(exact, trial, FURTHER / 2 * level, margin, dependent=dependent):
        return _by(found, "exactly", exact)
    return found


def _by(found: Restored, basis: Basis, figures: _Compared) -> Restored:
    return replace(found, restored=figures.restored, guess=figures.guess, reading="restores", basis=basis)


def _restores(figures: _Compared, trial: Trial, level: float, margin: float, *, dependent: bool) -> bool:
    """Tell whether so much is more than the guess, more than luck and, if asked, most of what the guess leaves open."""
    excess = figures.restored - figures.guess
    if excess <= margin or (dependent and excess < DEPENDENCE * (1 - figures.guess)):
        return False
    return figures.luck < level or _holds(trial, level, margin)


def _with_the_file_alone(trial: Trial) -> _Compared | None:
    """Compare with the guess from the file alone, over all records on which that intruder has to decide.

    The figures are per protected value: one less all that is wrong, so that each unchanged value put wrong takes away
    one put right. Evidence that is blank itself says nothing: a blank beside a blank tells no more than that one does.
    """
    target = trial.target
    if target.unaware is None:
        return None
    cells, unchanged = len(target.aim.cells), len(target.unchanged)
    likely = target.unaware[trial.rows]
    right = np.where(trial.answered & trial.evidence.shows(trial.rows), trial.right, likely)
    wrong, missed = cells * (1 - float(right.mean())), cells * (1 - float(likely.mean()))
    if trial.unchanged.size:
        wrong += unchanged * (1 - float(trial.elsewhere.mean()))
        missed += unchanged * (1 - float(target.unaware[trial.unchanged].mean()))
    judged = cells + unchanged
    independent = _independent(trial, np.concatenate([trial.rows, trial.unchanged]))
    least = target.guess.chance if independent < MIN_PROTECTED_VALUES else 0.0
    luck = _luck(1 - wrong / judged, independent, max(1 - missed / judged, least))
    return _Compared(max(1 - wrong / cells, 0.0), max(1 - missed / cells, 0.0), luck)


def _exactly(trial: Trial) -> _Compared:
    """Compare the numbers met exactly: a figure published nearly as it was is near, and a sum may tell it in full."""
    target = trial.target
    guessed = target.guessable_exactly[np.searchsorted(target.aim.cells, trial.rows)]
    restored, guess = float(trial.exact.mean()), float(guessed.mean())
    independent = _independent(trial, trial.rows)
    least = guess
    if independent < MIN_PROTECTED_VALUES:
        codes = target.aim.truth.codes
        least = max(guess, float(np.bincount(codes[codes >= 0]).max() / np.count_nonzero(codes >= 0)))
    return _Compared(restored, guess, _luck(restored, independent, least))


def _only_associated(name: Name, trial: Trial) -> bool:
    """Tell whether other columns say no more of a variable than columns say of each other.

    Of the values that they speak of they give back less than two thirds of what the guess leaves open. A number so fine
    that few records are near any value is met by no mere association, except by a sum of parts that were changed.
    """
    fine = trial.target.aim.number and trial.target.guess.chance <= MAX_NEIGHBOUR_SHARE and name != "sums"
    if name not in ("columns", "combinations", "sums", "text") or fine or not trial.answered.any():
        return False
    restored = float(trial.right[trial.answered].mean())
    guess = float(trial.target.guessed(trial.rows)[1][trial.answered].mean())
    return restored - guess < DEPENDENCE * (1 - guess)


def restored_by(trial: Trial, level: float, margin: float, *, associated: bool) -> Restored:
    """Judge a trial: whether it restores by more than the margin, and by more than luck at this level."""
    aim = trial.target.aim
    restored, guess = trial.share, trial.guess
    reading: Reading = "restores"
    if restored - guess <= margin:
        reading = "nothing"
    elif not _beyond_luck(trial, level) and not _holds(trial, level, margin):
        reading = "luck"
    elif associated:
        reading = "association"
    return Restored(
        variable=aim.name,
        level=aim.level,
        evidence=trial.evidence.shown,
        values=len(aim.cells),
        restored=restored,
        exactly=float(trial.exact.mean()),
        guess=guess,
        holds=trial.holds,
        learnt="the file" if trial.learnt_from_file else "the original",
        reading=reading,
        columns=trial.evidence.columns,
    )


def _beyond_luck(trial: Trial, level: float) -> bool:
    """Tell whether so many would not be right by luck; the members of a household count as one."""
    independent = _independent(trial, trial.rows)
    right = np.floor(trial.share * independent + 1e-9)
    return trial.target.guess.surprise(float(right), independent) < level


def _independent(trial: Trial, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> int:
    """Count these records, the members of a household as one."""
    units = trial.target.units
    return len(rows) if units is None else len(np.unique(units[rows]))


def _luck(share: float, values: int, p: float) -> float:
    """Return the probability that luck gets such a share of so many values right."""
    right = np.floor(share * values + 1e-9)
    return float(bdtrc(right - 1, values, p)) if right > 0 else 1.0


def _holds(trial: Trial, level: float, margin: float) -> bool:
    """Tell whether the relation holds for nearly all unprotected values, and not because nearly all are equal."""
    if trial.holds is None or trial.holds < NEARLY_ALWAYS or trial.holds - trial.usual <= margin:
        return False
    if trial.share < AS_OFTEN * trial.holds:  # what holds elsewhere does not hold for the protected values
        return False
    luck = replace(trial.target.guess, right=np.zeros(1, dtype=bool), chance=trial.usual)
    return luck.surprise(np.floor(trial.holds * trial.checked + 1e-9), trial.checked) < level
