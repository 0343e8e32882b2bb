"""The page of a study: what holds, our figures against the printed ones, and why they differ."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.compare.plain import to_json
from sfumato.report.page import render_page, save, save_pictures
from sfumato.report.vega import COLOURS, GREY, INK, SHAPES, Spec, cycled, dressed
from sfumato.report.wording import count
from sfumato.studies.study import Curve, Line, Sample, Scatter, Study


def write_study(study: Study, directory: str | Path, command: str = "") -> Path:
    """Write report.html, results.json and plots/*; return the path of the page."""
    directory = Path(directory)
    compared = [column for column in study.columns if _pairs(study, column)]
    plots = directory / "plots"
    pictures = save_pictures({_file("figure", column): against_print(study, column) for column in compared}, plots)
    save(directory / "results.json", _json(study, command).encode())
    page = render_page(
        "study.html.j2",
        {},
        title=study.title,
        study=study,
        verdict=_verdict(study),
        printed=not study.ranking,
        families=_families(study),
        pictures=dict(zip(compared, pictures.values(), strict=True)),
        samples=save_pictures({_file("data", sample.name): drawn(sample) for sample in study.samples}, plots),
        scatters=save_pictures({_file("", s.name): scattered(study, s) for s in study.scatters}, plots),
        curves=save_pictures({_file("", c.name): curved(c) for c in study.curves}, plots),
        ranked=save_pictures({"ranked": ranked(study)} if study.ranking else {}, plots),
        figure=figure,
        place="{:.0f}".format,
        command=command,
        isnan=math.isnan,
    )
    return save(directory / "report.html", page.encode())


def against_print(study: Study, column: str) -> Spec:
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
    many = len(families)
    equal = alt.Chart(alt.InlineData(values=[{"printed": 0, "ours": 0}, {"printed": high, "ours": high}]))
    marks = alt.Chart(alt.InlineData(values=points)).mark_point(filled=True, size=42, opacity=0.8)
    chart = alt.layer(
        equal.mark_line(color=GREY, strokeWidth=1).encode(x=x, y=y),
        marks.encode(
            x=x,
            y=y,
            color=alt.Color(
                "family:N",
                scale=alt.Scale(domain=families, range=cycled(COLOURS, many)),
                legend=alt.Legend(title=None),
            ),
            shape=alt.Shape("family:N", scale=alt.Scale(domain=families, range=cycled(SHAPES, many))),
            stroke=alt.value(INK),
            strokeWidth=alt.value(0.2),
        ),
    )
    words = f"{column} of {count(len(points), 'row')}: ours upward, printed across; the line is where they are equal"
    return dressed(chart.properties(width=300, height=300, description=words).to_dict())


def drawn(sample: Sample, *, most: int = 800, bins: int = 40) -> Spec:
    """Draw a table and its protected versions side by side: scatter plots above histograms of the first variable."""
    import altair as alt

    across, upward = sample.original.schema.analysed("numeric")[:2]
    tables = {"original": sample.original, **sample.protected}
    pooled = np.concatenate([table.numeric((across, upward)) for table in tables.values()])
    (low, bottom), (high, top) = np.nanquantile(pooled, [0.001, 0.999], axis=0)
    edges = np.linspace(low, high, bins + 1)
    columns = []
    for name, table in tables.items():
        x, y = table.columns[across], table.columns[upward]
        points = [{across: a, upward: b} for a, b in zip(x[:most].tolist(), y[:most].tolist(), strict=True)]
        counts, _ = np.histogram(x, edges)
        bars = [
            {"from": a, "to": b, "records": n}
            for a, b, n in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
        ]
        colour = INK if name == "original" else COLOURS[4]
        cloud = alt.Chart(alt.InlineData(values=points), title=name)
        cloud = cloud.mark_circle(size=6, opacity=0.5, color=colour, clip=True)
        scale = alt.Scale(domain=[low, high], nice=False)
        scatter = cloud.encode(
            x=alt.X(f"{across}:Q", scale=scale, title=None, axis=alt.Axis(tickCount=3)),
            y=alt.Y(
                f"{upward}:Q",
                scale=alt.Scale(domain=[bottom, top], nice=False),
                title=upward if name == "original" else None,
                axis=alt.Axis(tickCount=3),
            ),
        )
        histogram = alt.Chart(alt.InlineData(values=bars)).mark_bar(color=colour, opacity=0.8)
        histogram = histogram.encode(
            x=alt.X("from:Q", scale=scale, title=across, axis=alt.Axis(tickCount=3)),
            x2="to:Q",
            y=alt.Y("records:Q", title="records" if name == "original" else None, axis=alt.Axis(tickCount=3)),
            y2=alt.datum(0),
        )
        columns.append(
            alt.vconcat(scatter.properties(width=120, height=120), histogram.properties(width=120, height=70))
        )
    shown = min(most, len(sample.original))
    words = f"{sample.name}: {shown} records of each table as points, all of them in histograms of {across}"
    return dressed(alt.hconcat(*columns).properties(description=words).to_dict())


def scattered(study: Study, scatter: Scatter) -> Spec:
    """Draw a figure of the paper again: its lines by two of their columns, each named."""
    import altair as alt

    points = [
        {
            "name": line.name.partition(": ")[2] or line.name,
            "x": line.figures[scatter.across].ours,
            "y": line.figures[scatter.upward].ours,
        }
        for line in study.lines
        if line.name.startswith(scatter.start)
    ]
    base = alt.Chart(alt.InlineData(values=points), title=scatter.name).encode(
        x=alt.X("x:Q", title=scatter.across), y=alt.Y("y:Q", title=scatter.upward)
    )
    marks = base.mark_point(filled=True, size=60, color=COLOURS[4])
    names = base.mark_text(align="left", dx=7, dy=-6, fontSize=10, color=INK).encode(text="name:N")
    words = f"{scatter.name}: {scatter.upward} against {scatter.across} of {count(len(points), 'method')}"
    return dressed(alt.layer(marks, names).properties(width=330, height=280, description=words).to_dict())


def curved(curve: Curve) -> Spec:
    """Draw a function of the paper again, with the points that it names."""
    import altair as alt

    points = [{"x": x, "y": y} for x, y in curve.points]
    marks = [{"name": name, "x": x, "y": y} for name, (x, y) in curve.marks.items()]
    axes: dict[str, Any] = {"x": alt.X("x:Q", title=curve.across), "y": alt.Y("y:Q", title=curve.upward)}
    line = alt.Chart(alt.InlineData(values=points), title=curve.name).mark_line(color=COLOURS[4]).encode(**axes)
    named = alt.Chart(alt.InlineData(values=marks)).encode(**axes)
    chart = alt.layer(
        line,
        named.mark_point(filled=True, size=60, color=INK),
        named.mark_text(align="left", dx=8, dy=4, fontSize=11, color=INK).encode(text="name:N"),
    )
    words = f"{curve.name}: {curve.upward} against {curve.across}; {', '.join(curve.marks)}"
    return dressed(chart.properties(width=330, height=240, description=words).to_dict())


def ranked(study: Study) -> Spec:
    """Draw all lines in their order, one row each, with a mark for each column."""
    import altair as alt

    names = [line.name for line in study.lines]
    widest = 7 * max(map(len, names))  # pixels, for fonts differ from reader to reader
    points = [
        {"name": line.name, "column": column, "figure": line.figures[column].ours}
        for line in study.lines
        for column in study.columns
        if column in line.figures and math.isfinite(line.figures[column].ours)
    ]
    columns, many = list(study.columns), len(study.columns)
    marks = alt.Chart(alt.InlineData(values=points)).mark_point(filled=True, size=55, opacity=0.85)
    chart = marks.encode(
        x=alt.X("figure:Q", title=None, axis=alt.Axis(tickCount=6)),
        y=alt.Y(
            "name:N",
            sort=names,
            title=None,
            axis=alt.Axis(labelLimit=widest, minExtent=widest, grid=True, ticks=False, domain=False),
        ),
        color=alt.Color(
            "column:N",
            sort=columns,
            scale=alt.Scale(domain=columns, range=cycled(COLOURS, many)),
            legend=alt.Legend(title=None),
        ),
        shape=alt.Shape("column:N", sort=columns, scale=alt.Scale(domain=columns, range=cycled(SHAPES, many))),
    )
    words = f"{count(len(names), 'file')} ranked by {study.ranking}, with a mark for each of {', '.join(columns)}"
    return dressed(chart.properties(width=380, height=alt.Step(20), description=words).to_dict())


def figure(value: float) -> str:
    """Write a figure of a study: two decimals, more for small ones.

    >>> figure(1318.574), figure(0.3204), figure(0.00214), figure(0.0)
    ('1318.57', '0.320', '0.00214', '0')
    """
    if math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}" if abs(value) < 0.1 else f"{value:.3f}"


def _file(kind: str, name: str) -> str:
    return "-".join([*([kind] if kind else []), *name.lower().replace(",", "").split()])


def _pairs(study: Study, column: str) -> list[tuple[Line, Any]]:
    found = [(line, line.figures[column]) for line in study.lines if column in line.figures]
    return [(line, f) for line, f in found if math.isfinite(f.ours) and math.isfinite(f.printed)]


def _verdict(study: Study) -> str:
    judged = [finding.holds for finding in study.findings if finding.holds is not None]
    if not judged:
        return "The printed figures are not there, so nothing could be held against them."
    about = "our figures" if study.ranking else "our figures and the printed ones"
    told = f"{sum(judged)} of {count(len(judged), 'statement')} about {about} hold{'s' if len(judged) == 1 else ''}."
    changing = sum(finding.changes for finding in study.findings)
    return f"{told} The verdict on {changing} more changes with the seed." if changing else told


def _families(study: Study) -> dict[str, list[Line]]:
    families: dict[str, list[Line]] = {}
    for line in study.lines:
        families.setdefault(line.family, []).append(line)
    return families


def _json(study: Study, command: str) -> str:
    return to_json(
        {
            "name": study.name,
            "title": study.title,
            "source": study.source,
            "setting": study.setting,
            "findings": study.findings,
            "reasons": study.reasons,
            "lines": study.lines,
            "seed": study.seed,
            "replicates": study.replicates,
            "versions": study.versions,
            "fingerprint": study.fingerprint,
            "command": command,
        },
        indent=1,
    )
