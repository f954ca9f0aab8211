"""From an opt table to coefficients with their provenance."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dnip.base.errors import InfeasibleError, InvalidInputError, listed
from dnip.deploying.evaluation import Evaluation, evaluate
from dnip.fitting.class_notes import notes_on_classes
from dnip.fitting.evidence import FOLDS, FitEvidence, gather
from dnip.fitting.robust import Decision, RobustSolution, fit_robustly
from dnip.fitting.robust.calibrating import calibrate, rows_per_class
from dnip.method.coefficients import Coefficients
from dnip.method.objective import Objective
from dnip.method.problem import Problem
from dnip.method.solution import Status
from dnip.priors import (
    TargetPrior,
    check_prior,
    effective_rows,
    estimate_prior,
    is_estimate,
    most_rows,
    read_prior,
)
from dnip.solvers import Coordinate, FitSettings, StreamedProblem, find_optimum
from dnip.tables import ProbabilityTable, Scan
from dnip.tables.guards import labelled_rows, no_labels
from dnip.tables.hashing import DataHash
from dnip.tables.labels import UNLABELLED
from dnip.tables.reservoir import ClassSample, RowSample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dnip.base.typing import Floats, Integers, Labels, Probabilities
    from dnip.method.objective import ConfusionFunction, ObjectiveLike
    from dnip.method.solution import Solution
    from dnip.priors import Calibration, PriorLike
    from dnip.solvers import FitOptions, Progress
    from dnip.tables import Chunk
    from dnip.tables.captured_mass import CapturedMass

#: What the interpreter, its libraries, compiling and the blocks in flight need.
LEAST_MEMORY = 500 * 10**6

# Rows times squared classes of a table whose refits nobody has to ask for.
_MOST_PRODUCTS = 5_000_000


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, the solution they come from, and how they do on the opt table itself.

    `decision` says how a robust fit came about; it is None for a plain optimum that was asked for.
    `target` is the class mix that the fit is for, None for that of the labelled rows.
    `evidence` says what the labels tell of other rows; it is None where nobody asked for it, and
    where it would take long. `notes` are things to know about single classes.
    """

    coefficients: Coefficients
    solution: Solution
    evaluation: Evaluation
    decision: Decision | None = None
    target: TargetPrior | None = None
    evidence: FitEvidence | None = None
    notes: tuple[str, ...] = ()

    @property
    def captured_mass(self) -> CapturedMass | None:
        """How many rows of the opt table have a low captured mass; None where it does not say."""
        return self.evaluation.captured_mass


def fit_table(
    table: ProbabilityTable,
    objective: ObjectiveLike | ConfusionFunction | None = None,
    *,
    unlabelled: ProbabilityTable | None = None,
    evidence: bool | None = False,
    progress: Progress | None = None,
    **settings: Unpack[FitOptions],
) -> Fit:
    """Fit coefficients on the labelled rows of a table.

    Parameters
    ----------
    table : ProbabilityTable
        The opt set. Its rows without a label serve a robust fit only.
    objective : Objective or callable, optional
        As for :func:`dnip.solve`.
    unlabelled : ProbabilityTable, optional
        More rows without a label; labels that it has are not read.
    evidence : bool, optional
        Also judge the fit by refits that leave labels out; None: where that is quick.
    progress : callable, optional
        As for :func:`dnip.solve`.
    **settings
        ``scale``, ``solver``, ``seed``, ``time_limit`` and ``constraints`` as for
        :func:`dnip.solve`, and:

        robust : {"auto", "on", "off"}, default="auto"
            As for :func:`dnip.fitting.robust.solve_robustly`; ``"off"`` is the plain optimum.
        target_prior : mapping, sequence, "uniform" or "estimate", optional
            The class mix to fit for, by class name or in class order: a labelled row counts by
            target over observed share of its class. ``"estimate"`` takes that of the rows without
            a label.

    Returns
    -------
    Fit

    Raises
    ------
    InvalidInputError
        If no row is labelled, fewer than two classes have labelled rows, the unlabelled rows
        have other classes, or the target prior is no class mix.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> fit_table(table).evaluation.reweighted
    array([[1, 0],
           [0, 1]])
    """
    chosen = FitSettings(objective, **settings)
    return fit_whole(table, chosen, unlabelled=unlabelled, evidence=evidence, progress=progress)


