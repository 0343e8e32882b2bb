"""A bar that tells what is running and what is left; silent where nobody watches."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from sfumato.display import visible

if TYPE_CHECKING:
    from rich.console import Console

BAR, SHORTEST_BAR = 40, 8  # characters
NAME, SHORTEST_NAME = 40, 8


class Watch(Protocol):
    """What an experiment tells while it runs."""

    def running(self, name: str) -> None:
        """Tell which candidate is being masked and measured."""

    def finished(self, name: str) -> None:
        """Tell that one masked table is done."""

    def part(self, done: int, total: int) -> None:
        """Tell how many parts of a table in parts a pass over them has done."""


@runtime_checkable
class Watcher(Protocol):
    """Who follows experiments by other means than a bar on the terminal."""

    def tables(self, total: int, known: int) -> AbstractContextManager[Watch]:
        """Follow a run of this many masked tables; ``known`` figures are in the store already."""


class _Silent:
    def running(self, name: str) -> None: ...
    def finished(self, name: str) -> None: ...
    def part(self, done: int, total: int) -> None: ...


def watch(total: int, known: int, *, shown: bool | Watcher) -> AbstractContextManager[Watch]:
    """Return what follows a run of this many masked tables: a watcher, a bar, or silence.

    ``known`` figures are in the store already.
    """
    if not isinstance(shown, bool):
        return shown.tables(total, known)
    if not shown or total == 0:
        return nullcontext(_Silent())
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        return nullcontext(_Silent())
    if known:
        console.print(
            f"{known:,} figure{'s are' if known > 1 else ' is'} in the store already", style="dim", highlight=False
        )
    return _Bar(console, total)


def shared_out(width: int, rest: int) -> tuple[int, int]:
    """Share the width of a line out to the name and the bar, so that the rest of it, counter and times, stays whole.

    >>> shared_out(120, 45), shared_out(80, 45), shared_out(40, 45)
    ((40, 35), (27, 8), (8, 8))
    """
    name = max(min(NAME, width - rest - SHORTEST_BAR), SHORTEST_NAME)
    return name, max(min(BAR, width - rest - name), SHORTEST_BAR)


class _Bar:
    def __init__(self, console: "Console", total: int) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        # counter, times and the words between them, and a space after each of the columns
        rest = 2 * len(str(total)) + 1 + len("tables,0:00:00gone,-:--:--left") + 7
        self._name, bar = shared_out(console.width, rest)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar),
            MofNCompleteColumn(),
            TextColumn("tables,"),
            TimeElapsedColumn(),
            TextColumn("gone,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            transient=True,
        )
        self._what = "starting"
        self._task = self._progress.add_task(_short(self._what, self._name), total=total)

    def running(self, name: str) -> None:
        self._what = name
        self._progress.update(self._task, description=_short(name, self._name))

    def finished(self, name: str) -> None:
        self._progress.update(self._task, advance=1, description=_short(name, self._name))

    def part(self, done: int, total: int) -> None:
        said = f"part {done} of {total}: {self._what}"
        self._progress.update(self._task, description=_short(said, self._name))

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def _short(name: str, most: int) -> str:
    from rich.markup import escape

    name = visible(name)
    return escape((name if len(name) <= most else name[: most - 3] + "...").ljust(most))
