"""What is computed of every part: sent to an executor, kept as it arrives, handed on in the order of the parts."""

import pickle
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sfumato.engine.clusters import BY_SCHEME
from sfumato.engine.processes import LocalProcesses, cores
from sfumato.engine.summaries import Summaries, key_of, packages_of
from sfumato.errors import EngineError, ParameterError
from sfumato.table import capacity
from sfumato.table.atomic import mark, remove_leftovers
from sfumato.table.capacity import free

AHEAD = 3  # parts that each process may be ahead of the one that is handed on next
UNKNOWN = 16  # workers, where an executor does not tell
MAX_RETRIES = 25  # times that a part is sent anew because the worker that had it died
MIN_RECORDS = 1_000_000  # records of a table below which nobody asks other processes, unless an engine is named
_busy: ContextVar[bool] = ContextVar("computing a part", default=False)
NESTED: list[int] = []  # tables looked through while one of their parts was computed: right, and as slow as can be
PROCESS = 250 * 10**6  # bytes that a process takes with a part of the usual size
KNOWN = "local, here, dask://host:port, spark://host:port, ray://host:port"
MIN_MEMORY_BYTES = 64 * 2**20


# parts of tables, with a ``fingerprint`` and ``at_hand``, and what goes along with them; several are looked at together
Part = tuple[Any, ...]


@dataclass(eq=False)
class _SentPart:
    """A part that was sent out, and what came of it once its future is no more."""

    key: str
    part: Part
    future: "Future[Any] | None"
    well: bool = True
    found: Any = None  # the result, or the error if it did not go well
    deaths: int = 0  # of workers that had it


class Engine:
    """Where the parts of tables are computed, and what is kept of them.

    ``where`` is "local" (processes of this machine), "here" (this process alone), ``dask://host:port``,
    ``spark://host:port`` or ``spark://local[2]``, ``ray://host:port`` or ``ray://local``, or anything that is a
    ``concurrent.futures.Executor``: Dask's ``client.get_executor()``, those of MPI and loky, a pool of threads. There
    are as many local ``processes`` as cores if nobody says, and no more than fit into the memory. ``store`` is a file
    for the summaries of parts, so that a run that was killed goes on. What does not fit into ``memory`` (bytes, or
    "2 GB"; half of what is free) is put into ``folder``, of which nobody else can read what is written.

        with sfumato.Engine("local", store="summaries.sqlite"):
            sfumato.KAnonymity(3).evaluate(original, protected)
    """

    def __init__(
        self,
        where: str | Executor = "local",
        *,
        processes: int | None = None,
        store: str | Path | None = None,
        folder: str | Path | None = None,
        memory: int | str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.memory = in_bytes(memory)
        self.executor, self._close = _opened(where, processes, self.memory)
        self.summaries = None if store is None else Summaries(store)
        self.computed = 0  # parts computed so far, those found in the store left aside
        self.progress = progress
        self._folder: Path | None = None
        self._within = None if folder is None else Path(folder)

    @property
    def workers(self) -> int:
        """How many parts are computed at a time, as far as the executor tells."""
        if self.executor is None:
            return 1
        told = getattr(self.executor, "number", None) or getattr(self.executor, "_max_workers", None)
        return told if isinstance(told, int) else UNKNOWN

    @property
    def folder(self) -> Path:
        """A folder for what does not fit into memory; it goes when the engine is closed."""
        if self._folder is None:
            within = Path(tempfile.gettempdir()) if self._within is None else self._within
            # who may not read what is put aside need not see how much of it there is, and of what
            within.mkdir(mode=0o700, parents=True, exist_ok=True)
            remove_leftovers(within, "sfumato-*")
            self._folder = Path(tempfile.mkdtemp(prefix=f"sfumato-{mark()}-", dir=within))
        return self._folder

    @contextmanager
    def room(self) -> Iterator[Path]:
        """Make a folder for what is needed for a while only, and remove it at the end."""
        made = Path(tempfile.mkdtemp(prefix="room-", dir=self.folder))
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)

    @contextmanager
    def into(self, room: Path) -> Iterator[None]:
        """Put what does not fit into memory into this room meanwhile."""
        before, self._folder = self.folder, room
        try:
            yield
        finally:
            self._folder = before

    def each(self, of: Callable[..., Any], parts: Sequence[Part], *, stored: bool = True) -> Generator[Any, None, None]:
        """Yield what ``of`` makes of each part, or of matching parts of several tables, in their order.

        ``stored``: whether it is kept in the store, and taken from there; not so of what is done rather than told.
        """
        task = _pickled(of)
        store = self.summaries if stored else None
        ahead = 1 if self.executor is None else AHEAD * self.workers
        waiting: deque[_SentPart] = deque()
        left = iter(parts)
        done = 0
        try:
            while True:
                while len(waiting) < ahead and (part := next(left, None)) is not None:
                    waiting.append(self._begun(task, part, store))
                if not waiting:
                    return
                while waiting[0].future is not None:
                    self._take_in(task, waiting, store)
                first = waiting.popleft()
                if not first.well:
                    raise first.found
                done += 1
                if self.progress is not None:
                    self.progress(done, len(parts))
                yield first.found
        finally:
            for asked in waiting:
                if asked.future is not None:
                    asked.future.cancel()

    def _begun(self, task: bytes, part: Part, store: Summaries | None) -> "_SentPart":
        """Send a part out, or find in the store what was made of it before."""
        key = ""
        if store is not None:
            key = key_of(task, (one.fingerprint for one in part))
            known = store.find(key, packages_of(task))
            if known is not None:
                return _SentPart(key, part, None, found=known)
        return _SentPart(key, part, self._sent(task, part))

    def _take_in(self, task: bytes, waiting: Iterable["_SentPart"], store: Summaries | None) -> None:
        """Wait until something arrives, and keep all that has arrived, whosever turn it is.

        The future of what is kept is let go, so that a cluster need not hold the result, nor make it again if it is
        lost.
        """
        arrived, _ = wait([asked.future for asked in waiting if asked.future is not None], None, FIRST_COMPLETED)
        for asked in waiting:
            if asked.future is None or asked.future not in arrived:
                continue
            answer = _answer(asked.future)
            if answer is None:
                asked.deaths += 1
                if asked.deaths == MAX_RETRIES:
                    raise EngineError(
                        f"the workers that had a part died {MAX_RETRIES} times; give less work to each, or more memory"
                    )
                asked.future = self._sent(task, asked.part)
                continue
            asked.future, (asked.well, asked.found) = None, answer
            if asked.well:
                self.computed += 1
                if store is not None:
                    kept = store.keep(asked.key, asked.found)
                    if self.executor is None:  # as it will be read: what is computed of it is known by its pickle
                        asked.found = pickle.loads(kept)

    def _sent(self, task: bytes, part: Part) -> "Future[Any]":
        if self.executor is None:
            future: Future[Any] = Future()
            future.set_result(computed(task, part))
            return future
        try:
            return self.executor.submit(computed, task, part)
        except Exception as error:
            raise EngineError(f"the engine takes no more work: {error}; what was computed so far is kept") from error

    def close(self) -> None:
        """End what was started here, and remove what was put aside."""
        self._close()
        if self.summaries is not None:
            self.summaries.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self) -> Self:
        _entered.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _entered.remove(self)
        self.close()


