"""A bar for long comparisons, shown where somebody asked for it and sits at a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LONG = 50_000_000  # pairs times records from which a bar is worth it: about a second
_SHOWN: ContextVar[bool] = ContextVar("shown", default=False)


@contextmanager
def shown() -> Iterator[None]:
    """Show a bar for comparisons made inside this block: for commands, whose own bar does not run meanwhile.

    >>> with shown():
    ...     pass  # measure.evaluate(original, protected)
    """
    before = _SHOWN.set(True)
    try:
        yield
    finally:
        _SHOWN.reset(before)


@contextmanager
def bar(pairs: int, records: int) -> Iterator[Callable[[int], None] | None]:
    """Give what is to be told how many pairs are done so far, or None where nobody watches or the work is short."""
    if not _SHOWN.get() or pairs * records < LONG:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("testing pairs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=pairs)
        yield lambda done: progress.update(task, completed=done)
