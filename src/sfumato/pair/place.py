"""Where a part of a table is written: what an engine takes for a part of its own, of no records."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """A file or folder to be written, with the number of the first record that goes there, or its own."""

    path: Path
    number: int = 0

    @property
    def fingerprint(self) -> str:
        """What tells it from others."""
        return str(self.path)

    def at_hand(self) -> "Place":
        """Return it as it is: there is nothing to be read."""
        return self

    def __len__(self) -> int:
        return 0
