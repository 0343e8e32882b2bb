"""Candidates in order: with a bound those that keep it first."""

import math
from dataclasses import replace

from sfumato.compare.choose import Choice
from sfumato.compare.frontier import Frontier
from sfumato.compare.results import Results, Row
from sfumato.show.lines import Lines
from sfumato.show.summary import CandidateLine


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
    sign = 1.0 if lines.measures[by].better == "lower" else -1.0

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
