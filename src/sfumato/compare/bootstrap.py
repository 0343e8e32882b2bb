"""Bootstrap over records: how much a figure would move had the file held other records of the same kind.

Replicates tell how much the draws of a method move a figure; the bootstrap tells how much the records do. Three ways,
and the result says which was taken:

- *contributions*: a measure that is the mean of what it says of each record (record linkage) is resampled in these
  figures, while the tables stay as they are. Resampling the records themselves would be wrong for linkage: a record
  drawn twice has a twin in the other table, with which it ties, and only 63 % of the records are there to be confused
  with, so that the risk of another, smaller and lumpier file would be measured.
- *pairs*: record i of both tables is drawn together, and the measure computed anew. Right wherever the protected
  records were made from the original ones, for then both files would have held other records.
- *tables*: the records of each table are drawn by themselves, and the measure computed anew. Right for synthetic
  tables, whose records answer to nobody; of a masked copy it overstates the error.

A measure of the distance between two tables grows when their records are resampled, for even two samples of one table
differ. Its standard error is then still a fair scale, but the percentile interval is shifted; a note says so.

Contributions cost next to nothing. The other two ways evaluate the measure once per repetition, so the time can be
bounded: the result says how many repetitions were made.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.about import MeasureAbout
from sfumato.arguments import require
from sfumato.compare.figures import written
from sfumato.core import Measure, Seed, speaking
from sfumato.display import Preformatted
from sfumato.errors import NotApplicable, ParameterError
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.parameters import random_generator
from sfumato.table.microdata import Microdata

Floats = NDArray[np.float64]
Way = Literal["contributions", "pairs", "tables"]
DESCRIPTIONS: dict[Way, str] = {
    "contributions": "by resampling what each record contributes, the tables unchanged",
    "pairs": "by resampling records together with their protected ones",
    "tables": "by resampling the records of each table by itself",
}
MIN_REPETITIONS = 20  # repetitions: fewer give no interval
# standard errors between a figure and its repetitions, from which on no interval will hold it
MAX_STANDARD_ERRORS = 3.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Bootstrap(Preformatted):
    """A figure with its standard error over records, a percentile interval, and how they were found."""

    measure: str
    about: MeasureAbout
    value: float
    error: float
    interval: tuple[float, float]
    level: float
    way: Way
    values: Floats  # the figure in each repetition that has one
    wanted: int  # repetitions; fewer were made if the time was up or it was no use
    notes: tuple[str, ...] = ()

    @property
    def shifted(self) -> bool:
        """Whether resampling moves the figure itself, so that the interval does not hold it."""
        return not self.interval[0] <= self.value <= self.interval[1]

    def __repr__(self) -> str:
        unit = self.about.unit
        low, high = (written(end, unit) for end in self.interval)
        lines = [
            f"{self.measure} = {written(self.value, unit, self.error)}  ({self.level:.0%} of "
            f"{self.values.size} repetitions from {low} to {high}, {DESCRIPTIONS[self.way]})"
        ]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def bootstrap(
    original: Any,
    protected: Any,
    measure: Measure,
    *,
    repetitions: int = 200,
    level: float = 0.95,
    matched: bool | None = None,
    rng: Seed = None,
    seconds: float | None = None,
    known: Measurement | None = None,
    unless_shifted: bool = False,
    told: Callable[[int], None] | None = None,
) -> Bootstrap:
    """Resample the records of a table and its protected one, and say how much a measure moves.

    ``matched`` says whether record i of one table is record i of the other; unless given, that is so for measures that
    need it. Say ``matched=True`` if another measure judges a masked copy whose records stand in the original order:
    its error is then much smaller than that of a table of unrelated records.

    ``seconds`` bounds the time; the repetitions made until then count. ``known`` is what the measure says of these
    tables, if that has been computed. With ``unless_shifted`` it ends early if the first repetitions show that the
    interval will not hold the figure. ``told`` hears how many repetitions are done.

    >>> import pyarrow as pa
    >>> from sfumato import RankInterval
    >>> table = pa.table({"income": [10.0, 20.0, 30.0, 40.0]})
    >>> bootstrap(table, table, RankInterval(), rng=1).error  # a copy gives all away, whichever records it holds
    0.0
    """
    require("bootstrap", bool | None, "True, False or None", matched=matched)
    _check(measure, repetitions, level, matched, seconds)
    start = perf_counter()
    drawn = random_generator(rng)
    draws = int(drawn.integers(2**63))  # the measure's own draws are the same in every repetition
    if known is not None and adds_up(known):
        return _concluded(measure, known, _means(known, repetitions, drawn), "contributions", level, repetitions)
    with speaking(measure):
        pair = Pair.of(original, protected)
        pair = pair.in_order() if matched or measure.about.paired else pair
    whole = known or measure.evaluate_pair(pair, rng=draws)
    if adds_up(whole):
        return _concluded(measure, whole, _means(whole, repetitions, drawn), "contributions", level, repetitions)
    way: Way = "pairs" if (measure.about.paired if matched is None else matched) else "tables"
    # ids would not be unique among records drawn twice, and the records are matched by now
    tables = [replace(table, schema=replace(table.schema, id=None)) for table in pair.tables()]
    anew = _Anew(measure, tables, draws, drawn, together=way == "pairs")
    begun = perf_counter()
    for done in range(repetitions):
        # too few repetitions for an interval are no use, so that it ends at once if there will not be more
        more = MIN_REPETITIONS / done if 0 < done < MIN_REPETITIONS else 1.0
        if seconds is not None and begun - start + (perf_counter() - begun) * more > seconds:
            break
        if unless_shifted and done == MIN_REPETITIONS and anew.far_from(whole.value):
            break
        anew.repeat()
        if told is not None:
            told(done + 1)
    return _concluded(
        measure, whole, anew.found(repetitions, seconds), way, level, repetitions, anew.notes(repetitions)
    )


def _check(measure: Any, repetitions: Any, level: Any, matched: Any, seconds: Any) -> None:
    if not isinstance(measure, Measure):
        hint = "; take its measures one by one" if hasattr(measure, "terms") else "; write for example RankInterval()"
        raise ParameterError(f"bootstrap: {measure!r} is not a measure{hint}")
    if isinstance(repetitions, bool) or not isinstance(repetitions, Integral) or repetitions < MIN_REPETITIONS:
        raise ParameterError(
            f"bootstrap: repetitions must be a whole number of at least {MIN_REPETITIONS}; got {repetitions!r}"
        )
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.5 <= level < 1:
        raise ParameterError(f"bootstrap: level must be a share from 0.5 to below 1; got {level!r}")
    if matched is False and measure.about.paired:
        raise ParameterError(f"bootstrap: {measure!r} compares record with record, so they cannot but be matched")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0):
        raise ParameterError(f"bootstrap: seconds must be a number above 0, or None for no bound; got {seconds!r}")


def adds_up(found: Measurement) -> bool:
    """Tell whether a figure is the mean of what it says of each record, so that the tables need not be resampled."""
    each = found.by_record
    return each is not None and math.isclose(float(each.mean()), found.value, rel_tol=1e-9, abs_tol=1e-12)


def _means(found: Measurement, repetitions: int, rng: np.random.Generator) -> Floats:
    each = found.by_record
    assert each is not None
    return np.array([each[rng.integers(each.size, size=each.size)].mean() for _ in range(repetitions)])


class _Anew:
    """A measure evaluated on resampled tables; a sample that it does not fit is left out and counted."""

    def __init__(
        self, measure: Measure, tables: list[Microdata], draws: int, rng: np.random.Generator, *, together: bool
    ) -> None:
        self.measure, self.tables, self.draws, self.rng, self.together = measure, tables, draws, rng, together
        self.values: list[float] = []
        self.tried, self.reason = 0, ""

    def repeat(self) -> None:
        """Draw the records anew and evaluate."""
        first, second = (self.rng.integers(len(table), size=len(table)) for table in self.tables)
        before, after = self.tables[0].take(first), self.tables[1].take(first if self.together else second)
        self.tried += 1
        try:
            self.values.append(self.measure.evaluate(before, after, rng=self.draws).value)
        except NotApplicable as error:
            self.reason = str(error)

    def far_from(self, value: float) -> bool:
        """Tell whether a figure lies so far from its repetitions that no interval of them will hold it."""
        found = np.array(self.values)
        return len(found) > MIN_REPETITIONS / 2 and bool(
            abs(found.mean() - value) > MAX_STANDARD_ERRORS * found.std(ddof=1)
        )

    def found(self, wanted: int, seconds: float | None) -> Floats:
        """Return the figures, if there are enough of them."""
        lost = self.tried - len(self.values)
        if lost > self.tried / 10:
            raise NotApplicable(
                f"{lost} of {self.tried} resampled tables have no figure; the last: {self.reason}", who="bootstrap"
            )
        if self.tried < MIN_REPETITIONS:
            raise NotApplicable(
                f"in {seconds:.3g} s there is time for fewer than {MIN_REPETITIONS} of {wanted} repetitions",
                who="bootstrap",
            )
        return np.array(self.values)

    def notes(self, wanted: int) -> tuple[str, ...]:
        """Say what was left out, and that not all repetitions were made."""
        lost = self.tried - len(self.values)
        said = [f"{lost} of {self.tried} resampled tables left out: {self.reason}"] if lost else []
        return (*said, f"{self.tried} of {wanted} repetitions were made") if self.tried < wanted else tuple(said)


def _concluded(
    measure: Measure,
    whole: Measurement,
    values: Floats,
    way: Way,
    level: float,
    wanted: int,
    notes: tuple[str, ...] = (),
) -> Bootstrap:
    error = float(values.std(ddof=1)) if np.isfinite(values).all() else math.nan
    tail = (1 - level) / 2
    low, high = (float(end) for end in np.quantile(values, (tail, 1 - tail), method="nearest"))
    if not low <= whole.value <= high:
        notes += ("resampled tables differ more than the tables themselves, so that the interval is shifted",)
    return Bootstrap(
        measure=repr(measure),
        about=measure.about,
        value=whole.value,
        error=error,
        interval=(low, high),
        level=level,
        way=way,
        values=values,
        wanted=wanted,
        notes=(*whole.notes, *notes),
    )
