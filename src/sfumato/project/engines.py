"""Where the parts of a table are computed, and what memory that took."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.compare.progress import Bar, Steps
from sfumato.engine import Engine, current
from sfumato.errors import ParameterError
from sfumato.project.options import Tell, unheard
from sfumato.table.parts import is_in_parts

if TYPE_CHECKING:
    from concurrent.futures import Executor

SUMMARIES, ASIDE = "summaries.sqlite", "aside"


@contextmanager
def engine_for(
    *files: Path,
    engine: str | None = None,
    memory: str | None = None,
    workers: int | None = None,
    out: Path | None = None,
    store: Path | None = None,
    bars: bool = False,
    tell: Tell = unheard,
) -> "Iterator[Engine | None]":
    """Open the engine for tables in parts, and say at the end what memory they took; nothing for files of one part.

    What parts were summarised to is kept in ``store``, or in the folder ``out``, where a killed run goes on, and what
    does not fit into memory is put there too, for a while. With ``bars`` the terminal shows how far passes are.
    """
    if not any(map(is_in_parts, files)):
        if engine is not None or memory is not None:
            raise ParameterError("--engine and --memory are for tables in parts: a folder, or a pattern of files")
        yield None
        return
    where = engine or "local"
    aside = None if out is None else out / ASIDE
    if out is not None and store is None:
        out.mkdir(parents=True, exist_ok=True)
        store = out / SUMMARIES
    processes = workers if where == "local" else None
    progress = Steps(Bar()).part if bars else None
    try:
        with Engine(where, processes=processes, store=store, folder=aside, memory=memory, progress=progress) as opened:
            yield opened
            tell(memory_told(opened))
    finally:
        if aside is not None:
            with suppress(OSError):  # a run that has begun beside this one, and will be refused, has its own in it
                aside.rmdir()


def memory_told(engine: Engine) -> str:
    """Say how much memory was allowed, and how much the largest process had."""
    had = []
    with suppress(ImportError):  # where the system does not tell
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        had.append(f"this process had {own / 1e6:,.0f} MB at most")
    others = getattr(engine.executor, "peak_bytes", 0)
    if others:
        had.append(f"the largest of the others {others / 1e6:,.0f} MB")
    return f"memory: {engine.memory / 1e9:.1f} GB allowed; {', '.join(had)}"


def executor() -> "Executor | None":
    """Return where parts are looked through: the executor of the engine around, this process without one."""
    return current(0).executor
