"""Removal of variables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.display import MAX_DETAIL, Phrase
from sfumato.errors import NotApplicable
from sfumato.methods.selection import checked
from sfumato.pair import Half, Masking
from sfumato.registry import catalogued
from sfumato.table.draws import Draws
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema


@dataclass(frozen=True)
class WithoutVariables(Masking):
    """The variables that stay."""

    schema: Schema

    @property
    def changes(self) -> frozenset[str]:
        return frozenset()

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> NDArray[np.generic]:
        return part.columns[name]


@catalogued(
    MethodAbout(
        title="Removal of variables",
        source="Hundepool et al. (2012), Statistical Disclosure Control, chapter 3 (direct identifiers)",
        missing="goes with its variable",
        kinds=("numeric", "ordinal", "nominal", "date"),
        random=False,
        households="whole",
        caveat="the variables that stay are released as they are, and together may tell what was removed",
        formula="X' = X without the columns named; where none is, without the direct identifiers and the id",
        reading="The first step of nearly every release, and no more than a first step: it takes away names and "
        "numbers that point to a unit, while keys that point to it together stay. GlobalDataUtility counts a removed "
        "variable 0.",
        group="Suppress",
        labels={"variables": "Variables to leave out; none: the identifiers"},
    )
)
class VariableRemoval(Method):
    """Variables taken out of the table: those named, or else the direct identifiers.

    Without ``variables`` it removes what names a unit: the variables of the role identifier and the record's id, but
    neither the weight nor the household, which estimates and household risk need; name those to remove them as well. A
    table without identifiers then comes back as it is. Removing a variable is the strongest protection of that variable
    and says nothing of the others: an attribute that is gone may still be predicted from those left. Without an id,
    records are matched by their order.

    >>> import pyarrow as pa
    >>> VariableRemoval(variables=["name"]).protect(pa.table({"name": ["Ada"], "income": [10.0]})).column_names
    ['income']
    """

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the variables this method removes from this table."""
        if self.variables is not None:
            checked(data, self.variables)
            return self.variables
        schema = data.schema
        kept = {schema.weight, schema.household}
        return tuple(v.name for v in schema if (v.role == "identifier" or v.name == schema.id) and v.name not in kept)

    def learn(self, half: Half, draws: Draws) -> Masking:
        names = self.masked(half.parts[0])
        left = [name for name in half.schema.names if name not in names]
        if not left:
            raise NotApplicable("no variable would be left; keep at least one")
        return WithoutVariables(half.schema.only(left))

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        if len(set(names)) == len(data.names):
            raise NotApplicable("no variable would be left; keep at least one")
        note = f"removed {', '.join(names)}" if names else "no identifier to remove"
        return data.without(names, f"{type(self).__name__}: {note}")

    def in_words(self, schema: Schema | None = None) -> str:
        return f"{self.subject_is()} removed" if self.variables else "what names a unit is removed"

    def short(self) -> Phrase:
        what = ", ".join(self.variables or ("identifiers",))
        what = what if len(what) <= MAX_DETAIL else f"{len(self.variables or ())} variables"
        return Phrase(f"remove {what}", f"remove {what}")

    def told_with(self, before: Method, *, short: bool) -> bool:
        return isinstance(before, VariableRemoval) and bool(self.variables and before.variables)

    @classmethod
    def run_in_words(cls, run: Sequence["VariableRemoval"], schema: Schema | None = None) -> str:
        return _together(run).in_words(schema)

    @classmethod
    def run_in_short(cls, run: Sequence["VariableRemoval"]) -> Phrase:
        return _together(run).short()


def _together(removals: Sequence[VariableRemoval]) -> VariableRemoval:
    """Return one removal of what several remove."""
    first, *others = removals
    names = (name for removal in removals for name in removal.variables or ())
    return replace(first, variables=tuple(dict.fromkeys(names))) if others else first
