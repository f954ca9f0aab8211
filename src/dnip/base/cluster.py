"""A Ray cluster: connect to one, or start one here, and let it work through Ray Data."""

from __future__ import annotations

import logging
import os
import pickle
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from dnip.base import __version__
from dnip.base.errors import BackendError, DNIPError, InvalidInputError, first_line, load_optional

# How often Ray repeats a task whose process died.
_RETRIES = 4
_HOST_AND_PORT = re.compile(r"(?P<host>[^/]+):(?P<port>[0-9]+)$")


@dataclass(frozen=True)
class Cluster:
    """Processes of a Ray cluster that share the work.

    Attributes
    ----------
    ray : module
        The library, connected.
    workers : int
        How many processes share the work.
    gpus : float
        GPUs of each; a fraction where several share one.
    seconds : float
        How long it took to connect, or to start the cluster.
    reading : list of generator
        What :meth:`map` reads of the cluster; whoever leaves it closes them.
    """

    ray: ModuleType
    workers: int
    gpus: float
    seconds: float
    reading: list[Generator[Any, None, None]]

    def map(self, work: Callable[[Any], Iterable[Any]], items: Iterable[Any]) -> Iterator[Any]:
        """Yield what ``work(item)`` yields for each item, in the order of the items.

        A task whose process dies is done again, so its results must follow from the item.

        Raises
        ------
        DNIPError
            What a task raised; BackendError if its process died again and again.
        """
        data = self.ray.data
        context = data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = context.enable_operator_progress_bars = False
        rows = [{"item": pickle.dumps(item)} for item in items]
        done = data.from_items(rows, override_num_blocks=max(1, len(rows))).map_batches(
            partial(_run, __version__, work),
            batch_size=1,
            num_cpus=1,
            num_gpus=self.gpus,
            concurrency=self.workers,
            # Ray would start a new process for each task on a GPU, unless max_calls is 0.
            max_calls=0,
            max_retries=_RETRIES,
        )
        self.reading.append(rows_done := iter(done.iter_rows()))
        try:
            for row in rows_done:
                result = pickle.loads(row["result"])
                if isinstance(result, DNIPError):
                    raise result
                yield result
        except self.ray.exceptions.RayTaskError as error:
            raise BackendError(f"a task failed: {first_line(error.cause)}") from error
        except self.ray.exceptions.RayError as error:
            raise BackendError(
                f"the cluster failed: {first_line(error)}",
                hint=f"A task is repeated {_RETRIES} times. If it ran out of memory, give fewer "
                "--workers, or nodes with more memory",
                retryable=True,
            ) from error


def _run(
    wanted: str, work: Callable[[Any], Iterable[Any]], batch: dict[str, Any]
) -> Iterator[dict[str, list[bytes]]]:
    """Do a task, if this node has the same version of the package; its error is a result, too."""
    try:
        if __version__ != wanted:
            raise BackendError(
                f"node {socket.gethostname()}: dnip {__version__}, but {wanted} where the command "
                "runs",
                hint="Install the same version on all nodes",
            )
        for item in batch["item"]:
            for result in work(pickle.loads(item)):
                yield {"result": [pickle.dumps(result)]}
    except DNIPError as error:
        yield {"result": [pickle.dumps(error)]}


@contextmanager
def connect(on: str, workers: int | None = None, *, gpus: bool = False) -> Iterator[Cluster]:
    """Connect to a Ray cluster, and leave it in the end.

    Parameters
    ----------
    on : str
        ``ray`` for a cluster on this machine that ends with the block, or ``ray:ADDRESS``.
    workers : int, optional
        How many processes share the work; one per CPU (or GPU) of the cluster by default.
    gpus : bool, default=False
        Whether the work is that of GPUs, where the cluster has some: a worker gets one, or a share
        of one where there are more workers than GPUs.

    Raises
    ------
    InvalidInputError
        For another word than ``ray``, or more workers than the cluster has room for.
    MissingDependencyError
        If Ray is not installed.
    BackendError
        If there is no cluster at the address.
    """
    name, _, address = on.partition(":")
    if name != "ray":
        raise InvalidInputError(f"--on is {on!r}", hint="Give ray, or ray:ADDRESS")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Else a task that runs out of memory would be repeated for ever.
    os.environ.setdefault("RAY_task_oom_retries", str(_RETRIES))
    ray = load_optional("ray", purpose="work on a cluster", extra="ray")
    load_optional("ray.data", purpose="work on a cluster", extra="ray")
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    began = time.perf_counter()
    where: dict[str, Any] = {"address": address}
    if not address:
        where = {"address": "local", "num_cpus": workers, "include_dashboard": False}
    reading: list[Generator[Any, None, None]] = []
    with redirect_stdout(sys.stderr):  # Ray prints there which workers died
        try:
            if named := _HOST_AND_PORT.search(address):  # Ray itself would try for minutes
                socket.create_connection((named["host"], int(named["port"])), timeout=5).close()
            ray.init(**where, log_to_driver=False, logging_level="error")
        except Exception as error:  # Ray raises whatever comes
            raise BackendError(
                f"{on}: there is no cluster that answers ({first_line(error)})",
                hint="Start one with `ray start --head`, or give --on ray for one on this machine",
            ) from error
        try:
            room = ray.cluster_resources()
            n_gpus = int(room.get("GPU", 0)) if gpus else 0
            most = int(room.get("CPU", 0))
            if (workers or 1) > most:
                raise InvalidInputError(
                    f"the cluster has room for {most} workers; {workers or 1} are asked for",
                    hint="Give fewer --workers, or add nodes",
                )
            n_workers = workers or min(most, n_gpus or most)
            share = 1 / -(-n_workers // n_gpus) if n_gpus else 0.0
            yield Cluster(ray, n_workers, share, time.perf_counter() - began, reading)
        finally:
            for rows in reading:
                rows.close()
            # Ray ends this whole process if a thread of Ray Data calls it after the shutdown.
            for thread in threading.enumerate():
                if thread.name.startswith(("StreamingExecutor", "iter_threaded")):
                    thread.join(timeout=60)
            ray.shutdown()
