"""The fit of a table, a file, a frame or arrays.

Of a very large file, a sample is fitted, stratified by class. Its rows count by the exact class
sizes, so that the objective on the sample is an estimate of that on all rows. What is reported is
counted on all rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError
from dnip.base.progress import sign_of_life
from dnip.base.typing import Floats
from dnip.fitting.fitter import Count, Fitter
from dnip.fitting.result import Fit
from dnip.fitting.settings import FitSettings
from dnip.method.coefficients import Coefficients
from dnip.method.constraints import Constraints
from dnip.method.objective import Costs, Goal
from dnip.method.scales import WeightScale
from dnip.priors.target import PriorLike
from dnip.solvers import Progress, Solver
from dnip.tables import Asked, ProbabilityTable, Rows, Scan, ahead
from dnip.tables.files import read_rows
from dnip.tables.groups import check_groups
from dnip.tables.labels import UNLABELLED
from dnip.tables.origin import DataHash
from dnip.tables.sampling import Sample, Sampler
from dnip.tables.table import TableLike, as_table, check_classes_agree, check_raw
from dnip.using.evaluation import Evaluation, evaluate

#: Rows of a table file that are fitted at most; a larger table is sampled. With 10 million rows of
#: 14 classes such a fit takes a sixth to a third of the processor time of a fit on all, and its
#: objective on all rows is higher by .0012 (even shares) and .0016 (python -m benchmarks sampled).
MOST_ROWS = 1_000_000

#: More rows than any table has.
ALL_ROWS = 2**60


def fit(
    data: TableLike,
    y: ArrayLike | None = None,
    objective: Goal = None,
    *,
    beta: float | None = None,
    costs: ArrayLike | Costs | None = None,
    preset: str | None = None,
    scale: int | str | WeightScale | None = None,
    solver: str | Solver | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    constraints: Constraints | None = None,
    robust: str = "auto",
    target_prior: PriorLike | None = None,
    defer: float | None = None,
    helper_accuracy: float | None = 0.9,
    defer_below: float | None = None,
    evidence: bool | None = None,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    unlabelled: TableLike | None = None,
    groups: ArrayLike | str | None = None,
    rows: int | None = MOST_ROWS,
    progress: Progress | None = None,
) -> Fit:
    """Fit coefficients on the labelled rows of a table.

    Parameters
    ----------
    data, y, classes, label
        The opt set, as for :func:`dnip.evaluate`. Rows without a label serve a robust fit only.
    objective : Objective, str or callable, optional
        What to minimise, instead of error + β·COBias. ``"balanced-accuracy"`` and ``"macro-f1"``
        are maximised. Any function of a confusion matrix (N, N) works too, but is slower.
    beta : float, optional
        β, the weight of COBias next to the error, at least 0; 0.5 by default: one point of
        accuracy for two of COBias.
    costs : array-like of shape (N, N) or Costs, optional
        What each prediction costs, rows true classes, columns predicted ones. The mean cost then
        replaces the error.
    preset : {"paper", "authors"}, optional
        The published settings, with the plain optimum: β = 2.7, τ = 0.2, K = 30, annealing.
        Other settings override them.
    scale : int, str or WeightScale, optional
        K for weights k/K, ``"log:K"`` for K geometric steps from 1/K to 1, ``"span:S"`` for 10,000
        from e^-S to 1. By default S is the spread of the probabilities.
    solver : {"coordinate", "exact", "anneal"} or Solver, optional
        The name of a solver, ``"coordinate"`` by default, or one with settings of its own.
    seed : int, default=0
        Of all random choices; the same seed gives the same coefficients.
    time_limit : float, optional
        Seconds after which the best so far is returned.
    constraints : Constraints, optional
        What the weights must keep on the labelled rows. A limit on lost accuracy is kept on other
        rows, too, as far as the labels can tell.
    robust : {"auto", "on", "off"}, default="auto"
        ``"on"``: weights that hold on other rows, however few the labels. ``"off"``: the plain
        optimum of the labelled rows. ``"auto"``: on, but off for large tables, and for solvers
        other than coordinate.
    target_prior : mapping, sequence, "uniform" or "estimate", optional
        The class mix to fit for, by class or in their order. A labelled row counts by the target
        share of its class over the observed one. ``"estimate"`` takes the mix of the rows without
        a label.
    defer : float, optional
        The share of rows to leave to a person or a larger model, above 0 and below 1.
    helper_accuracy : float or None, default=0.9
        How often that helper is right in every class; None: serve the rows that remain best.
    defer_below : float, optional
        Instead of a share: how often what is served of each predicted class is to be right.
    evidence : bool, optional
        Whether to judge the fit by refits that leave labels out; by default if that is quick.
    unlabelled : array-like, DataFrame, ProbabilityTable or path, optional
        More rows without a label; its labels, if any, are not read.
    groups : array-like of shape (M,) or str, optional
        What each row of `data` belongs to, such as the number of its prompt; of a file or a data
        frame, the name of the column. An empty one is a group of its own. Rows of one group lie in
        one fold of every refit, and count as one label. Without groups, copies (rows equal in every
        probability and in label, which rounding does not explain) are told, and are groups.
    rows : int or None, default=1_000_000
        Rows to fit on at most; None: all. Of a file of more, a sample is used. The objective and
        the evaluation are those of all rows. ``robust="auto"`` means ``"off"`` for a sample.
    progress : callable, optional
        As for :func:`dnip.solve`. By default a notebook or a terminal shows after two seconds that
        the work goes on.

    Returns
    -------
    Fit
        Its `coefficients` are what to use on other rows, and to save.

    Raises
    ------
    InvalidInputError
        For bad input, settings outside their ranges or that contradict each other, if fewer than
        two classes have labelled rows, or the unlabelled rows have other classes.
    InfeasibleError
        If no weights on the scale keep the constraints, or none were found.

    Examples
    --------
    >>> import dnip
    >>> p, y = [[0.9, 0.1], [0.6, 0.4]] * 20, ["ham", "spam"] * 20
    >>> fitted = dnip.fit(p, y, evidence=False)
    >>> fitted.coefficients.predict([[0.65, 0.35]]).tolist()
    ['spam']
    """
    settings = FitSettings(
        objective,
        beta=beta,
        costs=costs,
        preset=preset,
        scale=scale,
        solver=solver,
        seed=seed,
        time_limit=time_limit,
        constraints=constraints,
        robust=robust,
        target_prior=target_prior,
        defer=defer,
        helper_accuracy=helper_accuracy,
        defer_below=defer_below,
    )
    return fit_table(
        data,
        y,
        settings,
        classes=classes,
        label=label,
        unlabelled=unlabelled,
        groups=groups,
        evidence=evidence,
        rows=rows,
        progress=progress,
    )


def fit_table(
    data: TableLike,
    y: ArrayLike | None = None,
    settings: FitSettings | None = None,
    *,
    progress: Progress | None = None,
    **rows: Any,  # noqa: ANN401 - those of `fitter_of`
) -> Fit:
    """Fit as :func:`fit` does, with its settings in one object."""
    settings = settings or FitSettings()
    fitter = fitter_of(data, y, settings, **rows)
    with sign_of_life("fitting", wanted=progress is None):
        return fitter.fit(settings, progress)


def fitter_of(
    data: TableLike,
    y: ArrayLike | None,
    settings: FitSettings,
    *,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    unlabelled: TableLike | None = None,
    groups: ArrayLike | str | None = None,
    evidence: bool | None = None,
    rows: int | None = MOST_ROWS,
) -> Fitter:
    """Return what fits these rows at any β; all is as for :func:`fit`."""
    sample, count = sample_of(data, y, classes, rows, settings.seed, groups, label)
    more = None
    if unlabelled is not None:
        more = other_rows(sample.table, unlabelled, classes, rows, settings.seed)
    members = None
    if groups is not None:
        if not sample.is_whole:
            raise InvalidInputError(
                f"{sample.table.source}: a sample is fitted, and a sample does not keep groups",
                hint="Give fewer rows, or rows=None (--rows all)",
            )
        known = sample.table.rows.groups
        members = check_groups(groups if known is None else known, len(sample.table))
    return Fitter(sample, count, settings, more=more, groups=members, evidence=evidence)


def other_rows(
    table: ProbabilityTable,
    unlabelled: TableLike,
    classes: Sequence[Any] | None,
    rows: int | None,
    seed: int,
) -> ProbabilityTable:
    """Return a table of more rows, of the classes of the opt table."""
    names = None if isinstance(unlabelled, str | os.PathLike) else table.classes
    more = sample_of(unlabelled, None, classes or names, rows, seed)[0].table
    check_classes_agree(table, more)
    check_raw(more)
    return more


def sample_of(
    data: TableLike,
    y: ArrayLike | None = None,
    classes: Sequence[Any] | None = None,
    rows: int | None = MOST_ROWS,
    seed: int = 0,
    groups: ArrayLike | str | None = None,
    label: str | None = None,
) -> tuple[Sample, Count]:
    """Return what to fit on, and what counts the whole table.

    Parameters
    ----------
    data, y, classes, label
        As for :func:`dnip.evaluate`. What is in memory is taken whole.
    rows : int or None, default=1_000_000
        Rows of a file to keep at most; None: all.
    seed : int, default=0
        The same seed gives the same sample.
    groups : array-like of shape (M,) or str, optional
        What each row belongs to; of a file or a data frame, the name of the column.

    Raises
    ------
    InvalidInputError
        For a bad table, more classes than rows to keep, or a column that is not there.
    """
    if y is not None or label is not None or not isinstance(data, str | os.PathLike):
        table = as_table(data, y, classes, label, groups=groups)
        check_raw(table)
        labels = np.empty(0, np.int64) if table.labels is None else table.labels
        sizes = np.bincount(labels[labels != UNLABELLED], minlength=table.n_classes)
        return Sample(table, len(table), sizes), partial(_count_in_memory, table)
    path = Path(data)
    sampler = Sampler(ALL_ROWS if rows is None else rows, seed)
    for block in Scan(path, classes, Asked(groups if isinstance(groups, str) else None)):
        sampler.add(block)
    sample = sampler.sample()
    if sample.is_whole:
        return sample, partial(_count_in_memory, sample.table)
    return sample, partial(_count_file, sample, path)


def _count_in_memory(
    table: ProbabilityTable, coefficients: Coefficients, target: Floats | None
) -> tuple[Evaluation, str]:
    return evaluate(table, coefficients=coefficients, target=target), table.data_hash


def _count_file(
    sample: Sample, path: Path, coefficients: Coefficients, target: Floats | None
) -> tuple[Evaluation, str]:
    """Count the table that a sample was drawn from."""
    classes = sample.table.classes
    data_hash = DataHash(classes, labelled=True, n_rows=sample.n_rows)

    def hashed() -> Iterator[Rows]:
        for chunk in read_rows(path, classes, as_a_whole=False):
            data_hash.add(chunk.probabilities, chunk.labels)
            yield chunk

    evaluation = evaluate(ahead(hashed()), coefficients=coefficients, target=target)
    return evaluation, data_hash.hexdigest()
