"""Clusters as executors: Dask, Ray and Spark, each call a task of its own."""

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from sfumato.errors import EngineError

P = ParamSpec("P")
T = TypeVar("T")
MIN_CALLS = 16  # calls at a time, because a Dask cluster may grow
MAX_RETRIES = 25  # times that Ray gives a task to another worker because the one that had it died


class DaskExecutor(Executor):
    """Hands each call to a Dask cluster that is there already; ``address`` is ``dask://host:port`` of its scheduler.

    Not Dask's own ``client.get_executor()``: where a worker dies at the moment its result is fetched, that takes the
    result for an error, and a run with many deaths ends by chance.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise EngineError("Dask is not installed: pip install sfumato[dask]") from None
        host = address.removeprefix("dask://")
        try:
            self._client: Any = Client(f"tcp://{host}", timeout=10, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(
                f"no Dask scheduler answers at {host}: {error}; start one, or check host and port"
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


class RayExecutor(Executor):
    """Hands each call to Ray, which gives that of a worker that died to another.

    ``address`` is ``ray://host:port`` of a cluster that is there, or ``ray://local`` for Ray within this machine.
    """

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError:
            raise EngineError("Ray is not installed: pip install sfumato[ray]") from None
        settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        settings |= {"include_dashboard": False} if address == "ray://local" else {"address": address}
        try:
            ray.init(**settings)
            self.number = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        except Exception as error:  # of its client, which fails in several ways
            said = str(error).strip() or type(error).__name__
            raise EngineError(f"no Ray answers at {address}: {said.splitlines()[0]}") from None
        self._ray: Any = ray
        self._task: Any = ray.remote(_called).options(max_retries=MAX_RETRIES)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Have a call computed by Ray."""
        future: Future[T] = self._task.remote(fn, args, kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Leave the cluster; that of this machine ends."""
        self._ray.shutdown()


def _called(fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    return fn(*args, **kwargs)


class SparkExecutor(Executor):
    """Hands each call to Spark as a job of one task; as many at a time as Spark runs side by side.

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

        def job() -> T:
            made: list[T] = self._context.parallelize([0], 1).map(lambda _: fn(*args, **kwargs)).collect()
            return made[0]

        return self._threads.submit(job)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """End the session of Spark."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._context.stop()


BY_SCHEME: dict[str, Callable[[str], Executor]] = {"dask": DaskExecutor, "spark": SparkExecutor, "ray": RayExecutor}