_entered: list[Engine] = []  # the engines of the with-statements around, the innermost last
_own: list[Engine] = []  # that of this program, once it was needed


def current(records: int) -> Engine:
    """Return the engine of the with-statement around; without one, this machine's processes for a large table."""
    if _busy.get():
        NESTED.append(records)
    elif _entered:
        return _entered[-1]
    wanted = "local" if records >= MIN_RECORDS and not _busy.get() else "here"
    for engine in _own:
        if (engine.executor is not None) == (wanted == "local"):
            return engine
    import atexit

    engine = Engine(wanted)
    atexit.register(engine.close)
    _own.append(engine)
    return engine


def _answer(future: "Future[Any]") -> tuple[bool, Any] | None:
    """Return what came of a part: whether it went well, and the result or its own error; None: its worker died."""
    try:
        answer: tuple[bool, Any] = future.result()
    except EngineError:
        raise
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            return None
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise EngineError(
            f"the engine is gone or broken ({what}); what was computed so far is kept if a store was named, and a "
            "repeated run goes on from there"
        ) from error
    return answer


def computed(task: bytes, parts: Part) -> tuple[bool, Any]:
    """Compute a task of a part: whether it went well, and the result or the error; workers call it."""
    before = _busy.set(True)
    try:
        found = _unpickled(task)(*(part.at_hand() if hasattr(part, "at_hand") else part for part in parts))
        return True, found.summary() if hasattr(found, "summary") else found
    except Exception as error:
        return False, error
    finally:
        _busy.reset(before)


@lru_cache(maxsize=4)
def _unpickled(task: bytes) -> Callable[..., Any]:
    of: Callable[..., Any] = pickle.loads(task)
    return of


def _pickled(of: Callable[..., Any]) -> bytes:
    import cloudpickle

    try:
        task: bytes = cloudpickle.dumps(of, protocol=5)
    except Exception as error:
        raise ParameterError(f"what is computed of a part cannot be sent to another process ({error})") from error
    return task


def _opened(where: str | Executor, processes: int | None, memory: int) -> tuple[Executor | None, Callable[[], None]]:
    """Return an executor, None for this process, and how to end what was started for it.

    Of this machine's processes there are as many as cores, and no more than have room in the memory, unless said; a
    single one would only wait for another, so that this process does its work.
    """
    if isinstance(where, Executor):
        if processes is not None:
            raise ParameterError("Engine: processes is for 'local'; an executor has its own number")
        return where, lambda: None  # it is its owner's to end
    if not isinstance(where, str):
        raise ParameterError(f"Engine: where must be one of {KNOWN}, or an Executor; got {where!r}")
    if where == "local":
        number = max(min(cores(), memory // PROCESS), 1) if processes is None else processes
        if processes is None and number == 1:
            return None, lambda: None
        local = LocalProcesses(number)
        return local, lambda: local.shutdown(cancel_futures=True)
    if processes is not None:
        raise ParameterError(f"Engine: processes is for 'local', not for {where!r}")
    if where == "here":
        return None, lambda: None
    scheme, _, host = where.partition("://")
    if not host or scheme not in BY_SCHEME:
        raise ParameterError(f"Engine: there is no engine {where!r}; there are {KNOWN}")
    cluster = BY_SCHEME[scheme](where)
    return cluster, cluster.shutdown


def in_bytes(memory: int | str | None) -> int:
    """Return a number of bytes, given as such or as text; None: half of what is free.

    >>> in_bytes("2 GB"), in_bytes("512 MiB")
    (2000000000, 536870912)
    """
    if memory is None:
        return max(free() // 2, MIN_MEMORY_BYTES)
    size = capacity.in_bytes("memory", memory)
    if size < MIN_MEMORY_BYTES:
        raise ParameterError(f"memory must be at least {MIN_MEMORY_BYTES // 2**20} MB; got {memory!r}")
    return size
