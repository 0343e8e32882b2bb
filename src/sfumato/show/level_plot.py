"""The levels of the keys in a small picture: the one chosen, and what its neighbours would cost."""

from collections.abc import Sequence

from sfumato.compare.examine.findings import KeyLevel
from sfumato.show.vega import AFTER, BARE, GREY, INK, WARN, Spec, dressed, name, number, unit, values
from sfumato.show.wording import percentage


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
