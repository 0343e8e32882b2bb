"""A bar that tells what is running and what is left; silent where nobody watches."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Watch(Protocol):
    """What an experiment tells while it runs."""

    def running(self, name: str) -> None:
        """Tell which candidate is being masked and measured."""

    def finished(self, name: str) -> None:
        """Tell that one masked table is done."""


class _Silent:
    def running(self, name: str) -> None: ...
    def finished(self, name: str) -> None: ...


def watch(total: int, known: int, *, shown: bool) -> AbstractContextManager[Watch]:
    """Return the bar for a run of this many masked tables, or silence; ``known`` figures are in the store already."""
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


class _Bar:
    def __init__(self, console: object, total: int) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("tables,"),
            TimeElapsedColumn(),
            TextColumn("gone,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,  # type: ignore[arg-type]
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=total)

    def running(self, name: str) -> None:
        self._progress.update(self._task, description=_short(name))

    def finished(self, name: str) -> None:
        self._progress.update(self._task, advance=1, description=_short(name))

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def _short(name: str) -> str:
    from rich.markup import escape

    return escape(name if len(name) <= 40 else name[:37] + "...").ljust(40)
