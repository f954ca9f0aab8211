"""The fit of a table, a file, a frame or arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError
from dnip.fitting.fitter import Fitter
from dnip.fitting.groups import check_groups
from dnip.fitting.result import Fit
from dnip.fitting.sampled import MOST_ROWS, sample_of
from dnip.fitting.settings import FitSettings
from dnip.method.objective import Goal
from dnip.solvers import Progress
from dnip.tables import ProbabilityTable
from dnip.tables.guards import TableLike, check_classes_agree, check_raw


def fit(
    data: TableLike,
    y: ArrayLike | None = None,
    objective: Goal = None,
    *,
    classes: Sequence[Any] | None = None,
    unlabelled: TableLike | None = None,
    groups: ArrayLike | str | None = None,
    evidence: bool | None = None,
    rows: int | None = MOST_ROWS,
    progress: Progress | None = None,
    settings: FitSettings | None = None,
    **keywords: Any,  # noqa: ANN401 - those of FitSettings
) -> Fit:
    """Fit coefficients on the labelled rows of a table.

    Parameters
    ----------
    data, y, classes
        The opt set, as for :func:`dnip.evaluate`. Rows without a label serve a robust fit only.
    objective : Objective, str or callable, optional
        As for :func:`dnip.solve`.
    unlabelled : array-like, DataFrame, ProbabilityTable or path, optional
        More rows without a label; its labels, if any, are not read.
    groups : array-like of shape (M,) or str, optional
        What each row of `data` belongs to, such as the number of its prompt; of a file, the name of
        the column. Rows of one group lie in one fold of every refit, and count as one label.
        Without groups, copies (rows equal in every probability and in label, which rounding does
        not explain) are told, and are groups.
    evidence : bool, optional
        Whether to judge the fit by refits that leave labels out; by default if that is quick.
    rows : int or None, default=1_000_000
        Rows to fit on at most; None: all. Of a file of more, a sample is used. The objective and
        the evaluation are those of all rows. ``robust="auto"`` means ``"off"`` for a sample.
    progress : callable, optional
        As for :func:`dnip.solve`.
    settings : FitSettings, optional
        What `objective` and the keywords say, as one object.
    **keywords
        ``scale``, ``solver``, ``seed``, ``time_limit``, ``constraints``, ``robust``,
        ``target_prior``, ``defer``, ``helper_accuracy`` and ``defer_below``, as for
        :class:`dnip.fitting.settings.FitSettings`. A labelled row counts by the target share of
        its class over the observed one; ``"estimate"`` takes the mix of the rows without a label.
        To defer learns one threshold per predicted class; see :class:`dnip.method.defer.Deferral`.

    Returns
    -------
    Fit
        Its `coefficients` are what to use on other rows, and to save.

    Raises
    ------
    InvalidInputError
        For bad input, if fewer than two classes have labelled rows, the unlabelled rows have other
        classes, or the target prior is not a class mix.

    Examples
    --------
    >>> import dnip
    >>> p, y = [[0.9, 0.1], [0.6, 0.4]] * 20, ["ham", "spam"] * 20
    >>> fitted = dnip.fit(p, y, evidence=False)
    >>> fitted.coefficients.predict([[0.65, 0.35]]).tolist()
    ['spam']
    """
    settings = settings or FitSettings.of(objective, keywords)
    column = groups if isinstance(groups, str) else None
    sample, count = sample_of(data, y, classes, rows, settings.seed, column)
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
        members = check_groups(
            groups if sample.groups is None else sample.groups, len(sample.table)
        )
    fitter = Fitter(sample, count, settings, more=more, groups=members, evidence=evidence)
    return fitter.fit(settings, progress)


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
