"""Intervals of COBias hold their level, also where the true gap is small and rows are few."""

import numpy as np
import pytest

from dnip.metrics.cobias import cobias_of
from dnip.metrics.gaps import Bounds, GapTest, difference_of, draw_accuracies, gap_correlation

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


@pytest.mark.parametrize("followed", [0.0, 0.5, 0.9, 1.0])
def test_draws_hold_the_true_gap_of_weights_that_followed_the_rows(followed):
    """Simulated: accuracies d - κe are true where d + (1 - κ)e is seen."""
    rng = np.random.default_rng(4)
    n, held = 30, 0
    for _ in range(300):
        middle = 0.95 + rng.normal(0, 0.1, 4)
        chance = rng.normal(0, (4 * n + 2) ** -0.5, 4)
        true = np.sin(middle - followed * chance) ** 2
        seen = np.sin(middle + (1 - followed) * chance) ** 2
        draws = draw_accuracies(n * seen, np.full(4, n), 500, rng, followed=followed)
        low, high = np.quantile(cobias_of(draws), [0.05, 0.95])
        held += low <= cobias_of(true) <= high
    assert 0.83 <= held / 300 <= 0.97
