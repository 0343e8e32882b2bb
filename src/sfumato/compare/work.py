"""Carrying out an experiment: mask once, measure what is lacking, in this process or in several."""

import mmap
import os
import pickle
import tempfile
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, islice
from pathlib import Path
from pickle import PicklingError
from time import perf_counter, sleep
from typing import Any

import numpy as np

from sfumato.compare.progress import Steps
from sfumato.compare.seeds import generator
from sfumato.compare.store import Cell, Key, Scope, Store, kept
from sfumato.core import Measure, Method, speaking
from sfumato.engine import current
from sfumato.errors import EngineError, FileError, ParameterError, SfumatoError
from sfumato.outcome import Reason, Status
from sfumato.pair import Half, Pair
from sfumato.pair.masking import masked_parts
from sfumato.table.capacity import require_for_workers
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts

OPEN_FILES = Path(f"/proc/{os.getpid()}/fd")  # through which another process reaches a file that has no name
ALIGNED = 64  # bytes: where a column may begin, as processors like it
TRIES = 3  # rounds in a row in which a worker may die before anything is finished: then it is not by chance


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """One protected table and the measures it still lacks, each with its cell, which holds the replicate of its draws.

    Cells are named where the task is made: a worker may be started after an edit that is not meant to count.
    """

    name: str
    source: (
        Method | Microdata | TableInParts | SfumatoError
    )  # how to get the table, the table itself, or why there is none
    seed: int
    replicate: int
    wanted: tuple[tuple[Measure, Key], ...]
    store: Scope | None = None  # where a worker keeps each cell as soon as it is finished
    by_record: bool = True  # whether figures by record are kept
    rounded: bool = False  # whether the table has the decimals of the original


def outcomes(
    original: Microdata | TableInParts, tasks: Sequence[Task], processes: int, steps: Steps
) -> Generator[Cell, None, None]:
    """Yield every cell as it is finished; in which order depends on the processes, what is in it does not.

    The candidates of a table in parts come one after the other: the engine has the cores for the parts of each.
    """
    if isinstance(original, TableInParts):
        yield from _of_parts(original, tasks, steps)
        return
    processes = min(processes, len(tasks))
    if processes > 1:
        require_for_workers(processes, sum(column.nbytes for column in original.columns.values()))
        yield from _in_processes(original, tasks, processes, steps)
        return
    half = Half.of(original)  # with the statistics computed of it so far, shared by all candidates
    for task in tasks:
        steps.began(task.name)
        yield from carry_out(task, half)
        steps.ended(task.name)


def _of_parts(original: TableInParts, tasks: Sequence[Task], steps: Steps) -> Iterator[Cell]:
    half, engine = Half.of(original), current(len(original))
    for task in tasks:
        steps.began(task.name)
        with engine.room() as room:  # masked variables that are put into files go with the candidate
            yield from carry_out(task, half, (original, room))
        steps.ended(task.name)


def carry_out(task: Task, original: Half, parts: tuple[TableInParts, Path] | None = None) -> Iterator[Cell]:
    """Mask the table, then measure it; what goes wrong becomes the reason of the cells it leaves empty.

    ``parts`` is the original in parts, and where its masked variables may be put. An engine that is gone, a part that
    has changed or a full disk are nothing about a candidate then: they end the run, which goes on when it is repeated.
    """
    start = perf_counter()
    fatal = () if parts is None else (EngineError, FileError)
    table: Microdata | TableInParts
    try:
        table = _table(task, original.parts[0]) if parts is None else _table(task, *parts)
        pair = Pair.of(original, table) if parts is None else _paired(original, table, parts[0])
    except fatal:
        raise
    except Exception as error:
        elapsed = perf_counter() - start
        for _, key in task.wanted:
            yield _empty(key, error, protect_seconds=elapsed)
        return
    elapsed = perf_counter() - start
    for measure, key in task.wanted:
        start = perf_counter()
        try:
            rng = generator(task.seed, measure, key.replicate)
            found = measure.evaluate_pair(pair, rng=rng)
            cell = Cell(
                key=key,
                value=float(found.value),
                parts={str(name): float(value) for name, value in found.parts.items()},
                notes=tuple(map(str, found.notes)),
                masking=table.notes,
                seconds=perf_counter() - start,
                protect_seconds=elapsed,
                content=kept(found, key.replicate, by_record=task.by_record),
            )
        except fatal:
            raise
        except Exception as error:
            cell = _empty(key, error, seconds=perf_counter() - start, protect_seconds=elapsed)
        yield cell


