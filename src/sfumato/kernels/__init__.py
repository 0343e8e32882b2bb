"""Compiled kernels: arrays in, arrays out, nothing of the rest of the package imported.

Numba is imported only when a kernel module is, and callers import a kernel module only for tables large
enough to repay compilation (``WORTH_COMPILING`` rows); below that, numpy and scipy do the work.
"""

import os

WORTH_COMPILING = 5_000


def available_threads() -> int:
    """Return how many threads a kernel may use: those the machine gives, or fewer where a parent process says so."""
    given = os.environ.get("NUMBA_NUM_THREADS", "")  # what joblib sets in its workers
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
