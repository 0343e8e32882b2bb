"""What a protected file is still good for: every variable and every pair, from the tables of a global data utility."""

from collections.abc import Mapping
from typing import Any

from sfumato.core import Measurement
from sfumato.show.summary import PairUtility, Usefulness, VariableUtility
from sfumato.show.wording import count

DRAWN = 40  # variables on the heat map and among the bars
WORST = 20  # pairs listed


def usefulness_of(found: Measurement) -> Usefulness | None:
    """Return the variables and pairs of a measurement that tells of them, the worst first; None of any other."""
    if not {"variables", "pairs"} <= set(found.tables):
        return None
    variables = sorted(map(_variable, found.tables["variables"]), key=lambda v: (_mean(v), v.name))
    pairs = tuple(map(_pair, found.tables["pairs"]))
    drawn = {v.name for v in variables[:DRAWN]}
    judged = [p for p in pairs if p.utility is not None and p.utility < 1]
    notes = list(found.notes)
    if len(variables) > DRAWN:
        notes.append(
            f"the picture of pairs and the bars show the {DRAWN} variables of {len(variables)} that lost most; "
            "results.json has them all"
        )
    return Usefulness(
        value=found.value,
        parts=dict(found.parts),
        statement=found.statement,
        variables=tuple(variables),
        pairs=pairs,
        drawn=tuple(p for p in pairs if p.first in drawn and p.second in drawn),
        worst=tuple(sorted(judged, key=lambda p: (p.utility, -(p.effect or 0.0)))[:WORST]),
        counts=_counts(pairs),
        notes=tuple(notes),
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
    )


def _mean(variable: VariableUtility) -> float:
    """Return what a variable kept, alone and with others, so that the least useful come first."""
    told = [value for value in (variable.utility, variable.pairs) if value is not None]
    return sum(told) / len(told) if told else 2.0


def _counts(pairs: tuple[PairUtility, ...]) -> tuple[tuple[str, str], ...]:
    """Count the pairs by what became of them, the commonest first."""
    found: dict[str, int] = {}
    for pair in pairs:
        reason = pair.reason.partition(":")[0]
        found[reason] = found.get(reason, 0) + 1
    return tuple((reason, count(n, "pair")) for reason, n in sorted(found.items(), key=lambda entry: -entry[1]))
