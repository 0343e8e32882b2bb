"""Dates shifted at random, all dates of a unit by the same number of days."""

import numpy as np

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.data.dates import moved
from sfumato.data.microdata import Microdata
from sfumato.data.units import counted, units
from sfumato.registry import catalogued


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
        "everybody shares, weekdays and seasons show the shift; birth dates and other dates must shift together",
        formula="x'_ij = x_ij + s_u(i),   s_u even on the whole numbers -days .. days, one for each unit u;\n"
        "u(i) = the household or person that the schema names, else the record",
        reading="A date moves by at most ``days``, on average by about half of it. Intervals between the dates of a "
        "unit stay exact, and so do ages at an event if the birth date is shifted as well. 30 days hide the day and "
        "blur the month, 180 also the season. The paper's method also cuts off the ends of the file, because dates "
        "before or after a known period give shifts away: code these with TopBottomCoding.",
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
        said = f"{type(self).__name__}: {', '.join(names)} moved by at most {self.days:,} days"
        return data.replace({name: moved(data.columns[name], shift) for name in names}, said)
