"""Which server a command believes: the one that holds the folder's secret, not whoever has its port by now."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socket import create_connection, socket
from threading import Event, Thread

import pytest

from sfumato.workbench import guard, server
from sfumato.workbench.desk import Desk
from sfumato.workbench.guard import Sessions
from sfumato.workbench.server import DOOR, NAME, running_address, serve
from waiting import PATIENCE

SECRET = "known to who can read the folder"


class Stranger(HTTPServer):
    """Another program on the port of a server that was killed; it keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.says = b""
        super().__init__(("127.0.0.1", 0), _Answers)


class _Answers(BaseHTTPRequestHandler):
    server: Stranger

    def do_POST(self) -> None:
        self.server.heard.append(f"{self.path} {self.headers}")
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.says)))
        self.end_headers()
        self.wfile.write(self.server.says)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    made = Stranger()
    thread = Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


TOKEN = "t" * 43


@pytest.mark.parametrize(
    "says",
    [
        b'"><script>alert(1)</script>',
        TOKEN.encode(),
        f"{TOKEN} {'0' * 64}".encode(),
        (guard.answer("x", guard.question("x")[1], lambda: TOKEN) or "").encode(),
        b"x" * 10_000_000,
    ],
)
def test_a_stranger_on_the_port_of_a_killed_server_learns_nothing_and_is_not_believed(
    tmp_path: Path, stranger: Stranger, says: bytes
) -> None:
    stranger.says = says
    (tmp_path / NAME).write_text(json.dumps({"port": stranger.server_port, "secret": SECRET}))
    assert running_address(tmp_path) is None
    assert len(stranger.heard) == 1
    assert SECRET not in stranger.heard[0]


def test_a_connection_on_which_half_a_request_came_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_HALF_OPEN", 0.3)
    desk, sessions, listening = Desk(tmp_path / "project"), Sessions(), socket()
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    begun = Event()
    monkeypatch.setattr("uvicorn.Server.install_signal_handlers", lambda _: None, raising=False)
    monkeypatch.setattr("uvicorn.Server.capture_signals", lambda _: nullcontext())
    listening.listen()
    Thread(
        target=server._run, args=(desk, sessions, port, listening), kwargs={"opened": begun.set}, daemon=True
    ).start()
    assert begun.wait(PATIENCE)
    with create_connection(("127.0.0.1", port), PATIENCE) as half:
        half.sendall(b"GET / HTTP/1.1\r\nHost:")
        assert half.recv(100) == b""  # closed, though nothing was answered
    with create_connection(("127.0.0.1", port), PATIENCE) as whole:
        whole.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert whole.recv(100).startswith(b"HTTP/1.1 4")  # no cookie: refused, but answered
        whole.sendall(b"GET / HT")
        rest = b"".join(iter(lambda: whole.recv(10_000), b""))
        assert b"HTTP/1.1 2" not in rest


def test_an_answer_to_an_earlier_question_is_not_believed() -> None:
    sessions = Sessions()
    (first, asked), (second, _) = guard.question(sessions.secret), guard.question(sessions.secret)
    said = sessions.answer(asked) or ""
    assert guard.token_in(sessions.secret, first, said) is not None
    assert guard.token_in(sessions.secret, second, said) is None


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "[]",
        '{"port": 1}',
        '{"port": "x", "secret": ""}',
        '{"port": 1e400, "secret": 1}',
        '{"port": 123456, "secret": ""}',
    ],
)
def test_a_note_that_says_nothing_leads_nowhere(tmp_path: Path, kept: str) -> None:
    (tmp_path / NAME).write_text(kept)
    assert running_address(tmp_path) is None


def test_a_server_that_ends_leaves_the_note_of_another_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project"
    other = json.dumps({"port": 1, "secret": "of a server that was started since"})

    def run(desk: Desk, _: Sessions, __: int, listening: socket, **___: object) -> None:
        listening.close()
        (desk.folder / NAME).write_text(other)
        (desk.folder / DOOR).write_text("its door")

    monkeypatch.setattr("sfumato.workbench.server._run", run)
    serve(folder, browser=False, tell=lambda _: None)
    assert (folder / NAME).read_text() == other
    assert (folder / DOOR).exists()
