"""The workbench as tests use it: its pages over HTTP and through the guard, a server of its own, and a browser.

A test module imports the fixtures it wants: ``from pages import Bench, bench``; for a browser ``from pages import
browser, enter, needs_browser, running_server``, with ``pytestmark = needs_browser``.
"""

import asyncio
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

import sfumato
import waiting
from sfumato.workbench.app import make_app
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.guard import ENTER, Sessions
from sfumato.workbench.server import running_address
from waiting import PATIENCE

PORT = 8123
HERE = f"http://127.0.0.1:{PORT}"
HOUSEHOLDS = 120
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# The timer is the page's own: what the page had put off (hx-trigger: delay, at most 400 ms) was asked for before it.
SETTLED = """() => new Promise((done) => {
  const open = () => document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling") || window.sfumato?.busy();
  const asked = () => (open() ? -1 : performance.getEntriesByType("resource").length);
  const before = asked();
  setTimeout(() => done(before >= 0 && asked() === before), 450);
})"""
needs_browser = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore"),  # of the browser's own pipes, closed at the end
]


def write_demo(folder: Path, households: int = HOUSEHOLDS) -> Path:
    """Write the demo survey as survey.csv."""
    path = folder / "survey.csv"
    sfumato.write(sfumato.household_survey(households), path)
    return path


@dataclass
class Bench:
    """A desk and a browser without a window: it sends the cookie, the csrf and the latest page's revision along."""

    desk: Desk
    sessions: Sessions = field(default_factory=Sessions)
    headers: dict[str, str] = field(default_factory=lambda: {"origin": HERE})

    def __post_init__(self) -> None:
        self.desk.readings.patience = PATIENCE  # what is read is shown at once, however busy the machine
        cookie = self.send("GET", f"{ENTER}?token={self.sessions.token()}").headers["set-cookie"].split(";")[0]
        self.headers["cookie"] = cookie
        self.csrf = self.sessions.csrf(cookie.partition("=")[2]) or ""

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send one request to the server's application; ``path`` begins with a slash."""

        async def answered() -> httpx.Response:
            transport = httpx.ASGITransport(make_app(self.desk, self.sessions, PORT))
            async with httpx.AsyncClient(transport=transport, base_url=HERE, timeout=None) as client:
                headers = {**self.headers, **more.pop("headers", {})}
                return await client.request(method, path, headers=headers, **more)

        return asyncio.run(answered())

    @property
    def draft(self) -> Draft:
        """The draft that holds."""
        return self.desk.now().draft

    def address(self, place: str) -> str:
        """Return the address of a page, below the room that keeps the cookie from other ports."""
        return f"/{self.sessions.room}/{place}"

    def get(self, place: str) -> httpx.Response:
        """Ask for a page: a screen's slug, perhaps with a query."""
        return self.send("GET", self.address(place))

    def text(self, place: str) -> str:
        """Return what a page says, without tags, after checking that it came."""
        answer = self.get(place)
        assert answer.status_code == 200, answer.text
        return said(answer)

    def post(self, slug: str, action: str, *, follow: Any = True, **fields: Any) -> httpx.Response:
        """Send a form as the page that holds now would: a list is a field several times; then follow to the page.

        ``revision`` and ``once`` may be given, to play an old page or a double click.
        """
        sent: dict[str, Any] = {"csrf": self.csrf, "revision": str(self.desk.now().revision), "once": "", **fields}
        path = f"{slug}/{action}" if slug else action
        answer = self.send("POST", self.address(path), data=sent)
        if follow and answer.status_code == 303:
            answer = self.send("GET", str(httpx.URL(self.address(path)).join(answer.headers["location"])))
        return answer

    def upload(self, name: str, content: bytes) -> httpx.Response:
        """Drop a file on the page."""
        return self.send(
            "PUT", self.address("upload"), params={"name": name}, content=content, headers={"X-CSRF": self.csrf}
        )


