"""A protected file beside its original, in one call: what is measured of it, and what it gives back."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from sfumato.arguments import TEXT, YES_OR_NO, entries, require, require_bounds, require_number, require_whole
from sfumato.errors import NotApplicable, ParameterError
from sfumato.project.options import DIALECT, Audience, Tell, called_by, unheard
from sfumato.project.reading import bounds_by_name, of_population, read_measures, refuse_unknown
from sfumato.table.formats import a_path
from sfumato.table.sample_size import SAMPLED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.auditing.findings import Audit, Checked
    from sfumato.compare.defaults import Chosen
    from sfumato.compare.examine import Piece
    from sfumato.compare.progress import Steps
    from sfumato.core import Measure
    from sfumato.measurement import Measurement
    from sfumato.pair import Pair
    from sfumato.report.summary import Summary
    from sfumato.table.microdata import Microdata

MAX_LINKED, SLOW_MEASURES = 10_000, ("ProbabilisticLinkage",)
MAX_TERMS = 10  # variables up to which a propensity model of second order is tried unasked
SHOWN = 8  # measures that come first where none decides


@dataclass(frozen=True, kw_only=True)
class ComparedFiles:
    """What was measured of a protected file against its original; measures are named by their text.

    ``lacking`` are those without a figure of which that is a failure: they were asked for, or none has a figure.
    """

    records: tuple[int, int]  # of the original and of the protected file
    parts: tuple[int, int] = (1, 1)
    figures: Mapping[str, float]
    reasons: Mapping[str, str] = field(default_factory=dict)  # why there is no figure
    lacking: Mapping[str, str] = field(default_factory=dict)
    kept: bool | None = None  # whether all bounds are; None without bounds
    bounds_of: str = ""  # whose the bounds are, if they are those of the sweep that wrote the file
    deciding: tuple[str, ...] = ()  # measures that were asked for, else those that decide for such a file
    summary: "Summary | None" = None  # of files in memory: verdict, variables, audit
    measurements: Mapping[str, "Measurement"] = field(default_factory=dict)  # of tables in parts
    report: Path | None = None  # the page, if one was asked for

    @property
    def passed(self) -> bool:
        """Whether all that was asked for has a figure, and no bound that was said is broken."""
        return bool(self.figures) and not self.lacking and (self.kept is not False or bool(self.bounds_of))


@dataclass(frozen=True, kw_only=True)
class _Question:
    """What is to be measured, and how both files are read."""

    schema: str | Path | None
    protected_schema: Path | None
    unmatched: bool
    measures: "Sequence[Measure] | None"
    at_most: Mapping[str, float]
    at_least: Mapping[str, float]
    population: float | None
    seed: int
    dialect: Mapping[str, str | None]


def compare_files(
    original: str | Path,
    protected: str | Path,
    schema: str | Path | None = None,
    *,
    protected_schema: str | Path | None = None,
    unmatched: bool = False,
    measures: "Iterable[str | Measure] | None" = None,
    at_most: Mapping[Any, float] | None = None,
    at_least: Mapping[Any, float] | None = None,
    population: float | None = None,
    records: int = 0,
    report: str | Path | None = None,
    audience: Audience = "internal",
    seed: int = 0,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    engine: str = "local",
    memory: str | None = None,
    store: str | Path | None = None,
    details: bool = True,
    tell: Tell | None = None,
    bars: bool = False,
    command: str | None = None,
) -> ComparedFiles:
    """Measure how risky and how useful a protected file is, seen against its original.

    It is what ``sfumato compare`` does: all measures are tried unless some are named, first those that decide for such
    a file; bounds are those said, or of the sweep that wrote the file. ``unmatched``: record i is not record i.
    ``records`` lists so many most at risk, ``report`` is a folder for a page. Without ``details`` the summary holds
    no more than the terminal shows. ``tell`` hears the messages, ``bars`` shows on the terminal how far it is, and
    ``command`` is what the report says to run it again by.

    A folder or a pattern of files is a table in parts: it is measured part by part on the ``engine`` of
    :class:`Engine` within its ``memory``, by the measures whose memory does not grow with the records, or by those
    named; ``store`` is a file for what was computed. Bounds, records and a report are of tables in memory only.

    >>> import tempfile, sfumato
    >>> survey = sfumato.household_survey(60)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     original, masked = Path(folder, "survey.csv"), Path(folder, "masked.csv")
    ...     _ = sfumato.write(survey, original), sfumato.write(sfumato.MDAV(3).protect(survey), masked)
    ...     found = compare_files(original, masked, measures=["InformationLoss"], at_most={"InformationLoss": 100})
    >>> list(found.figures), found.kept
    (['InformationLoss()'], True)
    """
    from sfumato.compare.progress import Bar, Steps
    from sfumato.table.parts import is_in_parts

    who = "compare_files"
    require(who, bool, YES_OR_NO, unmatched=unmatched, details=details, bars=bars)
    require(who, str, TEXT, engine=engine)
    require(who, str | None, TEXT, memory=memory, command=command)
    require_bounds(who, at_most=at_most, at_least=at_least)
    require_number(who, least=1, population=population)
    require_whole(who, least=0, records=records)
    require_whole(who, least=0, most=None, seed=seed)
    if audience not in get_args(Audience):
        raise ParameterError(f"{who}: audience is one of {', '.join(get_args(Audience))}; got {audience!r}")
    before, after, said = a_path(original), a_path(protected), tell or unheard
    dialect = dict(zip(DIALECT, (encoding, delimiter, decimal), strict=True))
    asked = _Question(
        schema=schema,
        protected_schema=None if protected_schema is None else a_path(protected_schema),
        unmatched=unmatched,
        measures=read_measures(entries(who, object, "measures", measures=measures)) if measures else None,
        at_most=bounds_by_name(at_most or {}),
        at_least=bounds_by_name(at_least or {}),
        population=population,
        seed=seed,
        dialect=dialect,
    )
    if is_in_parts(before) or is_in_parts(after):
        external = audience if audience != "internal" else None
        in_memory = {"population": population, "records": records, "report": report, "audience": external}
        _refuse_of_parts(**in_memory, at_most=at_most, at_least=at_least, **dialect)
        place = None if store is None else a_path(store)
        steps = Steps(*([Bar()] if bars else []))
        return _figures_of_parts(before, after, asked, said, engine=engine, memory=memory, store=place, steps=steps)
    if memory is not None or store is not None:
        raise ParameterError("--memory and --store are for tables in parts: a folder, or a pattern of files")
    return _compared(
        before,
        after,
        asked,
        said,
        records=records,
        report=report,
        audience=audience,
        details=details or report is not None,
        bars=bars,
        command=_call(before, after, asked, records) if command is None else command,
    )


def _call(original: Path, protected: Path, asked: _Question, records: int) -> str:
    """Write the call that compares two files in memory, for the report."""
    told = {
        "schema": asked.schema,
        "protected_schema": asked.protected_schema,
        "unmatched": asked.unmatched or None,
        "measures": None if asked.measures is None else tuple(asked.measures),
        "at_most": asked.at_most or None,
        "at_least": asked.at_least or None,
        "population": asked.population,
        "records": records or None,
        "seed": asked.seed or None,
        **asked.dialect,
    }
    return called_by("compare_files", original, protected, **told)


def _compared(
    original: Path,
    protected: Path,
    asked: _Question,
    tell: Tell,
    *,
    records: int,
    report: str | Path | None,
    audience: Audience,
    details: bool,
    bars: bool,
    command: str,
) -> ComparedFiles:
    """Measure a file in memory, with all that a report tells of it."""
    from sfumato.catalogue import measures as known
    from sfumato.compare.choose import checked_bounds
    from sfumato.compare.defaults import default_measures
    from sfumato.compare.examine import examine
    from sfumato.compare.experiment import Experiment
    from sfumato.project.record import bounds_of_sweep
    from sfumato.project.tables import order_of, read_protected, without_left_out
    from sfumato.report.report import write_report
    from sfumato.report.summarise import summarise_pair
    from sfumato.table.files import formulas_in, read
    from sfumato.table.schema_file import schema_text
    from sfumato.utility.global_utility.measure import shown

    population, measures = asked.population, asked.measures
    data = read(original, asked.schema, **asked.dialect)
    refuse_unknown(measures or (), data)
    limits, floors, whose = asked.at_most, asked.at_least, ""
    if not limits and not floors:
        limits, floors, whose = bounds_of_sweep(protected, data.fingerprint)
    bounded = read_measures((*limits, *floors))
    refuse_unknown(bounded, data)
    written = read_protected(protected, data, asked.protected_schema, as_written=True, tell=tell, **asked.dialect)
    for computed in formulas_in(written, protected):
        tell(f"{protected.name}: {computed}")
    noted = order_of(protected, len(written), tell)
    order = _order_by_values(data, written, tell) if noted is None and not asked.unmatched else noted
    candidate = written if order is None else written.put_back(order)
    if asked.unmatched:
        candidate = replace(candidate, matched=False)
    usual = sorted(default_measures(data, candidate, population=population), key=lambda chosen: not chosen.decides)
    first = [chosen.measure for chosen in usual]
    others = [cls() for cls in known().values() if cls not in map(type, first)]
    chosen_ones = affordable([*first, *others], data, tell) if measures is None else measures
    wanted = of_population(tuple(dict.fromkeys([*chosen_ones, *bounded])), population)
    experiment = Experiment(data, measures=tuple(wanted), candidates={protected.name: candidate}, seed=asked.seed)
    kept = dict.fromkeys([*(first if measures is None else measures), *bounded])
    before = [measure for measure in kept if measure.about.purpose == "risk"]
    with shown() if bars else nullcontext():
        results = experiment.run()
        if before:  # what the original itself would give away, by the measures that matter here
            row = replace(experiment, measures=tuple(of_population(before, population))).measure_original()
            results = replace(results, unprotected=row)
    audited = measures is None and candidate.matched
    checked = _audited(without_left_out(data, protected, tell), written, noted) if audited else None
    what = _pieces(wanted, details=details, records=records > 0)
    summary = summarise_pair(
        results,
        examine(results, protected.name, what=what, listed=max(records, 10), progress=bars),
        file=original.name,
        protected=protected.name,
        deciding=[repr(chosen.measure) for chosen in usual if chosen.decides],
        checked=checked,
        bounds=checked_bounds(results, "compare", limits, floors),
        bounds_of=whose,
        command=command,
        schema=schema_text(data.schema.unnamed()),
    )
    line = summary.candidates[0]
    reasons = {key: str(why) for key, why in line.reasons.items()}
    named = set(map(repr, of_population((*(measures or ()), *(bounded if not whose else ())), population)))
    kept_or_not = {change.kept for change in summary.verdict.changes} - {None}
    return ComparedFiles(
        records=(len(data), len(written)),
        figures={key: figure.value for key, figure in line.figures.items()},
        reasons=reasons,
        lacking={key: why for key, why in reasons.items() if key in named or not line.figures},
        kept=all(kept_or_not) if kept_or_not else None,
        bounds_of=whose,
        deciding=_deciding(summary, usual, measures),
        summary=summary,
        report=None if report is None else write_report(summary, report, audience),
    )


def _deciding(summary: "Summary", usual: "Sequence[Chosen]", asked: "Sequence[Measure] | None") -> tuple[str, ...]:
    """Return the keys of the measures to print: those asked for, else those that decide for such a file."""
    keys = tuple(line.key for line in summary.measures)
    if asked is not None:
        return keys
    deciding = [repr(chosen.measure) for chosen in usual if chosen.decides]
    return tuple(key for key in deciding if key in keys) or keys[:SHOWN]


def _order_by_values(data: "Microdata", written: "Microdata", tell: Tell) -> "NDArray[np.intp] | None":
    """Return which record of the original each protected one is, if there is no id and its rows stand otherwise."""
    import numpy as np

    from sfumato.auditing.matching import match
    from sfumato.errors import DataError

    key = data.schema.id
    if len(data) != len(written) or (key is not None and key in written.columns):
        return None
    try:
        found = match(data, written)
    except DataError:  # nothing tells: as they stand, with a caution
        return None
    if found.how != "values":
        return None
    order = np.full(len(written), -1, dtype=np.intp)
    order[found.rows] = found.records
    rest = np.setdiff1d(np.arange(len(data)), found.records)
    order[order < 0] = rest
    said = "the records do not stand as in the original and have no id; they are matched by what was not touched"
    left = (
        f", which leaves {len(rest):,} that are matched as they come: risks may be higher than shown"
        if len(rest)
        else ""
    )
    tell(f"{said}{left}")
    return order


def _audited(original: "Microdata", written: "Microdata", order: "NDArray[np.intp] | None") -> "Checked":
    """Try to restore protected values from the rest of the file, as it stands."""
    from sfumato.auditing.audit import audit
    from sfumato.auditing.findings import Checked
    from sfumato.errors import OF_THE_RUN, SfumatoError, unexpected

    sample = len(written) != len(original)
    try:
        return Checked(audit=audit(original, written, order=None if sample else order))
    except OF_THE_RUN:
        raise
    except Exception as error:
        return Checked(unaudited=unexpected(error), excused=sample and isinstance(error, SfumatoError))


def _pieces(measures: "Iterable[Measure]", *, details: bool, records: bool) -> "list[Piece]":
    """Name what is looked at besides the measures: all of it for a report or JSON, else what the terminal shows."""
    from sfumato.compare.examine import PIECES
    from sfumato.utility import GlobalDataUtility

    if details:
        return [piece for piece in PIECES if piece != "bootstrap"]
    wanted: list[Piece] = ["cautions", "release", "detail"]
    wanted += ["records"] if records else []
    wanted += ["usefulness"] if any(isinstance(measure, GlobalDataUtility) for measure in measures) else []
    return wanted


def affordable(measures: "list[Measure]", data: "Microdata", tell: Tell = unheard) -> "list[Measure]":
    """Leave out, or take a quicker form of, what would take long and was not asked for by name; and say so."""
    from sfumato.utility import PropensityUtility

    kept = [m for m in measures if len(data) <= MAX_LINKED or type(m).__name__ not in SLOW_MEASURES]
    if len(kept) < len(measures):
        slow = ", ".join(SLOW_MEASURES)
        tell(f"left out, for there are more than {MAX_LINKED:,} records: {slow}; ask for it with --measure")
    if PropensityUtility() in kept and len(data.schema.analysed()) > MAX_TERMS:
        kept[kept.index(PropensityUtility())] = PropensityUtility(model="tree", permutations=20)
        tell(
            f"PropensityUtility by a tree and 20 permutations, for there are more than {MAX_TERMS} variables: a model "
            "of second order has too many terms; ask for it with --measure PropensityUtility"
        )
    return kept


def _refuse_of_parts(**given: object) -> None:
    """Refuse what needs a table in memory."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise ParameterError(f"{', '.join(named)}: only of tables that fit into memory, one file each")


