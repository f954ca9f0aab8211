"""Classes without labels stand at the geometric middle of the others, and do no harm."""

import itertools

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import Objective, Status, solve
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from dnip.solvers import Anneal, Coordinate
from dnip.solvers.landscape import Landscape
from layouts import walk
from strategies import KINDS, random_probabilities

pytestmark = pytest.mark.filterwarnings("ignore:no labelled example")


def unlabelled_table(seed):
    """A small table in which the last class, or the last two, have no labels."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(3, 6))
    present = n_classes - 1 - int(n_classes > 3 and rng.random() < 0.3)
    n_rows = int(rng.integers(8, 60))
    p = random_probabilities(rng, n_rows, n_classes, KINDS[seed % len(KINDS)])
    labels = np.where(rng.random(n_rows) < 0.6, p.argmax(axis=1), rng.integers(n_classes))
    labels = np.where(labels < present, labels, rng.integers(present, size=n_rows))
    labels[:2] = [0, 1]
    order = rng.permutation(n_classes)
    return p[:, np.argsort(order)], order[labels]


FEW_MOVES = Anneal(t_min=1e4, chain=0.1, examples=None)


@cases("coordinate", "exact", FEW_MOVES, Coordinate(effort=0.01))
def test_no_fit_is_worse_than_equal_weights(solver):
    for seed in range(40 if solver == "exact" else 80):
        p, labels = unlabelled_table(seed)
        objective = Objective(beta=2.7 if seed % 3 else 0.5, tau=0.2 if seed % 4 == 0 else 0.0)
        scale = WeightScale.of((5, 12, "log:12", "log:100")[seed % 4])
        limit = 1.0 if solver == "exact" else None
        found = solve(p, labels, objective, scale=scale, solver=solver, time_limit=limit)
        raw = objective(oracles.confusion_at(p, labels, np.ones(p.shape[1])))
        assert found.value <= raw + 1e-12
        present = np.unique(labels)
        middle = scale.middle(found.weight_indices[present])
        assert set(found.weight_indices[list(found.unfitted)]) == {middle}


def test_the_smallest_case_in_which_a_class_follows():
    p = [[6 / 13, 4 / 13, 3 / 13], [4 / 21, 8 / 21, 9 / 21]]
    for solver in ("coordinate", "exact"):
        assert solve(p, [0, 1], scale=30, solver=solver).value == 0


@pytest.mark.parametrize("scale", [9, 30, "log:30", "span:3.5"])
def test_rows_flip_to_followers_and_on_where_recounting_says_so(scale):
    for seed in range(12):
        p, labels = unlabelled_table(seed)
        rng, scale = np.random.default_rng(seed), WeightScale.of(scale)
        problem = Problem.of(p, labels)
        present, missing = np.flatnonzero(problem.present), np.flatnonzero(~problem.present)
        held = dict.fromkeys(missing.tolist(), 1.0)
        rows = Landscape(problem, Objective(), scale, held, following=[*held]).rows
        here = rng.integers(1, scale.size + 1, p.shape[1]).astype(np.float64)
        counts = rows.count(here)
        predicted = counts.sum(axis=0)
        for _ in range(30):
            c, index = int(rng.choice(present)), int(rng.integers(1, scale.size + 1))
            walk(rows.find_flips(here, c), here[c], index, counts, predicted)
            here[c] = index
            point = here.astype(int)
            point[missing] = scale.middle(point[present])
            recount = oracles.confusion_at(p, labels, scale.multipliers(point))
            np.testing.assert_array_equal(counts, recount)
            np.testing.assert_array_equal(predicted, recount.sum(axis=0))


@pytest.mark.parametrize("seed", range(20))
def test_exact_is_the_least_of_all_points_under_the_rule(seed):
    p, labels = unlabelled_table(seed)
    scale = WeightScale.of(("log:7", 6)[seed % 2])
    present = np.unique(labels)
    missing = np.setdiff1d(np.arange(p.shape[1]), present)
    point = np.zeros(p.shape[1])
    least = np.inf
    for choice in itertools.product(range(1, scale.size + 1), repeat=len(present)):
        point[present] = choice
        point[missing] = scale.middle(point[present])
        confusion = oracles.confusion_at(p, labels, scale.multipliers(point.astype(int)))
        raw = oracles.confusion_at(p, labels, np.ones(p.shape[1]))
        if not (np.diag(confusion)[np.diag(raw) > 0] == 0).any():  # no class is silenced
            least = min(least, Objective()(confusion))
    found = solve(p, labels, scale=scale, solver="exact")
    assert found.value == pytest.approx(least, abs=1e-9)
    # other places of the classes without labels may give less, so nothing is proven
    assert found.status is Status.FINISHED
    assert found.lower_bound is None
