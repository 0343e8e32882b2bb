"""What may be told of a protected file to everyone: what was done in general, what was lost, what to avoid."""

from sfumato.compare.figures import listed
from sfumato.core import Chain, Method
from sfumato.data.microdata import Microdata
from sfumato.data.treatment import Treatment
from sfumato.show.summary import Release, ReleaseVariable, Usefulness, VariableUtility
from sfumato.show.wording import lower_first, percentage

SLIGHT = 0.01  # difference of squared coefficients: smaller ones are decided by the number of records
CLOSE, APART = 0.02, 0.10  # distances between distributions: below the first as before, beyond the second another one


def release_of(method: Method | None, original: Microdata, protected: Microdata, useful: Usefulness | None) -> Release:
    """Describe a protected file without a word on risk, parameters, seeds or single records."""
    found = {v.name: v for v in useful.variables} if useful else {}
    names = original.schema.analysed()
    kept = [name for name in names if name in protected.schema]
    return Release(
        records=len(protected),
        done=_done(method),
        variables=tuple(_variable(protected, name, found.get(name)) for name in (*kept, *_special(protected))),
        removed=tuple(name for name in names if name not in protected.schema),
        statement=useful.statement if useful else "",
        avoid=_avoid(useful) if useful else (),
    )


def treatment_words(treatment: Treatment) -> str:
    """Say what was done to a variable, without how much of it.

    >>> treatment_words(Treatment(top=90.0, suppressed=12))
    'extreme values are coded as one; some values are suppressed'
    """
    said = []
    if treatment.groups or treatment.cuts:
        said.append("grouped into broader classes")
    if treatment.bottom is not None or treatment.top is not None:
        said.append("extreme values are coded as one")
    if treatment.base is not None:
        said.append("rounded")
    if treatment.suppressed:
        said.append("some values are suppressed")
    if treatment.perturbed:
        said.append("values were changed: a single value need not be the true one")
    return "; ".join(said)


def _special(protected: Microdata) -> list[str]:
    """Name the weight and the household; what only names the units is not released."""
    schema = protected.schema
    return [
        name for name in (schema.weight, schema.household) if name is not None and schema[name].role != "identifier"
    ]


def _done(method: Method | None) -> tuple[str, ...]:
    if method is None:
        return ()
    steps = method.steps if isinstance(method, Chain) else (method,)
    return tuple(dict.fromkeys(lower_first(step.about.title) for step in steps))


def _variable(protected: Microdata, name: str, found: VariableUtility | None) -> ReleaseVariable:
    variable = protected.schema[name]
    return ReleaseVariable(
        name=name,
        label=variable.label,
        kind=variable.kind,
        done=_words(protected, name),
        like_original=_grade(found),
    )


def _words(protected: Microdata, name: str) -> str:
    """Say what was done, with the share of values missing, which anyone can count in the file."""
    words = treatment_words(protected.schema[name].treatment)
    missing = float(protected.missing(name).mean())
    return words.replace("some values are suppressed", f"values are suppressed ({percentage(missing)} are missing)")


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
    groups = {
        "association lost": "The association of {}: it is no longer there.",
        "direction reversed": "The association of {}: it points the other way than in the original.",
        "association introduced": "The association of {}: the original does not have it.",
    }
    worst = sorted((p for p in useful.pairs if (p.effect or 0.0) >= SLIGHT), key=lambda p: -(p.effect or 0.0))
    for reason, words in groups.items():
        pairs = [" with ".join(p.titles) for p in worst if p.reason.startswith(reason)]
        if pairs:
            told.append(words.format(listed(tuple(pairs), 8)))
    weak = [" with ".join(p.titles) for p in worst if p.utility is not None and 0 < p.utility < 0.5]
    if weak:
        told.append(
            f"The strength of the association of {listed(tuple(weak), 8)}: it differs much from the original's."
        )
    return tuple(told)
