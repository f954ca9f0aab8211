"""The run: all cells that are not in the store, and the tables they need, over workers."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from dnip.base.errors import OutputError
from reproduction.cluster_pool import ClusterPool
from reproduction.results import CellResult, Computed, Results
from reproduction.worker_pool import Failed, Step, WorkerPool, compute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dnip.base.cluster import Cluster
    from reproduction.cell import Cell
    from reproduction.prompt_request import PromptRequest
    from reproduction.store import Store

# Seconds to wait for a message before progress is shown again.
_LOOK = 1.0
# After so many failures, a model that has never answered is given up.
_ENOUGH = 3


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
    n_cells, n_reused : int
        Different computations, and how many of them an earlier run has done.
    n_tables, n_tables_reused : int
        Tables that open cells need, and how many of them an earlier run has made.
    seconds : float
    """

    results: dict[str, Results] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)
    n_cells: int = 0
    n_reused: int = 0
    n_tables: int = 0
    n_tables_reused: int = 0
    seconds: float = 0.0

    def counts(self) -> dict[str, int]:
        """Return how many cells and tables there were, and how many of them were reused."""
        return {
            "cells": self.n_cells,
            "cells_reused": self.n_reused,
            "tables": self.n_tables,
            "tables_reused": self.n_tables_reused,
        }


def run_cells(
    cells: Mapping[str, Sequence[Cell]],
    requests: Mapping[str, PromptRequest],
    store: Store,
    *,
    jobs: int = 1,
    prompt_jobs: int | None = None,
    threads: int = 1,
    cluster: Cluster | None = None,
    progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Compute all cells that are not in the store, and the tables that they need.

    A cell that fails, or whose table cannot be made, is reported and the others go on. The next
    run tries it again.

    Parameters
    ----------
    cells : mapping of str to sequence of Cell
        Cells by experiment.
    requests : mapping of str to PromptRequest
        How to make tables, by table key; all other tables exist already.
    store : Store
    jobs : int
        Processes.
    prompt_jobs : int, optional
        How many of them may hold a model at a time; all by default.
    threads : int
        Threads of each process.
    cluster : Cluster, optional
        Its workers are used instead of processes of this machine.
    progress : callable, optional
        Receives a line now and then.

    Raises
    ------
    OutputError
        If outputs cannot be written, such as on a full disk. What is done is kept.
    """
    began = time.perf_counter()
    work = {cell.key: cell for of_one in cells.values() for cell in of_one}
    kept = {key: found for key, cell in work.items() if (found := store.get(cell)) is not None}
    outcome = Outcome(n_cells=len(work), n_reused=len(kept))
    schedule = _Schedule(
        [cell for key, cell in work.items() if key not in kept], requests, store, outcome
    )
    with WorkerPool(jobs, threads) if cluster is None else ClusterPool(cluster) as pool:
        schedule.work(pool, prompt_jobs or pool.size, progress or (lambda _: None))
    kept |= schedule.computed
    for name, of_one in cells.items():
        outcome.results[name] = Results(
            tuple(CellResult(cell.labels, *kept[cell.key]) for cell in of_one if cell.key in kept)
        )
    outcome.seconds = time.perf_counter() - began
    return outcome


class _Schedule:
    """The state of a run: which cells wait for which tables, and what can start."""

    def __init__(
        self,
        cells: Sequence[Cell],
        requests: Mapping[str, PromptRequest],
        store: Store,
        outcome: Outcome,
    ) -> None:
        self._store, self._outcome = store, outcome
        self.computed: dict[str, Computed] = {}
        wanted = {
            ref.key: ref for cell in cells for ref in cell.tables.values() if ref.key in requests
        }
        self._tables = {key: ref for key, ref in wanted.items() if not requests[key].is_made}
        outcome.n_tables = len(wanted)
        outcome.n_tables_reused = len(wanted) - len(self._tables)
        self._requests = requests
        self._to_prompt = deque(self._tables)
        self._rows_done = dict.fromkeys(self._tables, 0)
        self._n_failed: Counter[str] = Counter()
        self._answering: set[str] = set()
        self._cells = {cell.key: cell for cell in cells}
        self._missing = {
            cell.key: {ref.key for ref in cell.tables.values()} & set(self._tables)
            for cell in cells
        }
        self._ready = deque(key for key, missing in self._missing.items() if not missing)

    def work(
        self, pool: WorkerPool | ClusterPool, prompters: int, progress: Callable[[str], None]
    ) -> None:
        """Work until nothing is left to do."""
        self._hand_out(pool, prompters)
        while pool.busy:
            for (take, key), message in pool.listen(_LOOK):
                if isinstance(message, Step):
                    self._rows_done[key] = message.done
                elif isinstance(message, Failed) and message.fatal:
                    raise OutputError(message.message)
                else:
                    take(key, message)
            progress(self._describe())
            self._hand_out(pool, prompters)

    def _hand_out(self, pool: WorkerPool | ClusterPool, prompters: int) -> None:
        for number in pool.idle():
            # Workers reserved for prompting go on prompting, so that the model does not wait.
            # Other workers do the cells that are ready first, as these are short.
            may_prompt = prompters < pool.size or not self._ready
            if number < prompters and self._to_prompt and may_prompt:
                key = self._to_prompt.popleft()
                pool.give(number, (self._take_table, key), self._requests[key].make)
            elif self._ready:
                key = self._ready.popleft()
                cell = self._cells[key]
                job = partial(compute, cell.function, cell.tables, cell.settings)
                pool.give(number, (self._take_cell, key), job)

    def _take_cell(self, key: str, ended: Computed | Failed) -> None:
        del self._missing[key]
        if isinstance(ended, Failed):
            self._fail(self._cells[key].name, ended)
        else:
            self._store.put(self._cells[key], ended)
            self.computed[key] = ended

    def _take_table(self, table: str, ended: Computed | Failed) -> None:
        """Let the cells of a table start, or fail."""
        if isinstance(ended, Failed):
            self._fail(self._tables[table].name, ended)
            self._lose(table)
            self._give_up(self._requests[table].model, ended)
            return
        self._answering.add(self._requests[table].model)
        self._rows_done[table] = self._requests[table].rows
        for key, missing in self._missing.items():
            if table in missing:
                missing.discard(table)
                if not missing:
                    self._ready.append(key)

    def _give_up(self, model: str, failed: Failed) -> None:
        """Fail all tables of a model that has failed every time."""
        self._n_failed[model] += 1
        if model in self._answering or self._n_failed[model] < _ENOUGH:
            return
        left = [key for key in self._to_prompt if self._requests[key].model == model]
        if left:
            self._fail(
                f"{len(left)} more tables of {model}", Failed(f"not tried: {failed.message}")
            )
        for key in left:
            self._to_prompt.remove(key)
            self._lose(key)

    def _lose(self, table: str) -> None:
        """Fail the cells that wait for a table."""
        for key in [key for key, missing in self._missing.items() if table in missing]:
            del self._missing[key]
            reason = f"its table {self._tables[table].name} could not be made"
            self._fail(self._cells[key].name, Failed(reason))

    def _fail(self, name: str, failed: Failed) -> None:
        self._outcome.failures[name] = failed.message
        if failed.trace:
            self._outcome.traces[name] = failed.trace

    def _describe(self) -> str:
        """Return how far the run is."""
        cells = f"{len(self._cells) - len(self._missing)} of {len(self._cells)} cells"
        if not self._tables:
            return cells
        rows = sum(self._requests[key].rows for key in self._tables)
        return f"{sum(self._rows_done.values()):,} of {rows:,} prompts, {cells}"
