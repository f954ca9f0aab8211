"""Constraints in a robust fit: its weights go toward the optimum that keeps them until they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.fitting.robust.rounding import Rounded, lower, round_to_scale
from dnip.method.constraints import Constraints
from dnip.priors.calibration import log_probabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnip.base.typing import Counts, Floats, Integers
    from dnip.method.problem import Problem
    from dnip.method.scales import WeightScale
    from dnip.method.solution import Solution

_STEPS = 20
# Log-odds by which a class that was silenced comes ahead: more than rounding to a scale takes.
_CLEAR = 0.02


class Keeper:
    """Constraints on the labelled rows of a robust fit.

    Attributes
    ----------
    demands : Demands
    freezing : Constraints
        Those on frozen classes alone, which hold in every search of the fit.
    anchored : bool
        Whether any class is frozen, so that the largest weight has to be 1.
    may_stay : bool
        Whether the raw argmax keeps them all. If not, a search for what does has a time limit of
        its own: cut short, it would have nothing to return.
    """

    def __init__(self, constraints: Constraints, problem: Problem) -> None:
        self.demands = constraints.on(problem.classes, problem.present)
        self._frozen = self.demands.frozen
        self.freezing = Constraints(freeze=self._frozen, allow_silence=True)
        self.anchored = bool(self._frozen)
        self._problem = problem
        self._raw = self._count_correct(np.ones(problem.n_classes))
        self._least = self.demands.correct_counts(problem.class_mass, self._raw)
        self._total = self.demands.total_count(int(self._raw.sum()), int(problem.class_mass.sum()))
        self.may_stay = self._are_enough(self._raw)

    def freeze(self, log_weights: Floats) -> Floats:
        """Return log-weights with those of frozen classes at 0 and no other above."""
        return freeze(log_weights, self._frozen)

    def wake(self, log_weights: Floats) -> Floats:
        """Raise silenced classes just so far that each is right once more.

        Of a class that the raw argmax gets right on some rows, the row that needs least is taken.
        """
        if not self.demands.no_silence:
            return log_weights
        awake = log_weights.copy()
        problem = self._problem
        silenced = (self._count_correct(np.exp(awake)) == 0) & (self._raw > 0)
        for c in np.flatnonzero(silenced).tolist():
            p = problem.probabilities[problem.labels == c]
            scores = log_probabilities(p) + awake
            own = scores[:, c].copy()
            scores[:, c] = -np.inf
            awake[c] += max((scores.max(axis=1) - own).min(), 0.0) + _CLEAR
        return awake

    def correct(
        self,
        weights: Rounded,
        find_optimum: Callable[[], Solution],
        scale: WeightScale,
        absent: Sequence[int] = (),
    ) -> tuple[Rounded, float]:
        """Return the first weights on the way to an optimum that keep all floors, and how far.

        Parameters
        ----------
        weights : Rounded
        find_optimum : callable
            Returns an optimum that keeps them; called only if `weights` do not.
        scale : WeightScale
        absent : sequence of int
            Classes with the least weight.
        """
        if self.keeps(weights.multipliers):
            return weights, 0.0
        optimum = find_optimum()
        indices = optimum.weight_indices
        multipliers = optimum.continuous_weights
        end = Rounded(scale.multipliers(indices) if multipliers is None else multipliers, indices)
        return go_until_kept(weights, end, self.keeps, scale, absent, anchored=self.anchored)

    def told(self, confusion: Counts, raw: Counts) -> dict[str, Any] | None:
        """Return what was asked for and what is reached, None where nothing was."""
        asked = self.demands.are_asked or self.demands.frozen
        return self.demands.to_dict(confusion, raw) if asked else None

    def keeps(self, multipliers: Floats) -> bool:
        """Whether enough is right under multipliers of shape (N,)."""
        return self._are_enough(self._count_correct(multipliers))

    def _are_enough(self, correct: Integers) -> bool:
        return bool((correct >= self._least).all() and correct.sum() >= self._total)

    def _count_correct(self, multipliers: Floats) -> Integers:
        problem = self._problem
        right = (multipliers * problem.probabilities).argmax(axis=1) == problem.labels
        correct = np.zeros(problem.n_classes, np.int64)
        np.add.at(correct, problem.labels[right], problem.mass[right])
        return correct


def freeze(log_weights: Floats, frozen: Sequence[int]) -> Floats:
    """Return log-weights with those of frozen classes at 0 and no other above.

    Examples
    --------
    >>> import numpy as np
    >>> freeze(np.array([0.1, -0.2, 0.3]), [0])
    array([ 0. , -0.3,  0. ])
    """
    if not len(frozen):
        return log_weights
    classes = list(frozen)
    anchored = np.minimum(log_weights - log_weights[classes].mean(), 0.0)
    anchored[classes] = 0.0
    return np.asarray(anchored)


def go_until_kept(
    start: Rounded,
    end: Rounded,
    keeps: Callable[[Floats], bool],
    scale: WeightScale,
    absent: Sequence[int] = (),
    *,
    anchored: bool = False,
) -> tuple[Rounded, float]:
    """Return the first weights on the way from `start` to `end` that keep the constraints.

    Parameters
    ----------
    start, end : Rounded
        Weights, the last of which keep them.
    keeps : callable
        Whether multipliers keep the constraints on the labelled rows.
    scale : WeightScale
    absent : sequence of int
        Classes with the least weight.
    anchored : bool
        As for :func:`~dnip.fitting.robust.rounding.round_to_scale`.

    Returns
    -------
    weights : Rounded
    part : float
        Part of the way, 0..1, in logarithms of weights.
    """
    if keeps(start.multipliers):
        return start, 0.0
    here, there = np.log(start.multipliers), np.log(end.multipliers)
    for step in range(1, _STEPS):
        part = step / _STEPS
        between = round_to_scale((1 - part) * here + part * there, scale, anchored=anchored)
        between = lower(between, absent, scale)
        if keeps(between.multipliers):
            return between, part
    return end, 1.0
