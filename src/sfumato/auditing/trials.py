"""One piece of evidence tried on one variable's protected values, and the best of many.

A trial is judged by what it restores: more than a guess does, more than luck does, and not as associations do.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.evidence import Evidence, predicted, told_by_code
from sfumato.auditing.findings import Basis, Name, Reading, Restored
from sfumato.auditing.targets import (
    MIN_PROTECTED_VALUES,
    SCREENED,
    Floats,
    Lesson,
    Mask,
    Rows,
    Target,
    luck,
    published_lesson,
)

MAX_CHECKED_VALUES = 2_000  # unprotected values on which a relation is checked
FINALISTS = 3  # of many columns that are looked through on a sample, tried on all

DEPENDENCE = 2 / 3  # of what the guess leaves open other columns must give back: less is what users look for
# of the records at most are near one value of a number so fine that no mere association meets it
MAX_NEIGHBOUR_SHARE = 0.1
AS_OFTEN = 0.75  # of how often a relation holds for unprotected values it must hold for the protected ones
NEARLY_ALWAYS = 0.9  # of the unprotected values a relation must hold for, to count where protected values are few
FIRST, FURTHER = 0.8, 0.2  # of the chance of a false alarm: for the first comparison, and for the others in all

Figures = tuple[float, float, float]  # what is restored and what is guessed, and how likely luck restores so much


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


def tried(target: Target, evidence: Evidence) -> Trial:
    """Try one piece of evidence on the protected values, and check it on unprotected ones."""
    trial = _asked(target, evidence, target.asked)
    unchanged = target.sampled(target.unchanged, MAX_CHECKED_VALUES)
    if unchanged.size:
        trial = _elsewhere(trial, unchanged, _answers(target, evidence, unchanged))
    known = target.sampled(_checked_on(target, evidence), MAX_CHECKED_VALUES)
    if not known.size:
        return trial
    if target.taught:
        found = _answers(target, evidence, known)
    else:
        shared = replace(evidence, ties=True, apart=0)
        found = predicted(target, shared, published_lesson(target, own=False), known, banded=False)
    answered = _answered(target, found)
    if not answered.any():
        return trial
    right = target.right(known[answered], found[answered])[0]
    usual = _usual(target, known[answered])
    return replace(trial, holds=float(right.mean()), checked=len(right), usual=usual)


def _checked_on(target: Target, evidence: Evidence) -> Rows:
    """Return the unprotected rows on which a relation is checked: of one taken as known, of a recoding only."""
    if target.taught:
        return np.setdiff1d(_lesson(target, evidence).learners, target.cells, assume_unique=True)
    by_code = told_by_code(target, evidence)
    if target.unseen is None or by_code is None or not by_code.any():
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(target.unseen[1])


def _lesson(target: Target, evidence: Evidence) -> Lesson:
    if evidence.published:
        return published_lesson(target, own=target.number and not target.taught)
    return target.lesson


def best_of(target: Target, evidence: Iterable[Evidence]) -> Trial | None:
    """Try many pieces of evidence, on a sample where the table is large, and return the best tried on all."""
    ranked = screened(target, evidence)
    if not ranked:
        return None
    final = [tried(target, one) for one, _ in ranked[: FINALISTS if target.screened else 1]]
    return replace(max(final, key=lambda trial: trial.share), tests=len(ranked))


def screened(target: Target, evidence: Iterable[Evidence]) -> list[tuple[Evidence, float]]:
    """Return evidence with the share it restores, on a sample if the table is large; the best first."""
    part, rows = target.part(*SCREENED)
    found = [(one, share(part, one.part(rows))) for one in evidence]
    return sorted(found, key=lambda entry: (-entry[1], entry[0].shown))


def share(target: Target, evidence: Evidence) -> float:
    """Return the share that a piece of evidence restores."""
    return _asked(target, evidence, target.cells).share


def read_off(target: Target, answers: NDArray[Any], shown: str, *, parts: tuple[str, ...] = ()) -> Trial:
    """Take answers as they stand, one for each record of the file: a sum of other columns, another release's value."""
    evidence = Evidence((shown,), np.zeros(len(answers), dtype=np.int64), ordered=False, parts=parts)
    trial = _judged(target, evidence, target.asked, answers[target.asked])
    unchanged = target.sampled(target.unchanged, MAX_CHECKED_VALUES)
    return _elsewhere(trial, unchanged, answers[unchanged])


def _elsewhere(trial: Trial, rows: Rows, found: NDArray[Any]) -> Trial:
    """Add to a trial what the same evidence says of values that were not changed."""
    likely = trial.target.unaware
    if likely is None or not rows.size:
        return trial
    answered = _answered(trial.target, found) & trial.evidence.shows(rows)
    elsewhere = np.where(answered, trial.target.right(rows, found)[0], likely[rows])
    return replace(trial, unchanged=rows, elsewhere=elsewhere)


def _answered(target: Target, found: NDArray[Any]) -> Mask:
    return np.asarray(~np.isnan(found) if target.number else found >= 0)


def _asked(target: Target, evidence: Evidence, rows: Rows) -> Trial:
    found = _answers(target, evidence, rows)
    by_code = told_by_code(target, evidence)
    if by_code is not None:
        found = np.where(by_code[rows], target.truth.codes[rows], found)
    return _judged(target, evidence, rows, found)


def _judged(target: Target, evidence: Evidence, rows: Rows, found: NDArray[Any]) -> Trial:
    """Compare answers with the truth; where there is none the guess is taken."""
    answered = _answered(target, found)
    right, exact = target.right(rows, found)
    at = np.searchsorted(target.cells, rows)
    return Trial(
        target,
        evidence,
        rows,
        np.where(answered, right, target.guess.right[at]),
        np.where(answered, exact, target.guessed_exactly[at]),
        answered,
        learnt_from_file=target.taught or evidence.published,
    )


