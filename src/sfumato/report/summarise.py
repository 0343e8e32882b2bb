"""From results to the plain summary: who stands where, what was chosen and why, and the chosen one looked at closely.

Nothing is masked or measured here.
"""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sfumato.arguments import TEXT, YES_OR_NO, require, require_bounds
from sfumato.auditing.findings import Checked
from sfumato.compare.examine.findings import LOOKED_FOR, BrokenSum, Examination, OverRecords, VariableDetail
from sfumato.compare.figures import figure, written
from sfumato.compare.frontier import Frontier
from sfumato.compare.naming import in_words
from sfumato.compare.results import Results, Row, Which
from sfumato.errors import ParameterError
from sfumato.report.cautions import by_position, cautions
from sfumato.report.grades import arranged, pairs_there
from sfumato.report.lines import Lines, lines_of, ranked
from sfumato.report.release import going_out, release_of
from sfumato.report.summary import Bound, CandidateLine, Detail, MeasureLine, PairFigures, Run, Summary
from sfumato.report.verdict import Case, SweepFacts, verdict_of
from sfumato.report.wording import count, lower_first, percentage

OF_USEFULNESS = "GlobalDataUtility"


def summarise(
    results: Results,
    examination: Examination | None = None,
    *,
    risk: Which,
    utility: Which,
    at_most: Mapping[Any, float] | None = None,
    at_least: Mapping[Any, float] | None = None,
    least_risk: bool = False,
    by_hand: str | None = None,
    file: str = "the table",
    facts: SweepFacts | None = None,
    **earlier: Any,
) -> Summary:
    """Tell what a sweep found: the candidates ranked, the frontier, and with bounds the chosen one.

    Chosen is the one of best utility within the bounds, or with ``least_risk`` the one of least risk; the steward may
    choose another that keeps the bounds ``by_hand``. The chosen one is told of in detail if it was examined:
    ``examination`` is what ``sfumato.compare.examine`` found in it. ``facts`` is what is known of the sweep besides its
    figures. What stands in ``facts`` since 0.3 is still taken as a parameter, with a warning.
    """
    if earlier:
        names = ", ".join(earlier)
        told = f"summarise: {names} is deprecated since 0.3 as a parameter; use facts=SweepFacts({names}=...)"
        warnings.warn(told, DeprecationWarning, stacklevel=2)
    who = "summarise"
    require(who, SweepFacts | None, "a SweepFacts", facts=facts)
    facts = replace(facts or SweepFacts(), **earlier)
    checked = facts.checked
    require(who, Results, "the results of an experiment", results=results)
    require(who, Examination | None, "an Examination", examination=examination)
    require_bounds(who, at_most=at_most, at_least=at_least)
    require(who, Mapping | None, "sentences by candidate", whys=facts.whys)
    require(who, Checked | None, "what prepare returned", checked=checked)
    require(who, bool, YES_OR_NO, least_risk=least_risk, despite_audit=facts.despite_audit)
    require(who, str, TEXT, file=file, released=facts.released, command=facts.command, schema=facts.schema)
    wish = {"risk": risk} if least_risk else {"utility": utility}
    choice = (
        results.choose(**wish, at_most=at_most, at_least=at_least, passed_over=facts.passed_over, by_hand=by_hand)
        if at_most or at_least
        else None
    )
    chosen = choice.chosen if choice is not None else None
    if examination is not None and examination.candidate != chosen:
        raise ParameterError(f"{examination.candidate} was examined, but {chosen or 'nothing'} is chosen")
    risk, utility = results.key(risk), results.key(utility)
    score = results.key(results.scores[0]) if results.scores else None
    lines = lines_of(results)
    frontier = lines.frontier(results, risk, utility)
    bounds = tuple(_bound(lines.measures[key], limit) for key, limit in (choice.bounds.items() if choice else ()))
    candidates = tuple(
        replace(line, why=(facts.whys or {}).get(line.label, ""))
        for line in ranked(results, lines, frontier, choice, by=utility, score=score)
    )
    row = None if chosen is None else results.row(chosen)
    left = going_out(examination, checked) if examination is not None else None
    warned = left.cautions if left else None
    resampled = examination.bootstrap if examination else None
    return Summary(
        kind="sweep",
        title=f"Protecting {file}",
        verdict=verdict_of(
            Case(
                results=results,
                row=row,
                examination=left,
                choice=choice,
                name=lines.whole_names[chosen] if chosen is not None else "No bound was given, so nothing was chosen",
                done=in_words(row.method) if row is not None and row.method is not None else "",
                measures=lines.measures,
                bounds=bounds,
                names={label: line.name for label, line in lines.candidates.items()},
                facts=facts,
                file=file,
                distinct={line.name: line.distinct for line in lines.variables},
            )
        ),
        file=file,
        records=len(results.table),
        question=_question(results, file, bounds, lines.measures, choice.objective if choice else utility),
        sentence=choice.sentence if choice else _without_bound(frontier, lines.measures[risk]),
        headline=_headline(candidates, lines, frontier, (risk, utility), bounds, checked, row),
        variables=lines.variables,
        measures=tuple(lines.measures.values()),
        candidates=candidates,
        run=_run(results, facts.command, facts.schema),
        risk=risk,
        utility=utility,
        score=score,
        bounds=bounds,
        detail=detail_of(results, examination, first=risk, checked=checked) if examination else None,
        released=facts.released or f"the protected {file}",
        over_records=intervals(resampled) if resampled else {},
        resampling=resampling(resampled, lines.measures) if resampled else (),
        cautions=(
            *by_position(results, row),
            *cautions(results, row, warned, choice.bounds, released=checked or Checked()),
            *_failed(examination),
        )
        if choice is not None and row is not None
        else (),
        notes=_notes(results, lines, candidates),
        original=lines.original,
        checked=checked,
        sampled=results.sampled,
    )


