"""Ray as an executor: each call is a task of its own."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

from sfumato.errors import EngineError

P = ParamSpec("P")
T = TypeVar("T")
MAX_RETRIES = 25  # times that Ray gives a task to another worker because the one that had it died


class RayExecutor(Executor):
    """Hands each call to Ray as a task; Ray gives that of a worker which died to another.

    ``address`` is ``ray://host:port`` of a cluster that is there, or ``ray://local`` for Ray within this machine.
    """

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError:
            raise EngineError("Ray is not installed: pip install sfumato[ray]") from None
        settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        if address == "ray://local":
            settings["include_dashboard"] = False
        else:
            settings["address"] = address
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
        found: Future[T] = self._task.remote(fn, args, kwargs).future()
        return found

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Leave the cluster; that of this machine ends."""
        self._ray.shutdown()


def _called(fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    return fn(*args, **kwargs)
