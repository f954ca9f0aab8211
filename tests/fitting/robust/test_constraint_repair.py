"""Robust fits keep constraints, on the scale."""

import itertools

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import Constraints, InfeasibleError
from dnip.fitting.robust.constraint_repair import go_until_kept, round_to_scale
from dnip.method.scales import WeightScale
from populations import biased_rows, few, solve_robustly

BIAS = [1.5, 0, 0, -1.5]


@pytest.fixture(scope="module")
def pool():
    return biased_rows(np.random.default_rng(0), 6_000, bias=BIAS, noise=1.3)


@cases(*((30, seed) for seed in range(4)), ("log:30", 0), ("log:1000", 3))
def test_a_blend_goes_toward_the_constrained_optimum_until_it_keeps_them(pool, scale, seed):
    p, labels = few(pool, 15, seed)
    raw = oracles.confusion_at(p, labels, np.ones(4))
    asked = Constraints(0.0, {0: 0.7, 3: 0.5})
    settings = {"unlabelled": pool.probabilities[:500], "scale": scale}
    found = solve_robustly(p, labels, constraints=asked, **settings)
    reached = oracles.confusion_at(p, labels, found.solution.weights)
    assert oracles.keeps(reached, raw, 0.0, {0: 0.7, 3: 0.5})
    np.testing.assert_array_equal(found.solution.confusion, reached)
    assert found.solution.constraints["class_accuracies"]["0"] >= 0.7
    free = solve_robustly(p, labels, **settings)
    kept = oracles.keeps(free.solution.confusion, raw, 0.0, {0: 0.7, 3: 0.5})
    toward = found.decision.toward_constraints
    assert (toward == 0) == kept
    if kept:
        np.testing.assert_array_equal(found.solution.weights, free.solution.weights)
    else:
        assert f"{toward:.0%} of the way" in found.decision.sentence
        assert found.decision.to_dict()["toward_constraints"] == toward


def test_some_blends_have_to_go_and_some_do_not(pool):
    gone = []
    for seed in range(4):
        p, labels = few(pool, 15, seed)
        asked = Constraints(0.0, {0: 0.7, 3: 0.5})
        found = solve_robustly(p, labels, constraints=asked)
        gone.append(found.decision.toward_constraints)
    assert min(gone) == 0 < max(gone)


@pytest.mark.parametrize("scale", [30, "log:30"])
def test_frozen_classes_keep_their_weight(pool, scale):
    p, labels = few(pool, 15)
    for asked in (Constraints(freeze=[1, 2]), Constraints(0.05, freeze=[1, 2])):
        found = solve_robustly(p, labels, scale=scale, constraints=asked)
        assert found.solution.weights[[1, 2]].tolist() == [1.0, 1.0]
        assert found.solution.weights.max() == 1.0
        assert found.solution.weights[0] < 1


@pytest.mark.parametrize("robust", ["auto", "on", "off"])
def test_constraints_that_cannot_be_kept_are_refused_in_every_mode(pool, robust):
    p, labels = few(pool, 15)
    asked = Constraints(None, {"all": 0.99})
    with pytest.raises(InfeasibleError, match=r"at least 0\.99 is asked"):
        solve_robustly(p, labels, robust=robust, constraints=asked)


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


def test_the_first_weights_on_the_way_that_keep_are_taken():
    scale = WeightScale.of(100)
    start, end = (round_to_scale(np.log([1.0, w]), scale) for w in (1.0, 0.25))

    def keeps(multipliers):
        return multipliers[1] / multipliers[0] <= 0.5

    weights, part = go_until_kept(start, end, keeps, scale)
    assert (weights.multipliers[1] / weights.multipliers[0], part) == (0.5, 0.5)
    assert go_until_kept(end, start, keeps, scale) == (end, 0.0)
    assert go_until_kept(start, end, lambda _: False, scale) == (end, 1.0)
