"""The pictures: the risk-utility map, the score and what it is made of, and each variable before and after."""

import math
import re
from collections.abc import Sequence
from typing import Any

from sfumato.show.scale import Scale, axis_scale
from sfumato.show.summary import Bound, CandidateLine, MeasureLine, Summary, VariableDetail

INK, GREY, PALE, WARN = "#2b2a28", "#b9b5ad", "#e9e5dc", "#a3432b"
BEFORE, AFTER = "#8a8578", "#0b6e8a"
FONT = "Inter, 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
# after Paul Tol's muted scheme: nine colours that people with any colour vision tell apart; shapes repeat the message,
# and because there are eight of them, 72 families differ in colour or shape
COLOURS = ("#332288", "#cc6677", "#117733", "#b8860b", "#0b6e8a", "#882255", "#44aa99", "#999933", "#aa4499")
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
LONG = 30  # characters of a name before it is shortened in a picture
PARTS = ("#0b6e8a", "#c8553d", "#e3a857", "#8a8578", "#5b8c5a", "#7a5195")  # of a score


def risk_utility_map(summary: Summary, *, width: Any = 720, height: int = 430) -> Any:
    """Draw every candidate by its risk and its utility, with the frontier, the bound and the chosen one."""
    import altair as alt

    risk, utility = summary.measure(str(summary.risk)), summary.measure(str(summary.utility))
    shown = summary.on_map
    across, upward = axis_scale(summary, risk), axis_scale(summary, utility)
    x_title = _axis_title("Disclosure risk", risk, across)
    y_title = _axis_title("Loss of utility" if utility.better == "lower" else "Utility", utility, upward)
    x = alt.X("x:Q", scale=across.altair(), title=x_title, axis=_axis(risk, across))
    y = alt.Y("y:Q", scale=upward.altair(), title=y_title, axis=_axis(utility, upward))
    points = [_point(summary, line, risk, utility) for line in shown]
    families = list(dict.fromkeys(sorted(line.family for line in shown)))
    pick = alt.selection_point(fields=["family"], bind="legend", empty=False, name="family")
    colour = alt.Color(
        "family:N",
        scale=alt.Scale(domain=families, range=_cycle(COLOURS, len(families))),
        legend=alt.Legend(
            title="Method (click to highlight)" if width == "container" else "Method",
            symbolOpacity=1,
            columns=2 if max(map(len, families), default=0) > LONG else 4,
            labelLimit=330,
        ),
    )
    shape = alt.Shape("family:N", scale=alt.Scale(domain=families, range=_cycle(SHAPES, len(families))))
    lively = "datum.frontier || datum.chosen || family.family && indexof(family.family, datum.family) >= 0"
    layers = []
    for bound in summary.bounds:
        for measure, scale, channel in ((risk, across, {"x": x}), (utility, upward, {"y": y})):
            if bound.key == measure.key:
                layers += _bound_layers(alt, bound, scale, channel, lower=measure.better == "lower")
    base = alt.Chart(alt.InlineData(values=points))
    stairs = sorted((p for p in points if p["frontier"]), key=lambda p: (p["x"], p["y"]))
    if len(stairs) > 1:
        layers.append(
            alt.Chart(alt.InlineData(values=stairs))
            .mark_line(interpolate="step-after", color=INK, strokeWidth=1.3, opacity=0.75)
            .encode(x=x, y=y, order="x:Q")
        )
    bars = {
        "x_low": {"x": alt.X("x_low:Q", scale=across.altair(), title=x_title), "x2": "x_high:Q", "y": y},
        "y_low": {"y": alt.Y("y_low:Q", scale=upward.altair(), title=y_title), "y2": "y_high:Q", "x": x},
    }
    for low, channels in bars.items():
        if any(low in p for p in points):
            layers.append(
                base.transform_filter(f"isValid(datum.{low})")
                .mark_rule(color=GREY, strokeWidth=1)
                .encode(opacity=alt.condition("datum.frontier", alt.value(0.9), alt.value(0.35)), **channels)
            )
    over_records = {
        "x_from": {"x": alt.X("x_from:Q", scale=across.altair(), title=x_title), "x2": "x_to:Q", "y": y},
        "y_from": {"y": alt.Y("y_from:Q", scale=upward.altair(), title=y_title), "y2": "y_to:Q", "x": x},
    }
    for low, channels in over_records.items():
        if any(low in p for p in points):
            broad = base.transform_filter(f"isValid(datum.{low})").mark_rule(color=INK, strokeWidth=6, opacity=0.22)
            layers.append(broad.encode(**channels))
    tooltip = [alt.Tooltip("label:N", title="Candidate"), alt.Tooltip("status:N", title="Status")]
    tooltip += [alt.Tooltip(f"figure{i}:N", title=line.name) for i, line in enumerate(summary.measures)]
    layers.append(
        base.mark_point(filled=True, size=75, strokeWidth=0.8)
        .encode(
            x=x,
            y=y,
            shape=shape,
            color=alt.condition(lively, colour, alt.value(GREY)),
            opacity=alt.condition(lively, alt.value(1.0), alt.value(0.6)),
            order=alt.Order("frontier:Q"),
            tooltip=tooltip,
        )
        .add_params(pick)
    )
    chosen = base.transform_filter("datum.chosen")
    layers.append(chosen.mark_point(shape="circle", size=330, stroke=INK, strokeWidth=2.2).encode(x=x, y=y))
    named = _spaced(points, across, upward)
    for wanted, look in ((True, {"dx": 14, "fontSize": 12, "fontWeight": "bold"}), (False, {"dx": 8, "fontSize": 10})):
        labelled = alt.InlineData(values=[p for p in named if p["chosen"] is wanted])
        text: Any = alt.Chart(labelled).encode(x=x, y=y, text="short:N")
        layers.append(
            text.mark_text(
                align="left", dy=-8, color="white", stroke="white", strokeWidth=4, strokeJoin="round", **look
            )
        )
        layers.append(text.mark_text(align="left", dy=-8, color=INK, **look))
    return dressed(alt.layer(*layers).properties(width=width, height=height, description=map_in_words(summary)))


