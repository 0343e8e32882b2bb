"""The server of one project: on this machine alone, opened in the steward's browser by an address that works once."""

import asyncio
import http.client
import json
import os
import socket
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from sfumato.errors import FileError, ParameterError
from sfumato.table.atomic import replacing
from sfumato.workbench.desk import Desk
from sfumato.workbench.guard import ENTER, TOKEN, Sessions, question, token_in

NAME = "workbench.json"  # where the server of this folder is, for its owner
DOOR = "enter.html"  # leads a browser in; other users see the commands of this one, but not this file
HERE = "127.0.0.1"
MAX_HALF_OPEN = 20.0  # seconds until a connection without a whole request is closed
MAX_ANSWERED = 1000  # bytes of an answer to a command


def serve(folder: Path, *, port: int = 0, browser: bool = True, tell: Callable[[str], None] = print) -> None:
    """Serve a project until it is stopped; if that is done already, open it in the browser."""
    there = running_address(folder)
    if there is not None:
        tell(f"the workbench of {folder} is running already: {there}")
        _open(folder, there, browser=browser)
        return
    desk = Desk(folder)
    listening = _listening(port)
    port = listening.getsockname()[1]
    sessions = Sessions()
    place = desk.folder / NAME
    _keep(place, {"port": port, "secret": sessions.secret})
    address = f"http://{HERE}:{port}{ENTER}?token={sessions.token()}"
    tell(
        f"the workbench of {folder} is at\n\n    {address}\n\n"
        "The address works once, on this machine. Stop with Ctrl-C."
    )
    try:
        _run(desk, sessions, port, listening, opened=lambda: _open(folder, address, browser=browser))
    finally:
        if _kept(place) == (port, sessions.secret):  # another server may have been started since
            for name in (NAME, DOOR):
                with suppress(OSError):
                    (desk.folder / name).unlink()


def _run(desk: Desk, sessions: Sessions, port: int, listening: socket.socket, *, opened: Callable[[], None]) -> None:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from sfumato.workbench.app import make_app

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            opened()

    class Impatient(H11Protocol):
        """Closes a connection on which half a request came, and no more."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.loop.call_later(MAX_HALF_OPEN, self.look)

        def look(self) -> None:
            begun = self.cycle is None or (self.cycle.response_complete and self.conn.trailing_data[0])
            if begun:
                self.transport.close()
            elif not self.transport.is_closing():
                self.loop.call_later(MAX_HALF_OPEN, self.look)

    config = uvicorn.Config(
        make_app(desk, sessions, port),
        http=Impatient,
        log_level="warning",
        access_log=False,  # it would write tokens and names of variables to the terminal
        server_header=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=64 * 1024,
    )
    Server(config).run(sockets=[listening])


def running_address(folder: Path) -> str | None:
    """Return a new address of the server that works on this folder; None if there is none."""
    kept = _kept(folder / NAME)
    if kept is None:
        return None
    port, secret = kept
    number, header = question(secret)
    try:
        with closing(http.client.HTTPConnection(HERE, port, timeout=5)) as asked:  # past any proxy
            asked.request("POST", TOKEN, headers={"Authorization": header})
            said = asked.getresponse().read(MAX_ANSWERED).decode("ascii", "replace")
    except (OSError, OverflowError, http.client.HTTPException):
        return None
    token = token_in(secret, number, said)  # None: another program has the port by now
    return None if token is None else f"http://{HERE}:{port}{ENTER}?token={token}"


def _kept(place: Path) -> tuple[int, str] | None:
    """Return the port and the secret of the server that was started last on a folder."""
    try:
        said = json.loads(place.read_text(encoding="utf-8"))
        return int(said["port"]), str(said["secret"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def _listening(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would let another program share the port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HERE, port))
    except OverflowError:
        raise ParameterError(f"--port must be from 0 to 65535; got {port}") from None
    except OSError as error:
        raise FileError(f"port {port} cannot be used: {error.strerror}; choose another, or none") from None
    made.listen(128)
    return made


def _keep(path: Path, content: dict[str, object]) -> None:
    with replacing(path, private=True) as out:
        out.write(json.dumps(content).encode())


def _open(folder: Path, address: str, *, browser: bool) -> None:
    """Open the browser by a file that only the owner can read: the address itself would be seen in its command."""
    if not browser:
        return
    import threading
    import webbrowser

    door = folder / DOOR
    go = f'<meta http-equiv="refresh" content="0;url={address}">'
    page = f'<!doctype html><meta charset="utf-8">{go}<title>Sfumato</title>'
    with replacing(door, private=True) as out:
        out.write(page.encode())
    threading.Thread(target=webbrowser.open, args=(door.resolve().as_uri(),), daemon=True).start()
