"""From log-weights to weights of a scale that keep the constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dnip.base.typing import Floats, Integers, WeightIndices
from dnip.method.constraints import Constraints
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from dnip.method.solution import Solution
from dnip.priors.calibration import log_probabilities


class Rounded(NamedTuple):
    """Weights on a scale."""

    multipliers: Floats  # (N,) what probabilities are multiplied by
    indices: WeightIndices  # (N,) 1..K


def round_to_scale(log_weights: Floats, scale: WeightScale, *, anchored: bool = False) -> Rounded:
    """Return the weights of a scale whose ratios come closest to those of log-weights.

    Predictions depend on ratios alone, so the largest weight may be anywhere on the scale. The
    place with the least squared error of the log-weights is chosen, the highest one on a tie.

    Parameters
    ----------
    log_weights : ndarray of shape (N,)
    scale : WeightScale
    anchored : bool, default=False
        Whether the largest weight must be 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip.method.scales import WeightScale
    >>> round_to_scale(np.log([0.7, 0.4, 0.1]), WeightScale.of(30)).indices
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
    indices = np.asarray(candidates[best] + 1, np.int64)
    return Rounded(scale.multipliers(indices), indices)


def with_least(rounded: Rounded, absent: Sequence[int], scale: WeightScale) -> Rounded:
    """Return the weights with the lowest weight of the scale for absent classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip.method.scales import WeightScale
    >>> scale = WeightScale.of(30)
    >>> with_least(round_to_scale(np.zeros(3), scale), [1], scale).indices
    array([30,  1, 30])
    """
    if not len(absent):
        return rounded
    indices = rounded.indices.copy()
    indices[list(absent)] = 1
    return Rounded(scale.multipliers(indices), indices)


_STEPS = 20
# Log-odds by which a raised class comes ahead: more than rounding to a scale can take away.
_CLEAR = 0.02


class ConstraintRepair:
    """Changes the weights of a robust fit so that they keep the constraints on labelled rows.

    Attributes
    ----------
    demands : Demands
    freezing : Constraints
        Those on frozen classes alone: every search of the fit keeps them.
    anchored : bool
        Whether any class is frozen, so that the largest weight must be 1.
    raw_keeps : bool
        Whether the raw argmax keeps all constraints. If not, a search for weights that do has a
        time limit of its own: if it were cut short, there would be nothing to return.
    """

    def __init__(self, constraints: Constraints, problem: Problem) -> None:
        self.demands = constraints.on(problem.classes, problem.present)
        self._frozen = self.demands.frozen
        self.freezing = Constraints(freeze=self._frozen, allow_silence=True)
        self.anchored = bool(self._frozen)
        self._problem = problem
        self._raw = self._count_correct(np.ones(problem.n_classes))
        true = problem.class_counts
        self._least = self.demands.correct_counts(true, self._raw)
        self._total = self.demands.total_count(int(self._raw.sum()), int(true.sum()))
        self.raw_keeps = self._are_enough(self._raw)

    def freeze(self, log_weights: Floats) -> Floats:
        """Return log-weights with those of frozen classes at 0 and no other above."""
        return freeze(log_weights, self._frozen)

    def unsilence(self, log_weights: Floats) -> Floats:
        """Raise each silenced class just far enough to be right once.

        A class is silenced if the raw argmax gets it right on some rows and the weights on none.
        The row that needs the smallest change is chosen.
        """
        if not self.demands.no_silence:
            return log_weights
        raised = log_weights.copy()
        problem = self._problem
        silenced = (self._count_correct(np.exp(raised)) == 0) & (self._raw > 0)
        for c in np.flatnonzero(silenced).tolist():
            p = problem.probabilities[problem.labels == c]
            scores = log_probabilities(p) + raised
            own = scores[:, c].copy()
            scores[:, c] = -np.inf
            raised[c] += max((scores.max(axis=1) - own).min(), 0.0) + _CLEAR
        return raised

    def repair(
        self,
        weights: Rounded,
        find_optimum: Callable[[], Solution],
        scale: WeightScale,
        absent: Sequence[int] = (),
    ) -> tuple[Rounded, float]:
        """Return the first weights on the way to others that keep the constraints.

        These are equal weights where a limit on lost accuracy is asked for and equal weights keep
        all constraints: losing less by them holds on other rows, too. Else they are an optimum.

        Parameters
        ----------
        weights : Rounded
        find_optimum : callable
            Returns an optimum that keeps the constraints; called only if `weights` do not.
        scale : WeightScale
        absent : sequence of int
            Classes with the least weight.

        Returns
        -------
        weights : Rounded
        part : float
            Part of the way to the optimum, 0..1.
        """
        if self.keeps(weights.multipliers):
            return weights, 0.0
        if self.raw_keeps and self.demands.max_accuracy_loss is not None:
            end = round_to_scale(np.zeros(self._problem.n_classes), scale, anchored=True)
        else:
            optimum = find_optimum()
            end = Rounded(optimum.multipliers, optimum.weight_indices)
        return go_until_kept(weights, end, self.keeps, scale, absent, anchored=self.anchored)

    def summary(self, multipliers: Floats) -> dict[str, Any] | None:
        """Return what was asked for and what multipliers reach; None if nothing was asked for."""
        if not (self.demands.are_asked or self.demands.frozen):
            return None
        problem = self._problem
        equal = np.ones(problem.n_classes)
        raw, reached = (
            problem.in_examples(problem.confusion(each)) for each in (equal, multipliers)
        )
        return self.demands.to_dict(reached, raw)

    def keeps(self, multipliers: Floats) -> bool:
        """Whether enough rows are right under multipliers of shape (N,)."""
        return self._are_enough(self._count_correct(multipliers))

    def _are_enough(self, correct: Integers) -> bool:
        return bool((correct >= self._least).all() and correct.sum() >= self._total)

    def _count_correct(self, multipliers: Floats) -> Integers:
        return np.diag(self._problem.confusion(multipliers))


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
        As for :func:`~dnip.fitting.robust.constraint_repair.round_to_scale`.

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
        between = with_least(between, absent, scale)
        if keeps(between.multipliers):
            return between, part
    return end, 1.0
