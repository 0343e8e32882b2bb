"""The pages: each screen at its address, each change as a form that leads back to a page."""

import asyncio
import mimetypes
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from sfumato.errors import SfumatoError
from sfumato.workbench.desk import Desk
from sfumato.workbench.guard import Guard, Sessions
from sfumato.workbench.journal import CurrentDraft, Stale
from sfumato.workbench.pages import Page, page_of, render, static
from sfumato.workbench.readings import StillReading
from sfumato.workbench.screens import OPEN, screen_of, screens
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, Screen
from sfumato.workbench.uploads import MAX_UPLOAD_BYTES, plain_name, received

# Files of the project's folder that a page leads to: reports, plots, the release, the scripts

# what a reader may be led to; the original, the store, the journal and the seed are not among them
PLACES = ("report.html", "report.md", "results.json", "schema.toml", "decision.json", "reproduce.sh", "reproduce.py")
FOLDERS = ("release", "plots")
# a page of ours with scripts inside it: it runs as if it came from nowhere, so that it reaches nothing of this server
SANDBOX_POLICY = (
    "sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "frame-ancestors 'none'"
)


def served(folder: Path, place: str) -> Response:
    """Return a file by its place in the folder; refuse any that no page leads to."""
    parts = place.split("/")
    known = place in PLACES or (len(parts) == 2 and parts[0] in FOLDERS)
    path = folder.joinpath(*parts)
    if not known or any(part in ("", ".", "..") or "\\" in part or "\x00" in part for part in parts):
        raise HTTPException(404)
    if path.is_symlink() or not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
        raise HTTPException(404)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    shown = path.suffix in (".html", ".png", ".svg")
    headers = {"content-security-policy": SANDBOX_POLICY} if path.suffix in (".html", ".svg") else {}
    disposition = "inline" if shown else "attachment"
    return FileResponse(
        path, media_type=kind, headers=headers, filename=path.name, content_disposition_type=disposition
    )


# the pages

# what can be done while schema.toml cannot be read
ALWAYS = tuple(OPEN.actions[name] for name in ("last_schema", "without_schema", "cancel", "again"))
MAX_FORM_BYTES = 4 * 1024**2  # bytes
MAX_FIELDS = 100_000  # of a form
MAX_SILENCE = 30.0  # seconds between two pieces of what a browser sends


def make_app(desk: Desk, sessions: Sessions, port: int) -> Guard:
    """Return the server's application, behind its guard."""
    pages = Pages(desk)
    routes = [
        Route("/", pages.first),
        Route("/pulse", pages.pulse),
        Route("/undo", pages.undo, methods=["POST"]),
        Route("/redo", pages.redo, methods=["POST"]),
        Route("/upload", pages.upload, methods=["PUT"]),
        Route("/file/{place:path}", pages.file),
        Route("/download/{slug}", pages.download),
        Route("/static/{name}", static),
        Route("/journal", pages.journal),
        Route("/{slug}", pages.screen),
        Route("/{slug}/{action}", pages.act, methods=["POST"]),
        Route("/{slug}/{action}", pages.back),
    ]
    app = Starlette(
        routes=[Mount(f"/{sessions.room}", routes=routes)],
        exception_handlers={
            SfumatoError: _refused,
            HTTPException: _missing,
            ClientDisconnect: _gone,
            Exception: _broken,
        },
    )
    return Guard(app, sessions, port)


