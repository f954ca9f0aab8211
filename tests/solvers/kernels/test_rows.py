"""A class first wins exactly where the products say so, on linear and geometric scales."""

import numpy as np
import pytest
from dnip.solvers.kernels.rows import Levels
from hypothesis import given, strategies as st

import oracles
from dnip.method.scales import WeightScale
from dnip.solvers.landscape import levels_of
from strategies import TINY, probability, scales, seeded

positive = probability.filter(lambda p: p > 0)
SIZES = [1, 2, 5, 7, 30, 1000, 10_000]
each_name = pytest.mark.parametrize("name", ["{}", "log:{}"])


def first_winning_index(p, rival_score, ties_win, levels):
    """The kernel, on one row; class 0 wins ties against class 1, not against itself."""
    rival = np.array([int(ties_win)], np.uint32)
    return levels.find_winning_positions(np.array([p]), np.array([rival_score]), rival, 0)[0]


@st.composite
def close_races(draw, name):
    """A probability and a rival's score that tie at some index, exactly or but for rounding."""
    scale = name.format(draw(st.sampled_from(SIZES)))
    weights = WeightScale.of(scale).levels
    # no product of a problem is tiny: a row's largest probability is not
    share = positive if weights[-1] > 1 else st.floats(1e-3, 1)
    rival_score = draw(st.sampled_from(weights.tolist())) * draw(share)
    beyond = weights[-1] * len(weights) / max(len(weights) - 1, 1)
    p = min(rival_score / draw(st.sampled_from([*weights.tolist(), beyond])), 1.0)
    nudged = np.nextafter(p, draw(st.sampled_from([0.0, p, 1.0])))
    return float(nudged), rival_score, scale


@each_name
@seeded
@given(data=st.data(), ties_win=st.booleans())
def test_first_winning_index_of_close_races(name, data, ties_win):
    p, rival_score, scale = data.draw(close_races(name))
    expected = oracles.first_winning_index(p, rival_score, ties_win, WeightScale.of(scale).levels)
    assert first_winning_index(p, rival_score, ties_win, levels_of(scale)) == expected


@pytest.mark.parametrize("scale", [1, 30, 10_000, "log:1", "log:30", "log:10000"])
def test_a_tiny_probability_never_wins_and_overflows_nothing(scale):
    levels = levels_of(scale)
    largest = levels.weights[levels.size]
    found = {first_winning_index(p, largest, True, levels) for p in (0.0, *TINY)}
    assert found == {levels.size + 1}


def test_any_ascending_weights_will_do():
    weights = np.array([0.1, 0.11, 0.2, 1 / 3, 1.0, 7.0, 1000.0])
    levels = Levels(weights, linear=False)
    for p in (0.3, 1e-5, 1.0):
        for score in np.concatenate((weights * p, [1e-9, 0.5, 1e9])):
            expected = oracles.first_winning_index(p, score, True, weights)
            assert first_winning_index(p, float(score), True, levels) == expected


@seeded
@given(scale=scales(40), weight=st.floats(1e-4, 1e3))
def test_the_nearest_weight_is_found(scale, weight):
    levels = levels_of(scale)
    weights = WeightScale.of(scale).levels
    k = levels.nearest_position(weight)
    if weights[-1] > 1:  # a linear scale
        assert abs(weights[k - 1] - weight) == np.abs(weights - weight).min()
    else:
        apart = np.abs(np.log(weights / weight))
        assert apart[k - 1] == pytest.approx(apart.min(), abs=1e-9)
