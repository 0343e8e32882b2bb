"""Statistics that merge: each is made of a part of the records, and two of them come together to that of both parts."""

from sfumato.pair.statistics.classes import KeyClasses
from sfumato.pair.statistics.cross_products import CrossProducts, Triangle
from sfumato.pair.statistics.crosstab import Crosstab
from sfumato.pair.statistics.histogram import Histogram
from sfumato.pair.statistics.moments import Moments
from sfumato.pair.statistics.statistic import Gathering, Room, Statistic, Sums, merged
from sfumato.pair.statistics.units import UnitSums
from sfumato.pair.statistics.values import Values

__all__ = [
    "CrossProducts",
    "Crosstab",
    "Gathering",
    "Histogram",
    "KeyClasses",
    "Moments",
    "Room",
    "Statistic",
    "Sums",
    "Triangle",
    "UnitSums",
    "Values",
    "merged",
]
