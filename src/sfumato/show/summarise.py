"""From results to the plain summary: who stands where, what was chosen and why."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sfumato.compare.choose import Choice
from sfumato.compare.figures import written
from sfumato.compare.frontier import Frontier
from sfumato.compare.results import Results, Row, Which
from sfumato.compare.rows import half_width
from sfumato.core import Measure
from sfumato.data.describe import describe
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable, ParameterError
from sfumato.show.cautions import cautions
from sfumato.show.detail import LISTED, Breakdown, detail_of, range_text
from sfumato.show.regressions import coefficients_of
from sfumato.show.release import release_of
from sfumato.show.summary import (
    ELSEWHERE,
    Bound,
    CandidateLine,
    Detail,
    MeasureLine,
    Run,
    Summary,
    Usefulness,
    VariableLine,
)
from sfumato.show.usefulness import usefulness_of
from sfumato.show.wording import count, figure, lower_first, percentage
from sfumato.utility import GlobalDataUtility, IntervalOverlap

MOST_RESAMPLED = 20_000  # records up to which the chosen one's figures are bootstrapped


def summarise(
    results: Results,
    *,
    risk: Which,
    utility: Which,
    at_most: Mapping[Any, float] | None = None,
    at_least: Mapping[Any, float] | None = None,
    least_risk: bool = False,
    file: str = "the table",
    released: str = "",
    command: str = "",
    schema: str = "",
    detail: bool = True,
) -> Summary:
    """Tell what a sweep found: the candidates ranked, the frontier, and with bounds the chosen one in detail.

    Chosen is the one of best utility within the bounds, or with ``least_risk`` the one of least risk. Without
    ``detail`` its table is not made again.
    """
    frontier = results.frontier(risk=risk, utility=utility)
    wish = {"risk": risk} if least_risk else {"utility": utility}
    choice = results.choose(**wish, at_most=at_most, at_least=at_least) if at_most or at_least else None
    risk, utility = results.key(risk), results.key(utility)
    score = results.key(results.scores[0]) if results.scores else None
    measures = _measure_lines(results)
    by_key = {line.key: line for line in measures}
    bounds = tuple(_bound(by_key[key], limit) for key, limit in (choice.bounds.items() if choice else ()))
    candidates = _ranked(results, by_key, frontier, choice, utility, score)
    chosen = choice.chosen if choice and detail else None
    return Summary(
        kind="sweep",
        title=f"Protecting {file}",
        file=file,
        records=len(results.original),
        question=_question(results, file, bounds, by_key, choice.objective if choice else utility),
        sentence=choice.sentence if choice else _without_bound(frontier, by_key[risk]),
        headline=_headline(candidates, frontier, by_key, risk, utility, bounds),
        variables=_variable_lines(results.original),
        measures=measures,
        candidates=candidates,
        run=_run(results, command, schema),
        risk=risk,
        utility=utility,
        score=score,
        bounds=bounds,
        detail=_detail(results, chosen, first=risk) if chosen else None,
        released=released or f"the protected {file}",
        over_records=_over_records(results, chosen, (risk, utility)) if chosen else {},
        cautions=_cautions(results, chosen, choice.bounds, released=True) if choice and chosen else (),
        notes=_notes(results, candidates),
    )


def _bound(measure: MeasureLine, limit: float) -> Bound:
    side = "at most" if measure.better == "lower" else "at least"
    return Bound(measure.key, measure.name, limit, f"{side} {written(limit, measure.unit)}")


def summarise_pair(
    results: Results, *, file: str, protected: str, command: str = "", schema: str = "", listed: int = LISTED
) -> Summary:
    """Tell how one protected file compares with its original."""
    measures = _measure_lines(results)
    by_key = {line.key: line for line in measures}
    row = results.rows[0]
    told = [key for key in by_key if math.isfinite(row.means.get(key, math.nan))]
    risks = [key for key in told if by_key[key].purpose == "risk"]
    losses = [key for key in told if by_key[key].purpose == "utility"]
    shown = [*risks[:2], *losses[:1]] if losses else risks[:3]
    return Summary(
        kind="compare",
        title=f"{protected} against {file}",
        file=file,
        records=len(results.original),
        question=f"How risky and how useful is {protected}, seen against {file} "
        f"({count(len(results.original), 'record')}, {count(len(results.original.names), 'variable')})?",
        sentence=_of_pair(row, [by_key[key] for key in shown], len(told), len(measures)),
        headline=tuple((written(row.means[key], by_key[key].unit), by_key[key].title) for key in shown),
        variables=_variable_lines(results.original),
        measures=measures,
        candidates=(_candidate(row, 1, by_key),),
        run=_run(results, command, schema),
        detail=_detail(results, row.candidate, first=risks[0] if risks else None, listed=listed),
        released=protected,
        cautions=(*_by_position(results), *_cautions(results, row.candidate, {})),
        notes=_notes(results, ()),
    )


def _cautions(
    results: Results, candidate: str, bounds: Mapping[str, float], *, released: bool = False
) -> tuple[str, ...]:
    row = results.row(candidate)
    if row.method is None and candidate not in results.tables:
        return ()
    protected = results.protect(candidate)  # a release leaves out what only names the units
    return cautions(results, row, protected.without_identifiers() if released else protected, bounds)


def _over_records(results: Results, candidate: str, keys: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Return bootstrap intervals of the chosen one's figures; of large tables none, where records hardly matter."""
    found: dict[str, tuple[float, float]] = {}
    if len(results.original) > MOST_RESAMPLED:
        return found
    for key in keys:
        try:
            low, high = results.bootstrap(candidate, key, repetitions=100, rng=results.seed).interval
        except (NotApplicable, ParameterError):
            continue
        if low <= results.row(candidate).means[key] <= high:  # a figure that resampling shifts has no such bar
            found[key] = (low, high)
    return found


