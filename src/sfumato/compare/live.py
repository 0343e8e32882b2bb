"""Figures that answer at once while keys are ticked and variables recoded: what is costly is kept between questions.

A recoded column is kept by its variable and what is said of it, so that moving a cut recodes one column; the classes of
the records are kept by keys and recodings, so that changing k counts nothing anew. All figures are those of the
measures on the table that ``Recodings.method().protect`` gives.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.compare.exposure import Counts, KnownKeys, Population, chances, count, without_each
from sfumato.compare.recodings import NOTHING, Recodings
from sfumato.errors import NotApplicable
from sfumato.pair import Half, Pair
from sfumato.pair.half import ByteBoundedCache
from sfumato.pair.statistics import KeyClasses
from sfumato.table.describe import Thumbnail, thumbnail
from sfumato.table.keys import refuse_continuous
from sfumato.table.linked import followed
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Scenario, Variable
from sfumato.utility import NonUniformEntropy

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
MAX_BYTES = 256 * 2**20  # of recoded columns and classes of records


@dataclass(frozen=True)
class Effect:
    """What recodings do to risk and to detail.

    ``counts`` has a row for each scenario that has a key left. ``loss`` is, by variable, the share of the information
    in its values that is gone, :class:`NonUniformEntropy`: 0 as it was, 1 nothing can be told, 1 too of a linked
    variable that is left out; ``overall`` is the mean over all variables that methods mask and that have more than one
    value, the value of ``NonUniformEntropy(variables=schema.analysed())``. ``refused`` says of which variables the
    recoding does not fit the table, why, and what to do: they are as they were in all figures.
    """

    counts: tuple[Counts, ...]
    loss: Mapping[str, float]
    overall: float
    refused: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class _Column:
    """A variable as it would be published; its codes are made when a count asks for them."""

    variable: Variable
    values: NDArray[Any]

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    @cached_property
    def coded(self) -> tuple[Codes, bool]:
        """The values as codes, missing as -1, and whether it is continuous, so that counting over it says nothing."""
        if not self.variable.quantitative:
            return self.values, False
        different, codes = np.unique(self.values, return_inverse=True)
        gaps = np.isnan(self.values)
        present = different[~np.isnan(different)]
        codes[gaps] = -1
        try:
            refuse_continuous(self.variable, present, int((~gaps).sum()))
        except NotApplicable:
            return codes.astype(np.int32), True
        return codes.astype(np.int32), False


class Live:
    """A table of which counts over keys and the effect of recodings are asked again and again; several threads may ask.

    >>> import pyarrow as pa
    >>> live = Live(Microdata.from_frame(pa.table({"town": list("AAABBC"), "age": [20, 20, 31, 35, 36, 71]})))
    >>> known = Scenario("neighbour", ("town", "age"), k=2)
    >>> live.counts(known).unique, live.counts(known, Recodings().with_cuts("age", [30, 60])).unique
    (4, 2)
    """

    def __init__(self, data: Microdata, *, most_bytes: int = MAX_BYTES) -> None:
        self.data = data
        self._lock = RLock()
        self._kept = ByteBoundedCache(most_bytes)

    # questions

    def counts(self, scenario: Scenario, recodings: Recodings = NOTHING) -> Counts | None:
        """Count what an intruder finds after the recodings; None where none of the keys can be counted over.

        A recoding that does not fit the table is refused; ``effect`` goes on without it.
        """
        with self._lock:
            known = self._known(scenario, recodings)
            if not known.keys:
                return None
            found, chance = self._classes(known.keys, recodings, knows_membership=scenario.knows_membership)
            return count(scenario, known, found, chance, self._population)

    def without(self, scenario: Scenario, recodings: Recodings = NOTHING) -> dict[str, int]:
        """Count, by key, the records that would still be below k if the intruder did not know it, the fewest first."""
        with self._lock:
            chosen = set(self._known(scenario, recodings).keys)
            keys = tuple(name for name in self.data.names if name in chosen)  # in the order of the classes
            if not keys:
                return {}
            found, _ = self._classes(keys, recodings, knows_membership=scenario.knows_membership)
        return without_each(keys, scenario.k, found)  # takes its time, in which others may ask

    def _known(self, scenario: Scenario, recodings: Recodings) -> KnownKeys:
        """Return the keys of a scenario that can be counted over after the recodings, and those that cannot."""
        for name in scenario.keys:
            _ = self.data.schema[name]  # a key that is no variable is refused by name
        columns = {name: self._published(name, recodings) for name in scenario.keys}
        there = {name: column for name, column in columns.items() if column is not None}
        return KnownKeys.of(
            scenario, {name: one.variable for name, one in there.items()}, lambda name: not there[name].coded[1]
        )

    def effect(self, recodings: Recodings, scenarios: Iterable[Scenario] | None = None) -> Effect:
        """Tell what recodings do: counts under each scenario, those of the schema if none is given, and the loss."""
        with self._lock:
            fitting, refused = self.fitting(recodings)
            asked = self.data.schema.intruders() if scenarios is None else tuple(scenarios)
            counts = (self.counts(scenario, fitting) for scenario in asked)
            loss = {name: self._loss(name, fitting) for name in self.data.schema.analysed()}
            told = {name: share for name, share in loss.items() if share is not None}
            overall = float(np.mean([*told.values()])) if told else 0.0
            return Effect(tuple(one for one in counts if one is not None), told, overall, refused)

    def fitting(self, recodings: Recodings) -> tuple[Recodings, dict[str, str]]:
        """Return the recodings that fit the table, and of each other variable why its own does not."""
        refused: dict[str, str] = {}
        with self._lock:
            for name, _ in recodings:
                try:
                    self._recoded(name, recodings)
                except NotApplicable as refusal:
                    refused[name] = refusal.text
        for name in refused:
            recodings = recodings.without(name)
        return recodings, refused

    def thumbnail(self, name: str, recodings: Recodings = NOTHING) -> Thumbnail | None:
        """Draw a variable after the recodings; None where it is left out because of what it is linked to."""
        with self._lock:
            column = self._published(name, recodings)
        return None if column is None else thumbnail(column.variable, column.values)

    # what is kept

    @cached_property
    def _population(self) -> Population:
        return Population.of(Half.of(self.data))

    @cached_property
    def _sources(self) -> Mapping[str, tuple[str, ...]]:
        """By linked variable, it and all that it is linked to, directly or not."""
        found: dict[str, tuple[str, ...]] = {}
        for variable in self.data.schema.links():  # each after its own sources
            whole = (name for source in variable.sources for name in found.get(source, (source,)))
            found[variable.name] = tuple(dict.fromkeys((variable.name, *whole)))
        return found

    def _said(self, name: str, recodings: Recodings) -> Recodings:
        """Return what is said of a variable and of what it is linked to."""
        return recodings.of_variables(self._sources.get(name, (name,)))

    def _published(self, name: str, recodings: Recodings) -> _Column | None:
        """Return a variable as it would be published; None where it is left out."""
        if name not in self._sources:
            return self._recoded(name, recodings)
        said = self._said(name, recodings)
        return self._kept.get(("followed", name, repr(said)), lambda: self._followed(name, said))

    def _recoded(self, name: str, recodings: Recodings) -> _Column:
        """Return a variable after its own recoding."""
        said = recodings.of_variables((name,))
        return self._kept.get(("recoded", name, repr(said)), lambda: self._recode(name, said))

    def _recode(self, name: str, said: Recodings) -> _Column:
        method = said.method()
        if method is None:
            return _Column(self.data.schema[name], self.data.columns[name])
        if name not in self.data.schema:
            raise NotApplicable(self.data.schema.unknown(name))
        made = method.protect(self._only((name,)))
        variable = made.schema[name]
        if name in self._sources:  # the link is left out of a table of one variable
            variable = replace(variable, linked=self.data.schema[name].linked)
        return _Column(variable, made.columns[name])

    def _followed(self, name: str, said: Recodings) -> _Column | None:
        """Return a linked variable as it follows what it is linked to."""
        own = self._recoded(name, said)
        if not said:
            return own
        names = self._sources[name]
        original = self._only(names)
        columns = {one: self._recoded(one, said) for one in names}
        recast = original.recast({one: (column.variable, column.values) for one, column in columns.items()})
        made = followed(original, recast)
        return _Column(made.schema[name], made.columns[name]) if name in made.schema else None

    def _only(self, names: Iterable[str]) -> Microdata:
        """Return these variables with weight, household and id, which no recoding may touch."""
        wanted = {*names, *self.data.schema.special().values()}
        return self.data.without(name for name in self.data.names if name not in wanted)

    def _classes(
        self, keys: Iterable[str], recodings: Recodings, *, knows_membership: bool
    ) -> tuple[KeyClasses, Floats]:
        """Return the records by their keys and what their chances are; the order of the keys does not count."""
        chosen = set(keys)
        names = tuple(name for name in self.data.names if name in chosen)
        said = repr(tuple(self._said(name, recodings) for name in names))
        found = self._kept.get(("classes", names, said), lambda: self._classed(names, recodings))
        chance = self._kept.get(
            ("chances", names, said, knows_membership),
            lambda: chances(found, self._population, knows_membership=knows_membership),
        )
        return found, chance

    def _classed(self, names: tuple[str, ...], recodings: Recodings) -> KeyClasses:
        codes = np.empty((len(self.data), len(names)), dtype=np.int32, order="F")
        for place, name in enumerate(names):
            column = self._published(name, recodings)
            assert column is not None
            codes[:, place] = column.coded[0]
        return KeyClasses.of(codes)

    def _loss(self, name: str, recodings: Recodings) -> float | None:
        said = self._said(name, recodings)
        return self._kept.get(("loss", name, repr(said)), lambda: self._lost(name, said))

    def _lost(self, name: str, said: Recodings) -> float | None:
        """Measure what is lost of one variable; None where it has nothing to lose or it cannot be told."""
        column, there = self.data.columns[name], ~self.data.missing(name)
        values = column[there]
        if not values.size or values.min() == values.max():
            return None
        if not said:
            return 0.0
        published = self._published(name, said)
        if published is None:
            return 1.0
        before = self._alone(_Column(replace(self.data.schema[name], linked=()), column))
        after = self._alone(replace(published, variable=replace(published.variable, linked=())))
        try:
            measured = NonUniformEntropy(variables=(name,)).evaluate_pair(Pair.of(before, after))
        except NotApplicable:
            return None
        return measured.by_variable.get(name)

    def _alone(self, column: _Column) -> Microdata:
        """Return a table of one variable."""
        name = column.variable.name
        only = self.data.schema.only((name,))
        schema = replace(only, variables=(column.variable,), weight=None, household=None, id=None, scenarios=())
        return Microdata(schema, {name: column.values})
