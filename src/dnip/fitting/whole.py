"""A fit on a table in memory: robust or plain, with evidence, notes and provenance."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InfeasibleError, InvalidInputError
from dnip.fitting.class_notes import notes_on_classes
from dnip.fitting.evidence import FitEvidence, gather
from dnip.fitting.folds import USUAL_FOLDS
from dnip.fitting.record import Fit, describe_data, kept_for_checks, provenance_of
from dnip.fitting.robust import RobustSolution, fit_robustly
from dnip.fitting.robust.calibrating import calibrate, rows_per_class
from dnip.fitting.settings import FitSettings
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
)
from dnip.solvers import Coordinate
from dnip.tables.evaluation import evaluate
from dnip.tables.guards import check_classes_agree, scored_rows
from dnip.tables.sampling import ClassSample, RowSample
from dnip.tables.sketch import LEAST_ROWS, TableSample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Floats, Integers, Probabilities
    from dnip.priors import Calibration, PriorLike
    from dnip.solvers import Progress
    from dnip.tables import ProbabilityTable

# Rows times squared classes of a table whose refits are quick: they are made without being asked.
_MOST_PRODUCTS = 5_000_000


def fit_whole(
    table: ProbabilityTable,
    settings: FitSettings,
    *,
    unlabelled: ProbabilityTable | None = None,
    evidence: bool | None = False,
    progress: Progress | None = None,
) -> Fit:
    """Fit as :func:`dnip.fitting.fit.fit_table` does, by settings that are checked."""
    limit = settings.time_limit
    deadline = None if limit is None else time.perf_counter() + limit
    labelled = scored_rows(table, "a fit")
    assert labelled.labels is not None
    support = np.bincount(labelled.labels, minlength=table.n_classes)
    calibration = calibrate_table(labelled, deadline)
    mix = settings.target_prior
    rows = None
    if settings.robust != "off" or is_estimate(mix):
        rows = unlabelled_rows(table, unlabelled)
    target = None
    if mix is not None:
        target = _find_target(mix, table.classes, calibration, support, rows)
    shares = None if target is None else target.shares
    if rows is None or settings.robust == "off":
        rows = np.empty((0, table.n_classes))

    settled = replace(settings, target_prior=shares, time_limit=_time_left(deadline))
    problem = Problem.trusted(labelled.probabilities, labelled.labels, table.classes)
    found = fit_robustly(problem, settled, rows, time.perf_counter(), progress=progress)

    wanted = _is_cheap(labelled) if evidence is None else evidence
    judged = None
    if wanted and found.solution.status is not Status.INTERRUPTED:
        again = replace(settled, time_limit=None if limit is None else limit / USUAL_FOLDS)
        judged = _gather(labelled, found, again, rows, shares)
    provenance = provenance_of(table.source, table.data_hash, len(table), support, calibration)
    if target is not None:
        provenance["class_shares"] = target.shares.tolist()
        provenance["target_prior"] = target.to_dict(table.classes)
    if found.decision is not None:
        provenance["robust"] = {"mode": settings.robust, **found.decision.to_dict()}
    if unlabelled is not None and (found.decision is not None or is_estimate(mix)):
        data = describe_data(unlabelled.source, unlabelled.data_hash)
        provenance["unlabelled"] = {**data, "rows": len(unlabelled)}
    if judged is not None:
        provenance["evidence"] = {"verdict": judged.verdict, "reason": judged.reason}
    coefficients = Coefficients.from_solution(found.solution, table.classes, provenance=provenance)
    evaluation = evaluate([table], coefficients, target=shares)
    counted = evaluation if judged is None else judged.evaluation
    assert counted.reweighted is not None
    if len(rows) >= LEAST_ROWS:  # they come from where the coefficients will be used
        sample = TableSample(table.n_classes)
        sample.add(rows)
    else:
        p, labels = labelled.probabilities, labelled.labels
        sample = TableSample.of(p, labels, mass=labelled.mass, target=shares)
    kept = kept_for_checks(sample, coefficients.multipliers, counted.reweighted)
    coefficients = coefficients.with_fit({**coefficients.fit, **kept})
    hurried = replace(settings, time_limit=_time_left(deadline))
    notes = notes_on_classes(problem, found.solution, evaluation, hurried)
    return Fit(coefficients, found.solution, evaluation, found.decision, target, judged, notes)


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
    if found.decision is None:
        settings, unlabelled = replace(settings, robust="off"), unlabelled[:0]
    if settings.solver.proves:  # the coordinate solver finds the same optima, without the proof
        settings = replace(settings, solver=Coordinate())

    def refit(rows: Integers) -> Floats:
        problem = Problem.trusted(p[rows], y[rows], classes)
        try:
            return fit_robustly(
                problem, settings, unlabelled, time.perf_counter()
            ).solution.multipliers
        except InfeasibleError:  # such labels would have left the raw argmax
            return np.ones(p.shape[1])

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
    """Whether refits take a few seconds only."""
    return len(table) * table.n_classes**2 <= _MOST_PRODUCTS


def unlabelled_rows(table: ProbabilityTable, more: ProbabilityTable | None) -> Probabilities | None:
    """Return the probabilities of all rows without a label, if there are any."""
    parts = [table.unlabelled().probabilities]
    if more is not None:
        check_classes_agree(table, more)
        parts.append(more.probabilities)
    rows = np.concatenate(parts)
    return rows if len(rows) else None


def calibrate_table(labelled: ProbabilityTable, deadline: float | None = None) -> Calibration:
    """Return the calibration of labelled rows, or of a sample if there are many.

    It ends at `deadline`, a ``time.perf_counter`` reading, at the latest.
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
    """Find the class mix to fit for."""
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
