"""From an opt table to coefficients: a table in memory, or a file of any size."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from dnip.base.errors import InvalidInputError
from dnip.fitting.in_passes import fit_scan
from dnip.fitting.settings import FitKeywords, FitSettings
from dnip.fitting.whole import fit_whole
from dnip.priors import is_estimate, read_prior
from dnip.tables import ProbabilityTable, Scan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from narwhals.typing import IntoDataFrame

    from dnip.fitting.record import Fit
    from dnip.method.objective import ConfusionFunction, ObjectiveLike
    from dnip.solvers import Progress


def fit_table(
    table: ProbabilityTable | IntoDataFrame,
    objective: ObjectiveLike | ConfusionFunction | None = None,
    *,
    classes: Sequence[str] | None = None,
    unlabelled: ProbabilityTable | None = None,
    evidence: bool | None = False,
    progress: Progress | None = None,
    **settings: Unpack[FitKeywords],
) -> Fit:
    """Fit coefficients on the labelled rows of a table.

    Parameters
    ----------
    table : ProbabilityTable or DataFrame
        The opt set. Its rows without a label serve a robust fit only.
    objective : Objective or callable, optional
        As for :func:`dnip.solve`.
    classes : sequence of str, optional
        Class names of a data frame whose class columns have these names.
    unlabelled : ProbabilityTable, optional
        More rows without a label; its labels, if any, are not read.
    evidence : bool, optional
        Whether to judge the fit by refits that leave labels out; None: if that is quick.
    progress : callable, optional
        As for :func:`dnip.solve`.
    **settings
        ``scale``, ``solver``, ``seed``, ``time_limit`` and ``constraints`` as for
        :func:`dnip.solve`, and:

        robust : {"auto", "on", "off"}, default="auto"
            As for :func:`dnip.fitting.robust.solve_robustly`; ``"off"`` is the plain optimum.
        target_prior : mapping, sequence, "uniform" or "estimate", optional
            The class mix to fit for, by class name or in class order. A labelled row counts by
            the target share of its class over the observed one. ``"estimate"`` takes the mix
            of the rows without a label.

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
    if not isinstance(table, ProbabilityTable):
        table = ProbabilityTable.from_frame(table, classes)
    return fit_whole(table, chosen, unlabelled=unlabelled, evidence=evidence, progress=progress)


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
    """Fit coefficients on a table file or folder, whole or in passes, as its size demands.

    Parameters
    ----------
    path : Path
        As for :meth:`dnip.ProbabilityTable.read`.
    settings : FitSettings
        `dnip.priors.read_prior` reads a target prior that is text. ``robust="auto"`` means
        ``"off"`` for a table that is read in passes.
    classes : sequence of str, optional
        Class names.
    memory, folder
        As for :func:`fit_scan`.
    unlabelled : Path, optional
        A table with more rows without a label.
    evidence : bool, optional
        As for :func:`fit_table`; not possible for a table that is read in passes.
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
        return fit_whole(
            table,
            settings,
            unlabelled=more,
            evidence=evidence,
            progress=progress,
        )
    too_large = f"{path} is too large to be read whole into {memory:,} bytes"
    remedy = "Give more memory"
    if mix is not None:
        raise InvalidInputError(
            f"{too_large}, as a fit for a target prior has to",
            hint=f"{remedy}, or draw fewer rows",
        )
    if evidence:
        raise InvalidInputError(
            f"{too_large}, as evidence from its own labels has to",
            hint=f"{remedy}, or leave --evidence out: so many labels need none",
        )
    if settings.robust == "on" or unlabelled is not None:
        raise InvalidInputError(
            f"{too_large}, as a robust fit has to",
            hint=f"{remedy}, or draw fewer rows: so many labels need no robust fit",
        )
    scan = Scan(path, classes, memory=memory)
    return fit_scan(scan, settings, memory=memory, folder=folder, progress=progress)


def _fits_into(memory: int, path: Path) -> bool:
    """Whether a table can be read whole: a number of 8 bytes takes 1 byte or more in any file."""
    try:
        files = path.iterdir() if path.is_dir() else [path]
        return 8 * sum(file.stat().st_size for file in files) <= memory
    except OSError:
        return True  # reading it will say what is wrong
