"""Worker processes: each does one job at a time, and one that dies loses only its own job."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from dnip.base.errors import DNIPError, DNIPWarning, OutputError
from reproduction.results import Computed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from multiprocessing.connection import Connection

    from reproduction.cell import CellFunction, TableRef

    #: Receives the number of steps of a job that are done, and of all its steps.
    Report = Callable[[int, int], None]
    #: Work for a process; it is pickled.
    Job = Callable[[Report], dict[str, Any]]

# Libraries that would each use all cores read these variables when they are loaded.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
# Seconds between two messages of progress from one worker.
_PAUSE = 0.5


def compute(
    function: CellFunction,
    tables: Mapping[str, TableRef],
    settings: Mapping[str, Any],
    _report: Report,
) -> dict[str, Any]:
    """Read the tables of a cell and call its function; the result must be plain JSON."""
    read = {name: ref.read() for name, ref in tables.items()}
    result = function(**read, **settings)
    return json.loads(json.dumps(result, allow_nan=False))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Failed:
    """Why a job failed.

    Attributes
    ----------
    message : str
    fatal : bool
        Whether every other job would fail too: outputs cannot be written.
    trace : str
        The traceback of an error that is a bug.
    """

    message: str
    fatal: bool = False
    trace: str = ""


@dataclass(frozen=True)
class Step:
    """A running job has done so many of its steps."""

    done: int


class WorkerPool:
    """Worker processes, each with at most one job.

    Parameters
    ----------
    size : int
        How many processes.
    threads : int
        How many threads the numerical libraries of each process may use.
    """

    def __init__(self, size: int, threads: int = 1) -> None:
        self._threads = threads
        self._workers: list[_Worker | None] = [None] * size
        self._jobs: list[object] = [None] * size

    def __enter__(self) -> WorkerPool:
        """Return the pool; a process starts with its first job."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all processes at once; unfinished jobs can be done again."""
        for worker in self._workers:
            if worker is not None:
                worker.stop()

    @property
    def size(self) -> int:
        """The number of workers."""
        return len(self._workers)

    @property
    def busy(self) -> bool:
        """Whether any worker has a job."""
        return any(job is not None for job in self._jobs)

    def idle(self) -> list[int]:
        """Return the numbers of the workers without a job."""
        return [number for number, job in enumerate(self._jobs) if job is None]

    def give(self, number: int, name: object, job: Job) -> None:
        """Give a worker a job; `listen` yields `name` with every message about it."""
        worker = self._workers[number]
        if worker is None:
            worker = self._workers[number] = _Worker(self._threads)
        self._jobs[number] = name
        worker.connection.send(job)

    def listen(self, seconds: float) -> Iterator[tuple[Any, Computed | Failed | Step]]:
        """Yield the messages of workers, after waiting for `seconds` at most."""
        by_connection = {
            worker.connection: number
            for number, worker in enumerate(self._workers)
            if worker is not None and self._jobs[number] is not None
        }
        for connection in wait(list(by_connection), seconds):
            number = by_connection[connection]  # type: ignore[index]
            worker, name = self._workers[number], self._jobs[number]
            assert worker is not None
            try:
                message = worker.connection.recv()
            except (EOFError, ConnectionError):
                message = Failed(worker.end())
                self._workers[number] = None
            if not isinstance(message, Step):
                self._jobs[number] = None
            yield name, message


class _Worker:
    """A process and the connection to it."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _environment(threads):
            self._process.start()
        theirs.close()

    def end(self) -> str:
        """Wait for a process that has ended, and say how it ended."""
        self._process.join()
        status = self._process.exitcode or 0
        if status < 0:
            name = signal.Signals(-status).name
            hint = "; memory may have run out" if -status == signal.SIGKILL else ""
            return f"its process was ended by {name}{hint}"
        return f"its process ended with status {status}"

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection) -> None:
    """Do jobs until the connection is closed; end with the parent, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    with suppress(EOFError, ConnectionError):
        while True:
            connection.send(do(connection.recv(), connection.send))


def do(job: Job, send: Callable[[Step], None]) -> Computed | Failed:
    """Do a job, and send how many of its steps are done now and then."""
    last = 0.0

    def report(done: int, _total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _PAUSE:
            last = time.monotonic()
            send(Step(done))

    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            # Results show what is warned of, such as a class without rows; hundreds of cells
            # would repeat it.
            warnings.simplefilter("ignore", DNIPWarning)
            result = job(report)
    except DNIPError as error:
        return Failed(str(error), fatal=isinstance(error, OutputError))
    except Exception as error:  # a bug in one cell must not stop the others
        return Failed(f"{type(error).__name__}: {error}", trace=traceback.format_exc())
    return Computed(result, time.perf_counter() - began)


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """Set the threads of a process that starts in the block; what the user has set stays."""
    added = {name: str(threads) for name in _THREADS if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
