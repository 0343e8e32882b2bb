"""Average class size: how many records share their keys, in the mean over the classes."""

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.utility.generalisation import RecordsByKey, beyond_the_original


@catalogued(
    MeasureAbout(
        title="Average class size",
        source="LeFevre, DeWitt and Ramakrishnan (2006), Mondrian multidimensional k-anonymity, ICDE (C_AVG); without "
        "k as in ARX",
        purpose="utility",
        better="lower",
        range=(1.0, np.inf),
        unit="number",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing="records with the same values and the same gaps are one class",
        paired=False,
        records="protected",
        parts="summaries",
        caveat="it sees how many classes there are, not how unequal they are (see Discernibility) nor how broad; "
        "single values suppressed make classes of their own, so that it may fall",
        formula="value = (n / classes) / k,   at least what the original has\n"
        "classes = combinations of key values that occur, a missing value being one of them",
        reading="With the k that was asked for, 1 means that no class is larger than it must be, 4 that they are "
        "four times as large. With k = 1 it is the mean number of records that share their keys.",
    )
)
class AverageClassSize(Measure):
    """Mean number of records that share their keys, over ``k``: the normalised average class size C_AVG.

    Of a file that is k-anonymous, C_AVG is 1 where every class is as small as k allows. With k = 1, as it is if nobody
    says, it is the average size itself, which ARX shows. Records that were suppressed as a whole are one class. The
    variables are the keys that the schema names, else all.

    A table that tells more records apart than the original did, as noise makes one, is no better than the original: it
    has the original's figure.

    Parts: the number of classes, that of the original, the largest class, and the loss as ARX shows it: how far the
    size went from the original's towards n. The table "largest classes" lists the classes of most records.

    >>> import pyarrow as pa
    >>> before = pa.table({"town": ["A", "A", "B", "C", "D", "E"]})
    >>> after = pa.table({"town": ["A", "A", "BCDE", "BCDE", "BCDE", "BCDE"]})
    >>> AverageClassSize(2).evaluate(before, after).value  # (6 / 2) / 2
    1.5
    """

    k: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "k")
        if self.k > 1:
            self.known_as(title=f"Average class size over {self.k}", range=(1 / self.k, np.inf))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        found = RecordsByKey.of(self, pair)
        before, after = found.original, found.protected
        at_first, size = (one.records / len(one) for one in (before, after))
        more = size < at_first
        notes = ("it tells more records apart than the original, whose figure is given",) if more else ()
        return self.measurement(
            max(size, at_first) / self.k,
            parts={
                "classes": float(len(after)),
                "classes of the original": float(len(before)),
                "largest class": float(after.sizes.max()),
                "loss": beyond_the_original(at_first, size, float(after.records)),
            },
            by_record=after.by_record(after.sizes / self.k),
            tables={"largest classes": found.largest()},
            notes=(*found.notes, *notes),
        )