def summarise_pair(
    results: Results,
    examination: Examination | None = None,
    *,
    file: str,
    protected: str,
    deciding: Sequence[str] = (),
    checked: Checked | None = None,
    bounds: Mapping[str, float] | None = None,
    bounds_of: str = "",
    command: str = "",
    schema: str = "",
) -> Summary:
    """Tell how one protected file compares with its original, and whether it keeps ``bounds``.

    ``deciding`` are the keys of the measures that decide for such a file: they make the headline, those of risk first.
    For a purpose of which none was computed, the first that was stands there. ``checked`` holds the audit of the file,
    ``bounds_of`` says whose the bounds are.
    """
    lines, row = lines_of(results), results.rows[0]
    told = [key for key in lines.measures if math.isfinite(row.means.get(key, math.nan))]
    risks, losses = ([key for key in told if lines.measures[key].purpose == p] for p in ("risk", "utility"))
    heads = [*risks[:2], *losses[:1]] if losses else risks[:3]
    if deciding:
        heads = [k for p in (risks, losses) for k in [key for key in p if key in deciding] or p[:1]]
    shown = [lines.measures[key] for key in heads]
    facts = examination.cautions if examination else None
    asked = tuple(_bound(lines.measures[key], limit) for key, limit in (bounds or {}).items())
    sentence = _of_pair(row, shown, len(told), len(lines.measures))
    if asked:
        sentence = f"{_of_bounds(row, asked, lines.measures, bounds_of)} {sentence}"
    return Summary(
        kind="compare",
        title=f"{protected} against {file}",
        verdict=verdict_of(
            Case(
                results=results, row=row, examination=examination, name=sentence, measures=lines.measures, bounds=asked
            )
        ),
        file=file,
        records=len(results.table),
        question=f"How risky and how useful is {protected}, seen against {file} ({_size(results)})?",
        sentence=sentence,
        headline=tuple((written(row.means[line.key], line.unit), line.title) for line in shown),
        variables=lines.variables,
        measures=tuple(lines.measures.values()),
        candidates=(replace(lines.candidates[row.candidate], rank=1),),
        run=_run(results, command, schema),
        bounds=asked,
        detail=detail_of(results, examination, first=shown[0].key if risks else None) if examination else None,
        released=protected,
        cautions=(*by_position(results, row), *cautions(results, row, facts, {}), *_failed(examination)),
        notes=_notes(results, lines, ()),
        original=lines.original,
        checked=checked,
        sampled=results.sampled,
    )


def _failed(examination: Examination | None) -> Iterator[str]:
    for piece, why in (examination.failed if examination is not None else {}).items():
        yield f"The report lacks {LOOKED_FOR[piece]}: it could not be worked out ({why})."


def _size(results: Results) -> str:
    return f"{count(len(results.table), 'record')}, {count(len(results.original.names), 'variable')}"


