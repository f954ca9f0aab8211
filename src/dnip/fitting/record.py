"""What a fit returns, and what a coefficients file records of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.files import path_text
from dnip.tables.metadata import origin_of

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers
    from dnip.fitting.evidence import FitEvidence
    from dnip.fitting.robust import Decision
    from dnip.method.coefficients import Coefficients
    from dnip.method.solution import Solution
    from dnip.priors import Calibration, TargetPrior
    from dnip.tables.captured_mass import CapturedMass
    from dnip.tables.evaluation import Evaluation
    from dnip.tables.sketch import TableSample


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """What came of a fit.

    Attributes
    ----------
    coefficients : Coefficients
        What to use on other rows.
    solution : Solution
        What they were made of.
    evaluation : Evaluation
        Of the opt table itself, before and after.
    decision : Decision or None
        How the weights of a robust fit came about; None for the plain optimum.
    target : TargetPrior or None
        The class mix that the fit is for; None for that of the labelled rows.
    evidence : FitEvidence or None
        What the labels say of other rows; None if it was not asked for, or would take long.
    notes : tuple of str
        Things to know about single classes, one sentence each.
    """

    coefficients: Coefficients
    solution: Solution
    evaluation: Evaluation
    decision: Decision | None = None
    target: TargetPrior | None = None
    evidence: FitEvidence | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Name what the fit came to."""
        verdict = "" if self.evidence is None else f", verdict: {self.evidence.verdict}"
        return f"Fit({self.evaluation!r}{verdict})"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        return self.evaluation._repr_html_()

    @property
    def captured_mass(self) -> CapturedMass | None:
        """How many rows of the opt table have a low captured mass; None if it is not known."""
        return self.evaluation.captured_mass


def provenance_of(
    source: str, data_hash: str, n_rows: int, support: Integers, calibration: Calibration
) -> dict[str, Any]:
    """Return what a coefficients file records of the package and of the opt set."""
    data = {**describe_data(source, data_hash), "rows": n_rows, "labelled_rows": int(support.sum())}
    return {
        "package_version": version("dnip"),
        "data": data,
        "class_shares": (support / support.sum()).tolist(),
        "calibration": calibration.to_dict(),
    }


def describe_data(source: str, data_hash: str) -> dict[str, Any]:
    """Return where a table came from, the model and the prompt if known, and its hash."""
    # a path may hold bytes that are no Unicode; JSON may not
    data: dict[str, Any] = {"source": path_text(source), "sha256": data_hash}
    origin = origin_of(Path(source))
    return data if origin is None else {**data, "origin": origin}


def kept_for_checks(
    sample: TableSample, multipliers: Floats, confusion: Confusion
) -> dict[str, Any]:
    """Return what a coefficients file keeps of the opt set, for `dnip check`.

    Parameters
    ----------
    sample : TableSample
        Rows like those that the coefficients are for.
    multipliers : ndarray of shape (N,)
        The coefficients.
    confusion : ndarray of shape (N, N)
        Counts of labelled rows under the coefficients; best of rows that were left out.
    """
    return {
        "scores": {
            "rows": confusion.sum(axis=1).tolist(),
            "right": np.diag(confusion).tolist(),
        },
        "sketch": sample.sketch(multipliers).to_dict(),
    }