def said(answer: httpx.Response) -> str:
    """Return the words of a page, blanks made one."""
    inside = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", answer.text)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", inside)).split())


@pytest.fixture
def empty_bench(tmp_path: Path) -> Bench:
    """A desk on which no file lies yet."""
    return Bench(Desk(tmp_path / "project"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A desk with the demo survey in its folder, opened and confirmed."""
    made = Bench(Desk(tmp_path / "project"))
    write_demo(made.desk.folder)
    assert made.post("open", "choose", name="survey.csv").status_code == 200
    assert made.post("open", "confirm").status_code == 200
    return made


@dataclass(frozen=True)
class Running:
    """A workbench in a process of its own."""

    folder: Path
    process: "subprocess.Popen[bytes]"

    def address(self) -> str:
        """Return a new address that lets a browser in once."""
        return waiting.until(lambda: running_address(self.folder), "the server does not answer")


@contextmanager
def served(folder: Path, *words: object) -> Iterator[Running]:
    """Run ``sfumato open`` on a project's folder, or with these words instead, until the end of the block."""
    command = [sys.executable, "-m", "sfumato", "open", *map(str, words or (folder,)), "--no-browser"]
    log = folder.with_suffix(".log")
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder.parent, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        waiting.until(
            lambda: running_address(folder) is not None or process.poll() is not None,
            lambda: f"it did not start: {log.read_text()}",
        )
        assert process.poll() is None, f"it did not start: {log.read_text()}"
        yield Running(folder, process)
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def until(page: Any, expression: str) -> None:
    """Wait until an expression holds on a page; the page itself allows no text to be run, so that it is asked often."""
    shown = "document.body.dataset.revision + ' ' + document.querySelector('main').innerText.slice(0, 400)"
    waiting.until(
        lambda: page.evaluate(expression), lambda: f"it never came true: {expression}; shown: {page.evaluate(shown)}"
    )


def settled(page: Any) -> None:
    """Wait until a page has asked for all that it wants, and shows the answers."""
    page.wait_for_load_state("load")
    waiting.until(lambda: page.evaluate(SETTLED), lambda: f"{page.url} does not come to rest")


@pytest.fixture
def running_server(tmp_path: Path) -> Iterator[Running]:
    """A real server on the demo survey, not yet confirmed."""
    file = write_demo(tmp_path)
    with served(tmp_path / "survey.sfumato", file) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS), timeout=1000 * PATIENCE)
        yield started
        started.close()


@pytest.fixture
def enter(browser: Any) -> Iterator[Callable[..., Any]]:
    """Let the browser into a server: ``page = enter(running_server, width=390)``.

    ``page.problems`` lists errors of scripts, what the content policy blocked and dialogs; it is to be empty.
    """
    contexts = []

    def entered(running: Running, *, width: int = 1280, to: str = "") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        context.set_default_timeout(1000 * PATIENCE / 5)
        page = context.new_page()
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda line: page.problems.append(line.text) if _is_fault(line) else None)
        page.on("dialog", lambda dialog: _leave(page, dialog))
        page.goto(running.address())
        page.wait_for_selector(".bench main h1")
        if to:
            page.goto(page.evaluate("document.baseURI") + to)
            page.wait_for_selector("main h1")
        page.wait_for_load_state("load")  # whoever is let in is led on: the scripts of that page, too
        return page

    yield entered
    for context in contexts:
        context.close()


def _leave(page: Any, dialog: Any) -> None:
    """Leave a page with something typed on it; any other dialog is a fault."""
    if dialog.type != "beforeunload":
        page.problems.append(f"a dialog: {dialog.message}")
    dialog.accept()


def _is_fault(line: Any) -> bool:
    """Tell whether a line of the console is an error; a refused form, which is shown again, is none."""
    stopped = (
        r"status of (409|413|422)|^htmx:(afterRequest|sendAbort|oobErrorNoTarget)"  # a request given up for another
    )
    return line.type == "error" and not re.search(stopped, line.text)