def _bound(measure: MeasureLine, limit: float) -> Bound:
    return Bound(measure.key, measure.name, limit, f"{measure.side} {written(limit, measure.unit)}")


def _of_bounds(row: Row, bounds: Sequence[Bound], measures: Mapping[str, MeasureLine], whose: str) -> str:
    broken = [b for b in bounds if not measures[b.key].keeps(row.means.get(b.key, math.nan), b.limit)]
    told = [
        f"{lower_first(measures[b.key].title)} {written(row.means[b.key], measures[b.key].unit)}, {b.text}"
        if b.key in row.means
        else f"{lower_first(measures[b.key].title)} could not be computed, and {b.text} is asked for"
        for b in broken or bounds
    ]
    number = count(len(bounds), "bound")
    said = f"Breaks {len(broken)} of {number}" if broken else f"Keeps all {number}"
    if len(bounds) == 1:
        said = "Breaks the bound" if broken else "Keeps the bound"
    return f"{said}{whose}: {'; '.join(told)}."


def _of_pair(row: Row, shown: list[MeasureLine], told: int, all_of_them: int) -> str:
    """Say the few figures that matter, and how many there are."""
    figures = [
        f"{lower_first(line.title)} is {written(row.means[line.key], line.unit)} ({line.better} is better)"
        for line in shown
    ]
    some = "; ".join(figures) or "nothing could be measured"
    return f"{some[0].upper()}{some[1:]}. {told} of {count(all_of_them, 'measure')} could be computed."


def _question(
    results: Results, file: str, bounds: tuple[Bound, ...], measures: Mapping[str, MeasureLine], objective: str
) -> str:
    best = "least" if measures[objective].lower_is_better else "most"
    limits = " and ".join(f"{lower_first(measures[bound.key].title)} {bound.text}" for bound in bounds)
    goal = f"the {best} {lower_first(measures[objective].title)}"
    what = f"Which of {count(len(results.rows), 'candidate')} for {file} ({_size(results)}) has {goal}"
    return f"{what}, with {limits}?" if limits else f"{what} for each level of risk?"


def _without_bound(frontier: Frontier, risk: MeasureLine) -> str:
    return (
        f"No bound was given, so nothing was chosen: {count(len(frontier.on), 'candidate')} on the frontier, each the "
        f'best for its level of risk. Say how much risk is acceptable, for example --at-most "{risk.name}=5%".'
    )


def _headline(
    candidates: tuple[CandidateLine, ...],
    lines: Lines,
    frontier: Frontier,
    axes: tuple[str, str],
    bounds: tuple[Bound, ...],
    checked: Checked | None,
    row: Row | None,
) -> tuple[tuple[str, str], ...]:
    """Tell the figures of both axes, before and after, and how many candidates keep the bounds."""
    measures, before = lines.measures, lines.original
    chosen = next((line for line in candidates if line.chosen), None)
    told: list[tuple[str, str]] = []
    if chosen is not None:
        for key in dict.fromkeys(axes):
            if key in chosen.figures:
                limit = next((f", {bound.text} allowed" for bound in bounds if bound.key == key), "")
                text, known = chosen.figures[key].text, checked.after if checked is not None else {}
                if key in known:
                    limit = f" of the file that goes out, {text} before repairs{limit}"
                    text = written(known[key], measures[key].unit)
                elif row is not None and len(drawn := row.values.get(key, ())) > 1:
                    limit = f", of the file that goes out {written(drawn[0], measures[key].unit)}{limit}"
                was = f"; the original has {before.figures[key].text}" if before and key in before.figures else ""
                told.append((text, f"{measures[key].title}{limit}{was}"))
    if bounds:
        keep = sum(line.feasible is True for line in candidates)
        told.append((f"{keep} of {len(candidates)}", f"candidates keep the bound{'s' if len(bounds) > 1 else ''}"))
    else:
        told.append((f"{len(frontier.on)} of {len(candidates)}", "candidates are on the frontier"))
    if chosen is None:
        for key in dict.fromkeys(axes):
            values = [line.figures[key].value for line in candidates if key in line.figures]
            if values:
                low, high = (written(edge, measures[key].unit) for edge in (min(values), max(values)))
                told.append((f"{low} – {high}", f"{measures[key].title}, from lowest to highest"))
    return tuple(told)