def _table(task: Task, original: Microdata | TableInParts, room: Path | None = None) -> Microdata | TableInParts:
    """Return a candidate: masked now, part by part when it is asked for (in ``room``), or protected elsewhere."""
    source = task.source
    if isinstance(source, SfumatoError):
        raise source
    if not isinstance(source, Method):
        return source
    rng = generator(task.seed, source, task.replicate)
    if isinstance(original, Microdata):
        return source.protect(original, rng=rng, rounded=task.rounded)
    assert room is not None
    with current(len(original)).into(room):
        return protected_parts(source, original, rng, rounded=task.rounded)


def protected_parts(
    method: Method, table: TableInParts, rng: np.random.Generator, *, rounded: bool = False
) -> TableInParts:
    """Return the table that a method makes of one in parts; nothing is written, each part is masked when asked for."""
    return masked_parts(table, method.steps, speaking, rng, rounded=rounded)


def _paired(half: Half, table: Microdata | TableInParts, original: TableInParts) -> Pair:
    """Put a candidate beside the original, whose statistics are shared unless it has to be cut anew."""
    cut = isinstance(table, TableInParts) and table.sizes != original.sizes
    return Pair.of(original if cut else half, table)


def _empty(key: Key, error: Exception, *, seconds: float = 0.0, protect_seconds: float = 0.0) -> Cell:
    """Keep the reason: that a class does not fit the data is a finding, anything else may go well another time."""
    reason = Reason.of(error)
    finished = reason.status is Status.NOT_APPLICABLE
    return Cell(key=key, reason=reason, finished=finished, seconds=seconds, protect_seconds=protect_seconds)


# Worker processes: they end with their parent, and read the original from one copy that goes with the last of them.


def workers(number: int, *, unordered: bool = True) -> Any:
    """Return joblib's way to run tasks in that many processes, one thread in each: the processes fill the machine.

    Results come as they are finished, or in the order of the tasks. It shares no arrays of its own: the files that it
    makes for them stay when everything is killed at once.
    """
    from joblib import Parallel, parallel_config

    _start_the_cleaner()
    with parallel_config(backend="loky", inner_max_num_threads=1):  # a backend named below would have many threads
        return Parallel(
            n_jobs=number,
            return_as="generator_unordered" if unordered else "generator",
            batch_size=1,
            max_nbytes=None,
            temp_folder=tempfile.gettempdir(),  # else it makes a folder in shared memory beforehand
            initializer=end_with,
            initargs=(os.getpid(),),
        )


def _start_the_cleaner() -> None:
    """Start joblib's process that cleans up after the others: it must outlive a terminal that is closed."""
    import signal

    from joblib.externals.loky.backend import resource_tracker

    if not hasattr(signal, "pthread_sigmask"):
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})  # what it is born with, it keeps
    try:
        resource_tracker.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with(parent: int) -> None:
    """Watch whether the process that started this one is still there; end if it was killed.

    Its number is handed over: whoever asks for it may be an orphan by then. Signals that reach every process of a
    terminal or a job are left to the parent, which decides what becomes of the others.
    """
    import signal
    import threading

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@dataclass(frozen=True)
class SharedTable:
    """A table in a file without a name, which other processes map into memory and which goes with the last of them."""

    place: str  # the file, among those that its maker has open
    sizes: tuple[int, ...]  # bytes of the pickle and of each column
    fingerprint: str  # of the table

    def read(self) -> Microdata:
        """Return the table; its columns are the shared ones."""
        with Path(self.place).open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        starts = accumulate((_aligned(size) for size in self.sizes), initial=0)
        frame, *buffers = (mapped[start:][:size] for start, size in zip(starts, self.sizes, strict=False))
        table: Microdata = pickle.loads(frame, buffers=buffers)
        return table


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


@contextmanager
def shared(table: Microdata, folder: Path | None) -> Iterator[SharedTable | Microdata]:
    """Put a table where workers can read it, in a folder with room for it; elsewhere it is sent with every task."""
    if not OPEN_FILES.is_dir():  # a system without them
        yield table
        return
    columns: list[pickle.PickleBuffer] = []
    frame = pickle.dumps(table, protocol=5, buffer_callback=columns.append)
    parts = [memoryview(frame), *(column.raw() for column in columns)]
    with tempfile.TemporaryFile(dir=folder) as file:
        written = _write(file, parts)
        sizes = tuple(part.nbytes for part in parts)
        yield SharedTable(f"{OPEN_FILES}/{file.fileno()}", sizes, table.fingerprint) if written else table