def fit_whole(
    table: ProbabilityTable,
    settings: FitSettings,
    *,
    unlabelled: ProbabilityTable | None = None,
    evidence: bool | None = False,
    progress: Progress | None = None,
) -> Fit:
    """Fit as :func:`fit_table` does, by settings that are checked."""
    deadline = None
    if settings.time_limit is not None:
        deadline = time.perf_counter() + settings.time_limit
    labelled = labelled_rows(table)
    assert labelled.labels is not None
    calibration = calibrate_table(labelled, deadline)
    mix = settings.target_prior
    rows = None
    if settings.robust != "off" or is_estimate(mix):
        rows = unlabelled_rows(table, unlabelled)
    support = np.bincount(labelled.labels, minlength=table.n_classes)
    target = None
    if mix is not None:
        target = _find_target(mix, table.classes, calibration, support, rows)
    settled = replace(
        settings,
        target_prior=None if target is None else target.shares,
        time_limit=_time_left(deadline),
    )
    if rows is None or settings.robust == "off":
        rows = np.empty((0, table.n_classes))
    problem = Problem.of(labelled.probabilities, labelled.labels, classes=table.classes)
    found = fit_robustly(problem, settled, rows, time.perf_counter(), progress=progress)
    solution, decision = found.solution, found.decision
    provenance = provenance_of(table.source, table.data_hash, len(table), support, calibration)
    if target is not None:
        provenance["class_shares"] = target.shares.tolist()
        provenance["target_prior"] = target.to_dict(table.classes)
    if decision is not None:
        provenance["robust"] = {"mode": settings.robust, **decision.to_dict()}
    if unlabelled is not None and (decision is not None or is_estimate(mix)):
        data = _data(unlabelled.source, unlabelled.data_hash)
        provenance["unlabelled"] = {**data, "rows": len(unlabelled)}
    shares = None if target is None else target.shares
    judged = None
    wanted = _is_cheap(labelled) if evidence is None else evidence
    if wanted and solution.status is not Status.INTERRUPTED:
        again = replace(settled, time_limit=settings.time_limit)
        judged = _gather(labelled, found, again, rows, shares)
        provenance["evidence"] = {"verdict": judged.verdict, "reason": judged.reason}
    coefficients = Coefficients.from_solution(solution, table.classes, provenance=provenance)
    evaluation = evaluate([table], coefficients, target=shares)
    notes = notes_on_classes(
        problem, solution, evaluation, replace(settings, time_limit=_time_left(deadline))
    )
    return Fit(coefficients, solution, evaluation, decision, target, judged, notes)


def _time_left(deadline: float | None) -> float | None:
    return None if deadline is None else max(deadline - time.perf_counter(), 0.0)


def _gather(
    labelled: ProbabilityTable,
    found: RobustSolution,
    settings: FitSettings,
    unlabelled: Probabilities,
    target: Floats | None,
) -> FitEvidence:
    """Judge a fit by refits that leave labels out."""
    p = labelled.probabilities if found.moved is None else found.moved
    y, classes = labelled.labels, labelled.classes
    assert y is not None
    limit = settings.time_limit
    again = replace(settings, time_limit=None if limit is None else limit / FOLDS)
    if found.decision is None:
        again, unlabelled = replace(again, robust="off"), unlabelled[:0]
    if settings.solver.proves:  # the coordinate solver finds the same optima, without the proof
        again = replace(again, solver=Coordinate())

    def refit(rows: Integers) -> Floats:
        try:
            problem = Problem.of(p[rows], y[rows], classes=classes)
            refitted = fit_robustly(problem, again, unlabelled, time.perf_counter())
        except InfeasibleError:  # such labels would have left the raw argmax
            return np.ones(p.shape[1])
        return refitted.solution.multipliers

    objective = settings.objective
    return gather(
        p,
        y,
        refit,
        classes=classes,
        beta=objective.beta if isinstance(objective, Objective) else Objective().beta,
        target=target,
        captured_mass=labelled.captured_mass,
        seed=settings.seed,
    )


def _is_cheap(table: ProbabilityTable) -> bool:
    """Whether refits take but a few seconds."""
    return len(table) * table.n_classes**2 <= _MOST_PRODUCTS


