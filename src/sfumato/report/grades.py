"""What a protected file is still good for: a grade for each variable, from all that is known of it, and the pairs.

A grade is of distribution, gaps and associations. Variables and pairs are arranged for a reader: the worst first, the
rest counted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.compare.examine.findings import PairUtility, ReleasedVariable, ReleaseFacts, UtilityFound, VariableUtility
from sfumato.compare.figures import listed
from sfumato.report.summary import ChangedPair, Grade, Usefulness
from sfumato.report.wording import count

SLIGHT = 0.01  # difference of squared coefficients: smaller ones are decided by the number of records
# distances between distributions: below the first as before, beyond the second another one
MAX_DISTANCE_AS_BEFORE, MIN_DISTANCE_APART = 0.02, 0.10
SOME, MUCH = 0.05, 0.20  # shares of values made missing: stewards allow the first; the second is one in five
MIN_RATIO = 0.5  # the smaller squared coefficient over the larger one: below it the strength says little
MAX_SHARE_OF_CHANGED_PAIRS = 0.5  # of a variable's pairs: if more of them changed, none is worth a try
NAMED = 4  # variables named in a cell
CHANGED = {  # what became of a pair, for readers
    "association lost": "no longer there",
    "association introduced": "not in the original",
    "direction reversed": "the other way round",
    "pattern changed": "another pattern",
    "no longer testable": "cannot be analysed",
    "weaker": "much weaker",
    "stronger": "much stronger",
}

DRAWN = 40  # variables on the heat map and among the bars
WORST = 20  # pairs listed


@dataclass(frozen=True)
class GradedVariable:
    """A variable with its grade and what led to it."""

    variable: ReleasedVariable
    grade: Grade
    distribution: bool = False  # whether its distribution is another one
    gaps: bool = False  # whether much of it was made missing
    alone: bool = False  # whether most of its associations changed, so that none is to be relied on
    associations: tuple[str, ...] = ()  # else: with whom they changed
    cares: tuple[str, ...] = ()
    partners: tuple[str, ...] = ()  # with whom they changed because of the other one

    @property
    def use(self) -> str:
        """What the variable is good for, in words."""
        base = _base(self.variable)
        if self.grade == "not for":
            otherwise = f"; otherwise {base}" if base != "as before" else ""
            why = ", because much of it is missing" if self.gaps else ""
            said = f"not for {' or '.join(self._limits())}{why}{otherwise}"
        elif self.grade == "with care":
            care = "use with care" if base == "as before" else f"use {base}, with care"
            said = f"{care}: {'; '.join(self.cares)}"
        elif self.grade == "not compared":
            said = "could not be compared with the original"
        else:
            said = f"use {base}"
        if not self.partners or self.grade == "not for":  # which names them among what it is not for
            return said
        return f"{said}{'; ' if ': ' in said else ', but '}not together with {listed(self.partners, NAMED)}"

    def _limits(self) -> list[str]:
        said = ["its distribution"] if self.distribution or self.gaps else []
        if self.alone:
            said.append("any association")
        elif others := (*self.associations, *self.partners):
            said.append(f"associations with {listed(others, NAMED)}")
        return said


def graded(
    variables: Sequence[ReleasedVariable], found: Mapping[str, VariableUtility], pairs: Sequence[PairUtility]
) -> tuple[GradedVariable, ...]:
    """Grade every variable; a pair that changed counts against the one of the two that has more of them."""
    known = {v.name: v for v in variables}
    there = [pair for pair in pairs if pair.first in known and pair.second in known]
    changed = [pair for pair in there if is_changed(pair)]
    owned = _owned(changed, known, found)
    number, lost = (Counter(name for pair in some for name in _ends(pair)) for some in (there, changed))
    alone = {name for name in owned if lost[name] > max(MAX_SHARE_OF_CHANGED_PAIRS * number[name], 1)}
    partners: dict[str, list[str]] = {}
    for owner, others in owned.items():
        for other in others if owner not in alone else ():
            partners.setdefault(other, []).append(owner)
    return tuple(
        _grade(
            variable,
            found.get(variable.name),
            alone=variable.name in alone,
            associations=owned.get(variable.name, ()),
            partners=tuple(partners.get(variable.name, ())),
        )
        for variable in variables
    )


def is_changed(pair: PairUtility) -> bool:
    """Tell whether the association of a pair is not to be relied on; what hardly differs is.

    Of one that is weaker or stronger the strengths are compared, not how many records are left.
    """
    if pair.outcome == "no longer testable":
        return True
    if (pair.effect or 0.0) < SLIGHT:
        return False
    if pair.outcome in ("weaker", "stronger"):
        return pair.utility is not None and pair.utility < MIN_RATIO * (1.0 if pair.left is None else pair.left)
    return pair.outcome in CHANGED


def pairs_there(pairs: Sequence[PairUtility], facts: ReleaseFacts | None) -> tuple[PairUtility, ...]:
    """Return the pairs of variables that are in the file that goes out: all counts of pairs are of these."""
    if facts is None:
        return tuple(pairs)
    names = {v.name for v in facts.variables}
    return tuple(pair for pair in pairs if pair.first in names and pair.second in names)


def is_untold(pair: PairUtility) -> bool:
    """Tell whether it is not known what became of a pair: its pattern, or how far two kinds of tests lie apart."""
    if is_changed(pair):
        return False
    if pair.utility is None or pair.outcome == "pattern unknown":
        return True
    return pair.effect is None and pair.outcome in ("association lost", "association introduced")


def changed_pairs(pairs: Sequence[PairUtility]) -> tuple[ChangedPair, ...]:
    """List the pairs whose association is not to be relied on, the worst first."""
    worst = sorted((p for p in pairs if is_changed(p)), key=lambda p: -(p.effect or 0.0))
    return tuple(ChangedPair(p.first, p.second, CHANGED[p.outcome]) for p in worst)


def _grade(
    variable: ReleasedVariable,
    found: VariableUtility | None,
    *,
    alone: bool,
    associations: tuple[str, ...],
    partners: tuple[str, ...],
) -> GradedVariable:
    distance = 0.0 if variable.same else found.distance if found is not None else None
    lost = variable.missing - variable.missing_before
    gaps = lost >= MUCH or (variable.missing == 1 and variable.missing_before < 1)
    apart = distance is not None and distance >= MIN_DISTANCE_APART
    cares = []
    if distance is not None and MAX_DISTANCE_AS_BEFORE <= distance < MIN_DISTANCE_APART:
        cares.append("its shares and quantiles are a little off")
    if SOME <= lost < MUCH:
        cares.append("some of its values are blank")
    grade: Grade = "as before" if _base(variable) == "as before" else "coarser"
    if apart or gaps or associations:
        grade = "not for"
    elif cares:
        grade = "with care"
    elif distance is None:
        grade = "not compared"
    return GradedVariable(
        variable,
        grade,
        distribution=apart,
        gaps=gaps,
        alone=alone,
        associations=associations,
        cares=tuple(cares),
        partners=partners,
    )


def _base(variable: ReleasedVariable) -> str:
    """Say how a variable may be used if nothing speaks against it."""
    if "grouped" in variable.done:
        few = variable.few_left
        return "in classes" if few is None else f"in its {few.after} broad classes only"
    if "ends coded" in variable.done:
        return "as before, without the extremes"
    return "as before, up to rounding" if "rounded" in variable.done else "as before"


def _owned(
    changed: Sequence[PairUtility], known: Mapping[str, ReleasedVariable], found: Mapping[str, VariableUtility]
) -> dict[str, tuple[str, ...]]:
    """Lay each changed pair at the door of one of its variables, so that few variables account for all of them.

    The one with most pairs left comes first; of two with as many the one that was changed itself, then the one that
    lost more.
    """
    left, owned = list(changed), dict[str, tuple[str, ...]]()
    while left:
        count = Counter(name for pair in left for name in _ends(pair))

        def weight(name: str, count: Mapping[str, int] = count) -> tuple[int, bool, float, float]:
            variable, told = known[name], found.get(name)
            moved = told.distance if told is not None and told.distance is not None else 0.0
            return count[name], not variable.same, variable.missing - variable.missing_before, moved

        worst = max(count, key=weight)
        own = [p for p in left if worst in _ends(p)]
        owned[worst] = tuple(p.first if p.second == worst else p.second for p in own)
        left = [p for p in left if worst not in _ends(p)]
    return owned


def _ends(pair: PairUtility) -> tuple[str, str]:
    return pair.first, pair.second


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
