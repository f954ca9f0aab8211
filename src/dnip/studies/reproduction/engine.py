"""The run: every cell of the experiments, over processes, from where an earlier run was stopped."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dnip.base.errors import OutputError
from dnip.studies.reproduction.crew import CellJob, Crew, Done, Failed, PromptJob, Step
from dnip.studies.reproduction.experiment import CellResult, Results
from dnip.studies.reproduction.store import Stored
from dnip.studies.reproduction.time_left import TimeLeft

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dnip.studies.reproduction.cell import Cell
    from dnip.studies.reproduction.prompting import PromptRequest
    from dnip.studies.reproduction.store import Store

# Seconds between two looks at the workers where none has anything to tell.
_LOOK = 1.0
# After so many failures with the same words, a model that never has answered is given up.
_ALIKE = 3


@dataclass
class Outcome:
    """What a run of cells came to.

    Attributes
    ----------
    results : dict of str to Results
        By experiment.
    failures : dict of str to str
        Names of cells and tables that failed, and why.
    traces : dict of str to str
        Of those that failed by an error of the program.
    n_cells, n_reused : int
        Different computations, and how many of them an earlier run had made.
    n_tables, n_tables_reused : int
        Tables that cells left to do wait for, and how many of them an earlier run had made.
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


def run_cells(
    cells: Mapping[str, Sequence[Cell]],
    requests: Mapping[str, PromptRequest],
    store: Store,
    *,
    jobs: int = 1,
    prompt_jobs: int | None = None,
    threads: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Compute all cells that are not in the store, and the tables that they need.

    A cell that fails, or whose table cannot be made, is reported and the others go on; it is tried
    again by the next run.

    Parameters
    ----------
    cells : mapping of str to sequence of Cell
        By experiment.
    requests : mapping of str to PromptRequest
        How to make tables, by table key; tables that are not named are there already.
    store : Store
    jobs : int
        Processes.
    prompt_jobs : int, optional
        How many of them may hold a model at a time; all by default.
    threads : int
        Threads of each process.
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
    run = _Run([cell for key, cell in work.items() if key not in kept], requests, store, outcome)
    with Crew(jobs, threads) as crew:
        run.go(crew, prompt_jobs or jobs, progress or (lambda _: None))
    kept |= run.computed
    for name, of_one in cells.items():
        outcome.results[name] = Results(
            tuple(CellResult(cell.labels, *kept[cell.key]) for cell in of_one if cell.key in kept)
        )
    outcome.seconds = time.perf_counter() - began
    return outcome


class _Run:
    """The state of a run: what waits for what."""

    def __init__(
        self,
        cells: Sequence[Cell],
        requests: Mapping[str, PromptRequest],
        store: Store,
        outcome: Outcome,
    ) -> None:
        self._store, self._outcome = store, outcome
        self.computed: dict[str, Stored] = {}
        wanted = {
            ref.key: ref for cell in cells for ref in cell.tables.values() if ref.key in requests
        }
        made = {key for key in wanted if requests[key].is_made}
        outcome.n_tables, outcome.n_tables_reused = len(wanted), len(made)
        self._tables = {key: ref for key, ref in wanted.items() if key not in made}
        self._requests = requests
        self._to_prompt = deque(self._tables)
        self._failed_alike: Counter[tuple[str, str]] = Counter()
        self._answering: set[str] = set()
        self._waiting = {cell.key: cell for cell in cells}
        self._missing = {
            cell.key: {ref.key for ref in cell.tables.values()} & set(self._tables)
            for cell in cells
        }
        self._ready = deque(key for key, missing in self._missing.items() if not missing)
        self._left = TimeLeft(
            {key: requests[key].rows for key in self._tables},
            {cell.key: cell.experiment for cell in cells},
        )

    def go(self, crew: Crew, prompters: int, progress: Callable[[str], None]) -> None:
        """Work until nothing is left to do."""
        while True:
            self._hand_out(crew, prompters)
            if not crew.busy:
                return
            for (kind, key), told in crew.listen(_LOOK):
                if isinstance(told, Step):
                    self._left.step(key, told.done)
                else:
                    self._left.finish(key)
                    self._take(kind, key, told)
            progress(self._left.describe(crew.size))

    def _hand_out(self, crew: Crew, prompters: int) -> None:
        for number in crew.idle():
            # A worker kept for prompting prompts, lest the model wait; others first do the cells
            # that are ready, which are short and whose results are worth having.
            kept = prompters < crew.size or not self._ready
            if number < prompters and self._to_prompt and kept:
                key = self._to_prompt.popleft()
                self._left.start(key)
                crew.give(number, ("table", key), PromptJob(self._requests[key]))
            elif self._ready:
                key = self._ready.popleft()
                cell = self._waiting[key]
                self._left.start(key)
                crew.give(number, ("cell", key), CellJob(cell.function, cell.tables, cell.settings))

    def _take(self, kind: str, key: str, told: Done | Failed) -> None:
        if isinstance(told, Failed) and told.fatal:
            raise OutputError(told.message)
        if kind == "table":
            self._take_table(key, told)
            return
        cell = self._waiting.pop(key)
        if isinstance(told, Failed):
            self._fail(cell.name, told)
            return
        stored = Stored(told.result, told.seconds)
        self._store.put(cell, stored)
        self.computed[key] = stored

    def _take_table(self, table: str, told: Done | Failed) -> None:
        ref = self._tables[table]
        model = self._requests[table].model
        if isinstance(told, Failed):
            self._fail(ref.name, told)
            self._failed_alike[model, told.message] += 1
            if model not in self._answering and self._failed_alike[model, told.message] >= _ALIKE:
                self._give_up(model, told)
        else:
            self._answering.add(model)
        self._pass_on(table, told)

    def _give_up(self, model: str, told: Failed) -> None:
        """Fail all tables of a model that fails every time, and never has answered."""
        left = [key for key in self._to_prompt if self._requests[key].model == model]
        self._to_prompt = deque(key for key in self._to_prompt if key not in set(left))
        if left:
            self._fail(f"{len(left)} more tables of {model}", Failed(f"not tried: {told.message}"))
        for key in left:
            self._left.finish(key)
            self._pass_on(key, told)

    def _pass_on(self, table: str, told: Done | Failed) -> None:
        """Let the cells of a table begin, or fail."""
        ref = self._tables[table]
        for key, missing in self._missing.items():
            if table not in missing:
                continue
            if isinstance(told, Failed):
                if cell := self._waiting.pop(key, None):
                    self._left.finish(key)
                    self._fail(cell.name, Failed(f"its table {ref.name} could not be made"))
                continue
            missing.discard(table)
            if not missing and key in self._waiting:
                self._ready.append(key)

    def _fail(self, name: str, failed: Failed) -> None:
        self._outcome.failures[name] = failed.message
        if failed.trace:
            self._outcome.traces[name] = failed.trace
