"""Carrying out an experiment: mask once, measure what is lacking, in this process or in several."""

import hashlib
import inspect
import os
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from pickle import PicklingError
from time import perf_counter, sleep
from types import CodeType

from sfumato.compare.progress import Watch
from sfumato.compare.seeds import generator
from sfumato.compare.store import Cell, Key, Scope, Store
from sfumato.core import Measure, Measurement, Method
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable, ParameterError, SfumatoError
from sfumato.outcome import Reason, Status

MADE = ("__init__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__")  # by dataclass, from the fields
SHARED_FROM = 100_000  # bytes: longer columns are put on disk once for all workers instead of sent with every task


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """One masked table and the measures it still lacks, each with the replicate of its own draws."""

    name: str
    identity: str
    original: Microdata
    source: Method | Microdata | SfumatoError  # how to get the table, the table itself, or why there is none
    seed: int
    replicate: int
    wanted: tuple[tuple[Measure, int], ...]
    store: Scope | None = None  # where a worker keeps each cell as soon as it is finished

    @property
    def cells(self) -> list[Key]:
        """The cells this task fills."""
        return [Key(self.identity, identity(measure), replicate) for measure, replicate in self.wanted]


def identity(owner: Method | Measure) -> str:
    """Name a method or measure in the store: by its repr, by its code where it is not Sfumato's own, and by its files.

    Sfumato's own code is known by its version; of anyone else's class, also inside another's fields, the compiled code
    of its methods and of its bases is digested, so that figures of a class that has since been edited are not taken
    for those of the new one. What such code calls elsewhere is not seen. Of a file that a measure reads, such as a
    holdout, the content counts, not only its path.
    """
    codes = list(_foreign_code(owner))
    name = f"{owner!r} of {type(owner).__module__} {_digest(repr(codes).encode())}" if codes else repr(owner)
    read = owner.reads if isinstance(owner, Measure) else ()
    return " ".join([name, *(f"reading {_content(path)}" for path in read)])


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _content(path: str) -> str:
    """Digest a file, anew only when it has been written to since."""
    try:
        state = Path(path).stat()
        return _digest_of(Path(path), (state.st_mtime_ns, state.st_size))
    except OSError:  # that there is none, the measure says itself
        return "nothing"


@cache
def _digest_of(path: Path, _state: tuple[int, int]) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def _foreign_code(owner: Method | Measure) -> Iterator[object]:
    """Yield what makes up the code of every class of a method or measure that is not Sfumato's."""
    for cls in type(owner).__mro__:
        if cls.__module__.partition(".")[0] in ("sfumato", "abc", "builtins", "typing"):
            continue
        for name, member in sorted(vars(cls).items()):
            code = getattr(inspect.unwrap(member) if callable(member) else member, "__code__", None)
            if code is not None and name not in MADE:
                yield name, _plain_code(code)
            elif code is None and not name.startswith("__") and name != "_abc_impl":
                yield name, repr(member)
    for entry in fields(owner):
        value = getattr(owner, entry.name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Method | Measure):
                yield from _foreign_code(inner)


def _plain_code(code: CodeType) -> tuple[object, ...]:
    constants = [_plain_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, code.co_names, constants


def outcomes(tasks: Sequence[Task], workers: int, watch: Watch) -> Generator[Cell, None, None]:
    """Yield every cell as it is finished; in which order depends on the workers, what is in it does not."""
    workers = min(workers, len(tasks))
    if workers > 1:
        yield from _in_processes(tasks, workers, watch)
        return
    for task in tasks:
        watch.running(task.name)
        yield from carry_out(task)
        watch.finished(task.name)


def carry_out(task: Task) -> Iterator[Cell]:
    """Mask the table, then measure it; what goes wrong becomes the reason of the cells it leaves empty."""
    start = perf_counter()
    try:
        table = _table(task)
    except Exception as error:
        elapsed = perf_counter() - start
        for key in task.cells:
            yield _empty(key, error, protect_seconds=elapsed)
        return
    elapsed = perf_counter() - start
    for key, (measure, replicate) in zip(task.cells, task.wanted, strict=True):
        start = perf_counter()
        try:
            rng = generator(task.seed, measure, replicate)
            found = measure.evaluate(task.original, table, rng=rng)
            cell = _filled(key, found, table.notes, perf_counter() - start, elapsed)
        except Exception as error:
            if isinstance(error, NotApplicable):
                error.by(type(measure).__name__)
            cell = _empty(key, error, seconds=perf_counter() - start, protect_seconds=elapsed)
        yield cell


def _table(task: Task) -> Microdata:
    if isinstance(task.source, SfumatoError):
        raise task.source
    if isinstance(task.source, Microdata):
        return task.source
    return task.source.protect(task.original, rng=generator(task.seed, task.source, task.replicate))


def _filled(key: Key, found: Measurement, masking: tuple[str, ...], seconds: float, protect_seconds: float) -> Cell:
    return Cell(
        key=key,
        value=float(found.value),
        parts={str(name): float(value) for name, value in found.parts.items()},
        by_variable={str(name): float(value) for name, value in found.by_variable.items()},
        by_pair={(str(a), str(b)): float(value) for (a, b), value in found.by_pair.items()},
        notes=tuple(map(str, found.notes)),
        masking=masking,
        seconds=seconds,
        protect_seconds=protect_seconds,
    )


def _empty(key: Key, error: Exception, *, seconds: float = 0.0, protect_seconds: float = 0.0) -> Cell:
    """Keep the reason: that a class does not fit the data is a finding, anything else may go well another time."""
    reason = Reason.of(error)
    finished = reason.status is Status.NOT_APPLICABLE
    return Cell(key=key, reason=reason, finished=finished, seconds=seconds, protect_seconds=protect_seconds)


def _in_processes(tasks: Sequence[Task], workers: int, watch: Watch) -> Iterator[Cell]:
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    left = dict(enumerate(tasks))
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
        yield from carry_out(task)
        return
    with Store(task.store) as store:
        for cell in carry_out(task):
            store.add(cell)
            yield cell


def _lost(tasks: Iterable[Task]) -> Iterator[Cell]:
    """Say of every cell still open that its process died; a repeated run tries again."""
    text = "a worker process ended abruptly, perhaps for lack of memory; run again with fewer workers"
    for task in tasks:
        for key in task.cells:
            yield Cell(key=key, reason=Reason(Status.FAILED, text), finished=False)


def versions() -> dict[str, str]:
    """Return the versions that figures may depend on."""
    import platform
    from importlib.metadata import version

    libraries = ("sfumato", "numpy", "scipy", "numba", "pyarrow", "pillow")
    return {"python": platform.python_version(), **{name: version(name) for name in libraries}}
