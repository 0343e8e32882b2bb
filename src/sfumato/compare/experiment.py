"""Many ways to mask one table, measured alike: methods x replicates x measures, and tables protected elsewhere."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from sfumato import parameters
from sfumato.arguments import YES_OR_NO, entries, require
from sfumato.compare.progress import Steps, steps_of
from sfumato.compare.results import Results
from sfumato.compare.rows import Row, row
from sfumato.compare.seeds import LARGEST_SEED, drawn_seed
from sfumato.compare.store import MAX_BYTES_IN_MEMORY, Archive, Cell, Key, Scope, Store, identify, settled_seed
from sfumato.compare.work import Task, outcomes, versions
from sfumato.core import Measure, Method
from sfumato.errors import DataError, ParameterError, SfumatoError
from sfumato.identity import identity
from sfumato.measurement import Measurement
from sfumato.pair.sample import sampled
from sfumato.table.formats import a_path
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts
from sfumato.table.sample_size import SAMPLED, check_sample

Source = Method | Microdata | TableInParts | SfumatoError
UNPROTECTED = "original, unprotected"


def grid(method: type[Method], **values: Any) -> list[Method]:
    """Build one method per combination of the values listed; what is not a list is the same in all of them.

    ``grid(RankSwapping, p=[0.05, 0.1])`` is ``[RankSwapping(p=0.05), RankSwapping(p=0.1)]``.
    """
    choices = []
    for name, given in values.items():
        listed = given.tolist() if isinstance(given, np.ndarray) else given
        several = list(listed) if isinstance(listed, list | range) else [listed]
        if not several:
            raise ParameterError(f"grid: {name} lists no value")
        choices.append(several)
    try:
        return [method(**dict(zip(values, combination, strict=True))) for combination in product(*choices)]
    except TypeError as error:
        raise ParameterError(f"grid: {str(error).replace('__init__() ', '')}") from None


@dataclass(frozen=True, eq=False)
class Experiment:
    """What to compare: a table, ways to mask it, tables masked elsewhere, and the measures that judge them.

    ``replicates`` counts the draws of whatever is random; what is not is computed once. ``seed`` fixes every draw (see
    ``sfumato.compare.seeds``). Whoever knows it and has the protected table can undo the protection: without one a
    secret seed is drawn, and ``run`` keeps it in the store, so that the same table goes on with it. ``Results.seed``
    tells it; it is not for publication. ``candidates`` names tables protected elsewhere; what is known of the
    original's variables holds for theirs. With ``rounded`` masked numbers and dates have the decimals of the original
    before they are measured, as in a sweep; without it figures are those of the methods' formulas.

    ``data`` may be a table in parts, and then candidates are too. They are masked part by part when they are measured,
    on the engine of the with-statement around, one after the other; nothing is written. Figures are of all records, or
    estimates with a standard error where a measure looks for some of them. What needs records at hand later,
    ``Results.original`` and ``Results.protect``, is of a random ``sample`` of them.
    """

    data: Any
    methods: Sequence[Method] = ()
    measures: Sequence[Measure] = ()
    replicates: int = 1
    seed: int | None = None
    candidates: Mapping[str, Any] = field(default_factory=dict)
    sample: int = SAMPLED  # records of a table in parts that can be looked at one by one
    rounded: bool = False

    def __post_init__(self) -> None:
        parameters.whole(self, "replicates", least=1)
        if self.seed is not None:
            parameters.whole(self, "seed", least=0, most=LARGEST_SEED)
        check_sample(self.sample)
        require("Experiment", bool, YES_OR_NO, rounded=self.rounded)
        object.__setattr__(self, "data", whole_table(self.data))
        object.__setattr__(self, "methods", _instances(self, "methods", Method))
        object.__setattr__(self, "measures", _instances(self, "measures", Measure))
        if not self.measures:
            raise ParameterError("Experiment: there is no measure; give at least one of risk and one of utility")
        if not self.methods and not self.candidates:
            raise ParameterError("Experiment: there is nothing to compare; give methods or candidates")
        if not isinstance(self.candidates, Mapping):
            raise ParameterError(f"Experiment: candidates must be tables by name; got {self.candidates!r}")
        taken = {repr(method) for method in self.methods}
        for name in self.candidates:
            if not isinstance(name, str) or not name or name in taken:
                raise ParameterError(f"Experiment: a candidate needs a name of its own; got {name!r}")
        tables = {name: _table(table, self.data) for name, table in self.candidates.items()}
        object.__setattr__(self, "candidates", tables)

    def run(
        self,
        *,
        workers: int = 1,
        store: str | os.PathLike[str] | None = None,
        progress: bool | Steps = False,
        memory: dict[Key, Cell] | None = None,
        original: bool = False,
    ) -> Results:
        """Mask and measure everything the store does not yet hold, and return all of it.

        The figures do not depend on the number of worker processes. With a store, every finished figure is on disk
        at once: a run that was stopped or killed continues where it was, and a repeated one computes only what is
        new. A candidate that fails becomes a row with the reason and is tried again next time. ``memory`` does the same
        for runs of one table and seed that follow each other in this process: it is read, and added to. With
        ``original`` the original is measured too, as if it were released unprotected: ``Results.unprotected``.
        ``progress`` is True for a bar on the terminal, or the steps to tell.
        """
        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise ParameterError(f"Experiment: workers must be a whole number of at least 1; got {workers!r}")
        require("Experiment", bool, YES_OR_NO, original=original)
        require("Experiment", bool | Steps, "True, False or the steps to tell", progress=progress)
        require("Experiment", dict | None, "the dict of an earlier run, or an empty one", memory=memory)
        entries("Experiment", Key, "figures of an earlier run", memory=memory or ())
        start = perf_counter()
        place = None if store is None else a_path(store)
        seed = settled_seed(place, self.data.fingerprint, self._secret) if self.seed is None else self.seed
        unprotected = replace(self, seed=seed).measure_original(store=store) if original else None
        scope = Scope(None if place is None else place.absolute(), self.data.fingerprint, seed)
        with nullcontext() if place is None else Store(scope) as kept:
            cells = ({} if kept is None else kept.finished()) | (memory or {})
            plan = self._plan(scope, by_record=place is not None or self._fits_in_memory(cells))
            tasks = [task for task in (_lacking(task, cells) for task in plan) if task.wanted]
            known = sum(len(task.wanted) for task in plan) - sum(len(task.wanted) for task in tasks)
            try:
                # closed at once when something goes wrong, so that no worker runs on
                with (
                    steps_of(progress) as steps,
                    closing(outcomes(self.data, tasks, workers, steps)) as finished,
                ):
                    steps.phase("candidates", total=len(tasks), known=known)
                    for cell in finished:
                        if kept is not None:
                            kept.add(cell)
                        cells[cell.key] = cell if kept is None else replace(cell, content=None)
            except KeyboardInterrupt:
                kept_where = "without a store nothing is kept" if place is None else f"what was finished is in {place}"
                raise KeyboardInterrupt(f"stopped; {kept_where}") from None
        if memory is not None:
            memory.update({key: cell for key, cell in cells.items() if cell.finished})
        results = self._results(plan, cells, scope, perf_counter() - start)
        return replace(results, unprotected=unprotected)

    def finished(self, *, store: str | os.PathLike[str]) -> Results:
        """Return what a store holds of this experiment; compute nothing. Candidates that lack a figure are left out.

        So a run that goes on elsewhere can be looked at, and its candidates be chosen from.
        """
        start, place = perf_counter(), a_path(store)
        seed = settled_seed(place, self.data.fingerprint, self._secret) if self.seed is None else self.seed
        scope = Scope(place.absolute(), self.data.fingerprint, seed)
        with Store(scope, reading=True) as kept:
            cells = kept.finished()
        whole = _measured(self._plan(scope, by_record=True), cells)
        results = self._results(whole, cells, scope, perf_counter() - start)
        alone = replace(self, seed=seed, methods=(), candidates={UNPROTECTED: self.data})
        original = _measured(alone._plan(scope, by_record=True), cells)
        if not original:
            return results
        return replace(results, unprotected=alone._results(original, cells, scope, 0.0).rows[0])

    @cached_property
    def _secret(self) -> int:
        return drawn_seed()

    def measure_original(self, *, store: str | os.PathLike[str] | None = None) -> Row:
        """Measure the original as if it were released unprotected: the risk and the utility to begin from."""
        alone = replace(self, methods=(), candidates={UNPROTECTED: self.data})
        return alone.run(store=store).rows[0]

    def _fits_in_memory(self, cells: Mapping[Key, Cell]) -> bool:
        """Tell whether figures by record may be kept in memory, beside those that are."""
        there = sum(key.replicate == 0 for key in cells)
        coming = (len(self.methods) + len(self.candidates)) * len(self.measures)
        return 8 * len(self.data) * (there + coming) <= MAX_BYTES_IN_MEMORY

    def _sources(self) -> dict[str, Source]:
        """Return where each candidate's table comes from, by the candidate's name."""
        return {**{repr(method): method for method in self.methods}, **self.candidates}

    def _plan(self, scope: Scope, *, by_record: bool) -> list[Task]:
        """List every protected table with every measure; what is not random is there once."""
        measures = [(measure, identity(measure)) for measure in self.measures]
        return [
            Task(
                name=name,
                source=source,
                seed=scope.seed,
                replicate=replicate,
                wanted=tuple(self._wanted(source, replicate, identify(source, rounded=self.rounded), measures)),
                store=None if scope.path is None else scope,
                by_record=by_record,
                rounded=self.rounded,
            )
            for name, source in self._sources().items()
            for replicate in (range(self.replicates) if _random(source) else (0,))
        ]

    def _wanted(
        self, source: Source, replicate: int, candidate: str, measures: Sequence[tuple[Measure, str]]
    ) -> Iterable[tuple[Measure, Key]]:
        for measure, name in measures:
            if _random(source):
                yield measure, Key(candidate, name, replicate)
            else:  # one table; a random measure draws anew in each replicate
                draws = range(self.replicates if measure.about.random else 1)
                yield from ((measure, Key(candidate, name, draw)) for draw in draws)

    def _results(self, plan: Sequence[Task], cells: Mapping[Key, Cell], scope: Scope, seconds: float) -> Results:
        archive, abouts = Archive(scope, cells), {repr(measure): measure.about for measure in self.measures}
        names = {identity(measure): repr(measure) for measure in self.measures}

        def read(measure: str, key: Key) -> Measurement:
            return archive.measurement(key, abouts[measure])

        by_candidate: dict[str, dict[str, list[Cell]]] = {}
        for task in plan:
            found = by_candidate.setdefault(task.name, {name: [] for name in abouts})
            for _, key in task.wanted:
                found[names[key.measure]].append(cells[key])
        sources = self._sources()
        rows = []
        for name, found in by_candidate.items():
            source = sources[name]
            random = {name for name, about in abouts.items() if _random(source) or about.random}
            method = source if isinstance(source, Method) else None
            rows.append(row(name, method, found, random=random, read=read))
        return Results(
            original=sampled(self.data, self.sample) if isinstance(self.data, TableInParts) else self.data,
            measures=tuple(self.measures),
            rows=tuple(rows),
            seed=scope.seed,
            replicates=self.replicates,
            seconds=seconds,
            versions=versions(),
            tables={n: s for n, s in sources.items() if isinstance(s, Microdata | TableInParts)},
            archive=archive,
            whole=self.data if isinstance(self.data, TableInParts) else None,
            rounded=self.rounded,
        )


def whole_table(data: Any) -> Microdata | TableInParts:
    """Return a table in parts as it is, any other in memory."""
    return data if isinstance(data, TableInParts) else Microdata.from_frame(data)


def _instances(owner: Experiment, name: str, kind: type[Any]) -> tuple[Any, ...]:
    """Require a list of different methods, or of different measures."""
    given = getattr(owner, name)
    if not isinstance(given, kind | Iterable):
        raise ParameterError(f"Experiment: {name} must be a list of them; got {given!r}")
    listed = (given,) if isinstance(given, kind) else tuple(given)
    for entry in listed:
        if isinstance(entry, type):
            raise ParameterError(f"Experiment: {name} must be instances; write {entry.__name__}(...)")
        if not isinstance(entry, kind):
            hint = "; give its .measures, then results.with_score(...)" if hasattr(entry, "terms") else ""
            raise ParameterError(f"Experiment: {name} must each be a {kind.__name__}; got {entry!r}{hint}")
    names = [repr(entry) for entry in listed]
    twice = sorted({shown for shown in names if names.count(shown) > 1})
    if twice:
        raise ParameterError(f"Experiment: {name} names {', '.join(twice)} more than once")
    return listed


def _table(table: Any, original: Microdata | TableInParts) -> Microdata | TableInParts | SfumatoError:
    """Read a table protected elsewhere as the measures would; what is wrong with it is told in its row."""
    if isinstance(original, TableInParts):
        if isinstance(table, TableInParts):
            return table
        return DataError("the original is in parts, so that a protected table must be too: read it with sfumato.scan")
    try:
        return Microdata.beside(original, table)
    except SfumatoError as error:
        return error


def _measured(plan: Sequence[Task], cells: Mapping[Key, Cell]) -> list[Task]:
    """Return the tasks of the candidates of which every figure is there."""
    lacking = {task.name for task in plan if any(key not in cells for _, key in task.wanted)}
    return [task for task in plan if task.name not in lacking]


def _random(source: Source) -> bool:
    return isinstance(source, Method) and source.about.random


def _lacking(task: Task, cells: Mapping[Key, Cell]) -> Task:
    return replace(task, wanted=tuple((measure, key) for measure, key in task.wanted if key not in cells))
