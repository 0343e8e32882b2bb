"""What has been computed, safe on disk: one file, each finished cell committed at once.

A cell is one measure of one protected table; its key holds all that its figures depend on. Beside the cells, which are
read whenever an experiment runs, stand the whole measurements, which are read when asked for, and what was examined of
single candidates.
"""

import json
import math
import os
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sfumato.about import MeasureAbout
from sfumato.core import Method
from sfumato.database import Database
from sfumato.errors import FileError, ParameterError, SfumatoError
from sfumato.identity import identity
from sfumato.measurement import Measurement, Table
from sfumato.outcome import Reason, Status
from sfumato.table.formats import a_path
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts

FORMAT = 2
APPLICATION = 0x53464D54  # "SFMT", so that another program's database is not mistaken for a store
PATIENCE = 60.0  # seconds to wait while another run writes
_KEY = (
    "data TEXT NOT NULL, seed TEXT NOT NULL, candidate TEXT NOT NULL, measure TEXT NOT NULL, replicate INTEGER NOT NULL"
)
_TABLES = (
    f"""
CREATE TABLE cells ({_KEY},
    status TEXT NOT NULL, who TEXT NOT NULL, text TEXT NOT NULL, value REAL, told TEXT NOT NULL,
    seconds REAL NOT NULL, protect_seconds REAL NOT NULL,
    PRIMARY KEY (data, seed, candidate, measure, replicate)
) WITHOUT ROWID
""",
    f"""
CREATE TABLE measurements ({_KEY},
    content BLOB NOT NULL,
    PRIMARY KEY (data, seed, candidate, measure, replicate)
)
""",
    """
CREATE TABLE examinations (
    data TEXT NOT NULL, seed TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (data, seed, name)
)
""",
)
_COLUMNS = "candidate, measure, replicate, status, who, text, value, told, seconds, protect_seconds"
_ANEW = "give another path, or remove it to compute everything anew"
_REMEDIES = {  # by what SQLite's message holds
    "not a database": "this file is not a store of Sfumato; give another path",
    "malformed": f"the file is damaged; {_ANEW}",
    "no such": f"tables or columns of a store are not in it; {_ANEW}",
    "readonly": "the file cannot be written; change its permissions or give another path",
    "unable to open": "the file cannot be opened for writing; check the folder's permissions",
    "locked": "another run kept it for more than {patience:g} seconds; wait for it, or give another path",
    "full": "the disk is full; free some space and run again, what is finished is kept",
    "disk I/O": "the disk could not be read or written; check it and run again, what is finished is kept",
}
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, zlib.error)
MARK = b"sfumato measurement 1\n"
LEVEL = 1  # of zlib: higher levels take several times as long and save little
PLAIN = frozenset((str, int, float, bool, type(None)))
MAX_BYTES_IN_MEMORY = 256 * 2**20
NOT_KEPT = "figures by record were not kept in memory, because the table is large: run the experiment with a store"
T = TypeVar("T")


class Unreadable(FileError):  # noqa: N818 - of one thing, where FileError is of the file
    """One thing in a store that cannot be read, beside others that can."""


