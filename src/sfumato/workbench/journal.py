"""What was done on the page, step by step: each with its time and the draft it led to, safe on disk at once.

SQLite, because a step is then there whole or not at all, whatever is killed, and because two tabs, or two servers, are
put in order by its locks. Nothing is ever deleted: a step that was undone stays in the journal, and can be done again
until another step takes its place.
"""

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sfumato.errors import FileError
from sfumato.workbench.draft import Draft

NAME = "journal.sqlite"
PATIENCE = 10.0  # seconds to wait for another writer
_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS steps (
        number INTEGER PRIMARY KEY, parent INTEGER, time TEXT NOT NULL, screen TEXT NOT NULL, what TEXT NOT NULL,
        once TEXT NOT NULL, draft BLOB NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS steps_once ON steps (once)",
    "CREATE INDEX IF NOT EXISTS steps_parent ON steps (parent)",
    # the step that holds now, and how often that was changed: a revision never comes twice, not even by undoing
    "CREATE TABLE IF NOT EXISTS now (step INTEGER NOT NULL, revision INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY, time TEXT NOT NULL, screen TEXT NOT NULL, "
    "what TEXT NOT NULL, step INTEGER NOT NULL)",
)


@dataclass(frozen=True)
class CurrentDraft:
    """The draft that holds, and its revision."""

    draft: Draft
    revision: int
    undo: str | None = None  # what would be undone; None if there is nothing
    redo: str | None = None  # what would be done again


@dataclass(frozen=True)
class Event:
    """One line of the journal."""

    time: str  # UTC, ISO 8601
    screen: str
    what: str


class Stale(Exception):  # noqa: N818 - a state, not a fault
    """A change that was made on a page which is no longer the latest."""


class Journal:
    """The steps of one project, in its folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                connection.execute(table)
            if connection.execute("SELECT count(*) FROM now").fetchone()[0] == 0:
                connection.execute(
                    "INSERT INTO steps VALUES (1, NULL, ?, '', 'begun', '', ?)", (_time(), _packed(Draft()))
                )
                connection.execute("INSERT INTO now VALUES (1, 1)")
                connection.execute("INSERT INTO events VALUES (1, ?, '', 'project begun', 1)", (_time(),))
            connection.execute("COMMIT")
        self.path.chmod(0o600)

    def now(self) -> CurrentDraft:
        """Return the draft that holds."""
        with self._open() as connection:
            return _now(connection)

    def change(
        self,
        make: Callable[[Draft], Draft],
        *,
        screen: str,
        what: str | Callable[[Draft], str],
        revision: int | None = None,
        once: str = "",
    ) -> CurrentDraft:
        """Make a new draft of the one that holds; the same ``once`` a second time changes nothing.

        ``revision`` is that of the page which the change was made on: if another has taken its place, the change is
        refused as stale. Where ``make`` returns the draft as it is, nothing is written.
        """
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if once and connection.execute("SELECT 1 FROM steps WHERE once = ?", (once,)).fetchone():
                return _now(connection)
            before = _now(connection)
            if revision is not None and revision != before.revision:
                raise Stale
            draft = make(before.draft)
            if draft == before.draft:
                return before
            said = what if isinstance(what, str) else what(draft)
            (parent,) = connection.execute("SELECT step FROM now").fetchone()
            (step,) = connection.execute(
                "INSERT INTO steps (parent, time, screen, what, once, draft) VALUES (?, ?, ?, ?, ?, ?) "
                "RETURNING number",
                (parent, _time(), screen, said, once, _packed(draft)),
            ).fetchone()
            _move(connection, step, screen, said)
            connection.execute("COMMIT")
            return _now(connection)

    def undo(self, revision: int | None = None) -> CurrentDraft:
        """Go back to the draft before the last step."""
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._fresh(connection, revision)
            _now(connection)  # what is damaged is told before anything is moved
            parent, screen, what = connection.execute(
                "SELECT parent, screen, what FROM steps WHERE number = (SELECT step FROM now)"
            ).fetchone()
            if parent is not None:
                _move(connection, parent, screen, f"undone: {what}")
                connection.execute("COMMIT")
            return _now(connection)

    def redo(self, revision: int | None = None) -> CurrentDraft:
        """Do the step again that was undone last."""
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._fresh(connection, revision)
            found = _next(connection)
            if found is not None:
                step, screen, what = found
                _move(connection, step, screen, f"done again: {what}")
                connection.execute("COMMIT")
            return _now(connection)

    def note(self, screen: str, what: str) -> None:
        """Write a line that changes no draft: a run begun or ended, a release signed."""
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            (step,) = connection.execute("SELECT step FROM now").fetchone()
            _event(connection, screen, what, step)
            connection.execute("COMMIT")

    def events(self, most: int = 500) -> list[Event]:
        """Return the latest lines, the newest first."""
        with self._open() as connection:
            found = connection.execute(
                "SELECT time, screen, what FROM events ORDER BY number DESC LIMIT ?", (most,)
            ).fetchall()
        return [Event(*line) for line in found]

    def _fresh(self, connection: sqlite3.Connection, revision: int | None) -> None:
        (holds,) = connection.execute("SELECT revision FROM now").fetchone()
        if revision is not None and revision != holds:
            raise Stale

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one piece of work; what is not committed is undone."""
        try:
            connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            try:
                connection.execute("PRAGMA synchronous = FULL")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                connection.close()
        except _Damaged as error:
            raise FileError(
                f"journal {self.path}: the last step in it is damaged ({error}); restore the file from a copy, or move "
                "it away: the steps are then lost, and the project goes on with what schema.toml, the last run and its "
                "figures say"
            ) from error
        except (sqlite3.Error, UnicodeDecodeError) as error:  # of a damaged schema SQLite's own message is no text
            raise FileError(
                f"journal {self.path}: {error}; free some space, check its permissions, or restore it from a copy"
            ) from error


class _Damaged(Exception):  # noqa: N818 - the journal makes an error of it that says what to do
    """A step that cannot be read."""


def _now(connection: sqlite3.Connection) -> CurrentDraft:
    found = connection.execute("SELECT revision, parent, what, draft FROM now JOIN steps ON number = step").fetchone()
    if found is None:
        raise _Damaged("the step that holds is not there")
    revision, parent, what, content = found
    again = _next(connection)
    try:
        draft = Draft.from_json(zlib.decompress(content).decode())
    except (FileError, ValueError, TypeError, zlib.error) as error:
        raise _Damaged(str(error)) from error
    return CurrentDraft(
        draft=draft,
        revision=revision,
        undo=None if parent is None else what,
        redo=None if again is None else again[2],
    )


def _next(connection: sqlite3.Connection) -> tuple[int, str, str] | None:
    """Return the step that follows the one that holds, if it was undone: the latest, if several once did."""
    found: tuple[int, str, str] | None = connection.execute(
        "SELECT number, screen, what FROM steps WHERE parent = (SELECT step FROM now) ORDER BY number DESC LIMIT 1"
    ).fetchone()
    return found


def _move(connection: sqlite3.Connection, step: int, screen: str, what: str) -> None:
    connection.execute("UPDATE now SET step = ?, revision = revision + 1", (step,))
    _event(connection, screen, what, step)


def _event(connection: sqlite3.Connection, screen: str, what: str, step: int) -> None:
    connection.execute(
        "INSERT INTO events (time, screen, what, step) VALUES (?, ?, ?, ?)", (_time(), screen, what, step)
    )


def _packed(draft: Draft) -> bytes:
    return zlib.compress(draft.to_json().encode())


def _time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
