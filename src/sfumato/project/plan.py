"""What a sweep is to do: read and checked, so that nothing but the work is left."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import OF_THE_RUN, DataError, ParameterError, SfumatoError, unexpected
from sfumato.project.candidates import (
    candidates_that_fit_any,
    composed_candidates,
    label_of,
    named_candidates,
    refuse_misnamed,
    refuse_unmakeable,
)
from sfumato.project.folder import make_folder, remembered_seed
from sfumato.project.options import MAX_BREADTH, SweepOptions, Tell, options_of, unheard, workers_or_default
from sfumato.project.reading import (
    OnUndeclared,
    bounds_by_name,
    chosen_measures,
    measure_name,
    of_population,
    read_measures,
    read_method,
    read_methods,
    refuse_unknown,
)
from sfumato.project.tables import read_elsewhere, read_table
from sfumato.table.formats import a_path
from sfumato.table.parts import name_of_parts
from sfumato.table.roles import Undeclared

if TYPE_CHECKING:
    from sfumato.compare.candidates import Candidate
    from sfumato.core import Measure, Method
    from sfumato.table.describe import Doubt
    from sfumato.table.microdata import Microdata
    from sfumato.table.parts import TableInParts

OPEN_QUESTIONS: "tuple[Doubt, ...]" = ("identifier", "household", "weight", "nearly numbers", "missing codes")


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
    from sfumato.compare.defaults import axis, default_measures

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
    usual = default_measures(data, population=population, in_parts=whole is not None)
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
        read_elsewhere(paths, data, tell, **dialect) if whole is None else read_elsewhere(paths, whole, tell)
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
    from sfumato.table.households import lived_with

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


def check_bounds(measures: "Iterable[Measure]", at_most: Mapping[str, float], at_least: Mapping[str, float]) -> None:
    """Refuse a bound that no share can have, or on the wrong side, before anything is computed."""
    bounds = {**at_most, **at_least}
    for measure in measures:
        for side, better, named in (("--at-least", "higher", at_most), ("--at-most", "lower", at_least)):
            if {repr(measure), type(measure).__name__} & set(named) and measure.about.better == better:
                raise ParameterError(f"{type(measure).__name__} is better when {better}: bound it with {side}")
        for name in {repr(measure), type(measure).__name__} & set(bounds):
            if measure.about.unit == "share" and not 0 <= bounds[name] <= 1:
                hint = f" (did you mean {bounds[name]:g}%?)" if 1 < bounds[name] <= 100 else ""
                raise ParameterError(f"{name} is a share from 0 to 1; its bound cannot be {bounds[name]:g}{hint}")


def with_households(at_most: Mapping[str, float]) -> dict[str, float]:
    """Bound households as persons are: what holds for ``Reidentification`` holds for its households, unless it is said.

    A bound on single records whose chance is large (``above``) is one on persons alone.

    >>> with_households({"Reidentification": 0.05, "ExposedAmounts": 0.0})
    {'Reidentification()': 0.05, 'ExposedAmounts': 0.0, "Reidentification(unit='household')": 0.05}
    >>> with_households({"Reidentification": 0.05, "Reidentification(unit='household')": 0.2})["Reidentification"]
    0.05
    """
    from sfumato.risk import Reidentification

    named = {name: measure for name in at_most for measure in read_measures([name]) if name.startswith("Reid")}
    bounded = {n: m for n, m in named.items() if isinstance(m, Reidentification) and m.above is None}
    if any(measure.unit == "household" for measure in bounded.values()):
        return dict(at_most)
    more = {repr(replace(m, unit="household", sample=None)): at_most[n] for n, m in bounded.items()}
    return bounds_by_name({**at_most, **more}) if more else dict(at_most)


def as_stated(at_most: Mapping[str, float]) -> dict[str, float]:
    """Return bounds without those on households that follow from the bounds on persons.

    >>> as_stated({"Reidentification()": 0.05, "Reidentification(unit='household')": 0.05})
    {'Reidentification()': 0.05}
    """
    persons = {name: limit for name, limit in at_most.items() if "unit='household'" not in name}
    follow = with_households(persons).items() >= {n: at for n, at in at_most.items() if n not in persons}.items()
    return persons if follow else dict(at_most)


def check_keys(data: "Microdata", measures: "Iterable[Measure]", deciding: set[str]) -> None:
    """Refuse a measure that decides and counts over keys, where there are none: nothing could be decided."""
    from sfumato.core import speaking
    from sfumato.table.keys import key_names

    for measure in (m for m in measures if {repr(m), type(m).__name__} & deciding):
        if measure.about.keys and not (data.schema.scenarios and hasattr(measure, "scenarios")):
            with speaking(measure):
                key_names(data.schema, measure.variables)


def check_weights(
    data: "Microdata", measures: "Iterable[Measure]", deciding: set[str], population: float | None, tell: Tell
) -> None:
    """Say that rescaled weights leave individual risks out, or refuse them if such a risk is to decide."""
    from sfumato.compare.defaults import rescaled

    if population is not None or not rescaled(data):
        return
    said = f"the weights {data.schema.weight!r} fall below one, so they were rescaled"
    hint = "say with --population how many units they should sum to"
    for measure in measures:
        if getattr(measure, "population", 1) is None and {repr(measure), type(measure).__name__} & deciding:
            raise ParameterError(f"{said}, and {measure!r} cannot be computed; {hint}")
    tell(f"to look at: {said}, and IndividualRisk is not computed; {hint}")


def remind(data: "Microdata", found: "Undeclared", tell: Tell) -> None:
    """Repeat what ``inspect`` would ask about columns that the schema leaves to be protected, or not, as they came."""
    from sfumato.compare.figures import listed
    from sfumato.table.describe import describe

    if found.names:
        tell(f"to look at: nobody has said what they are, so nothing will be published: {listed(found.names, 12)}")
    try:
        findings = describe(data)
    except OF_THE_RUN:
        raise
    except Exception as error:
        tell(f"to look at: the columns, which could not be described ({unexpected(error)})")
        return
    for finding in findings:
        if finding.suggestion is not None and finding.suggestion.doubt in OPEN_QUESTIONS:
            tell(f"to look at: {finding.name}: {finding.suggestion.sentence}")


def settle_undeclared(
    data: "Microdata", whole: "TableInParts | None", on_undeclared: OnUndeclared, tell: Tell
) -> "tuple[Microdata, TableInParts | None, Undeclared, tuple[str, ...]]":
    """Return the table, the columns that keep it from being published, and those that are left out of it.

    Columns of which nobody has said the role are refused, left out or accepted, as ``on_undeclared`` says.
    """
    from typing import get_args

    from sfumato.compare.figures import listed
    from sfumato.table.roles import undeclared

    if on_undeclared not in get_args(OnUndeclared):
        raise ParameterError(f"on_undeclared is one of {', '.join(get_args(OnUndeclared))}; got {on_undeclared!r}")
    found = undeclared(data)
    if not found.names:
        return data, whole, found, ()
    if on_undeclared == "accept":
        tell(f"nobody has said what they are, and they are accepted as they are: {listed(found.names, 12)}")
        return data, whole, Undeclared(), ()
    if on_undeclared == "leave-out":
        if len(found.names) == len(data.names):
            raise DataError("nobody has said what any variable is, so that nothing would be left; say it in a schema")
        tell(f"left out, because nobody has said what they are: {listed(found.names, 12)}")
        kept = [name for name in data.names if name not in found.names]
        return data.without(found.names), None if whole is None else whole.only(kept), Undeclared(), found.names
    return data, whole, found, ()
