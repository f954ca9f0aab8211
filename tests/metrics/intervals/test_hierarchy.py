"""Draws of true class accuracies: against the formulas of normal variables, and in coverage."""

import numpy as np
import pytest

from dnip.metrics.cobias import cobias_of
from dnip.metrics.intervals.hierarchy import draw_accuracies


def test_many_rows_leave_no_doubt():
    hits, sizes = np.array([9e6, 5e6, 2e6]), np.full(3, 1e7)
    draws = draw_accuracies(hits, sizes, 200, np.random.default_rng(0))
    np.testing.assert_allclose(draws, np.tile(hits / sizes, (200, 1)), atol=2e-3)


def test_a_gap_that_chance_explains_is_shrunk_and_a_clear_one_is_kept():
    few, many = (
        draw_accuracies(n * np.array([0.8, 0.6]), np.full(2, n), 4000, np.random.default_rng(0))
        for n in (5.0, 500.0)
    )
    assert (few[:, 0] - few[:, 1]).mean() < 0.12
    assert (many[:, 0] - many[:, 1]).mean() == pytest.approx(0.2, abs=0.02)


def test_an_optimum_shows_no_chance_so_its_true_accuracies_scatter_by_all_of_it():
    """κ = 1: the angles are those observed plus chance of variance 1 / (4n + 2)."""
    hits, sizes = np.array([12.0, 12.0, 12.0]), np.full(3, 20.0)
    draws = draw_accuracies(hits, sizes, 20_000, np.random.default_rng(0), followed=1.0, jitter=0.1)
    angles = np.arcsin(np.sqrt(draws))
    np.testing.assert_allclose(angles.mean(axis=0), np.arcsin(np.sqrt(12.375 / 20.75)), atol=5e-3)
    np.testing.assert_allclose(angles.var(axis=0), 1 / 82, rtol=0.05)


@pytest.mark.parametrize("followed", [0.0, 0.5, 0.9])
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
