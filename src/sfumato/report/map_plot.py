"""The risk-utility map: every candidate by its risk and its utility, the frontier, the bounds and the chosen one."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from sfumato.report.summary import Bound, CandidateLine, MeasureLine, Summary
from sfumato.report.vega import (
    COLOURS,
    GREY,
    INK,
    SHAPES,
    WARN,
    Spec,
    cycled,
    dressed,
    name,
    number,
    one_line,
    unit,
    values,
)

HALF = 54  # characters of a legend's entry that half the width of a picture has room for
MAX_NAME_LENGTH = 40  # characters of a name before it is shortened in a picture
LIVELY = "datum.frontier || datum.chosen || family.family && indexof(family.family, datum.family) >= 0"
STAR = "M0,-1L0.24,-0.32L0.95,-0.31L0.38,0.12L0.59,0.81L0,0.4L-0.59,0.81L-0.38,0.12L-0.95,-0.31L-0.24,-0.32Z"
MAX_LINE_LENGTH = 110  # characters of a line above the picture
POINTS = {"name": "points"}  # the data of most layers


@dataclass(frozen=True)
class Scale:
    """An axis: plain, or symmetric-log where a few candidates would squeeze all others into a corner."""

    low: float
    high: float
    constant: float | None = None  # of the symmetric logarithm: below it the axis is nearly plain

    @classmethod
    def of(cls, values: Sequence[float], *, high_values: bool = False) -> "Scale":
        """Choose the axis for these values; it starts at zero, but for a utility of which all values are high."""
        low, high, middle = min(values), max(values), sorted(values)[len(values) // 2]
        start = min(0.0, low * 1.05)
        if high_values and low > high / 3 and high > low:
            return cls(low - 0.1 * (high - low), high + 0.06 * (high - low))
        if low >= 0 and middle > 0 and high > 6 * middle:
            return cls(start, high * 1.3, max(middle / 2, high / 10_000))
        return cls(start, high + 0.06 * ((high - start) or 1.0))

    def place(self, value: float) -> float:
        """Return where on the axis a value lies, from 0 to 1."""
        low, high = self.low, self.high
        if self.constant is not None:
            low, high, value = (math.log1p(v / self.constant) for v in (low, high, value))
        return (value - low) / (high - low)

    def round_values(self) -> list[float]:
        """Return zero and the round values (1, 2, 5 times a power of ten) that have room on the axis."""
        kept, last = [0.0], self.place(0.0)
        for power in range(-6, 13):
            for digit in (1, 2, 5):
                value = float(f"{digit}e{power}")
                if value <= self.high and self.place(value) - last > 0.055:
                    kept.append(value)
                    last = self.place(value)
        return kept

    def spec(self) -> dict[str, Any]:
        """Return it as Vega-Lite wants it."""
        stretched: dict[str, Any] = {"zero": False}
        if self.constant is not None:
            stretched = {"type": "symlog", "constant": self.constant}
        return {"domain": [self.low, self.high], "nice": False, **stretched}


def axis_scale(summary: Summary, measure: MeasureLine) -> Scale:
    """Choose the axis of a measure, so that every candidate, the original and the bound are on it."""
    original = summary.original_on_map
    lines = [*summary.on_map, *([original] if original is not None else [])]
    values = [line.figures[measure.key].value for line in lines]
    limits = [bound.limit for bound in summary.bounds if bound.key == measure.key]
    return Scale.of(values + limits, high_values=not measure.lower_is_better)


def risk_utility_map(summary: Summary, *, width: int | str = 720, height: int = 430) -> Spec:
    """Draw every candidate by its risk and its utility; ``width`` may be "container", on a page that answers clicks."""
    risk, utility = summary.measure(str(summary.risk)), summary.measure(str(summary.utility))
    across, upward = axis_scale(summary, risk), axis_scale(summary, utility)
    x = _channel("Disclosure risk", risk, across)
    y = _channel("Loss of utility" if utility.lower_is_better else "Utility", utility, upward)
    points = [_on_axes(_point(summary, line, risk, utility), x=across, y=upward) for line in summary.on_map]
    layers = []
    for bound in summary.bounds:
        for measure, scale, axis, channel in ((risk, across, "x", x), (utility, upward, "y", y)):
            if bound.key == measure.key:
                layers += _bound_layers(bound, scale, axis, number(axis, **channel), lower=measure.lower_is_better)
    layers += _frontier(points, x, y)
    layers += _bars(points, x, y)
    layers += _marks(summary, points, x, y, live=width == "container")
    place = {"x": number("x", **x), "y": number("y", **y)}
    layers += _original(summary, risk, utility, across, place)
    ring = {"type": "point", "shape": "circle", "size": 330, "stroke": INK, "strokeWidth": 2.2}
    layers.append(unit(ring, place, data=POINTS, transform=[{"filter": "datum.chosen"}]))
    layers += _labels(_spaced(summary, points, across, upward), place)
    return dressed(
        {
            **_open_marks(summary, points),
            "datasets": {"points": points},
            "layer": layers,
            "params": [
                {
                    "name": "family",
                    "select": {"type": "point", "fields": ["family"]},
                    "bind": "legend",
                    "views": ["candidates"],
                }
            ],
            "width": width,
            "height": height,
            "description": map_in_words(summary),
        }
    )


def map_in_words(summary: Summary) -> str:
    """Say what the map shows, for those who cannot see it."""
    risk, utility = summary.measure(str(summary.risk)), summary.measure(str(summary.utility))
    on = [
        f"{c.name} ({c.figures[risk.key].text}, {c.figures[utility.key].text})"
        for c in summary.candidates
        if c.on_frontier
    ]
    chosen = f" Chosen: {summary.chosen.name}." if summary.chosen else ""
    original = summary.original_on_map
    before = ""
    if original is not None:
        before = f" The original: {original.figures[risk.key].text}, {original.figures[utility.key].text}."
    breaking = sum(bool(summary.broken(line, summary.off_map)) for line in summary.on_map)
    others = f" {breaking} break {bounds_in_words(summary.off_map)}." if breaking else ""
    return (
        f"Scatter plot of {len(summary.candidates)} candidates: {risk.title} across, {utility.title} upward. "
        f"On the frontier: {'; '.join(on) or 'none'}.{chosen}{before}{others}"
    )


def bounds_in_words(bounds: Sequence[Bound]) -> str:
    """Name bounds with their limits.

    >>> bounds_in_words([Bound("a", "KAnonymity", 0.0, "at most 0 %"), Bound("b", "Suppressed", 0.05, "at most 5 %")])
    'KAnonymity at most 0 % or Suppressed at most 5 %'
    """
    return " or ".join(f"{bound.name} {bound.text}" for bound in bounds)


def _open_marks(summary: Summary, points: Sequence[dict[str, Any]]) -> Spec:
    """Say above the picture what open marks are, if there are any: they break a bound that is on neither axis."""
    if not any(point["breaks"] for point in points):
        return {}
    text = wrap(
        f"○ open marks break a bound that is on neither axis: {bounds_in_words(summary.off_map)}", MAX_LINE_LENGTH
    )
    return {
        "title": {"text": text, "anchor": "start", "fontSize": 11, "fontWeight": "normal", "color": WARN, "offset": 8}
    }


def _channel(what: str, measure: MeasureLine, scale: Scale) -> Spec:
    """Say of an axis its scale, its title and its ticks."""
    share = "share, " if measure.unit == "share" else ""
    stretched = ", logarithmic scale" if scale.constant is not None else ""
    ticks: Spec = {"tickCount": 7} if scale.constant is None else {"values": scale.round_values()}
    return {
        "scale": scale.spec(),
        "title": [f"{what}: {one_line(measure.title)}", f"({share}{measure.better} is better{stretched})"],
        "axis": {"format": ".3~p" if measure.unit == "share" else ",.12~g", **ticks},
    }


def _point(summary: Summary, line: CandidateLine, risk: MeasureLine, utility: MeasureLine) -> dict[str, Any]:
    point: dict[str, Any] = {
        "label": line.label,
        "short": shortened(line.name),
        "family": kinds_of_steps(line.family),
        "status": line.status or "–",
        "breaks": bounds_in_words(summary.broken(line, summary.off_map)),
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


def _on_axes(point: dict[str, Any], **scales: Scale) -> dict[str, Any]:
    """End intervals where the axes end: if candidates hardly differ, an interval is many times as long as its axis."""
    for axis, scale in scales.items():
        for end in ("from", "to", "low", "high"):
            if f"{axis}_{end}" in point:
                point[f"{axis}_{end}"] = min(max(point[f"{axis}_{end}"], scale.low), scale.high)
    return point


def _bound_layers(bound: Bound, scale: Scale, axis: str, channel: Spec, *, lower: bool) -> list[Spec]:
    """Draw a bound as a rule across its axis and shade the side that is not allowed."""
    words = f"{bound.name} {bound.text}" if axis == "y" else bound.text
    data = values([{axis: bound.limit, "end": scale.high if lower else scale.low, "words": words}])
    if axis == "x":
        place: Spec = {"y": {"value": 0}}
        text: Spec = {"align": "left", "dx": 5, "dy": 5, "baseline": "top"}
    else:
        place = {"x": {"value": "width"}}
        text = {"align": "right", "dx": -5, "dy": -4, "baseline": "bottom"}
    rule = {"type": "rule", "color": WARN, "strokeDash": [5, 4], "strokeWidth": 1.4}
    return [
        unit(
            {"type": "rect", "color": WARN, "opacity": 0.06}, {axis: channel, f"{axis}2": {"field": "end"}}, data=data
        ),
        unit(rule, {axis: channel}, data=data),
        unit(
            {"type": "text", "color": WARN, "fontSize": 11, **text},
            {axis: channel, **place, "text": name("words")},
            data=data,
        ),
    ]


def _frontier(points: Sequence[dict[str, Any]], x: Spec, y: Spec) -> list[Spec]:
    stairs = sorted((p for p in points if p["frontier"]), key=lambda p: (p["x"], p["y"]))
    if len(stairs) < 2:
        return []
    line = {"type": "line", "interpolate": "step-after", "color": INK, "strokeWidth": 1.3, "opacity": 0.75}
    place = {"x": number("x", **x), "y": number("y", **y), "order": number("x")}
    return [unit(line, place, data=values([{"x": p["x"], "y": p["y"]} for p in stairs]))]


def _bars(points: Sequence[dict[str, Any]], x: Spec, y: Spec) -> list[Spec]:
    thin: Spec = {"type": "rule", "color": GREY, "strokeWidth": 1}
    broad: Spec = {"type": "rule", "color": INK, "strokeWidth": 6, "opacity": 0.22}
    faint: Spec = {"opacity": {"condition": {"test": "datum.frontier", "value": 0.9}, "value": 0.35}}
    layers = []
    for mark, low, high, more in ((thin, "low", "high", faint), (broad, "from", "to", {})):
        for axis, own, across, other in (("x", x, "y", y), ("y", y, "x", x)):
            if not any(f"{axis}_{low}" in p for p in points):
                continue
            ends = {k: v for k, v in own.items() if k != "axis"}
            place = {
                axis: number(f"{axis}_{low}", **ends),
                f"{axis}2": {"field": f"{axis}_{high}"},
                across: number(across, **other),
            }
            there = [{"filter": f"isValid(datum.{axis}_{low})"}]
            layers.append(unit(mark, {**place, **more}, data=POINTS, transform=there))
    return layers


def _marks(summary: Summary, points: Sequence[dict[str, Any]], x: Spec, y: Spec, *, live: bool) -> list[Spec]:
    """Draw the candidates; those off the frontier are grey until their method is clicked in the legend.

    Who breaks a bound that is on neither axis is drawn open.
    """
    families = list(dict.fromkeys(sorted(p["family"] for p in points)))
    longest = max(map(len, families), default=0)
    legend = {
        "title": "Method (click to highlight)" if live else "Method",
        "symbolOpacity": 1,
        "columns": 1 if longest > HALF else 2 if longest > MAX_NAME_LENGTH else 4,
        "labelLimit": 640,
    }
    colours = {"domain": families, "range": cycled(COLOURS, len(families))}
    shapes = {"domain": families, "range": cycled(SHAPES, len(families))}
    told = [name("label", title="Candidate"), name("status", title="Status")]
    told += [name("breaks", title="Breaks")] if any(point["breaks"] for point in points) else []
    told += [name(f"figure{i}", title=line.name) for i, line in enumerate(summary.measures)]
    encoding = {
        "x": number("x", **x),
        "y": number("y", **y),
        "shape": name("family", scale=shapes),
        "color": {"condition": {"test": LIVELY, **name("family", scale=colours, legend=legend)}, "value": GREY},
        "opacity": {"condition": {"test": LIVELY, "value": 1.0}, "value": 0.6},
        "order": number("frontier"),
        "tooltip": told,
    }
    mark = {"type": "point", "filled": True, "size": 75, "strokeWidth": 0.8}
    if not any(point["breaks"] for point in points):
        return [unit(mark, encoding, data=POINTS, name="candidates")]
    hollow = {"type": "point", "filled": False, "fill": "white", "size": 75, "strokeWidth": 1.5}
    return [
        unit(hollow, encoding, data=POINTS, transform=[{"filter": "datum.breaks"}]),
        unit(mark, encoding, data=POINTS, transform=[{"filter": "!datum.breaks"}], name="candidates"),
    ]


def _original(summary: Summary, risk: MeasureLine, utility: MeasureLine, across: Scale, place: Spec) -> list[Spec]:
    """Draw the original as a point of its own, with its name on the side that has room."""
    line = summary.original_on_map
    if line is None:
        return []
    words = "original, unprotected"
    figures = {axis: line.figures[measure.key] for axis, measure in (("x", risk), ("y", utility))}
    row = {"words": words, **{axis: found.value for axis, found in figures.items()}}
    row |= {f"{axis}_text": found.text for axis, found in figures.items()}
    data = values([row])
    mark = {"type": "point", "shape": STAR, "filled": True, "size": 260, "color": INK, "opacity": 1}
    told = [name("words", title="Table"), name("x_text", title=risk.name), name("y_text", title=utility.name)]
    left = across.place(figures["x"].value) > 0.6
    text = {
        "type": "text",
        "align": "right" if left else "left",
        "dx": -13 if left else 13,
        "baseline": "middle",
        "fontSize": 11,
    }
    halo = {"color": "white", "stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}
    named = {**place, "text": name("words")}
    return [
        unit(mark, {**place, "tooltip": told}, data=data),
        unit({**text, **halo}, named, data=data),
        unit({**text, "color": INK, "fontStyle": "italic"}, named, data=data),
    ]


def _labels(named: Sequence[dict[str, Any]], place: Spec) -> list[Spec]:
    layers = []
    halo = {"color": "white", "stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}
    for wanted, look in ((True, {"dx": 14, "fontSize": 12, "fontWeight": "bold"}), (False, {"dx": 8, "fontSize": 10})):
        data = values([{key: p[key] for key in ("x", "y", "short")} for p in named if p["chosen"] is wanted])
        text = {"type": "text", "align": "left", "dy": -8, **look}
        encoding = {**place, "text": name("short")}
        layers += [unit({**text, **halo}, encoding, data=data), unit({**text, "color": INK}, encoding, data=data)]
    return layers


def _spaced(summary: Summary, points: Sequence[dict[str, Any]], across: Scale, upward: Scale) -> list[dict[str, Any]]:
    """Keep the labels that have room beside the original's: the chosen one first, then along the frontier."""
    original, axes = summary.original_on_map, (str(summary.risk), str(summary.utility))
    kept: list[tuple[float, float]] = []
    if original is not None:
        x, y = (original.figures[key].value for key in axes)
        kept.append((across.place(x), upward.place(y)))
    labelled = []
    for point in sorted((p for p in points if p["frontier"] or p["chosen"]), key=lambda p: (not p["chosen"], p["x"])):
        spot = (across.place(point["x"]), upward.place(point["y"]))
        if spot[0] < 0.8 and all(abs(spot[0] - a) > 0.3 or abs(spot[1] - b) > 0.045 for a, b in kept):
            kept.append(spot)
            labelled.append(point)
    return labelled


def kinds_of_steps(family: str) -> str:
    """Name the kinds of steps of a chain, each once.

    >>> kinds_of_steps("GlobalRecoding + GlobalRecoding + MDAV")
    'GlobalRecoding + MDAV'
    """
    return " + ".join(dict.fromkeys(family.split(" + ")))


def shortened(label: str) -> str:
    """Write a candidate's name short enough for a picture: a chain by its first and last steps, the rest as dots.

    >>> shortened("MDAV(k=3)"), shortened("GlobalRecoding(groups=5, rare=0.05) + LocalSuppression(k=3) + MDAV(k=3)")
    ('MDAV(k=3)', 'GlobalRecoding(…) + … + MDAV(k=3)')
    """
    if len(label) <= MAX_NAME_LENGTH:
        return label
    steps = label.split(" + ")
    if len(steps) == 1:
        return label[: MAX_NAME_LENGTH - 1] + "…"
    brief = [re.sub(r"\(.+\)$", "(…)", step) for step in steps[:-1]]
    last = steps[-1] if len(steps[-1]) <= MAX_NAME_LENGTH else re.sub(r"\(.+\)$", "(…)", steps[-1])
    kept = brief if len(steps) == 2 else [brief[0], "…"]
    return " + ".join([*kept, last])
