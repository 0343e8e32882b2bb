"""What has been computed, safe on disk: one file, one row per finished cell, each committed at once.

SQLite, because it is in every Python, keeps all in a single file, and its transactions survive a killed process and
a power cut. A cell is one measure of one masked table; its key holds all that its figures depend on.
"""

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from sfumato.errors import FileError
from sfumato.outcome import Reason, Status

FORMAT = 2
APPLICATION = 0x53464D54  # "SFMT", so that another program's database is not mistaken for a store
PATIENCE = 60.0  # seconds to wait while another run writes
_COLUMNS = "candidate, measure, replicate, status, who, text, value, details, seconds, protect_seconds"
_TABLE = """
CREATE TABLE cells (
    data TEXT NOT NULL, version TEXT NOT NULL, seed TEXT NOT NULL,
    candidate TEXT NOT NULL, measure TEXT NOT NULL, replicate INTEGER NOT NULL,
    status TEXT NOT NULL, who TEXT NOT NULL, text TEXT NOT NULL, value REAL, details TEXT NOT NULL,
    seconds REAL NOT NULL, protect_seconds REAL NOT NULL,
    PRIMARY KEY (data, version, seed, candidate, measure, replicate)
) WITHOUT ROWID
"""


class Key(NamedTuple):
    """Which cell of an experiment: a candidate, a measure and a replicate."""

    candidate: str
    measure: str
    replicate: int


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one measure said of one masked table, or why it said nothing."""

    key: Key
    value: float = math.nan
    reason: Reason | None = None  # why there is no figure; None if there is one
    finished: bool = True  # a failure that may not happen again is not finished, and never stored
    parts: Mapping[str, float] = field(default_factory=dict)
    by_variable: Mapping[str, float] = field(default_factory=dict)
    by_pair: Mapping[tuple[str, str], float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    masking: tuple[str, ...] = ()  # what the method noted in the table it made
    seconds: float = 0.0
    protect_seconds: float = 0.0

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by way of the stored form: workers send cells to the process that writes them."""
        return _cell, (*_record(self), self.finished)


@dataclass(frozen=True)
class Scope:
    """Whose cells: the file (None: in memory), the fingerprint of the data, the version of Sfumato and the seed."""

    path: Path | None
    data: str
    version: str
    seed: int


class Store:
    """The finished cells of one experiment's data, seed and version of Sfumato, in a file or in memory.

    Several processes may write to one file at a time.
    """

    def __init__(self, scope: Scope) -> None:
        self.path = scope.path
        self._scope = (scope.data, scope.version, str(scope.seed))
        with self._explained():
            self._connection = _connect(scope.path)

    def finished(self) -> dict[Key, Cell]:
        """Return every finished cell of this data, seed and version."""
        with self._explained():
            found = self._connection.execute(
                f"SELECT {_COLUMNS} FROM cells WHERE data = ? AND version = ? AND seed = ?",
                self._scope,
            ).fetchall()
        cells = [_cell(*record) for record in found]
        return {cell.key: cell for cell in cells}

    def add(self, cell: Cell) -> None:
        """Write a finished cell; when this returns it is on disk."""
        if not cell.finished:
            return
        with self._explained():
            self._connection.execute(
                f"INSERT OR REPLACE INTO cells (data, version, seed, {_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (*self._scope, *_record(cell)),
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says into what was wrong and what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise FileError(f"store {self.path}: {_remedy(str(error))}") from error


def _connect(path: Path | None) -> sqlite3.Connection:
    """Open a store, or make one; refuse anything else before a figure is computed."""
    if path is not None and not path.parent.is_dir():
        raise FileError(f"store {path}: there is no folder {path.parent}; create it or give another path")
    if path is not None and path.is_dir():
        raise FileError(f"store {path}: this is a folder; give the path of a file in it")
    # isolation_level=None: each statement is its own transaction, on disk when it returns
    connection = sqlite3.connect(path or ":memory:", timeout=PATIENCE, isolation_level=None)
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path | None) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN IMMEDIATE")  # so that two runs do not both make the table
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise FileError(f"store {path}: this is a database of another program; give another path")
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found != FORMAT:
        raise FileError(
            f"store {path}: its format is {found} and this version of Sfumato writes format {FORMAT}; give another path"
        )
    damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        raise sqlite3.DatabaseError(f"malformed: {damage}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")  # writes what stands there: an unwritable file is refused now
    connection.execute("COMMIT")


def _remedy(message: str) -> str:
    """Say what to do about SQLite's message."""
    for sign, advice in (
        ("not a database", "this file is not a store of Sfumato; give another path"),
        ("malformed", "the file is damaged; give another path, or remove it to compute everything anew"),
        ("readonly", "the file cannot be written; change its permissions or give another path"),
        ("unable to open", "the file cannot be opened for writing; check the folder's permissions"),
        ("locked", f"another run kept it for more than {PATIENCE:g} seconds; wait for it, or give another path"),
        ("full", "the disk is full; free some space and run again, what is finished is kept"),
        ("disk I/O", "the disk could not be read or written; check it and run again, what is finished is kept"),
    ):
        if sign in message:
            return f"{advice} ({message})"
    return message


_Record = tuple[str, str, int, str, str, str, float | None, str, float, float]


def _record(cell: Cell) -> _Record:
    details = {
        "parts": dict(cell.parts),
        "by_variable": dict(cell.by_variable),
        "by_pair": [[*pair, value] for pair, value in cell.by_pair.items()],
        "notes": cell.notes,
        "masking": cell.masking,
    }
    value = None if math.isnan(cell.value) else cell.value
    reason = cell.reason or Reason(Status.MEASURED, "")
    why = (str(reason.status), reason.who, reason.text)
    return *cell.key, *why, value, json.dumps(details), cell.seconds, cell.protect_seconds


def _cell(
    candidate: str,
    measure: str,
    replicate: int,
    status: str,
    who: str,
    text: str,
    value: float | None,
    details: str,
    seconds: float,
    protect_seconds: float,
    finished: bool = True,
) -> Cell:
    found = json.loads(details)
    return Cell(
        key=Key(candidate, measure, replicate),
        value=math.nan if value is None else value,
        reason=None if status == Status.MEASURED else Reason(Status(status), text, who=who),
        finished=finished,
        parts=found["parts"],
        by_variable=found["by_variable"],
        by_pair={(first, second): value for first, second, value in found["by_pair"]},
        notes=tuple(found["notes"]),
        masking=tuple(found["masking"]),
        seconds=seconds,
        protect_seconds=protect_seconds,
    )
