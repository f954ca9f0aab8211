"""How the coefficients of a robust fit came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dnip.base.typing import Floats


@dataclass(frozen=True, eq=False)
class Decision:
    """How the coefficients of a robust fit came about.

    Attributes
    ----------
    n_unlabelled : int
        Unlabelled rows that were given; only a sample is used if there are many.
    support : ndarray of shape (N,)
        Labels of each class.
    trust : ndarray of shape (N,)
        Part of the way from the smooth estimator to the optimum, 0..1.
    shares : ndarray of shape (N,)
        Class shares, given or estimated.
    sharpness : float
        Inverse temperature at which the probabilities are calibrated.
    batch, smooth, optimum : ndarray of shape (N,)
        Log-weights of the prior, of the smooth estimator, and of the optimum of labels and
        unlabelled rows.
    drift : float or None
        The p value of the unlabelled rows being like the labelled ones, if it is so small that the
        labelled ones were moved; else None.
    toward_constraints : float
        How far the weights went from there to the optimum that satisfies the constraints, 0..1.
    """

    n_unlabelled: int
    support: Floats
    trust: Floats
    shares: Floats
    sharpness: float
    batch: Floats
    smooth: Floats
    optimum: Floats
    drift: float | None
    toward_constraints: float

    @property
    def sentence(self) -> str:
        """What was decided and why, in a few lines of text."""
        present = self.support > 0
        labels = _span(self.support[present], "{:,.0f}")
        part = _span(self.trust[present], "{:.0%}")
        rows = f" and {self.n_unlabelled:,} unlabelled rows" if self.n_unlabelled else ""
        noun = "label" if labels == "1" else "labels"
        said = f"robust: with {labels} {noun} per class, the optimum of labels{rows} counts {part}"
        said += "." if part == "100%" else ",\na smooth fit the rest."
        if self.drift is not None:
            said += (
                f"\nThe unlabelled rows differ from the labelled ones beyond chance (p = "
                f"{self.drift:.1g}), and not by their\nclass mix alone. The weights follow the "
                "unlabelled rows: labelled ones were moved to where these lie."
            )
        if self.toward_constraints:
            said += (
                f"\nThe constraints were not kept there: {self.toward_constraints:.0%} of the way "
                "to the optimum that keeps them was gone."
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as a coefficients file records it."""
        return {
            "unlabelled_rows": self.n_unlabelled,
            "labels": self.support.tolist(),
            "trust": self.trust.tolist(),
            "shares": self.shares.tolist(),
            "sharpness": self.sharpness,
            "log_weights": {
                "batch": self.batch.tolist(),
                "smooth": self.smooth.tolist(),
                "optimum": self.optimum.tolist(),
            },
            "drift_p_value": self.drift,
            "toward_constraints": self.toward_constraints,
        }


def _span(values: Floats, form: str) -> str:
    low, high = form.format(values.min()), form.format(values.max())
    return low if low == high else f"{low} to {high}"
