"""A heat map of what a measure says of every pair of variables."""

from collections.abc import Mapping

import numpy as np

from sfumato.show.vega import AFTER, BARE, GREY, PALE, WARN, Spec, dressed, name, number, unit, values

MOST = 40  # variables on the map


def pair_map(title: str, by_pair: Mapping[tuple[str, str], float], *, better: str, width: int | None = None) -> Spec:
    """Draw a square for each pair of variables, the worst variables first; the darker, the worse."""
    order = worst_first(by_pair, better)[:MOST]
    cells = [
        {"a": one, "b": other, "value": value}
        for pair, value in by_pair.items()
        if np.isfinite(value) and set(pair) <= set(order)
        for one, other in (pair, pair[::-1])
    ]
    size = max(9, min(26, 620 // max(len(order), 1)))
    side = width or size * len(order)
    shades = [PALE, WARN] if better == "lower" else [WARN, AFTER]
    legend = {"title": f"{title} ({better} is better)", "orient": "bottom", "gradientLength": 220, "titleLimit": 400}
    encoding = {
        "x": name("a", sort=order, title=None, axis={"labelAngle": -50, "labelLimit": 150, **BARE}),
        "y": name("b", sort=order, title=None, axis={"labelLimit": 170, **BARE}),
        "color": number("value", scale={"range": shades, "zero": better == "lower"}, legend=legend),
        "tooltip": [name("a", title="variable"), name("b", title="with"), number("value", title=title, format=".4g")],
    }
    square = {"type": "rect", "stroke": GREY, "strokeWidth": 0.3}
    words = f"Heat map of {len(order)} variables: {title} of each pair"
    drawn = unit(square, encoding, data=values(cells))
    return dressed({**drawn, "width": side, "height": side, "description": words})


def worst_first(by_pair: Mapping[tuple[str, str], float], better: str) -> list[str]:
    """Return the variables by the mean over their pairs, the worst first."""
    found: dict[str, list[float]] = {}
    for pair, value in by_pair.items():
        for variable in pair:
            found.setdefault(variable, []).append(value)
    sign = -1.0 if better == "lower" else 1.0
    return sorted(found, key=lambda variable: (sign * float(np.mean(found[variable])), variable))
