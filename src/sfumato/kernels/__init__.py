"""Numerical routines, one folder per idea: arrays in, arrays out, nothing of the rest of the package imported.

A folder's own name offers the functions that callers use, and holds what does the work in numpy and scipy. Beside it,
``compiled.py`` holds the same for large tables, as numba turns it into machine code; where both have one name, the
plain one is called ``plain_...``. The folder chooses by ``worth_compiling``, and only then imports numba.
"""

import os
from collections.abc import Callable

Progress = Callable[[int], None]

WORTH_COMPILING = 5_000


def worth_compiling(records: int, least: int = WORTH_COMPILING) -> bool:
    """Tell whether a table has records enough to repay loading numba and, once per machine, compiling.

    A kernel that asks with another ``least`` says why where it asks.
    """
    return records >= least


def available_threads() -> int:
    """Return how many threads a kernel may use: those the machine gives, or fewer where a parent process says so."""
    given = os.environ.get("NUMBA_NUM_THREADS", "")  # what joblib sets in its workers
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_chunks(
    work: Callable[[slice], None],
    count: int,
    size: int,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Call ``work`` with every chunk of ``size`` of the ``count``, on all threads; the caller's thread reports."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(available_threads() if threads is None else threads) as pool:
        running = [pool.submit(work, slice(start, min(start + size, count))) for start in range(0, count, size)]
        for done, future in enumerate(as_completed(running), start=1):
            future.result()
            if progress is not None:
                progress(min(done * size, count))
