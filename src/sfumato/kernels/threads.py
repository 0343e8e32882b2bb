"""Work shared out to threads in chunks, which gains time where compiled code runs without the interpreter's lock."""

from collections.abc import Callable

from sfumato.kernels import available_threads

Progress = Callable[[int], None]


def in_chunks(
    work: Callable[[slice], None],
    count: int,
    size: int,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Call ``work`` with every chunk of ``size`` of the ``count``, on all threads; the caller's thread reports."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(available_threads() if threads is None else threads) as pool:
        running = [pool.submit(work, slice(start, min(start + size, count))) for start in range(0, count, size)]
        for done, future in enumerate(as_completed(running), start=1):
            future.result()
            if progress is not None:
                progress(min(done * size, count))
