"""Weights on a scale that keep constraints: rounded, raised, frozen, or moved to an optimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dnip.base.typing import Counts, Floats, Integers, WeightIndices
from dnip.method.constraints import Constraints
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from dnip.method.solution import Solution

_STEPS = 20
# Log-odds by which a raised class comes ahead: more than rounding to a scale can take away.
_CLEAR = 0.02


class ConstraintRepair:
    """Changes the weights of a robust fit so that they keep the constraints on labelled rows.

    Attributes
    ----------
    demands : Demands
    raw_keeps : bool
        Whether the raw argmax keeps all constraints. If not, a search for weights that do has a
        time limit of its own: if it were cut short, there would be nothing to return.
    """

    def __init__(self, constraints: Constraints, problem: Problem) -> None:
        self.demands = constraints.on(problem.classes, problem.present)
        self._problem = problem
        self._raw = problem.confusion(np.ones(problem.n_classes))
        self._least, self._total = self.demands.floors(problem.class_counts, np.diag(self._raw))
        self.raw_keeps = self._are_enough(np.diag(self._raw))

    def unsilence(self, log_weights: Floats) -> Floats:
        """Raise each silenced class just far enough to be right once.

        A class is silenced if the raw argmax gets it right on some rows and the weights on none.
        The row that needs the smallest change is chosen.
        """
        raised, problem = log_weights.copy(), self._problem
        correct = np.diag(problem.confusion(np.exp(raised)))
        silenced = (correct == 0) & (np.diag(self._raw) > 0) & self.demands.no_silence
        for c in np.flatnonzero(silenced).tolist():
            p = problem.probabilities[problem.labels == c]
            with np.errstate(divide="ignore"):
                scores = np.log(p) + raised
            own = scores[:, c].copy()
            scores[:, c] = -np.inf
            missing = float((scores.max(axis=1) - own).min())
            if missing < np.inf:
                raised[c] += max(missing, 0.0) + _CLEAR
        return raised

    def freeze(self, log_weights: Floats) -> Floats:
        """Return log-weights with those of frozen classes at 0 and no other above."""
        frozen = list(self.demands.frozen)
        if not frozen:
            return log_weights
        anchored = np.minimum(log_weights - log_weights[frozen].mean(), 0.0)
        anchored[frozen] = 0.0
        return np.asarray(anchored)

    def round_to_scale(
        self, log_weights: Floats, scale: WeightScale, absent: Sequence[int]
    ) -> WeightIndices:
        """Return the indices nearest to log-weights; absent classes get the least weight."""
        indices = round_to_scale(log_weights, scale, anchored=bool(self.demands.frozen))
        indices[list(absent)] = 1
        return indices

    def repair(
        self,
        indices: WeightIndices,
        find_optimum: Callable[[], Solution],
        scale: WeightScale,
        absent: Sequence[int] = (),
    ) -> tuple[WeightIndices, float]:
        """Return the first weights on the way to others that keep the constraints.

        These are equal weights where a limit on lost accuracy is asked for and equal weights keep
        all constraints: losing less by them holds on other rows, too. Else they are an optimum.

        Parameters
        ----------
        indices : ndarray of shape (N,)
            Weight indices.
        find_optimum : callable
            Returns an optimum that keeps the constraints; called only if the weights do not.
        scale : WeightScale
        absent : sequence of int
            Classes with the least weight.

        Returns
        -------
        indices : ndarray of shape (N,)
        part : float
            Part of the way to the optimum, 0..1, in logarithms of weights.
        """
        if self.keeps(scale.multipliers(indices)):
            return indices, 0.0
        if self.raw_keeps and self.demands.max_accuracy_loss is not None:
            end = np.full(len(indices), scale.size)
        else:
            end = find_optimum().weight_indices
        here, there = (np.log(scale.multipliers(each)) for each in (indices, end))
        for step in range(1, _STEPS):
            part = step / _STEPS
            between = self.round_to_scale((1 - part) * here + part * there, scale, absent)
            if self.keeps(scale.multipliers(between)):
                return between, part
        return end, 1.0

    def summary(self, confusion: Counts) -> dict[str, Any] | None:
        """Return what was asked for and what a confusion matrix reaches, if anything was."""
        return self.demands.to_dict(confusion, self._problem.in_examples(self._raw))

    def keeps(self, multipliers: Floats) -> bool:
        """Whether enough rows are right under multipliers of shape (N,)."""
        return self._are_enough(np.diag(self._problem.confusion(multipliers)))

    def _are_enough(self, correct: Integers) -> bool:
        return bool((correct >= self._least).all() and correct.sum() >= self._total)


def round_to_scale(
    log_weights: Floats, scale: WeightScale, *, anchored: bool = False
) -> WeightIndices:
    """Return the weights of a scale whose ratios come closest to those of log-weights.

    Predictions depend on ratios alone, so the largest weight may be anywhere on the scale. The
    place with the least squared error of the log-weights is chosen, the highest one on a tie.

    Parameters
    ----------
    log_weights : ndarray of shape (N,)
    scale : WeightScale
    anchored : bool, default=False
        Whether the largest weight must be 1.

    Returns
    -------
    ndarray of shape (N,)
        Weight indices, 1..K.

    Examples
    --------
    >>> round_to_scale(np.log([0.7, 0.4, 0.1]), WeightScale.of(30))
    array([28, 16,  4])
    """
    ratios = log_weights - log_weights.max()
    levels = np.log(scale.levels)
    borders = (levels[:-1] + levels[1:]) / 2
    tops = levels[-1:] if anchored else levels[::-1]
    candidates = np.searchsorted(borders, tops[:, None] + ratios)
    error = levels[candidates] - ratios
    error -= error.mean(axis=1, keepdims=True)
    loss = (error**2).sum(axis=1)
    best = np.flatnonzero(np.isclose(loss, loss.min(), atol=1e-12))[0]
    return np.asarray(candidates[best] + 1, np.int64)
