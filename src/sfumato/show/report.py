"""The report: one HTML file that needs no network, every picture as PNG and SVG, and the figures as JSON."""

import base64
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sfumato.data.atomic import reason, replacing
from sfumato.errors import FileError
from sfumato.show import plots, wording
from sfumato.show.summary import Summary, VariableDetail, to_json

PICTURED = 24  # variables drawn in the report; the table has them all


def write_report(summary: Summary, directory: str | Path) -> Path:
    """Write report.html, results.json and plots/*.png and *.svg; return the path of the report."""
    directory = Path(directory)
    pictures: dict[str, str] = {}
    for name, chart in _charts(summary):
        svg, png = _rendered(chart)
        pictures[name] = svg
        save(directory / "plots" / f"{name}.svg", svg.encode())
        save(directory / "plots" / f"{name}.png", png)
    save(directory / "results.json", json.dumps(to_json(summary), indent=1, ensure_ascii=False).encode())
    return save(directory / "report.html", render(summary, pictures).encode())


def render(summary: Summary, pictures: dict[str, str]) -> str:
    """Return the page; ``pictures`` are the drawn charts by name, as SVG."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["camel"] = _camel
    environment.filters["unbroken"] = lambda text: re.sub(r" (?=%|± )|(?<=±) ", "\u00a0", text)
    environment.filters["number"] = wording.number
    environment.filters["percentage"] = wording.percentage
    environment.filters["duration"] = wording.duration
    live = {}
    if "map" in pictures:
        live["map"] = plots.risk_utility_map(summary, width="container").to_dict()
    if "score" in pictures:
        live["score"] = plots.score_bars(summary, width="container").to_dict()
    page = environment.get_template("report.html.j2")
    return page.render(
        summary=summary,
        pictures={name: _as_image(svg) for name, svg in pictures.items()},
        drawn=[(name, variable) for name, variable in _drawn(summary) if name in pictures],
        map_words=plots.map_in_words(summary) if "map" in pictures else "",
        specs={name: Markup(embeddable(spec)) for name, spec in live.items()},
        vega=Markup(_vega()) if live else "",
    )


def _camel(name: str) -> Any:
    """Let a long name break between its words."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[a-z])(?=[A-Z])", name))


def embeddable(thing: Any) -> str:
    r"""Write JSON that can stand inside a script element, whatever text it carries.

    >>> embeddable({"name": "</script><b>"})
    '{"name": "\\u003c/script\\u003e\\u003cb\\u003e"}'
    """
    text = json.dumps(thing)  # ASCII only, so the line separators that JavaScript dislikes are escaped too
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def save(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all, in a folder that is made where it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {path.parent}: {reason(error)}") from None
    with replacing(path) as out:
        out.write(content)
    return path


def _charts(summary: Summary) -> Iterator[tuple[str, Any]]:
    """Yield every picture of the report with its name."""
    if summary.risk is not None and summary.utility is not None:
        shown = [c for c in summary.candidates if {summary.risk, summary.utility} <= set(c.figures)]
        if shown:
            yield "map", plots.risk_utility_map(summary)
    if summary.score is not None and any(summary.score in c.figures for c in summary.candidates):
        yield "score", plots.score_bars(summary)
    for name, variable in _drawn(summary):
        yield name, plots.before_and_after(variable)


def _drawn(summary: Summary) -> list[tuple[str, VariableDetail]]:
    """Name the pictures of the variables whose distribution changed, at most a couple of dozen: those that did most."""
    changed = [v for v in (summary.detail.variables if summary.detail else ()) if v.moved > 0]
    kept = sorted(changed, key=lambda v: v.moved, reverse=True)[:PICTURED]
    return [
        (f"variable-{i:02d}-{re.sub(r'[^A-Za-z0-9]+', '-', v.name).strip('-').lower()[:40]}".rstrip("-"), v)
        for i, v in enumerate((v for v in changed if v in kept), start=1)
    ]


def _rendered(chart: Any) -> tuple[str, bytes]:
    """Draw a chart as SVG and, from that, as PNG at twice its size."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(chart.to_dict())
    png: bytes = vl_convert.svg_to_png(svg.replace("<svg ", '<svg style="background:white" ', 1), scale=2.0)
    return svg, png


def _as_image(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


@cache
def _vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(None)
    return bundle.replace("</script", "<\\/script")