def _by_position(results: Results) -> tuple[str, ...]:
    """Say that records are matched as they stand, where nothing else could match them."""
    paired = any(about.paired for about in results.figures.values())
    if not paired or results.original.schema.id is not None:
        return ()
    return (
        "Records are compared row by row, for the schema names no id: a file in another order looks ruined and safe.",
    )


def _of_pair(row: Row, shown: list[MeasureLine], told: int, all_of_them: int) -> str:
    """Say the few figures that matter, and how many there are."""
    figures = [
        f"{lower_first(line.title)} is {written(row.means[line.key], line.unit)} ({line.better} is better)"
        for line in shown
    ]
    some = "; ".join(figures) or "nothing could be measured"
    return f"{some[0].upper()}{some[1:]}. {told} of {count(all_of_them, 'measure')} could be computed."


def _measure_lines(results: Results) -> tuple[MeasureLine, ...]:
    """Describe the measures and scores; a measure that is there twice, with other parameters, goes by its repr."""
    names = [type(measure).__name__ for measure in results.measures]
    return tuple(
        MeasureLine(
            key=key,
            name=key if key in names or names.count(name) > 1 else _name(measure, name),
            title=about.title,
            purpose=about.purpose,
            better=about.better,
            unit=about.unit,
            meaning=_first_paragraph(measure),
            source=about.source,
            caveat=about.caveat,
            recipe=getattr(measure, "recipe", ""),
        )
        for measure, name, (key, about) in zip(results.measures, names, results.figures.items(), strict=True)
    )


def _name(measure: object, name: str) -> str:
    """Return a measure's name, with what it was told where that is short: another distance is another measure."""
    spelled = repr(measure) if isinstance(measure, Measure) else name
    return name if spelled == f"{name}()" or len(spelled) > 40 else spelled


def _first_paragraph(thing: object) -> str:
    return " ".join((inspect.getdoc(type(thing)) or "").split("\n\n")[0].split()).replace("``", "")


def _candidate(row: Row, rank: int, measures: Mapping[str, MeasureLine], **place: Any) -> CandidateLine:
    return CandidateLine(
        label=row.candidate,
        family=row.method.family if row.method is not None else ELSEWHERE,
        rank=rank,
        figures={
            key: figure(row.means[key], line.unit, row.errors.get(key), half_width(row, key))
            for key, line in measures.items()
            if key in row.means and not math.isnan(row.means[key])
        },
        reasons={key: str(reason) for key, reason in row.reasons.items()},
        notes=tuple(row.notes),
        seconds=row.seconds,
        **place,
    )


def _ranked(
    results: Results,
    measures: Mapping[str, MeasureLine],
    frontier: Frontier,
    choice: Choice | None,
    utility: str,
    score_key: str | None,
) -> tuple[CandidateLine, ...]:
    """Rank: with a bound those that keep it first, then by utility; without one by the score, or the frontier first."""
    by = score_key if choice is None and score_key is not None else (results.key(choice.utility) if choice else utility)
    sign = 1.0 if measures[by].better == "lower" else -1.0

    def place(row: Row) -> tuple[bool, bool, float]:
        value = row.means.get(by, math.nan)
        if choice is not None:
            behind = row.candidate not in choice.feasible
        else:
            behind = score_key is None and row.candidate not in frontier.on
        return math.isnan(value), behind and row.candidate != (choice.chosen if choice else None), sign * value

    lines = []
    for rank, row in enumerate(sorted(results.rows, key=place), start=1):
        name = row.candidate
        lines.append(
            _candidate(
                row,
                rank,
                measures,
                on_frontier=name in frontier.on,
                doubtful=name in frontier.doubtful,
                dominated_by=tuple(frontier.dominated_by.get(name, ())),
                left_out=str(frontier.left_out.get(name, "")),
                feasible=None if choice is None else name in choice.feasible,
                unsure=choice is not None and name in choice.unsure,
                tied=choice is not None and name in choice.ties and name != choice.chosen,
                chosen=choice is not None and name == choice.chosen,
                score_parts=dict(row.parts.get(score_key or "", {})),
            )
        )
    return tuple(lines)


