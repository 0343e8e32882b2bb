"""How many records look alike: the average size of the classes, and discernibility."""

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.pair.statistics import KeyClasses
from sfumato.registry import catalogued
from sfumato.utility.generalisation import RecordsByKey, beyond_the_original

# Average class size: how many records share their keys, in the mean over the classes


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


# Discernibility: how many records look alike, summed over the records


@catalogued(
    MeasureAbout(
        title="Discernibility lost",
        source="Bayardo and Agrawal (2005), Data privacy through optimal k-anonymization, ICDE; LeFevre, DeWitt and "
        "Ramakrishnan (2006), Mondrian multidimensional k-anonymity, ICDE; between the original's and the most as in "
        "ARX (Prasser, Bild and Kuhn 2016)",
        purpose="utility",
        counts=("penalty", "classes"),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing="a record with a gap may be any whose other keys agree; one without any key left may be any record",
        paired=False,
        records="protected",
        parts="summaries",
        caveat="it sees how many records look alike, not how broad their values are nor whether they are true; records "
        "left out of the file are not counted",
        formula="value = (DM(protected) - DM(original)) / (n^2 - DM(original)), at least 0;   DM = sum_i penalty_i\n"
        "penalty_i = records with the same values as record i\n"
        "            records that agree with it, if a value of record i is missing: n if all are",
        reading="0 means that as many records can be told apart as before, 1 that all look alike. The part penalty is "
        "the figure of the papers: n if every record is alone, at least k n if the file is k-anonymous, n^2 at most. "
        "It grows with the square of the classes, so that one large class outweighs many small ones.",
    )
)
class Discernibility(Measure):
    """Share of what told records apart that is gone: the discernibility metric DM, between the original's and n^2.

    Every record pays for the records it cannot be told from: its class, or all n if it was suppressed. A record of
    which only some values are gone pays for those that it may be: all that agree with it in the others. For whole
    records suppressed this is the metric as published, the sum of squared class sizes and n for each record suppressed.

    The variables are the keys that the schema names, else all. Merging values never lowers the penalty; suppression
    may, because those who stay in a class are fewer. Of a table with other records than the original's both penalties
    are taken per pair of records.

    Parts: the penalty, that of the original, and the number of classes. ``by_record`` holds the share of the records
    that each looks like, the table "largest classes" where most of the penalty comes from.

    >>> import pyarrow as pa
    >>> before = pa.table({"town": ["A", "B", "C", "D"]})
    >>> after = pa.table({"town": ["AB", "AB", "C", None]})
    >>> found = Discernibility().evaluate(before, after)
    >>> found.parts["penalty"], found.value  # 2 x 2 + 1 + 4, of at least 4 and at most 16
    (9.0, 0.4166666666666667)
    """

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        found = RecordsByKey.of(self, pair)
        before, after = found.original, found.protected
        penalty, at_first = (float((one.sizes * look_alike(one)).sum()) for one in (after, before))
        pairs, pairs_at_first = float(after.records) ** 2, float(before.records) ** 2
        notes = ("all records of the original look alike: there was nothing to lose",)
        return self.measurement(
            beyond_the_original(at_first / pairs_at_first, penalty / pairs, 1.0),
            parts={"penalty": penalty, "penalty of the original": at_first, "classes": float(len(after))},
            by_record=after.by_record(look_alike(after) / after.records),
            tables={"largest classes": found.largest()},
            notes=(*found.notes, *(notes if at_first == pairs_at_first else ())),
        )


def look_alike(classes: KeyClasses) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return for each class the records that its own cannot be told from.

    >>> look_alike(KeyClasses.of(np.array([[0, 1], [0, 1], [0, -1], [-1, -1]], dtype=np.int32))).tolist()
    [2, 4, 4]
    """
    whole = classes.cells.min(axis=1, initial=0) >= 0
    return np.where(whole, classes.sizes, classes.counts)
