"""The smaller pictures: the score and what it is made of, each variable before and after, regression intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sfumato.compare.examine.findings import CoefficientChange, VariableDetail
from sfumato.show.summary import CandidateLine, Summary
from sfumato.show.vega import (
    AFTER,
    BARE,
    GREY,
    INK,
    TABLES,
    Spec,
    both_tables,
    cycled,
    dressed,
    moment,
    name,
    number,
    one_line,
    unit,
    values,
)
from sfumato.show.wording import quantity

MILLISECONDS = 86_400_000  # of a day: what pictures count time in
PARTS = ("#0b6e8a", "#c8553d", "#e3a857", "#8a8578", "#5b8c5a", "#7a5195")  # of a score


def scored(summary: Summary) -> list[CandidateLine]:
    """Return the candidates that have a finite score, best first; none if there is no score."""
    if summary.score is None:
        return []
    key, sign = summary.score, 1 if summary.measure(summary.score).better == "lower" else -1
    having = [c for c in summary.candidates if key in c.figures and math.isfinite(c.figures[key].value)]
    return sorted(having, key=lambda c: sign * c.figures[key].value)


def score_bars(summary: Summary, *, width: int | str = 720, most: int = 25) -> Spec:
    """Draw the score of the best candidates, each bar made of what the recipe adds up."""
    key = str(summary.score)
    line = summary.measure(key)
    best = scored(summary)[:most]
    called = {c.label: c.name for c in best}
    if len(set(called.values())) < len(called):
        called = {label: label for label in called}
    rows = [
        {
            "label": c.label,
            "name": called[c.label],
            "part": part.removesuffix("()"),
            "value": value,
            "score": c.figures[key].text,
            "place": place,
        }
        for c in best
        for place, (part, value) in enumerate((c.score_parts or {line.name: c.figures[key].value}).items())
    ]
    parts = [str(part) for part in dict.fromkeys(row["part"] for row in rows)]
    y = name("name", sort=list(called.values()), title=None, axis={"labelLimit": 260, **BARE})
    bars = unit(
        {"type": "bar", "height": {"band": 0.72}},
        {
            "y": y,
            "x": number("value", title=f"{line.name} ({line.better} is better)", axis={"tickCount": 8}),
            "color": name(
                "part", scale={"domain": parts, "range": cycled(PARTS, len(parts))}, legend={"title": "made of"}
            ),
            "order": number("place"),
            "tooltip": [
                name("label", title="Candidate"),
                name("score", title=line.name),
                name("part", title="Part"),
                number("value", title="Adds", format=".3g"),
            ],
        },
        data=values(rows),
    )
    totals = [
        {
            "name": called[c.label],
            "value": c.figures[key].value,
            "words": c.figures[key].text + ("  chosen" if c.chosen else ""),
        }
        for c in best
    ]
    text = unit(
        {"type": "text", "align": "left", "dx": 5, "fontSize": 10, "color": INK},
        {"y": y, "x": number("value"), "text": name("words")},
        data=values(totals),
    )
    words = f"{line.title} of the {len(best)} best candidates, the best first"
    return dressed({"layer": [bars, text], "width": width, "height": max(20 * len(best), 60), "description": words})


def before_and_after(variable: VariableDetail, *, width: int = 380, height: int = 150) -> Spec:
    """Draw the distribution of one variable in both tables; what is missing or suppressed has bars of its own.

    A recoded variable is drawn in the original's values, each class spread evenly over those that it holds.
    """
    if (own := variable.own) is not None:
        shares: dict[str, Any] = {"shares_before": own.before, "shares_after": own.after}
        variable = replace(variable, **shares, edges=own.edges, categories=own.categories)
    drawn = _histogram(variable, width, height) if variable.edges else _categories(variable, width, height)
    words = f"Distribution of {variable.name} in the original and the protected table"
    gaps = [f"{what} {100 * before:.1f} % before, {100 * after:.1f} % after" for what, before, after in variable.gaps]
    return dressed({**drawn, "description": "; ".join([words, *gaps])})


def _share(**said: Any) -> Spec:
    return number(
        "share", **{"title": "share of records", "axis": {"format": "%", "tickCount": 4}, "stack": None, **said}
    )


def _tooltip() -> list[Spec]:
    return [name("table"), name("bin", title="values"), number("share", format=".2%")]


def _bars(bins: Sequence[str], rows: Sequence[Mapping[str, Any]], title: str | None, share: Spec) -> Spec:
    """Draw two bars for each name, one for each table."""
    encoding = {
        "x": name("bin", sort=list(bins), title=title, axis={"labelAngle": -35, "labelLimit": 90}),
        "xOffset": name("table", sort=list(TABLES)),
        "y": share,
        "color": both_tables(),
        "tooltip": _tooltip(),
    }
    return unit({"type": "bar", "opacity": 0.8}, encoding, data=values(rows))


def _gaps(variable: VariableDetail) -> list[dict[str, Any]]:
    return [
        {"table": table, "bin": what, "share": share}
        for what, *shares in variable.gaps
        for table, share in zip(TABLES, shares, strict=True)
    ]


def _histogram(variable: VariableDetail, width: int, height: int) -> Spec:
    date = variable.kind == "date"
    edges = [edge * MILLISECONDS for edge in variable.edges] if date else list(variable.edges)
    bins = list(pairwise(edges))
    ends = [quantity(edge, "date") if date else f"{edge:,.6g}" for edge in variable.edges]
    words = dict(zip(edges, ends, strict=True))
    tables = zip(TABLES, variable.of_all_records, strict=True)
    rows = [
        {"table": table, "low": low, "high": high, "share": share, "zero": 0, "bin": f"{words[low]} to {words[high]}"}
        for table, shares in tables
        for (low, high), share in zip(bins, shares, strict=True)
    ]
    encoding = {
        "x": (moment if date else number)(
            "low",
            title=one_line(variable.name),
            axis={"tickCount": 6, "labelOverlap": True},
            scale={"domain": [edges[0], edges[-1]], "nice": False, **({"type": "utc"} if date else {"zero": False})},
        ),
        "x2": {"field": "high"},
        "y": _share(),
        "y2": {"field": "zero"},
        "color": both_tables(),
        "tooltip": _tooltip(),
    }
    looks: tuple[Spec, ...] = ({"opacity": 0.55}, {"fillOpacity": 0.22, "stroke": AFTER, "strokeWidth": 1.1})
    drawn: Spec = {
        "data": values(rows),
        "layer": [
            unit({"type": "rect", **look}, encoding, transform=[{"filter": f"datum.table == '{table}'"}])
            for table, look in zip(TABLES, looks, strict=True)
        ],
        "width": width,
        "height": height,
    }
    gaps = [what for what, *_ in variable.gaps]
    if not gaps:
        return drawn
    beside = _bars(gaps, _gaps(variable), None, _share(title=None, axis=None))
    room = 36 * len(gaps)
    return {
        "hconcat": [{**drawn, "width": width - room - 12}, {**beside, "width": room, "height": height}],
        "spacing": 12,
        "resolve": {"scale": {"y": "shared"}},
    }


def _categories(variable: VariableDetail, width: int, height: int) -> Spec:
    tables = zip(TABLES, variable.of_all_records, strict=True)
    rows = [
        {"table": table, "bin": category, "share": share}
        for table, shares in tables
        for category, share in zip(variable.categories, shares, strict=True)
    ]
    taken = set(variable.categories)
    gaps = [{**row, "bin": f"({row['bin']})" if row["bin"] in taken else row["bin"]} for row in _gaps(variable)]
    bins = dict.fromkeys([*variable.categories, *(row["bin"] for row in gaps)])
    drawn = _bars(list(bins), rows + gaps, one_line(variable.name), _share())
    return {**drawn, "width": width, "height": height}


def interval_plot(found: Sequence[CoefficientChange], *, width: int = 420) -> Spec:
    """Draw both intervals of each coefficient, in units in which the original's reaches from -1 to 1."""
    rows, names = [], []
    for change in found:
        names.append(f"{change.coefficient} in {change.model}")
        centre, low, high = change.before
        half = (high - low) / 2 or 1.0
        for table, (estimate, start, end) in zip(TABLES, (change.before, change.after), strict=True):
            rows.append(
                {
                    "name": names[-1],
                    "table": table,
                    "estimate": (estimate - centre) / half,
                    "low": (start - centre) / half,
                    "high": (end - centre) / half,
                    "said": f"{estimate:.4g} ({start:.4g} to {end:.4g})",
                }
            )
    base = {
        "y": name("name", sort=names, title=None, axis={"labelLimit": 280, **BARE}),
        "yOffset": name("table", sort=list(TABLES)),
        "color": both_tables(),
        "tooltip": [name("name"), name("table"), name("said", title="estimate")],
    }
    title = "the original's 95 % interval reaches from -1 to 1"
    ends = {"x": number("low", title=title), "x2": {"field": "high"}}
    layers = [
        unit(
            {"type": "rule", "color": GREY, "strokeDash": [3, 3]},
            {"x": number("x")},
            data=values([{"x": -1}, {"x": 1}]),
        ),
        unit({"type": "rule", "strokeWidth": 2.4}, {**base, **ends}, data=values(rows)),
        unit(
            {"type": "point", "filled": True, "size": 38},
            {**base, "x": number("estimate", title=title)},
            data=values(rows),
        ),
    ]
    words = f"Intervals of {len(found)} regression coefficients in the original and the protected table"
    return dressed({"layer": layers, "width": width, "height": max(28 * len(found), 60), "description": words})
