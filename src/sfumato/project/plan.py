"""What a sweep is to do: read and checked, so that nothing but the work is left."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.file_names import a_path
from sfumato.data.parts import name_of_parts
from sfumato.data.roles import Undeclared
from sfumato.errors import DataError, ParameterError, SfumatoError
from sfumato.project.candidates import (
    candidates_that_fit_any,
    composed_candidates,
    label_of,
    named_candidates,
    refuse_misnamed,
    refuse_unmakeable,
)
from sfumato.project.checks import (
    check_bounds,
    check_keys,
    check_weights,
    remind,
    settle_undeclared,
    with_households,
)
from sfumato.project.in_parts import read_table, scanned_elsewhere
from sfumato.project.options import MAX_BREADTH, SweepOptions, options_of
from sfumato.project.reading import (
    bounds_by_name,
    chosen_measures,
    measure_name,
    of_population,
    read_measures,
    read_method,
    read_methods,
    refuse_unknown,
)
from sfumato.project.settle import make_folder, remembered_seed, workers_or_default
from sfumato.project.tell import Tell, unheard

if TYPE_CHECKING:
    from sfumato.compare.candidates import Candidate
    from sfumato.core import Measure, Method
    from sfumato.data.microdata import Microdata
    from sfumato.data.parts import TableInParts


@dataclass(frozen=True, kw_only=True)
class Plan(SweepOptions):
    """What a sweep was told, settled: what it tries, measures and bounds, and where it writes."""

    file: Path
    data: "Microdata"  # of a table in parts a random sample
    methods: "tuple[Method, ...]"
    measures: "tuple[Measure, ...]"
    first: "Method | None" = None  # what every candidate but those of files begins with: it is in ``methods`` already
    candidates: tuple[Path, ...] = ()
    seed: int
    workers: int
    risk: str
    utility: str
    out: Path
    elsewhere: "Mapping[str, Microdata | TableInParts]"  # what the candidates of files hold, by name
    whys: Mapping[str, str] = field(default_factory=dict)  # what composed candidates do, by label: a sentence each
    undeclared: Undeclared = field(default_factory=Undeclared)  # columns that keep a release from going out
    without: tuple[str, ...] = ()  # those that are left out of every candidate
    composed: bool = False  # whether candidates were composed to fit the table
    asked: tuple[str, ...] = ()  # measures that were named, as texts
    whole: "TableInParts | None" = None  # the table, if it is in parts

    @property
    def table(self) -> "Microdata | TableInParts":
        """The table that the figures are of."""
        return self.data if self.whole is None else self.whole

    @property
    def name(self) -> str:
        """What the table is called: its file, or the folder of its parts."""
        return self.file.name if self.whole is None else name_of_parts(self.file)


def planned(file: str | Path, schema: str | Path | None = None, *, tell: Tell = unheard, **given: Any) -> Plan:
    """Read the table and all that was asked for, refuse what cannot be, and settle what was left open.

    ``given`` are fields of :class:`SweepOptions`. Methods and measures are texts, as on the command line, or made
    already. Without methods, candidates are composed to fit the table, and ``also_composed`` beside those named;
    without measures, those that fit it decide. Every candidate begins with the method ``first``, which alone is one
    too. The candidate to ``choose`` is named by its label, its short name or its method. The folder ``out`` is made and
    keeps the seed.

    Of a table in parts, a folder or a pattern, candidates are composed to fit a random ``sample``.
    """
    from sfumato.compare.defaults import axis, default_measures, default_measures_in_parts

    options = options_of("sweep", given)
    file, out, dialect, population = a_path(file), Path(options.out), options.dialect(), options.population
    limits, floors = bounds_by_name(options.at_most), bounds_by_name(options.at_least)
    if options.choose is not None and not limits and not floors:
        raise ParameterError(
            '--choose needs a bound for the chosen one to keep, such as --at-most "Reidentification=5%"'
        )
    if options.least_risk and not limits and not floors:
        raise ParameterError('--least-risk needs a bound on utility, such as --at-most "InformationLoss=20"')
    utility, risk = (None if said is None else measure_name(said) for said in (options.utility, options.risk))
    named = (*filter(None, (utility, risk)), *limits, *floors)
    wanted = list(options.measures)
    by_name = tuple(map(repr, read_measures(wanted)))
    check_bounds(chosen_measures(wanted, named), limits, floors)
    asked = read_methods(options.methods)
    begun = None if options.first is None else read_method(options.first, "--first")
    also_composed = options.also_composed or not asked
    data, whole = read_table(file, schema, options.sample, tell, **dialect)
    data, whole, open_yet, without = settle_undeclared(data, whole, options.on_undeclared, tell)
    limits = _of_households_too(data, limits, tell, whole=whole is not None)
    named = (*filter(None, (utility, risk)), *limits, *floors)
    usual = (default_measures if whole is None else default_measures_in_parts)(data, population=population)
    by_default = axis(usual, "risk")
    bounded = next((name for name in named if by_default.startswith(f"{name}(")), by_default)  # as it was named
    wanted = wanted or ([] if utility or risk else [chosen.measure for chosen in usual])
    wanted = [bounded if measure == by_default or repr(measure) == by_default else measure for measure in wanted]
    utility, risk = utility or axis(usual, "utility"), risk or bounded
    judging = of_population(chosen_measures(wanted, (risk, utility, *named)), population)
    refuse_unknown(judging, data)
    refuse_misnamed(asked, begun, data)
    paths = tuple(options.candidates)
    tables: Mapping[str, Microdata | TableInParts] = (
        _protected_elsewhere(paths, data, dialect, tell) if whole is None else scanned_elsewhere(paths, whole, tell)
    )
    check_keys(data, judging, {risk, utility, *limits, *floors})
    check_weights(data, judging, {risk, *limits}, population, tell)
    make_folder(out)
    seed, bounds = remembered_seed(out, options.seed, tell), {**limits, **floors}
    ways = named_candidates(asked, begun)
    if also_composed:
        ways += composed_candidates(
            data,
            judging,
            bounds,
            options.breadth,
            first=begun,
            seed=seed,
            tell=tell,
            whole=0 if whole is None else len(whole),
        )
    if not asked and begun is None and not tables:
        ways += candidates_that_fit_any(data, ways, tell)
    if whole is not None and ways and not tables:
        refuse_unmakeable([way.method for way in ways], whole)
    made = {repr(way.method): way for way in reversed(ways)}  # of equal ones the first
    labels = {**{label: made[label].method for label in reversed(made)}, **dict.fromkeys(tables)}
    plan = Plan(
        **options.settings()
        | {
            "methods": tuple(method for method in labels.values() if method is not None),
            "measures": tuple(judging),
            "first": begun,
            "candidates": tuple(map(Path, paths)),
            "at_most": limits,
            "at_least": floors,
            "risk": risk,
            "utility": utility,
            "choose": None if options.choose is None else label_of(options.choose, labels, begun),
            "seed": seed,
            "workers": workers_or_default(options.workers),
            "out": out,
        },
        file=file,
        data=data,
        elsewhere=tables,
        whys=_whys(ways, labels, out),
        undeclared=open_yet,
        without=without,
        composed=also_composed,
        asked=by_name,
        whole=whole,
    )
    for note in data.notes:
        tell(f"{plan.name}: {note}")
    remind(data, open_yet, tell)
    return plan


def wider(plan: Plan) -> Plan | None:
    """Return the plan with all candidates that can be composed beside its own; None where there are no others.

    A sweep whose few candidates all break a bound tries these before it gives up. A run again does the same, so that
    ``breadth`` stays what was asked for.
    """
    if not plan.composed or plan.breadth >= MAX_BREADTH or plan.choose is not None:
        return None
    ways = composed_candidates(
        plan.data,
        plan.measures,
        {**plan.at_most, **plan.at_least},
        MAX_BREADTH,
        first=plan.first,
        seed=plan.seed,
        tell=unheard,
        whole=0 if plan.whole is None else len(plan.whole),
    )
    known = set(map(repr, plan.methods))
    more = {repr(way.method): way for way in ways if repr(way.method) not in known}
    if not more:
        return None
    methods = (*plan.methods, *(way.method for way in more.values()))
    return replace(plan, methods=methods, whys={**plan.whys, **{label: way.why for label, way in more.items()}})


def _of_households_too(data: "Microdata", limits: Mapping[str, float], tell: Tell, *, whole: bool) -> dict[str, float]:
    """Bound households as persons are bounded, where the table has any, and say so."""
    from sfumato.compare.figures import written
    from sfumato.data.reassembly import lived_with

    lived = data.schema.household is not None and (whole or lived_with(data))
    both = with_households(limits) if lived else dict(limits)
    added = {name: limit for name, limit in both.items() if name not in limits and "unit='household'" in name}
    if not added:
        return dict(limits)
    if whole:
        tell("to look at: households are not bounded: who knows all members is judged of tables in memory alone")
        return dict(limits)
    for name, limit in added.items():
        bound = written(limit, "share")
        tell(f'households are bounded as persons are: {name} at most {bound}; say another with --at-most "{name}=..."')
    return both


def _whys(ways: "Iterable[Candidate]", labels: Mapping[str, Any], out: Path) -> dict[str, str]:
    """Say what candidates do; of one that an earlier sweep into the folder composed, and that is named now, too."""
    from sfumato.project.record import Record

    try:
        earlier = Record.read(out)
    except SfumatoError:  # of another version: it is written anew
        earlier = None
    said = {label: why for label, why in (earlier.whys if earlier else {}).items() if label in labels}
    return said | {repr(way.method): way.why for way in ways if way.why}


def _protected_elsewhere(
    paths: Iterable[str | Path], data: "Microdata", dialect: Mapping[str, Any], tell: Tell
) -> "dict[str, Microdata]":
    """Read the files that were protected elsewhere, by their names."""
    from sfumato.project.tables import read_protected

    tables: dict[str, Microdata] = {}
    for path in map(a_path, paths):
        if path.name in tables:
            raise DataError(f"two candidates are called {path.name}; rename one of the files")
        tables[path.name] = read_protected(path, data, tell=tell, **dialect)
    return tables
