"""The report as Markdown: the same summary, for a wiki, a repository or a mail."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from sfumato.compare.figures import written
from sfumato.display import visible
from sfumato.show import wording


def render_markdown(template: str, **values: Any) -> str:
    """Return a Markdown text; whatever a template inserts is escaped, so that no name can break the page."""
    text: str = _environment().get_template(template).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


@cache
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=False,
        finalize=plain,
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
    environment.filters["code"] = code
    return environment


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