def unlabelled_rows(table: ProbabilityTable, more: ProbabilityTable | None) -> Probabilities | None:
    """Return the probabilities of all rows without a label, if there are any."""
    parts = [table.unlabelled().probabilities]
    if more is not None:
        if more.classes != table.classes:
            raise InvalidInputError(
                f"{more.source} has the classes {listed(more.classes)}, but {table.source} has "
                f"{listed(table.classes)}",
                hint="Give unlabelled rows of the same classes, in the same order",
            )
        parts.append(more.probabilities)
    rows = np.concatenate(parts)
    return rows if len(rows) else None


def fit_scan(
    scan: Scan,
    settings: FitSettings,
    *,
    memory: int,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit the plain optimum on a table that need not fit into memory.

    The table is read twice: once to keep the rows that weights can decide, once to evaluate. The
    search goes through the kept rows, and what does not fit into memory lies in a temporary
    file meanwhile. The result is that of :func:`fit_table` with ``robust="off"`` on the same rows.

    Parameters
    ----------
    scan : Scan
        The opt set; unlabelled rows are left aside.
    settings : FitSettings
    memory : int
        Bytes of memory that the process as a whole may take, at least 500 million.
    folder : path-like, optional
        Where to put the temporary file; where temporary files go if it is left out.
    progress : callable, optional
        As for :func:`dnip.solve`.

    Returns
    -------
    Fit

    Raises
    ------
    InvalidInputError
        If no row is labelled, fewer than two classes have labelled rows, or there is too little
        memory; for a solver or a scale that needs the whole table in memory.
    OutputError
        If the temporary file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> with TemporaryDirectory() as folder:
    ...     table.write(f"{folder}/opt.csv")
    ...     fit_scan(Scan(f"{folder}/opt.csv"), FitSettings(), memory=10**9).evaluation.reweighted
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
    rows = _LabelledRows(scan)
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
    evaluation = evaluate(_hashed(scan, data_hash), coefficients)
    provenance = provenance_of(
        scan.source,
        data_hash.hexdigest(),
        rows.n_rows,
        evaluation.raw.sum(axis=1),
        calibrate(*rows.sample.drawn()),
    )
    coefficients = Coefficients.from_solution(solution, rows.classes, provenance=provenance)
    return Fit(coefficients, solution, evaluation)


def fit_file(
    path: Path,
    settings: FitSettings,
    *,
    classes: Sequence[str] | None = None,
    memory: int,
    folder: Path | None = None,
    unlabelled: Path | None = None,
    evidence: bool | None = False,
    progress: Progress | None = None,
) -> Fit:
    """Fit coefficients on a table file or folder: read whole where it is small, in passes else.

    Parameters
    ----------
    path : Path
        As for :meth:`dnip.ProbabilityTable.read`.
    settings : FitSettings
        A target prior that is text is read by `dnip.priors.read_prior`. ``robust="auto"`` is
        ``"off"`` for a table that is read in passes.
    classes : sequence of str, optional
        Class names.
    memory, folder
        As for :func:`fit_scan`.
    unlabelled : Path, optional
        A table of more rows without a label.
    evidence : bool, optional
        As for :func:`fit_table`; there is none for a table that is read in passes.
    progress : callable, optional
        As for :func:`dnip.solve`.

    Returns
    -------
    Fit

    Raises
    ------
    InvalidInputError
        For a bad table, and as :func:`fit_table` and :func:`fit_scan`; for a robust fit that was
        asked for on a table that has to be read in passes.
    """
    mix = settings.target_prior
    if _fits_into(memory, path):
        table = ProbabilityTable.read(path, classes)
        more = None if unlabelled is None else ProbabilityTable.read(unlabelled, classes)
        if isinstance(mix, str) and not is_estimate(mix):
            settings = replace(settings, target_prior=read_prior(mix, table.classes))
        return fit_whole(table, settings, unlabelled=more, evidence=evidence, progress=progress)
    if mix is not None:
        raise InvalidInputError(
            f"{path} is too large to be read whole into {memory:,} bytes, as a fit for a target "
            "prior has to",
            hint="Give more memory, or draw fewer rows",
        )
    if evidence:
        raise InvalidInputError(
            f"{path} is too large to be read whole into {memory:,} bytes, as evidence from its own "
            "labels has to",
            hint="Give more memory, or leave --evidence out: so many labels need none",
        )
    if settings.robust == "on" or unlabelled is not None:
        raise InvalidInputError(
            f"{path} is too large to be read whole into {memory:,} bytes, as a robust fit has to",
            hint="Give more memory, or draw fewer rows: so many labels need no robust fit",
        )
    scan = Scan(path, classes, memory=memory)
    return fit_scan(scan, settings, memory=memory, folder=folder, progress=progress)


def _fits_into(memory: int, path: Path) -> bool:
    """Say whether a table can be read whole: a number of 8 bytes takes one or more in any file."""
    try:
        files = path.iterdir() if path.is_dir() else [path]
        return 8 * sum(file.stat().st_size for file in files) <= memory
    except OSError:
        return True  # reading it will tell what is wrong


class _LabelledRows:
    """The labelled rows of a scan, chunk by chunk, and how many rows there were."""

    def __init__(self, scan: Scan) -> None:
        self._chunks = iter(scan)
        self._first = next(self._chunks)
        self._source = scan.source
        self.classes = self._first.classes
        n_classes = len(self.classes)
        self.sample = ClassSample(n_classes, rows_per_class(n_classes))
        self.n_rows = self.n_labelled = 0

    def __iter__(self) -> Iterator[tuple[Probabilities, Labels]]:
        for chunk in chain([self._first], self._chunks):
            self.n_rows += len(chunk)
            if chunk.labels is None:
                continue
            labelled = chunk.labels != UNLABELLED
            self.n_labelled += int(np.count_nonzero(labelled))
            p, labels = chunk.probabilities, chunk.labels
            if not labelled.all():
                p, labels = p[labelled], labels[labelled]
            self.sample.add(p, labels)
            yield p, labels
        if not self.n_labelled:
            raise no_labels(self._source)


def _hashed(chunks: Iterable[Chunk], data_hash: DataHash) -> Iterator[Chunk]:
    for chunk in chunks:
        data_hash.add(chunk.probabilities, chunk.labels)
        yield chunk


def calibrate_table(labelled: ProbabilityTable, deadline: float | None = None) -> Calibration:
    """Return what labelled rows tell of each class's log-odds; of many, a sample is read.

    It takes no longer than until `deadline`, a ``time.perf_counter`` reading.
    """
    assert labelled.labels is not None
    sample = ClassSample(labelled.n_classes, rows_per_class(labelled.n_classes))
    sample.add(labelled.probabilities, labelled.labels)
    return calibrate(*sample.drawn(), deadline=deadline)


def _find_target(
    prior: PriorLike,
    classes: Sequence[str],
    calibration: Calibration,
    support: Integers,
    unlabelled: Probabilities | None,
) -> TargetPrior:
    """Settle the class mix to fit for."""
    estimate = None
    if is_estimate(prior):
        if unlabelled is None:
            raise InvalidInputError(
                "target prior: there are no rows without a label to estimate it from",
                hint="Give --unlabelled TABLE, leave labels empty in rows of the opt table, or "
                "give the shares",
            )
        sample = RowSample(most_rows(len(classes)))
        sample.add(unlabelled)
        estimate = estimate_prior(sample.rows, calibration)
    shares = check_prior(prior, classes) if estimate is None else estimate.shares
    return TargetPrior(shares, estimate, effective_rows(support.astype(np.float64), shares))


def provenance_of(
    source: str, data_hash: str, n_rows: int, support: Integers, calibration: Calibration
) -> dict[str, Any]:
    """Return what a coefficients file records of the package and of the opt set."""
    data = {**_data(source, data_hash), "rows": n_rows, "labelled_rows": int(support.sum())}
    return {
        "package_version": version("dnip"),
        "data": data,
        "class_shares": (support / support.sum()).tolist(),
        "calibration": calibration.to_dict(),
    }


def _data(source: str, data_hash: str) -> dict[str, Any]:
    # A path may hold bytes that are no Unicode; JSON may not.
    return {"source": source.encode("utf-8", "backslashreplace").decode(), "sha256": data_hash}
