"""The pictures of the page "The measures on one example", drawn from its figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from figures import DRAWN, FILES, SEED, rows, shown

from sfumato import Microdata
from sfumato.report.vega import AFTER, BEFORE, COLOURS, CONFIG, INK, PALE, WARN


def dressed(chart: Any) -> Any:
    """Give a chart the clothes of the report's pictures."""
    return chart.configure(**CONFIG)


def values_of(lines: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as data that a picture carries in itself."""
    return alt.InlineData(values=[dict(line) for line in lines])


def scatter(files: Mapping[str, Microdata]) -> Any:
    """Draw age and earnings in each file."""
    lines = []
    for name in FILES:
        table = files[name]
        rows = np.random.default_rng(SEED).choice(len(table), DRAWN, replace=False)
        age, pay = table.columns["age"][rows], table.columns["earnings"][rows] / 1000
        lines += [
            {"file": name, "x": round(float(a), 1), "y": round(float(e), 2)} for a, e in zip(age, pay, strict=True)
        ]
    points = (
        alt.Chart(values_of(lines))
        .mark_circle(size=9, opacity=0.65, color=AFTER, clip=True)
        .encode(
            x=alt.X("x:Q", title="age", scale=alt.Scale(domain=[0, 80]), axis=alt.Axis(tickCount=4)),
            y=alt.Y("y:Q", title="earnings, thousands", scale=alt.Scale(domain=[-30, 120]), axis=alt.Axis(tickCount=4)),
        )
        .properties(width=200, height=120)
    )
    faceted = points.facet(
        facet=alt.Facet("file:N", sort=list(FILES), title=None, header=alt.Header(labelFontSize=12, labelColor=INK)),
        columns=3,
    )
    return dressed(faceted.properties(description="Age and earnings of 250 persons in each of the nine files"))


def heat_map(kind: str, figures: Mapping[str, Any]) -> Any:
    """Draw the figures of all files, shaded from the best to the worst of each row."""
    cells = []
    for row in rows()[kind]:
        values = figures[kind][row.name]
        there = {file: value for file, value in values.items() if value is not None}
        sign = 1 if row.measure.about.better == "lower" else -1
        low, high = min(sign * v for v in there.values()), max(sign * v for v in there.values())
        for file in FILES:
            value = values[file]
            shade = None if value is None else (sign * value - low) / (high - low) if high > low else 0.0
            cells.append({"measure": row.name, "file": file, "shade": shade, "text": shown(value, row.form)})
    order = [row.name for row in rows()[kind]]
    base = alt.Chart(values_of(cells)).encode(
        x=alt.X(
            "file:N", sort=list(FILES), title=None, axis=alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False)
        ),
        y=alt.Y("measure:N", sort=order, title=None, axis=alt.Axis(labelLimit=260, ticks=False, domain=False)),
    )
    colour = alt.Color(
        "shade:Q", scale=alt.Scale(domain=[0, 1], range=["#fdfbf6", "#e3a857"], interpolate="rgb"), legend=None
    )
    boxes = base.mark_rect(stroke="white", strokeWidth=2).encode(
        color=alt.condition("isValid(datum.shade)", colour, alt.value(PALE))
    )
    text = base.mark_text(fontSize=11, color=INK).encode(text="text:N")
    words = f"Figures of {kind} of the nine files; the darker a cell, the worse the file among the nine"
    chart = alt.layer(boxes, text).properties(width=66 * len(FILES), height=25 * len(order), description=words)
    return dressed(chart)


def bars_of_propensity(figures: Mapping[str, Any]) -> Any:
    """Draw what three models of the propensity say of each file, over what chance gives."""
    named = {
        "main effects": "pMSE main effects, over chance",
        "second order": "pMSE second order, over chance",
        "tree": "pMSE tree, over chance",
    }
    lines = [
        {
            "model": model,
            "file": file,
            "ratio": figures["utility"][row][file],
            "text": shown(figures["utility"][row][file], "times"),
        }
        for model, row in named.items()
        for file in FILES
    ]
    y = alt.Y("file:N", sort=list(FILES), title=None, axis=alt.Axis(ticks=False, domain=False))
    scale = alt.Scale(type="sqrt", domain=[0, 30])
    base = alt.Chart(values_of(lines))
    bars = base.mark_bar(color=AFTER, height={"band": 0.65}).encode(
        y=y,
        x=alt.X(
            "ratio:Q",
            scale=scale,
            title="over chance",
            axis=alt.Axis(values=[0, 1, 5, 10, 20]),
        ),
    )
    text = base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(
        y=y, x=alt.X("ratio:Q", scale=scale), text="text:N"
    )
    rule = (
        base.transform_aggregate(groupby=["model"])
        .mark_rule(color=WARN, strokeDash=[5, 4])
        .encode(x=alt.XDatum(1, scale=scale))
    )
    chart = alt.layer(bars, rule, text).properties(width=185, height=200)
    faceted = chart.facet(
        facet=alt.Facet("model:N", sort=list(named), title=None, header=alt.Header(labelFontSize=12, labelColor=INK)),
        columns=3,
    )
    return dressed(faceted.properties(description="What main effects, second order terms and a tree tell of each file"))


def lines_of_model(figures: Mapping[str, Any]) -> Any:
    """Draw earnings by age as the model has it in each file, beside the original's."""
    first = [line for line in figures["curves"] if line["file"] == "copy"]
    lines = [
        {**line, "earnings": line["earnings"] / 1000, "of": of}
        for file in FILES[1:8]
        for of, listed in (("original", first), ("file", [c for c in figures["curves"] if c["file"] == file]))
        for line in ({**point, "file": file} for point in listed)
    ]
    drawn = (
        alt.Chart(values_of(lines))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("age:Q", scale=alt.Scale(domain=[20, 65]), axis=alt.Axis(tickCount=4)),
            y=alt.Y("earnings:Q", title="earnings, thousands", axis=alt.Axis(tickCount=4)),
            color=alt.Color(
                "of:N",
                scale=alt.Scale(domain=["original", "file"], range=[BEFORE, AFTER]),
                legend=alt.Legend(title=None),
            ),
            strokeDash=alt.StrokeDash(
                "of:N", scale=alt.Scale(domain=["original", "file"], range=[[4, 3], [1, 0]]), legend=None
            ),
        )
        .properties(width=150, height=105)
    )
    faceted = drawn.facet(
        facet=alt.Facet("file:N", sort=list(FILES), title=None, header=alt.Header(labelFontSize=12, labelColor=INK)),
        columns=4,
    )
    return dressed(faceted.properties(description="Earnings by age at 40 hours by the model fitted to each file"))


