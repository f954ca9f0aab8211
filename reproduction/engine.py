"""The run: joblib keeps what cells return, and shares the work that is left among processes."""

from __future__ import annotations

import functools
import os
import threading
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from joblib import Memory, Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

from dnip.base.errors import DNIPError, DNIPWarning, OutputError
from reproduction.cell import compute
from reproduction.results import CellResult, Results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from reproduction.cell import Cell
    from reproduction.prompt_request import PromptRequest

    #: Receives a line, and how many of how many steps are done.
    Progress = Callable[[str, float, float], None]

# After so many failures, a model that has never answered is given up.
_ENOUGH = 3


class Failed(NamedTuple):
    """Why a cell or a table failed, with the traceback of what is a bug."""

    message: str
    trace: str = ""


@dataclass
class Outcome:
    """Results and failures of a run.

    Attributes
    ----------
    results : dict of str to Results
        Results by experiment.
    failures : dict of str to str
        Names of cells and tables that failed, and why.
    traces : dict of str to str
        Tracebacks of failures that are bugs.
    counts : dict of str to int
        ``cells`` and ``tables`` of the run; ``cells_reused`` and ``tables_reused`` of earlier ones.
    seconds : float
    """

    results: dict[str, Results] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def fail(self, name: str, failed: Failed) -> None:
        """Note why a cell or a table failed."""
        self.failures[name] = failed.message
        if failed.trace:
            self.traces[name] = failed.trace


class Cache:
    """What cells have returned, kept under the hash of all that it depends on.

    Parameters
    ----------
    folder : Path
        It is made when the first cell is computed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @functools.cached_property
    def compute(self) -> Callable[[str, Cell], dict[str, Any]]:
        """What computes a cell, given its key, or reads what was computed."""
        cached: Callable[[str, Cell], dict[str, Any]] = Memory(self._folder, verbose=0).cache(
            compute, ignore=["cell"]
        )
        return cached

    def has(self, cell: Cell) -> bool:
        """Say whether a cell need not be computed."""
        if not self._folder.is_dir():
            return False
        return bool(self.compute.check_call_in_cache(cell.key, cell))  # type: ignore[attr-defined]


def run_cells(
    cells: Mapping[str, Sequence[Cell]],
    requests: Mapping[str, PromptRequest],
    cache: Cache,
    *,
    jobs: int = 1,
    prompt_jobs: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Outcome:
    """Make the tables that cells need, then compute all cells that are not in the cache.

    A cell that fails, or whose table cannot be made, is reported and the others go on. The next
    run tries it again.

    Parameters
    ----------
    cells : mapping of str to sequence of Cell
        Cells by experiment.
    requests : mapping of str to PromptRequest
        How to make tables, by table key; all other tables exist already.
    cache : Cache
    jobs : int
        Processes.
    prompt_jobs : int, optional
        How many of them may hold a model at a time; all by default.
    threads : int
        Threads of each process.
    progress : callable, optional
        Receives a line now and then, and how many of how many steps are done.

    Raises
    ------
    OutputError
        If outputs cannot be written, such as on a full disk. What is done is kept.
    """
    began = time.perf_counter()
    show = progress or (lambda _text, _done, _total: None)
    work = {cell.key: cell for of_one in cells.values() for cell in of_one}
    left = {key: cell for key, cell in work.items() if not cache.has(cell)}
    needed = {ref.key for cell in left.values() for ref in cell.tables.values()}
    wanted = {key: request for key, request in requests.items() if key in needed}
    to_make = {key: request for key, request in wanted.items() if not request.is_made}
    outcome = Outcome(
        counts={
            "cells": len(work),
            "cells_reused": len(work) - len(left),
            "tables": len(wanted),
            "tables_reused": len(wanted) - len(to_make),
        }
    )
    with parallel_config("loky", inner_max_num_threads=threads):
        lost = _prompt(to_make, outcome, min(jobs, prompt_jobs or jobs), show)
        ready = []
        for key, cell in left.items():
            gone = [ref.name for ref in cell.tables.values() if ref.key in lost]
            if gone:
                outcome.fail(cell.name, Failed(f"its table {gone[0]} could not be made"))
            else:
                ready.append((key, (key, cell)))
        done = {key: cache.compute(key, cell) for key, cell in work.items() if key not in left}
        for number, (key, found) in enumerate(_in_processes(cache.compute, ready, jobs), start=1):
            if isinstance(found, Failed):
                outcome.fail(work[key].name, found)
            else:
                done[key] = found
            show(f"{number} of {len(ready)} cells", number, len(ready))
    for name, of_one in cells.items():
        outcome.results[name] = Results(
            tuple(CellResult(cell.labels, done[cell.key]) for cell in of_one if cell.key in done)
        )
    outcome.seconds = time.perf_counter() - began
    return outcome


def _prompt(
    requests: Mapping[str, PromptRequest], outcome: Outcome, jobs: int, show: Progress
) -> set[str]:
    """Make tables; return the keys of those that could not be made."""
    lost: set[str] = set()
    answering: set[str] = set()
    n_failed: Counter[str] = Counter()
    reasons: dict[str, str] = {}

    def wanted() -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield what is to be made, as long as its model may still answer."""
        for key, request in requests.items():
            if request.model in answering or n_failed[request.model] < _ENOUGH:
                yield key, (request, *([] if jobs > 1 else [show_rows]))
            else:
                lost.add(key)
                outcome.fail(request.table.name, Failed(f"not tried: {reasons[request.model]}"))

    def show_rows(done: int, total: int) -> None:
        show(f"{len(ended)} of {len(requests)} tables, {done:,} of {total:,} prompts", done, total)

    ended: list[str] = []
    for key, found in _in_processes(_make, wanted(), jobs):
        request = requests[key]
        if isinstance(found, Failed):
            lost.add(key)
            outcome.fail(request.table.name, found)
            n_failed[request.model] += 1
            reasons[request.model] = found.message
        else:
            answering.add(request.model)
        ended.append(key)
        show(f"{len(ended)} of {len(requests)} tables", len(ended), len(requests))
    return lost


