"""A fit as text for a terminal, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.fitting.folds import USUAL_FOLDS
from dnip.presenting.artefacts import Column, Table
from dnip.presenting.evaluation import class_rates, describe, describe_constraints
from dnip.presenting.terminal import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dnip.fitting.evidence import FitEvidence
    from dnip.fitting.record import Fit


def describe_fit(fitted: Fit, confidence: float) -> str:
    """Return every class before and after, what the fit decided, and the objective.

    Parameters
    ----------
    fitted : Fit
    confidence : float
        Level of the intervals of the evidence, where there is any.
    """
    solution, mix = fitted.solution, fitted.target
    parts = [describe(fitted.evaluation, fitted.coefficients)]
    if mix is not None:
        parts.append(
            f"{mix.sentence(fitted.coefficients.classes)}\n"
            f"accuracy is that of this mix, for which the {fitted.evaluation.n:,} labels count as "
            f"{mix.effective_rows:,.0f}"
        )
    if fitted.decision is not None:
        parts.append(fitted.decision.sentence)
    if fitted.notes:
        parts.append("\n".join(fitted.notes))
    if fitted.evidence is not None:
        parts.append(describe_evidence(fitted.evidence, confidence))
    if solution.constraints is not None:
        parts.append(describe_constraints(solution.constraints))
    bound = f", no weights below {solution.lower_bound:.6f}" if solution.gap else ""
    parts.append(f"objective {solution.value:.6f}{bound}\n{solution.sentence}")
    return "\n\n".join(parts)


def describe_evidence(evidence: FitEvidence, confidence: float) -> str:
    """Return what the labels say of other rows: every class, and the verdict."""
    told = evidence.evaluation.to_dict(confidence)
    cells = zip(
        told["classes"],
        [f"{low:.3f} to {high:.3f}" for low, high in evidence.ranges],
        told["raw"]["class_accuracies"],
        class_rates(told["reweighted"]),
        strict=True,
    )
    columns = [
        Column("class"),
        Column("weights of refits", right=True),
        Column("before", 3),
        Column("after", 3),
    ]
    return "\n".join(
        [
            f"Expected on other rows, by {USUAL_FOLDS} refits that each left labels out "
            f"({100 * confidence:g} % intervals):",
            to_text(Table("evidence", "", columns, list(cells))),
            "",
            f"verdict: {evidence.verdict}",
            evidence.reason,
        ]
    )


def notes_on_fit(fitted: Fit, unlabelled: Path | None) -> Iterator[str]:
    """Yield which rows without labels were not used."""
    estimated = fitted.target is not None and fitted.target.estimate is not None
    if fitted.decision is not None or estimated:
        return
    if unlabelled is not None:
        yield f"the fit is plain, {unlabelled} was not used"
    if fitted.evaluation.n_unlabelled:
        yield f"rows without a label, not used: {fitted.evaluation.n_unlabelled:,}"


def fit_to_dict(fitted: Fit, robust: str, confidence: float) -> dict[str, Any]:
    """Return what ``dnip fit --json`` prints, but for the file that was written.

    Parameters
    ----------
    fitted : Fit
    robust : {"auto", "on", "off"}
        What was asked for.
    confidence : float
        Level of the intervals of the evidence.
    """
    decision, mix, evidence = fitted.decision, fitted.target, fitted.evidence
    mass = fitted.captured_mass
    return {
        "classes": list(fitted.coefficients.classes),
        "mass": None if mass is None else mass.to_dict(),
        "constraints": None,
        **fitted.solution.to_dict(),
        "robust": None if decision is None else {"mode": robust, **decision.to_dict()},
        "target_prior": None if mix is None else mix.to_dict(fitted.coefficients.classes),
        "notes": list(fitted.notes),
        "evidence": None if evidence is None else evidence.to_dict(confidence),
    }
