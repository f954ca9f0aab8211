"""What every door to a fit goes through: from checked rows to a `Fit`, at any β."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from dnip.base import __version__
from dnip.base.errors import InvalidInputError
from dnip.base.files import valid_unicode
from dnip.base.typing import Floats, Integers
from dnip.fitting.calibrating import calibrate_sample, estimate_of, find_target
from dnip.fitting.deferring import Deferring, defer_below, defer_share
from dnip.fitting.estimator import Estimator
from dnip.fitting.evidence import FitEvidence
from dnip.fitting.refits import LeftOut, Refits
from dnip.fitting.result import Alternative, Blend, Fit, note_on_limit, notes_on_classes
from dnip.fitting.settings import FitSettings
from dnip.method.coefficients import Coefficients, DataRecord, FitRecord
from dnip.method.objective import Objective, beta_of, on_classes
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from dnip.method.solution import Solution, Status
from dnip.priors.estimate import label_shares
from dnip.solvers import Progress
from dnip.tables import ProbabilityTable
from dnip.tables.groups import find_copies, sizes_of
from dnip.tables.labels import UNLABELLED
from dnip.tables.origin import origin_of
from dnip.tables.sampling import Sample
from dnip.tables.table import scored_rows
from dnip.using.drift import LEAST_ROWS, TableSample
from dnip.using.evaluation import Evaluation

#: Counts a whole table under coefficients, for a class mix, and returns the table's hash.
Count = Callable[[Coefficients, Floats | None], tuple[Evaluation, str]]

#: The β that a fit tells of, beside its own.
ALTERNATIVES = (0.25, 0.5, 1.0, 2.7)
#: The β of the path from the most accurate weights to the most even ones.
PATH = (0.05, 0.1, 0.15, 0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.7, 5.0, 10.0)

#: The spread of ln p, in nats, that priors and pulls are made for: p and p^k are one problem, and
#: the smooth estimate sees all at this spread. Any from ln 30 to ln 60 does as well.
COMMON_SPREAD = math.log(50)

# Level of the interval that keeps a limit on lost accuracy: one standard error to either side.
_SPARE = 0.68

# Rows times squared classes of a table whose refits are quick: they are made without being asked.
_MOST_PRODUCTS = 5_000_000


class Fitter:
    """What a fit of some rows needs that no β changes; every door to a fit goes through here.

    Parameters
    ----------
    sample : Sample
        The opt set, or a sample of it.
    count : callable
        Counts the whole opt set under coefficients.
    settings : FitSettings
    weight : ndarray of shape (M,), optional
        How much each row of the opt set counts; all have a label then.
    more : ProbabilityTable, optional
        More rows without a label.
    groups : ndarray of shape (M,), optional
        The number of the group of each row of the sample.
    finds_copies : bool, default=True
        Whether rows that are copies of others are groups, where none are given.
    evidence : bool, optional
        Whether to judge fits by refits; by default if that is quick.

    Raises
    ------
    InvalidInputError
        As :func:`fit`.
    """

    def __init__(
        self,
        sample: Sample,
        count: Count,
        settings: FitSettings,
        *,
        weight: Floats | None = None,
        more: ProbabilityTable | None = None,
        groups: Integers | None = None,
        finds_copies: bool = True,
        evidence: bool | None = None,
    ) -> None:
        limit, table = settings.time_limit, sample.table
        self._deadline = None if limit is None else time.perf_counter() + limit
        if not sample.is_whole:
            settings = _of_sample(settings, table.source)
        self._sample, self._count, self._more = sample, count, more
        self._labelled = scored_rows(table, "a fit")
        p, labels = self._labelled.probabilities, self._labelled.labels
        assert labels is not None
        self._weight = sample.weights if weight is None else weight
        self._calibration = calibrate_sample(p, labels, weight, deadline=self._deadline)
        sizes = sample.class_sizes.astype(np.float64)
        if weight is not None:
            sizes = np.bincount(labels, weight, table.n_classes).astype(np.float64)
        self._shares = sizes / sizes.sum()
        unlabelled = table.probabilities[table.labels == UNLABELLED]
        if more is not None:
            unlabelled = np.concatenate([unlabelled, more.probabilities])
        self._exponent = 1.0
        if settings.scale is None:
            counts = np.ones(len(p)) if self._weight is None else self._weight
            every = np.concatenate([p, unlabelled]) if len(unlabelled) else p
            scale = WeightScale.over(every, np.concatenate([counts, np.ones(len(unlabelled))]))
            assert scale.span is not None
            settings, self._exponent = replace(settings, scale=scale), COMMON_SPREAD / scale.span

        # the class mix where the weights will be used
        self.target, self._target_shares, self._usual = None, None, None
        if self._weight is not None:
            self._usual = self._shares
        if settings.target_prior is not None:
            self.target = find_target(
                settings.target_prior, table.classes, self._calibration, sizes, unlabelled
            )
            self._usual = self._target_shares = self.target.shares
            settings = replace(settings, target_prior=self.target.shares)
        self._unlabelled = unlabelled[: 0 if settings.robust == "off" else None]
        self._there = None
        if len(self._unlabelled) and self.target is None:
            estimate = estimate_of(self._unlabelled, self._calibration)
            self._there = estimate.shrunk_to(label_shares(self._calibration.labels))

        problem = Problem.trusted(p, labels, table.classes, self._weight)
        self._settings, self._problem = settings, problem
        self._is_quick = len(labels) * table.n_classes**2 <= _MOST_PRODUCTS
        self._groups, self._copies = groups, None
        if groups is not None:
            self._groups = groups[table.labels != UNLABELLED]
        elif self._is_quick and finds_copies:
            self._groups = self._copies = find_copies(p, labels)
        self._estimator = Estimator(
            problem,
            settings,
            self._unlabelled,
            self._deadline,
            group_sizes=sizes_of(self._groups),
            exponent=self._exponent,
            there=self._there,
        )
        is_needed = self._is_quick or settings.defer_below is not None
        self._is_judged = is_needed if evidence is None else evidence
        self._judgements: dict[float, tuple[FitEvidence, list[LeftOut]]] = {}

    def fit(self, settings: FitSettings, progress: Progress | None = None) -> Fit:
        """Return the fit for an objective; the other settings are those of the fitter."""
        settings = replace(self._settings, objective=settings.objective)
        has_beta = isinstance(settings.objective, Objective)
        has_path = has_beta and self._estimator.is_robust and self._is_quick
        limit, note, is_raw = settings.constraints.max_accuracy_loss, None, False
        if limit is not None and has_path:
            beta = self._beta_within(limit, settings)
            note, is_raw = note_on_limit(limit, beta), beta is None
            settings = settings if beta is None else settings.at(beta)
        solution, decision = self._estimator.solve(settings, self._deadline, progress)
        if is_raw:
            solution = self._raw(solution, settings)
        if solution.status is Status.INTERRUPTED or not (self._is_judged or note):
            return self._result(settings, solution, decision, note=note)
        if is_raw:
            left_out = self._refits.raw()
            evidence = self._refits.assess(settings, left_out)
        else:
            evidence, left_out = self._judge(settings)
        others: dict[float, FitEvidence] = {}
        if has_path and not is_raw and limit is None:
            others = {beta: self._judge(settings.at(beta))[0] for beta in ALTERNATIVES}
        return self._result(settings, solution, decision, evidence, left_out, others, note)

    def path(self, settings: FitSettings, betas: Sequence[float] = PATH) -> Iterator[Fit]:
        """Yield the fit at each β, with what it is expected to give on other rows."""
        for beta in betas:
            at = replace(self._settings, objective=settings.objective).at(beta)
            solution, decision = self._estimator.solve(at, self._deadline)
            judgement = self._judge(at) if self._is_judged else ()
            yield self._result(at, solution, decision, *judgement)

    @cached_property
    def _refits(self) -> Refits:
        """Fits without each fold of the labelled rows."""
        robust = "on" if self._estimator.is_robust else "off"
        return Refits(
            self._estimator.rows,
            replace(self._settings, robust=robust),
            self._unlabelled,
            target=self._usual,
            is_mix_given=self.target is not None,
            captured_mass=self._labelled.captured_mass,
            groups=self._groups,
            exponent=self._exponent,
            there=self._there,
        )

    def _judge(self, settings: FitSettings) -> tuple[FitEvidence, list[LeftOut]]:
        """Return what refits say, and every fold with the weights fitted without it, once a β."""
        beta = beta_of(settings.objective)
        if beta not in self._judgements:
            left_out = self._refits.left_out(settings)
            self._judgements[beta] = self._refits.assess(settings, left_out), left_out
        return self._judgements[beta]

    def _beta_within(self, limit: float, settings: FitSettings) -> float | None:
        """Return the β of the most even weights that keep a limit on lost accuracy on other rows.

        One standard error is to spare. None where no weights keep it that are more even than the
        raw argmax.
        """
        path = {beta: self._judge(settings.at(beta))[0] for beta in PATH}
        within = {
            beta: evidence.reweighted.cobias
            for beta, evidence in path.items()
            if evidence.evaluation.accuracy_change(_SPARE)[0] >= -limit
        }
        best = min(within, key=within.__getitem__, default=None)
        if best is None or within[best] >= path[best].raw.cobias:
            return None
        return best

    def _raw(self, solution: Solution, settings: FitSettings) -> Solution:
        """Return weights of 1 in place of a solution."""
        problem = self._problem
        counts = problem.in_examples(problem.confusion(np.ones(problem.n_classes)))
        demands = settings.constraints.on(problem.classes, problem.present)
        return solution.restated(
            on_classes(settings.objective, problem.classes),
            counts,
            weight_indices=np.full(problem.n_classes, solution.scale.size),
            constraints=demands.to_dict(counts, counts),
        )

    def _result(
        self,
        settings: FitSettings,
        solution: Solution,
        decision: Blend | None,
        evidence: FitEvidence | None = None,
        left_out: Sequence[LeftOut] = (),
        others: Mapping[float, FitEvidence] | None = None,
        note: str | None = None,
    ) -> Fit:
        """Return a fit with everything that is told of it."""
        sample, classes, rows = self._sample, self._problem.classes, self._estimator.rows
        weights = Coefficients(classes, solution.weight_indices, solution.scale)
        evaluation, data_hash = self._count(weights, self._target_shares)
        notes = [*notes_on_classes(self._problem, solution, evaluation)]
        if note is not None:
            notes.append(note)
        if self._copies is not None:
            n_rows, n_distinct = len(self._copies), len(np.unique(self._copies))
            notes.append(
                f"{n_rows - n_distinct:,} of {n_rows:,} rows are copies of others, with the same "
                "probabilities and label.\nCopies lie in one fold, and count as one label."
            )
        if not sample.is_whole:
            solution = _on_all_rows(solution, evaluation, settings)
            met = ", the constraints are kept on the sample" if solution.constraints else ""
            notes.insert(
                0,
                f"Fitted on a sample of {len(sample.table):,} of {sample.n_rows:,} rows; the "
                f"objective is of all{met}.",
            )
        alternatives: tuple[Alternative, ...] = ()
        if evidence is not None:
            evidence = evidence.completed(evaluation.signal, others or {})
            if others:
                chosen = beta_of(settings.objective)
                alternatives = tuple(
                    Alternative(
                        beta,
                        other.accuracies[1],
                        other.reweighted.cobias,
                        other.reweighted.worst_class_accuracy,
                        beta == chosen,
                        other.evaluation,
                    )
                    for beta, other in sorted({**others, chosen: evidence}.items())
                )
        deferring = None
        if settings.defer_below is not None:
            deferring = defer_below(settings.defer_below, rows, left_out)
        elif settings.defer is not None:
            gaps = None if evidence is None else evidence.reweighted
            args = settings, solution.multipliers, rows, self._usual, left_out, gaps
            deferring = defer_share(settings.defer, *args)
        if deferring is not None:
            notes += deferring.notes
        fitted = Fit(
            weights,
            solution,
            evaluation,
            decision,
            self.target,
            evidence if self._is_judged else None,
            alternatives,
            tuple(notes),
            () if deferring is None else deferring.points,
        )
        record = self._record(fitted, settings, data_hash, deferring)
        defer = None if deferring is None else deferring.thresholds
        coefficients = Coefficients.from_solution(solution, classes, record, defer)
        return replace(fitted, coefficients=coefficients)

    def _record(
        self, fitted: Fit, settings: FitSettings, data_hash: str, deferring: Deferring | None
    ) -> FitRecord:
        """Return how the coefficients came about."""
        sample, more, target, classes = self._sample, self._more, self.target, self._problem.classes
        table, decision, scored, expected = sample.table, fitted.decision, fitted.evaluation, {}
        used = decision is not None or (target is not None and target.estimate is not None)
        if fitted.evidence is not None:
            scored, gaps = fitted.evidence.evaluation, fitted.evidence.reweighted
            expected = {"followed": gaps.followed, "expected": gaps.cobias}
        assert scored.reweighted is not None
        is_known = fitted.verdict != "not judged"
        points = () if deferring is None else deferring.points
        return FitRecord(
            package_version=__version__,
            data=DataRecord(
                source=valid_unicode(table.source),  # a path may hold bytes that JSON may not
                sha256=data_hash,
                rows=sample.n_rows,
                labelled_rows=int(sample.class_sizes.sum()),
                sample=None if sample.is_whole else {"rows": len(table), "seed": settings.seed},
                origin=origin_of(Path(table.source)),
            ),
            class_shares=self._shares if target is None else target.shares,
            calibration=self._calibration,
            target_prior=None if target is None else target.to_dict(classes),
            robust=None if decision is None else {"mode": settings.robust, **decision.to_dict()},
            unlabelled=None
            if more is None or not used
            else DataRecord(
                source=valid_unicode(more.source),
                sha256=more.data_hash,
                rows=len(more),
                origin=origin_of(Path(more.source)),
            ),
            evidence={"verdict": fitted.verdict, "reason": fitted.reason} if is_known else None,
            search=fitted.solution.search_record(classes),
            scores={
                **expected,
                "rows": scored.reweighted.sum(axis=1).tolist(),
                "right": np.diag(scored.reweighted).tolist(),
            },
            sketch=self._rows_like_others().sketch(fitted.solution.multipliers).to_dict(),
            deferring=tuple(point.to_record() for point in points),
            defer_below=None if deferring is None else deferring.served,
        )

    def _rows_like_others(self) -> TableSample:
        """Return a sample of rows like those that the coefficients will be used for."""
        labelled = self._labelled
        if len(self._unlabelled) < LEAST_ROWS:
            p, labels, mass = labelled.probabilities, labelled.labels, labelled.mass
            assert labels is not None
            return TableSample.of(
                p, labels, mass=mass, weight=self._weight, target=self._target_shares
            )
        like = TableSample(labelled.n_classes)
        like.add(probabilities=self._unlabelled)
        return like


def _of_sample(settings: FitSettings, source: str) -> FitSettings:
    """Return the settings for a sample of a larger table."""
    if settings.defer_below is not None:
        raise InvalidInputError(
            f"{source}: rows of a sample do not come in their natural mix, which thresholds for "
            "what is right often enough need",
            hint="Give a table of fewer rows, or --rows all",
        )
    return replace(settings, robust="off") if settings.robust == "auto" else settings


def _on_all_rows(solution: Solution, evaluation: Evaluation, settings: FitSettings) -> Solution:
    """Return a solution of a sample with its objective on all rows; nothing is proven of them."""
    assert evaluation.reweighted is not None
    raw, confusion = map(evaluation.in_population, (evaluation.raw, evaluation.reweighted))
    goal = on_classes(settings.objective, evaluation.classes)
    demands = settings.constraints.on(evaluation.classes, evaluation.raw.sum(axis=1) > 0)
    return solution.restated(goal, confusion, constraints=demands.to_dict(confusion, raw))
