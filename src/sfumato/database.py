"""SQLite files of ours: made for their owner alone, checked when opened, written at once, their errors in words.

SQLite, because it is in every Python, keeps all in a single file, and its transactions survive a killed process and
a power cut. Who keeps something in such a file holds its tables and says what to do about each error.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfumato.errors import FileError

BROKEN = (sqlite3.Error, UnicodeDecodeError)  # of a damaged file even SQLite's own message may be no text


class Database:
    """An SQLite file; ``refusal`` makes the error that says what was wrong with it and what to do.

    Each statement is its own transaction, on disk when it returns, unless ``at_once`` puts several together. Another
    process that writes is waited for, ``patience`` seconds.
    """

    def __init__(
        self,
        path: Path,
        refusal: Callable[[Exception], FileError],
        *,
        patience: float,
        make: bool = True,
        synchronous: str = "FULL",
        threads: bool = False,
    ) -> None:
        self._refusal = refusal
        if make:
            with suppress(OSError):  # for the owner alone; what is wrong, SQLite says
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        with self.explained():
            self.connection = sqlite3.connect(
                path, timeout=patience, isolation_level=None, check_same_thread=not threads
            )
            self.connection.execute(f"PRAGMA synchronous = {synchronous}")

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Carry out a statement and return all of its rows."""
        with self.explained():
            return self.connection.execute(statement, values).fetchall()

    def row(self, statement: str, *values: Any) -> Any:
        """Carry out a statement and return its first row; None if there is none."""
        with self.explained():
            return self.connection.execute(statement, values).fetchone()

    def claim(self, application: int, tables: Sequence[str], version: int) -> bool:
        """Make the tables in an empty file, and mark it as ours; tell whether a file that was not empty is."""
        if self.row("SELECT count(*) FROM sqlite_master") == (0,):
            for table in tables:
                self.row(table)
            self.row(f"PRAGMA application_id = {application}")
            self.row(f"PRAGMA user_version = {version}")
        return self.is_of(application)

    def is_of(self, application: int) -> bool:
        """Tell whether a file bears the mark of this application, not that of another program."""
        return bool(self.row("PRAGMA application_id") == (application,))

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Write all of it or nothing, while nobody else writes."""
        with self.explained():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:  # some errors of SQLite have undone it already
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what SQLite says into what was wrong and what to do."""
        try:
            yield
        except BROKEN as error:
            raise self._refusal(error) from error

    def close(self) -> None:
        """Close the file."""
        self.connection.close()
