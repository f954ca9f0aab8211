"""Intervals of COBias hold their level, also where the true gap is small and rows are few."""

import numpy as np
import pytest

from dnip.metrics.cobias import cobias_of
from dnip.metrics.intervals.gaps import Bounds, GapTest, difference_of, gap_correlation

REPEATS = 80


def bounds_of(hits, sizes, level=0.9):
    counts = (np.asarray(values, float) for values in (hits, sizes))
    return GapTest(*counts, cobias_of, np.random.default_rng(0), level).bounds(level)


@pytest.mark.parametrize(
    ("accuracies", "n"),
    [
        ((0.75, 0.75, 0.25, 0.3), 8),
        ((0.6, 0.58, 0.55, 0.5), 60),
        ((0.9, 0.5), 60),
        ((0.7, 0.7), 8),
    ],
)
def test_the_interval_holds_the_true_gap_as_often_as_it_says(accuracies, n):
    rng = np.random.default_rng(1)
    true = cobias_of(np.array(accuracies))
    held = in_percentiles = 0
    for _ in range(REPEATS):
        hits = rng.binomial(n, accuracies)
        bounds = bounds_of(hits, np.full(len(hits), n))
        held += bounds.low <= true <= bounds.high
        resampled = cobias_of(rng.binomial(n, hits / n, (200, len(hits))) / n)
        low, high = np.quantile(resampled, [0.05, 0.95])
        in_percentiles += low <= true <= high
    assert 0.78 <= held / REPEATS <= 1
    assert held >= in_percentiles - 0.06 * REPEATS


def test_the_percentile_bootstrap_would_miss_small_gaps():
    """The reason why it is not used: chance sets equal classes apart, twice."""
    rng = np.random.default_rng(2)
    true, n = np.array([0.52, 0.5, 0.48, 0.5]), 25
    held = 0
    for _ in range(REPEATS):
        hits = rng.binomial(n, true)
        resampled = cobias_of(rng.binomial(n, hits / n, (200, 4)) / n)
        low, high = np.quantile(resampled, [0.05, 0.95])
        held += low <= cobias_of(true) <= high
    assert held / REPEATS < 0.5


@pytest.mark.parametrize(
    ("hits", "sizes"),
    [
        ([5, 5], [5, 5]),
        ([0, 0, 0], [1, 1, 1]),
        ([1, 0], [1, 1]),
        ([7, 7, 7], [10, 10, 10]),
        ([500] * 20, [1000] * 20),
    ],
)
def test_equal_and_extreme_accuracies_have_an_interval_too(hits, sizes):
    low, middle, high = bounds_of(hits, sizes)
    assert 0 <= low <= middle <= high <= 1
    assert high > 0


def test_more_rows_and_less_confidence_narrow_it():
    wide, many = bounds_of([6, 4, 5], [10, 10, 10]), bounds_of([60, 40, 50], [100, 100, 100])
    unsure = bounds_of([6, 4, 5], [10, 10, 10], level=0.5)
    assert many.high - many.low < wide.high - wide.low
    assert unsure.high - unsure.low < wide.high - wide.low


def test_a_hundred_classes_are_quick_and_corrected_for_chance():
    rng = np.random.default_rng(3)
    accuracies = np.full(100, 0.7)
    hits = rng.binomial(25, accuracies)
    bounds = bounds_of(hits, np.full(100, 25))
    assert cobias_of(hits / 25) > 0.08
    assert bounds.low < 0.02


def test_a_difference_adds_deviations_in_squares():
    first, second = Bounds(0.3, 0.4, 0.43), Bounds(0.1, 0.2, 0.24)
    assert difference_of(first, second) == pytest.approx(
        (-0.2 - np.hypot(0.1, 0.03), -0.2, -0.2 + np.hypot(0.04, 0.1))
    )


def test_gaps_on_the_same_rows_go_together_as_far_as_the_rows_agree():
    rng = np.random.default_rng(0)
    same = np.array([[[20, 0], [0, 80]], [[60, 0], [0, 40]]])
    apart = np.array([[[4, 16], [16, 64]], [[36, 24], [24, 16]]])  # right independently
    closed = np.array([[[20, 20], [20, 40]], [[20, 20], [20, 40]]])
    assert gap_correlation(same, 0.4, 0.4, cobias_of, rng) > 0.99
    assert gap_correlation(apart, 0.4, 0.4, cobias_of, rng) < 0.15
    assert gap_correlation(closed, 0.0, 0.0, cobias_of, rng) < 0.3
    # a correlation takes from the width of a difference
    one, other = Bounds(0.3, 0.4, 0.5), Bounds(0.2, 0.3, 0.4)
    wide, narrow = difference_of(one, other), difference_of(one, other, 0.9)
    assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)
