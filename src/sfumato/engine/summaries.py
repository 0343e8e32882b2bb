"""The summaries of parts, kept on disk as they arrive, so that a run that was killed goes on where it was.

One SQLite file, each summary committed at once. Its key is a digest of the part's content, of what is computed of it
and of the code that does so, that of plug-ins and the versions of libraries too: a changed part or an edited program is
never answered from an old file.
"""

import io
import os
import pickle
import pickletools
import sys
import zlib
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.database import Database
from sfumato.errors import FileError
from sfumato.identity import package_code

APPLICATION = 0x53464D50  # "SFMP", so that another program's database is not mistaken for one of summaries
PATIENCE = 60.0  # seconds to wait while another run writes
TABLE = "CREATE TABLE summaries (key TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID"
DIGEST = 32  # bytes before each summary, the SHA-256 of the rest: a damaged one is never counted
FAST = 1  # of zlib's levels: a tenth of the size for a second per hundred megabytes
NUMPY = {"_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer"}
LIBRARIES = ("numpy", "scipy", "pyarrow", "numba")  # of which another version may round otherwise
PLAIN = {"complex", "set", "frozenset", "bytearray", "slice", "range"}


class Summaries:
    """The summaries that have arrived, by key, in a file that only its owner can read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from error
        self._database = Database(self.path, self._unusable, patience=PATIENCE, synchronous="NORMAL", threads=True)
        with self._database.at_once():
            if not self._database.claim(APPLICATION, (TABLE,), 0):
                raise FileError(f"{path} is a database of another program; give another path")
        self._database.row("PRAGMA journal_mode = WAL")

    def find(self, key: str, packages: Iterable[str] = ()) -> Any:
        """Return the summary kept under a key; None if there is none."""
        found = self._database.row("SELECT content FROM summaries WHERE key = ?", key)
        if found is None:
            return None
        try:
            digest, content = found[0][:DIGEST], found[0][DIGEST:]
            if sha256(content).digest() != digest:
                return None  # damaged: computed anew
            return _Reading(io.BytesIO(zlib.decompress(content)), {"sfumato", *packages}).load()
        except Exception:  # of another version, or of a class that is no more: computed anew
            return None

    def keep(self, key: str, summary: Any) -> bytes:
        """Keep a summary; when this returns its pickle, it is on disk."""
        plain = pickle.dumps(summary, protocol=5)
        content = zlib.compress(plain, FAST)  # counts are small numbers in large arrays
        self._database.row("INSERT OR REPLACE INTO summaries VALUES (?, ?)", key, sha256(content).digest() + content)
        return plain

    def __len__(self) -> int:
        (count,) = self._database.row("SELECT count(*) FROM summaries")
        return int(count)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _unusable(self, error: Exception) -> FileError:
        return FileError(
            f"summaries cannot be kept in {self.path}: {error}; free some space, give another path, or remove the file "
            "to compute them anew"
        )


class _Reading(pickle.Unpickler):
    """Reads summaries alone: arrays, and statistics of the packages that made them; a foreign file cannot run code.

    A name with a dot would reach what a module has imported, and a function would be called: neither is read.
    """

    def __init__(self, source: io.BytesIO, packages: set[str]) -> None:
        super().__init__(source)
        self._packages = packages

    def find_class(self, module: str, name: str) -> Any:
        package = module.partition(".")[0]
        plain = module == "builtins" and name in PLAIN
        if "." not in name:
            if plain or (package == "numpy" and (name in NUMPY or name.endswith("DType"))):
                return super().find_class(module, name)
            if package in self._packages:
                found = super().find_class(module, name)
                if isinstance(found, type) and found.__module__ == module and hasattr(found, "merge"):
                    return found
        raise pickle.UnpicklingError(f"a summary holds no {module}.{name}")


def key_of(task: bytes, parts: Iterable[str]) -> str:
    """Return the key of what a task makes of a part, or of matching parts, by their fingerprints."""
    digest = sha256(_computing(task).encode())
    for part in parts:
        digest.update(part.encode())
    return digest.hexdigest()


@lru_cache(maxsize=16)
def _computing(task: bytes) -> str:
    """Return a digest of a task and of all that computes it: it is sent once for all parts."""
    digest = sha256(task)
    for name in LIBRARIES:
        digest.update(f"{name} {version(name)}".encode())
    for package in ("sfumato", *sorted(packages_of(task))):
        digest.update(package_code(package).encode())
    return digest.hexdigest()


@lru_cache(maxsize=16)
def packages_of(task: bytes) -> frozenset[str]:
    """Return the packages, beside this one and the libraries, of which a task names classes or functions."""
    found: set[str] = set()
    memo: dict[int, object] = {}
    texts: list[object] = ["", ""]  # those pushed last: a module and a name in it, where they are put together
    pushed: object = None
    for operation, argument, _ in pickletools.genops(task):
        if operation.name in ("MEMOIZE", "STACK_GLOBAL"):
            if operation.name == "MEMOIZE":
                memo[len(memo)] = pushed
                continue
            found.add(str(texts[-2]).partition(".")[0])
            pushed = None
            continue
        if operation.name in ("BINGET", "LONG_BINGET"):
            pushed = memo.get(int(argument or 0))
        else:
            pushed = argument if operation.name.endswith("UNICODE") else None
        if isinstance(pushed, str):
            texts = [texts[-1], pushed]
    return frozenset(found - {"sfumato", "cloudpickle", "__main__", *LIBRARIES, *sys.stdlib_module_names})
