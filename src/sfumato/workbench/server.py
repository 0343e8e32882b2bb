"""The server of one project: on this machine alone, opened in the steward's browser by an address that works once."""

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from sfumato.data.atomic import replacing
from sfumato.errors import FileError, ParameterError
from sfumato.workbench.desk import Desk
from sfumato.workbench.guard import ENTER, TOKEN, Sessions

NAME = "workbench.json"  # where the server of this folder is, for its owner
DOOR = "enter.html"  # leads a browser in; other users see the commands of this one, but not this file
HERE = "127.0.0.1"


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
        for name in (NAME, DOOR):
            (desk.folder / name).unlink(missing_ok=True)


def _run(desk: Desk, sessions: Sessions, port: int, listening: socket.socket, *, opened: Callable[[], None]) -> None:
    import uvicorn

    from sfumato.workbench.app import make_app

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            opened()

    config = uvicorn.Config(
        make_app(desk, sessions, port),
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
    try:
        kept = json.loads((folder / NAME).read_text(encoding="utf-8"))
        base = f"http://{HERE}:{int(kept['port'])}"
        asked = urllib.request.Request(
            base + TOKEN, method="POST", headers={"Authorization": f"Bearer {kept['secret']}"}
        )
        with urllib.request.urlopen(asked, timeout=5) as answer:
            return f"{base}{ENTER}?token={answer.read().decode()}"
    except (OSError, ValueError, KeyError, TypeError, urllib.error.URLError):
        return None


def _listening(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
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
