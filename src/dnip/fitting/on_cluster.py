"""A fit whose rows lie in the workers of a cluster: the plain optimum, as in passes."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.cluster import with_warnings
from dnip.base.errors import DNIPWarning
from dnip.deploying.evaluation import EvaluationCounts
from dnip.fitting.in_passes import LEAST_MEMORY, LabelledRows, hashed, labelled, recorded
from dnip.method.coefficients import Coefficients
from dnip.solvers import (
    FitSettings,
    PackedFlips,
    ShareCounts,
    SharedProblem,
    StreamedProblem,
    find_optimum,
)
from dnip.solvers.levels import levels_of
from dnip.solvers.passes import passes_over
from dnip.tables import Scan
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


def fit_on_cluster(
    path: Path,
    settings: FitSettings,
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
    settings : FitSettings
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
    """The workers, each with its share of the rows."""

    def __init__(
        self, cluster: Cluster, path: Path, classes: Sequence[str], scale: WeightScale, memory: int
    ) -> None:
        self._cluster = cluster
        number = cluster.workers
        self._workers = cluster.actors(
            _Worker,
            [(path, classes, scale, memory, Share(i, number)) for i in range(number)],
        )
        self.measure = partial(self.ask, "measure")
        self.count = partial(self.ask, "count")
        self.find_flips = partial(self.ask, "find_flips")

    def ask(self, name: str, *arguments: object) -> list[Any]:
        """Call a method of all workers at once, and wait for what they return."""
        asked = [getattr(worker, name).remote(*arguments) for worker in self._workers]
        return list(self._cluster.get(asked))


class _Worker:
    """A process that holds a share of the rows.

    What it holds follows from its arguments alone. One that died can be started again.
    """

    def __init__(
        self, path: Path, classes: Sequence[str], scale: WeightScale, memory: int, share: Share
    ) -> None:
        self._scan = Scan(path, classes, memory=memory, share=share)
        self._classes, self._scale, self._memory = classes, scale, memory
        self._n_rows = 0
        self._opened: tuple[StreamedProblem, Passes] | None = None

    def measure(self) -> ShareCounts:
        """Read the share, and say what is in it."""
        problem, _ = self._rows()
        return ShareCounts(self._n_rows, problem.class_mass, problem.n_open)

    def count(self, indices: Floats) -> Confusion:
        """Return the confusion counts at weight indices."""
        return self._rows()[1].count(indices)

    def find_flips(self, indices: Floats, c: int) -> PackedFlips:
        """Return the flips of class `c`."""
        return PackedFlips.of(self._rows()[1].find_flips(indices, c), len(self._classes))

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
