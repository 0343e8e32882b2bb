"""What the terminal shows of a summary, of candidates side by side and of an audit.

Of a summary these are the verdict, what decides, a few candidates, and the records at risk; of an audit its verdict,
its routes, examples, and what to do.
"""

import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from sfumato.auditing.findings import Audit, figures
from sfumato.report.side_by_side import SideBySide
from sfumato.report.summary import CandidateLine, MeasureLine, Summary
from sfumato.report.verdict import GOES_OUT
from sfumato.report.wording import count

ROWS = 8  # candidates listed; the report has them all
MAX_NAME_LENGTH = 30  # characters of a measure's name before its parameters are left out
LINES = 34  # of a sweep's results at most; with the messages before them that makes 40
ADVICE, WARNINGS = 12, 8  # lines of what to change and of what to know, beyond which the report is named
LARGEST = "largest chance of a "  # how the part of a measure begins that speaks of the single worst case
TAIL = 8  # characters at the end of a long name that tell candidates apart

_READINGS = {"restores": "restores", "association": "associated", "luck": "luck?", "nothing": ""}


def verdict_text(summary: Summary, width: int = 0) -> Text:
    """Write the verdict: publish or not, what was done, who would be found before and after, and the price.

    With a ``width``, long sentences end in an ellipsis after a few lines of it, and the report has the rest.
    """
    verdict = summary.verdict
    style = {True: "bold green", False: "bold red", None: "bold"}[verdict.publish]
    text = Text(f"{_cut(verdict.words, width, 4)}\n", style=style)
    if verdict.done:
        text.append(f"{_cut(verdict.done, width, 3)}\n", style="not bold default")
    if verdict.found:
        text.append(f"{_cut(verdict.found, width, 3)}\n", style="bold default")
    if verdict.basis:
        text.append(f"{_cut(verdict.basis, width, 3)}\n", style="not bold default")
    said = (*some_of(verdict.advice, width, ADVICE), *some_of(verdict.warnings, width, WARNINGS))
    for sentence in said:
        text.append(f"{sentence}\n", style="not bold yellow")
    for heading, sentences, joint, lines in (
        ("The price: ", verdict.price, "; ", 5),
        ("As collected: ", verdict.collected, ". ", 2),
    ):
        if sentences:
            text.append(heading, style="bold default")
            whole = _joined(heading, sentences, joint, width, lines)
            text.append(f"{whole[len(heading) :]}\n", style="not bold default")
    return text


def _joined(heading: str, sentences: Sequence[str], joint: str, width: int, lines: int) -> str:
    """Join what fits into so many lines of a width, and say how much more the report has.

    >>> told = ("no value made blank", "coarser: age", "removed: town, sector, hours of work")
    >>> _joined("The price: ", told, "; ", 40, 2)
    'The price: no value made blank; coarser: age; 1 more in the report.'
    """
    for number in range(len(sentences), 1, -1):
        left = len(sentences) - number
        text = f"{heading}{joint.join([*sentences[:number], *([f'{left} more in the report'] if left else [])])}."
        if not width or len(wrapped_lines(text, width)) <= lines:
            return text
    more = f"{joint}{len(sentences) - 1} more in the report" if len(sentences) > 1 else ""
    return f"{_cut(f'{heading}{sentences[0]}', width, lines)}{more}."


def _cut(text: str, width: int, lines: int) -> str:
    """End a text after so many lines of a width, at a word.

    >>> _cut("a verdict in a few words", 10, 2)
    'a verdict in a few …'
    """
    wrapped = wrapped_lines(text, width) if width else []
    if len(wrapped) <= lines:
        return text
    last = textwrap.shorten(" ".join(wrapped[lines - 1 :]), width, placeholder=" …")
    return " ".join([*wrapped[: lines - 1], last])


def wrapped_lines(text: str, width: int) -> list[str]:
    """Return the lines that a text takes."""
    return textwrap.wrap(text, width, break_on_hyphens=False)