def scored(summary: Summary) -> list[CandidateLine]:
    """Return the candidates that have a finite score, best first; none where there is no score."""
    if summary.score is None:
        return []
    key, sign = summary.score, 1 if summary.measure(summary.score).better == "lower" else -1
    having = [c for c in summary.candidates if key in c.figures and math.isfinite(c.figures[key].value)]
    return sorted(having, key=lambda c: sign * c.figures[key].value)


def score_bars(summary: Summary, *, width: Any = 720, most: int = 25) -> Any:
    """Draw the score of the best candidates, each bar made of what the recipe adds up."""
    import altair as alt

    key = str(summary.score)
    line = summary.measure(key)
    best = scored(summary)[:most]
    values = [
        {
            "label": c.label,
            "part": part.removesuffix("()"),
            "value": value,
            "score": c.figures[key].text,
            "place": place,
        }
        for c in best
        for place, (part, value) in enumerate((c.score_parts or {line.name: c.figures[key].value}).items())
    ]
    parts = [str(part) for part in dict.fromkeys(v["part"] for v in values)]
    y = alt.Y(
        "label:N", sort=[c.label for c in best], title=None, axis=alt.Axis(labelLimit=260, ticks=False, domain=False)
    )
    bars = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar(height={"band": 0.72})
        .encode(
            y=y,
            x=alt.X("value:Q", title=f"{line.name} ({line.better} is better)", axis=alt.Axis(tickCount=8)),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=parts, range=_cycle(PARTS, len(parts))),
                legend=alt.Legend(title="made of"),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("label:N", title="Candidate"),
                alt.Tooltip("score:N", title=line.name),
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip("value:Q", title="Adds", format=".3g"),
            ],
        )
    )
    totals = [
        {"label": c.label, "value": c.figures[key].value, "score": c.figures[key].text, "chosen": c.chosen}
        for c in best
    ]
    text = (
        alt.Chart(alt.InlineData(values=totals))
        .mark_text(align="left", dx=5, fontSize=10, color=INK)
        .transform_calculate(words="datum.chosen ? datum.score + '  chosen' : datum.score")
        .encode(y=y, x="value:Q", text="words:N")
    )
    return dressed(
        alt.layer(bars, text).properties(
            width=width,
            height=max(20 * len(best), 60),
            description=f"{line.title} of the {len(best)} best candidates, the best first",
        )
    )


