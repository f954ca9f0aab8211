"""A depth-first search of a box against every point of it: bounds, and what is left out."""

import itertools

import numpy as np
import pytest
from dnip.solvers.kernels.exact import DepthFirst
from hypothesis import given, strategies as st

import oracles
from dnip import Objective
from dnip.method.constraints import Constraints
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from dnip.solvers.landscape import MISSED, Landscape
from strategies import KINDS, OBJECTIVES, SEEDS, labelled_rows, seeded

K = 12
MARGIN = 1e-10


def random_box(rng, n_classes):
    """A box of at most a few hundred points."""
    low = rng.integers(1, K + 1, n_classes)
    width = rng.integers(0, 5 if n_classes < 5 else 3, n_classes)
    return low, np.minimum(low + width, K)


@pytest.mark.parametrize("objective", [*OBJECTIVES, "costs"], ids=str)
@pytest.mark.parametrize("floored", [False, True], ids=["free", "floored"])
@seeded
@given(
    seed=SEEDS,
    n_classes=st.sampled_from([2, 3, 4, 6]),
    kind=st.sampled_from(KINDS),
    n_boxes=st.sampled_from([1, 2, 7, 1000]),
)
def test_every_better_point_is_found_or_left_in_a_box_with_a_bound(
    objective, floored, seed, n_classes, kind, n_boxes
):
    rng = np.random.default_rng(seed)
    p, labels = labelled_rows(rng, 40, n_classes, kind)
    mass = rng.choice([1, 1, 2, 5], 40)
    if objective == "costs":
        objective = Objective(beta=1.0, costs=rng.uniform(0, 4, (n_classes, n_classes)))
    problem = Problem.of(p, labels, sample_weight=mass)
    least = {c: float(rng.uniform(0, 0.8)) for c in np.unique(labels)} if floored else {}
    constraints = Constraints(min_class_accuracies=least, allow_silence=True)
    demands = constraints.on(problem.classes, problem.present)
    landscape = Landscape(problem, objective, WeightScale.of(K), {}, demands)
    value, values = landscape.compile(), {}
    low, high = random_box(rng, n_classes)
    spans = [range(a, b + 1) for a, b in zip(low, high, strict=True)]
    for point in itertools.product(*spans):
        confusion = oracles.confusion_at(p, labels, point, mass)
        z = value(confusion)
        assert z >= MISSED or z == pytest.approx(objective(confusion), abs=1e-9)
        values[point] = z

    rows, floors = landscape.lay_out(sparse=True), landscape.compile(only_floors=True)
    search = DepthFirst(rows, landscape.compile(), floors, least_top=1, margin=MARGIN)
    node = low, high, -np.inf, np.zeros(n_classes), np.zeros(n_classes + 1)
    for room, given_ in zip(search.nodes, node, strict=True):
        room[0] = given_
    start = float(rng.choice([4 * MISSED, np.median(list(values.values())) + 1e-6]))
    search.shares[:] = rng.uniform(size=len(search.shares)) ** 8 + 1e-6
    n_left = search.search(start, n_boxes, n_steps=int(rng.choice([6, 60])))

    if search.improved:
        assert values[tuple(search.point)] == search.value < start
    left = [tuple(array[i].copy() for array in search.nodes[:3]) for i in range(n_left)]
    for point, z in values.items():
        if z < search.value - 1e-6 * max(1.0, abs(search.value)):
            holding = [b for a, c, b in left if (a <= point).all() and (point <= c).all()]
            assert len(holding) == 1
            assert holding[0] <= z * (1 + 1e-9) + 1e-9
    if n_boxes == 1000:
        assert n_left == 0
