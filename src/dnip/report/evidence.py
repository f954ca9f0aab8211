"""The evidence for a fit as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.report.text import align, interval, rates

if TYPE_CHECKING:
    from dnip.bootstrap import FitEvidence


def describe_evidence(evidence: FitEvidence) -> str:
    """Return what the labels say of other rows: classes, weights, totals and the verdict."""
    before, after, change = evidence.raw, evidence.reweighted, evidence.difference
    columns = [
        ("class", list(evidence.classes)),
        ("weight", [f"{weight:.3f}" for weight in np.exp(evidence.log_weights)]),
        ("", [interval(bounds) for bounds in np.exp(evidence.ranges)]),
    ]
    for title, side in (("before", before), ("after", after)):
        columns.append((title, rates(side["class_accuracies"])))
        columns.append(("", [interval(i) for i in side["intervals"]["class_accuracies"]]))
    lines = [
        f"Expected on other rows, from {evidence.resamples} bootstrap refits, with "
        f"{100 * evidence.confidence:g} % intervals:",
        align(columns),
        "",
    ]
    for name, metric in (("accuracy", "accuracy"), ("COBias", "cobias")):
        values = [
            f"{side[metric]:{sign}.3f} {interval(side['intervals'][metric], sign)}"
            for side, sign in ((before, ""), (after, ""), (change, "+"))
        ]
        lines.append(f"{name:<9} {values[0]} -> {values[1]}, change {values[2]}")
    lines += ["", f"verdict: {evidence.verdict}", f"{evidence.reason}."]
    return "\n".join([*lines, evidence.advice] if evidence.advice else lines)
