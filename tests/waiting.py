"""Waiting in tests: for what is to come true, never for a time that one machine takes."""

import time
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck

T = TypeVar("T")
# of properties whose examples share a fixture, such as a folder; a list of its own takes the place of the profile's
SLOW_OR_SHARED = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)
PATIENCE = 600.0  # seconds until a test gives up: a machine with a load of 10 needs a tenth of it, a quiet one none


def until(holds: Callable[[], T | None], what: str | Callable[[], str]) -> T:
    """Wait until something holds, and return it; ``what`` says what did not, where it never does."""
    end = time.monotonic() + PATIENCE
    while not (held := holds()):
        assert time.monotonic() < end, what if isinstance(what, str) else what()
        time.sleep(0.02)
    return held
