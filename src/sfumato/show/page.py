"""What every HTML page shares: the template environment, pictures, embedded data, and files written whole."""

import base64
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from sfumato.data.atomic import reason, replacing
from sfumato.errors import FileError
from sfumato.show import wording


def render_page(template: str, live: dict[str, Any], **values: Any) -> str:
    """Return a page; ``live`` are the charts that answer the mouse, by the name of their place in the template."""
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
    specs = {name: Markup(embeddable(chart.to_dict())) for name, chart in live.items()}
    return environment.get_template(template).render(specs=specs, vega=Markup(_vega()) if live else "", **values)


def save_pictures(charts: dict[str, Any], directory: Path) -> dict[str, str]:
    """Draw charts as SVG and PNG into a folder; return them as images that can stand inside a page."""
    import vl_convert

    images = {}
    for name, chart in charts.items():
        svg: str = vl_convert.vegalite_to_svg(chart.to_dict())
        save(directory / f"{name}.svg", svg.encode())
        save(directory / f"{name}.png", vl_convert.svg_to_png(svg, scale=2.0))
        # inside an image no reader hears the words on single marks; the image has words of its own
        silent = re.sub(r' (?:aria-[a-z]+|role)="[^"]*"', "", svg)
        images[name] = "data:image/svg+xml;base64," + base64.b64encode(silent.encode()).decode()
    return images


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


def _camel(name: str) -> Any:
    """Let a long name break between its words."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[a-z]{3})(?=[A-Z][a-z])", name))


@cache
def _vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    make: Any = vl_convert.javascript_bundle
    bundle: str = make()
    return bundle.replace("</script", "<\\/script")
