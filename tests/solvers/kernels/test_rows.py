"""A class first wins exactly where the products say so, on linear and geometric scales."""

from itertools import product

import numpy as np
import pytest
from dnip.solvers.kernels.coordinate import Descent
from dnip.solvers.kernels.rows import Levels, Rows
from dnip.solvers.kernels.values import Values
from hypothesis import given, strategies as st

import oracles
from dnip.method.scales import WeightScale
from dnip.solvers.landscape import _levels_of
from strategies import TINY, probability, scales, seeded

positive = probability.filter(lambda p: p > 0)
SIZES = [1, 2, 5, 7, 30, 1000, 10_000]
each_name = pytest.mark.parametrize("name", ["{}", "log:{}"])


def first_winning_index(p, rival_p, at, ties_win, levels):
    """The kernel, on one row; the class that moves wins ties if it is the lower one."""
    moving, other = (0, 1) if ties_win else (1, 0)
    row, indices = np.empty((1, 2)), np.ones(2)
    row[0, [moving, other]], indices[other] = (p, rival_p), at
    rows = Rows(row, np.zeros(1, np.int64), np.ones(1, np.int64), levels)
    flips = rows.find_flips(indices, moving)
    if flips.n:
        return flips.fields[0][0]
    return 1 if rows.count(indices)[0, moving] else levels.size + 1


@st.composite
def close_races(draw, name):
    """Two probabilities whose scores tie at some index, exactly or but for rounding."""
    scale = name.format(draw(st.sampled_from(SIZES)))
    weights = WeightScale.of(scale).levels
    # no product of a problem is tiny: a row's largest probability is not
    share = positive if weights[-1] > 1 else st.floats(1e-3, 1)
    at, rival_p = draw(st.integers(1, len(weights))), draw(share)
    rival_score = weights[at - 1] * rival_p
    beyond = weights[-1] * len(weights) / max(len(weights) - 1, 1)
    p = min(rival_score / draw(st.sampled_from([*weights.tolist(), beyond])), 1.0)
    nudged = np.nextafter(p, draw(st.sampled_from([0.0, p, 1.0])))
    return float(nudged), rival_p, at, scale


@each_name
@seeded
@given(data=st.data(), ties_win=st.booleans())
def test_first_winning_index_of_close_races(name, data, ties_win):
    p, rival_p, at, scale = data.draw(close_races(name))
    weights = WeightScale.of(scale).levels
    expected = oracles.first_winning_index(p, weights[at - 1] * rival_p, ties_win, weights)
    assert first_winning_index(p, rival_p, at, ties_win, _levels_of(scale)) == expected


@pytest.mark.parametrize("scale", [1, 30, 10_000, "log:1", "log:30", "log:10000"])
def test_a_tiny_probability_never_wins_and_overflows_nothing(scale):
    levels = _levels_of(scale)
    found = {first_winning_index(p, 1.0, levels.size, True, levels) for p in (0.0, *TINY)}
    assert found == {levels.size + 1}


def test_any_ascending_weights_will_do():
    weights = np.array([0.1, 0.11, 0.2, 1 / 3, 1.0, 7.0, 1000.0])
    levels = Levels(weights, linear=False)
    for p in (0.3, 1e-5, 1.0):
        for rival_p, at in product((p, 1e-9, 0.5), range(1, len(weights) + 1)):
            expected = oracles.first_winning_index(p, weights[at - 1] * rival_p, True, weights)
            assert first_winning_index(p, rival_p, at, True, levels) == expected


@seeded
@given(scale=scales(40), weight=st.floats(1e-4, 1e3))
def test_the_nearest_weight_is_found(scale, weight):
    levels = _levels_of(scale)
    weights = WeightScale.of(scale).levels
    labels = mass = np.ones(1, np.int64)
    rows = Rows(np.full((1, 2), 0.5), labels, mass, levels)
    descent = Descent(Values(np.ones(2, np.int64)), levels, rows)
    at, first = np.flatnonzero(weights == 1) + 1.0, np.zeros(1, np.int64)
    k = int(descent.kicked(np.repeat(at, 2), np.array([weight, 1.0]), 0.0, first)[0])
    if weights[-1] > 1:  # a linear scale
        assert abs(weights[k - 1] - weight) == np.abs(weights - weight).min()
    else:
        apart = np.abs(np.log(weights / weight))
        assert apart[k - 1] == pytest.approx(apart.min(), abs=1e-9)
