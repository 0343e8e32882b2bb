"""What may be told of a protected file to everyone: what was done in general, what was lost, what to avoid."""

from sfumato.compare.examine.findings import Deed, ReleasedVariable, ReleaseFacts, VariableUtility
from sfumato.compare.figures import listed
from sfumato.core import Chain, Method
from sfumato.show.summary import Release, ReleaseVariable, Usefulness
from sfumato.show.wording import lower_first, percentage

SLIGHT = 0.01  # difference of squared coefficients: smaller ones are decided by the number of records
CLOSE, APART = 0.02, 0.10  # distances between distributions: below the first as before, beyond the second another one
DEEDS: dict[Deed, str] = {
    "grouped": "grouped into broader classes",
    "ends coded": "extreme values are coded as one",
    "rounded": "rounded",
    "suppressed": "values are suppressed ({missing} are missing)",
    "perturbed": "values were changed: a single value need not be the true one",
}
ASSOCIATIONS = {  # by what became of a pair
    "association lost": "The association of {}: it is no longer there.",
    "direction reversed": "The association of {}: it points the other way than in the original.",
    "association introduced": "The association of {}: the original does not have it.",
}


def release_of(method: Method | None, facts: ReleaseFacts, useful: Usefulness | None) -> Release:
    """Describe a protected file without a word on risk, parameters, seeds or single records."""
    found = {v.name: v for v in useful.variables} if useful else {}
    return Release(
        records=facts.records,
        done=_done(method),
        variables=tuple(_variable(variable, found.get(variable.name)) for variable in facts.variables),
        removed=facts.removed,
        statement=useful.statement if useful else "",
        avoid=_avoid(useful) if useful else (),
    )


def deeds_in_words(variable: ReleasedVariable) -> str:
    """Say what was done to a variable, with the share of values missing, which anyone can count in the file.

    >>> deeds_in_words(ReleasedVariable("age", "", "numeric", ("ends coded", "suppressed"), 0.25))
    'extreme values are coded as one; values are suppressed (25.0 % are missing)'
    """
    return "; ".join(DEEDS[deed].format(missing=percentage(variable.missing)) for deed in variable.done)


def _done(method: Method | None) -> tuple[str, ...]:
    if method is None:
        return ()
    steps = method.steps if isinstance(method, Chain) else (method,)
    return tuple(dict.fromkeys(lower_first(step.about.title) for step in steps))


def _variable(variable: ReleasedVariable, found: VariableUtility | None) -> ReleaseVariable:
    return ReleaseVariable(
        name=variable.name,
        label=variable.label,
        kind=variable.kind,
        done=deeds_in_words(variable),
        like_original=_grade(found),
    )


def _grade(found: VariableUtility | None) -> str:
    if found is None or found.distance is None:
        return "not compared"
    if found.distance < CLOSE:
        return "as in the original"
    return "close to the original" if found.distance < APART else "differs from the original"


def _avoid(useful: Usefulness) -> tuple[str, ...]:
    """List what an analyst should not rely on."""
    told = []
    apart = [v.title for v in useful.variables if v.distance is not None and v.distance >= APART]
    if apart:
        told.append(f"The distribution of {listed(tuple(apart), 12)}: it differs from the original's.")
    worst = sorted((p for p in useful.pairs if (p.effect or 0.0) >= SLIGHT), key=lambda p: -(p.effect or 0.0))
    for outcome, words in ASSOCIATIONS.items():
        pairs = [" with ".join(p.titles) for p in worst if p.outcome == outcome]
        if pairs:
            told.append(words.format(listed(tuple(pairs), 8)))
    weak = [" with ".join(p.titles) for p in worst if p.utility is not None and 0 < p.utility < 0.5]
    if weak:
        told.append(
            f"The strength of the association of {listed(tuple(weak), 8)}: it differs much from the original's."
        )
    return tuple(told)
