"""One page: the frame with the steps, what the screen shows, and the same in the terminal and in Python."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.workbench import assets
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.journal import Now
from sfumato.workbench.screens import TITLES, UNOPENED, screens
from sfumato.workbench.screens.screen import Form, Screen


@dataclass(frozen=True)
class Page:
    """What is asked for: a screen, the draft that holds, and what was refused, if anything."""

    screen: Screen
    now: Now
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
    """Render a page; what goes wrong with the table itself is told on it."""
    draft, screen = page.now.draft, page.screen
    error = page.error
    waits, shown = "", {}
    try:
        waits = screen.ready(desk, draft)
        shown = {} if waits else screen.view(desk, draft, page.query)
    except SfumatoError as trouble:
        error, waits = error or trouble, "This has to be put right first."
    slugs = list(TITLES)
    place = slugs.index(screen.slug)
    return assets.render(
        "waits.html.j2" if waits else f"{screen.slug}.html.j2",
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
    """Return an answer, or another if the table cannot be read."""
    try:
        return ask()
    except SfumatoError:
        return otherwise
