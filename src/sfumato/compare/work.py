"""Carrying out an experiment: mask once, measure what is lacking, in this process or in several."""

import os
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pickle import PicklingError
from time import perf_counter, sleep

from sfumato.compare.archive import kept
from sfumato.compare.progress import Watch
from sfumato.compare.seeds import generator
from sfumato.compare.store import Cell, Key, Scope, Store
from sfumato.core import Measure, Method
from sfumato.data.microdata import Microdata
from sfumato.errors import ParameterError, SfumatoError
from sfumato.outcome import Reason, Status
from sfumato.pair import Half, Pair

SHARED_FROM = 100_000  # bytes: longer columns are put on disk once for all workers instead of sent with every task


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """One protected table and the measures it still lacks, each with its cell, which holds the replicate of its draws.

    Cells are named where the task is made: a worker may be started after an edit that is not meant to count.
    """

    name: str
    original: Microdata
    fingerprint: str  # of the original
    source: Method | Microdata | SfumatoError  # how to get the table, the table itself, or why there is none
    seed: int
    replicate: int
    wanted: tuple[tuple[Measure, Key], ...]
    store: Scope | None = None  # where a worker keeps each cell as soon as it is finished
    by_record: bool = True  # whether figures by record are kept


def outcomes(tasks: Sequence[Task], workers: int, watch: Watch) -> Generator[Cell, None, None]:
    """Yield every cell as it is finished; in which order depends on the workers, what is in it does not."""
    workers = min(workers, len(tasks))
    if workers > 1:
        yield from _in_processes(tasks, workers, watch)
        return
    halves = Originals()
    for task in tasks:
        watch.running(task.name)
        yield from carry_out(task, halves.of(task))
        watch.finished(task.name)


class Originals:
    """The original with the statistics computed of it so far, shared by all candidates that a process measures."""

    def __init__(self) -> None:
        self.known: tuple[str, Half] | None = None

    def of(self, task: Task) -> Half:
        """Return the original of a task; another one takes the place of the last."""
        if self.known is None or self.known[0] != task.fingerprint:
            self.known = task.fingerprint, Half.of(task.original)
        return self.known[1]


IN_THIS_PROCESS = Originals()  # of a worker, which sees one task after the other


def carry_out(task: Task, original: Half) -> Iterator[Cell]:
    """Mask the table, then measure it; what goes wrong becomes the reason of the cells it leaves empty."""
    start = perf_counter()
    try:
        table = _table(task)
    except Exception as error:
        elapsed = perf_counter() - start
        for _, key in task.wanted:
            yield _empty(key, error, protect_seconds=elapsed)
        return
    elapsed = perf_counter() - start
    pair = Pair.of(original, table)
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
        except Exception as error:
            cell = _empty(key, error, seconds=perf_counter() - start, protect_seconds=elapsed)
        yield cell


def _table(task: Task) -> Microdata:
    if isinstance(task.source, SfumatoError):
        raise task.source
    if isinstance(task.source, Microdata):
        return task.source
    return task.source.protect(task.original, rng=generator(task.seed, task.source, task.replicate))


def _empty(key: Key, error: Exception, *, seconds: float = 0.0, protect_seconds: float = 0.0) -> Cell:
    """Keep the reason: that a class does not fit the data is a finding, anything else may go well another time."""
    reason = Reason.of(error)
    finished = reason.status is Status.NOT_APPLICABLE
    return Cell(key=key, reason=reason, finished=finished, seconds=seconds, protect_seconds=protect_seconds)


def _in_processes(tasks: Sequence[Task], workers: int, watch: Watch) -> Iterator[Cell]:
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    left = dict(enumerate(tasks))
    waiting = iter(tasks)  # joblib hands them out in this order, to as many processes as there are
    for task in islice(waiting, workers):
        watch.running(task.name)
    # one thread per process: the processes already fill the machine
    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(
            n_jobs=workers, return_as="generator_unordered", batch_size=1, max_nbytes=SHARED_FROM, mmap_mode="r"
        )
        with _ended(parallel(delayed(_in_process)(number, task) for number, task in enumerate(tasks))) as finished:
            try:
                for number, cells in finished:
                    yield from cells
                    watch.finished(left.pop(number).name)
                    for task in islice(waiting, 1):
                        watch.running(task.name)
            except TerminatedWorkerError:
                yield from _lost(left.values())
            except PicklingError as error:
                why = str(error.__cause__ or error).strip('"\n ').rpartition("\n")[2]  # the last line of its traceback
                raise ParameterError(
                    f"a method or measure cannot be sent to another process ({why}); run with workers=1"
                ) from error


@contextmanager
def _ended(finished: Generator[tuple[int, list[Cell]], None, None]) -> Iterator[Iterator[tuple[int, list[Cell]]]]:
    """Close joblib's generator in any case, which ends its processes: nothing runs on after Ctrl-C or a full disk."""
    try:
        yield finished
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that tasks were cancelled is what was wanted
            finished.close()


def _in_process(number: int, task: Task) -> tuple[int, list[Cell]]:
    import signal

    _end_with_the_parent()
    # Ctrl-C reaches every process of the terminal; the one that writes the store decides what becomes of the others
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return number, list(_kept(task))


@cache
def _end_with_the_parent() -> None:
    """Watch, once per process, whether the process that writes the results is still there; end if it was killed."""
    import threading

    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _kept(task: Task) -> Iterator[Cell]:
    """Carry out a task and keep each cell as soon as it is finished."""
    if task.store is None:
        yield from carry_out(task, IN_THIS_PROCESS.of(task))
        return
    with Store(task.store, known=True) as store:
        for cell in carry_out(task, IN_THIS_PROCESS.of(task)):
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
    from importlib.metadata import version

    libraries = ("sfumato", "numpy", "scipy", "numba", "pyarrow", "pillow")
    return {"python": platform.python_version(), **{name: version(name) for name in libraries}}