def lines_of_linkage(figures: Mapping[str, Any]) -> Any:
    """Draw the share linked by the number of amounts known."""
    drawn = (
        alt.Chart(values_of(figures["linked"]))
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("known:O", title="amounts known", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("share:Q", title="linked to their own record", axis=alt.Axis(format="%", tickCount=5)),
            color=alt.Color(
                "file:N", sort=list(FILES), scale=alt.Scale(range=list(COLOURS[:4])), legend=alt.Legend(title=None)
            ),
        )
        .properties(width=280, height=200)
    )
    header = alt.Header(labelFontSize=12, labelColor=INK, labelExpr="datum.label + ' linkage'")
    faceted = drawn.facet(column=alt.Column("linkage:N", title=None, header=header))
    return dressed(faceted.properties(description="Share of records linked when one to four amounts are known"))


def lines_of_attacks(figures: Mapping[str, Any]) -> Any:
    """Draw what each way to link finds of ever wider swapping."""
    ways = ["DistanceLinkage", "ProbabilisticLinkage", "RankSwappingAttack"]
    drawn = (
        alt.Chart(values_of(figures["attacks"]))
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("p:Q", title="p of rank swapping", axis=alt.Axis(format=".0%", tickCount=6)),
            y=alt.Y("share:Q", title="linked to their own record", axis=alt.Axis(format="%", tickCount=5)),
            color=alt.Color(
                "way:N",
                scale=alt.Scale(domain=ways, range=[COLOURS[4], COLOURS[3], WARN]),
                legend=alt.Legend(title=None),
            ),
        )
        .properties(width=560, height=230, description="Share linked by three ways, the wider values are swapped")
    )
    return dressed(drawn)


def dots_of_classes(figures: Mapping[str, Any]) -> Any:
    """Draw the individual risk by the number of records that share the keys."""
    drawn = (
        alt.Chart(values_of([line for line in figures["classes"] if line["sharing"] <= 12]))
        .mark_circle(size=28, opacity=0.6, color=AFTER)
        .encode(
            x=alt.X("sharing:Q", title="records of the file with the same keys", axis=alt.Axis(tickCount=12)),
            y=alt.Y("risk:Q", title="individual risk", axis=alt.Axis(format=".2%", tickCount=5)),
        )
        .properties(
            width=560, height=200, description="Individual risk falls with the number of records that share the keys"
        )
    )
    limit = alt.Chart(values_of([{"x": 2.5}])).mark_rule(color=WARN, strokeDash=[5, 4]).encode(x="x:Q")
    return dressed(alt.layer(drawn, limit))


def pictures_of(figures: Mapping[str, Any], files: Mapping[str, Microdata]) -> dict[str, Any]:
    """Draw every picture of the page, by its name."""
    return {
        "files": scatter(files),
        "utility": heat_map("utility", figures),
        "risk": heat_map("risk", figures),
        "propensity": bars_of_propensity(figures),
        "model": lines_of_model(figures),
        "linkage": lines_of_linkage(figures),
        "attack": lines_of_attacks(figures),
        "classes": dots_of_classes(figures),
    }
