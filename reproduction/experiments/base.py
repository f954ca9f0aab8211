"""What an experiment is, and how its cells are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd

from dnip.base.typing import Floats
from reproduction.judging import Scores, count_pairs, named, rates_of, scores_of
from reproduction.methods import Found, debias
from reproduction.probabilities import ONE, Cell, Probabilities

#: What the paper says, by its name among the published numbers, and contrasts to judge it by.
Claims = Iterator[tuple[str, Callable[..., Mapping[str, Floats]]]]
# Columns that hold arrays.
ARRAYS = ("labels", "predicted", "of_true", "counts", "rates")
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

    def over(self, work: Callable[[Cell], list[Found]], cells: Iterable[Cell]) -> Any:
        """Return results of some work on cells: a row for each cell and method, with scores."""
        asked = [((work, cell.task, cell.shots, cell.seed), cell) for cell in cells]
        new = [(key, cell) for key, cell in asked if key not in self._made]
        done = joblib.Parallel(self.jobs)(joblib.delayed(work)(cell) for _, cell in new)
        self._made |= {key: found for (key, _), found in zip(new, done, strict=True)}
        rows = [scored(cell, found) for key, cell in asked for found in self._made[key]]
        return pd.DataFrame(rows, columns=None if rows else [*FIRST, *ARRAYS])

    def missing(self, shots: Sequence[str], tasks: Sequence[str] | None = None) -> str:
        """Say which of the cells that an experiment reads are not in the file."""
        seeds = sorted({seed for task in self.data.tasks for seed in self.data.seeds(task, ONE)})
        told = []
        for way in shots:
            there = {(cell.task, cell.seed) for cell in self.data.cells(way)}
            if not there:
                told.append(f"{named(way)} (all)")
            for task in (tasks or self.data.tasks) if there else ():
                lost = [str(seed) for seed in seeds if (task, seed) not in there]
                if lost:
                    told.append(f"{task} {named(way)} (seeds {', '.join(lost)})")
        return f"Not in the file, and so not in the averages: {'; '.join(told)}." if told else ""


def one_shot(run: Run) -> Any:
    """Return results of every method in the 1-shot cells."""
    return run.over(debias, run.data.cells(ONE))


def scored(cell: Cell, found: Found) -> dict[str, Any]:
    """Return a row of results: scores, and the marks that stand beside them."""
    y, n = cell.test.y, cell.test.p.shape[1]
    counts = count_pairs(y, found.predicted, n, np.ones((1, len(y))))[0]
    return {
        **{"task": cell.task, "shots": cell.shots, "seed": cell.seed, "method": found.method},
        **{name: float(value) for name, value in scores_of(counts).items()},
        **{"n_opt": len(cell.opt.y), "n_test": len(y), "n_classes": n},
        "demonstrations": " ".join(map(str, cell.demonstrations)),
        "majority": float(counts.sum(axis=1).max() / counts.sum()),
        "constant": len(np.unique(found.predicted)) == 1,
        **{"labels": y, "predicted": found.predicted, "counts": counts, "rates": rates_of(counts)},
        **found.notes,
    }


class Experiment(NamedTuple):
    """One experiment of the paper.

    Attributes
    ----------
    name, title : str
        How it is asked for, and what it is.
    run : callable
        Gives its results.
    table : callable
        Gives its tables, in Markdown.
    judge : callable
        Gives contrasts by which what the paper says of it is judged.
    draw : callable, optional
        Draws its picture; None where the paper has a table.
    shots : tuple of str
        The ways of prompting that it reads.
    tasks : tuple of str, optional
        The only tasks that it reads.
    """

    name: str
    title: str
    run: Callable[[Run], Any]
    table: Callable[[Run, Any], str]
    judge: Callable[[Run, Any, Scores], Claims]
    draw: Callable[[Any, Run, Any], None] | None = None
    shots: tuple[str, ...] = (ONE,)
    tasks: tuple[str, ...] | None = None
