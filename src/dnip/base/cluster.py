"""A Ray cluster: connect to one, or start one here, and turn its errors into ours."""

from __future__ import annotations

import os
import re
import socket
import sys
import warnings
from concurrent.futures import CancelledError
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from dnip.base.errors import BackendError, DNIPError, DNIPWarning, InvalidInputError, first_line
from dnip.base.optional import load_optional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from threading import Event
    from types import ModuleType

#: What ``--on`` takes, up to an address.
RAY = "ray"

# Seconds between two looks at whether a call is stopped.
_PATIENCE = 0.5
# The workers share the cores.
_ONE_THREAD = {"NUMBA_NUM_THREADS": "1"}
_HOST_AND_PORT = re.compile(r"(?P<host>[^/]+):(?P<port>[0-9]+)$")


@dataclass(frozen=True)
class Cluster:
    """Workers of a Ray cluster.

    Attributes
    ----------
    ray : module
        The library, connected.
    workers : int
        How many processes share the work.
    gpus : float
        GPUs of each; a fraction where several share one.
    restarts : int
        How often a worker that died is started again, and its work repeated.
    """

    ray: ModuleType
    workers: int
    gpus: float = 0.0
    restarts: ClassVar[int] = 4

    @property
    def resources(self) -> dict[str, Any]:
        """What a worker asks for."""
        return {"num_cpus": 1, "num_gpus": self.gpus}

    @cached_property
    def _task(self) -> Any:  # noqa: ANN401
        """A call of a function by any worker, which is repeated if the worker dies."""
        return self.ray.remote(**self.resources, max_retries=self.restarts)(_call)

    def actor(self, kind: type) -> Callable[..., Any]:
        """Return a function that starts an actor with its arguments.

        An actor that dies is started again with the same arguments, and its call is repeated. So
        calls must not change what it knows.
        """
        remote = self.ray.remote(
            **self.resources,
            max_restarts=self.restarts,
            max_task_retries=self.restarts,
        )(kind)
        start: Callable[..., Any] = remote.remote
        return start

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield the result of each item of some work, as they come.

        Work on an item whose process dies is done again. So it must come to the same then.

        Raises
        ------
        DNIPError
            What a worker raised; BackendError for work that died too often.
        """
        coming, shared = iter(items), self.put(work)
        running: list[Any] = []
        while True:
            running += [
                self._task.remote(shared, i) for i in islice(coming, self.workers - len(running))
            ]
            if not running:
                return
            done, running = self.ray.wait(running)
            yield from self.get(done)

    def put(self, value: Any) -> Any:  # noqa: ANN401
        """Store what many calls read; return what `call` takes in its place."""
        return self.ray.put(value)

    def call(self, work: Callable[..., Any], *arguments: Any, stopped: Event) -> Any:  # noqa: ANN401
        """Let a worker call a function, and wait for what it returns.

        If the worker dies, another one calls the function again.

        Raises
        ------
        CancelledError
            If `stopped` is set before the function returns.
        DNIPError
            As `map`.
        """
        reference = self._task.remote(work, *arguments)
        while not self.ray.wait([reference], timeout=_PATIENCE)[0]:
            if stopped.is_set():
                self.ray.cancel(reference, force=True)
                raise CancelledError
        return self.get(reference)

    def share(self, actors: Sequence[Any], method: str, jobs: Sequence[tuple[Any, ...]]) -> Any:  # noqa: ANN401
        """Yield the results of jobs that actors do, each its next one when it is done with one."""
        tools = load_optional("ray.util", purpose="work on a cluster", extra="ray")
        pool = tools.ActorPool(actors)
        with ray_errors(self.ray):
            yield from pool.map_unordered(
                lambda actor, job: getattr(actor, method).remote(*job), jobs
            )

    def start(self, work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
        """Start some work beside that of the workers; `get` waits for its result."""
        task = self.ray.remote(num_cpus=0, max_retries=self.restarts)(work)
        return task.remote(*arguments)

    def get(self, references: Any) -> Any:  # noqa: ANN401
        """Wait for results.

        Raises
        ------
        DNIPError
            What a worker raised; BackendError for one that died too often.
        """
        with ray_errors(self.ray):
            return self.ray.get(references)


def _call(work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
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
        If there is no cluster at the address, or one of its nodes has another version of this
        package.
    """
    name, _, address = on.partition(":")
    if name != RAY:
        raise InvalidInputError(f"--on is {on!r}", hint="Give ray, or ray:ADDRESS")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Else work that runs out of memory would be repeated for ever.
    os.environ.setdefault("RAY_task_oom_retries", str(Cluster.restarts))
    ray = load_optional("ray", purpose="work on a cluster", extra="ray")
    if ray.is_initialized():
        yield _cluster(ray, workers, gpus)
        return
    if address:
        _check_answers(on, address)
    start = partial(ray.init, log_to_driver=False, logging_level="error")
    with redirect_stdout(sys.stderr):  # Ray prints there which workers died
        try:
            if address:
                start(address, runtime_env={"env_vars": _ONE_THREAD})
            else:  # the first workers start with it, and have the environment of this process
                with _environment(_ONE_THREAD):
                    start("local", num_cpus=workers, include_dashboard=False)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise _no_cluster(on, error) from error
        try:
            cluster = _cluster(ray, workers, gpus)
            if address:
                _check_versions(cluster)
            yield cluster
        finally:
            ray.shutdown()


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables of the environment, for a block."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name)
        os.environ.update(before)


