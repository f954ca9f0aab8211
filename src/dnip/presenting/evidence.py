"""The evidence for a fit as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.fitting.evidence import FOLDS
from dnip.presenting.artefacts import Column, Row, Table
from dnip.presenting.evaluation import class_rates
from dnip.presenting.formats import to_text

if TYPE_CHECKING:
    from dnip.fitting.evidence import FitEvidence


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
            f"Expected on other rows, by {FOLDS} refits, each judged on labels that it has not "
            f"seen, with {100 * confidence:g} % intervals:",
            to_text(Table("evidence", "", columns, [Row(values) for values in cells])),
            "",
            f"verdict: {evidence.verdict}",
            evidence.reason,
        ]
    )
