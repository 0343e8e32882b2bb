"""One candidate's figures: means and standard errors over the replicates, and why some are not there."""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from sfumato.compare.figures import numberless
from sfumato.compare.store import Averaged, Cell, Key, averaged
from sfumato.core import Method
from sfumato.measurement import SAMPLING_ERROR, Measurement
from sfumato.outcome import Reason, Status
from sfumato.pair.sample import NORMAL

NO_NUMBER = Reason(Status.FAILED, "the measure gave no number")


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """What is known of one candidate; each mapping has one entry per measure, by the measure's key.

    ``errors`` are standard errors of the means: 0 where nothing is random, NaN where one replicate leaves it unknown.
    ``sampling`` is what of them comes from looking at some of the records only, where a measure says so; each replicate
    looks at others, so that the spread over several holds it too.
    A measure that lacks its figure in some replicate is in ``reasons`` and nowhere else, for a mean over the
    replicates that happened to go well would not be the mean.
    """

    candidate: str
    method: Method | None  # None: protected elsewhere
    means: Mapping[str, float]
    errors: Mapping[str, float]
    values: Mapping[str, tuple[float, ...]]
    replicates: int
    reasons: Mapping[str, Reason] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # means over the replicates
    by_variable: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    by_pair: Mapping[str, Mapping[tuple[str, str], float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what the method noted in its tables, what a measure left out and why
    seconds: float = 0.0  # masking and measuring, all replicates
    protect_seconds: float = 0.0  # masking one table, on average
    measure_seconds: Mapping[str, float] = field(default_factory=dict)  # one evaluation, on average
    sampling: Mapping[str, float] = field(default_factory=dict)  # of figures that are estimates


def row(
    candidate: str,
    method: Method | None,
    cells: Mapping[str, Sequence[Cell]],
    *,
    random: Set[str],
    read: Callable[[str, Key], Measurement],
) -> Row:
    """Summarise a candidate's cells, listed by measure.

    ``random`` names the measures whose figures are draws; ``read`` gets the whole measurement of one of their cells.
    """
    reasons = {key: reason for key, found in cells.items() if (reason := _reason(found)) is not None}
    full = {key: found for key, found in cells.items() if key not in reasons}
    values = {key: tuple(cell.value for cell in found) for key, found in full.items()}
    keys = {key: [cell.key for cell in found] for key, found in full.items()}
    every = [cell for found in cells.values() for cell in found]
    masked = {cell.key.replicate: cell.protect_seconds for cell in every}
    sampling = {key: error for key, found in full.items() if (error := _sampling_error(found)) is not None}
    once = method is None or not method.about.random
    protect_seconds = float(np.mean(list(masked.values()))) if masked else 0.0
    return Row(
        candidate=candidate,
        method=method,
        means={key: math.fsum(found) / len(found) for key, found in values.items()},
        errors={key: _error(found if key in random else None, sampling.get(key, 0.0)) for key, found in values.items()},
        values=values,
        replicates=max((len(found) for found in cells.values()), default=0),
        reasons=reasons,
        parts=_parts(full),
        by_variable=Averaged(keys, lambda measure, key: read(measure, key).by_variable),
        by_pair=Averaged(keys, lambda measure, key: read(measure, key).by_pair),
        notes=_notes(cells),
        seconds=sum(cell.seconds for cell in every) + protect_seconds * (1 if once else len(masked)),
        protect_seconds=protect_seconds,
        measure_seconds={key: sum(cell.seconds for cell in found) / len(found) for key, found in full.items()},
        sampling=sampling,
    )


def half_width(row: Row, key: str) -> float:
    """Return half the 95 % interval of a mean, Student's t times its standard error; 0 where nothing is known to vary.

    With three replicates that is 4.30 standard errors, not the 1.96 of a normal mean. Of one replicate it is what a
    sample of many records leaves open, 1.96 of its standard errors.
    """
    error, draws = row.errors[key], len(row.values.get(key, ()))
    if draws < 2:
        return NORMAL * row.sampling.get(key, 0.0)
    return students_t(draws) * error if error > 0 else 0.0


@cache
def students_t(draws: int) -> float:
    """Return how many standard errors of a mean of so many draws make its 95 % interval: Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(draws - 1, 0.975))


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean of some draws: sd / sqrt(r), the sd with r - 1; unknown for one draw.

    >>> standard_error([1.0, 3.0])  # sd = sqrt(2), over sqrt(2)
    1.0
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return math.nan
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))


def _error(draws: Sequence[float] | None, sampling: float) -> float:
    """Return the standard error of a mean of draws, or of a figure that is none (None): at least what is known of it.

    Few draws may lie together by chance, but each is at least as unsure as its sample of the records.
    """
    spread = 0.0 if draws is None else standard_error(draws)
    return spread if math.isnan(spread) else max(spread, sampling)


def _sampling_error(cells: Sequence[Cell]) -> float | None:
    """Return the standard error of a mean that samples of the records leave, one for each replicate; None: no sample.

    A replicate that says none was counted for all records.
    """
    if not any(SAMPLING_ERROR in cell.parts for cell in cells):
        return None
    errors = [cell.parts.get(SAMPLING_ERROR, 0.0) for cell in cells]
    return math.hypot(*errors) / len(errors) if np.isfinite(errors).all() else None


def _reason(cells: Sequence[Cell]) -> Reason | None:
    """Say why a measure has no figure over all replicates, by the first that lacks it; None if it has one."""
    reasons = [cell.reason or NO_NUMBER for cell in cells if math.isnan(cell.value)]
    return replace(reasons[0], lacking=len(reasons), replicates=len(cells)) if reasons else None


def _parts(cells: Mapping[str, Sequence[Cell]]) -> dict[str, Mapping[str, float]]:
    """Average the parts over the replicates, measure by measure; measures that have none are left out."""
    return {
        key: averaged([cell.parts for cell in found]) for key, found in cells.items() if any(c.parts for c in found)
    }


def _notes(cells: Mapping[str, Sequence[Cell]]) -> tuple[str, ...]:
    """Gather the distinct notes: the method's, then each measure's under its name."""
    masking = [note for found in cells.values() for cell in found for note in cell.masking]
    measuring = [f"{key}: {note}" for key, found in cells.items() for cell in found for note in cell.notes]
    # replicates say the same with other numbers: the first of them stands for all
    first = {numberless(note): note for note in reversed(masking + measuring)}
    return tuple(dict.fromkeys(first[numberless(note)] for note in masking + measuring))
