"""What a protected file is still good for, arranged for a reader: the worst first, the rest counted."""

from collections import Counter

from sfumato.compare.examine.findings import PairUtility, UtilityFound, VariableUtility
from sfumato.show.grades import CHANGED, is_changed, is_untold
from sfumato.show.summary import Usefulness
from sfumato.show.wording import count

DRAWN = 40  # variables on the heat map and among the bars
WORST = 20  # pairs listed


def arranged(found: UtilityFound) -> Usefulness:
    """Order variables and pairs by what they lost, and choose those that are drawn and listed."""
    variables = sorted(found.variables, key=lambda v: (_mean(v), v.name))
    drawn = {v.name for v in variables[:DRAWN]}
    judged = [p for p in found.pairs if p.utility is not None and p.utility < 1]
    notes = list(found.notes)
    if len(variables) > DRAWN:
        notes.insert(
            0,
            f"the picture of pairs and the bars show the {DRAWN} variables of {len(variables)} that lost most; "
            "results.json has them all",
        )
    return Usefulness(
        value=found.value,
        parts=found.parts,
        statement=found.statement,
        variables=tuple(variables),
        pairs=found.pairs,
        drawn=tuple(p for p in found.pairs if p.first in drawn and p.second in drawn),
        worst=tuple(sorted(judged, key=lambda p: (p.utility, -(p.effect or 0.0)))[:WORST]),
        counts=_counts(found.pairs),
        notes=tuple(notes),
        sampled=found.sampled,
    )


def _mean(variable: VariableUtility) -> float:
    """Return what a variable kept, alone and with others, so that the least useful come first."""
    told = [value for value in (variable.utility, variable.pairs) if value is not None]
    return sum(told) / len(told) if told else 2.0


def _counts(pairs: tuple[PairUtility, ...]) -> tuple[tuple[str, str], ...]:
    """Count the pairs by what became of them, as the verdict and the public page do, the commonest first."""
    counts = Counter(
        "could not be compared" if is_untold(pair) else CHANGED[pair.outcome] if is_changed(pair) else "as before"
        for pair in pairs
    )
    return tuple((outcome, count(n, "pair")) for outcome, n in counts.most_common())