def some_of(sentences: Sequence[str], width: int, lines: int) -> list[str]:
    """Return sentences while their lines last, and say how many more the report has."""
    told: list[str] = []
    for place, sentence in enumerate(sentences):
        shown = f"! {_cut(sentence, width - 2 if width else 0, 4)}"
        lines -= len(wrapped_lines(shown, width)) if width else 0
        if told and lines < 0:
            more = len(sentences) - place
            return [*told, f"! … and {more} more in the report"]
        told.append(shown)
    return told


def deciding_table(summary: Summary) -> Table | None:
    """Return what decides, before and after: what is bounded with its worst single case, and what is optimised."""
    kept, bounded, shown_above = [], False, False
    titles = {summary.measure(key).title for key in (summary.risk, summary.utility) if key is not None}
    for change in summary.verdict.changes:
        if not change.part:
            bounded = bool(change.bound)
            shown = shown_above = bounded or change.what in titles
        else:
            shown = (bounded and change.what.startswith(LARGEST)) or (shown_above and change.what == GOES_OUT)
        if shown:
            kept.append(change)
    if not kept:
        return None
    table = _bare()
    table.add_column("figure", overflow="fold")
    table.add_column("original", justify="right", no_wrap=True)
    table.add_column("protected" if any(c.after != "–" for c in kept) else "", justify="right", no_wrap=True)
    table.add_column("bound", no_wrap=True)
    for change in kept:
        said = {True: " kept", False: " broken", None: ""}[change.kept]
        what = f"  {change.what}" if change.part else change.what
        cells = (what, change.before, change.after, f"{change.bound}{said}")
        table.add_row(*(Text(cell) for cell in cells), style="dim" if change.part else None)
    return table


def candidates_table(summary: Summary, width: int = 80, most: int = ROWS) -> Table:
    """Return the candidates, best first, a line each with its sign; dominated ones are dim.

    After the sign, ``!`` marks one that breaks the bound and ``~`` one that chance may put on either side of it, or
    that cannot be told apart from the chosen one. Standard errors are left out where there is no room for them.
    """
    table = _bare()
    shown = _first_ones(summary, most)
    names_used = [m.name.partition("(")[0] for m in summary.measures]
    headings = {m.key: _heading(m, alone=names_used.count(m.name.partition("(")[0]) == 1) for m in summary.measures}
    deciding = {summary.utility, summary.risk, *(bound.key for bound in summary.bounds)}
    names = max((len(line.name) for line in shown), default=9)
    kept: list[str] = []
    room, errors = 0, True
    for errors in (True, False):
        kept, room = _columns(summary, headings, shown, width, names, errors=errors)
        if room >= min(names, 24) and deciding - {None} <= set(kept):
            break
    room = min(max(room, 16), names)
    table.add_column("", no_wrap=True, min_width=2)
    table.add_column("candidate", no_wrap=True, min_width=room, max_width=room)
    for key in kept:
        table.add_column(Text(headings[key]), justify="right", no_wrap=True)
    for line in shown:
        figures = [_figure(line, key, errors=errors) for key in kept]
        cells = (_sign(line) + _doubt(line), _middle(line.name, room), *figures)
        table.add_row(*(Text(cell) for cell in cells), style=_style(line))
    return table


def _first_ones(summary: Summary, most: int) -> tuple[CandidateLine, ...]:
    shown, chosen = summary.candidates[:most], summary.chosen
    return shown if not shown or chosen is None or chosen in shown else (*shown[:-1], chosen)


def _columns(
    summary: Summary,
    headings: Mapping[str, str],
    shown: Sequence[CandidateLine],
    width: int,
    names: int,
    *,
    errors: bool,
) -> tuple[list[str], int]:
    """Choose what decides, and as many measures more as leave room for whole names; return that room too."""
    deciding = {summary.utility, summary.risk, *(bound.key for bound in summary.bounds)}
    kept: list[str] = []
    room = width - 4
    for measure in _important_first(summary):
        texts = [_figure(line, measure.key, errors=errors) for line in shown]
        wanted = max(len(text) for text in [*texts, *headings[measure.key].split("\n")]) + 2
        enough = 16 if measure.key in deciding else names
        if room - wanted < enough:
            break
        kept.append(measure.key)
        room -= wanted
    return kept, room


