"""The summary in a terminal: the verdict, a compact table, a small map, and the records at risk."""

import re
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from sfumato.show.scale import Scale, axis_scale
from sfumato.show.summary import CandidateLine, MeasureLine, Summary

ROWS = 12  # candidates listed; the report has them all
WIDTH, HEIGHT = 64, 16
LONG = 30  # characters of a measure's name before its parameters are left out


def verdict_text(summary: Summary) -> Text:
    """Write the verdict: publish or not, what was done, who would be found before and after, and the price."""
    verdict = summary.verdict
    style = {True: "bold green", False: "bold red", None: "bold"}[verdict.publish]
    text = Text(f"{verdict.words}\n", style=style)
    if verdict.done:
        text.append(f"{verdict.done}\n", style="not bold default")
    if verdict.found:
        text.append(f"{verdict.found}\n", style="bold default")
    if verdict.basis:
        text.append(f"{verdict.basis}\n", style="not bold default")
    for said in (*verdict.advice, *verdict.warnings):
        text.append(f"! {said}\n", style="not bold yellow")
    if verdict.price:
        text.append("The price: ", style="bold default")
        text.append(f"{'; '.join(verdict.price)}.\n", style="not bold default")
    if verdict.collected:
        text.append("As collected: ", style="bold default")
        text.append(f"{'. '.join(verdict.collected)}.\n", style="not bold default")
    return text


def changes_table(summary: Summary, most: int = ROWS) -> Table | None:
    """Return what is bounded, risk and utility, of the original and of the protected table, side by side."""
    changes = summary.verdict.changes
    if not changes:
        return None
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("figure", overflow="fold")
    table.add_column("original", justify="right", no_wrap=True)
    table.add_column("protected" if any(c.after != "–" for c in changes) else "", justify="right", no_wrap=True)
    table.add_column("bound", no_wrap=True)
    for change in changes[:most]:
        kept = {True: " kept", False: " broken", None: ""}[change.kept]
        what = f"  {change.what}" if change.part else change.what
        cells = (what, change.before, change.after, f"{change.bound}{kept}")
        table.add_row(*(Text(cell) for cell in cells), style="dim" if change.part else None)
    return table


def candidates_table(summary: Summary, width: int = 80, most: int = ROWS) -> Table:
    """Return the candidates, best first, each with its sign on the map; dominated ones are dim.

    After the sign, ``!`` marks one that breaks the bound and ``~`` one that chance may put on either side of it, or
    that cannot be told apart from the chosen one.
    """
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 2, 0, 0))
    shown = summary.candidates[:most]
    names_used = [m.name.partition("(")[0] for m in summary.measures]
    headings = {m.key: _heading(m, alone=names_used.count(m.name.partition("(")[0]) == 1) for m in summary.measures}
    widths = {m.key: _width(m, headings[m.key], shown) for m in _important_first(summary)}
    deciding = {summary.utility, summary.risk, *(bound.key for bound in summary.bounds)}
    names = max((len(line.name) for line in shown), default=9)
    kept: list[str] = []
    room = width - 4
    for key, wanted in widths.items():  # what decides, and as many as leave the names some room
        if room - wanted - 2 < min(names, 24) and key not in deciding:
            break
        kept.append(key)
        room -= wanted + 2
    room = min(max(room, 16), names)
    table.add_column("", no_wrap=True, min_width=2)
    table.add_column("candidate", overflow="fold", min_width=room, max_width=room)
    for key in kept:
        table.add_column(Text(headings[key]), justify="right", no_wrap=True, min_width=widths[key])
    for line in shown:
        figures = [line.figures[key].text if key in line.figures else "–" for key in kept]
        cells = (_sign(line) + _doubt(line), line.name, *figures)
        table.add_row(*(Text(cell) for cell in cells), style=_style(line))
    return table


def _important_first(summary: Summary) -> list[MeasureLine]:
    """Order the measures: what is optimised, the risk, what is bounded, the score, the rest."""
    keys = [summary.utility, summary.risk, *(bound.key for bound in summary.bounds), summary.score]
    return sorted(summary.measures, key=lambda m: keys.index(m.key) if m.key in keys else len(keys))


def _heading(measure: MeasureLine, *, alone: bool) -> str:
    """Break a long name into lines at its words, for a narrow column; its class will do if it is the only one of it."""
    name = measure.name.partition("(")[0] if alone else measure.name
    parted = re.sub(r"(?<=[a-z]{3})(?=[A-Z][a-z])|(?<=\()|(?<=,) ", "\n", name)
    parted = re.sub(r"([A-Za-z]{9})(?=[a-z]{4})", r"\1-\n", parted)  # a single long word
    return f"{parted} {'↓' if measure.better == 'lower' else '↑'}"


def _width(measure: MeasureLine, heading: str, shown: Sequence[CandidateLine]) -> int:
    texts = [line.figures[measure.key].text for line in shown if measure.key in line.figures]
    return max(len(text) for text in [*texts, *heading.split("\n")])


