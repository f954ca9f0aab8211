"""Rows in a box of weights, and bounds over it, against every point of the box."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracles
from dnip import Objective
from dnip.method.problem import Problem
from dnip.solvers.kernels.boxes import Box, Scale, lay_out_boxes, narrow, new_contests
from dnip.solvers.kernels.relaxation import Multipliers, Relaxation, new_relaxed, raise_bound
from dnip.solvers.kernels.values import Floors, Terms, new_memo, no_floors, shortfall
from dnip.solvers.landscape import compile_terms
from strategies import KINDS, OBJECTIVES, SEEDS, labelled_rows, seeded

K = 12
WEIGHTS = Scale(np.arange(1.0, K + 1), np.log(np.arange(1.0, K + 1)))


class Case:
    """A random table and a random box of at most a few hundred points."""

    def __init__(self, seed, n_classes, kind, n_rows=40):
        rng = np.random.default_rng(seed)
        self.p, self.labels = labelled_rows(rng, n_rows, n_classes, kind)
        self.mass = rng.choice([1, 1, 2, 5], n_rows)
        low = rng.integers(0, K, n_classes)
        width = rng.integers(0, 5 if n_classes < 5 else 3, n_classes)
        self.box = Box(low, np.minimum(low + width, K - 1))
        self.rows = lay_out_boxes(
            self.p, self.labels, self.mass, np.full(n_classes, 1.0), np.full(n_classes, float(K))
        )
        self.part = rng.uniform(size=len(self.rows.row_p)) ** 8

    def points(self):
        """Every weight vector of the box, as indices."""
        spans = [range(a + 1, b + 2) for a, b in zip(*self.box, strict=True)]
        return [np.array(point) for point in itertools.product(*spans)]

    def confusions(self):
        """Counts at every point of the box."""
        at = [oracles.confusion_at(self.p, self.labels, x, self.mass) for x in self.points()]
        return np.array(at)

    def narrow(self):
        """Return the open rows, the settled counts and the contests of the box."""
        n_rows = len(self.rows.label)
        confusion = self.rows.settled.copy()
        contests = new_contests(self.rows)
        contests.part[:] = self.part
        rows = np.arange(n_rows, dtype=np.uint32)
        n_kept = narrow(self.rows, WEIGHTS, self.box, rows, n_rows, rows, confusion, contests)
        return rows[:n_kept], confusion, contests


each_case = given(seed=SEEDS, n_classes=st.sampled_from([2, 3, 4, 6]), kind=st.sampled_from(KINDS))


@seeded
@each_case
def test_a_row_is_settled_in_a_box_if_every_point_predicts_the_same(seed, n_classes, kind):
    case = Case(seed, n_classes, kind)
    _, settled, contests = case.narrow()
    predictions = np.array([oracles.predict(case.p, point) for point in case.points()])
    alike = (predictions == predictions[0]).all(axis=0)
    counted = np.zeros((n_classes, n_classes), int)
    np.add.at(counted, (case.labels[alike], predictions[0, alike]), case.mass[alike])
    # a row may stay open for a box with gaps between its points, never the other way round
    assert (settled <= counted).all()
    counts = case.confusions()
    correct = np.diagonal(counts, axis1=1, axis2=2)
    wrong = counts.sum(axis=1) - correct
    assert (correct >= np.diag(settled)).all()
    assert (correct <= contests.most_correct).all()
    assert (wrong <= contests.most_wrong).all()


@pytest.mark.parametrize("objective", [*OBJECTIVES, "costs"], ids=str)
@pytest.mark.parametrize("floored", [False, True], ids=["free", "floored"])
@seeded
@each_case
def test_no_point_of_a_box_is_below_its_bound(objective, floored, seed, n_classes, kind):
    case = Case(seed, n_classes, kind)
    rng = np.random.default_rng(seed)
    if objective == "costs":
        objective = Objective(beta=1.0, costs=rng.uniform(0, 4, (n_classes, n_classes)))
    problem = Problem.of(case.p, case.labels, sample_weight=case.mass)
    true = problem.class_counts
    floors = no_floors()
    if floored:
        correct = rng.integers(0, true + 1) // rng.integers(1, 4)
        floors = Floors(correct, int(rng.integers(0, true.sum())) // 2)
    terms = compile_terms(objective, problem, floors)
    memo = new_memo(true, terms.smoothing)
    points = case.confusions()
    kept = [c for c in points if not floored or not shortfall(np.diag(c).copy(), floors, true)]
    least = min(map(objective, kept), default=np.inf)
    _, settled, contests = case.narrow()
    drawn = rng.uniform(0, int(case.mass.sum()), (2, n_classes))
    multipliers = Multipliers(np.zeros(n_classes), *drawn, np.zeros(n_classes + 1))
    relaxed = new_relaxed(len(case.rows.label), len(contests.size), n_classes)
    seen = case.box, settled, multipliers
    n_steps = int(rng.choice([6, 60]))
    relaxation = Relaxation(terms, memo, WEIGHTS, contests, relaxed, np.inf, n_steps)
    assert raise_bound(relaxation, *seen, min(least, 10.0) + 1) <= least + 1e-9
    if floored:  # with nothing but floors, the least of what points miss
        shortfall_terms = Terms(0.0, 0.0, 0.0, 0.0, terms.smoothing, floors=floors)
        missed = min(shortfall(np.diag(c).copy(), floors, true) for c in points)
        relaxation = relaxation._replace(terms=shortfall_terms, dearest=1.0)
        assert raise_bound(relaxation, *seen, missed + 1) <= missed + 1e-9
