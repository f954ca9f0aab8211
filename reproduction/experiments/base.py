"""What an experiment is, and how its cells are computed."""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd

import dnip
from dnip.base.files import atomic_path
from dnip.base.typing import Floats
from reproduction.judging import Scores, count_pairs, named, rates_of, scores_of
from reproduction.methods import Found, debias
from reproduction.presenting import by_task
from reproduction.probabilities import ONE, Cell, Probabilities

#: What the paper says, by its name among the published numbers, and contrasts to judge it by.
Claims = Iterator[tuple[str, Callable[..., Mapping[str, Floats]] | str]]
Work = Callable[[Cell], list[Found]]
# Columns that hold arrays.
ARRAYS = ("labels", "predicted", "of_true", "counts", "rates")
FIRST = ["task", "shots", "seed", "method", "accuracy", "cobias", "worst_class_accuracy"]


@dataclass(eq=False)
class Run:
    """One run over a file: cells are computed once, whatever number of experiments need them.

    Attributes
    ----------
    data : Probabilities
    finished : path
        The folder of finished cells.
    jobs : int
        Processes.
    """

    data: Probabilities
    finished: Path
    jobs: int = 1

    def over(self, work: Work, cells: Iterable[Cell]) -> Any:
        """Return results of some work on cells: a row for each cell and method, with scores."""
        asked = [(cell, self.finished / name_of(work, cell)) for cell in cells]
        new = [pair for pair in asked if not pair[1].is_file()]
        crew = joblib.Parallel(self.jobs, return_as="generator_unordered")
        for n, told in enumerate(crew(joblib.delayed(finish)(work, *pair) for pair in new), 1):
            print(f"{told} ({n} of {len(new)})", file=sys.stderr, flush=True)
        results = [(cell, pickle.loads(path.read_bytes())) for cell, path in asked]
        rows = [scored(cell, found) for cell, of_cell in results for found in of_cell]
        return pd.DataFrame(rows, columns=None if rows else [*FIRST, *ARRAYS])

    def missing(self, shots: Sequence[str], tasks: Sequence[str] | None = None) -> str:
        """Say which of the cells that an experiment reads are not in the file."""
        seeds = sorted(
            {seed for task in self.data.tasks for seed in self.data.seeds(task, self.data.shots)}
        )
        told = []
        for way in [self.data.shots if way == ONE else way for way in shots]:
            there = {(cell.task, cell.seed) for cell in self.data.cells(way)}
            if not there:
                told.append(f"{named(way)} (all)")
            for task in (tasks or self.data.tasks) if there else ():
                lost = [str(seed) for seed in seeds if (task, seed) not in there]
                if lost:
                    told.append(f"{task} {named(way)} (seeds {', '.join(lost)})")
        return f"Not in the file, and so not in the averages: {'; '.join(told)}." if told else ""


def name_of(work: Work, cell: Cell) -> str:
    """Return the name of a finished cell: it changes with its rows, the code, and the versions."""
    key = joblib.hash([code(), work.__module__, cell, np.__version__, sys.version])
    return f"{cell.task}-{cell.shots}-{cell.seed}-{work.__name__}-{key[:16]}.pickle"


@cache
def code() -> str:
    """Return a hash of all that computes cells: this folder and the package."""
    folders = Path(__file__).parents[1], Path(dnip.__file__).parent
    files = [p for folder in folders for kind in ("*.py", "*.so") for p in folder.rglob(kind)]
    return str(joblib.hash([path.read_bytes() for path in sorted(files)]))


def finish(work: Work, cell: Cell, path: Path) -> str:
    """Do some work on a cell, keep what it finds in a file, and say so."""
    began = time.perf_counter()
    found = work(cell)
    with atomic_path(path) as partial:
        partial.write_bytes(pickle.dumps(found))
    seconds = time.perf_counter() - began
    return f"{cell.task}, {named(cell.shots)}, seed {cell.seed}: {seconds:.1f} s"


def one_shot(run: Run) -> Any:
    """Return results of every method in the 1-shot cells, or what stands for them."""
    return run.over(debias, run.data.cells())


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


def by_tasks(run: Run, results: Any) -> str:
    """Return scores by task."""
    return by_task(results, run.data.tasks)


class Experiment(NamedTuple):
    """One experiment of the paper.

    Attributes
    ----------
    name, title : str
        How it is asked for, and what it is.
    run : callable
        Gives its results.
    judge : callable
        Gives contrasts by which what the paper says of it is judged.
    table : callable, optional
        Gives its tables, in Markdown; scores by task by default.
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
    judge: Callable[[Run, Any, Scores], Claims]
    table: Callable[[Run, Any], str] = by_tasks
    draw: Callable[[Any, Run, Any], None] | None = None
    shots: tuple[str, ...] = (ONE,)
    tasks: tuple[str, ...] | None = None