class Key(NamedTuple):
    """Which cell of an experiment: a candidate, a measure and a replicate."""

    candidate: str
    measure: str
    replicate: int


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one measure said of one protected table, or why it said nothing."""

    key: Key
    value: float = math.nan
    reason: Reason | None = None  # why there is no figure; None if there is one
    finished: bool = True  # a failure that may not happen again is not finished, and never stored
    parts: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    masking: tuple[str, ...] = ()  # what the method noted in the table it made
    seconds: float = 0.0
    protect_seconds: float = 0.0
    content: bytes | None = field(default=None, compare=False, repr=False)  # the whole measurement; None: in the store


@dataclass(frozen=True)
class Scope:
    """Whose cells: the file (None: in memory), the fingerprint of the data and the seed."""

    path: Path | None
    data: str
    seed: int


class Store:
    """The finished cells of one experiment's data and seed, in a file.

    Several processes may write to one file at a time. ``known`` says that this run has opened and checked it before.
    Who only looks is ``reading``: the file is checked and left as it is, to the time it was written last.
    """

    def __init__(self, scope: Scope, *, known: bool = False, reading: bool = False) -> None:
        if scope.path is None:
            raise FileError("a store needs the path of a file")
        path = self.path = scope.path
        self._scope = (scope.data, str(scope.seed))
        there = known or reading
        if there and not path.is_file():  # SQLite would make an empty one
            raise FileError(f"store {path}: it is no longer there; run the experiment again")
        if not path.parent.is_dir():
            raise FileError(f"store {path}: there is no folder {path.parent}; create it or give another path")
        if path.is_dir():
            raise FileError(f"store {path}: this is a folder; give the path of a file in it")
        self._database = Database(path, self._refusal, patience=PATIENCE, make=not there)
        try:
            if not there:
                self._prepare()
            elif not known:
                self._check_format()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Make the tables of an empty file; refuse anything else before a figure is computed."""
        database = self._database
        with database.at_once():  # so that two runs do not both make the tables
            database.claim(APPLICATION, _TABLES, FORMAT)
            self._check_format()
            # of the cells alone, which are about to be read; whole measurements tell damage themselves
            (damage,) = database.row("PRAGMA quick_check(cells)")
            if damage != "ok":
                raise self._refusal(ValueError(f"malformed: {damage}"))
            # writes what stands there: an unwritable file is refused now
            database.row(f"PRAGMA user_version = {FORMAT}")

    def _check_format(self) -> None:
        """Refuse a database that is no store, or one of another version."""
        if not self._database.is_of(APPLICATION):
            raise FileError(f"store {self.path}: this is a database of another program; give another path")
        (found,) = self._database.row("PRAGMA user_version")
        if found != FORMAT:
            age = "an older" if found < FORMAT else "a newer"
            raise FileError(
                f"store {self.path}: {age} version of Sfumato wrote it, in format {found}, and this one reads format "
                f"{FORMAT} only; {_ANEW}"
            )

    def _refusal(self, error: Exception) -> FileError:
        message = str(error)
        cures = (cure for sign, cure in _REMEDIES.items() if sign in message)
        cure = next(cures, "").format(patience=PATIENCE)
        return FileError(f"store {self.path}: {f'{cure} ({message})' if cure else message}")

    def finished(self) -> dict[Key, Cell]:
        """Return every finished cell of this data and seed, without the whole measurements.

        A cell that cannot be read counts as not finished, so that it is computed anew, and the others are kept.
        """
        found = self._database.rows(f"SELECT {_COLUMNS} FROM cells WHERE data = ? AND seed = ?", *self._scope)
        cells: dict[Key, Cell] = {}
        for record in found:
            try:
                cell = _cell(*record)
            except UNREADABLE:
                continue
            cells[cell.key] = cell
        lost = len(found) - len(cells)
        if lost:
            warnings.warn(
                f"store {self.path}: {lost:,} of {len(found):,} figures are damaged and count as not computed; "
                "the others are kept",
                stacklevel=3,
            )
        return cells

    def add(self, cell: Cell) -> None:
        """Write a finished cell, and the whole measurement if it comes with it; when this returns both are on disk."""
        if not cell.finished:
            return
        with self._database.at_once():
            self._write("cells", _COLUMNS, *_record(cell))
            if cell.content is not None:
                self._write("measurements", "candidate, measure, replicate, content", *cell.key, cell.content)

    def forget(self, key: Key) -> None:
        """Take out a cell whose measurement is damaged, so that the next run computes it anew, and no other."""
        with self._database.at_once():
            for table in ("cells", "measurements"):
                self._database.row(
                    f"DELETE FROM {table} WHERE data = ? AND seed = ? AND candidate = ? AND measure = ? "
                    "AND replicate = ?",
                    *self._scope,
                    *key,
                )

    def content(self, key: Key) -> bytes | None:
        """Return the whole measurement of a cell as it was encoded; None if there is none."""
        return self._read("measurements", "candidate = ? AND measure = ? AND replicate = ?", *key)

    def examination(self, key: str) -> bytes | None:
        """Return what was kept under this key by :meth:`keep_examination`; None if there is nothing."""
        kept = self._read("examinations", "name = ?", key)
        with self._readable():
            return None if kept is None else zlib.decompress(kept)

    def keep_examination(self, key: str, payload: bytes) -> None:
        """Keep what was found out about a candidate under a key; when this returns it is on disk."""
        with self._database.at_once():
            self._write("examinations", "name, content", key, zlib.compress(payload))

    def secret_seed(self) -> int:
        """Return the seed that was kept for this data; keep the present one if there is none."""
        with self._database.at_once():
            self._database.row("CREATE TABLE IF NOT EXISTS seeds (data TEXT PRIMARY KEY, seed TEXT NOT NULL)")
            self._database.row("INSERT OR IGNORE INTO seeds (data, seed) VALUES (?, ?)", *self._scope)
            (found,) = self._database.row("SELECT seed FROM seeds WHERE data = ?", self._scope[0])
        with self._readable():
            return int(found)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, table: str, columns: str, *values: object) -> None:
        holes = ",".join("?" * (len(values) + len(self._scope)))
        statement = f"INSERT OR REPLACE INTO {table} (data, seed, {columns}) VALUES ({holes})"
        self._database.row(statement, *self._scope, *values)

    def _read(self, table: str, where: str, *values: object) -> bytes | None:
        statement = f"SELECT content FROM {table} WHERE data = ? AND seed = ? AND {where}"
        found = self._database.row(statement, *self._scope, *values)
        if found is not None and not isinstance(found[0], bytes):
            raise damaged(self.path, TypeError(f"text among the {table}"))
        return None if found is None else bytes(found[0])

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Refuse what stands in the file as it should but cannot be read."""
        try:
            yield
        except UNREADABLE as error:
            raise damaged(self.path, error) from error


def identify(source: Method | Microdata | TableInParts | SfumatoError, *, rounded: bool = False) -> str:
    """Name a candidate in the store: a method by its parameters and code, a table made elsewhere by its content."""
    if isinstance(source, Method):
        return f"{identity(source)} rounded" if rounded else identity(source)
    return f"table {source.fingerprint}" if isinstance(source, Microdata | TableInParts) else f"no table: {source}"


def settled_seed(path: str | os.PathLike[str] | None, data: str, secret: int) -> int:
    """Return the secret seed that the store keeps for this data; this one if there is none yet, or no store."""
    if path is None:
        return secret
    with Store(Scope(a_path(path).absolute(), data, secret)) as store:
        return store.secret_seed()


def damaged(path: Path | None, error: Exception, cure: str = _ANEW) -> Unreadable:
    """Return the error that says that a store holds something that cannot be read."""
    return Unreadable(f"store {path}: what it holds is damaged ({type(error).__name__}: {error}); {cure}")


def _record(cell: Cell) -> tuple[object, ...]:
    reason = cell.reason or Reason(Status.MEASURED, "")
    value = None if math.isnan(cell.value) else cell.value
    why = (str(reason.status), reason.who, reason.text)
    said = {"parts": dict(cell.parts), "notes": list(cell.notes), "masking": list(cell.masking)}
    told = json.dumps({**said, "digest": _digest(*cell.key, *why, value, json.dumps(said))})
    return *cell.key, *why, value, told, cell.seconds, cell.protect_seconds


def _digest(*record: object) -> str:
    """Return a digest of all that a cell says but the time it took, so that a flipped bit is no figure."""
    plain = [float(part) if isinstance(part, Real) else part for part in record]
    return sha256(repr(plain).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _cell(
    candidate: str,
    measure: str,
    replicate: int,
    status: str,
    who: str,
    text: str,
    value: float | None,
    told: str,
    seconds: float,
    protect_seconds: float,
) -> Cell:
    found = json.loads(told)
    if not isinstance(replicate, int) or not all(isinstance(one, str) for one in (candidate, measure, who, text)):
        raise TypeError("a text or number of the wrong type")
    digest = found.pop("digest", None)  # stores of earlier versions have none
    if digest is not None and digest != _digest(
        candidate, measure, replicate, status, who, text, value, json.dumps(found)
    ):
        raise ValueError("it is not what was written")
    return Cell(
        key=Key(candidate, measure, replicate),
        value=math.nan if value is None else value - 0.0,  # a text is refused
        reason=None if status == Status.MEASURED else Reason(Status(status), text, who=who),
        parts={str(name): part - 0.0 for name, part in found["parts"].items()},
        notes=_texts(found["notes"]),
        masking=_texts(found["masking"]),
        seconds=seconds - 0.0,
        protect_seconds=protect_seconds - 0.0,
    )


def _texts(found: Any) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise TypeError(f"{found!r} where a list of texts is due")
    return tuple(found)


# A whole measurement as bytes and back, exactly: what the store keeps.
#
# The format, version 1: the line ``sfumato measurement 1``, then compressed by zlib: eight bytes that say how long
# the text is (little endian), the text, and the figures by record as float64 (little endian). The text is JSON in
# which NaN, Infinity and -Infinity stand for what they are; Python writes every other float with all its digits, so
# that each comes back as it was. A pair is a list of two names and a figure. A table lists the names of its columns
# once for each set of them in use, and each row as the number of its set and its values; a list among the values is a
# tuple.
#
# Nothing that could run is ever read: no pickle.


class Damaged(ValueError):  # noqa: N818 - the store makes an error of it that says what to do
    """Bytes that are no measurement."""


def encode(found: Measurement) -> bytes:
    """Write a measurement; a value in a table that the format does not know is refused."""
    text = json.dumps(
        {
            "measure": found.measure,
            "value": float(found.value),
            "parts": _figures(found.parts),
            "by_variable": _figures(found.by_variable),
            "by_pair": [[str(first), str(second), float(value)] for (first, second), value in found.by_pair.items()],
            "records": None if found.by_record is None else len(found.by_record),
            "tables": {str(name): _written(found, name, rows) for name, rows in found.tables.items()},
            "statement": str(found.statement),
            "notes": [str(note) for note in found.notes],
        },
        separators=(",", ":"),
    ).encode()
    each = b"" if found.by_record is None else np.asarray(found.by_record, dtype="<f8").tobytes()
    return MARK + zlib.compress(len(text).to_bytes(8, "little") + text + each, LEVEL)


def decode(content: bytes, about: MeasureAbout) -> Measurement:
    """Read a measurement that :func:`encode` wrote; ``about`` is what is known of its measure."""
    if not content.startswith(MARK):
        raise Damaged("it does not begin as a measurement of this version of Sfumato does")
    try:
        body = zlib.decompress(content[len(MARK) :])
        end = 8 + int.from_bytes(body[:8], "little")
        told = json.loads(body[8:end])
        return Measurement(
            measure=_text(told["measure"]),
            about=about,
            value=told["value"] - 0.0,  # a text is refused
            parts=_figures(told["parts"]),
            by_variable=_figures(told["by_variable"]),
            by_pair={(_text(first), _text(second)): value - 0.0 for first, second, value in told["by_pair"]},
            by_record=_records(told["records"], body[end:]),
            tables={name: _read(table) for name, table in told["tables"].items()},
            statement=_text(told["statement"]),
            notes=tuple(map(_text, told["notes"])),
        )
    except Damaged:
        raise
    except (zlib.error, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise Damaged(f"{type(error).__name__}: {error}") from error


def _figures(given: Mapping[str, float]) -> dict[str, float]:
    return {str(name): float(value) for name, value in given.items()}


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise Damaged(f"{found!r} where a text is due")
    return found


def _records(count: int | None, content: bytes) -> Any:
    if len(content) != 8 * (count or 0):
        raise Damaged(f"it has {len(content)} bytes of figures by record where {count or 0} figures are due")
    return None if count is None else np.frombuffer(content, dtype="<f8").astype(np.float64)


def _written(found: Measurement, name: str, rows: Table) -> dict[str, Any]:
    sets: dict[tuple[str, ...], int] = {}
    try:
        lines = [
            [sets.setdefault(tuple(row), len(sets)), *(v if type(v) in PLAIN else _plain(v) for v in row.values())]
            for row in rows
        ]
    except TypeError as error:
        raise ParameterError(
            f"{found.measure}: its table {name!r} holds {error}; a table holds texts, numbers, True, False, None "
            "and tuples of these"
        ) from None
    if not all(isinstance(column, str) for names in sets for column in names):
        raise ParameterError(f"{found.measure}: the columns of its table {name!r} must be named by texts")
    return {"names": list(sets), "rows": lines}


def _plain(value: Any) -> Any:
    """Return a value as one of the types that the format knows: numpy's numbers as Python's, a list as a tuple."""
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    raise TypeError(f"{value!r} of type {type(value).__name__}")


def _read(table: Mapping[str, Any]) -> Table:
    names = [tuple(columns) for columns in table["names"]]
    return tuple(dict(zip(names[place], _tuples(values), strict=True)) for place, *values in table["rows"])


def _tuples(values: Sequence[Any]) -> list[Any]:
    return [tuple(_tuples(value)) if type(value) is list else value for value in values]


# What an experiment measured, whole, and what was examined of its candidates: read when asked for, never made again.
#
# An experiment with a store reads from its file, which is opened for each question and may be asked long after the
# run. Without a store everything is kept in memory, compressed as it would be on disk.
#
# The figures by record, the tables and the statement are kept of replicate 0, whose table is the one that is released
# and reported; of the other replicates all the rest is kept, because reports show means over the replicates. In a
# file that takes 8 bytes per record, candidate and measure at most, and compressed much less: the store of the demo,
# 30 candidates with 5 measures and 3 replicates of some 1,800 records, has 2 MB. In memory, figures by record are
# kept if they take at most ``MAX_BYTES_IN_MEMORY`` bytes before they are compressed, for all candidates and measures
# together; otherwise for none of them, and each measurement says so in its notes.


def kept(found: Measurement, replicate: int, *, by_record: bool) -> bytes:
    """Encode what is kept of a measurement: all of it in replicate 0."""
    if replicate > 0:
        return encode(replace(found, by_record=None, tables={}, statement=""))
    if not by_record and found.by_record is not None:
        return encode(replace(found, by_record=None, notes=(*found.notes, NOT_KEPT)))
    return encode(found)


class Archive:
    """The whole measurements of an experiment's cells, and what was examined of its candidates."""

    def __init__(self, scope: Scope, cells: Mapping[Key, Cell]) -> None:
        self._scope = scope
        self._contents = {key: cell.content for key, cell in cells.items() if cell.content is not None}
        self._examined: dict[str, bytes] = {}

    def measurement(self, key: Key, about: MeasureAbout) -> Measurement:
        """Return the whole measurement of a cell that has a figure.

        One that is damaged is taken out of the store with its figure, so that the next run computes it anew.
        """
        try:
            content = self._content(key)
            if content is None:
                raise Damaged(f"there is a figure of {key.measure} but no measurement")
            return decode(content, about)
        except (Damaged, Unreadable) as error:
            if self._scope.path is None:
                raise damaged(None, error) from error
            with Store(self._scope, known=True) as store:
                store.forget(key)
            raise damaged(self._scope.path, error, "run again: this figure is computed anew, and no other") from error

    def _content(self, key: Key) -> bytes | None:
        content = self._contents.get(key)
        if content is None and self._scope.path is not None:
            with Store(self._scope, known=True) as store:
                content = store.content(key)
        return content

    def examined(
        self, key: str, compute: Callable[[], T], *, encode: Callable[[T], bytes], decode: Callable[[bytes], T]
    ) -> T:
        """Return what was examined before under this key, or compute it and keep it; what is damaged is made anew."""
        found = self.examination(key)
        if found is not None:
            with suppress(FileError, *UNREADABLE):
                return decode(found)
        found = encode(compute())  # the file is closed meanwhile: it may take minutes
        if self._scope.path is None:
            self._examined[key] = zlib.compress(found)
        else:
            with Store(self._scope, known=True) as store:
                store.keep_examination(key, found)
        return decode(found)

    def examination(self, key: str) -> bytes | None:
        """Return what was examined under this key; None if nothing was, or if it is damaged."""
        if self._scope.path is None:
            return zlib.decompress(self._examined[key]) if key in self._examined else None
        with Store(self._scope, known=True) as store, suppress(Unreadable):
            return store.examination(key)
        return None


