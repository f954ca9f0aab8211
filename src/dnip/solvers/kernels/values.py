"""The objective Z (equation 2) as a function of confusion counts, for the inner loops.

:class:`dnip.method.objective.Objective` computes the same from rates; tests compare the two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.jit import lean

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers


#: A point that misses a floor has the value MISSED·(1 + shortfall). That is far above any
#: objective, and the values of all other points are not changed by a single bit.
MISSED = 2.0**1000


class Floors(NamedTuple):
    """Correct counts that must be reached, 0 where none is asked for."""

    correct: Integers  # (N,) of each class; (0,) where nothing at all is asked for
    total: int  # of all classes together


def no_floors() -> Floors:
    """Return floors that ask for nothing."""
    return Floors(np.zeros(0, np.int64), 0)


class Terms(NamedTuple):
    """The numbers that turn counts into Z; a factor of 0 leaves its term out."""

    error: float  # factor of the error rate: 1 or 0
    cobias: float  # factor of the mean over pairs of classes: β or 0
    single: float  # factor of the mean over odd classes: β or 0
    tau: float  # factor of ΣPMI
    smoothing: float  # μ, in the unit of the counts
    costs: Floats = np.zeros((0, 0))  # (N, N) of true and predicted class; (0, 0): none
    floors: Floors = no_floors()


class Memo(NamedTuple):
    """What one evaluation can reuse from the one before, because few classes change between two."""

    true: Integers  # (N,) examples of each class
    total: float  # of all classes
    pmi_constant: Floats  # (N,) the part of PMI_j that no prediction changes
    correct: Integers  # (N,) correct counts that `accuracy` and `pmi` were computed for
    predicted: Integers  # (N,) predicted counts that `pmi` was computed for
    accuracy: Floats  # (N,)
    pmi: Floats  # (N,)
    ranking: Integers  # (classes with examples,) in ascending order of accuracy


def new_memo(true: Integers, smoothing: float) -> Memo:
    """Make an empty memo for class counts `true` of shape (N,)."""
    n_classes = len(true)
    total = true.sum()
    pmi_constant = (
        2 * np.log(total + smoothing * n_classes)
        - np.log(total + smoothing * n_classes**2)
        - np.log(true + smoothing)
    )
    unseen = np.full(n_classes, -1, np.int64)
    zeros = np.zeros(n_classes)
    return Memo(
        true,
        float(total),
        pmi_constant,
        unseen,
        unseen.copy(),
        zeros,
        zeros.copy(),
        np.flatnonzero(true),
    )


@lean
def value(confusion: Confusion, predicted: Integers, terms: Terms, memo: Memo) -> float:
    """Z of confusion counts of shape (N, N) whose column sums are `predicted`."""
    n_classes = len(predicted)
    n_correct = 0
    pmi_sum = 0.0
    for j in range(n_classes):
        correct = confusion[j, j]
        n_correct += correct
        if correct != memo.correct[j] or predicted[j] != memo.predicted[j]:
            memo.correct[j] = correct
            memo.predicted[j] = predicted[j]
            if memo.true[j] > 0:
                memo.accuracy[j] = correct / memo.true[j]
            if terms.tau != 0.0:
                memo.pmi[j] = memo.pmi_constant[j] + math.log(
                    (correct + terms.smoothing) / (predicted[j] + terms.smoothing)
                )
        pmi_sum += memo.pmi[j]
    if len(terms.floors.correct) > 0:
        missing = shortfall(memo.correct, terms.floors, memo.true)
        if missing > 0.0:
            return MISSED * (1.0 + missing)
    # equation 2, as in Objective.__call__
    z = terms.error * (1.0 - n_correct / memo.total) - terms.tau * pmi_sum
    if len(terms.costs) > 0:
        z += cost_of(confusion, terms.costs) / memo.total
    if terms.cobias != 0.0:
        z += terms.cobias * _cobias(memo)
    if terms.single != 0.0:
        z += terms.single * _cobias_single(confusion, memo)
    return z


@lean
def shortfall(correct: Integers, floors: Floors, true: Integers) -> float:
    """By how much correct counts of shape (N,) miss their floors: the sum, in rates."""
    missing = 0.0
    n_correct = n_examples = 0
    for n in range(len(correct)):
        n_correct += correct[n]
        n_examples += true[n]
        if correct[n] < floors.correct[n]:
            missing += (floors.correct[n] - correct[n]) / true[n]
    if n_correct < floors.total:
        missing += (floors.total - n_correct) / n_examples
    return missing


@lean
def cost_of(confusion: Confusion, costs: Floats) -> float:
    """Sum costs of shape (N, N) over the examples of confusion counts."""
    total = 0.0
    for i in range(len(costs)):
        for j in range(len(costs)):
            total += costs[i, j] * confusion[i, j]
    return total


@lean
def _cobias(memo: Memo) -> float:
    """Equation 1: over ascending A, Σ_{i<j} |A_j - A_i| = Σ_i (2i - n + 1) A_i."""
    ranking = memo.ranking
    accuracy = memo.accuracy
    n = len(ranking)
    for i in range(1, n):  # insertion sort: the last ranking is almost right
        j = ranking[i]
        a = accuracy[j]
        k = i - 1
        while k >= 0 and accuracy[ranking[k]] > a:
            ranking[k + 1] = ranking[k]
            k -= 1
        ranking[k + 1] = j
    total = 0.0
    for i in range(n):
        total += (2 * i - n + 1) * accuracy[ranking[i]]
    return total / (n * (n - 1) / 2)


@lean
def _cobias_single(confusion: Confusion, memo: Memo) -> float:
    """Appendix A.2: mean over classes of |A_odd(i) - A_i|, where both have examples."""
    n_classes = confusion.shape[0]
    total = 0.0
    n_averaged = 0
    for i in range(n_classes):
        if memo.true[i] == 0:
            continue
        odd = -1
        most = 0
        for j in range(n_classes):
            if j != i and confusion[i, j] > most:
                most = confusion[i, j]
                odd = j
        if odd < 0:
            n_averaged += 1
        elif memo.true[odd] > 0:
            n_averaged += 1
            total += abs(memo.accuracy[odd] - memo.accuracy[i])
    return total / n_averaged if n_averaged > 0 else 0.0
