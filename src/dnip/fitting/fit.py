"""From an opt table to coefficients: robust or plain, with evidence, notes and provenance."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InfeasibleError, InvalidInputError
from dnip.base.typing import Booleans, Floats, Integers, Probabilities
from dnip.fitting.defer import defer
from dnip.fitting.record import Fit, note_on_limit, notes_on_classes, provenance_of, recorded
from dnip.fitting.refits import USUAL_FOLDS, Refits
from dnip.fitting.right_enough import serve_right
from dnip.fitting.robust import RobustSolution, fit_robustly
from dnip.fitting.robust.calibrating import calibrate_sample
from dnip.fitting.sampled import MOST_ROWS, note_on_sample, on_all_rows, sample_of
from dnip.method.coefficients import Coefficients
from dnip.method.constraints import Constraints
from dnip.method.objective import ConfusionFunction, ObjectiveLike, beta_of
from dnip.method.problem import Problem
from dnip.method.solution import Status
from dnip.metrics.intervals import effective_rows
from dnip.priors.calibration import Calibration
from dnip.priors.estimate import estimate_prior, most_rows
from dnip.priors.target import PriorLike, TargetPrior, check_prior, is_estimate, read_prior
from dnip.solvers import Coordinate, Progress, Settings
from dnip.tables import ProbabilityTable
from dnip.tables.captured_mass import CapturedMass
from dnip.tables.guards import TableLike, check_classes_agree, check_raw, scored_rows
from dnip.tables.sampling import RowSample
from dnip.using.sketch import LEAST_ROWS, TableSample

# Rows times squared classes of a table whose refits are quick: they are made without being asked.
_MOST_PRODUCTS = 5_000_000


def fit(
    data: TableLike,
    y: ArrayLike | None = None,
    objective: ObjectiveLike | ConfusionFunction | None = None,
    *,
    classes: Sequence[Any] | None = None,
    unlabelled: TableLike | None = None,
    evidence: bool | None = None,
    rows: int | None = MOST_ROWS,
    progress: Progress | None = None,
    settings: Settings | None = None,
    **keywords: Any,  # noqa: ANN401 - those of Settings
) -> Fit:
    """Fit coefficients on the labelled rows of a table.

    Parameters
    ----------
    data, y, classes
        The opt set, as for :func:`dnip.evaluate`. Rows without a label serve a robust fit only.
    objective : Objective or callable, optional
        As for :func:`dnip.solve`.
    unlabelled : array-like, DataFrame, ProbabilityTable or path, optional
        More rows without a label; its labels, if any, are not read.
    evidence : bool, optional
        Whether to judge the fit by refits that leave labels out; by default if that is quick.
    rows : int or None, default=1_000_000
        Rows to fit on at most; None: all. Of a file of more, a sample is used. The objective and
        the evaluation are those of all rows. ``robust="auto"`` means ``"off"`` for a sample.
    progress : callable, optional
        As for :func:`dnip.solve`.
    settings : Settings, optional
        What `objective` and the keywords say, as one object.
    **keywords
        ``scale``, ``solver``, ``seed``, ``time_limit``, ``constraints``, ``robust``,
        ``target_prior``, ``defer``, ``helper_accuracy`` and ``defer_below``, as for
        :class:`dnip.solvers.Settings`. A labelled row counts by the target share of its class over
        the observed one; ``"estimate"`` takes the mix of the rows without a label. To defer learns
        one threshold per predicted class; see :class:`dnip.method.defer.Deferral`.

    Returns
    -------
    Fit
        Its `coefficients` are what to use on other rows, and to save.

    Raises
    ------
    InvalidInputError
        For bad input, if fewer than two classes have labelled rows, the unlabelled rows have other
        classes, or the target prior is no class mix.

    Examples
    --------
    >>> import dnip
    >>> fitted = dnip.fit([[0.9, 0.1], [0.6, 0.4]], ["ham", "spam"], evidence=False)
    >>> fitted.coefficients.predict([[0.65, 0.35]]).tolist()
    ['spam']
    """
    settings = settings or _settings_of(objective, keywords)
    sample, count = sample_of(data, y, classes, rows, settings.seed)
    if not sample.is_whole:
        settings = _of_sample(settings, sample.table.source)
    table, support, mix = sample.table, sample.class_sizes, settings.target_prior
    limit = settings.time_limit
    deadline = None if limit is None else time.perf_counter() + limit
    labelled = scored_rows(table, "a fit")
    p, labels, weight = labelled.probabilities, labelled.labels, sample.weights
    assert labels is not None
    calibration = calibrate_sample(p, labels, deadline=deadline)
    free, more = table.unlabelled().probabilities, None
    if unlabelled is not None:
        free, more = _with_more(table, unlabelled, classes, rows, settings.seed)
    target = _find_target(mix, table.classes, calibration, support, free)
    shares = None if target is None else target.shares
    usual = shares if weight is None or shares is not None else support / support.sum()
    free = free[: 0 if settings.robust == "off" else None]

    left = None if deadline is None else max(deadline - time.perf_counter(), 0.0)
    settled = replace(settings, target_prior=shares, time_limit=left)
    problem = Problem.trusted(p, labels, table.classes, weight)
    found = fit_robustly(problem, settled, free, progress=progress)

    is_quick = refits_are_quick(problem)
    wanted = is_quick or settings.defer_below is not None if evidence is None else evidence
    most = None if found.decision is None else settings.constraints.max_accuracy_loss
    judged, at_little_cost, notes = None, None, []
    left_out: list[tuple[Booleans, Floats]] = []
    needed = wanted or (is_quick and most is not None)
    if needed and found.solution.status is not Status.INTERRUPTED:
        refits = refit(
            found,
            replace(settled, time_limit=None if limit is None else limit / USUAL_FOLDS),
            free,
            target=usual,
            is_mix_given=target is not None,
            captured_mass=labelled.captured_mass,
        )
        part = 1.0 if most is None else refits.longest_part(most)
        judged, left_out = refits.assess(part), refits.left_out(part)
        if most is not None:  # a fit that may lose too much goes only part of the way
            notes.append(note_on_limit(most, part))
            if part < 1:
                found = fit_robustly(problem, settled, free, part=part, progress=progress)
        elif found.decision is not None:
            at_little_cost = refits.free(judged)

    solution = found.solution
    coefficients = Coefficients.from_solution(solution, table.classes)
    evaluation, data_hash = count(coefficients, shares)
    notes = [*notes_on_classes(problem, solution, evaluation), *notes]
    if not sample.is_whole:
        solution = on_all_rows(solution, evaluation, settings)
        notes.insert(0, note_on_sample(sample, solution))
    fitted = Fit(
        coefficients,
        solution,
        evaluation,
        found.decision,
        target,
        judged.with_signal(evaluation.signal) if wanted and judged else None,
        at_little_cost if wanted else None,
        tuple(notes),
    )
    used = more if found.decision is not None or is_estimate(mix) else None
    fitted = recorded(
        fitted,
        provenance_of(sample, data_hash, calibration, settings.seed),
        _rows_like_others(labelled, free, weight, shares),
        settings.robust,
        used,
    )
    if settings.defer_below is not None:
        return serve_right(fitted, settings.defer_below, found.rows, left_out)
    return defer(fitted, settings, found.rows, usual, left_out)


def _settings_of(
    objective: ObjectiveLike | ConfusionFunction | None, keywords: dict[str, Any]
) -> Settings:
    """Return the settings that keywords say; an error names what the caller typed."""
    for name in keywords.keys() - signature(Settings).parameters.keys():
        kept = name in signature(Constraints).parameters
        hint = f"; give constraints=dnip.Constraints({name}=...)" if kept else ""
        raise TypeError(f"fit() got an unexpected keyword argument {name!r}{hint}")
    return Settings(objective, **keywords)


def _of_sample(settings: Settings, source: str) -> Settings:
    """Return the settings for a sample of a larger table."""
    if settings.defer_below is not None:
        raise InvalidInputError(
            f"{source}: rows of a sample do not come in their natural mix, which thresholds for "
            "what is right often enough need",
            hint="Give a table of fewer rows, or --rows all",
        )
    return replace(settings, robust="off") if settings.robust == "auto" else settings


def refits_are_quick(problem: Problem) -> bool:
    """Return whether refits take so little time that they need not be asked for."""
    return len(problem.labels) * problem.n_classes**2 <= _MOST_PRODUCTS


def _rows_like_others(
    labelled: ProbabilityTable, unlabelled: Probabilities, weight: Floats | None, mix: Floats | None
) -> TableSample:
    """Return a sample of rows like those that the coefficients will be used for."""
    if len(unlabelled) < LEAST_ROWS:
        p, labels, mass = labelled.probabilities, labelled.labels, labelled.mass
        assert labels is not None
        return TableSample.of(p, labels, mass=mass, weight=weight, target=mix)
    like = TableSample(labelled.n_classes)
    like.add(probabilities=unlabelled)
    return like


def refit(
    found: RobustSolution,
    settings: Settings,
    unlabelled: Probabilities,
    *,
    target: Floats | None = None,
    is_mix_given: bool = False,
    captured_mass: CapturedMass | None = None,
) -> Refits:
    """Repeat a fit without each fold of the labels."""
    p, y, classes = found.rows.probabilities, found.rows.labels, found.rows.classes
    counts = found.rows.weights
    if found.decision is None:
        settings, unlabelled = replace(settings, robust="off"), unlabelled[:0]
    else:  # what is lost is judged by the rows left out
        free = replace(settings.constraints, max_accuracy_loss=None)
        settings = replace(settings, constraints=free)
    if settings.solver.proves:  # the coordinate solver finds the same optima, without the proof
        settings = replace(settings, solver=Coordinate())

    def without(rows: Integers) -> Floats:
        part = Problem.trusted(p[rows], y[rows], classes, counts[rows])
        try:
            return fit_robustly(part, settings, unlabelled).solution.multipliers
        except InfeasibleError:  # such labels would have left the raw argmax
            return np.ones(p.shape[1])

    return Refits(
        p,
        y,
        without,
        classes=classes,
        beta=beta_of(settings.objective),
        target=target,
        captured_mass=captured_mass,
        is_mix_given=is_mix_given,
        seed=settings.seed,
    )


def _with_more(
    table: ProbabilityTable,
    unlabelled: TableLike,
    classes: Sequence[Any] | None,
    rows: int | None,
    seed: int,
) -> tuple[Probabilities, ProbabilityTable]:
    """Return the probabilities of all rows without a label, shape (U, N), and the other table."""
    given = None if isinstance(unlabelled, str | os.PathLike) else table.classes
    more = sample_of(unlabelled, None, classes or given, rows, seed)[0].table
    check_classes_agree(table, more)
    check_raw(more)
    return np.concatenate([table.unlabelled().probabilities, more.probabilities]), more


def _find_target(
    prior: PriorLike | None,
    classes: Sequence[str],
    calibration: Calibration,
    support: Integers,
    unlabelled: Probabilities,
) -> TargetPrior | None:
    """Find the class mix to fit for."""
    if prior is None:
        return None
    estimate = None
    if is_estimate(prior):
        if not len(unlabelled):
            raise InvalidInputError(
                "target prior: there are no rows without a label to estimate it from",
                hint="Give --unlabelled TABLE, leave labels empty in rows of the opt table, or "
                "give the shares",
            )
        sample = RowSample(most_rows(len(classes)))
        sample.add(probabilities=unlabelled)
        estimate = estimate_prior(sample.columns["probabilities"], calibration)
    if estimate is not None:
        shares = estimate.shares
    elif isinstance(prior, str):
        shares = read_prior(prior, classes)
    else:
        shares = check_prior(prior, classes)
    return TargetPrior(shares, estimate, effective_rows(support.astype(np.float64), shares))
