"""What a sweep is to do: read and checked, so that nothing but the work is left."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError, NotApplicable, ParameterError
from sfumato.project.checks import check_bounds, check_keys, check_weights, remind
from sfumato.project.reading import (
    bounds_by_name,
    chosen_measures,
    measure_name,
    of_population,
    read_methods,
    refuse_unknown,
)
from sfumato.project.settle import make_folder, remembered_seed, workers_or_default
from sfumato.project.tell import Tell, unheard

if TYPE_CHECKING:
    from sfumato.compare.candidates import Candidate
    from sfumato.core import Measure, Method
    from sfumato.data.microdata import Microdata


@dataclass(frozen=True)
class Dialect:
    """How text files are written, where it cannot be told."""

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a sweep tries, measures and bounds, and where it writes."""

    file: Path
    data: "Microdata"
    methods: "tuple[Method, ...]"
    measures: "tuple[Measure, ...]"
    candidates: "Mapping[str, Microdata]"
    replicates: int
    seed: int
    workers: int
    risk: str
    utility: str
    at_most: Mapping[str, float]
    at_least: Mapping[str, float]
    out: Path
    least_risk: bool = False  # instead of the best utility
    bootstrap: bool = True  # whether the figures of the chosen one are resampled over records
    whys: Mapping[str, str] = field(default_factory=dict)  # what composed candidates do, by label: a sentence each
    keep_order: bool = False  # whether the records of the release stand as in the original
    keep_weights: bool = False  # whether weights that give protected values back are released as they are
    keep_households: bool = False  # whether the households' numbers are, if a protected size can be counted from them
    despite_audit: bool = False  # whether a table that gives values back is released all the same


def planned(
    file: str | Path,
    schema: str | Path | None = None,
    *,
    methods: "Iterable[str | Method]" = (),
    breadth: int = 1,
    measures: "Iterable[str | Measure]" = (),
    at_most: Mapping[Any, float] | None = None,
    at_least: Mapping[Any, float] | None = None,
    utility: str | None = None,
    risk: str | None = None,
    least_risk: bool = False,
    population: float | None = None,
    candidates: Iterable[str | Path] = (),
    replicates: int = 3,
    bootstrap: bool = True,
    keep_order: bool = False,
    keep_weights: bool = False,
    keep_households: bool = False,
    despite_audit: bool = False,
    seed: int | None = None,
    workers: int | None = None,
    out: str | Path = "sfumato-sweep",
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    tell: Tell = unheard,
) -> Plan:
    """Read the table and all that was asked for, refuse what cannot be, and settle what was left open.

    Methods and measures are texts, as on the command line, or made already. Without methods, candidates are composed to
    fit the table; without measures, those that fit it decide. The folder ``out`` is made and keeps the seed.
    """
    from sfumato.compare.defaults import axis, default_measures
    from sfumato.data.files import read

    file, out, dialect = Path(file), Path(out), Dialect(encoding, delimiter, decimal)
    limits, floors = bounds_by_name(at_most or {}), bounds_by_name(at_least or {})
    if least_risk and not limits and not floors:
        raise ParameterError('--least-risk needs a bound on utility, such as --at-most "InformationLoss=20"')
    utility, risk = (None if said is None else measure_name(said) for said in (utility, risk))
    named = (*filter(None, (utility, risk)), *limits, *floors)
    wanted = list(measures)
    check_bounds(chosen_measures(wanted, named), limits, floors)
    asked = read_methods(methods)
    data = read(file, schema, **vars(dialect))
    usual = default_measures(data, population=population)
    by_default = axis(usual, "risk")
    bounded = next((name for name in named if by_default.startswith(f"{name}(")), by_default)  # as it was named
    wanted = wanted or ([] if utility or risk else [chosen.measure for chosen in usual])
    wanted = [bounded if measure == by_default or repr(measure) == by_default else measure for measure in wanted]
    utility, risk = utility or axis(usual, "utility"), risk or bounded
    judging = of_population(chosen_measures(wanted, (risk, utility, *named)), population)
    refuse_unknown(judging, data)
    tables = _protected_elsewhere(candidates, data, dialect, tell)
    check_keys(data, judging, {risk, utility, *limits, *floors})
    check_weights(data, judging, {risk, *limits}, population, tell)
    make_folder(out)
    found = () if asked else _composed(data, judging, {**limits, **floors}, breadth)
    plan = Plan(
        file=file,
        data=data,
        methods=tuple(asked) or tuple(candidate.method for candidate in found),
        measures=tuple(judging),
        candidates=tables,
        replicates=replicates,
        seed=remembered_seed(out, seed, tell),
        workers=workers_or_default(workers),
        risk=risk,
        utility=utility,
        at_most=limits,
        at_least=floors,
        out=out,
        least_risk=least_risk,
        bootstrap=bootstrap,
        whys={repr(candidate.method): candidate.why for candidate in found},
        keep_order=keep_order,
        keep_weights=keep_weights,
        keep_households=keep_households,
        despite_audit=despite_audit,
    )
    remind(data, tell)
    return plan


def _protected_elsewhere(
    paths: Iterable[str | Path], data: "Microdata", dialect: Dialect, tell: Tell
) -> "dict[str, Microdata]":
    """Read the files that were protected elsewhere, by their names."""
    from sfumato.project.tables import read_protected

    tables: dict[str, Microdata] = {}
    for path in map(Path, paths):
        if path.name in tables:
            raise DataError(f"two candidates are called {path.name}; rename one of the files")
        tables[path.name] = read_protected(path, data, tell=tell, **vars(dialect))
    return tables


def _composed(
    data: "Microdata", measures: "list[Measure]", bounds: Mapping[str, float], breadth: int
) -> "tuple[Candidate, ...]":
    """Return the candidates that fit the table and the bounds; say so where there is none."""
    from sfumato.compare.candidates import compose

    found = compose(data, measures, bounds, breadth=breadth)
    if not found:
        raise NotApplicable("no candidate fits this table and these bounds; name methods with --method")
    return found
