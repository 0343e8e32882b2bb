"""Runs: processes of their own that outlive the page and the server."""

from pathlib import Path
from typing import Any


class Jobs:
    """The run of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def told(self) -> dict[str, Any] | None:
        """Tell what is running, or how the last run ended."""
        return None
