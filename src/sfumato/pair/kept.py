"""What was computed once and is kept, within a bound on memory."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

T = TypeVar("T")
MOST_BYTES = 512 * 2**20


class Kept:
    """Results by key; beyond so many bytes those that were not asked for longest are dropped, and computed anew.

    >>> kept = Kept(most=100)
    >>> kept.get("a", lambda: 1), kept.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = most
        self._found: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what is kept under a key, or compute it and keep it."""
        if key in self._found:
            self._found.move_to_end(key)
            return cast(T, self._found[key][0])
        result = compute()
        size = int(getattr(result, "nbytes", 0))
        self._found[key] = result, size
        self._bytes += size
        while self._bytes > self.most and len(self._found) > 1:
            _, (_, gone) = self._found.popitem(last=False)
            self._bytes -= gone
        return result

    def small(self, most: int) -> dict[Hashable, Any]:
        """Return what takes few bytes each, to go along to another process."""
        return {key: found for key, (found, size) in self._found.items() if size <= most and _known_size(found)}

    @property
    def nbytes(self) -> int:
        """The memory in use."""
        return self._bytes


def _known_size(found: Any) -> bool:
    """Tell whether the bytes of a result are all that it takes."""
    return hasattr(found, "nbytes") or isinstance(found, bool | int | float | str)
