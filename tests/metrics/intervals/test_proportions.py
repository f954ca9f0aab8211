"""Intervals of proportions, against SciPy and against the level that they promise."""

import numpy as np
import pytest
from scipy import stats

from dnip.metrics.intervals.proportions import mean_bounds, paired_bounds, wilson


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_wilson_is_that_of_scipy(level):
    for n in (1, 5, 40, 1000):
        for k in {0, 1, n // 3, n}:
            interval = stats.binomtest(k, n).proportion_ci(level, method="wilson")
            np.testing.assert_allclose(wilson([k], [n], level)[0], interval, atol=1e-12)


def test_nothing_is_known_of_a_class_without_rows():
    assert np.isnan(wilson([0, 1], [0, 2], 0.9)).tolist() == [[True, True], [False, False]]
    assert np.isnan(paired_bounds([0], [0], [0], 0.9)).all()


def test_of_one_proportion_the_mean_has_its_wilson_interval():
    assert mean_bounds(np.array([7.0]), np.array([9.0]), 0.9) == pytest.approx(
        wilson([7], [9], 0.9)[0]
    )


@pytest.mark.parametrize("n", [8, 25, 125])
def test_means_and_differences_hold_their_level(n):
    rng = np.random.default_rng(0)
    chances = np.array([0.1, 0.3, 0.1, 0.5])  # neither, second only, first only, both
    true_difference, accuracies = 0.2, np.array([0.9, 0.3, 0.6])
    in_difference = in_mean = 0
    for _ in range(2000):
        _, gained, lost, _ = rng.multinomial(n, chances)
        low, high = paired_bounds([gained], [lost], [n], 0.9)[0]
        in_difference += low <= true_difference <= high
        low, high = mean_bounds(rng.binomial(n, accuracies).astype(float), np.full(3, n), 0.9)
        in_mean += low <= accuracies.mean() <= high
    assert 0.87 <= in_difference / 2000 <= 0.96
    assert 0.87 <= in_mean / 2000 <= 0.94
