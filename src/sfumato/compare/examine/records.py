"""The records most at risk, from what measures of risk say of each record."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.about import Records, Unit
from sfumato.compare.examine.findings import RecordRisk, RecordsAtRisk
from sfumato.compare.examine.variables import changed_share, spelled_categories
from sfumato.compare.figures import figure
from sfumato.table.dates import spelled
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import aligned

LISTED = 12
KEYS = 8  # of a record that are shown
MAX_KEYS_TOGETHER = 3  # keys that may single a record out together


@dataclass(frozen=True, eq=False)
class RiskByRecord:
    """What one measure says of each record, the unit it says it in, and the table that holds these records.

    ``scenario`` is the one it speaks of, if it knows any.
    """

    risks: NDArray[np.float64]
    unit: Unit
    records: Records = "original"
    scenario: str = ""


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
                by=(by := _made_by(telling, int(record))),
                scenario=telling[by].scenario if by else "",
            )
            for record in worst
            if any(found.risks[record] > 0 for found in telling.values())
        )
    )


def _made_by(telling: Mapping[str, RiskByRecord], record: int) -> str:
    """Return the key of the first measure under which a record is at risk."""
    return next((key for key, found in telling.items() if found.risks[record] > 0), "")


def worst_scenario(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Name the scenario in which most are found, which is the one that risks by record speak of.

    >>> worst_scenario({"scenarios": ({"scenario": "neighbour", "share": 0.1}, {"scenario": "boss", "share": 0.4})})
    'boss'
    """
    rows = tables.get("scenarios", ())
    return str(max(rows, key=lambda row: row["share"])["scenario"]) if rows else ""


def with_keys(found: RecordsAtRisk, original: Microdata) -> RecordsAtRisk:
    """Add the values that an intruder may know of each record, and which of them single it out."""
    known = dict.fromkeys(key for scenario in original.schema.intruders() for key in scenario.keys)
    keys = [key for key in known if key in original.schema][:KEYS]
    spelled = {key: _spelled(original, key) for key in keys}
    return RecordsAtRisk(
        tuple(
            replace(
                entry,
                keys={key: spelled[key](entry.record - 1) for key in keys},
                alone_by=_alone_by(original, keys, entry.record - 1),
            )
            for entry in found.records
        )
    )


def _spelled(data: Microdata, name: str) -> Callable[[int], str]:
    """Return how the values of a variable are written, by record."""
    column, gaps = data.columns[name], data.missing(name)
    if data.schema[name].kind == "date":
        return lambda record: "–" if gaps[record] else spelled(float(column[record]))
    if data.schema[name].kind == "numeric":
        return lambda record: "–" if gaps[record] else f"{column[record]:.10g}"
    words = spelled_categories(data.schema[name])
    return lambda record: "–" if gaps[record] else words[column[record]]


def _alone_by(data: Microdata, keys: Sequence[str], record: int) -> tuple[str, ...]:
    """Return a smallest set of keys that no other record agrees with this one in; none if it takes more than three."""
    there = [key for key in keys if not data.missing(key)[record]]
    agree = {key: data.columns[key] == data.columns[key][record] for key in there}
    for size in range(1, MAX_KEYS_TOGETHER + 1):
        for chosen in combinations(there, size):
            if np.logical_and.reduce([agree[key] for key in chosen]).sum() == 1:
                return chosen
    return ()


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
    kinds = {table.schema[name].quantitative for table in (original, protected)}
    if len(kinds) > 1:
        return False
    if kinds == {True}:
        return changed_share(original.columns[name], protected.columns[name]) == 0
    both = aligned(original, protected, name)
    return changed_share(both.original, both.protected) == 0
