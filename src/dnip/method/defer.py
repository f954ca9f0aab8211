"""Which rows go to a person or a larger model: one threshold per predicted class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InvalidInputError, shown
from dnip.base.typing import Booleans, Counts, Floats, Probabilities
from dnip.base.validation import check_number
from dnip.method.prediction import decide
from dnip.metrics import HEADLINE, METRICS

#: The threshold of a class that is never served: no probability reaches it.
NEVER = 2.0


@dataclass(frozen=True, eq=False)
class Deferral:
    """Thresholds of deferring.

    With q the corrected probabilities of a row and c its decision, the row is deferred if
    q_c < t_c. A row at the threshold stays, so 0 defers nothing.

    Parameters
    ----------
    thresholds : array-like of shape (N,)
        t, one for each predicted class, 0..1; 2 defers all rows of a class.
    share : float
        The share of rows that they were learned to defer, above 0 and below 1; 0..1 with `below`.
    helper_accuracy : float, optional
        How often the helper was taken to be right, 0..1; None where the rows that remain were to
        be served best.
    below : float, optional
        How often what remains of each predicted class is to be right, above 0 and below 1.

    Raises
    ------
    InvalidInputError
        For numbers outside their ranges.

    Examples
    --------
    >>> defer = Deferral([0.9, 0.6], share=0.3, helper_accuracy=0.9)
    >>> defer.deferred(np.array([[0.8, 0.2], [0.3, 0.7], [0.4, 0.6]]))
    array([ True, False, False])
    """

    thresholds: Floats
    share: float
    helper_accuracy: float | None = None
    below: float | None = None

    def __post_init__(self) -> None:
        if self.below is not None:
            check_number("defer_below", self.below, above=0, below=1)
            check_number("share", self.share, at_least=0, at_most=1)
        elif not 0 < check_number("defer", self.share) < 1:
            raise InvalidInputError(
                f"defer must be a share of rows between 0 and 1, and neither; got {self.share!r}",
                hint="Give 0.3 to defer 30 % of the rows, or leave it out to defer none",
            )
        if self.helper_accuracy is not None:
            check_number("helper_accuracy", self.helper_accuracy, at_least=0, at_most=1)
        t = np.asarray(self.thresholds)
        numbers = t.ndim == 1 and t.dtype.kind in "iuf"
        if not numbers or not (((t >= 0) & (t <= 1)) | (t == NEVER)).all():
            must = "thresholds of deferring must be one number from 0 to 1, or 2, for each class"
            raise InvalidInputError(f"{must}; got {shown(self.thresholds)}")
        t = t.astype(np.float64)
        t.setflags(write=False)
        vars(self).update(thresholds=t, share=float(self.share))

    def deferred(
        self, corrected: Probabilities, decided: NDArray[np.integer] | None = None
    ) -> Booleans:
        """Return whether each row is deferred, shape (M,).

        Parameters
        ----------
        corrected : ndarray of shape (M, N)
            What `Coefficients.apply` returns.
        decided : ndarray of shape (M,), optional
            The classes that were decided for; those of `corrected` by default.
        """
        c = decide(corrected) if decided is None else decided
        return np.asarray(corrected[np.arange(len(c)), c] < self.thresholds[c])

    def to_dict(self) -> dict[str, Any]:
        """Return it as a coefficients file holds it: the arguments that make it."""
        arguments = {name: value for name, value in vars(self).items() if name != "below" or value}
        return {**arguments, "thresholds": self.thresholds.tolist()}


def refuse_defer(defer: Deferral | None, where: str) -> None:
    """Refuse thresholds where nothing can say which rows are deferred."""
    if defer is not None:
        raise InvalidInputError(
            f"{where} cannot hold the thresholds of deferring that these coefficients have",
            hint="Use dnip apply, dnip serve, or dnip export --to python, javascript or sql; "
            "or fit without thresholds",
        )


def served(defer: Deferral, routed: Counts) -> dict[str, Any]:
    """Return the share that is deferred, and the scores of what remains and of the system.

    Parameters
    ----------
    defer : Deferral
    routed : ndarray of shape (N, 2·N)
        Confusion counts of the rows that remain, and beside them of those that are deferred.

    Returns
    -------
    dict
        ``share``, ``asked`` and ``helper_accuracy``. Under ``remaining``, and under ``system`` for
        a helper, accuracy, COBias and the worst class; None where nothing remains.

    Examples
    --------
    >>> routed = np.array([[8, 0, 2, 0], [0, 4, 4, 2]])
    >>> scores = served(Deferral([0.9, 0.6], 0.3, helper_accuracy=0.5), routed)
    >>> scores["share"], scores["remaining"]["accuracy"], scores["system"]["accuracy"]
    (0.4, 1.0, 0.8)
    """
    remaining, deferred = np.hsplit(routed.astype(np.float64), 2)
    sides, right = {"remaining": remaining}, defer.helper_accuracy
    if right is not None:
        # which error a helper makes is not scored
        answers = np.full(remaining.shape, (1 - right) / (len(routed) - 1))
        np.fill_diagonal(answers, right)
        sides["system"] = remaining + deferred.sum(axis=1, keepdims=True) * answers
    scores: dict[str, Any] = {"share": float(deferred.sum() / routed.sum()), "asked": defer.share}
    for name, counts in sides.items():
        several = np.count_nonzero(counts.sum(axis=1)) > 1
        scores[name] = {n: METRICS[n].of(counts) if several else None for n in HEADLINE}
    return {**scores, "helper_accuracy": right}
