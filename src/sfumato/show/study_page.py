"""The page of a study: what holds, our figures against the printed ones, and why they differ."""

import json
import math
from pathlib import Path
from typing import Any

from sfumato.show.page import render_page, save, save_pictures
from sfumato.show.plots import COLOURS, GREY, INK, SHAPES, dressed
from sfumato.show.summary import to_json
from sfumato.show.wording import count
from sfumato.studies.study import Line, Study


def write_study(study: Study, directory: str | Path, command: str = "") -> Path:
    """Write report.html, results.json and plots/*; return the path of the page."""
    directory = Path(directory)
    compared = [column for column in study.columns if _pairs(study, column)]
    pictures = save_pictures(
        {f"figure-{column.lower()}": against_print(study, column) for column in compared}, directory / "plots"
    )
    save(directory / "results.json", json.dumps(_plain(study, command), indent=1, ensure_ascii=False).encode())
    page = render_page(
        "study.html.j2",
        {},
        title=study.title,
        study=study,
        verdict=_verdict(study),
        families=_families(study),
        pictures=dict(zip(compared, pictures.values(), strict=True)),
        run=study.results,
        fingerprint=study.results.original.fingerprint,
        command=command,
        isnan=math.isnan,
    )
    return save(directory / "report.html", page.encode())


def against_print(study: Study, column: str) -> Any:
    """Draw our figures of one column against the printed ones; on the line they are equal."""
    import altair as alt

    points = [
        {"name": line.name, "family": line.family, "ours": figure.ours, "printed": figure.printed}
        for line, figure in _pairs(study, column)
    ]
    families = list(dict.fromkeys(line.family for line in study.lines))
    high = 1.05 * max(max(p["ours"], p["printed"]) for p in points)
    scale = alt.Scale(domain=[0, high], nice=False)
    x = alt.X("printed:Q", scale=scale, title=f"{column}, printed", axis=alt.Axis(tickCount=5))
    y = alt.Y("ours:Q", scale=scale, title=f"{column}, ours", axis=alt.Axis(tickCount=5))
    many = range(len(families))
    equal = alt.Chart(alt.InlineData(values=[{"printed": 0, "ours": 0}, {"printed": high, "ours": high}]))
    marks = alt.Chart(alt.InlineData(values=points)).mark_point(filled=True, size=42, opacity=0.8)
    chart = alt.layer(
        equal.mark_line(color=GREY, strokeWidth=1).encode(x=x, y=y),
        marks.encode(
            x=x,
            y=y,
            color=alt.Color(
                "family:N",
                scale=alt.Scale(domain=families, range=[COLOURS[i % len(COLOURS)] for i in many]),
                legend=alt.Legend(title=None),
            ),
            shape=alt.Shape(
                "family:N", scale=alt.Scale(domain=families, range=[SHAPES[i % len(SHAPES)] for i in many])
            ),
            stroke=alt.value(INK),
            strokeWidth=alt.value(0.2),
        ),
    )
    words = f"{column} of {count(len(points), 'row')}: ours upward, printed across; the line is where they are equal"
    return dressed(chart.properties(width=300, height=300, description=words))


def _pairs(study: Study, column: str) -> list[tuple[Line, Any]]:
    """Return the lines that have both figures in a column."""
    found = [(line, line.figures[column]) for line in study.lines if column in line.figures]
    return [(line, f) for line, f in found if math.isfinite(f.ours) and math.isfinite(f.printed)]


def _verdict(study: Study) -> str:
    judged = [finding.holds for finding in study.findings if finding.holds is not None]
    if not judged:
        return "The printed figures are not there, so nothing could be held against them."
    return f"{sum(judged)} of {count(len(judged), 'statement')} about our figures and the printed ones hold."


def _families(study: Study) -> dict[str, list[Line]]:
    families: dict[str, list[Line]] = {}
    for line in study.lines:
        families.setdefault(line.family, []).append(line)
    return families


def _plain(study: Study, command: str) -> Any:
    return to_json(
        {
            "name": study.name,
            "title": study.title,
            "source": study.source,
            "setting": study.setting,
            "findings": study.findings,
            "reasons": study.reasons,
            "lines": study.lines,
            "seed": study.results.seed,
            "replicates": study.results.replicates,
            "versions": study.results.versions,
            "fingerprint": study.results.original.fingerprint,
            "command": command,
        }
    )
