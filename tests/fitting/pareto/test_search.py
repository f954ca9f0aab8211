"""The steps of the search: what looking around leaves, and where kicks into a gap go."""

import itertools

import numpy as np
import pytest

import oracles
from dnip.fitting.pareto.search import (
    BETAS,
    TAUS,
    Explorer,
    Origin,
    into_gap,
    kicked,
    look_around,
    sweep,
    sweep_settings,
)
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from problems import Known

KNOWN = Known(n_classes=4, scale=9, n_rows=300, kind="random", seed=20)


def explorer(scale=9, held=None):
    problem = Problem.of(KNOWN.p, KNOWN.labels)
    made = Explorer(problem, WeightScale.of(scale), 1.0, held or {}, 10_000)
    made.offer(made.equal_weights(), 0)
    return made


def values(found, indices):
    multipliers = found.scale.multipliers(np.asarray(indices, np.int64))
    confusion = oracles.confusion_at(KNOWN.p, KNOWN.labels, multipliers)
    return np.trace(confusion) / KNOWN.n_rows, oracles.cobias(confusion)


@pytest.mark.parametrize("scale", [9, "log:7"])
def test_looking_around_leaves_no_better_neighbour(scale):
    found = explorer(scale)
    for _ in look_around(found):
        pass
    front = found.front()
    accuracy, cobias = found.accuracy(front), found.cobias(front)
    assert len(front) > 3
    for cell in front.tolist():
        here = found.indices(cell)
        assert values(found, here) == pytest.approx(
            (found.accuracy(np.array([cell]))[0], found.cobias(np.array([cell]))[0])
        )
        for c, k in itertools.product(range(4), range(1, found.scale.size + 1)):
            there = here.copy()
            there[c] = k
            right, gap = values(found, there)
            assert ((accuracy >= right - 1e-12) & (cobias <= gap + 1e-12)).any()


def test_the_sweep_ends_in_local_optima_of_its_ends():
    found = explorer()
    origins = [Origin("raw argmax"), *sweep_settings()]
    assert len(origins) == 1 + len(TAUS) * (len(BETAS) + 2)
    for _ in sweep(found, origins, np.random.default_rng(0)):
        pass
    front = found.front()
    assert found.accuracy(front).max() > values(found, [9, 9, 9, 9])[0] + 0.02
    for cell in (front[0], front[-1]):
        here = found.indices(int(cell))
        right, gap = values(found, here)
        for c, k in itertools.product(range(4), range(1, 10)):
            there = here.copy()
            there[c] = k
            beside = values(found, there)
            assert beside[0] <= right + 1e-12 or cell == front[0]
            assert beside[1] >= gap - 1e-12 or cell == front[-1]


def test_into_a_gap_prefers_what_lies_in_it():
    found = explorer()
    for _ in look_around(found):
        pass
    front = found.front()
    low, high = int(front[2]), int(front[4])
    ends = np.array([low, high])
    goal = into_gap(found, low, high)

    def scalarised(accuracy, cobias):
        error = 1 - accuracy
        far = (
            goal.error_beyond * (error - goal.error_corner),
            goal.cobias_beyond * (cobias - goal.cobias_corner),
        )
        return goal.error * error + goal.cobias * cobias + max(far)

    at_ends = [
        scalarised(*pair) for pair in zip(found.accuracy(ends), found.cobias(ends), strict=True)
    ]
    (best_right, worst_right) = found.accuracy(ends)[::-1]
    (least, most) = found.cobias(ends)
    beyond_the_hull = 0.35 * best_right + 0.65 * worst_right, 0.35 * least + 0.65 * most
    assert scalarised(*beyond_the_hull) < min(at_ends)  # no weighted sum would take it


@pytest.mark.parametrize("scale", [9, "log:7", 1])
def test_kicks_stay_on_the_scale_and_leave_held_classes(scale):
    found = explorer(scale, held={2: 1})
    rng = np.random.default_rng(0)
    cell = int(found.front()[0])
    kicks = np.array([kicked(found, cell, rng) for _ in range(200)])
    assert kicks.min() >= 1
    assert kicks.max() <= found.scale.size
    assert (kicks[:, 2] == 1).all()
    if found.scale.size > 1:
        assert len({tuple(kick) for kick in kicks.tolist()}) > 30
