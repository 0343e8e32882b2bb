"""The lines of a summary that no bound changes, one per measure, variable and candidate; and candidates in order."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from sfumato.compare.choose import Choice
from sfumato.compare.examine.findings import OriginalVariable
from sfumato.compare.examine.variables import original_variables
from sfumato.compare.figures import figure
from sfumato.compare.frontier import Frontier
from sfumato.compare.naming import short_names
from sfumato.compare.results import Results, Row
from sfumato.compare.rows import half_width
from sfumato.core import Measure
from sfumato.report.summary import ELSEWHERE, CandidateLine, MeasureLine, VariableLine
from sfumato.report.wording import quantity

_KNOWN: "WeakKeyDictionary[Results, Lines]" = WeakKeyDictionary()


@dataclass(frozen=True)
class Lines:
    """What is told of results whatever the bounds: measures by key, variables, and candidates not yet ranked."""

    measures: Mapping[str, MeasureLine]
    variables: tuple[VariableLine, ...]
    candidates: Mapping[str, CandidateLine]
    whole_names: Mapping[str, str]  # of candidates by their labels, for headings: a table has room for less
    original: CandidateLine | None = None  # measured like a candidate
    frontiers: dict[tuple[str, str], Frontier] = field(default_factory=dict)  # by the two axes, as they are asked for

    def frontier(self, results: Results, risk: str, utility: str) -> Frontier:
        """Return the frontier of two measures, which no bound changes either."""
        if (risk, utility) not in self.frontiers:
            self.frontiers[risk, utility] = results.frontier(risk=risk, utility=utility)
        return self.frontiers[risk, utility]


def lines_of(results: Results) -> Lines:
    """Write the lines of results; of the same results only once."""
    if results not in _KNOWN:
        measures = {line.key: line for line in _measures(results)}
        methods = {row.candidate: row.method for row in results.rows}
        names = short_names(methods)
        before = results.unprotected
        _KNOWN[results] = Lines(
            measures=measures,
            variables=tuple(map(_variable, original_variables(results.original))),
            candidates={
                row.candidate: replace(_candidate(row, measures), short=names[row.candidate]) for row in results.rows
            },
            whole_names=short_names(methods, whole=True),
            original=None if before is None else _candidate(before, measures),
        )
    return _KNOWN[results]


def _measures(results: Results) -> list[MeasureLine]:
    """Describe the measures and scores; a measure that is there twice, with other parameters, goes by its repr."""
    names = [type(measure).__name__ for measure in results.measures]
    return [
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
    ]


def _name(measure: object, name: str) -> str:
    """Return a measure's name, with what it was told if that is short: another distance is another measure."""
    spelled = repr(measure) if isinstance(measure, Measure) else name
    return name if spelled == f"{name}()" or len(spelled) > 40 else spelled


def _first_paragraph(thing: object) -> str:
    return " ".join((inspect.getdoc(type(thing)) or "").split("\n\n")[0].split()).replace("``", "")


def _variable(found: OriginalVariable) -> VariableLine:
    return VariableLine(
        name=found.name,
        label=found.label,
        kind=found.kind,
        role=found.role,
        missing=found.missing,
        distinct=found.distinct,
        range=range_text(found),
    )


def range_text(variable: OriginalVariable) -> str:
    """Write what a variable's values run from and to, or its first categories."""
    if variable.kind in ("numeric", "date"):
        return (
            " to ".join(quantity(end, variable.kind) for end in variable.ends)
            if variable.ends is not None
            else "all missing"
        )
    return ", ".join(variable.categories) + (f", … {variable.more} more" if variable.more > 0 else "")


def _candidate(row: Row, measures: Mapping[str, MeasureLine]) -> CandidateLine:
    """Write the figures of one candidate; its place among the others follows from the bounds."""
    return CandidateLine(
        label=row.candidate,
        family=row.method.family if row.method is not None else ELSEWHERE,
        rank=0,
        figures={
            key: figure(row.means[key], line.unit, row.errors.get(key), half_width(row, key))
            for key, line in measures.items()
            if key in row.means and not math.isnan(row.means[key])
        },
        reasons=dict(row.reasons),
        notes=tuple(row.notes),
        seconds=row.seconds,
    )


def ranked(
    results: Results, lines: Lines, frontier: Frontier, choice: Choice | None, *, by: str, score: str | None
) -> tuple[CandidateLine, ...]:
    """Rank the candidates, and say of each where it stands.

    With a bound those that keep it come first, then by what is made best. Without one they are ranked by the score; if
    there is none, those on the frontier come first, then ``by`` this measure.
    """
    if choice is not None:
        by, front = choice.objective, {*choice.feasible, choice.chosen}
    elif score is not None:
        by, front = score, {row.candidate for row in results.rows}
    else:
        front = set(frontier.on)
    sign = lines.measures[by].sign

    def place(row: Row) -> tuple[bool, bool, float]:
        value = row.means.get(by, math.nan)
        return math.isnan(value), row.candidate not in front, sign * value

    on, doubtful = set(frontier.on), set(frontier.doubtful)
    placed = []
    for rank, row in enumerate(sorted(results.rows, key=place), start=1):
        name = row.candidate
        line = replace(
            lines.candidates[name],
            rank=rank,
            on_frontier=name in on,
            doubtful=name in doubtful,
            dominated_by=frontier.dominated_by.get(name, ()),
            left_out=frontier.left_out.get(name),
            score_parts=dict(row.parts.get(score, {})) if score is not None else {},
        )
        placed.append(line if choice is None else _judged(line, choice))
    return tuple(placed)


def _judged(line: CandidateLine, choice: Choice) -> CandidateLine:
    """Say whether a candidate keeps the bounds, how sure that is, and whether it is the chosen one."""
    name = line.label
    return replace(
        line,
        feasible=name in choice.feasible,
        unsure=name in choice.unsure,
        tied=name in choice.ties and name != choice.chosen,
        chosen=name == choice.chosen,
    )
