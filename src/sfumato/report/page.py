"""What pages share, in HTML and Markdown: the template environment, pictures, embedded data, files written whole."""

import base64
import json
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from sfumato.compare.figures import written
from sfumato.display import visible, visible_page
from sfumato.errors import FileError
from sfumato.report import wording
from sfumato.report.vega import Spec
from sfumato.table.atomic import reason, replacing


def render_page(template: str, live: dict[str, Spec], **values: Any) -> str:
    """Return a page; ``live`` are the pictures that answer the mouse, by the name of their place in the template."""
    from markupsafe import Markup

    specs = {name: Markup(embeddable(spec)) for name, spec in live.items()}
    found = _environment(markdown=False).get_template(template)
    return visible_page(str(found.render(specs=specs, vega=Markup(vega_bundle()) if live else "", **values)))


@cache
def _environment(*, markdown: bool) -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=not markdown,
        finalize=plain if markdown else None,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = wording.number
    environment.filters["quantity"] = wording.quantity
    environment.filters["spread"] = wording.spread
    environment.filters["percentage"] = wording.percentage
    environment.filters["share"] = lambda value: written(value, "share")
    environment.filters["duration"] = wording.duration
    if markdown:
        environment.filters["code"] = code
    else:
        environment.filters["camel"] = breakable
        environment.filters["unbroken"] = lambda text: re.sub(r" (?=%|± )|(?<=±) ", "\u00a0", text)
    return environment


def save_pictures(pictures: dict[str, Spec], directory: Path) -> dict[str, str]:
    """Draw pictures as SVG and PNG into a folder; return them as images that can stand inside a page.

    Only its owner can look into a folder that is made here: the names of pictures are those of variables.
    """
    import vl_convert

    if pictures:
        _make(directory, mode=0o700)
    images = {}
    for name, spec in pictures.items():
        svg: str = vl_convert.vegalite_to_svg(spec)
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


def save(path: Path, content: bytes, *, public: bool = False) -> Path:
    """Write a file whole or not at all, in a folder that is made where it is not there.

    Only its owner can read it, unless it is ``public``: what is told of originals, risks and seeds is for few.
    """
    _make(path.parent)
    with replacing(path, private=not public) as out:
        out.write(content)
    return path


def _make(folder: Path, mode: int = 0o777) -> None:
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {reason(error)}") from None


def breakable(name: str) -> Any:
    """Let a long name break between its words and before what it was told."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(
        escape(part) for part in re.split(r"(?<=[a-z]{3})(?=[A-Z][a-z])|(?=\()|(?<=_)|(?<==)(?=')", name)
    )


def vega_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script.

    To bundle them takes seconds, so the bundle of the installed version is kept beside the byte code of this file, as
    numba keeps its kernels; if that folder cannot be written it is bundled anew.
    """
    from importlib.metadata import version

    import vl_convert

    kept = Path(__file__).parent / "__pycache__" / f"vega-{version('vl-convert-python')}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        make: Any = vl_convert.javascript_bundle
        bundle: str = make().replace("</script", "<\\/script")
    with suppress(FileError):
        save(kept, bundle.encode(), public=True)
    return bundle


def render_markdown(template: str, **values: Any) -> str:
    """Return a Markdown text; whatever a template inserts is escaped, so that no name can break the page."""
    text: str = _environment(markdown=True).get_template(template).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


class Code(str):
    """Text that stands in a code span or block as it is."""


def code(text: str) -> Code:
    """Put text into a code span, whatever back quotes it holds.

    >>> code("MDAV(k=3)"), code("a`b")
    ('`MDAV(k=3)`', '``a`b``')
    """
    flat = visible(" ".join(str(text).split())).replace("|", "\\|")
    runs = [len(run) for run in re.findall(r"`+", flat)]
    fence = "`" * (max(runs, default=0) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    return Code(f"{fence}{space}{flat}{space}{fence}")


def plain(value: Any) -> Any:
    r"""Escape what Markdown or HTML would read as more than text; line breaks become spaces.

    >>> plain("a|b *c* <b> & [x](y)")
    'a\\|b \\*c\\* &lt;b&gt; &amp; \\[x\\](y)'
    """
    if isinstance(value, Code) or not isinstance(value, str):
        return value
    text = visible(" ".join(value.split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", text)
