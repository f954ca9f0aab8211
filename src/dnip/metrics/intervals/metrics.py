"""The confidence interval of each metric, and of what changes between two sets of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.validation import check_level
from dnip.metrics.cobias import cobias_of, odd_classes
from dnip.metrics.intervals.gaps import GapTest, difference_of, gap_correlation
from dnip.metrics.intervals.hierarchy import draw_accuracies
from dnip.metrics.intervals.proportions import mean_bounds, paired_bounds, wilson

if TYPE_CHECKING:
    from dnip.base.typing import Counts, Floats

#: Draws of class accuracies for a worst class.
_DRAWS = 2_000
# The ends of two intervals are less correlated than the values. Measured: with the whole
# correlation, 90 % intervals hold the change of COBias 83 % of the time; with half of it, 88 %.
_TOGETHER = 0.5
# The draws are the same at every call.
_SEED = 0

#: The metrics whose change on the same rows has an interval.
PAIRED = ("accuracy", "cobias")

#: Low and high.
Interval = list[float]


def accuracy_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of the accuracy."""
    hits, sizes = _hits_and_sizes(confusion)
    bounds: Interval = wilson([hits.sum()], [sizes.sum()], level)[0].tolist()
    return bounds


def class_accuracy_intervals(confusion: Counts, level: float) -> list[Interval | None]:
    """Return the interval of each class accuracy; None for a class without rows."""
    sizes = confusion.sum(axis=1)
    bounds = wilson(np.diag(confusion), sizes, level).tolist()
    return [found if size else None for found, size in zip(bounds, sizes, strict=True)]


def balanced_accuracy_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of the mean of the class accuracies."""
    return list(mean_bounds(*_hits_and_sizes(confusion), level))


def worst_class_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of the lowest class accuracy, from draws of all of them."""
    worst = draw_accuracies(*_hits_and_sizes(confusion), _DRAWS, _rng()).min(axis=1)
    bounds: Interval = np.quantile(worst, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return bounds


def cobias_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of COBias."""
    bounds = cobias_test(*_hits_and_sizes(confusion), level).bounds(level)
    return [bounds.low, bounds.high]


def cobias_single_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of COBias_single, given the odd classes of these rows."""
    gap = _SingleGap(confusion, np.flatnonzero(confusion.sum(axis=1)))
    bounds = GapTest(*_hits_and_sizes(confusion), gap, _rng(), level).bounds(level)
    return [bounds.low, bounds.high]


def _hits_and_sizes(confusion: Counts) -> tuple[Floats, Floats]:
    """Return the rows predicted right, and all rows, of each class that has rows."""
    sizes = confusion.sum(axis=1)
    present = sizes > 0
    return np.diag(confusion)[present].astype(float), sizes[present].astype(float)


def difference_intervals(agreement: Counts, level: float = 0.9) -> dict[str, Any]:
    """Return the intervals of what changes between two sets of weights on the same rows.

    Parameters
    ----------
    agreement : ndarray of shape (N, 2, 2)
        Rows of each class by whether the first and whether the second set got them right.
    level : float, default=0.9

    Returns
    -------
    dict
        ``[low, high]`` of second less first for ``accuracy`` and ``cobias``, and a list of them,
        None for a class without rows, under ``class_accuracies``.

    Examples
    --------
    >>> agreement = np.array([[[2, 2], [8, 88]], [[30, 40], [2, 28]]])
    >>> intervals = difference_intervals(agreement)
    >>> [round(bound, 2) for bound in intervals["accuracy"]]
    [0.1, 0.22]
    >>> [round(bound, 2) for bound in intervals["cobias"]]
    [-0.55, -0.31]
    """
    check_level("confidence", level)
    sizes = agreement.sum(axis=(1, 2)).astype(np.float64)
    gained, lost = agreement[:, 0, 1], agreement[:, 1, 0]
    present = np.flatnonzero(sizes)
    by_class = paired_bounds(gained, lost, sizes, level).tolist()
    first, second = agreement[:, 1, :].sum(axis=1), agreement[:, :, 1].sum(axis=1)
    before, after = (
        cobias_test(hits[present].astype(np.float64), sizes[present], level).bounds(level)
        for hits in (first, second)
    )
    together = gap_correlation(agreement[present], before.middle, after.middle, cobias_of, _rng())
    change = difference_of(before, after, _TOGETHER * together)
    bounds = paired_bounds([gained.sum()], [lost.sum()], [sizes.sum()], level)[0]
    return {
        "accuracy": bounds.tolist(),
        "cobias": [change.low, change.high],
        "class_accuracies": [by_class[c] if n else None for c, n in enumerate(sizes)],
    }


def cobias_test(hits: Floats, sizes: Floats, level: float = 0.9) -> GapTest:
    """Return the test that gives intervals of COBias, at levels up to this one.

    Examples
    --------
    >>> bounds = cobias_test(np.array([45.0, 30.0]), np.array([50.0, 50.0])).bounds(0.9)
    >>> round(bounds.low, 2), round(bounds.high, 2)
    (0.15, 0.43)
    """
    return GapTest(hits, sizes, cobias_of, _rng(), level)


def _rng() -> np.random.Generator:
    return np.random.default_rng(_SEED)


class _SingleGap:
    """COBias_single of class accuracies, with the odd classes of a confusion matrix."""

    def __init__(self, confusion: Counts, present: np.ndarray) -> None:
        odd = odd_classes(confusion)[present]
        place = np.full(len(confusion) + 1, -1)  # the last stands for no odd class
        place[present] = np.arange(len(present))
        self._odd = place[odd]
        self._classes = np.flatnonzero(self._odd >= 0)
        # a class whose odd class has no rows is left out of the mean, one without an error is not
        self._n_averaged = len(present) - np.count_nonzero((odd >= 0) & (self._odd < 0))

    def __call__(self, accuracies: Floats) -> Floats:
        if not len(self._classes):
            return np.zeros(accuracies.shape[:-1])
        gaps = np.abs(accuracies[..., self._odd[self._classes]] - accuracies[..., self._classes])
        return np.asarray(gaps.sum(axis=-1) / self._n_averaged)
