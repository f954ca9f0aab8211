"""A Ray cluster: connect to one, or start one here, and let it do tasks."""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from types import ModuleType
from typing import Any

from dnip.base.errors import BackendError, DNIPError, InvalidInputError, first_line
from dnip.base.optional import load_optional
from dnip.base.version import __version__

# How often Ray repeats a task whose process died.
_RETRIES = 4
# Seconds for other tasks to end when one has failed.
_LONGEST_END = 10.0
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
    """

    ray: ModuleType
    workers: int
    gpus: float
    seconds: float

    @cached_property
    def _task(self) -> Any:  # noqa: ANN401
        # Ray would start a new process for each task on a GPU, unless max_calls is 0.
        return self.ray.remote(num_cpus=1, num_gpus=self.gpus, max_calls=0, max_retries=_RETRIES)(
            _run
        )

    def start(self, work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
        """Start a task; `get` waits for what the function returns.

        A task whose process dies is done again, so its result must follow from the arguments.
        """
        return self._task.remote(__version__, work, *arguments)

    def get(self, task: Any) -> Any:  # noqa: ANN401
        """Return the result of a task that `start` gave, or of a list of them.

        Raises
        ------
        DNIPError
            What the task raised; BackendError if its process died again and again.
        """
        errors = self.ray.exceptions
        try:
            return self.ray.get(task)
        except errors.RayTaskError as error:
            if isinstance(error.cause, DNIPError):
                raise error.cause from None
            raise BackendError(f"a task failed: {first_line(error.cause)}") from error
        except errors.RayError as error:
            raise BackendError(
                f"the cluster failed: {first_line(error)}",
                hint=f"A task is repeated {_RETRIES} times. If it ran out of memory, give fewer "
                "--workers, or nodes with more memory",
                retryable=True,
            ) from error

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield the result of a task for each item, as they come; errors as for `get`."""
        left, shared = iter(items), self.ray.put(work)
        running: list[Any] = []
        try:
            while True:
                free = self.workers - len(running)
                running += [self.start(shared, item) for item in islice(left, free)]
                if not running:
                    return
                done, running = self.ray.wait(running)
                yield from self.get(done)
        finally:  # after an error, no task goes on writing
            for task in running:
                self.ray.cancel(task)
            if running:
                self.ray.wait(running, num_returns=len(running), timeout=_LONGEST_END)


def _run(wanted: str, work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    """Do a task, if this node has the same version of the package."""
    if __version__ != wanted:
        raise BackendError(
            f"node {socket.gethostname()}: dnip {__version__}, but {wanted} where the command runs",
            hint="Install the same version on all nodes",
        )
    return work(*arguments)


@contextmanager
def connect(on: str, workers: int | None = None, gpus: float = 0.0) -> Iterator[Cluster]:
    """Connect to a Ray cluster, and leave it in the end.

    Parameters
    ----------
    on : str
        ``ray`` for a cluster on this machine that ends with the block, or ``ray:ADDRESS``.
    workers : int, optional
        How many processes share the work; one per CPU (or GPU share) of the cluster by default.
    gpus : float, default=0
        GPUs per worker.

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
    began = time.perf_counter()
    place: dict[str, Any] = {"address": address}
    if not address:
        place = {"address": "local", "num_cpus": workers, "include_dashboard": False}
    with redirect_stdout(sys.stderr):  # Ray prints there which workers died
        try:
            if found := _HOST_AND_PORT.search(address):  # Ray itself would try for minutes
                socket.create_connection((found["host"], int(found["port"])), timeout=5).close()
            ray.init(**place, log_to_driver=False, logging_level="error")
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise BackendError(
                f"{on}: there is no cluster that answers ({first_line(error)})",
                hint="Start one with `ray start --head`, or give --on ray for one on this machine",
            ) from error
        try:
            room = ray.cluster_resources()
            most = int(room.get("CPU", 0))
            if gpus:
                most = min(most, int(room.get("GPU", 0) / gpus))
            if (workers or 1) > most:
                raise InvalidInputError(
                    f"the cluster has room for {most} workers; {workers or 1} are asked for",
                    hint="Give fewer --workers, or add nodes",
                )
            yield Cluster(ray, workers or most, gpus, time.perf_counter() - began)
        finally:
            ray.shutdown()
