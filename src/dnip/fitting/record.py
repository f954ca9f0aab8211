"""What a fit returns, and what a coefficients file records of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dnip.base.escaping import valid_unicode
from dnip.fitting.evidence import FitEvidence
from dnip.fitting.robust import Blend
from dnip.method.coefficients import Coefficients
from dnip.method.solution import Solution
from dnip.priors import Calibration, TargetPrior
from dnip.tables import ProbabilityTable
from dnip.tables.captured_mass import CapturedMass
from dnip.tables.evaluation import Evaluation
from dnip.tables.provenance import origin_of
from dnip.tables.sampling import Sample
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
    decision : Blend or None
        How the weights of a robust fit came about; None for the plain optimum.
    target : TargetPrior or None
        The class mix that the fit is for; None for that of the labelled rows.
    evidence : FitEvidence or None
        What the labels say of other rows; None if it was not asked for, or would take long.
    notes : tuple of str
        Things to know about the sample and about single classes, one sentence each.
    """

    coefficients: Coefficients
    solution: Solution
    evaluation: Evaluation
    decision: Blend | None = None
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
    sample: Sample, data_hash: str, calibration: Calibration, seed: int
) -> dict[str, Any]:
    """Return what a coefficients file records of the package and of the opt set."""
    support = sample.class_sizes
    data = {
        **describe_data(sample.table.source, data_hash),
        "rows": sample.n_rows,
        "labelled_rows": int(support.sum()),
    }
    if not sample.is_whole:
        data["sample"] = {"rows": len(sample.table), "seed": seed}
    return {
        "package_version": version("dnip"),
        "data": data,
        "class_shares": (support / support.sum()).tolist(),
        "calibration": calibration.to_dict(),
    }


def describe_data(source: str, data_hash: str) -> dict[str, Any]:
    """Return where a table came from, the model and the prompt if known, and its hash."""
    # a path may hold bytes that are no Unicode; JSON may not
    data: dict[str, Any] = {"source": valid_unicode(source), "sha256": data_hash}
    origin = origin_of(Path(source))
    return data if origin is None else {**data, "origin": origin}


def recorded(
    fitted: Fit,
    provenance: dict[str, Any],
    like: TableSample,
    robust: str,
    unlabelled: ProbabilityTable | None,
) -> Fit:
    """Return a fit whose coefficients hold the record of how they came about.

    Parameters
    ----------
    fitted : Fit
    provenance : dict
        Of its rows.
    like : TableSample
        Rows like those that the coefficients are for, which `dnip check` compares with.
    robust : {"auto", "on", "off"}
        What was asked for.
    unlabelled : ProbabilityTable or None
        More rows without a label, if they were used.
    """
    classes, target, record = fitted.coefficients.classes, fitted.target, dict(provenance)
    if target is not None:
        record["class_shares"] = target.shares.tolist()
        record["target_prior"] = target.to_dict(classes)
    if fitted.decision is not None:
        record["robust"] = {"mode": robust, **fitted.decision.to_dict()}
    if unlabelled is not None:
        data = describe_data(unlabelled.source, unlabelled.data_hash)
        record["unlabelled"] = {**data, "rows": len(unlabelled)}
    scored = fitted.evaluation
    if fitted.evidence is not None:
        scored = fitted.evidence.evaluation  # of rows that were left out
        evidence = fitted.evidence
        record["evidence"] = {"verdict": evidence.verdict, "reason": evidence.reason}
    assert scored.reweighted is not None
    coefficients = Coefficients.from_solution(fitted.solution, classes, provenance=record)
    kept = {
        "scores": {
            "rows": scored.reweighted.sum(axis=1).tolist(),
            "right": np.diag(scored.reweighted).tolist(),
        },
        "sketch": like.sketch(coefficients.multipliers).to_dict(),
    }
    return replace(fitted, coefficients=coefficients.with_fit({**coefficients.fit, **kept}))
