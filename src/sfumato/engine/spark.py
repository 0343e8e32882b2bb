"""Spark as an executor: each call is a job of one task."""

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from sfumato.errors import EngineError

P = ParamSpec("P")
T = TypeVar("T")


class SparkExecutor(Executor):
    """Hands each call to Spark as a job of its own; as many at a time as Spark runs side by side.

    ``address`` is ``spark://host:port``, or ``spark://local[2]`` for Spark within this machine.
    """

    def __init__(self, address: str) -> None:
        try:
            from pyspark import SparkConf, SparkContext
        except ImportError:
            raise EngineError("Spark is not installed: pip install sfumato[spark], and a Java runtime") from None
        inner = address.removeprefix("spark://")
        master = inner if inner.startswith("local") else address
        settings = SparkConf().setMaster(master).setAppName("sfumato").set("spark.ui.enabled", "false")
        try:
            self._context: Any = SparkContext.getOrCreate(settings)
        except Exception as error:  # of Java, which may fail in any way
            raise EngineError(f"no Spark answers at {address}: {str(error).splitlines()[0]}") from None
        self.number = int(self._context.defaultParallelism)
        self._threads = ThreadPoolExecutor(self.number)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Have a call computed by Spark."""
        return self._threads.submit(self._job, fn, args, kwargs)

    def _job(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        found: list[T] = self._context.parallelize([0], 1).map(lambda _: fn(*args, **kwargs)).collect()
        return found[0]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """End the session of Spark."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._context.stop()