def _figure(line: CandidateLine, key: str, *, errors: bool) -> str:
    if key not in line.figures:
        return "–"
    text = line.figures[key].text
    mean, sign, error = text.partition(" ± ")
    return text if errors or not sign else f"{mean} %" if error.endswith("%") else mean


def _middle(name: str, room: int) -> str:
    """Shorten a name in its middle, for its end tells it from others.

    >>> _middle("coarse 4 · remove region, rent · coarse (3)", 24)
    'coarse 4 · remo…arse (3)'
    """
    return name if len(name) <= room else f"{name[: room - TAIL - 1]}…{name[-TAIL:]}"


def rest(summary: Summary, shown: int) -> str:
    """Say how many candidates there are, how many keep the bounds, and where those that are not shown are."""
    number, keep = len(summary.candidates), sum(line.feasible is True for line in summary.candidates)
    kept = f", {keep} keep{'s' if keep == 1 else ''} the bounds" if summary.bounds else ""
    return (
        f"{count(number, 'candidate')}{kept}; {'the rest and ' if number > shown else ''}all warnings are in the report"
    )


def _important_first(summary: Summary) -> list[MeasureLine]:
    """Order the measures: what is optimised, the risk, what is bounded, the score, the rest."""
    keys = [summary.utility, summary.risk, *(bound.key for bound in summary.bounds), summary.score]
    return sorted(summary.measures, key=lambda m: keys.index(m.key) if m.key in keys else len(keys))


def _heading(measure: MeasureLine, *, alone: bool) -> str:
    """Break a long name into lines at its words, for a narrow column; its class will do if it is the only one of it.

    Of parameters the values are enough: ``Reidentification(unit='household')`` is Reidentification, household.
    """
    name, _, parameters = measure.name.removesuffix(")").partition("(")
    parted = re.sub(r"(?<=[a-z]{3})(?=[A-Z][a-z])", "\n", name)
    parted = re.sub(r"([A-Za-z]{8})(?=[a-z]{6})", r"\1-\n", parted)  # a single long word
    if parameters and not alone:
        said = ", ".join(part.partition("=")[2] or part for part in parameters.split(", "))
        parted += "\n" + _middle(said.replace("'", ""), 14)
    return f"{parted} {_arrow(measure)}"


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


def pair_table(summary: Summary, keys: Collection[str] | None = None) -> Table:
    """Return measures of one protected file, risk first, each with its value and what it is; all, or those of keys."""
    table = _bare()
    before = summary.original.figures if summary.original else {}
    table.add_column("measure", overflow="fold")
    if before:
        table.add_column("original", justify="right", no_wrap=True)
    table.add_column("protected", justify="right", no_wrap=True)
    table.add_column("what it is")
    figures = summary.candidates[0].figures
    for purpose in ("risk", "utility"):
        for measure in (m for m in summary.measures if m.purpose == purpose and m.key in figures):
            if keys is not None and measure.key not in keys:
                continue
            was = (before[measure.key].text if measure.key in before else "",) if before else ()
            name = measure.name if len(measure.name) <= MAX_NAME_LENGTH else measure.name.partition("(")[0]
            cells = (f"{name} {_arrow(measure)}", *was, figures[measure.key].text, measure.title)
            table.add_row(*(Text(cell) for cell in cells))
    return table


def _arrow(measure: MeasureLine) -> str:
    return "↓" if measure.lower_is_better else "↑"


