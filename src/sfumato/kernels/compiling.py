"""One typed door to numba."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile on first call, keep the machine code on disk, and run without the interpreter's lock."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))
