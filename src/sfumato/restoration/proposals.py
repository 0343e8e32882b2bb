"""What a look at a table proposes for its schema: who is weighed, grouped and named, and what follows what.

``sfumato inspect`` and the page of variables show the same. Nothing is decided here: a schema decides.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, TypeVar

from sfumato.data.behaviour import Behaviour, behaviours
from sfumato.data.describe import Finding, describe
from sfumato.data.microdata import Microdata
from sfumato.data.roles import ProposedRole, proposed_roles
from sfumato.errors import OF_THE_RUN, unexpected
from sfumato.restoration.dependencies import Dependencies, dependencies

T = TypeVar("T")
Special = Literal["weight", "household", "id"]
SAID = {"weight": "weight", "household": "household", "identifier": "id"}  # what a suggestion by name means


@dataclass(frozen=True)
class Proposed:
    """A variable that may be the weight, the household or the id of the records, and why."""

    name: str
    special: Special
    by_name: bool  # its name says so, and nothing in its values speaks against it
    by_behaviour: bool  # its values say so, whatever its name
    why: str


@dataclass(frozen=True)
class Proposals:
    """All that a look at a table proposes.

    ``specials`` has, for each of weight, household and id that the schema does not name yet, the variables that may be
    it: those first of which name and values say so, then those whose values do. ``links`` tells which variables others
    determine, copies among them. ``roles`` has a role for each variable of which nobody has declared one.
    """

    findings: tuple[Finding, ...]
    found: tuple[Behaviour, ...]
    specials: tuple[Proposed, ...]
    links: Dependencies  # its notes say too what could not be looked for
    roles: tuple[ProposedRole, ...] = ()

    @property
    def copies(self) -> dict[str, str]:
        """By variable that is a copy of another under another name or code, that other one."""
        return {one.name: one.sources[0] for one in self.links.found if one.copy}


def proposals(data: Microdata) -> Proposals:
    """Look at a table: what each variable holds, what it may be, and what determines it.

    >>> import pyarrow as pa
    >>> ages = [18 + 7 * i % 60 for i in range(120)]
    >>> table = pa.table({"home": [i // 2 for i in range(120)], "age": ages, "cohort": [2020 - age for age in ages]})
    >>> found = proposals(Microdata.from_frame(table))
    >>> [(one.name, one.special) for one in found.specials], found.copies
    ([('home', 'household')], {'cohort': 'age'})
    """
    findings = tuple(describe(data))
    failed: list[str] = []
    none: tuple[Behaviour, ...] = ()
    found = _unless_failed(lambda: behaviours(data), none, "weights, households and ids by their values", failed)
    weights = {one.name for one in findings if one.suggestion is not None and one.suggestion.doubt == "weight"}
    nothing = Dependencies(len(data), 0, ())
    linked = _unless_failed(lambda: dependencies(data, found=found), nothing, "what others determine", failed)
    # what looks like a survey weight is made of other variables, and is no source of them
    linked = replace(linked, found=tuple(one for one in linked.found if weights.isdisjoint(one.sources)))
    specials = _specials(data, findings, found)
    roles: tuple[ProposedRole, ...] = ()
    roles = _unless_failed(lambda: proposed_roles(data, findings), roles, "roles", failed)
    numbers = {one.name: one for one in specials if one.special != "weight" and one.by_behaviour}
    roles = tuple(
        replace(one, role="identifier", why=f"it may be the {numbers[one.name].special}: {numbers[one.name].why}")
        if one.role == "other" and one.name in numbers
        else one
        for one in roles
    )
    linked = replace(linked, notes=(*linked.notes, *failed))
    return Proposals(findings, found, specials, linked, roles)


def _unless_failed(look: Callable[[], T], otherwise: T, what: str, failed: list[str]) -> T:
    """Return what a look at a table finds; if it fails, what stands for it, and a line that says so."""
    try:
        return look()
    except OF_THE_RUN:
        raise
    except Exception as error:
        failed.append(f"not looked for: {what} ({unexpected(error)})")
        return otherwise


def _specials(data: Microdata, findings: tuple[Finding, ...], found: tuple[Behaviour, ...]) -> tuple[Proposed, ...]:
    said: dict[tuple[str, str], str] = {}
    for finding in findings:
        if finding.suggestion is not None and finding.suggestion.doubt in SAID:
            said[finding.name, SAID[finding.suggestion.doubt]] = finding.suggestion.sentence
    shown: dict[tuple[str, str], str] = {(one.name, one.behaves): one.evidence for one in found}
    specials: tuple[Special, ...] = ("weight", "household", "id")
    unnamed = [special for special in specials if data.schema.special().get(special) is None]
    proposed = [
        # what its values show says more than its name
        Proposed(*both, both in said, both in shown, shown.get(both) or said[both])
        for both in product(data.names, unnamed)
        if both in said or both in shown
    ]
    return tuple(sorted(proposed, key=lambda one: (specials.index(one.special), -one.by_behaviour, -one.by_name)))
