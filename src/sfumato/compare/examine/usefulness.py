"""What a protected file is still good for: every variable and every pair, from the tables of a global data utility."""

from collections.abc import Mapping
from typing import Any

from sfumato.compare.examine.findings import PairUtility, UtilityFound, VariableUtility
from sfumato.measurement import Measurement


def utility_found(found: Measurement) -> UtilityFound | None:
    """Return the variables and pairs of a measurement that tells of them; None of any other."""
    if not {"variables", "pairs"} <= set(found.tables):
        return None
    return UtilityFound(
        value=found.value,
        parts=dict(found.parts),
        statement=found.statement,
        variables=tuple(map(_variable, found.tables["variables"])),
        pairs=tuple(map(_pair, found.tables["pairs"])),
        notes=found.notes,
    )


def _variable(row: Mapping[str, Any]) -> VariableUtility:
    return VariableUtility(
        name=row["variable"],
        title=row["label"],
        test=row["test"],
        p=row["p"],
        utility=row["utility"],
        pairs=row["pairs"],
        distance=row["distance"],
        missing=(row["missing_before"], row["missing_after"]),
        note=row["note"],
    )


def _pair(row: Mapping[str, Any]) -> PairUtility:
    return PairUtility(
        first=row["first"],
        second=row["second"],
        titles=(row["first_label"], row["second_label"]),
        test=row["test"],
        before=row["before"],
        after=row["after"],
        p=(row["p_before"], row["p_after"]),
        utility=row["utility"],
        effect=row["effect"],
        reason=row["reason"],
        outcome=row["outcome"],
        left=None if row["records_left"] is None else row["records_left"] * row["comparisons_left"],
    )