def _figures_of_parts(
    original: Path,
    protected: Path,
    asked: _Question,
    tell: Tell,
    *,
    engine: str,
    memory: str | None,
    store: Path | None,
    steps: "Steps",
) -> ComparedFiles:
    """Measure a protected table in parts against its original, part by part."""
    from sfumato.catalogue import measures
    from sfumato.engine import Engine
    from sfumato.pair import Pair
    from sfumato.project.tables import beside_original, read_protected
    from sfumato.table.parts import scan

    with Engine(engine, store=store, memory=memory, progress=steps.part) as where:
        before = scan(original, asked.schema, executor=where.executor)
        after = read_protected(protected, before, asked.protected_schema, as_written=True, tell=tell)
        tell(f"original {before!r}, protected {after!r}; memory {where.memory / 1e9:.1f} GB")
        after = after.unmatched() if asked.unmatched else beside_original(after, protected, before, tell)
        pair = Pair.of(before, after)
        known = (cls() for cls in measures().values())
        wanted = asked.measures or [one for one in known if one.about.parts == "summaries"]  # memory does not grow
        found, reasons = _measured(pair, wanted, asked.seed, steps)
        lacking = not asked.unmatched and not pair.matched  # half of the measures need to know which record is which
        peak = getattr(where.executor, "peak_bytes", 0)
    if peak:
        tell(f"the largest process had {peak / 1e6:,.0f} MB")
    failed = not found or bool(reasons and (asked.measures or lacking))
    return ComparedFiles(
        records=(len(before), len(after)),
        parts=(len(before.parts), len(after.parts)),
        figures={name: one.value for name, one in found.items()},
        reasons=reasons,
        lacking=reasons if failed else {},
        deciding=tuple(found),
        measurements=found,
    )