def _check_answers(on: str, address: str) -> None:
    """Refuse an address where nothing listens; Ray itself would try for minutes, and then exit."""
    found = _HOST_AND_PORT.search(address)
    if found is None:  # such as auto
        return
    try:
        socket.create_connection((found["host"], int(found["port"])), timeout=5).close()
    except OSError as error:
        raise _no_cluster(on, error) from error


def _no_cluster(on: str, error: Exception) -> BackendError:
    return BackendError(
        f"{on}: there is no cluster that answers ({first_line(error)})",
        hint="Start one with `ray start --head`, or give --on ray for one on this machine",
    )


def _cluster(ray: ModuleType, workers: int | None, gpus: float) -> Cluster:
    room = ray.cluster_resources()
    most = int(room.get("CPU", 0))
    if gpus:
        most = min(most, int(room.get("GPU", 0) / gpus))
    if (workers or 1) > most:
        each = f" with {gpus:g} GPUs each" if gpus else ""
        raise InvalidInputError(
            f"the cluster has room for {most} workers{each}; {workers or 1} are asked for",
            hint="Give fewer --workers, or add nodes",
        )
    return Cluster(ray, workers or most, gpus)


def _check_versions(cluster: Cluster) -> None:
    """Refuse nodes with another version of this package."""
    ray, here = cluster.ray, version("dnip")
    strategy = load_optional(
        "ray.util.scheduling_strategies", purpose="work on a cluster", extra="ray"
    )
    ask = ray.remote(num_cpus=0)(_installed)
    nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
    asked = [
        ask.options(
            scheduling_strategy=strategy.NodeAffinitySchedulingStrategy(node, soft=False)
        ).remote()
        for node in nodes
    ]
    for address, answer in zip(nodes.values(), asked, strict=True):
        try:
            found = cluster.get(answer)
        except ray.exceptions.RayTaskError as error:
            found = f"is not there: {first_line(error.cause)}"
        if found != here:
            raise BackendError(
                f"node {address}: dnip {found}, but {here} on this machine",
                hint="Install the same version on all nodes",
            ) from None


def _installed() -> str:
    return version("dnip")


@contextmanager
def ray_errors(ray: ModuleType) -> Iterator[None]:
    """Raise what a worker raised as if it were raised here."""
    errors = ray.exceptions
    try:
        yield
    except errors.RayTaskError as error:
        cause = error.cause
        while isinstance(cause, errors.RayTaskError):
            cause = cause.cause
        if isinstance(cause, DNIPError):
            raise cause from None
        raise
    except errors.OutOfMemoryError as error:
        raise BackendError(
            f"a worker ran out of memory: {first_line(error)}",
            hint="Give more --workers on nodes with more memory, or less --memory",
        ) from error
    except errors.RayError as error:
        raise BackendError(
            f"the cluster failed: {first_line(error)}",
            hint=f"A worker is started again {Cluster.restarts} times. If it ran out of memory, "
            "give it more",
            retryable=True,
        ) from error


def with_warnings(work: Callable[..., Any], *arguments: Any) -> tuple[Any, list[str]]:  # noqa: ANN401
    """Return what a function returns, and the warnings that it gave, for another process.

    Examples
    --------
    >>> with_warnings(abs, -1)
    (1, [])
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DNIPWarning)
        result = work(*arguments)
    return result, [str(each.message) for each in caught if each.category is DNIPWarning]
