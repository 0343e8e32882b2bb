"""One page: the frame with the steps, what the screen shows, and the same in the terminal and in Python."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

import sfumato
from sfumato.display import visible_page
from sfumato.errors import SfumatoError
from sfumato.report import wording
from sfumato.report.page import breakable, vega_bundle
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.journal import CurrentDraft
from sfumato.workbench.readings import StillReading
from sfumato.workbench.screens import TITLES, UNOPENED, screens
from sfumato.workbench.screens.screen import Form, Screen

# Templates, and the files that pages load: our own style and script, htmx, and the report's drawing library

HERE = Path(__file__).parent
REPORT_STYLE = HERE.parent / "report" / "templates" / "page.css"
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


# the page


@dataclass(frozen=True)
class Page:
    """What is asked for: a screen, the draft that holds, and what was refused, if anything."""

    screen: Screen
    now: CurrentDraft
    csrf: str
    base: str  # the address that all others of the page are seen from
    query: Mapping[str, str]
    error: SfumatoError | None = None
    form: Form | None = None  # what was sent and refused, so that it can be shown again
    said: str = ""


@dataclass(frozen=True)
class Step:
    """One line of the list of screens."""

    number: int
    slug: str
    title: str
    here: bool
    done: bool
    waits: str  # why it cannot be worked on yet


def page_of(desk: Desk, page: Page) -> str:
    """Render a page; what goes wrong with the table itself is told on it, and how far its reading is."""
    with desk.readings.hurried():
        return _rendered(desk, page)


def _rendered(desk: Desk, page: Page) -> str:
    draft, screen = page.now.draft, page.screen
    error = page.error
    template, waits, shown = f"{screen.slug}.html.j2", "", {}
    try:
        waits = screen.ready(desk, draft)
        shown = {} if waits else screen.view(desk, draft, page.query)
    except StillReading as still:
        template, shown = "reading.html.j2", {"reading": still.reading}
    except SfumatoError as trouble:
        error, waits = error or trouble, "This has to be put right first."
    slugs = list(TITLES)
    place = slugs.index(screen.slug)
    return render(
        "waits.html.j2" if waits else template,
        screen=screen,
        number=place + 1,
        steps=_steps(desk, draft, screen),
        before=slugs[place - 1] if place else None,
        after=slugs[place + 1] if place + 1 < len(slugs) else None,
        step_titles=TITLES,
        now=page.now,
        draft=draft,
        csrf=page.csrf,
        base=page.base,
        once=secrets.token_urlsafe(9),
        query=page.query,
        whole={word: said for word, said in page.query.items() if word != "part"},  # what is asked for by no part alone
        error="" if error is None else str(error),
        error_field=getattr(error, "field", ""),
        form=page.form,
        said=page.said,
        waits=waits,
        unreadable_schema=desk.unreadable_schema,
        project=desk.folder.name,
        job=desk.jobs.told(),
        same=_calmly(partial(screen.same, desk, draft), otherwise=None),
        **shown,
    )


def _steps(desk: Desk, draft: Draft, here: Screen) -> list[Step]:
    """List the screens; before a file is open all but the first wait for that, and are not even loaded."""
    if not draft.confirmed:
        lines = enumerate(TITLES.items(), start=1)
        return [Step(n, s, t, s == here.slug, done=False, waits=UNOPENED if n > 1 else "") for n, (s, t) in lines]
    return [
        Step(
            number,
            one.slug,
            one.title,
            one is here,
            done=_calmly(partial(one.done, desk, draft), otherwise=False),
            waits=_calmly(partial(one.ready, desk, draft), otherwise=""),
        )
        for number, one in enumerate(screens(), start=1)
    ]


def _calmly(ask: Any, *, otherwise: Any) -> Any:
    """Return an answer, or another if the table cannot be read, or is not yet."""
    try:
        return ask()
    except (SfumatoError, StillReading):
        return otherwise