def records_table(summary: Summary, most: int) -> Table | None:
    """Return the records most at risk, by their number in the original file."""
    if summary.detail is None or not summary.detail.records:
        return None
    table = _bare()
    table.add_column("record", justify="right")
    for key in summary.detail.records[0].risks:
        table.add_column(Text(summary.measure(key).name), justify="right")
    for entry in summary.detail.records[:most]:
        table.add_row(f"{entry.record:,}", *(Text(risk.text) for risk in entry.risks.values()))
    return table


def _sign(line: CandidateLine) -> str:
    return "@" if line.chosen else "o" if line.on_frontier else "·"


def _style(line: CandidateLine) -> str | None:
    if line.chosen:
        return "bold green"
    return None if line.on_frontier else "dim"


def figures_table(found: SideBySide) -> Table:
    """Return every figure of the original and of each candidate."""
    shown = [line.figures if line is not None else {} for line in (found.original, *found.candidates)]
    rows = [
        (f"{m.name} {_arrow(m)}", *(figures[m.key].text if m.key in figures else "–" for figures in shown))
        for m in found.measures
    ]
    return _table(("", "original", *(line.name for line in found.candidates)), rows)


def uses_table(found: SideBySide, most: int) -> Table | None:
    """Return what variables are good for in each candidate; None if all are as before."""
    rows = [(name, *("removed" if v is None else v.use for v in each)) for name, each in found.uses[:most]]
    return _table(("variable", *(line.name for line in found.candidates)), rows) if rows else None


def pairs_table(found: SideBySide, most: int) -> Table | None:
    """Return what became of the associations that changed; None if none did."""
    rows = [(f"{pair.first} – {pair.second}", *pair.became) for pair in found.pairs[:most]]
    return _table(("pair", *(line.name for line in found.candidates)), rows) if rows else None


def _bare() -> Table:
    return Table(box=None, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 2, 0, 0))


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    table = _bare()
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def audit_verdict(audit: Audit) -> Text:
    """Return the sentence that says whether the file keeps what was protected."""
    return Text(audit.verdict, style="bold green" if audit.passed else "bold red")


def routes_table(audit: Audit) -> Table:
    """Return the routes that were tried, each with its worst variable, in at most 80 columns."""
    table = _bare()
    table.add_column("route", overflow="fold", max_width=30)
    table.add_column("variable", overflow="fold", max_width=14)
    for heading in ("values", "restored", "guess"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for route in audit.routes:
        if route.worst is not None:
            cells = (route.title, *figures(route), _READINGS[route.worst.reading])
            table.add_row(*(Text(cell) for cell in cells), style="bold red" if route.alarm else None)
    return table


def evidence_lines(audit: Audit) -> list[str]:
    """Say of each route that restores which variables it gives back and from what, with examples."""
    lines = []
    for route in (route for route in audit.routes if route.alarm):
        for found in (found for found in route.by_variable if found.alarm):
            level = " in full" if found.level == "in full" else ""
            share = f"{found.restored:.1%} of {found.values:,}, guess {found.guess:.1%}"
            if found.exactly < found.restored:
                share += f"; {found.exactly:.1%} to the last digit, the others near"
            lines.append(f"{found.variable}{level} from {' and '.join(found.evidence)}: {share}")
        for example in route.examples:
            told = f"record {example.record:,}: {example.variable} ({example.published}) is {example.told}"
            lines.append(f"  {told}; {example.how}")
    return lines


def nearness(audit: Audit) -> str:
    """Say when a number counts as restored; nothing where no number was.

    Categories are right or not, so that all that is restored of them is so exactly.
    """
    found = [one for route in audit.routes for one in route.by_variable]
    if not any(one.exactly < one.restored for one in found):
        return ""
    return (
        f"a number or date counts as restored if near: at most {audit.near:.1%} of the records lie between it "
        "and the true one"
    )


def untried_lines(audit: Audit) -> list[str]:
    """Say which routes have no figure and why."""
    return [f"{route.title}: {route.untried}" for route in audit.routes if route.untried]
