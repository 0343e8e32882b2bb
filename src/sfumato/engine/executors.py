"""The executor that a name means: this machine's processes, Dask, Spark; what is not installed is said so."""

from collections.abc import Callable
from concurrent.futures import Executor

from sfumato.engine.processes import LocalProcesses, cores
from sfumato.errors import EngineError, ParameterError

PROCESS = 250 * 10**6  # bytes that a process takes with a part of the usual size
KNOWN = "local, here, dask://host:port, spark://host:port"


def opened(where: str | Executor, processes: int | None, memory: int) -> tuple[Executor | None, Callable[[], None]]:
    """Return an executor, None for this process, and how to end what was started for it.

    Of this machine's processes there are as many as cores, and no more than have room in the memory, unless said.
    """
    if isinstance(where, Executor):
        if processes is not None:
            raise ParameterError("Engine: processes is for 'local'; an executor has its own number")
        return where, lambda: None  # it is its owner's to end
    if not isinstance(where, str):
        raise ParameterError(f"Engine: where must be one of {KNOWN}, or an Executor; got {where!r}")
    if where == "local":
        room = max(memory // PROCESS, 1)
        local = LocalProcesses(min(cores(), room) if processes is None else processes)
        return local, lambda: local.shutdown(cancel_futures=True)
    if processes is not None:
        raise ParameterError(f"Engine: processes is for 'local', not for {where!r}")
    if where == "here":
        return None, lambda: None
    if where.startswith("dask://"):
        return _dask(where.removeprefix("dask://"))
    if where.startswith("spark://"):
        from sfumato.engine.spark import SparkExecutor

        spark = SparkExecutor(where)
        return spark, spark.shutdown
    raise ParameterError(f"Engine: there is no engine {where!r}; there are {KNOWN}")


def _dask(address: str) -> tuple[Executor, Callable[[], None]]:
    try:
        from distributed import Client
    except ImportError:
        raise EngineError("Dask is not installed: pip install sfumato[dask]") from None
    try:
        client = Client(f"tcp://{address}", timeout=10, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise EngineError(
            f"no Dask scheduler answers at {address}: {error}; start one, or check host and port"
        ) from None
    executor: Executor = client.get_executor(pure=False)
    return executor, client.close
