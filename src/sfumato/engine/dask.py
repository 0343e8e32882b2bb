"""Dask as an executor: each call is a task of a cluster that is there already.

Not Dask's own ``client.get_executor()``: where a worker dies at the moment its result is fetched, that takes the result
for an error, and a run with many deaths ends by chance.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from sfumato.errors import EngineError

P = ParamSpec("P")
T = TypeVar("T")
MIN_CALLS = 16  # calls at a time, because a cluster may grow


class DaskExecutor(Executor):
    """Hands each call to a Dask cluster; ``address`` is ``host:port`` of its scheduler."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise EngineError("Dask is not installed: pip install sfumato[dask]") from None
        try:
            self._client: Any = Client(f"tcp://{address}", timeout=10, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(
                f"no Dask scheduler answers at {address}: {error}; start one, or check host and port"
            ) from None
        self.number = max(sum(self._client.nthreads().values()), MIN_CALLS)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Have a call computed by a worker."""
        future: Future[T] = Future()
        task = self._client.submit(fn, *args, pure=False, **kwargs)

        def told(task: Any) -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = task.result()
            except BaseException as error:  # of the cluster; what is wrong with a part is an answer
                future.set_exception(error)
            else:
                future.set_result(result)

        def withdrawn(future: "Future[T]") -> None:
            if future.cancelled():
                with suppress(Exception):  # of a cluster that is gone
                    task.cancel()

        task.add_done_callback(told)
        future.add_done_callback(withdrawn)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Take leave of the cluster."""
        self._client.close()
