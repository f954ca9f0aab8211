"""What a robust fit decided, and on which numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dnip.typing import Floats


@dataclass(frozen=True, eq=False)
class Decision:
    """How the coefficients of a robust fit came about.

    Attributes
    ----------
    route : {"optimum", "blend"}
        The plain optimum of the labels, or a blend of the smooth estimator and the optimum of
        labels and unlabelled rows.
    kept : float
        Part of the change that does no harm to accuracy and was made, 0..1.
    n_unlabelled : int
        Unlabelled rows that were given; of many, a sample is read.
    support : ndarray of shape (N,)
        Labels of each class.
    trust : ndarray of shape (N,)
        Part of the way from the smooth estimator to the optimum, 0..1.
    shares : ndarray of shape (N,)
        Estimated class shares.
    sharpness : float
        Inverse temperature at which the probabilities are calibrated.
    batch, smooth, optimum : ndarray of shape (N,)
        Log-weights of the prior, of the smooth estimator, and of the optimum (of a blend, the mean
        of resampled ones).
    toward_constraints : float or None
        Part of the way that was gone from there to the optimum that keeps the constraints, 0..1;
        None without constraints.
    """

    route: str
    kept: float
    n_unlabelled: int
    support: Floats
    trust: Floats
    shares: Floats
    sharpness: float
    batch: Floats
    smooth: Floats
    optimum: Floats
    toward_constraints: float | None = None

    @property
    def sentence(self) -> str:
        """What was decided and why, in one or two lines of text."""
        present = self.support > 0
        least, most = self.support[present].min(), self.support[present].max()
        each = f"{least:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"
        labels = f"with {each} labels per class"
        if self.route == "optimum":
            said = f"robust: the plain optimum, {labels} it is to be trusted."
        else:
            low, high = self.trust[present].min(), self.trust[present].max()
            part = f"{high:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
            rows = f" of {self.n_unlabelled:,} unlabelled rows" if self.n_unlabelled else ""
            said = (
                f"robust: {labels} the optimum counts {part},\n"
                f"a smooth fit drawn to batch calibration{rows} the rest."
            )
        if self.kept < 1:
            said += (
                f"\n{self.kept:.0%} of the change is kept: more would cost accuracy, as the most "
                f"frequent class has {self.shares.max():.0%} of the rows."
            )
        if self.toward_constraints:
            said += (
                f"\nThe constraints were not kept there: {self.toward_constraints:.0%} of the way "
                "to the optimum that keeps them was gone."
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return the decision, as it stands in a coefficients file."""
        return {
            "route": self.route,
            "kept": self.kept,
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
            **(
                {}
                if self.toward_constraints is None
                else {"toward_constraints": self.toward_constraints}
            ),
        }