def _answers(target: Target, evidence: Evidence, rows: Rows) -> NDArray[Any]:
    known = not target.taught and not evidence.published
    evidence = evidence if known else replace(evidence, apart=0)
    return predicted(target, evidence, _lesson(target, evidence), rows, banded=known)


def _usual(target: Target, rows: Rows) -> float:
    """Return the share of these rows that one value for all would get right."""
    codes = target.truth.codes[rows]
    if target.ranks is None:
        return float(np.bincount(codes).max() / len(codes))
    return target.ranks.likely(target.level_ranks[codes])


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
    exact = _exactly(trial) if trial.target.number else None
    dependent = name in ("columns", "combinations")
    if exact is not None and _restores(exact, trial, FURTHER / 2 * level, margin, dependent=dependent):
        return _by(found, "exactly", exact)
    return found


def _by(found: Restored, basis: Basis, figures: Figures) -> Restored:
    return replace(found, restored=figures[0], guess=figures[1], reading="restores", basis=basis)


def _restores(figures: Figures, trial: Trial, level: float, margin: float, *, dependent: bool) -> bool:
    """Tell whether so much is more than the guess, more than luck and, if asked, most of what the guess leaves open."""
    restored, guess, by_luck = figures
    excess = restored - guess
    if excess <= margin or (dependent and excess < DEPENDENCE * (1 - guess)):
        return False
    return by_luck < level or _holds(trial, level, margin)


def _with_the_file_alone(trial: Trial) -> Figures | None:
    """Compare with the guess from the file alone, over all records on which that intruder has to decide.

    The figures are per protected value: one less all that is wrong, so that each unchanged value put wrong takes away
    one put right. Evidence that is blank itself says nothing: a blank beside a blank tells no more than that one does.
    """
    target = trial.target
    if target.unaware is None:
        return None
    cells, unchanged = len(target.cells), len(target.unchanged)
    likely = target.unaware[trial.rows]
    right = np.where(trial.answered & trial.evidence.shows(trial.rows), trial.right, likely)
    wrong, missed = cells * (1 - float(right.mean())), cells * (1 - float(likely.mean()))
    if trial.unchanged.size:
        wrong += unchanged * (1 - float(trial.elsewhere.mean()))
        missed += unchanged * (1 - float(target.unaware[trial.unchanged].mean()))
    judged = cells + unchanged
    independent = _independent(trial, np.concatenate([trial.rows, trial.unchanged]))
    least = target.guess.chance if independent < MIN_PROTECTED_VALUES else 0.0
    by_luck = luck(1 - wrong / judged, independent, max(1 - missed / judged, least))
    return max(1 - wrong / cells, 0.0), max(1 - missed / cells, 0.0), by_luck


def _exactly(trial: Trial) -> Figures:
    """Compare the numbers met exactly: a figure published nearly as it was is near, and a sum may tell it in full."""
    target = trial.target
    guessed = target.guessable_exactly[np.searchsorted(target.cells, trial.rows)]
    restored, guess = float(trial.exact.mean()), float(guessed.mean())
    independent = _independent(trial, trial.rows)
    least = guess
    if independent < MIN_PROTECTED_VALUES:
        codes = target.truth.codes
        least = max(guess, float(np.bincount(codes[codes >= 0]).max() / np.count_nonzero(codes >= 0)))
    return restored, guess, luck(restored, independent, least)


def _only_associated(name: Name, trial: Trial) -> bool:
    """Tell whether other columns say no more of a variable than columns say of each other.

    Of the values that they speak of they give back less than two thirds of what the guess leaves open. A number so fine
    that few records are near any value is met by no mere association, except by a sum of parts that were changed.
    """
    fine = trial.target.number and trial.target.guess.chance <= MAX_NEIGHBOUR_SHARE and name != "sums"
    if name not in ("columns", "combinations", "sums", "text") or fine or not trial.answered.any():
        return False
    restored = float(trial.right[trial.answered].mean())
    guess = float(trial.target.guessed(trial.rows)[1][trial.answered].mean())
    return restored - guess < DEPENDENCE * (1 - guess)


def restored_by(trial: Trial, level: float, margin: float, *, associated: bool) -> Restored:
    """Judge a trial: whether it restores by more than the margin, and by more than luck at this level."""
    target = trial.target
    restored, guess = trial.share, trial.guess
    reading: Reading = "restores"
    if restored - guess <= margin:
        reading = "nothing"
    elif not _beyond_luck(trial, level) and not _holds(trial, level, margin):
        reading = "luck"
    elif associated:
        reading = "association"
    return Restored(
        variable=target.name,
        level=target.level,
        evidence=trial.evidence.shown,
        values=len(target.cells),
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
    return luck(trial.share, _independent(trial, trial.rows), trial.target.guess.granted) < level


def _independent(trial: Trial, rows: Rows) -> int:
    units = trial.target.units
    return len(rows) if units is None else len(np.unique(units[rows]))


def _holds(trial: Trial, level: float, margin: float) -> bool:
    """Tell whether the relation holds for nearly all unprotected values, and not because nearly all are equal."""
    if trial.holds is None or trial.holds < NEARLY_ALWAYS or trial.holds - trial.usual <= margin:
        return False
    if trial.share < AS_OFTEN * trial.holds:  # what holds elsewhere does not hold for the protected values
        return False
    return luck(trial.holds, trial.checked, trial.usual) < level
