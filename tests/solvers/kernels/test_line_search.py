"""The line search finds the best index of a class, and leaves the counts as they are there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip.method.scales import WeightScale
from dnip.solvers.kernels.flips import find_flips
from dnip.solvers.kernels.line_search import settle
from dnip.solvers.kernels.values import Terms, new_memo, value
from dnip.solvers.levels import levels_of
from layouts import each_layout, lay_out_as, weights_of
from strategies import KINDS, random_probabilities, scales, seeded, tables

Z = Terms(error=1.0, cobias=2.7, single=0.0, tau=0.2, smoothing=1.0)
ERROR = Terms(error=1.0, cobias=0.0, single=0.0, tau=0.0, smoothing=1.0)  # often ties


def assert_finds_the_best_index(layout, table, scale, indices, terms):
    """Search class after class; before each, try all of its indices with the twin."""
    p, labels, mass = table
    levels = levels_of(scale)
    rows, workspace = lay_out_as(layout, p, labels, mass, scale)
    here = indices.astype(np.float64)
    confusion = oracles.confusion_at(p, labels, weights_of(scale, here), mass)
    predicted = confusion.sum(axis=0)
    true = confusion.sum(axis=1)
    memo = new_memo(true, terms.smoothing)
    for c in range(p.shape[1]):
        values = {}
        for k in range(1, levels.size + 1):
            there = here.copy()
            there[c] = k
            counts = oracles.confusion_at(p, labels, weights_of(scale, there), mass)
            fresh = new_memo(true, terms.smoothing)
            values[k] = value(counts, counts.sum(axis=0), terms, fresh)
        before, lowest = int(here[c]), min(values.values())
        stays = values[before] == lowest
        expected = before if stays else min(k for k in values if values[k] == lowest)

        find_flips(rows, weights_of(scale, here), c, levels, workspace)
        found = settle(workspace.flips, terms, memo, here, confusion, predicted, c, levels.size)
        assert (int(here[c]), found) == (expected, lowest)
        recount = oracles.confusion_at(p, labels, weights_of(scale, here), mass)
        np.testing.assert_array_equal(confusion, recount)
        np.testing.assert_array_equal(predicted, recount.sum(axis=0))


@each_layout
@seeded
@given(
    table=tables(min_rows=2),
    scale=scales(12),
    terms=st.sampled_from([Z, ERROR]),
    data=st.data(),
)
def test_finds_the_best_index(layout, table, scale, terms, data):
    n_classes = table.p.shape[1]
    table.labels[:2], table.mass[:2] = [0, 1], 1  # COBias needs two classes
    index = st.integers(1, WeightScale.of(scale).size)
    indices = data.draw(st.lists(index, min_size=n_classes, max_size=n_classes))
    assert_finds_the_best_index(layout, table, scale, np.array(indices), terms)


@each_layout
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_classes", "scale"), [(2, 200), (5, 30)])
def test_finds_the_best_index_over_many_rows(layout, kind, n_classes, scale):
    rng = np.random.default_rng(4)
    p = random_probabilities(rng, 200, n_classes, kind)
    table = (p, rng.integers(n_classes, size=200), rng.integers(0, 3, 200))
    for terms in (Z, ERROR):
        indices = rng.integers(1, scale + 1, n_classes)
        assert_finds_the_best_index(layout, table, scale, indices, terms)


@each_layout
@pytest.mark.parametrize(("start", "end"), [(1, 2), (2, 2), (3, 3), (4, 2), (5, 2), (6, 6), (9, 9)])
def test_stays_among_the_best_and_else_goes_to_the_lowest(layout, start, end):
    # class 1 wins the rows from indices 2, 4 and 6 on; 2, 3 and from 6 on only one is wrong
    p = np.array([[0.6, 0.4], [0.78, 0.22], [0.84, 0.16]])
    labels = np.array([1, 0, 1])
    rows, workspace = lay_out_as(layout, p, labels, np.ones(3, np.int64), 10)
    here = np.array([1.0, start])
    confusion = oracles.confusion_at(p, labels, here)
    find_flips(rows, here, 1, levels_of(10), workspace)
    memo = new_memo(np.array([1, 2]), 1.0)
    z = settle(workspace.flips, ERROR, memo, here, confusion, confusion.sum(axis=0), 1, 10)
    assert here.tolist() == [1, end]
    assert z == pytest.approx(1 / 3)
