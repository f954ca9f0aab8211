"""Membership or weight: each class takes a weight or a triangular function of its probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnip.studies.baselines.base import Correction

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Integers, Probabilities


class Triangle(NamedTuple):
    """The membership function max(0, 1 - slope·|p - peak|)."""

    peak: float
    slope: int


#: The authors' triangles, with peaks 1/slope apart: p itself is (1, 1) and stands as the weight 1.
TRIANGLES = tuple(
    Triangle(step / slope, slope)
    for slope in (1, 2, 4, 8)
    for step in range(slope + 1)
    if (step, slope) != (1, 1)
)
_PEAKS_AND_SLOPES = tuple(zip(*TRIANGLES, strict=True))


@dataclass(frozen=True)
class Choices:
    """What a class may choose: weights 1/K, 2/K, …, 1, then the triangular functions.

    With p itself, the weight 1, the functions are the nineteen of the reference: two of slope 1,
    three of slope 2, five of slope 4, nine of slope 8. Scores are K times as large as there, which
    changes no decision: weights alone so decide exactly as DNIP does.

    Parameters
    ----------
    scale : int
        K.

    References
    ----------
    Lin, Wang and You, "Ensemble Debiasing Across Class and Sample Levels for Fairer Prompting
    Accuracy", COLM 2025.

    Examples
    --------
    >>> choices = Choices(scale=30)
    >>> len(choices), choices.name(29), choices.name(choices.scale)
    (48, 'weight 30/30', 'triangle at 0, slope 1')
    >>> choices.values(np.array([0.25, 0.75]))[[29, 30, 35]]
    array([[ 7.5, 22.5],
           [22.5,  7.5],
           [30. ,  0. ]])
    """

    scale: int

    def __len__(self) -> int:
        """Return the number of choices."""
        return self.scale + len(TRIANGLES)

    def name(self, choice: int) -> str:
        """Describe a choice."""
        if choice < self.scale:
            return f"weight {choice + 1}/{self.scale}"
        peak, slope = TRIANGLES[choice - self.scale]
        return f"triangle at {peak:g}, slope {slope}"

    def values(self, column: Floats) -> Floats:
        """Return the score of one class under every choice, shape (choices, M).

        Parameters
        ----------
        column : ndarray of shape (M,)
            Its probabilities.
        """
        weights = np.arange(1.0, self.scale + 1)[:, None] * column
        peaks, slopes = (np.array(part, np.float64)[:, None] for part in _PEAKS_AND_SLOPES)
        heights = self.scale * np.maximum(1 - slopes * np.abs(column - peaks), 0)
        return np.vstack([weights, heights])

    def height(self, column: Floats, choice: int) -> Floats:
        """Return the score of one class under one choice, shape (M,)."""
        if choice < self.scale:
            return (choice + 1.0) * column
        peak, slope = TRIANGLES[choice - self.scale]
        return np.asarray(self.scale * np.maximum(1 - slope * np.abs(column - peak), 0))

    def scores(self, probabilities: Probabilities, chosen: Integers) -> Floats:
        """Return the score of every class under its choice, shape (M, N)."""
        scores = np.empty_like(probabilities)
        for c, choice in enumerate(chosen.tolist()):
            scores[:, c] = self.height(probabilities[:, c], choice)
        return scores


@dataclass(frozen=True, eq=False)
class MembershipCorrection(Correction):
    """A choice for each class; the class of the highest score wins, the lowest on a tie.

    A row in which every score is 0 keeps the argmax of its probabilities.

    Attributes
    ----------
    choices : Choices
    chosen : ndarray of shape (N,)
    notes : dict
        What the search tells.

    Examples
    --------
    >>> wanted = np.array([29, 30])  # p of the first class, 1 - p of the second
    >>> MembershipCorrection(Choices(30), wanted, {}).predict(np.array([[0.6, 0.4], [0.2, 0.8]]))
    array([0, 0])
    """

    choices: Choices
    chosen: Integers
    notes: dict[str, Any]

    def scores(self, probabilities: Probabilities) -> Floats:
        """Return the chosen scores, and the probabilities where all of them are 0."""
        scores = self.choices.scores(probabilities, self.chosen)
        silent = ~scores.any(axis=1)
        scores[silent] = probabilities[silent]
        return scores

    def to_dict(self) -> dict[str, Any]:
        """Return the choice of each class, in words."""
        return {"choices": [self.choices.name(int(c)) for c in self.chosen], **self.notes}