class Pages:
    """What each address answers."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    async def first(self, request: Request) -> Response:
        """Lead to the first screen that is still to be worked on."""

        def slug() -> str:
            draft = self.desk.now().draft
            if not draft.confirmed:
                return OPEN.slug
            waiting = (s for s in screens() if not s.optional and not s.done(self.desk, draft))
            try:
                with self.desk.readings.hurried():
                    return next(waiting, screens()[-1]).slug
            except StillReading:
                return OPEN.slug

        return RedirectResponse(await run_in_threadpool(slug), 303)

    async def screen(self, request: Request) -> Response:
        """Show a screen."""
        answer = await run_in_threadpool(self._shown, request, await run_in_threadpool(_screen, request))
        answer.background = BackgroundTask(screens)  # loaded while the first page is looked at
        return answer

    def _shown(
        self,
        request: Request,
        screen: Screen,
        status: int = 200,
        *,
        error: SfumatoError | None = None,
        form: Form | None = None,
    ) -> Response:
        now = self.desk.now()
        page = Page(
            screen=screen,
            now=now,
            csrf=request.scope["csrf"],
            base=_base(request),
            query=dict(request.query_params),
            error=error,
            form=form,
            said=self.desk.said.pop(request.scope["csrf"], "") if error is None else "",
        )
        return HTMLResponse(page_of(self.desk, page), status)

    async def act(self, request: Request) -> Response:
        """Carry out a change, then lead to a page that shows it."""
        screen = await run_in_threadpool(_screen, request)
        action = screen.actions.get(request.path_params["action"])
        if action is None:
            raise HTTPException(404)
        form = await self._form(request)

        def carry_out() -> Response:
            now = self.desk.now()
            revision = form.revision
            try:
                if action not in ALWAYS:
                    self._refuse_while_unreadable()
                done = action(self.desk, now.draft, form)
                self._apply(done, screen, revision, form.text("once"))
            except Stale:
                return self._shown(request, screen, 409, error=_stale(), form=None)
            except SfumatoError as error:
                return self._shown(request, screen, 422, error=error, form=form)
            if done.said:
                self.desk.said[request.scope["csrf"]] = done.said
            return RedirectResponse(f"../{done.goto or screen.slug + _part(request)}", 303)

        return await run_in_threadpool(carry_out)

    def _refuse_while_unreadable(self) -> None:
        """Change nothing as long as schema.toml cannot be read: the change would be written over it."""
        if self.desk.unreadable_schema:
            raise Refused("", "nothing can be changed before schema.toml can be read again")

    def _apply(self, done: ActionResult, screen: Screen, revision: int, once: str) -> None:
        if done.make is not None:
            self.desk.change(done.make, screen=screen.slug, what=done.what, revision=revision, once=once)
        elif done.what:
            self.desk.journal.note(screen.slug, done.what)

    async def undo(self, request: Request) -> Response:
        """Take the last step back."""
        return await self._moved(request, self.desk.undo, "Undone")

    async def redo(self, request: Request) -> Response:
        """Do the step again that was taken back."""
        return await self._moved(request, self.desk.redo, "Done again")

    async def _moved(self, request: Request, move: Any, word: str) -> Response:
        form = await self._form(request)
        screen = screen_of(form.text("screen")) or OPEN

        def carry_out() -> Response:
            before = self.desk.now()
            try:
                self._refuse_while_unreadable()
                move(form.revision)
            except Stale:
                return self._shown(request, screen, 409, error=_stale())
            except Refused as error:
                return self._shown(request, screen, 422, error=error)
            what = before.undo if word == "Undone" else before.redo
            if what:
                self.desk.said[request.scope["csrf"]] = f"{word}: {what}."
            return RedirectResponse(screen.slug + _part(request), 303)

        return await run_in_threadpool(carry_out)

    async def pulse(self, request: Request) -> Response:
        """Tell the revision that holds and what is running, so that no tab shows an old state for long."""

        def told() -> Mapping[str, Any]:
            now: CurrentDraft = self.desk.now()
            return {"revision": now.revision, "job": self.desk.jobs.plain()}

        return JSONResponse(await run_in_threadpool(told))

    async def upload(self, request: Request) -> Response:
        """Take a file that was dropped on the page."""
        _proved(request, "")
        name = plain_name(request.query_params.get("name", ""))
        path = await received(self.desk.folder, name, _pieces(request), most=MAX_UPLOAD_BYTES)
        self.desk.journal.note("open", f"{name} was put into the project's folder")
        return JSONResponse({"name": path.name})

    async def file(self, request: Request) -> Response:
        """Give a file of the folder that a page leads to."""
        return await run_in_threadpool(served, self.desk.folder, request.path_params["place"])

    async def download(self, request: Request) -> Response:
        """Give a file that a screen makes of what it shows."""
        make = (await run_in_threadpool(_screen, request)).download
        if make is None:
            raise HTTPException(404)

        def made() -> Response:
            name, content = make(self.desk, self.desk.now().draft, dict(request.query_params))
            kind = "application/zip" if name.endswith(".zip") else "text/csv; charset=utf-8"
            headers = {"content-disposition": f'attachment; filename="{name}"'}
            return Response(content, media_type=kind, headers=headers)

        return await run_in_threadpool(made)

    async def journal(self, request: Request) -> Response:
        """Show what was done, the newest first."""

        def shown() -> Response:
            return HTMLResponse(render("journal.html.j2", base=_base(request), events=self.desk.journal.events()))

        return await run_in_threadpool(shown)

    async def back(self, request: Request) -> Response:
        """Lead from the address of a change, which a reload asks for, to its screen."""
        return RedirectResponse(f"../{_screen(request).slug}", 303)

    async def _form(self, request: Request) -> Form:
        body = bytearray()
        async for chunk in _pieces(request):
            body += chunk
            if len(body) > MAX_FORM_BYTES:
                raise HTTPException(413)
        try:
            pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
        except ValueError:
            raise HTTPException(400, f"This form has more than {MAX_FIELDS:,} fields; nothing was changed.") from None
        form = Form(pairs)
        _proved(request, form.text("csrf"))
        return form


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """Yield what a browser sends, but do not wait for one that has fallen silent."""
    stream = aiter(request.stream())
    while True:
        try:
            yield await asyncio.wait_for(anext(stream), MAX_SILENCE)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise HTTPException(408, "The rest of this form never came; nothing was changed.") from None


def _proved(request: Request, given: str) -> None:
    """Refuse a change that does not carry what this browser was given."""
    import hmac

    if request.scope.get("csrf_unproved") and not hmac.compare_digest(given.encode(), request.scope["csrf"].encode()):
        raise HTTPException(403, "This form is not one of this page; load the page again.")


def _base(request: Request) -> str:
    """Return the address that all others of the page are seen from."""
    return f"{request.scope.get('root_path', '')}/"


def _part(request: Request) -> str:
    """Return the query of a change: that of the page which asked, so that it is shown again."""
    return f"?{request.url.query}" if request.url.query else ""


def _screen(request: Request) -> Screen:
    screen = screen_of(request.path_params["slug"])
    if screen is None:
        raise HTTPException(404)
    return screen


def _stale() -> SfumatoError:
    return Refused(
        "", "this page was changed in another tab or by a double click; here it is as it is now: look, then go on"
    )


async def _refused(request: Request, error: Exception) -> Response:
    if request.url.path.endswith("/upload"):
        return JSONResponse({"error": str(error)}, 422)
    return HTMLResponse(render("refused.html.j2", base=_base(request), words=str(error)), 422)


async def _missing(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    said = getattr(error, "detail", "") if status != 404 else "There is no such page."
    return HTMLResponse(render("refused.html.j2", base=_base(request), words=said or "This was refused."), status)


async def _gone(request: Request, error: Exception) -> Response:
    """Answer a browser that went away in the middle of what it sent: nobody hears it, and nothing was done."""
    return Response(status_code=400)


async def _broken(request: Request, error: Exception) -> Response:
    words = f"Something went wrong in the program itself ({type(error).__name__}); nothing was changed."
    return HTMLResponse(render("refused.html.j2", base=_base(request), words=words), 500)
