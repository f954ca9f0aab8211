"""The workers of a cluster as a pool: a job whose worker dies is done again by another."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from dnip.base.errors import DNIPError
from reproduction.worker_pool import Failed, do

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnip.base.cluster import Cluster
    from reproduction.results import Computed
    from reproduction.worker_pool import Job


class ClusterPool:
    """Workers of a cluster, each with at most one job; used as :class:`WorkerPool` is.

    It yields no steps of running jobs.

    Parameters
    ----------
    cluster : Cluster
        Its nodes must see the tables, data and models of the jobs at the same paths. A relative
        path starts at the working folder of this process.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._stopped = Event()
        self._threads = ThreadPoolExecutor(cluster.workers, "dnip-cluster")
        self._running: dict[Future[Computed | Failed], tuple[int, object]] = {}

    def __enter__(self) -> ClusterPool:
        """Return the pool."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all jobs; unfinished ones can be done again."""
        self._stopped.set()
        self._threads.shutdown()

    @property
    def size(self) -> int:
        """The number of workers."""
        return self._cluster.workers

    @property
    def busy(self) -> bool:
        """Whether any worker has a job."""
        return bool(self._running)

    def idle(self) -> list[int]:
        """Return the numbers of the workers without a job."""
        taken = {number for number, _ in self._running.values()}
        return [number for number in range(self.size) if number not in taken]

    def give(self, number: int, name: object, job: Job) -> None:
        """Give a worker a job; `listen` yields `name` with its result."""
        future = self._threads.submit(self._call, job)
        self._running[future] = number, name

    def _call(self, job: Job) -> Computed | Failed:
        ray, task = self._cluster.ray, self._cluster.start(_do_in, Path.cwd(), job)
        while not ray.wait([task], timeout=0.5)[0]:
            if self._stopped.is_set():
                ray.cancel(task, force=True)
                raise CancelledError
        result: Computed | Failed = self._cluster.get(task)
        return result

    def listen(self, seconds: float) -> Iterator[tuple[Any, Computed | Failed]]:
        """Yield the results of jobs, after waiting for `seconds` at most."""
        for future in wait(self._running, seconds, FIRST_COMPLETED).done:
            _, name = self._running.pop(future)
            try:
                result = future.result()
            except DNIPError as error:  # its workers died again and again
                result = Failed(str(error))
            yield name, result


def _do_in(folder: Path, job: Job) -> Computed | Failed:
    with suppress(OSError):  # not on this node: absolute paths are left
        os.chdir(folder)
    return do(job, lambda _: None)
