"""The records most at risk, from what measures of risk say of each record."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.about import Records, Unit
from sfumato.compare.examine.findings import RecordRisk, RecordsAtRisk
from sfumato.compare.examine.variables import changed_share
from sfumato.compare.figures import figure
from sfumato.data.alignment import aligned
from sfumato.data.microdata import Microdata

LISTED = 10


@dataclass(frozen=True, eq=False)
class RiskByRecord:
    """What one measure says of each record, the unit it says it in, and the table that holds these records."""

    risks: NDArray[np.float64]
    unit: Unit
    records: Records = "original"


def records_at_risk(told: Mapping[str, RiskByRecord], *, listed: int, same: bool) -> RecordsAtRisk:
    """List the original records most at risk: by the first measure that tells records apart, ties by the next.

    Risks of the protected table's records are listed with them only if these are the ``same``.
    """
    telling = {key: found for key, found in told.items() if same or found.records == "original"}
    if not telling:
        return RecordsAtRisk(())
    worst = worst_first(found.risks for found in telling.values())[:listed]
    return RecordsAtRisk(
        tuple(
            RecordRisk(
                int(record) + 1,
                {key: figure(float(found.risks[record]), found.unit) for key, found in telling.items()},
            )
            for record in worst
            if any(found.risks[record] > 0 for found in telling.values())
        )
    )


def worst_first(risks: Iterable[NDArray[np.float64]]) -> NDArray[np.intp]:
    """Order records by the first risk, ties by the next, then as they stand.

    >>> worst_first([np.array([0.5, 1.0, 0.5]), np.array([0.0, 0.0, 1.0])]).tolist()
    [1, 2, 0]
    """
    columns = [-np.nan_to_num(np.asarray(column, dtype=np.float64), nan=-1.0) for column in risks]
    order: NDArray[np.intp] = np.lexsort(columns[::-1])
    return order


def same_records(original: Microdata, protected: Microdata) -> bool:
    """Tell whether record i of one table is record i of the other, so that one number names both."""
    if not protected.matched or len(original) != len(protected):
        return False
    name = original.schema.id
    if name is None or name != protected.schema.id:
        return True
    kinds = {table.schema[name].kind == "numeric" for table in (original, protected)}
    if len(kinds) > 1:
        return False
    if kinds == {True}:
        return changed_share(original.columns[name], protected.columns[name]) == 0
    both = aligned(original, protected, name)
    return changed_share(both.original, both.protected) == 0
