"""The evidence for a fit as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.fitting.evidence import FOLDS
from dnip.presenting.text import align, interval, rates

if TYPE_CHECKING:
    from dnip.fitting.evidence import FitEvidence


def describe_evidence(evidence: FitEvidence, confidence: float) -> str:
    """Return what the labels say of other rows: every class, and the verdict."""
    told = evidence.evaluation.to_dict(confidence)
    after = told["reweighted"]
    columns = [
        ("class", told["classes"]),
        ("weights of refits", [f"{low:.3f} to {high:.3f}" for low, high in evidence.ranges]),
        ("before", rates(told["raw"]["class_accuracies"])),
        ("after", rates(after["class_accuracies"])),
        ("", [interval(i) for i in after["intervals"]["class_accuracies"]]),
    ]
    return "\n".join(
        [
            f"Expected on other rows, by {FOLDS} refits, each judged on labels that it has not "
            f"seen, with {100 * confidence:g} % intervals:",
            align(columns),
            "",
            f"verdict: {evidence.verdict}",
            evidence.reason,
        ]
    )
