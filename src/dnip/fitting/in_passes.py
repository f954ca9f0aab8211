"""A fit on a table that need not fit into memory: the plain optimum, in two passes."""

from __future__ import annotations

import time
from itertools import chain
from typing import TYPE_CHECKING

from dnip.base.errors import InvalidInputError
from dnip.fitting.record import Fit, kept_for_checks, provenance_of
from dnip.fitting.robust.calibrating import calibrate, rows_per_class
from dnip.method.coefficients import Coefficients
from dnip.solvers import SearchSettings, StreamedProblem, find_optimum
from dnip.tables.evaluation import evaluate
from dnip.tables.guards import no_labels
from dnip.tables.hashing import DataHash
from dnip.tables.labels import UNLABELLED
from dnip.tables.sampling import ClassSample
from dnip.tables.sketch import TableSample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Self

    from dnip.base.typing import Floats, Labels, Probabilities
    from dnip.method.solution import Solution
    from dnip.solvers import Progress
    from dnip.tables import Chunk, Rows, Scan
    from dnip.tables.evaluation import Evaluation

#: Bytes for the interpreter, its libraries, compiled code, and the blocks that are being read.
LEAST_MEMORY = 500 * 10**6


def fit_scan(
    scan: Scan,
    settings: SearchSettings,
    *,
    memory: int,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit the plain optimum on a table that need not fit into memory.

    The table is read twice: first to collect the rows whose prediction depends on the weights, then
    to evaluate. The search passes over the collected rows; those that do not fit into memory are in
    a temporary file. The result equals that of :func:`dnip.fit_table` with ``robust="off"``.

    Parameters
    ----------
    scan : Scan
        The opt set; rows without a label are not used.
    settings : SearchSettings
    memory : int
        Bytes of memory for the whole process, at least 500 million.
    folder : path-like, optional
        Where to put the temporary file; the folder for temporary files by default.
    progress : callable, optional
        As for :func:`dnip.solve`.

    Returns
    -------
    Fit

    Raises
    ------
    InvalidInputError
        If no row has a label, fewer than two classes have labelled rows, or there is too little
        memory; for a solver or a scale that needs the whole table in memory.
    OutputError
        If the temporary file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from dnip.tables import ProbabilityTable, Scan
    >>> table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> with TemporaryDirectory() as folder:
    ...     table.write(f"{folder}/opt.csv")
    ...     fit = fit_scan(Scan(f"{folder}/opt.csv"), SearchSettings(), memory=10**9)
    >>> fit.evaluation.reweighted
    array([[1, 0],
           [0, 1]])
    """
    began = time.perf_counter()
    settings.check_in_passes()
    if memory < LEAST_MEMORY:
        raise InvalidInputError(
            f"memory is {memory:,} bytes, but a fit in passes needs {LEAST_MEMORY:,}",
            hint="Give more memory",
        )
    rows = LabelledRows(scan)
    with StreamedProblem(
        rows,
        rows.classes,
        scale=settings.scale,
        memory=memory - LEAST_MEMORY,
        folder=folder,
    ) as problem:
        solution = find_optimum(problem, settings, began, progress=progress)
    coefficients = Coefficients.from_solution(solution, rows.classes)
    data_hash = DataHash(rows.classes, labelled=True, n_rows=rows.n_rows)
    evaluation = evaluate(hashed(scan, data_hash), coefficients)
    return recorded(scan.source, data_hash.hexdigest(), rows, coefficients, solution, evaluation)


def recorded(
    source: str,
    data_hash: str,
    rows: LabelledRows,
    coefficients: Coefficients,
    solution: Solution,
    evaluation: Evaluation,
) -> Fit:
    """Return a fit whose coefficients hold the record of its rows, which were read to the end."""
    n_rows, support = rows.n_rows, evaluation.raw.sum(axis=1)
    calibration = calibrate(*rows.sample.drawn())
    provenance = provenance_of(source, data_hash, n_rows, support, calibration)
    assert evaluation.reweighted is not None
    kept = kept_for_checks(rows.kept, coefficients.multipliers, evaluation.reweighted)
    coefficients = coefficients.with_fit({**provenance, **coefficients.fit, **kept})
    return Fit(coefficients, solution, evaluation)


class LabelledRows:
    """The labelled rows of a scan, chunk by chunk, and how many rows there were."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._chunks = iter(chunks)
        self._first = next(self._chunks)
        self._source = self._first.source
        self.classes = self._first.classes
        n_classes = len(self.classes)
        self.sample = ClassSample(n_classes, rows_per_class(n_classes))
        self.kept = TableSample(n_classes)
        self.n_rows = self.n_labelled = 0

    def __iter__(self) -> Iterator[tuple[Probabilities, Labels]]:
        for chunk in chain([self._first], self._chunks):
            self.n_rows += len(chunk)
            rows = labelled(chunk)
            if rows is None:
                continue
            p, labels, mass = rows
            self.n_labelled += len(labels)
            self.sample.add(p, labels)
            self.kept.add(p, mass=mass)
            yield p, labels
        if not self.n_labelled:
            raise no_labels(self._source)

    def read(self) -> Self:
        """Read all rows that were not read yet, and let go of the reader."""
        for _ in self:
            pass
        self._chunks = iter(())
        return self


def labelled(rows: Rows) -> tuple[Probabilities, Labels, Floats | None] | None:
    """Return probabilities, labels and captured mass of the labelled rows; None without labels."""
    p, labels, mass = rows.probabilities, rows.labels, rows.mass
    if labels is None:
        return None
    chosen = labels != UNLABELLED
    if chosen.all():
        return p, labels, mass
    return p[chosen], labels[chosen], None if mass is None else mass[chosen]


def hashed(chunks: Iterable[Chunk], data_hash: DataHash) -> Iterator[Chunk]:
    """Yield chunks, after adding them to a hash."""
    for chunk in chunks:
        data_hash.add(chunk.probabilities, chunk.labels)
        yield chunk
