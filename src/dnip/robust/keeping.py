"""Constraints in a robust fit: its weights go toward the optimum that keeps them until they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.constraints import Constraints
from dnip.robust.rounding import Rounded, lower, round_to_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnip.problem import Problem
    from dnip.scales import WeightScale
    from dnip.solution import Solution
    from dnip.typing import Counts, Floats, Integers

_STEPS = 20


class Keeper:
    """Constraints on the labelled rows of a robust fit, if there are any.

    Attributes
    ----------
    demands : Demands or None
    has_floors : bool
        Whether any number of right predictions is asked for.
    freezing : Constraints
        Those on frozen classes alone, which hold in every search of the fit.
    anchored : bool
        Whether any class is frozen, so that the largest weight has to be 1.
    """

    def __init__(self, constraints: Constraints | None, problem: Problem) -> None:
        self.demands = constraints.on(problem.classes, problem.present) if constraints else None
        self.has_floors = self.demands is not None and self.demands.has_floors
        self._frozen = () if self.demands is None else self.demands.frozen
        self.freezing = Constraints(freeze=self._frozen)
        self.anchored = bool(self._frozen)
        self._problem = problem

    def freeze(self, log_weights: Floats) -> Floats:
        """Return log-weights with those of frozen classes at 0 and no other above."""
        return freeze(log_weights, self._frozen)

    def correct(
        self,
        weights: Rounded,
        optimum: Solution | None,
        scale: WeightScale,
        absent: Sequence[int] = (),
    ) -> tuple[Rounded, float | None]:
        """Return the first weights on the way to an optimum that keep all floors, and how far.

        Parameters
        ----------
        weights : Rounded
        optimum : Solution or None
            It keeps them; None where no floors are asked for, and there is nowhere to go.
        scale : WeightScale
        absent : sequence of int
            Classes with the least weight.
        """
        if optimum is None or not self.has_floors:
            return weights, None
        indices = optimum.weight_indices
        multipliers = optimum.continuous_weights
        end = Rounded(scale.multipliers(indices) if multipliers is None else multipliers, indices)
        return go_until_kept(
            weights, end, self._make_check(), scale, absent, anchored=self.anchored
        )

    def told(self, confusion: Counts, raw: Counts) -> dict[str, Any] | None:
        """Return what was asked for and what is reached, None where nothing was."""
        return None if self.demands is None else self.demands.to_dict(confusion, raw)

    def _make_check(self) -> Callable[[Floats], bool]:
        demands, problem = self.demands, self._problem
        assert demands is not None
        raw = self._count_correct(np.ones(problem.n_classes))
        least = demands.correct_counts(problem.class_mass)
        total = demands.total_count(int(raw.sum()), int(problem.class_mass.sum()))

        def keeps(multipliers: Floats) -> bool:
            correct = self._count_correct(multipliers)
            return bool((correct >= least).all() and correct.sum() >= total)

        return keeps

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
        As for :func:`~dnip.robust.rounding.round_to_scale`.

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
