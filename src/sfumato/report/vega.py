"""Pictures as plain Vega-Lite: what their specifications share, and the clothes they all wear.

A specification is a dict, so that a report needs no library to build it: the drawing alone is done by vl-convert, or in
the reader's browser. Altair is for notebooks and the pages of studies.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.display import visible
from sfumato.errors import ParameterError

Spec = dict[str, Any]

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
CONFIG: Spec = {
    "background": "white",
    "font": FONT,
    "padding": 6,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "labelSeparation": 6,  # or numbers run together
        "gridColor": PALE,
        "domainColor": GREY,
        "tickColor": GREY,
        "titlePadding": 9,
    },
    "legend": {
        "orient": "bottom",
        "columns": 4,
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11,
    },
}
BARE = {"ticks": False, "domain": False}  # an axis of names
TABLES = ("original", "protected")
_LOOKS_LIKE = str.maketrans({"\n": "↵", "\\": "\N{SET MINUS}"})


def dressed(spec: Mapping[str, Any]) -> Spec:
    """Give a picture the same clothes as all others, and only text that can be drawn.

    Here the text of files enters a picture. The renderer ends the whole process at a control character and refuses a
    title with a line break; Vega-Lite puts titles into expressions, where after a backslash a text becomes a program.
    """
    return {**_drawable(spec), "config": CONFIG}


def _drawable(thing: Any) -> Any:
    if isinstance(thing, str):
        return visible(thing).translate(_LOOKS_LIKE)
    if isinstance(thing, Mapping):
        return {key: _drawable(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_drawable(entry) for entry in thing]
    return thing


def number(field: str, **said: Any) -> Spec:
    """Read a channel from a field of numbers."""
    return {"field": field, "type": "quantitative", **said}


def moment(field: str, **said: Any) -> Spec:
    """Read a channel from a field of moments, in milliseconds since 1970."""
    return {"field": field, "type": "temporal", **said}


def name(field: str, **said: Any) -> Spec:
    """Read a channel from a field of names."""
    return {"field": field, "type": "nominal", **said}


def unit(mark: str | Spec, encoding: Spec, **said: Any) -> Spec:
    """Draw one kind of mark: ``data``, ``transform``, ``name`` and the like may be said too."""
    return {"mark": mark, "encoding": encoding, **said}


def values(rows: Sequence[Mapping[str, Any]]) -> Spec:
    """Put rows into the picture itself."""
    return {"values": [dict(row) for row in rows]}


def both_tables() -> Spec:
    """Colour marks by the table they tell of."""
    return name(
        "table",
        scale={"domain": list(TABLES), "range": [BEFORE, AFTER]},
        legend={"title": None, "orient": "top", "symbolType": "square"},
    )


def cycled(palette: Sequence[str], n: int) -> list[str]:
    """Return n entries of a palette, from the start again if it has fewer."""
    return [palette[i % len(palette)] for i in range(n)]


def one_line(text: str) -> str:
    """Write a text on one line."""
    return " ".join(text.split())


def altair() -> Any:
    """Import Altair."""
    try:
        import altair as alt
    except ModuleNotFoundError:
        raise ParameterError(
            "pictures in notebooks and the pages of studies need Altair, which is not installed; "
            "run: pip install 'sfumato[charts]'"
        ) from None
    return alt
