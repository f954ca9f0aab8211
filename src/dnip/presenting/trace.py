"""The course of a search as CSV."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from dnip.base.files import atomic_path

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
    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["seconds", "evaluations", "value", "incumbent", *statistics])
        for entry in solution.trace:
            writer.writerow(
                [
                    f"{entry.seconds:.6f}",
                    entry.evaluations,
                    entry.value,
                    entry.incumbent,
                    *(entry.statistics.get(name, "") for name in statistics),
                ]
            )