def _make(request: PromptRequest, progress: Callable[[int, int], None] | None = None) -> None:
    request.make(progress)


def _in_processes(
    function: Callable[..., Any], arguments: Iterable[tuple[str, tuple[Any, ...]]], jobs: int
) -> Iterator[tuple[str, Any]]:
    """Call a function once for each key, and yield what it returned, or Failed, as that comes."""
    parent, left, begun = os.getpid(), iter(arguments), dict[str, tuple[Any, ...]]()

    def calls() -> Iterator[Any]:
        for key, values in left:
            begun[key] = values
            yield delayed(_attempt)(parent, key, function, values)

    try:
        for key, found in Parallel(jobs, return_as="generator_unordered")(calls()):
            del begun[key]
            yield key, found
    except TerminatedWorkerError:  # which call ended its process is not known
        # From here each has a process of its own, so that only the call to blame fails.
        for key, values in chain(list(begun.items()), left):
            try:
                yield Parallel(2)([delayed(_attempt)(parent, key, function, values)])[0]
            except TerminatedWorkerError:
                yield key, Failed("its process was killed; memory may have run out")


def _attempt(
    parent: int, key: str, function: Callable[..., Any], values: tuple[Any, ...]
) -> tuple[str, Any]:
    """Call a function; return why it failed, so that the others go on."""
    if os.getpid() != parent:
        _follow(parent)
    try:
        with warnings.catch_warnings():
            # Results show what is warned of, such as a class without rows; hundreds of cells
            # would repeat it.
            warnings.simplefilter("ignore", DNIPWarning)
            warnings.filterwarnings("error", "Unable to cache to disk")
            return key, function(*values)
    except OutputError:
        raise
    except Warning as error:
        raise OutputError(f"results of cells cannot be kept: {error}") from error
    except DNIPError as error:
        return key, Failed(str(error))
    except Exception as error:  # a bug in one cell must not stop the others
        return key, Failed(f"{type(error).__name__}: {error}", traceback.format_exc())


@functools.cache
def _follow(parent: int) -> None:
    """End this process when its parent has ended, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