def before_and_after(variable: VariableDetail, *, width: Any = 380, height: int = 150) -> Any:
    """Draw the distribution of one variable in both tables."""
    import altair as alt

    tables = (("original", variable.shares_before), ("protected", variable.shares_after))
    colour = alt.Color(
        "table:N",
        scale=alt.Scale(domain=["original", "protected"], range=[BEFORE, AFTER]),
        legend=alt.Legend(title=None, orient="top", symbolType="square"),
    )
    y = alt.Y("share:Q", title="share of records", axis=alt.Axis(format="%", tickCount=4), stack=None)
    tooltip = [alt.Tooltip("table:N"), alt.Tooltip("bin:N", title="values"), alt.Tooltip("share:Q", format=".2%")]
    chart: Any
    if variable.edges:
        bins = list(zip(variable.edges, variable.edges[1:], strict=False))
        values = [
            {"table": table, "low": low, "high": high, "share": share, "zero": 0, "bin": f"{low:,.6g} to {high:,.6g}"}
            for table, shares in tables
            for (low, high), share in zip(bins, shares, strict=True)
        ]
        x = alt.X(
            "low:Q",
            title=_plain(variable.name),
            axis=alt.Axis(tickCount=6, labelOverlap=True),
            scale=alt.Scale(domain=[variable.edges[0], variable.edges[-1]], nice=False, zero=False),
        )
        base = alt.Chart(alt.InlineData(values=values)).encode(
            x=x, x2="high:Q", y=y, y2="zero:Q", color=colour, tooltip=tooltip
        )
        chart = alt.layer(
            base.transform_filter("datum.table == 'original'").mark_rect(opacity=0.55),
            base.transform_filter("datum.table == 'protected'").mark_rect(
                fillOpacity=0.22, stroke=AFTER, strokeWidth=1.1
            ),
        )
    else:
        values = [
            {"table": table, "bin": category, "share": share}
            for table, shares in tables
            for category, share in zip(variable.categories, shares, strict=True)
        ]
        chart = (
            alt.Chart(alt.InlineData(values=values))
            .mark_bar(opacity=0.8)
            .encode(
                x=alt.X(
                    "bin:N",
                    sort=list(variable.categories),
                    title=_plain(variable.name),
                    axis=alt.Axis(labelAngle=-35, labelLimit=90),
                ),
                xOffset=alt.XOffset("table:N", sort=["original", "protected"]),
                y=y,
                color=colour,
                tooltip=tooltip,
            )
        )
    words = f"Distribution of {variable.name} in the original and the protected table"
    return dressed(chart.properties(width=width, height=height, description=words))


def map_in_words(summary: Summary) -> str:
    """Say what the map shows, for those who cannot see it."""
    risk, utility = summary.measure(str(summary.risk)), summary.measure(str(summary.utility))
    on = [
        f"{c.label} ({c.figures[risk.key].text}, {c.figures[utility.key].text})"
        for c in summary.candidates
        if c.on_frontier
    ]
    chosen = f" Chosen: {summary.chosen.label}." if summary.chosen else ""
    return (
        f"Scatter plot of {len(summary.candidates)} candidates: {risk.title} across, {utility.title} upward. "
        f"On the frontier: {'; '.join(on) or 'none'}.{chosen}"
    )


def _point(summary: Summary, line: CandidateLine, risk: MeasureLine, utility: MeasureLine) -> dict[str, Any]:
    point: dict[str, Any] = {
        "label": line.label,
        "short": shortened(line.label),
        "family": line.family,
        "status": line.status or "–",
        "frontier": line.on_frontier,
        "chosen": line.chosen,
        "x": line.figures[risk.key].value,
        "y": line.figures[utility.key].value,
    }
    for i, measure in enumerate(summary.measures):
        point[f"figure{i}"] = line.figures[measure.key].text if measure.key in line.figures else "–"
    for axis, key in (("x", risk.key), ("y", utility.key)):
        if line.chosen and key in summary.over_records:
            point[f"{axis}_from"], point[f"{axis}_to"] = summary.over_records[key]
        width = line.figures[key].width
        if width is not None:
            point[f"{axis}_low"], point[f"{axis}_high"] = point[axis] - width, point[axis] + width
    return point


