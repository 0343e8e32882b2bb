"""How far a pass over the parts of a table is, with the time that is left: on the terminal, and to who hears it."""

import sys
import time
from collections.abc import Callable

Hears = Callable[[int, int, float], None]


class PartsWatch:
    """Counts parts; an engine calls it after each one. ``what`` says what is done, ``quiet`` that others draw."""

    def __init__(self, *, shown: bool | None = None, hears: Hears | None = None) -> None:
        self.what = "looking through the files"
        self.quiet: Callable[[], bool] = lambda: False
        self._shown = sys.stderr.isatty() if shown is None else shown and sys.stderr.isatty()
        self._hears, self._start, self._drawn = hears, time.monotonic(), False

    def __call__(self, done: int, total: int) -> None:
        """Tell that so many parts of a pass are done."""
        if done == 1:
            self._start = time.monotonic()
        left = (time.monotonic() - self._start) / max(done - 1, 1) * (total - done)
        if self._hears is not None:
            self._hears(done, total, left)
        if self._shown and not self.quiet():
            sys.stderr.write(f"\r\033[K{self.what}: part {done} of {total}, {left:.0f} s left")
            sys.stderr.flush()
            self._drawn = True
            if done == total:
                self.end()

    def end(self) -> None:
        """Remove the line."""
        if self._drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self._drawn = False
