"""Which values to suppress so that k records share the rest: by record, exactly, or in classes, by local search."""

from sfumato.kernels.suppression.by_class import MOST_ENTRIES, cheapest_classes, taking_part
from sfumato.kernels.suppression.by_record import Homes, RiskBound, Shared, Standing
from sfumato.kernels.suppression.together import MOST_KEYS, Answer, NeedsRecords, cheapest_shown

__all__ = [
    "MOST_ENTRIES",
    "MOST_KEYS",
    "Answer",
    "Homes",
    "NeedsRecords",
    "RiskBound",
    "Shared",
    "Standing",
    "cheapest_classes",
    "cheapest_shown",
    "taking_part",
]
