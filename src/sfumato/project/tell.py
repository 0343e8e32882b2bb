"""Messages that are no results: who runs a sweep says where they go."""

from collections.abc import Callable

Tell = Callable[[str], None]


def unheard(message: str) -> None:
    """Leave a message unsaid."""
