"""Who gets in: this machine's browser, with the cookie that the one-time address gave it, and nobody else.

A page on the web that the steward visits at the same time can send requests to this server, and can name it by a
host of its own (DNS rebinding); another user of the machine can connect to its port; a page may try to frame it. Each
of these is refused here, before any other code sees the request.
"""

import hmac
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# How a command asks the server of a folder for an address: each proves to the other that it can read that folder. The
# secret itself is never sent. A server that was killed leaves its port behind, where anybody's program may answer by
# now: it would learn nothing, and what it says is not believed.

_CREDENTIALS = re.compile(r"Sfumato ([\w-]{20,100}) ([0-9a-f]{64})")
_ANSWERED = re.compile(r"([\w-]{20,100}) ([0-9a-f]{64})")


def question(secret: str) -> tuple[str, str]:
    """Return a number that is used once, and the header that asks with it.

    >>> number, header = question("secret")
    >>> token_in("secret", number, answer("secret", header, lambda: "x" * 43) or "") == "x" * 43
    True
    """
    number = secrets.token_urlsafe(32)
    return number, f"Sfumato {number} {_proof(secret, 'question', number)}"


def answer(secret: str, header: str, make: Callable[[], str]) -> str | None:
    """Return a token, made now, with the proof that it is ours; None to who does not know the secret."""
    said = _CREDENTIALS.fullmatch(header)
    if said is None or not hmac.compare_digest(_proof(secret, "question", said[1]), said[2]):
        return None
    token = make()
    return f"{token} {_proof(secret, 'answer', said[1], token)}"


def token_in(secret: str, number: str, text: str) -> str | None:
    """Return the token of an answer; None if it is not by the server that holds the secret."""
    said = _ANSWERED.fullmatch(text)
    if said is None or not hmac.compare_digest(_proof(secret, "answer", number, said[1]), said[2]):
        return None
    return said[1]


def _proof(secret: str, *words: str) -> str:
    return hmac.new(secret.encode(), " ".join(words).encode(), "sha256").hexdigest()


# browsers

SAFE = ("GET", "HEAD")
ENTER = "/enter"  # takes the one-time token
TOKEN = "/token"  # gives a new one to whoever can read the project's folder
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass
class Sessions:
    """The tokens that are still to be used, and the browsers that have used one."""

    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))  # asks for tokens; kept in the folder
    # All pages lie below this: a browser sends a cookie to every port of a host, so also to a server that another user
    # runs, but only for addresses below the cookie's own path.
    room: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    _tokens: set[str] = field(default_factory=set)
    _sessions: dict[str, str] = field(default_factory=dict)  # cookie -> what changes must carry
    _lock: Lock = field(default_factory=Lock)

    def token(self) -> str:
        """Return an address's token, good for one use."""
        made = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens.add(made)
        return made

    def answer(self, header: str) -> str | None:
        """Return a new token, and the proof that it is ours, to who can read the folder; None to anybody else."""
        return answer(self.secret, header, self.token)

    def enter(self, token: str) -> str | None:
        """Return the cookie for a token, which is thereby used up; None if there is no such token."""
        with self._lock:
            known = next((one for one in self._tokens if hmac.compare_digest(one.encode(), token.encode())), None)
            if known is None:
                return None
            self._tokens.discard(known)
            cookie = secrets.token_urlsafe(32)
            self._sessions[cookie] = secrets.token_urlsafe(32)
            return cookie

    def csrf(self, cookie: str) -> str | None:
        """Return what the changes of a browser must carry; None if the cookie is none of ours."""
        with self._lock:
            return self._sessions.get(cookie)


@dataclass
class Guard:
    """Refuses what does not come from the steward's own browser, and dresses every answer."""

    app: ASGIApp
    sessions: Sessions
    port: int

    @property
    def cookie_name(self) -> str:
        """The cookie's name: cookies know no ports, so that two projects would share one."""
        return f"sfumato-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no websockets here
            return
        refusal = self._refusal(scope)
        dressed = _dressed(send)
        if refusal is not None:
            await refusal(scope, receive, dressed)
            return
        await self.app(scope, receive, dressed)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        names = [f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in names:
            return _no(421, "This server answers to its own address only, and was called by another name.")
        method, path = scope["method"], scope["path"]
        if method not in (*SAFE, "POST", "PUT"):
            return _no(405, "There is nothing here for this kind of request.")
        foreign = _foreign(headers, [f"http://{name}" for name in names])
        if method not in SAFE and foreign:
            return _no(403, "This request came from another page than the workbench's own.")
        if path == TOKEN:
            answer = self.sessions.answer(headers.get("authorization", "")) if method == "POST" else None
            if answer is None:
                return _no(403, "Only the owner of the project's folder may ask for an address.")
            return PlainTextResponse(answer)
        if path == "/favicon.ico":  # browsers ask for it without being told to
            return Response(status_code=204)
        if path == ENTER:
            return self._entered(scope) if method == "GET" else _no(405, "Open the address with a browser.")
        csrf = next(filter(None, map(self.sessions.csrf, _cookies(headers, self.cookie_name))), None)
        if csrf is None:
            return _page(
                401,
                "This browser is not let in",
                "Use the address that <code>sfumato open</code> prints: it works once. Run the command again with the "
                "same folder for a new one; nothing is lost.",
            )
        elsewhere = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if elsewhere and headers.get("sec-fetch-mode") != "navigate":
            return _no(403, "This request came from another page than the workbench's own.")
        if not path.startswith(f"/{self.sessions.room}/"):
            return _no(404, "There is no such page.")
        scope["csrf"] = csrf
        if method not in SAFE and not hmac.compare_digest(headers.get("x-csrf", "").encode(), csrf.encode()):
            scope["csrf_unproved"] = True  # a plain form carries it in its body, which is read and checked later
        return None

    def _entered(self, scope: Scope) -> Response:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        cookie = self.sessions.enter(given)
        if cookie is None:
            return _page(
                403,
                "This address was used already",
                "An address works once. Run <code>sfumato open</code> again with the same folder for a new one.",
            )
        # no redirect: a browser that comes from elsewhere would not send the strict cookie along with it
        inside = f"/{self.sessions.room}/"
        answer = _page(200, "Welcome", f'<a href="{inside}">Go on to the workbench</a>', refresh=inside)
        answer.set_cookie(self.cookie_name, cookie, httponly=True, samesite="strict", path=inside)
        return answer


def _foreign(headers: Headers, origins: Iterable[str]) -> bool:
    """Tell whether a request was sent by a page of another origin; a browser says of every change where it is from."""
    origin = headers.get("origin")
    if origin is not None:
        return origin.lower() not in origins
    return headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


def _cookies(headers: Headers, name: str) -> Iterator[str]:
    """Return all cookies of a name, however others look: servers on other ports of this host set theirs too."""
    for line in headers.getlist("cookie"):
        for entry in line.split(";"):
            said, _, value = entry.partition("=")
            if said.strip() == name:
                yield value.strip()


def _no(status: int, words: str) -> Response:
    return PlainTextResponse(words + "\n", status)


def _page(status: int, title: str, words: str, *, refresh: str = "") -> Response:
    go = f'<meta http-equiv="refresh" content="0;url={refresh}">' if refresh else ""
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{go}<title>{title}</title></head>'
        f"<body><main><h1>{title}</h1><p>{words}</p></main></body></html>"
    )
    return Response(page, status, media_type="text/html")


def _dressed(send: Send) -> Send:
    """Add the headers that keep pages to this browser and scripts to our own files, unless an answer has its own."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
