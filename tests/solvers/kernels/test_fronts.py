"""Line searches for a front keep every point worth keeping, and end where their goal is best."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracles
from dnip.solvers.kernels.descent import begin, new_lines
from dnip.solvers.kernels.fronts import FrontTerms, Scalarisation, Visit, new_cells, visit_lines
from dnip.solvers.kernels.values import Terms, new_memo
from dnip.solvers.landscape import levels_of
from layouts import each_layout, lay_out_as
from strategies import random_probabilities, seeded, tables

GOALS = {
    "sum": Scalarisation(1.0, 2.7, 0.2, 0.0, 0.0, 0.0, 0.0),
    "corner": Scalarisation(0.05, 0.1, 0.0, 1.0, 2.0, 0.2, 0.1),
}


class Walk:
    """A table in a layout, and what a walk over it needs."""

    def __init__(self, layout, p, labels, mass, scale, most=10_000):
        self.p, self.labels, self.mass, self.levels = p, labels, mass, levels_of(scale)
        self.rows, self.workspace = lay_out_as(layout, p, labels, mass, scale)
        true = np.bincount(labels, mass, p.shape[1]).astype(np.int64)
        cobias, pmi = Terms(0.0, 1.0, 0.0, 0.0, 1.0), Terms(0.0, 0.0, 0.0, 1.0, 1.0)
        self.terms = FrontTerms(cobias, pmi, new_memo(true, 1.0), new_memo(true, 1.0))
        self.cells = new_cells(int(true.sum()), p.shape[1], most)
        self.lines = new_lines(100)

    def visit(self, indices, goal=GOALS["sum"], stay=True):
        here = np.array(indices, np.float64)
        descent = begin(here, np.arange(len(here)))
        visit = Visit(self.terms, goal, self.cells, self.lines, stay)
        count = visit_lines(visit, self.rows, self.levels, self.workspace, descent)
        return here, count

    def confusion(self, indices):
        return oracles.confusion_at(self.p, self.labels, indices, self.mass)


def neighbours(indices, scale):
    """All points that differ in one index, and the point itself."""
    for c, k in itertools.product(range(len(indices)), range(1, scale + 1)):
        there = np.array(indices, np.float64)
        there[c] = k
        yield there


def scalarised(confusion, goal):
    """What a descent minimises, from the definitions."""
    error = 1 - np.trace(confusion) / confusion.sum()
    cobias = oracles.cobias(confusion)
    value = goal.error * error + goal.cobias * cobias - goal.tau * sum(oracles.pmi(confusion, 1.0))
    beyond = goal.error_beyond * (error - goal.error_corner)
    return value + max(beyond, goal.cobias_beyond * (cobias - goal.cobias_corner))


@each_layout
@seeded
@given(table=tables(min_rows=2), scale=st.integers(1, 8), data=st.data())
def test_the_best_of_all_neighbours_are_kept(layout, table, scale, data):
    p, labels, mass = table
    labels[:2], mass[:2] = [0, 1], 1
    n_classes = p.shape[1]
    start = data.draw(st.lists(st.integers(1, scale), min_size=n_classes, max_size=n_classes))
    walk = Walk(layout, p, labels, mass, scale, most=10**6)
    here, count = walk.visit(start)
    assert here.tolist() == start
    assert count == n_classes
    lowest = {}
    for there in neighbours(start, scale):
        confusion = walk.confusion(there)
        correct = int(np.trace(confusion))
        lowest[correct] = min(lowest.get(correct, np.inf), oracles.cobias(confusion))
    kept = np.flatnonzero(np.isfinite(walk.cells.cobias))
    assert kept.tolist() == sorted(lowest)
    for correct in kept:
        assert walk.cells.cobias[correct] == pytest.approx(lowest[correct], abs=1e-12)
        confusion = walk.confusion(walk.cells.indices[correct])
        assert int(np.trace(confusion)) == walk.cells.correct[correct] == correct
        assert oracles.cobias(confusion) == pytest.approx(lowest[correct], abs=1e-12)
    assert walk.visit(start)[1] == 0  # no line is visited twice


@each_layout
@pytest.mark.parametrize("name", GOALS)
def test_a_descent_ends_where_no_neighbour_serves_the_aim_better(layout, name):
    rng = np.random.default_rng(0)
    goal, scale = GOALS[name], 9
    for n_classes in (2, 3, 5):
        p = random_probabilities(rng, 80, n_classes)
        follows = rng.random(80) < 0.6
        labels = np.where(follows, p.argmax(axis=1), rng.integers(n_classes, size=80))
        labels[:n_classes] = np.arange(n_classes)
        walk = Walk(layout, p, labels, np.ones(80, np.int64), scale)
        start = rng.integers(1, scale + 1, n_classes)
        end, _ = walk.visit(start, goal, stay=False)
        reached = scalarised(walk.confusion(end), goal)
        assert reached <= scalarised(walk.confusion(start), goal) + 1e-12
        for there in neighbours(end, scale):
            assert scalarised(walk.confusion(there), goal) >= reached - 1e-9
        again, count = walk.visit(end, goal, stay=False)
        assert again.tolist() == end.tolist()
        assert count == n_classes


def test_few_cells_keep_the_point_of_lowest_cobias_of_each():
    rng = np.random.default_rng(1)
    p = random_probabilities(rng, 200, 3)
    labels = rng.integers(3, size=200)
    walk = Walk("dense", p, labels, np.ones(200, np.int64), 10, most=20)
    walk.visit([10, 10, 10])
    assert len(walk.cells.cobias) == 21
    lowest = np.full(21, np.inf)
    for there in neighbours([10, 10, 10], 10):
        confusion = walk.confusion(there)
        cell = int(np.trace(confusion)) // 10
        lowest[cell] = min(lowest[cell], oracles.cobias(confusion))
    np.testing.assert_allclose(walk.cells.cobias, lowest, atol=1e-12)
