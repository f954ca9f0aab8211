"""What an experiment is, and how its cells are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd

from reproduction.judging import Claim, Scores, named, scores_of
from reproduction.methods import Found
from reproduction.probabilities import ONE, Cell, Probabilities

# Columns that hold arrays.
ARRAYS = ("labels", "predicted", "of_true")
FIRST = ["task", "shots", "seed", "method", "accuracy", "cobias", "worst_class_accuracy"]


@dataclass(eq=False)
class Run:
    """One run over a file: cells are computed once, whatever number of experiments need them.

    Attributes
    ----------
    data : Probabilities
    jobs : int
        Processes.
    """

    data: Probabilities
    jobs: int = 1
    _made: dict[Any, list[Found]] = field(default_factory=dict)

    def over(
        self, work: Callable[[Cell], list[Found]], cells: Iterable[Cell], jobs: int | None = None
    ) -> Any:
        """Return results of some work on cells: a row for each cell and method, with scores."""
        asked = list(cells)
        key = {id(cell): (work, cell.task, cell.shots, cell.seed) for cell in asked}
        new = [cell for cell in asked if key[id(cell)] not in self._made]
        done = joblib.Parallel(jobs or self.jobs)(joblib.delayed(work)(cell) for cell in new)
        self._made |= {key[id(cell)]: found for cell, found in zip(new, done, strict=True)}
        rows = [
            {
                **{"task": cell.task, "shots": cell.shots, "seed": cell.seed},
                **{"method": found.method, "n_opt": len(cell.opt.y), "n_test": len(cell.test.y)},
                **{"demonstrations": " ".join(map(str, cell.demonstrations))},
                **{"n_classes": cell.test.p.shape[1], "labels": cell.test.y},
                **{"predicted": found.predicted, **scored(cell, found), **found.notes},
            }
            for cell in asked
            for found in self._made[key[id(cell)]]
        ]
        return pd.DataFrame(rows, columns=None if rows else [*FIRST, *ARRAYS])

    def scores(self, results: Any) -> Scores:
        """Return averages of results over the planned tasks."""
        return Scores(results, self.data.tasks)

    def missing(self, shots: Sequence[str], tasks: Sequence[str] | None = None) -> str:
        """Say which of the cells that an experiment reads are not in the file."""
        seeds = sorted({seed for task in self.data.tasks for seed in self.data.seeds(task, ONE)})
        told = []
        for way in shots:
            there = {(cell.task, cell.seed) for cell in self.data.cells(way)}
            for task in self.data.tasks if tasks is None else tasks:
                lost = [str(seed) for seed in seeds if (task, seed) not in there]
                if lost:
                    told.append(f"{task} {named(way)} (seeds {', '.join(lost)})")
        return f"Not in the file, and so not in the averages: {'; '.join(told)}." if told else ""


def scored(cell: Cell, found: Found) -> dict[str, Any]:
    """Return the scores of predictions, and the marks that stand beside them."""
    n = cell.test.p.shape[1]
    counts = np.zeros((n, n))
    np.add.at(counts, (cell.test.y, found.predicted), 1)
    return {
        **{name: float(value) for name, value in scores_of(counts).items()},
        "majority": float(counts.sum(axis=1).max() / counts.sum()),
        "constant": len(np.unique(found.predicted)) == 1,
    }


class Experiment(NamedTuple):
    """One experiment of the paper.

    Attributes
    ----------
    name, title, place : str
        How it is asked for, what it is, and where in the paper it stands.
    run : callable
        Gives its results.
    table : callable
        Gives its tables, in Markdown.
    draw : callable
        Draws its picture.
    judge : callable
        Gives what the paper says of it, judged.
    shots : tuple of str
        The ways of prompting that it reads.
    tasks : tuple of str, optional
        The only tasks that it reads.
    """

    name: str
    title: str
    place: str
    run: Callable[[Run], Any]
    table: Callable[[Run, Any], str]
    draw: Callable[[Any, Run, Any], None]
    judge: Callable[[Run, Any], Iterator[Claim]]
    shots: tuple[str, ...] = (ONE,)
    tasks: tuple[str, ...] | None = None