def _variable_lines(data: Microdata) -> tuple[VariableLine, ...]:
    return tuple(
        VariableLine(
            name=found.name,
            label=data.schema[found.name].label,
            kind=found.kind,
            role=found.role,
            missing=found.missing,
            distinct=found.distinct,
            range=range_text(data, found.name),
        )
        for found in describe(data)
    )


def _question(
    results: Results, file: str, bounds: tuple[Bound, ...], measures: Mapping[str, MeasureLine], objective: str
) -> str:
    data = results.original
    sizes = f"{count(len(data), 'record')}, {count(len(data.names), 'variable')}"
    best = "least" if measures[objective].better == "lower" else "most"
    limits = " and ".join(f"{lower_first(measures[bound.key].title)} {bound.text}" for bound in bounds)
    goal = f"the {best} {lower_first(measures[objective].title)}"
    what = f"Which of {count(len(results.rows), 'candidate')} for {file} ({sizes}) has {goal}"
    return f"{what}, with {limits}?" if limits else f"{what} for each level of risk?"


def _without_bound(frontier: Frontier, risk: MeasureLine) -> str:
    return (
        f"No bound was given, so nothing was chosen: {count(len(frontier.on), 'candidate')} on the frontier, each the "
        f'best for its level of risk. Say how much risk is acceptable, for example --at-most "{risk.name}=5%".'
    )


def _headline(
    candidates: tuple[CandidateLine, ...],
    frontier: Frontier,
    measures: Mapping[str, MeasureLine],
    risk: str,
    utility: str,
    bounds: tuple[Bound, ...],
) -> tuple[tuple[str, str], ...]:
    chosen = next((line for line in candidates if line.chosen), None)
    told: list[tuple[str, str]] = []
    if chosen is not None:
        for key in dict.fromkeys((risk, utility)):
            if key in chosen.figures:
                limit = next((f", {bound.text} allowed" for bound in bounds if bound.key == key), "")
                told.append((chosen.figures[key].text, f"{measures[key].title}{limit}"))
    if bounds:
        keep = sum(line.feasible is True for line in candidates)
        told.append((f"{keep} of {len(candidates)}", f"candidates keep the bound{'s' if len(bounds) > 1 else ''}"))
    else:
        told.append((f"{len(frontier.on)} of {len(candidates)}", "candidates are on the frontier"))
    if chosen is None:
        for key in dict.fromkeys((risk, utility)):
            values = [line.figures[key].value for line in candidates if key in line.figures]
            if values:
                low, high = (written(edge, measures[key].unit) for edge in (min(values), max(values)))
                told.append((f"{low} – {high}", f"{measures[key].title}, from lowest to highest"))
    return tuple(told)


def _detail(results: Results, candidate: str, first: str | None, listed: int = LISTED) -> Detail:
    """Look closely at one candidate; the measure on the risk axis comes first, so that it orders the records."""
    row, abouts = results.row(candidate), results.figures
    keys = sorted((key for key in abouts if key in row.means), key=lambda key: key != first)
    told: dict[str, Breakdown] = {}
    for key in keys:
        about = abouts[key]
        told[key] = Breakdown(
            unit=about.unit,
            counts=about.counts,
            by_variable=row.by_variable.get(key, {}),
            parts=row.parts.get(key, {}),
            # only risks are of interest record by record, and they are not kept by a sweep
            by_record=results.measurement(candidate, key).by_record if about.purpose == "risk" else None,
            records=about.records,
        )
    original, protected = results.original, results.protect(candidate)
    found = detail_of(candidate, original, protected, told, listed, row.notes)
    useful = _usefulness(results, protected)
    asked = [measure for measure in results.measures if isinstance(measure, IntervalOverlap)]
    return replace(
        found,
        usefulness=useful,
        release=release_of(row.method, original, protected, useful),
        coefficients=coefficients_of(asked[0] if asked else None, original, protected),
    )


def _usefulness(results: Results, protected: Microdata) -> Usefulness | None:
    """Look at every variable and pair, as the global data utility asked for does, or one by its defaults."""
    asked = [measure for measure in results.measures if isinstance(measure, GlobalDataUtility)]
    try:
        return usefulness_of((asked or [GlobalDataUtility()])[0].evaluate(results.original, protected))
    except NotApplicable:
        return None


def _run(results: Results, command: str, schema: str) -> Run:
    return Run(
        command=command,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        seed=results.seed,
        replicates=results.replicates,
        seconds=results.seconds,
        versions=dict(results.versions),
        fingerprint=results.original.fingerprint,
        schema=schema,
    )


def _notes(results: Results, candidates: tuple[CandidateLine, ...]) -> tuple[str, ...]:
    notes = list(results.original.notes)
    lost = [line.label for line in candidates if line.left_out]
    if lost:
        notes.append(f"not on the map, because a figure is missing: {', '.join(lost)}")
    missing = sum(line.missing > 0 for line in _variable_lines(results.original))
    if missing:
        whole = percentage(missing / len(results.original.names))
        notes.append(
            f"{count(missing, 'variable')} ({whole} of all) {'has' if missing == 1 else 'have'} missing values"
        )
    return tuple(notes)
