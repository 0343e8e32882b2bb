"""The smaller pictures: the score, each variable before and after, regressions, levels of keys, pairs of variables."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.about import Directed
from sfumato.compare.examine.findings import CoefficientChange, KeyLevel, VariableDetail
from sfumato.report.grades import DRAWN
from sfumato.report.summary import CandidateLine, Summary, Usefulness
from sfumato.report.vega import (
    AFTER,
    BARE,
    BEFORE,
    GREY,
    INK,
    PALE,
    TABLES,
    WARN,
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
from sfumato.report.wording import percentage, quantity

MILLISECONDS = 86_400_000  # of a day: what pictures count time in
PARTS = ("#0b6e8a", "#c8553d", "#e3a857", "#8a8578", "#5b8c5a", "#7a5195")  # of a score

MAX_VARIABLES = 40  # variables on the map


def scored(summary: Summary) -> list[CandidateLine]:
    """Return the candidates that have a finite score, best first; none if there is no score."""
    if summary.score is None:
        return []
    key, sign = summary.score, summary.measure(summary.score).sign
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


def level_plot(found: Sequence[KeyLevel], *, width: int = 420) -> Spec:
    """Draw the levels of each key, the one chosen filled; beside it what one less and one more would come to."""
    keys = [one.key for one in found]
    y = name("key", sort=keys, title=None, axis={"labelLimit": 200, **BARE})
    most = max(one.levels for one in found)
    x = {
        "scale": {"domain": [-0.6, most + 0.6]},
        "axis": {"values": list(range(most + 1)), "format": "d", "grid": False},
    }
    rungs = [{"key": one.key, "x": level, "end": one.levels} for one in found for level in range(one.levels + 1)]
    chosen = [{"key": one.key, "x": one.level} for one in found]
    less = [
        {"key": one.key, "x": one.level - 0.5, "said": percentage(one.less_suppressed), "kept": bool(one.less_kept)}
        for one in found
        if one.less_suppressed is not None
    ]
    more = [
        {"key": one.key, "x": one.level + 0.5, "said": f"{one.more_loss - one.loss:+.2g}"}
        for one in found
        if one.more_loss is not None
    ]
    at = number("x", title="level: 0 is the key as it was", **x)
    above = {"type": "text", "dy": -9, "fontSize": 10}
    layers = [
        unit({"type": "rule", "color": GREY}, {"y": y, "x": at, "x2": {"field": "end"}}, data=values(rungs)),
        unit({"type": "point", "filled": True, "fill": "white", "stroke": GREY, "size": 60, "opacity": 1},
             {"y": y, "x": at}, data=values(rungs)),
        unit({"type": "point", "filled": True, "color": AFTER, "size": 110, "opacity": 1},
             {"y": y, "x": at}, data=values(chosen)),
        unit(above, {"y": y, "x": at, "text": name("said"),
                     "color": {"condition": {"test": "datum.kept", "value": INK}, "value": WARN}}, data=values(less)),
        unit({**above, "color": AFTER}, {"y": y, "x": at, "text": name("said")}, data=values(more)),
    ]  # fmt: skip
    words = (
        "Levels of the keys: filled is the one chosen; before it the share of records that would have to be suppressed "
        "with one level less, red if they are too many; behind it what one level more would add to the loss"
    )
    return dressed({"layer": layers, "width": width, "height": max(34 * len(found), 60), "description": words})


def pair_map(
    title: str, by_pair: Mapping[tuple[str, str], float], direction: Directed, *, width: int | None = None
) -> Spec:
    """Draw a square for each pair of variables, the worst variables first; the darker, the worse."""
    order = worst_first(by_pair, direction)[:MAX_VARIABLES]
    cells = [
        {"a": one, "b": other, "value": value}
        for pair, value in by_pair.items()
        if np.isfinite(value) and set(pair) <= set(order)
        for one, other in (pair, pair[::-1])
    ]
    axes, side, _ = _grid(order, width)
    shades = [PALE, WARN] if direction.lower_is_better else [WARN, AFTER]
    legend = {
        "title": f"{title} ({direction.better} is better)",
        "orient": "bottom",
        "gradientLength": 220,
        "titleLimit": 400,
    }
    encoding = {
        **axes,
        "color": number("value", scale={"range": shades, "zero": direction.lower_is_better}, legend=legend),
        "tooltip": [name("a", title="variable"), name("b", title="with"), number("value", title=title, format=".4g")],
    }
    square = {"type": "rect", "stroke": GREY, "strokeWidth": 0.3}
    words = f"Heat map of {len(order)} variables: {title} of each pair"
    drawn = unit(square, encoding, data=values(cells))
    return dressed({**drawn, "width": side, "height": side, "description": words})


def _grid(order: Sequence[str], width: int | None) -> tuple[Spec, int, int]:
    """Return the axes of a square for each pair of variables, the side of the picture, and that of a square."""
    size = max(9, min(26, 620 // max(len(order), 1)))
    x = name("a", sort=order, title=None, axis={"labelAngle": -50, "labelLimit": 150, **BARE})
    y = name("b", sort=order, title=None, axis={"labelLimit": 170, **BARE})
    return {"x": x, "y": y}, width or size * len(order), size


def worst_first(by_pair: Mapping[tuple[str, str], float], direction: Directed) -> list[str]:
    """Return the variables by the mean over their pairs, the worst first."""
    found: dict[str, list[float]] = {}
    for pair, value in by_pair.items():
        for variable in pair:
            found.setdefault(variable, []).append(value)
    return sorted(found, key=lambda variable: (-direction.sign * float(np.mean(found[variable])), variable))


def pair_heat_map(found: Usefulness, *, width: int | None = None) -> Spec:
    """Draw how much of each association is left: a square per pair, crossed if the two cannot be compared."""
    variables = found.variables[:DRAWN]
    order = [v.name for v in variables]
    cells = [
        {
            "a": one,
            "b": other,
            "utility": pair.utility,
            "said": "–" if pair.utility is None else f"{pair.utility:.2f}",
            "test": pair.test,
            "before": _coefficient(pair.before),
            "after": _coefficient(pair.after),
            "reason": pair.reason,
        }
        for pair in found.drawn
        for one, other in ((pair.first, pair.second), (pair.second, pair.first))
    ]
    axes, side, size = _grid(order, width)
    base = {
        **axes,
        "tooltip": [
            name("a", title="variable"),
            name("b", title="with"),
            name("said", title="utility"),
            name("reason", title="what happened"),
            name("test"),
            name("before", title="original"),
            name("after", title="protected"),
        ],
    }
    legend = {
        "title": "utility of the pair (1 is as before)",
        "orient": "bottom",
        "gradientLength": 220,
        "format": ".1f",
    }
    colour = number("utility", scale={"domain": [0, 0.5, 1], "range": [WARN, "#e8c9a0", AFTER]}, legend=legend)
    square = {"type": "rect", "stroke": "white", "strokeWidth": 1}
    layers = [unit(square, {**base, "color": colour}, transform=[{"filter": "isValid(datum.utility)"}])]
    if any(cell["utility"] is None for cell in cells):
        unjudged = [{"filter": "!isValid(datum.utility)"}]
        cross = {"type": "text", "text": "×", "color": INK, "fontSize": max(8, size - 10)}
        layers += [unit({**square, "color": PALE}, base, transform=unjudged), unit(cross, base, transform=unjudged)]
    words = f"Heat map of {len(order)} variables: the utility of each pair from 0 to 1; " + "; ".join(
        f"{number_}: {outcome}" for outcome, number_ in found.counts
    )
    return dressed({"data": values(cells), "layer": layers, "width": side, "height": side, "description": words})


def utility_bars(found: Usefulness, *, width: int = 420) -> Spec:
    """Draw the utility of each variable alone and of its pairs, the least useful first."""
    variables = found.variables[:DRAWN]
    kinds = ["its distribution", "its associations (mean)"]
    rows = [
        {
            "variable": v.name,
            "label": v.title,
            "of": of,
            "utility": value,
            "distance": _coefficient(v.distance),
            "note": v.note,
        }
        for v in variables
        for of, value in zip(kinds, (v.utility, v.pairs), strict=True)
        if value is not None
    ]
    encoding = {
        "y": name("variable", sort=[v.name for v in variables], title=None, axis={"labelLimit": 200, **BARE}),
        "yOffset": name("of", sort=kinds),
        "x": number("utility", title="utility (1 is as before)", scale={"domain": [0, 1]}),
        "color": name(
            "of",
            scale={"domain": kinds, "range": [BEFORE, AFTER]},
            legend={"title": None, "orient": "top", "symbolType": "square"},
        ),
        "tooltip": [
            name("variable"),
            name("label"),
            name("of"),
            number("utility", format=".3f"),
            name("distance", title="distance between the distributions"),
            name("note"),
        ],
    }
    words = f"Bars of the utility of {len(variables)} variables, each alone and in the mean of its pairs"
    rule = unit({"type": "rule", "color": GREY}, {"x": number("x")}, data=values([{"x": 1}]))
    height = max(26 * len(variables), 60)
    layers = [unit("bar", encoding, data=values(rows)), rule]
    return dressed({"layer": layers, "width": width, "height": height, "description": words})


def _coefficient(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
