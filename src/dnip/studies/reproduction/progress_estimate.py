"""How far a run is, and how long the rest will take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ProgressEstimate:
    """Counts rows and cells as they are done, and estimates the rest from their pace.

    Parameters
    ----------
    rows : mapping of str to int
        Rows to prompt, by table.
    cells : mapping of str to str
        The experiment of each cell: cells of one experiment are taken to last equally long.
    clock : callable
        Returns seconds.

    Examples
    --------
    >>> now = 0.0
    >>> left = ProgressEstimate({"t": 100}, {"a": "main", "b": "main"}, clock=lambda: now)
    >>> left.describe(1)
    '0 of 1 tables (0 of 100 rows), 0 of 2 cells'
    >>> left.start("a")
    >>> now = 60.0
    >>> left.finish("a")
    >>> left.start("t")
    >>> now = 90.0
    >>> left.step("t", 50)
    >>> left.describe(1)
    '0 of 1 tables (50 of 100 rows), 1 of 2 cells, about 2 min left'
    """

    def __init__(
        self,
        rows: Mapping[str, int],
        cells: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rows, self._cells, self._clock = rows, cells, clock
        self._started: dict[str, float] = {}
        self._finished: set[str] = set()
        self._rows_done: dict[str, int] = dict.fromkeys(rows, 0)
        self._row_seconds: dict[str, float] = {}
        self._cell_seconds: dict[str, list[float]] = {}

    def start(self, key: str) -> None:
        """Note that a table or cell has started."""
        self._started[key] = self._clock()

    def step(self, table: str, done: int) -> None:
        """Note how many rows of a table are done."""
        self._rows_done[table] = min(done, self._rows[table])
        self._row_seconds[table] = self._clock() - self._started[table]

    def finish(self, key: str) -> None:
        """Note that a table or cell is done, or has failed."""
        self._finished.add(key)
        spent = self._clock() - self._started.get(key, self._clock())
        if key in self._rows:
            self._rows_done[key] = self._rows[key]
            self._row_seconds[key] = spent
        elif key in self._started:
            self._cell_seconds.setdefault(self._cells[key], []).append(spent)

    def describe(self, workers: int) -> str:
        """Return a line for people."""
        parts = []
        if self._rows:
            done = sum(key in self._finished for key in self._rows)
            parts.append(
                f"{done} of {len(self._rows)} tables "
                f"({sum(self._rows_done.values()):,} of {sum(self._rows.values()):,} rows)"
            )
        n_done = sum(key in self._finished for key in self._cells)
        parts.append(f"{n_done} of {len(self._cells)} cells")
        seconds = self._seconds_left()
        if seconds is not None:
            parts.append(f"about {_duration(seconds / workers)} left")
        return ", ".join(parts)

    def _seconds_left(self) -> float | None:
        """Return seconds for one worker, None before anything is known."""
        rows_done = sum(self._rows_done[key] for key in self._row_seconds)
        rows_left = sum(self._rows.values()) - sum(self._rows_done.values())
        spent = [second for seconds in self._cell_seconds.values() for second in seconds]
        if (rows_left and not rows_done) or not (rows_done or spent):
            return None
        left = rows_left * sum(self._row_seconds.values()) / rows_done if rows_left else 0.0
        general = sum(spent) / len(spent) if spent else 0.0
        for key, experiment in self._cells.items():
            if key not in self._finished:
                own = self._cell_seconds.get(experiment)
                left += sum(own) / len(own) if own else general
        return left


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