def _measured(
    pair: "Pair", measures: "Sequence[Measure]", seed: int, steps: "Steps"
) -> "tuple[dict[str, Measurement], dict[str, str]]":
    """Return what measures say of two tables in parts, and of the others why they say nothing."""
    found: dict[str, Measurement] = {}
    reasons: dict[str, str] = {}
    for measure in measures:
        steps.began(type(measure).__name__)
        try:
            found[repr(measure)] = measure.evaluate_pair(pair, rng=seed)
        except NotApplicable as refusal:
            reasons[repr(measure)] = str(refusal)
        steps.ended(type(measure).__name__)
    return found, reasons


def audit_files(
    original: str | Path,
    protected: str | Path,
    schema: str | Path | None = None,
    *,
    protected_schema: str | Path | None = None,
    beside: "Iterable[str | Path] | None" = None,
    near: float = 0.01,
    margin: float = 0.1,
    seed: int = 0,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    engine: str | None = None,
    memory: str | None = None,
    sample: int = SAMPLED,
    tell: Tell | None = None,
    bars: bool = False,
) -> "Audit":
    """Try to restore what was protected in a file from the rest of it, as an intruder would.

    It is what ``sfumato audit`` does, and :func:`audit` of the two files: a release of ours is put in order by the
    note on it, and what its repairs left out does not count as protected. ``beside`` names other releases of the same
    records, files or the folders of sweeps. A folder or a pattern of files is a table in parts, of which a ``sample``
    of the records is audited. ``tell`` hears the messages, ``bars`` shows how far it is.

    >>> import tempfile, sfumato
    >>> survey = sfumato.household_survey(60)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     original, masked = Path(folder, "survey.csv"), Path(folder, "masked.csv")
    ...     _ = sfumato.write(survey, original), sfumato.write(sfumato.LocalSuppression(k=3).protect(survey), masked)
    ...     found = audit_files(original, masked)
    >>> found.passed
    False
    """
    from sfumato.auditing.audit import audit
    from sfumato.pair.random_order import RandomOrder
    from sfumato.project.engines import engine_for
    from sfumato.project.tables import (
        order_of,
        order_told,
        place_of,
        read_protected,
        released_in,
        scan_table,
        without_left_out,
    )
    from sfumato.table.files import read
    from sfumato.table.parts import is_in_parts

    who = "audit_files"
    require_whole(who, least=0, most=None, seed=seed)
    require(who, str | None, TEXT, engine=engine, memory=memory)
    require(who, bool, YES_OR_NO, bars=bars)
    before, after, said = a_path(original), a_path(protected), tell or unheard
    stated = None if protected_schema is None else a_path(protected_schema)
    places = [a_path(place) for place in entries(who, object, "files", beside=beside or ())]
    dialect = dict(zip(DIALECT, (encoding, delimiter, decimal), strict=True))
    with engine_for(before, after, engine=engine, memory=memory, bars=bars, tell=said) as parts:
        if parts is not None:
            if places:
                raise ParameterError("--beside: other releases are looked at beside a table in memory only")
            for path in (before, after):
                if not is_in_parts(path):
                    raise ParameterError(f"{path} is one file and the other table is in parts; name a folder for both")
            whole = scan_table(before, schema, **dialect)
            masked = read_protected(after, whole, stated, as_written=True, tell=said)
            whole = without_left_out(whole, place_of(after), said)
            noted = order_told(place_of(after), said)
            drawn = None if noted is None else RandomOrder(*noted)
            return audit(whole, masked, order=drawn, near=near, margin=margin, rng=seed, sample=sample)
    data = read(before, schema, **dialect)
    release = read_protected(after, data, stated, as_written=True, tell=said, **dialect)
    others = {
        name: read_protected(place, data, None, as_written=False, tell=said, **dialect)
        for name, place in released_in(places).items()
    }
    order = order_of(after, len(release), said) if len(release) == len(data) else None
    data = without_left_out(data, after, said)
    return audit(data, release, order=order, beside=others or None, near=near, margin=margin, rng=seed)
