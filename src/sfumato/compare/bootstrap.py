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
"""

import math
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.about import MeasureAbout
from sfumato.compare.figures import written
from sfumato.core import Measure, Measurement, Seed
from sfumato.data.microdata import Microdata
from sfumato.display import Preformatted
from sfumato.errors import NotApplicable, ParameterError

Floats = NDArray[np.float64]
Way = Literal["contributions", "pairs", "tables"]
SAID: dict[Way, str] = {
    "contributions": "by resampling what each record contributes, the tables unchanged",
    "pairs": "by resampling records together with their protected ones",
    "tables": "by resampling the records of each table by itself",
}


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
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        unit = self.about.unit
        low, high = (written(end, unit) for end in self.interval)
        lines = [
            f"{self.measure} = {written(self.value, unit, self.error)}  ({self.level:.0%} of "
            f"{self.values.size} repetitions from {low} to {high}, {SAID[self.way]})"
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
) -> Bootstrap:
    """Resample the records of a table and its protected one, and say how much a measure moves.

    ``matched`` says whether record i of one table is record i of the other; unless given, that is so for measures that
    need it. Say ``matched=True`` where another measure judges a masked copy whose records stand in the original order:
    its error is then much smaller than that of a table of unrelated records.

    >>> import pyarrow as pa
    >>> from sfumato import RankInterval
    >>> table = pa.table({"income": [10.0, 20.0, 30.0, 40.0]})
    >>> bootstrap(table, table, RankInterval(), rng=1).error  # a copy gives all away, whichever records it holds
    0.0
    """
    _check(measure, repetitions, level, matched)
    before, after = measure._tables(original, protected)
    if matched and not measure.about.paired:
        after = measure._paired(before, after)
    drawn = np.random.default_rng(rng)
    draws = int(drawn.integers(2**63))  # the measure's own draws are the same in every repetition
    whole = measure._evaluate(before, after, np.random.default_rng(draws))
    notes: tuple[str, ...] = ()
    if _adds_up(whole):
        way: Way = "contributions"
        assert whole.by_record is not None
        values = _means(whole.by_record, repetitions, drawn)
    else:
        way = "pairs" if (measure.about.paired if matched is None else matched) else "tables"
        # ids would not be unique among records drawn twice, and the records are matched by now
        tables = [replace(table, schema=replace(table.schema, id=None)) for table in (before, after)]
        values, notes = _computed_anew(measure, tables, way == "pairs", repetitions, draws, drawn)
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
        notes=(*whole.notes, *notes),
    )


def _check(measure: Any, repetitions: Any, level: Any, matched: Any) -> None:
    if not isinstance(measure, Measure):
        hint = "; take its measures one by one" if hasattr(measure, "terms") else "; write for example RankInterval()"
        raise ParameterError(f"bootstrap: {measure!r} is not a measure{hint}")
    if isinstance(repetitions, bool) or not isinstance(repetitions, Integral) or repetitions < 20:
        raise ParameterError(f"bootstrap: repetitions must be a whole number of at least 20; got {repetitions!r}")
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.5 <= level < 1:
        raise ParameterError(f"bootstrap: level must be a share from 0.5 to below 1; got {level!r}")
    if matched is False and measure.about.paired:
        raise ParameterError(f"bootstrap: {measure!r} compares record with record, so they cannot but be matched")


def _adds_up(found: Measurement) -> bool:
    """Tell whether a figure is the mean of what it says of each record."""
    each = found.by_record
    return each is not None and math.isclose(float(each.mean()), found.value, rel_tol=1e-9, abs_tol=1e-12)


def _means(each: Floats, repetitions: int, rng: np.random.Generator) -> Floats:
    return np.array([each[rng.integers(each.size, size=each.size)].mean() for _ in range(repetitions)])


def _computed_anew(
    measure: Measure, tables: list[Microdata], together: bool, repetitions: int, draws: int, rng: np.random.Generator
) -> tuple[Floats, tuple[str, ...]]:
    """Evaluate a measure on resampled tables; a sample that it does not fit is left out and counted."""
    values, reason = [], ""
    for _ in range(repetitions):
        rows = [rng.integers(len(table), size=len(table)) for table in tables]
        before, after = tables[0].take(rows[0]), tables[1].take(rows[0] if together else rows[1])
        try:
            values.append(measure._evaluate(before, after, np.random.default_rng(draws)).value)
        except NotApplicable as error:
            reason = str(error)
    lost = repetitions - len(values)
    if lost > repetitions / 10:
        raise NotApplicable(f"bootstrap: {lost} of {repetitions} resampled tables have no figure; the last: {reason}")
    return np.array(values), (f"{lost} of {repetitions} resampled tables left out: {reason}",) if lost else ()
