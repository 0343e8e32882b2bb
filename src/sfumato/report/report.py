"""The report: one HTML file that needs no network, the same as Markdown and JSON, every picture as PNG and SVG."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from sfumato.arguments import require
from sfumato.compare import plain
from sfumato.compare.examine.findings import VariableDetail
from sfumato.errors import OF_THE_RUN, ParameterError, unexpected
from sfumato.report import map_plot, plots
from sfumato.report.page import render_markdown, render_page, save, save_pictures
from sfumato.report.plots import level_plot, pair_map
from sfumato.report.summary import PairFigures, Summary, to_json
from sfumato.report.vega import Spec
from sfumato.table.formats import a_path

Audience = Literal["internal", "external"]
PICTURED = 24  # variables drawn in the report; the table has them all


def write_report(summary: Summary, directory: str | Path, audience: Audience = "internal") -> Path:
    """Write a report into a folder, as HTML, Markdown and JSON; return the path of the page.

    The internal one (report.html, report.md, results.json, plots/ as PNG and SVG) holds everything, for those who
    decide and repeat. The external one (about.html, about.md, about.json) may go out with the file: what was done in
    general, what was lost, which analyses to avoid, and no risk, parameter, seed or record.
    """
    require("write_report", Summary, "what summarise or sweep returned", summary=summary)
    if not isinstance(audience, str) or audience not in get_args(Audience):
        raise ParameterError(f"audience must be one of {', '.join(get_args(Audience))}; got {audience!r}")
    directory = a_path(directory)
    if audience == "external":
        return _write_external(summary, directory)
    pictures, undrawn = _pictures(summary, directory / "plots")
    summary = replace(summary, notes=(*summary.notes, *undrawn))
    save(directory / "results.json", to_json(summary).encode())
    markdown = render_markdown("report.md.j2", summary=summary, pictures=pictures)
    save(directory / "report.md", markdown.encode())
    return save(directory / "report.html", render(summary, pictures).encode())


def _write_external(summary: Summary, directory: Path) -> Path:
    """Write what may be known to everyone: only what ``Release`` holds reaches these files."""
    release = summary.detail.release if summary.detail else None
    if release is None:
        raise ParameterError("nothing was chosen, so there is no file to tell the public of; give bounds it can keep")
    name = summary.released
    about = {"file": name, **plain.to_plain(release)}
    save(directory / "about.json", plain.to_json(about, indent=1).encode(), public=True)
    markdown = render_markdown("external.md.j2", name=name, release=release)
    save(directory / "about.md", markdown.encode(), public=True)
    page = render_page("external.html.j2", {}, title=f"About {name}", release=release)
    return save(directory / "about.html", page.encode(), public=True)


def render(summary: Summary, pictures: dict[str, str]) -> str:
    """Return the page; ``pictures`` are the drawn charts by name."""
    live: dict[str, Spec] = {}
    if "map" in pictures:
        live["map"] = map_plot.risk_utility_map(summary, width="container")
    if "score" in pictures:
        live["score"] = plots.score_bars(summary, width="container")
    if summary.detail and summary.detail.usefulness and "pairs" in pictures:
        live["pairs"] = plots.pair_heat_map(summary.detail.usefulness)
    live |= {name: _pair_map(summary, told) for name, told in _by_pair(summary) if name in pictures}
    return render_page(
        "report.html.j2",
        live,
        title=summary.title,
        summary=summary,
        pictures=pictures,
        pair_maps=[(name, summary.measure(told.key)) for name, told in _by_pair(summary) if name in pictures],
        drawn=[(name, variable) for name, variable in _drawn(summary) if name in pictures],
        map_words=map_plot.map_in_words(summary) if "map" in pictures else "",
    )


def _pictures(summary: Summary, folder: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """Draw every picture of the report; return them by name, and a line on each that could not be drawn."""
    pictures: dict[str, str] = {}
    undrawn = []
    for name, draw in _charts(summary).items():
        try:
            pictures |= save_pictures({name: draw()}, folder)
        except OF_THE_RUN:
            raise
        except Exception as error:
            undrawn.append(f"the picture {name} could not be drawn ({unexpected(error)})")
    return pictures, tuple(undrawn)


def _charts(summary: Summary) -> dict[str, Callable[[], Spec]]:
    """Return what draws each picture of the report, by its name."""
    charts: dict[str, Callable[[], Spec]] = {}
    if summary.on_map:
        charts["map"] = partial(map_plot.risk_utility_map, summary)
    if plots.scored(summary):
        charts["score"] = partial(plots.score_bars, summary)
    useful = summary.detail.usefulness if summary.detail else None
    if useful is not None:
        charts["usefulness"] = partial(plots.utility_bars, useful)
    if summary.detail and summary.detail.levels:
        charts["levels"] = partial(level_plot, summary.detail.levels)
    if summary.detail and summary.detail.coefficients:
        charts["regressions"] = partial(plots.interval_plot, summary.detail.coefficients)
    if useful is not None and useful.drawn:
        charts["pairs"] = partial(plots.pair_heat_map, useful)
    charts |= {name: partial(_pair_map, summary, told) for name, told in _by_pair(summary)}
    return charts | {name: partial(plots.before_and_after, variable) for name, variable in _drawn(summary)}


def _by_pair(summary: Summary) -> list[tuple[str, PairFigures]]:
    """Name the pictures of what measures say of pairs of variables."""
    found = summary.detail.by_pair if summary.detail else ()
    return [(f"by-pair-{place}", told) for place, told in enumerate(found, start=1)]


def _pair_map(summary: Summary, told: PairFigures) -> Spec:
    measure = summary.measure(told.key)
    by_pair = {(first, second): value for first, second, value in told.figures}
    return pair_map(measure.title, by_pair, measure)


def _drawn(summary: Summary) -> list[tuple[str, VariableDetail]]:
    """Name the pictures of the variables whose distribution changed, at most a couple of dozen: those that did most."""
    details = summary.detail.variables if summary.detail else ()
    changed = [v for v in details if v.shifted > 0 or v.own is not None]
    kept = sorted(changed, key=_apart, reverse=True)[:PICTURED]
    return [
        (f"variable-{i:02d}-{re.sub(r'[^A-Za-z0-9]+', '-', v.name).strip('-').lower()[:40]}".rstrip("-"), v)
        for i, v in enumerate((v for v in changed if v in kept), start=1)
    ]


def _apart(variable: VariableDetail) -> float:
    """Return how far the pictures before and after lie apart."""
    own = variable.own
    if own is None:
        return variable.shifted
    return max(variable.shifted, sum(abs(a - b) for a, b in zip(own.before, own.after, strict=True)) / 2)