class Averaged(Mapping[str, Mapping[T, float]]):
    """A breakdown of a candidate by measure, averaged over the replicates, read when asked for.

    Measures that have none are left out.
    """

    def __init__(self, cells: Mapping[str, Sequence[Key]], read: Callable[[str, Key], Mapping[T, float]]) -> None:
        self._cells, self._read = cells, read  # the cells of each measure, one per replicate, and what one of them says
        self._found: dict[str, Mapping[T, float]] = {}

    def __getitem__(self, measure: str) -> Mapping[T, float]:
        if measure not in self._found and measure in self._cells:
            each = [self._read(measure, key) for key in self._cells[measure]]
            self._found[measure] = averaged(each)
        if not self._found.get(measure):
            raise KeyError(measure)
        return self._found[measure]

    def __iter__(self) -> Iterator[str]:
        return (measure for measure in self._cells if measure in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def averaged(each: Sequence[Mapping[T, float]]) -> dict[T, float]:
    """Average a breakdown over the replicates that have it, name by name.

    >>> averaged([{"a": 1.0, "b": 2.0}, {"a": 3.0}])
    {'a': 2.0, 'b': 2.0}
    """
    names = dict.fromkeys(name for found in each for name in found)
    values = {name: [found[name] for found in each if name in found] for name in names}
    return {name: sum(several) / len(several) for name, several in values.items()}
