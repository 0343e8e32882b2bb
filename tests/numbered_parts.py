"""Parts that are numbers, for tests of engines: a process that computes them imports next to nothing."""

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    """A part that is a number."""

    value: int

    @property
    def fingerprint(self) -> str:
        return str(self.value)

    def at_hand(self) -> "Number":
        return self

    def __len__(self) -> int:
        return 1


@dataclass(frozen=True)
class SlowSquare:
    """Squares a number, slowly, and tells in a file that it has done so."""

    log: str
    round: int

    def __call__(self, part: Number) -> int:
        time.sleep(0.03)
        with open(self.log, "a") as out:  # noqa: PTH123 - in a process that imports next to nothing
            out.write(f"{self.round} {part.value}\n")
        return part.value**2
