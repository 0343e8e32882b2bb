"""The summaries of parts, kept on disk as they arrive, so that a run that was killed goes on where it was.

One SQLite file, each summary committed at once. Its key is a digest of the part's content, of what is computed of it
and of the code that does so: a changed part or an edited program is never answered from an old file.
"""

import io
import os
import pickle
import sqlite3
import zlib
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.errors import FileError

APPLICATION = 0x53464D50  # "SFMP", so that another program's database is not mistaken for one of summaries
PATIENCE = 60.0  # seconds to wait while another run writes
DIGEST = 32  # bytes before each summary, the SHA-256 of the rest: a damaged one is never counted
BROKEN = (sqlite3.Error, UnicodeDecodeError)  # of a damaged file even SQLite's own message may be no text
FAST = 1  # of zlib's levels: a tenth of the size for a second per hundred megabytes
NUMPY = {"_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer"}
PLAIN = {"complex", "set", "frozenset", "bytearray", "slice", "range"}


class Summaries:
    """The summaries that have arrived, by key, in a file that only its owner can read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(
                self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            (found,) = self._connection.execute("PRAGMA application_id").fetchone()
            (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and found != APPLICATION:
                raise FileError(f"{path} is a database of another program; give another path")
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS summaries (key TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID"
            )
        except FileError:
            raise
        except (OSError, *BROKEN) as error:
            raise self._unusable(error) from error

    def find(self, key: str, packages: Iterable[str] = ()) -> Any:
        """Return the summary kept under a key; None if there is none."""
        try:
            found = self._connection.execute("SELECT content FROM summaries WHERE key = ?", (key,)).fetchone()
        except BROKEN as error:
            raise self._unusable(error) from error
        if found is None:
            return None
        try:
            digest, content = found[0][:DIGEST], found[0][DIGEST:]
            if sha256(content).digest() != digest:
                return None  # damaged: computed anew
            return _Reading(io.BytesIO(zlib.decompress(content)), {"sfumato", *packages}).load()
        except Exception:  # of another version, or of a class that is no more: computed anew
            return None

    def keep(self, key: str, summary: Any) -> None:
        """Keep a summary; when this returns it is on disk."""
        content = zlib.compress(pickle.dumps(summary, protocol=5), FAST)  # counts are small numbers in large arrays
        try:
            self._connection.execute(
                "INSERT OR REPLACE INTO summaries VALUES (?, ?)", (key, sha256(content).digest() + content)
            )
        except BROKEN as error:
            raise self._unusable(error) from error

    def __len__(self) -> int:
        try:
            (count,) = self._connection.execute("SELECT count(*) FROM summaries").fetchone()
        except BROKEN as error:
            raise self._unusable(error) from error
        return int(count)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _unusable(self, error: Exception) -> FileError:
        return FileError(
            f"summaries cannot be kept in {self.path}: {error}; free some space, give another path, or remove the file "
            "to compute them anew"
        )


class _Reading(pickle.Unpickler):
    """Reads summaries alone: arrays, and classes of the packages that made them; a foreign file cannot run code."""

    def __init__(self, source: io.BytesIO, packages: set[str]) -> None:
        super().__init__(source)
        self._packages = packages

    def find_class(self, module: str, name: str) -> Any:
        package = module.partition(".")[0]
        known = package in self._packages or (package == "numpy" and (name in NUMPY or name.endswith("DType")))
        if not known and not (module == "builtins" and name in PLAIN):
            raise pickle.UnpicklingError(f"a summary holds no {module}.{name}")
        return super().find_class(module, name)


def key_of(task: bytes, parts: Iterable[str]) -> str:
    """Return the key of what a task makes of a part, or of matching parts, by their fingerprints."""
    digest = sha256(code().encode())
    digest.update(sha256(task).digest())
    for part in parts:
        digest.update(part.encode())
    return digest.hexdigest()


@cache
def code() -> str:
    """Return a digest of all code of the package."""
    digest = sha256()
    root = Path(__file__).parents[1]
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
