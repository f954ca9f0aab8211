"""A class mix that was settled on, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Floats
    from dnip.priors.estimate import PriorEstimate

# Classes that a line of text names at most.
_NAMED = 8


@dataclass(frozen=True, eq=False)
class TargetPrior:
    """The class mix that weights are for.

    Attributes
    ----------
    shares : ndarray of shape (N,)
        They sum to 1.
    estimate : PriorEstimate or None
        Where the shares come from, if nobody gave them.
    effective_rows : float or None
        Of labelled rows that were weighed for the mix: equally weighted rows that would tell the
        error rate as precisely (Kish).

    Examples
    --------
    >>> TargetPrior(np.array([0.75, 0.25])).sentence(["ham", "spam"])
    'target prior: ham 0.750, spam 0.250'
    """

    shares: Floats
    estimate: PriorEstimate | None = None
    effective_rows: float | None = None

    def to_dict(self, classes: Sequence[str]) -> dict[str, Any]:
        """Return what ``--json`` tells, and a coefficients file keeps."""
        told: dict[str, Any] = {"source": "given" if self.estimate is None else "estimate"}
        told["shares"] = dict(zip(classes, self.shares.tolist(), strict=True))
        if self.estimate is not None:
            told |= self.estimate.to_dict(classes)
        if self.effective_rows is not None:
            told["effective_rows"] = self.effective_rows
        return told

    def sentence(self, classes: Sequence[str]) -> str:
        """Return the shares as a line of text, of many classes the most frequent."""
        shown = np.argsort(-self.shares, kind="stable")[:_NAMED]
        if len(classes) <= _NAMED:
            shown = np.arange(len(classes))
        parts = []
        for c in shown.tolist():
            part = f"{classes[c]} {self.shares[c]:.3f}"
            if self.estimate is not None:
                part += f" ({self.estimate.low[c]:.3f} to {self.estimate.high[c]:.3f})"
            parts.append(part)
        more = "" if len(shown) == len(classes) else f", and {len(classes) - len(shown)} more"
        rows = "" if self.estimate is None else f", estimated from {self.estimate.n_rows:,} rows"
        return f"target prior{rows}: {', '.join(parts)}{more}"
