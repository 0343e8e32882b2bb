"""The executor that a name means: this machine's processes, Dask, Spark, Ray; what is not installed is said so."""

from collections.abc import Callable
from concurrent.futures import Executor

from sfumato.engine.processes import LocalProcesses, cores
from sfumato.errors import ParameterError

PROCESS = 250 * 10**6  # bytes that a process takes with a part of the usual size
KNOWN = "local, here, dask://host:port, spark://host:port, ray://host:port"


def opened(where: str | Executor, processes: int | None, memory: int) -> tuple[Executor | None, Callable[[], None]]:
    """Return an executor, None for this process, and how to end what was started for it.

    Of this machine's processes there are as many as cores, and no more than have room in the memory, unless said; a
    single one would only wait for another, so that this process does its work.
    """
    if isinstance(where, Executor):
        if processes is not None:
            raise ParameterError("Engine: processes is for 'local'; an executor has its own number")
        return where, lambda: None  # it is its owner's to end
    if not isinstance(where, str):
        raise ParameterError(f"Engine: where must be one of {KNOWN}, or an Executor; got {where!r}")
    if where == "local":
        number = max(min(cores(), memory // PROCESS), 1) if processes is None else processes
        if processes is None and number == 1:
            return None, lambda: None
        local = LocalProcesses(number)
        return local, lambda: local.shutdown(cancel_futures=True)
    if processes is not None:
        raise ParameterError(f"Engine: processes is for 'local', not for {where!r}")
    if where == "here":
        return None, lambda: None
    if where.startswith("dask://"):
        from sfumato.engine.dask import DaskExecutor

        dask = DaskExecutor(where.removeprefix("dask://"))
        return dask, dask.shutdown
    if where.startswith("spark://"):
        from sfumato.engine.spark import SparkExecutor

        spark = SparkExecutor(where)
        return spark, spark.shutdown
    if where.startswith("ray://"):
        from sfumato.engine.ray import RayExecutor

        ray = RayExecutor(where)
        return ray, ray.shutdown
    raise ParameterError(f"Engine: there is no engine {where!r}; there are {KNOWN}")
