"""Dask clusters of two worker processes, for the tests of engines."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def dask_cluster() -> Iterator[str]:
    """Start two workers, and give the address of their scheduler; a worker that dies is replaced."""
    import dask
    import distributed

    # workers are forked from a process that has imported Dask, so that the next one is there in a moment
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as made,
    ):
        # a worker that dies before its nanny has heard of it is not replaced by it: the cluster starts another
        made.adapt(minimum=2, maximum=2, interval="200ms")
        yield made.scheduler_address.removeprefix("tcp://")
