"""Membership or weight: each class takes a weight or a triangular function of its probability."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import unwarned
from dnip.base.validation import check_scale
from dnip.comparing.baselines.base import Correction, Method
from dnip.method.objective import Objective
from dnip.metrics import confusion_matrix
from dnip.solvers import solve
from reproduction.plain_objective import PlainObjective

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Integers, Labels, Probabilities
    from dnip.comparing.baselines.base import OptSet

#: Peaks and slopes of the authors' functions max(0, 1 - slope·|p - peak|), with peaks 1/slope
#: apart. The function of peak 1 and slope 1 is p itself, which is the weight 1.
TRIANGLES = tuple(
    (step / slope, slope)
    for slope in (1, 2, 4, 8)
    for step in range(slope + 1)
    if (step, slope) != (1, 1)
)

# Line searches: a base, and so many per class.
_BASE, _PER_CLASS = 120, 12
_RANDOM_STARTS = 4
# What an objective must be lower by to count as lower: sums of rates are rounded.
_TOLERANCE = 1e-12


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
        peaks, slopes = np.array(TRIANGLES).T[:, :, None]
        heights = self.scale * np.maximum(1 - slopes * np.abs(column - peaks), 0)
        return np.vstack([weights, heights])

    def scores(self, probabilities: Probabilities, chosen: Integers) -> Floats:
        """Return the score of every class under its choice, shape (M, N)."""
        columns = zip(probabilities.T, chosen, strict=True)
        return np.column_stack([self.values(column)[choice] for column, choice in columns])


@dataclass(frozen=True, eq=False)
class MembershipCorrection(Correction):
    """A choice for each class; the class of the highest score wins, the lowest on a tie.

    A row in which every score is 0 keeps the argmax of its probabilities.

    Attributes
    ----------
    choices : Choices
    chosen : ndarray of shape (N,)
    notes : dict
        The objective and its terms.

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


@dataclass(frozen=True)
class Membership(Method):
    """The authors' follow-up, DCS: every class takes a weight or a triangular function.

    Searched by coordinates, like DNIP: with all classes but one fixed, one pass over the rows
    counts the confusion of every choice of that class. Descents start from the optimum of weights
    alone, the raw argmax and random choices; then some classes of the best choose at random, and it
    descends again. So the objective is never above that of weights alone.

    A class without labels keeps the weight that DNIP gives it.

    Parameters
    ----------
    objective : Objective
        With all terms, COBias over pairs.
    scale : int, default=30
        K of the weights.

    References
    ----------
    Lin, Wang and You, "Ensemble Debiasing Across Class and Sample Levels for Fairer Prompting
    Accuracy", COLM 2025.

    Examples
    --------
    >>> from dnip.comparing.baselines import OptSet
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]] * 10  # the second class wins between two others
    >>> fitted = Membership().fit(OptSet.of(p, [0, 0, 1] * 10))
    >>> fitted.predict(np.array(p[:3])), fitted.notes["terms"]["error"]
    (array([0, 0, 1]), 0.0)
    """

    objective: Objective = field(default_factory=Objective)
    scale: int = 30

    name = "membership"
    summary = "a weight or one of 19 triangular functions for each class"
    seeded = True

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def fit(self, opt: OptSet, seed: int = 0) -> MembershipCorrection:
        """Search the choices of all classes."""
        p, labels, n = opt.probabilities, opt.labels, opt.n_classes
        choices = Choices(self.scale)
        lines = _Lines(p, labels, choices, self.objective)
        rng = np.random.default_rng(seed)
        free = np.flatnonzero(opt.present)
        with unwarned():
            weights = solve(
                p, labels, self.objective, scale=self.scale, seed=seed, classes=opt.classes
            ).weight_indices

        def redrawn(chosen: Integers, classes: Integers) -> Integers:
            """Let some classes choose at random: a weight or a function, equally likely."""
            ends = (0, self.scale), (self.scale, len(choices))
            drawn = chosen.copy()
            drawn[classes] = [rng.integers(*ends[rng.integers(2)]) for _ in classes]
            return drawn

        alone = weights - 1
        starts = [alone, np.where(opt.present, self.scale - 1, alone)]
        starts += [redrawn(alone, free) for _ in range(_RANDOM_STARTS)]
        reached = [lines.descend(start, rng.permutation(free)) for start in starts]
        value, chosen = min(reached, key=lambda found: found[0])
        while lines.searched < _BASE + _PER_CLASS * n:
            touched = rng.permutation(free)[: rng.choice([1, 2, max(1, len(free) // 3)])]
            new_value, new = lines.descend(redrawn(chosen, touched), rng.permutation(free))
            if new_value <= value:
                value, chosen = new_value, new

        correction = MembershipCorrection(choices, chosen, {})
        confusion = confusion_matrix(labels, correction.predict(p), n)
        terms = self.objective.terms_of(confusion)
        correction.notes.update(objective=self.objective(confusion), terms=terms)
        return correction


class _Lines:
    """Lines through choices: one class varies, the others stay; `searched` counts them."""

    def __init__(
        self, probabilities: Probabilities, labels: Labels, choices: Choices, objective: Objective
    ) -> None:
        self._p, self._choices = probabilities, choices
        self._n = probabilities.shape[1]
        self._raw = probabilities.argmax(axis=1)
        # choice, label and prediction of a row make one cell of a flat tally
        self._cells = np.arange(len(choices))[:, None] * self._n**2 + labels * self._n
        self._objective = PlainObjective(labels, self._n, objective)
        self.searched = 0

    def descend(self, start: Integers, order: Integers) -> tuple[float, Integers]:
        """Search the classes of `order` in turn until none can do better by itself.

        A class moves only where another choice is better: every move lowers the objective, so the
        descent ends.
        """
        chosen = start.copy()
        scores = self._choices.scores(self._p, chosen)
        at_rest = 0
        for c in cycle(order.tolist()):
            own = self._choices.values(self._p[:, c])
            values = self._along(scores, own, c)
            best = int(values.argmin())
            at_rest += 1
            if values[best] < values[chosen[c]] - _TOLERANCE:
                at_rest = 1
                chosen[c] = best
                scores[:, c] = own[best]
            if at_rest == len(order):
                return float(values[chosen[c]]), chosen
        raise AssertionError("a problem has two classes with labels")

    def _along(self, scores: Floats, own: Floats, c: int) -> Floats:
        """Return the objective for every choice of one class, shape (choices,)."""
        self.searched += 1
        others = scores.copy()
        others[:, c] = -1.0
        rival, height = others.argmax(axis=1), others.max(axis=1)
        winner = np.where((own > height) | ((own == height) & (c < rival)), c, rival)
        # a row in which every score is 0 keeps its raw argmax
        winner = np.where((own == 0) & (height == 0), self._raw, winner)
        n_choices = len(self._choices)
        counts = np.bincount((self._cells + winner).ravel(), minlength=n_choices * self._n**2)
        values: Floats = self._objective(counts.reshape(n_choices, self._n, self._n))
        return values
