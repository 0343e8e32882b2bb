"""What was done on the page, step by step: each with its time and the draft it led to, safe on disk at once.

Two tabs, or two servers, are put in order by the locks of the file. Nothing is ever deleted: a step that was undone
stays in the journal, and can be done again until another step takes its place.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sfumato.database import Database
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
        with self._writing() as database:
            for table in _TABLES:
                database.row(table)
            if database.row("SELECT count(*) FROM now") == (0,):
                database.row("INSERT INTO steps VALUES (1, NULL, ?, '', 'begun', '', ?)", _time(), _packed(Draft()))
                database.row("INSERT INTO now VALUES (1, 1)")
                database.row("INSERT INTO events VALUES (1, ?, '', 'project begun', 1)", _time())
        self.path.chmod(0o600)

    def now(self) -> CurrentDraft:
        """Return the draft that holds."""
        with self._open() as database:
            return self._now(database)

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
        with self._writing() as database:
            if once and database.row("SELECT 1 FROM steps WHERE once = ?", once):
                return self._now(database)
            before = self._now(database)
            if revision is not None and revision != before.revision:
                raise Stale
            draft = make(before.draft)
            if draft == before.draft:
                return before
            said = what if isinstance(what, str) else what(draft)
            (parent,) = database.row("SELECT step FROM now")
            (step,) = database.row(
                "INSERT INTO steps (parent, time, screen, what, once, draft) VALUES (?, ?, ?, ?, ?, ?) "
                "RETURNING number",
                *(parent, _time(), screen, said, once, _packed(draft)),
            )
            _move(database, step, screen, said)
            return self._now(database)

    def undo(self, revision: int | None = None) -> CurrentDraft:
        """Go back to the draft before the last step."""
        with self._writing() as database:
            self._refuse_stale(database, revision)
            parent, screen, what = database.row(
                "SELECT parent, screen, what FROM steps WHERE number = (SELECT step FROM now)"
            )
            if parent is not None:
                _move(database, parent, screen, f"undone: {what}")
            return self._now(database)

    def redo(self, revision: int | None = None) -> CurrentDraft:
        """Do the step again that was undone last."""
        with self._writing() as database:
            self._refuse_stale(database, revision)
            following = _next(database)
            if following is not None:
                step, screen, what = following
                _move(database, step, screen, f"done again: {what}")
            return self._now(database)

    def note(self, screen: str, what: str) -> None:
        """Write a line that changes no draft: a run begun or ended, a release signed."""
        with self._writing() as database:
            (step,) = database.row("SELECT step FROM now")
            _event(database, screen, what, step)

    def events(self, most: int = 500) -> list[Event]:
        """Return the latest lines, the newest first."""
        with self._open() as database:
            lines = database.rows("SELECT time, screen, what FROM events ORDER BY number DESC LIMIT ?", most)
        return [Event(*line) for line in lines]

    def _refuse_stale(self, database: Database, revision: int | None) -> None:
        holds = self._now(database).revision  # what is damaged is told before anything is moved
        if revision is not None and revision != holds:
            raise Stale

    def _now(self, database: Database) -> CurrentDraft:
        found = database.row("SELECT revision, parent, what, draft FROM now JOIN steps ON number = step")
        if found is None:
            raise self._damaged("the step that holds is not there")
        revision, parent, what, content = found
        following = _next(database)
        try:
            draft = Draft.from_json(zlib.decompress(content).decode())
        except (FileError, ValueError, TypeError, zlib.error) as error:
            raise self._damaged(str(error)) from error
        return CurrentDraft(
            draft=draft,
            revision=revision,
            undo=None if parent is None else what,
            redo=None if following is None else following[2],
        )

    @contextmanager
    def _open(self) -> Iterator[Database]:
        """Open the file for one piece of work."""
        with closing(Database(self.path, self._refusal, patience=PATIENCE, make=False)) as database:
            yield database

    @contextmanager
    def _writing(self) -> Iterator[Database]:
        """Open the file for one change, of which all or nothing is written."""
        with self._open() as database, database.at_once():
            yield database

    def _refusal(self, error: Exception) -> FileError:
        return FileError(
            f"journal {self.path}: {error}; free some space, check its permissions, or restore it from a copy"
        )

    def _damaged(self, why: str) -> FileError:
        return FileError(
            f"journal {self.path}: the last step in it is damaged ({why}); restore the file from a copy, or move "
            "it away: the steps are then lost, and the project goes on with what schema.toml, the last run and its "
            "figures say"
        )


def _next(database: Database) -> tuple[int, str, str] | None:
    """Return the step that follows the one that holds, if it was undone: the latest, if several once did."""
    following: tuple[int, str, str] | None = database.row(
        "SELECT number, screen, what FROM steps WHERE parent = (SELECT step FROM now) ORDER BY number DESC LIMIT 1"
    )
    return following


def _move(database: Database, step: int, screen: str, what: str) -> None:
    database.row("UPDATE now SET step = ?, revision = revision + 1", step)
    _event(database, screen, what, step)


def _event(database: Database, screen: str, what: str, step: int) -> None:
    database.row("INSERT INTO events (time, screen, what, step) VALUES (?, ?, ?, ?)", _time(), screen, what, step)


def _packed(draft: Draft) -> bytes:
    return zlib.compress(draft.to_json().encode())


def _time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
