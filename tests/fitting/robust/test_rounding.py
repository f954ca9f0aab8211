import itertools

import numpy as np
import pytest

from dnip.fitting.robust.constraint_repair import round_to_scale
from dnip.method.scales import WeightScale


def error(log_rounded, log_weights):
    difference = log_rounded - log_weights
    return ((difference - difference.mean()) ** 2).sum()


@pytest.mark.parametrize("name", [1, 2, 5, 8, "log:6"])
def test_hardly_any_weights_of_the_scale_are_closer(name):
    scale = WeightScale.of(name)
    rng = np.random.default_rng(scale.size)
    for _ in range(20):
        log_weights = rng.uniform(-np.log(scale.size), 0, 3)
        found = round_to_scale(log_weights, scale)
        every = itertools.product(np.log(scale.levels), repeat=3)
        best = min(error(np.array(levels), log_weights) for levels in every)
        assert error(np.log(found.multipliers), log_weights) <= 1.5 * best + 0.02


@pytest.mark.parametrize("name", [30, "log:30"])
def test_indices_come_back(name):
    scale = WeightScale.of(name)
    rng = np.random.default_rng(0)
    for _ in range(50):
        indices = rng.integers(1, 31, 5)
        indices[rng.integers(5)] = 30
        found = round_to_scale(np.log(scale.weights(indices)), scale)
        ratios = scale.levels[found.indices - 1] / scale.levels[indices - 1]
        np.testing.assert_allclose(ratios, ratios[0])


def test_the_highest_of_equals_is_taken():
    found = round_to_scale(np.log([0.2, 0.1]), WeightScale.of(30))
    np.testing.assert_array_equal(found.indices, [30, 15])
    np.testing.assert_array_equal(round_to_scale(np.zeros(2), WeightScale.of(30)).indices, [30, 30])


def test_ratios_wider_than_the_scale_end_at_its_ends():
    found = round_to_scale(np.array([0.0, -9.0]), WeightScale.of(30))
    np.testing.assert_array_equal(found.indices, [30, 1])
