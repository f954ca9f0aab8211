"""What bootstrap refits say of a fit: intervals, the spread of its weights, and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dnip.typing import Floats, Integers

#: Labels below which nothing is sure.
FEWEST = 8

# Classes that advice names; of many, those that need most.
_NAMED = 6


@dataclass(frozen=True, eq=False)
class FitEvidence:
    """What the labels of a fit say of it, for rows that it has not seen.

    Attributes
    ----------
    classes : tuple of str
    confidence : float
        Level of all intervals.
    resamples, planned : int
        Bootstrap refits that were made, and that were to be made.
    refitted_by : str
        The solver of the refits.
    raw, reweighted, difference : dict
        Values and ``intervals`` by the names of the metrics, as in `Evaluation.to_dict`. Values
        are corrected: class accuracies for having been fitted, COBias for chance.
    followed : float
        κ, the part of chance that the fit follows, 0..1.
    log_weights : ndarray of shape (N,)
        Of the coefficients, the largest being 0.
    deviations : ndarray of shape (N,)
        Standard deviations of the same over the refits.
    ranges : ndarray of shape (N, 2)
        Their central part.
    apply : bool
        The verdict.
    sure : float
        How sure it is that COBias falls, 0..1.
    needed : float
        How sure it has to be.
    tolerance : float
        Accuracy that may be lost.
    n_labels : int
        Labels of the fit.
    more : ndarray of shape (N,) or None
        More labels of each class that would probably settle it; None where it is settled, or too
        close to call.
    settled : bool
        Whether more labels would hardly change the verdict.
    """

    classes: tuple[str, ...]
    confidence: float
    resamples: int
    planned: int
    refitted_by: str
    raw: dict[str, Any]
    reweighted: dict[str, Any]
    difference: dict[str, Any]
    followed: float
    log_weights: Floats
    deviations: Floats
    ranges: Floats
    apply: bool
    sure: float
    needed: float
    tolerance: float
    n_labels: int
    more: Integers | None
    settled: bool

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "apply" if self.apply else "not enough evidence, keep the raw argmax"

    @property
    def reason(self) -> str:
        """The verdict's reason, in numbers."""
        gap, low, high = _told(self.difference, "cobias")
        change, worst, best = _told(self.difference, "accuracy")
        said = (
            f"COBias changes by {gap:+.3f} [{low:+.3f}, {high:+.3f}], "
            f"{self.sure:.0%} sure that it falls (needed: {self.needed:.0%}); "
            f"accuracy by {change:+.3f} [{worst:+.3f}, {best:+.3f}]"
        )
        if self.n_labels < FEWEST:
            said += f"; but {self.n_labels} labels are too few to be sure of anything"
        if change < -self.tolerance:
            said += f", more than the {self.tolerance:g} that may be lost"
        return said

    @property
    def advice(self) -> str:
        """How many more labels would settle it; empty where nothing is to be said."""
        if self.settled:
            return ""
        if self.more is None:
            return "It is too close to call: even 20,000 more labels would hardly settle it."
        counts = _round_up(self.more)
        asked = sorted(zip(counts, self.classes, strict=True), key=lambda pair: -pair[0])
        asked = [(count, name) for count, name in asked if count]
        parts = [f"{count:,} of {name}" for count, name in asked[:_NAMED]]
        if len(asked) > _NAMED:
            rest = sum(count for count, _ in asked[_NAMED:])
            parts.append(f"{rest:,} of {len(asked) - _NAMED} other classes")
        parts[0] = parts[0].replace(" of ", " more labels of ", 1)
        last = parts.pop()
        listed = f"{', '.join(parts)} and {last}" if parts else last
        return f"About {listed} would probably settle it."

    def summary(self) -> dict[str, Any]:
        """Return what a coefficients file keeps."""
        return {
            "verdict": "apply" if self.apply else "keep",
            "reason": self.reason,
            "sure": self.sure,
            "needed": self.needed,
            "tolerance": self.tolerance,
            "settled": self.settled,
            "more_labels": None
            if self.more is None
            else dict(zip(self.classes, self.more.tolist(), strict=True)),
            "confidence": self.confidence,
            "resamples": self.resamples,
            "refitted_by": self.refitted_by,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            **self.summary(),
            "raw": self.raw,
            "reweighted": self.reweighted,
            "difference": self.difference,
            "followed": self.followed,
            "coefficients": {
                "log_weights": self.log_weights.tolist(),
                "standard_deviations": self.deviations.tolist(),
                "intervals": self.ranges.tolist(),
            },
        }


def _told(side: dict[str, Any], metric: str) -> tuple[float, float, float]:
    low, high = side["intervals"][metric]
    return side[metric], low, high


def _round_up(counts: Integers) -> list[int]:
    """Return counts of two digits: no extrapolation is better than that."""
    rounded = []
    for count in counts.tolist():
        step = 10 ** max(len(str(count)) - 2, 0)
        rounded.append(int(np.ceil(count / step) * step))
    return rounded
