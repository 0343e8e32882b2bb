"""The report: one HTML file that needs no network, every picture as PNG and SVG, and the figures as JSON."""

import json
import re
from pathlib import Path
from typing import Any

from sfumato.show import plots, usefulness_plots
from sfumato.show.page import render_page, save, save_pictures
from sfumato.show.summary import Summary, VariableDetail, to_json

PICTURED = 24  # variables drawn in the report; the table has them all


def write_report(summary: Summary, directory: str | Path) -> Path:
    """Write report.html, results.json and plots/*.png and *.svg; return the path of the report.

    Where a measure says what may be published with the file, that goes to statement.txt.
    """
    directory = Path(directory)
    if summary.detail and summary.detail.usefulness and summary.detail.usefulness.statement:
        save(directory / "statement.txt", f"{summary.detail.usefulness.statement}\n".encode())
    pictures = save_pictures(_charts(summary), directory / "plots")
    save(directory / "results.json", json.dumps(to_json(summary), indent=1, ensure_ascii=False).encode())
    return save(directory / "report.html", render(summary, pictures).encode())


def render(summary: Summary, pictures: dict[str, str]) -> str:
    """Return the page; ``pictures`` are the drawn charts by name."""
    live: dict[str, Any] = {}
    if "map" in pictures:
        live["map"] = plots.risk_utility_map(summary, width="container")
    if "score" in pictures:
        live["score"] = plots.score_bars(summary, width="container")
    if summary.detail and summary.detail.usefulness and "pairs" in pictures:
        live["pairs"] = usefulness_plots.pair_heat_map(summary.detail.usefulness)
    return render_page(
        "report.html.j2",
        live,
        title=summary.title,
        summary=summary,
        pictures=pictures,
        drawn=[(name, variable) for name, variable in _drawn(summary) if name in pictures],
        map_words=plots.map_in_words(summary) if "map" in pictures else "",
    )


def _charts(summary: Summary) -> dict[str, Any]:
    """Return every picture of the report by its name."""
    charts: dict[str, Any] = {}
    if summary.on_map:
        charts["map"] = plots.risk_utility_map(summary)
    if plots.scored(summary):
        charts["score"] = plots.score_bars(summary)
    useful = summary.detail.usefulness if summary.detail else None
    if useful is not None:
        charts["usefulness"] = usefulness_plots.utility_bars(useful)
    if useful is not None and useful.drawn:
        charts["pairs"] = usefulness_plots.pair_heat_map(useful)
    return charts | {name: plots.before_and_after(variable) for name, variable in _drawn(summary)}


def _drawn(summary: Summary) -> list[tuple[str, VariableDetail]]:
    """Name the pictures of the variables whose distribution changed, at most a couple of dozen: those that did most."""
    changed = [v for v in (summary.detail.variables if summary.detail else ()) if v.moved > 0]
    kept = sorted(changed, key=lambda v: v.moved, reverse=True)[:PICTURED]
    return [
        (f"variable-{i:02d}-{re.sub(r'[^A-Za-z0-9]+', '-', v.name).strip('-').lower()[:40]}".rstrip("-"), v)
        for i, v in enumerate((v for v in changed if v in kept), start=1)
    ]