def signs(summary: Summary) -> str:
    """Explain the signs of the table and the map."""
    told = ["@ chosen"] if summary.chosen else []
    told += ["o on the frontier", "· dominated"]
    told += ["! breaks the bound"] if any(line.feasible is False for line in summary.candidates) else []
    told += ["~ within error"] if any(line.unsure or line.tied for line in summary.candidates) else []
    return "   ".join(told)


def _doubt(line: CandidateLine) -> str:
    if line.unsure or line.tied:
        return "~"
    return "!" if line.feasible is False else ""


def pair_table(summary: Summary) -> Table:
    """Return the measures of one protected file, risk first, each with its value, direction and meaning."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    before = summary.original.figures if summary.original else {}
    table.add_column("measure", no_wrap=True)
    if before:
        table.add_column("original", justify="right", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("better", no_wrap=True)
    table.add_column("meaning")
    figures = summary.candidates[0].figures
    for purpose in ("risk", "utility"):
        told = [m for m in summary.measures if m.purpose == purpose and m.key in figures]
        if told:
            table.add_row(Text(purpose, style="bold"))
        for measure in told:
            was = (before[measure.key].text if measure.key in before else "",) if before else ()
            name = measure.name if len(measure.name) <= LONG else measure.name.partition("(")[0]
            cells = (name, *was, figures[measure.key].text, measure.better, measure.meaning or measure.title)
            table.add_row(*(Text(cell) for cell in cells))
    return table


def uncomputed(summary: Summary) -> list[str]:
    """Say which measures have no figure and why, those of one reason together."""
    return [f"not computed: {', '.join(names)}: {reason}" for reason, names in summary.uncomputed]


def worst_pairs_table(summary: Summary, most: int = 10) -> Table | None:
    """Return the associations that suffered most."""
    useful = summary.detail.usefulness if summary.detail else None
    if useful is None or not useful.worst:
        return None
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("pair")
    for heading in ("original", "protected", "utility"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("what happened")
    for pair in useful.worst[:most]:
        figures = ["–" if value is None else f"{value:.3f}" for value in (pair.before, pair.after)]
        cells = (" – ".join(pair.titles), *figures, f"{pair.utility:.2f}", pair.reason)
        table.add_row(*(Text(cell) for cell in cells))
    return table


def records_table(summary: Summary, most: int) -> Table | None:
    """Return the records most at risk, by their number in the original file."""
    if summary.detail is None or not summary.detail.records:
        return None
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("record", justify="right")
    for key in summary.detail.records[0].risks:
        table.add_column(Text(summary.measure(key).name), justify="right")
    for entry in summary.detail.records[:most]:
        table.add_row(f"{entry.record:,}", *(Text(risk.text) for risk in entry.risks.values()))
    return table


def text_map(summary: Summary) -> Text | None:
    """Draw the map in characters: ``·`` dominated, ``o`` on the frontier, ``@`` chosen, ``|`` the bound."""
    if summary.risk is None or summary.utility is None:
        return None
    risk, utility = summary.measure(summary.risk), summary.measure(summary.utility)
    shown = summary.on_map
    if len(shown) < 2:
        return None
    limit = next((bound.limit for bound in summary.bounds if bound.key == risk.key), None)
    across, upward = axis_scale(summary, risk), axis_scale(summary, utility)
    field = [[" "] * WIDTH for _ in range(HEIGHT)]
    if limit is not None:
        for row in field:
            row[_cell(across.place(limit), WIDTH)] = "|"
    for line in sorted(shown, key=lambda line: (line.chosen, line.on_frontier)):
        row = field[HEIGHT - 1 - _cell(upward.place(line.figures[utility.key].value), HEIGHT)]
        row[_cell(across.place(line.figures[risk.key].value), WIDTH)] = _sign(line)
    text = Text(f"{_axis(utility, upward)}\n", style="dim")
    for row in field:
        text.append("  │", style="dim")
        for sign in row:
            text.append(sign, style={"@": "bold green", "o": "bold", "|": "red"}.get(sign, "dim"))
        text.append("\n")
    text.append(f"  └{'─' * WIDTH}\n", style="dim")
    text.append(f"{_axis(risk, across)}".rjust(WIDTH + 3), style="dim")
    return text


def _cell(place: float, cells: int) -> int:
    return min(max(int(place * cells), 0), cells - 1)


def _sign(line: CandidateLine) -> str:
    return "@" if line.chosen else "o" if line.on_frontier else "·"


def _axis(measure: MeasureLine, scale: Scale) -> str:
    stretched = ", logarithmic" if scale.constant is not None else ""
    return f"{measure.title} ({measure.better} is better{stretched})"


def _style(line: CandidateLine) -> str | None:
    if line.chosen:
        return "bold green"
    return None if line.on_frontier else "dim"
