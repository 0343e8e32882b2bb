"""Dates shifted at random, all dates of a unit by the same number of days."""

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.errors import NotApplicable
from sfumato.registry import catalogued
from sfumato.table.dates import YEARS, moved, spelled
from sfumato.table.households import counted, units
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema

# units with the same day, of all that have one, and how many these must be for a share to tell
MIN_SHARE_OF_DAY, MIN_UNITS = 0.2, 10
ORDINARY = (YEARS[0] + 365, YEARS[1] - 365)  # the years 1 and 9999 stand for no date or an unknown one


@catalogued(
    MethodAbout(
        title="Date shifting",
        source="Hripcsak, Mirhaji, Low and Malin (2016), Preserving temporal relations in clinical data while "
        "maintaining privacy, J. Am. Med. Inform. Assoc. 23(6)",
        missing="stays missing",
        kinds=("date",),
        random=True,
        households="whole",
        grid={"days": (7, 30, 180)},
        caveat="intervals within a unit are true, so that an unusual sequence of stays still identifies; a day that "
        "many share, such as that of the interview, gives the shift away and with it every date, so it is refused: "
        "remove it first; weekdays and seasons show the shift too; birth dates and other dates must shift together",
        formula="x'_ij = x_ij + s_u(i),   s_u even on the whole numbers -days .. days, one for each unit u;\n"
        "u(i) = the household or person that the schema names, else the record",
        reading="A date moves by at most ``days``, on average by about half of it. Intervals between the dates of a "
        "unit stay exact, and so do ages at an event if the birth date is shifted as well. 30 days hide the day and "
        "blur the month, 180 also the season. The paper's method also cuts off the ends of the file, because dates "
        "before or after a known period give shifts away: code these with TopBottomCoding.",
        group="Change numbers",
        labels={"days": "Days that a date moves, at most (days)"},
    )
)
class DateShift(Method):
    """All dates of a unit moved by the same random number of whole days, at most ``days`` to either side.

    The unit is the household the schema names (the person, in a file of several records per person), else the record,
    so that the order of events and the time between them are kept. Times of day stay. The shift is drawn evenly from
    -``days`` to ``days``, 0 among them.

    >>> import datetime as dt, pyarrow as pa
    >>> stay = pa.table({"came": [dt.date(2020, 1, 10)], "left": [dt.date(2020, 1, 14)]})
    >>> moved = DateShift(30).protect(stay, rng=1)
    >>> moved["left"][0].as_py() - moved["came"][0].as_py()
    datetime.timedelta(days=4)
    """

    days: int

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "days")

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        unit = units(data)
        shift = rng.integers(-self.days, self.days, size=counted(unit), endpoint=True)[unit]
        names = self.masked(data)
        for name in names:
            self._refuse_beyond(name, data.columns[name])
            if len(names) > 1 or counted(unit) < len(data):  # else there is no other date to be restored
                _refuse_shared(name, data.columns[name], unit)
        said = f"{type(self).__name__}: {', '.join(names)} moved by at most {self.days:,} days"
        return data.replace({name: moved(data.columns[name], shift) for name in names}, said)

    def _refuse_beyond(self, name: str, days: NDArray[np.float64]) -> None:
        """Refuse dates that stand for something else, or that a shift would carry out of the calendar."""
        low, high = max(ORDINARY[0], YEARS[0] + self.days), min(ORDINARY[1], YEARS[1] - self.days)
        beyond = (days < low) | (days >= high)
        if beyond.any():
            row = int(np.argmax(beyond))
            day = spelled(float(days[row]))
            raise NotApplicable(
                f"variable {name!r} has {day} in row {row + 1}, at the end of the calendar, which a shift would hide "
                f'or carry beyond; declare it as missing in the schema: missing = ["{day}"]'
            )

    def in_words(self, schema: Schema | None = None) -> str:
        return f"{self.subject_is()} moved by up to {self.days:,} days, all dates of a unit alike"


def _refuse_shared(name: str, days: NDArray[np.float64], unit: NDArray[np.int64]) -> None:
    """Refuse a date that so many units share that an intruder knows it: shifted, it tells the shift of each."""
    there = ~np.isnan(days)
    pairs = np.unique(np.column_stack([np.floor(days[there]).astype(np.int64), unit[there]]), axis=0)
    of_all = len(np.unique(pairs[:, 1]))
    values, counts = np.unique(pairs[:, 0], return_counts=True)
    if of_all >= MIN_UNITS and counts.max() > MIN_SHARE_OF_DAY * of_all:
        raise NotApplicable(
            f"{counts.max() / of_all:.0%} of the units have the same day in {name!r}, "
            f"{spelled(float(values[counts.argmax()]))}; who knows it reads the shift of each off it and restores all "
            "their dates: remove it or recode it first (VariableRemoval, GlobalRecoding)"
        )
