"""A fit whose rows lie in the workers of a cluster: the plain optimum, as in passes."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.cluster import with_warnings
from dnip.base.errors import DNIPWarning
from dnip.fitting.in_passes import LEAST_MEMORY, LabelledRows, hashed, labelled, recorded
from dnip.method.coefficients import Coefficients
from dnip.solvers import (
    PackedFlips,
    SearchSettings,
    ShareCounts,
    SharedProblem,
    StreamedProblem,
    find_optimum,
)
from dnip.solvers.levels import levels_of
from dnip.solvers.passes import passes_over
from dnip.tables import Scan
from dnip.tables.evaluation import EvaluationCounts
from dnip.tables.hashing import DataHash
from dnip.tables.share import Share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dnip.base.cluster import Cluster
    from dnip.base.typing import Confusion, Floats, Labels, Probabilities
    from dnip.fitting.record import Fit
    from dnip.method.scales import WeightScale
    from dnip.solvers import Progress
    from dnip.solvers.passes import Passes

# How many workers one process adds up the answers of: this one, and each worker in turn.
_FAN_IN = 8


def fit_on_cluster(
    path: Path,
    settings: SearchSettings,
    cluster: Cluster,
    *,
    classes: Sequence[str] | None = None,
    memory: int,
    progress: Progress | None = None,
) -> Fit:
    """Fit the plain optimum on a table that the workers of a cluster read, each its share.

    Rows stay with the workers. For each line of the search, a worker sends counts of flips. The
    result equals that of :func:`dnip.fitting.in_passes.fit_scan`, to the last bit. Meanwhile one
    more process reads the table from the first row to the last, for its hash and its samples.

    Parameters
    ----------
    path : Path
        A table that all nodes can read at this path.
    settings : SearchSettings
    cluster : Cluster
    classes : sequence of str, optional
        Class names.
    memory : int
        Bytes of memory for each worker, at least 500 million. Open rows that do not fit go to a
        temporary file.
    progress : callable, optional
        As for :func:`dnip.solve`.

    Returns
    -------
    Fit

    Raises
    ------
    InvalidInputError
        As `fit_scan`.
    BackendError
        If a worker dies again and again.
    """
    began = time.perf_counter()
    settings.check_in_passes()
    names = next(iter(Scan(path, classes, memory=memory))).classes
    there = path.absolute()  # workers may run in another folder
    workers = _Workers(cluster, there, names, settings.scale, memory)
    problem = SharedProblem(workers, names, scale=settings.scale)
    reading = cluster.start(with_warnings, _read_through, there, names, memory, problem.n_rows)
    solution = find_optimum(problem, settings, began, progress=progress)
    coefficients = Coefficients.from_solution(solution, names)
    counts = EvaluationCounts(coefficients)
    for share in workers.ask("evaluate", coefficients):
        counts.join(share)
    (rows, data_hash), told = cluster.get(reading)
    for message in told:
        warnings.warn(message, DNIPWarning, stacklevel=2)
    return recorded(str(path), data_hash, rows, coefficients, solution, counts.evaluation())


def _read_through(
    path: Path, classes: Sequence[str], memory: int, n_rows: int
) -> tuple[LabelledRows, str]:
    """Return samples of the rows of a table, and its hash."""
    data_hash = DataHash(classes, labelled=True, n_rows=n_rows)
    rows = LabelledRows(hashed(Scan(path, classes, memory=memory), data_hash)).read()
    return rows, data_hash.hexdigest()


class _Workers:
    """The workers, each with its share of the rows.

    They form a tree. This process asks the first few for sums, each of them asks a few others, and
    so on. So no process has more than a few answers to add, however many workers there are.
    """

    def __init__(
        self, cluster: Cluster, path: Path, classes: Sequence[str], scale: WeightScale, memory: int
    ) -> None:
        self._cluster = cluster
        start, number = cluster.actor(_Worker), cluster.workers
        started: dict[int, Any] = {}
        for i in reversed(range(number)):  # those that a worker asks are there before it
            first = (i + 1) * _FAN_IN
            below = [started[j] for j in range(first, min(first + _FAN_IN, number))]
            share = Share(i, number)
            started[i] = start(cluster, below, path, classes, scale, memory, share)
        self._workers = [started[i] for i in range(number)]
        self.measure = partial(self.ask, "measure")
        self.count = partial(self._sum, "count")
        self.find_flips = partial(self._sum, "find_flips")

    def ask(self, name: str, *arguments: object) -> list[Any]:
        """Call a method of all workers at once, and wait for what they return."""
        return list(self._cluster.get(_ask(self._workers, name, *arguments)))

    def _sum(self, name: str, *arguments: object) -> list[Any]:
        """Call a method that adds up answers; return those of the first few workers."""
        return list(self._cluster.get(_ask(self._workers[:_FAN_IN], name, *arguments)))


def _ask(workers: Sequence[Any], name: str, *arguments: object) -> list[Any]:
    return [getattr(worker, name).remote(*arguments) for worker in workers]


class _Worker:
    """A process that holds a share of the rows, and asks the workers `below` it.

    What it holds follows from its arguments alone. One that died can be started again.
    """

    def __init__(
        self,
        cluster: Cluster,
        below: Sequence[Any],
        path: Path,
        classes: Sequence[str],
        scale: WeightScale,
        memory: int,
        share: Share,
    ) -> None:
        self._cluster, self._below = cluster, below
        self._scan = Scan(path, classes, memory=memory, share=share)
        self._classes, self._scale, self._memory = classes, scale, memory
        self._n_rows = 0
        self._opened: tuple[StreamedProblem, Passes] | None = None

    def measure(self) -> ShareCounts:
        """Read the share, and say what is in it."""
        problem, _ = self._rows()
        return ShareCounts(self._n_rows, problem.class_mass, problem.n_open)

    def count(self, indices: Floats) -> Confusion:
        """Return the confusion counts at weight indices, of this share and all below."""
        below = _ask(self._below, "count", indices)
        counts: Confusion = self._rows()[1].count(indices)
        return sum(self._cluster.get(below), counts)

    def find_flips(self, indices: Floats, c: int) -> PackedFlips:
        """Return the flips of class `c`, in this share and all below."""
        below = _ask(self._below, "find_flips", indices, c)
        flips = PackedFlips.of(self._rows()[1].find_flips(indices, c), len(self._classes))
        return PackedFlips.sum([flips, *self._cluster.get(below)])

    def evaluate(self, coefficients: Coefficients) -> EvaluationCounts:
        """Count the share under coefficients."""
        counts = EvaluationCounts(coefficients)
        for chunk in self._scan:
            counts.add(chunk)
        return counts

    def _rows(self) -> tuple[StreamedProblem, Passes]:
        if self._opened is None:
            self._n_rows = 0
            problem = StreamedProblem(
                self._labelled(),
                self._classes,
                scale=self._scale,
                memory=max(self._memory - LEAST_MEMORY, 0),
                whole=False,
            )
            self._opened = problem, passes_over(problem, levels_of(self._scale))
        return self._opened

    def _labelled(self) -> Iterator[tuple[Probabilities, Labels]]:
        for chunk in self._scan:
            self._n_rows += len(chunk)
            rows = labelled(chunk)
            if rows is not None:
                yield np.asarray(rows[0]), rows[1]
