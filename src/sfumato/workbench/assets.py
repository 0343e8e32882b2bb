"""Templates, and the files that pages load: our own style and script, htmx, and the report's drawing library."""

from functools import cache
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

import sfumato
from sfumato.display import visible_page
from sfumato.show import wording
from sfumato.show.page import breakable, vega_bundle

HERE = Path(__file__).parent
REPORT_STYLE = HERE.parent / "show" / "templates" / "page.css"
STATIC = {
    "workbench.css": "text/css",
    "workbench.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "vega.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


async def static(request: Request) -> Response:
    """Give a file that pages load; the version in its address changes with the program, so that it may be kept."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    content = await run_in_threadpool(_content, name)
    kept = {"cache-control": "private, max-age=86400, immutable"} if request.query_params.get("v") else {}
    return Response(content, media_type=STATIC[name], headers=kept)


@cache
def _content(name: str) -> bytes:
    if name == "vega.js":
        return vega_bundle().encode()
    own = (HERE / "static" / name).read_bytes()
    if name in ("workbench.css", "workbench.js"):  # one file each, so that a page loads them at once
        screens = sorted((HERE / "static" / "screens").glob(f"*{Path(name).suffix}"))
        own = b"\n".join([own, *(screen.read_bytes() for screen in screens)])
    return REPORT_STYLE.read_bytes() + b"\n" + own if name == "workbench.css" else own


def version() -> str:
    """Return what changes when a file that pages load does."""
    import zlib

    parts = (_content(name) for name in ("workbench.css", "workbench.js", "htmx.min.js"))
    return f"{sfumato.__version__}-{zlib.crc32(b''.join(parts)):08x}"


def render(template: str, **values: Any) -> str:
    """Return a page."""
    return visible_page(str(_environment().get_template(template).render(**values)))


@cache
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["version"] = version()
    environment.filters["camel"] = breakable
    environment.filters["number"] = wording.number
    environment.filters["percentage"] = wording.percentage
    environment.filters["quantity"] = wording.quantity
    environment.filters["duration"] = wording.duration
    environment.filters["thousands"] = lambda number: f"{number:,}"
    return environment
