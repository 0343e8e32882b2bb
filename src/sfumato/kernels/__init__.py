"""Compiled kernels: arrays in, arrays out, nothing of the rest of the package imported.

Numba is imported only when a kernel module is, and callers import a kernel module only for tables large
enough to repay compilation (``WORTH_COMPILING`` rows); below that, numpy and scipy do the work.
"""

WORTH_COMPILING = 5_000