def _bound_layers(alt: Any, bound: Bound, scale: Scale, channel: dict[str, Any], *, lower: bool) -> list[Any]:
    """Draw a bound as a rule across its axis and shade the side that is not allowed."""
    ((axis, encoded),) = channel.items()
    words = f"{bound.name} {bound.text}" if axis == "y" else bound.text
    at = alt.InlineData(values=[{axis: bound.limit, "end": scale.high if lower else scale.low, "words": words}])
    place: Any = {"y": alt.value(0)} if axis == "x" else {"x": alt.value("width")}
    text: Any = {"dx": 5, "dy": 5, "baseline": "top"} if axis == "x" else {"dx": -5, "dy": -4, "baseline": "bottom"}
    return [
        alt.Chart(at).mark_rect(color=WARN, opacity=0.06).encode(**{axis: encoded, f"{axis}2": "end:Q"}),
        alt.Chart(at).mark_rule(color=WARN, strokeDash=[5, 4], strokeWidth=1.4).encode(**{axis: encoded}),
        alt.Chart(at)
        .mark_text(align="left" if axis == "x" else "right", color=WARN, fontSize=11, **text)
        .encode(**{axis: encoded}, **place, text="words:N"),
    ]


def _spaced(points: Sequence[dict[str, Any]], across: Scale, upward: Scale) -> list[dict[str, Any]]:
    """Keep the labels that have room: the chosen one first, then along the frontier."""
    kept: list[tuple[float, float]] = []
    labelled = []
    for point in sorted((p for p in points if p["frontier"] or p["chosen"]), key=lambda p: (not p["chosen"], p["x"])):
        spot = (across.place(point["x"]), upward.place(point["y"]))
        if spot[0] < 0.8 and all(abs(spot[0] - a) > 0.26 or abs(spot[1] - b) > 0.045 for a, b in kept):
            kept.append(spot)
            labelled.append(point)
    return labelled


def _axis(measure: MeasureLine, scale: Scale) -> Any:
    import altair as alt

    ticks: Any = {"tickCount": 7} if scale.constant is None else {"values": scale.round_values()}
    return alt.Axis(format=".3~p" if measure.unit == "share" else ",.12~g", **ticks)


def _axis_title(what: str, measure: MeasureLine, scale: Scale) -> list[str]:
    unit = "share, " if measure.unit == "share" else ""
    stretched = ", logarithmic scale" if scale.constant is not None else ""
    return [f"{what}: {_plain(measure.title)}", f"({unit}{measure.better} is better{stretched})"]


def shortened(label: str) -> str:
    """Write a candidate's name short enough for a picture: a chain by its first and last steps, the rest as dots.

    >>> shortened("MDAV(k=3)"), shortened("GlobalRecoding(groups=5, rare=0.05) + LocalSuppression(k=3) + MDAV(k=3)")
    ('MDAV(k=3)', 'GlobalRecoding(…) + … + MDAV(k=3)')
    """
    if len(label) <= LONG:
        return label
    steps = label.split(" + ")
    if len(steps) == 1:
        return label[: LONG - 1] + "…"
    brief = [re.sub(r"\(.+\)$", "(…)", step) for step in steps[:-1]]
    last = steps[-1] if len(steps[-1]) <= LONG else re.sub(r"\(.+\)$", "(…)", steps[-1])
    kept = brief if len(steps) == 2 else [brief[0], "…"]
    return " + ".join([*kept, last])


def _plain(text: str) -> str:
    return " ".join(text.split())


def _cycle(values: Sequence[str], n: int) -> list[str]:
    return [values[i % len(values)] for i in range(n)]


def dressed(chart: Any) -> Any:
    """Give every picture the same clothes."""
    return (
        chart.configure(background="white", font=FONT, padding=6)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
            titleFontSize=12,
            labelFontSize=11,
            gridColor=PALE,
            domainColor=GREY,
            tickColor=GREY,
            titlePadding=9,
        )
        .configure_legend(
            orient="bottom",
            columns=4,
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
            labelFontSize=11,
            titleFontSize=11,
        )
    )
