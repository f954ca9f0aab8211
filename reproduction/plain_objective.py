"""The objective in plain NumPy, as a user would write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.method.objective import Objective

if TYPE_CHECKING:
    from dnip.base.typing import Integers, Labels


class PlainObjective:
    """Z of confusion counts, of one matrix or many; what no prediction changes is computed once.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices, of at least two classes.
    n_classes : int
    objective : Objective
        With all terms, COBias over pairs and no costs.

    Raises
    ------
    InvalidInputError
        For another objective.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import Objective
    >>> z = PlainObjective(np.array([0, 1, 0, 1]), 2, Objective(beta=1.0, tau=0.0))
    >>> z(np.array([[[2, 0], [2, 0]], [[2, 0], [0, 2]]]))
    array([1.5, 0. ])
    """

    def __init__(self, labels: Labels, n_classes: int, objective: Objective) -> None:
        if (
            objective.terms != Objective.TERMS
            or objective.gap != "pairwise"
            or objective.costs is not None
        ):
            raise InvalidInputError(
                f"the objective {objective.to_dict()} cannot be used here: it must have all three "
                "terms, COBias over pairs, and no costs",
                hint="Leave a term out with beta=0 or tau=0",
            )
        m, n, mu = len(labels), n_classes, objective.smoothing_over(len(labels))
        true = np.bincount(labels, minlength=n)
        self._present = np.flatnonzero(true)
        self._true, self._total, self._mu = true[self._present], m, mu
        self._beta, self._tau = objective.beta, objective.tau
        # Σ_{i<j} |A_i - A_j| = Σ_i (2i - n + 1) A_i over ascending A
        seen = len(self._present)
        self._ranks = (2 * np.arange(seen) - seen + 1) / max(seen * (seen - 1) / 2, 1)
        self._pmi_constant = float(
            n * (2 * np.log(m + mu * n) - np.log(m + mu * n * n)) - np.log(true + mu).sum()
        )

    def __call__(self, confusion: Integers) -> Any:  # noqa: ANN401 - a number, or an array
        """Return Z of counts of shape (..., N, N), rows true."""
        correct = np.diagonal(confusion, axis1=-2, axis2=-1)
        error = 1 - correct.sum(axis=-1) / self._total
        cobias = np.sort(correct[..., self._present] / self._true, axis=-1) @ self._ranks
        ratios = (correct + self._mu) / (confusion.sum(axis=-2) + self._mu)
        pmi = np.log(ratios).sum(axis=-1) + self._pmi_constant
        return error + self._beta * cobias - self._tau * pmi
