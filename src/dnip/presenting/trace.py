"""The course of a search as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.presenting.results import write_rows

if TYPE_CHECKING:
    import os

    from dnip.method.solution import Solution


def write_trace(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write one line per trace entry, with a column for each statistic of the solver.

    Parameters
    ----------
    solution : Solution
    path : path-like
        The CSV file.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    statistics = list(dict.fromkeys(name for entry in solution.trace for name in entry.statistics))
    rows: list[list[Any]] = [["seconds", "evaluations", "value", "incumbent", *statistics]]
    rows += [
        [
            f"{entry.seconds:.6f}",
            entry.evaluations,
            entry.value,
            entry.incumbent,
            *(entry.statistics.get(name, "") for name in statistics),
        ]
        for entry in solution.trace
    ]
    write_rows(Path(path), rows)
