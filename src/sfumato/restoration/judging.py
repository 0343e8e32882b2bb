"""Whether a route restores a variable: by more than a guess, by more than luck, and not as associations do."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtrc

from sfumato.restoration.findings import Basis, Name, Reading, Restored
from sfumato.restoration.guess import SEVERAL
from sfumato.restoration.trials import Trial

DEPENDENCE = 2 / 3  # of what the guess leaves open other columns must give back: less is what users look for
FINE = 0.1  # of the records at most are near one value of a number so fine that no mere association meets it
AS_OFTEN = 0.75  # of how often a relation holds for unprotected values it must hold for the protected ones
NEARLY_ALWAYS = 0.9  # of the unprotected values a relation must hold for, to count where protected values are few
FIRST, FURTHER = 0.8, 0.2  # of the chance of a false alarm: for the first comparison, and for the others in all


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
    least = target.guess.chance if independent < SEVERAL else 0.0
    luck = _luck(1 - wrong / judged, independent, max(1 - missed / judged, least))
    return _Compared(max(1 - wrong / cells, 0.0), max(1 - missed / cells, 0.0), luck)


def _exactly(trial: Trial) -> _Compared:
    """Compare the numbers met exactly: a figure published nearly as it was is near, and a sum may tell it in full."""
    target = trial.target
    guessed = target.guessable_exactly[np.searchsorted(target.aim.cells, trial.rows)]
    restored, guess = float(trial.exact.mean()), float(guessed.mean())
    independent = _independent(trial, trial.rows)
    least = guess
    if independent < SEVERAL:
        codes = target.aim.truth.codes
        least = max(guess, float(np.bincount(codes[codes >= 0]).max() / np.count_nonzero(codes >= 0)))
    return _Compared(restored, guess, _luck(restored, independent, least))


def _only_associated(name: Name, trial: Trial) -> bool:
    """Tell whether other columns say no more of a variable than columns say of each other.

    Of the values that they speak of they give back less than two thirds of what the guess leaves open. A number so fine
    that few records are near any value is met by no mere association, except by a sum of parts that were changed.
    """
    fine = trial.target.aim.number and trial.target.guess.chance <= FINE and name != "sums"
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
