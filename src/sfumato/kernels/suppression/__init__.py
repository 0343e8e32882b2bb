"""Which values to suppress so that k records share the rest: by record, exactly, or in classes, by local search."""

from sfumato.kernels.suppression.by_class import MOST_ENTRIES, cheapest_classes
from sfumato.kernels.suppression.by_record import Homes, RiskBound, Shared
from sfumato.kernels.suppression.together import MOST_KEYS, Answer, cheapest_shown

__all__ = ["MOST_ENTRIES", "MOST_KEYS", "Answer", "Homes", "RiskBound", "Shared", "cheapest_classes", "cheapest_shown"]