def _run(results: Results, command: str, schema: str) -> Run:
    return Run(
        command=command,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        seed=results.seed,
        replicates=results.replicates,
        seconds=results.seconds,
        versions=dict(results.versions),
        fingerprint=results.table.fingerprint,
        schema=schema,
    )


def _notes(results: Results, lines: Lines, candidates: tuple[CandidateLine, ...]) -> tuple[str, ...]:
    notes = list(results.original.notes)
    lost = [line.label for line in candidates if line.left_out is not None]
    if lost:
        notes.append(f"not on the map, because a figure is missing: {', '.join(lost)}")
    missing = sum(line.missing > 0 for line in lines.variables)
    if missing:
        whole = percentage(missing / len(results.original.names))
        notes.append(
            f"{count(missing, 'variable')} ({whole} of all) {'has' if missing == 1 else 'have'} missing values"
            f"{' in the sample' if results.sampled else ''}"
        )
    return tuple(notes)


def detail_of(results: Results, found: Examination, *, first: str | None, checked: Checked | None = None) -> Detail:
    """Tell of one candidate what was examined; the measure on the risk axis comes first."""
    row, abouts = results.row(found.candidate), results.figures
    keys = sorted((key for key in abouts if key in row.means), key=lambda key: key != first)
    by_variable = tuple(key for key in keys if row.by_variable.get(key))
    out = going_out(found, checked)
    useful = None
    if out.usefulness is not None:  # of the pairs that the verdict and the public page count
        useful = arranged(replace(out.usefulness, pairs=pairs_there(out.usefulness.pairs, out.release)))
    return Detail(
        candidate=found.candidate,
        notes=row.notes,
        variables=tuple(
            _dressed(variable, row, results, by_variable)
            for variable in (found.detail.variables if found.detail else ())
        ),
        by_variable=by_variable,
        correlations=found.detail.correlations if found.detail else (),
        records=found.records.records if found.records else (),
        parts={
            key: {part: figure(value, abouts[key].unit_of(part)) for part, value in row.parts[key].items()}
            for key in keys
            if row.parts.get(key)
        },
        levels=found.detail.levels if found.detail else (),
        coefficients=found.regressions.coefficients if found.regressions else (),
        usefulness=useful,
        by_pair=_by_pair(row, results, keys),
        release=release_of(row.method, found.release, useful, checked, _sums(out))
        if found.release is not None
        else None,
    )


def _sums(found: Examination) -> tuple[BrokenSum, ...]:
    return () if found.cautions is None else found.cautions.broken_sums


def _by_pair(row: Row, results: Results, keys: list[str]) -> tuple[PairFigures, ...]:
    """Tell what measures say of pairs of variables, but for that of ``usefulness``, which has a section of its own."""
    told = {repr(measure) for measure in results.measures if type(measure).__name__ == OF_USEFULNESS}
    return tuple(
        PairFigures(key, tuple((first, second, value) for (first, second), value in row.by_pair[key].items()))
        for key in keys
        if key not in told and row.by_pair.get(key)
    )


def _dressed(variable: VariableDetail, row: Row, results: Results, keys: tuple[str, ...]) -> VariableDetail:
    told = {key: row.by_variable[key][variable.name] for key in keys if variable.name in row.by_variable[key]}
    return replace(variable, figures={key: figure(value, results.figures[key].unit) for key, value in told.items()})


def intervals(found: OverRecords) -> dict[str, tuple[float, float]]:
    """Return the intervals over records; a figure that resampling shifts has none."""
    return {key: one.interval for key, one in found.figures.items() if not one.shifted}


def resampling(found: OverRecords, measures: Mapping[str, MeasureLine]) -> tuple[str, ...]:
    """Say on how many repetitions the intervals over records rest, and why there is none."""
    said = []
    for key, one in found.figures.items():
        name, made = measures[key].name, f"{one.repetitions} of {one.wanted} repetitions"
        if one.shifted:
            said.append(
                f"{name} has no broad bar: resampled tables differ more than the tables themselves ({made} were made)."
            )
        elif one.repetitions < one.wanted:
            time = f"after {found.seconds:g} s, " if found.seconds is not None else ""
            said.append(f"{name}: {time}{made}.")
    return (*said, *(f"{measures[key].name} has no broad bar: {why}." for key, why in found.left_out.items()))