def _write(file: Any, parts: list[memoryview]) -> bool:
    """Write a table; tell whether there was room for it."""
    with suppress(OSError):
        for part in parts:
            file.write(part)
            file.write(bytes(_aligned(part.nbytes) - part.nbytes))
        file.flush()
        return True
    return False


def _in_processes(original: Microdata, tasks: Sequence[Task], processes: int, steps: Steps) -> Iterator[Cell]:
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    left = dict(enumerate(tasks))
    scope = tasks[0].store
    folder = scope.path.parent if scope is not None and scope.path is not None else None
    fruitless = 0  # rounds in a row that ended with the death of a worker and finished nothing
    with shared(original, folder) as table:
        while left and fruitless < TRIES:
            before = len(left)
            try:
                yield from _round(left, table, processes, steps)
            except TerminatedWorkerError:
                found = _kept_by_the_dead(left.values())
                yield from found.values()
                for number, task in tuple(left.items()):
                    lacking = tuple((measure, key) for measure, key in task.wanted if key not in found)
                    left[number] = replace(task, wanted=lacking)
                    if not lacking:
                        steps.ended(left.pop(number).name)
                fruitless = 0 if found or len(left) < before else fruitless + 1
            except PicklingError as error:
                why = str(error.__cause__ or error).strip('"\n ').rpartition("\n")[2]  # the last line of its traceback
                raise ParameterError(
                    f"a method or measure cannot be sent to another process ({why}); run with workers=1"
                ) from error
    yield from _lost(left.values())


def _round(left: dict[int, Task], table: SharedTable | Microdata, processes: int, steps: Steps) -> Iterator[Cell]:
    """Carry out what is left, and take out what is done; all ends where a worker dies."""
    from joblib import delayed

    waiting = iter(tuple(left.values()))  # joblib hands them out in this order, to as many processes as there are
    for task in islice(waiting, processes):
        steps.began(task.name)
    jobs = (delayed(_in_process)(number, task, table) for number, task in tuple(left.items()))
    with _ended(workers(processes)(jobs)) as finished:
        for number, cells in finished:
            yield from cells
            steps.ended(left.pop(number).name)
            for task in islice(waiting, 1):
                steps.began(task.name)


def _kept_by_the_dead(left: Iterable[Task]) -> dict[Key, Cell]:
    """Return the cells that were stored before a worker died: they are not computed again."""
    wanted = {key: task.store for task in left for _, key in task.wanted}
    scope = next(iter(wanted.values()))
    if scope is None:
        return {}
    with Store(scope, known=True) as store:
        return {key: cell for key, cell in store.finished().items() if key in wanted}


@contextmanager
def _ended(finished: Generator[tuple[int, list[Cell]], None, None]) -> Iterator[Iterator[tuple[int, list[Cell]]]]:
    """Close joblib's generator in any case, which ends its processes: nothing runs on after Ctrl-C or a full disk."""
    try:
        yield finished
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that tasks were cancelled is what was wanted
            finished.close()


def _in_process(number: int, task: Task, original: SharedTable | Microdata) -> tuple[int, list[Cell]]:
    return number, list(_kept(task, _half(original)))


def _half(original: SharedTable | Microdata) -> Half:
    """Return the original with the statistics that this process computed of it for one task after the other."""
    if isinstance(original, Microdata):  # sent anew with every task
        return Half.of(original)
    return _half_of_shared(original)


@lru_cache(maxsize=1)
def _half_of_shared(original: SharedTable) -> Half:
    return Half.of(original.read())


def _kept(task: Task, original: Half) -> Iterator[Cell]:
    """Carry out a task and keep each cell as soon as it is finished."""
    if task.store is None:
        yield from carry_out(task, original)
        return
    with Store(task.store, known=True) as store:
        for cell in carry_out(task, original):
            store.add(cell)
            yield replace(cell, content=None)  # on disk, and not to be sent about


def _lost(tasks: Iterable[Task]) -> Iterator[Cell]:
    """Say of every cell still open that its process died; a repeated run tries again."""
    text = "a worker process ended abruptly, perhaps for lack of memory; run again with fewer workers"
    for task in tasks:
        for _, key in task.wanted:
            yield Cell(key=key, reason=Reason(Status.FAILED, text), finished=False)


def versions() -> dict[str, str]:
    """Return the versions that figures may depend on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("sfumato", "numpy", "scipy", "numba", "pyarrow", "pillow"):
        with suppress(PackageNotFoundError):  # Pillow is there for one method only
            found[name] = version(name)
    return found
