"""One line per piece of an examination, with the time it takes; silent if nobody watches."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from sfumato.compare.examine.findings import Piece
from sfumato.compare.progress import shared_out

SAID: dict[Piece, str] = {
    "cautions": "looking for what to warn of",
    "release": "describing the release",
    "records": "listing the records at risk",
    "knowing": "who knows more than the keys",
    "detail": "comparing each variable before and after",
    "usefulness": "testing every variable and every pair",
    "regressions": "fitting regressions to both tables",
    "bootstrap": "resampling the records",
}


class Lines(Protocol):
    """What an examination tells while it runs."""

    def running(self, piece: Piece) -> AbstractContextManager[Callable[[int, int], None]]:
        """Show a line while a piece is looked at; what is returned hears how much of how much is done."""


class Follower(Protocol):
    """Who follows examinations by other means than lines on the terminal."""

    def pieces(self, wanted: tuple[Piece, ...]) -> AbstractContextManager[Lines]:
        """Follow an examination of these pieces."""


class _Silent:
    def running(self, piece: Piece) -> AbstractContextManager[Callable[[int, int], None]]:
        return nullcontext(_unheard)


def _unheard(done: int, total: int) -> None: ...


def lines(wanted: tuple[Piece, ...], *, shown: bool | Follower) -> AbstractContextManager[Lines]:
    """Return what follows an examination: a follower, lines on the terminal, or silence."""
    if not isinstance(shown, bool):
        return shown.pieces(wanted)
    if not shown:
        return nullcontext(_Silent())
    from rich.console import Console

    console = Console(stderr=True)
    return _Shown(console) if console.is_terminal else nullcontext(_Silent())


class _Shown:
    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._name, bar = shared_out(console.width, len("100/1000:00:00") + 3)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )

    @contextmanager
    def running(self, piece: Piece) -> Iterator[Callable[[int, int], None]]:
        task = self._progress.add_task(SAID[piece][: self._name].ljust(self._name), total=None)
        yield lambda done, total: self._progress.update(task, completed=done, total=total)
        self._progress.update(task, completed=1, total=1)

    def __enter__(self) -> "_Shown":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
