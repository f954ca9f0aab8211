"""The line search finds the best index of a class, and leaves the counts as they are there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip.kernels.flips import new_workspace
from dnip.kernels.line_search import line_search
from dnip.kernels.values import Terms, new_memo, value
from layouts import each_layout, lay_out_as
from strategies import KINDS, random_probabilities, seeded, tables

TERMS = Terms(error=1.0, cobias=2.7, single=0.0, tau=0.2, smoothing=1.0)


def assert_finds_the_best_index(layout, table, scale, indices, terms=TERMS):
    """Search class after class; before each, try all of its indices with the twin."""
    p, labels, mass = table
    rows = lay_out_as(layout, p, labels, mass, scale)
    workspace = new_workspace(rows, scale)
    here = indices.astype(np.float64)
    confusion = oracles.confusion_at(p, labels, here, mass)
    predicted = confusion.sum(axis=0)
    true = confusion.sum(axis=1)
    memo = new_memo(true, terms.smoothing)
    for c in range(p.shape[1]):
        values = {}
        for k in range(1, scale + 1):
            there = here.copy()
            there[c] = k
            counts = oracles.confusion_at(p, labels, there, mass)
            fresh = new_memo(true, terms.smoothing)
            values[k] = value(counts, counts.sum(axis=0), terms, fresh)
        before, lowest = int(here[c]), min(values.values())
        stays = values[before] == lowest
        expected = before if stays else min(k for k in values if values[k] == lowest)

        found = line_search(rows, workspace, terms, memo, here, confusion, predicted, c, scale)
        assert (int(here[c]), found) == (expected, lowest)
        recount = oracles.confusion_at(p, labels, here, mass)
        np.testing.assert_array_equal(confusion, recount)
        np.testing.assert_array_equal(predicted, recount.sum(axis=0))


@each_layout
@seeded
@given(table=tables(min_rows=2), scale=st.integers(1, 12), data=st.data())
def test_finds_the_best_index(layout, table, scale, data):
    n_classes = table.p.shape[1]
    table.labels[:2], table.mass[:2] = [0, 1], 1  # COBias needs two classes
    indices = data.draw(st.lists(st.integers(1, scale), min_size=n_classes, max_size=n_classes))
    assert_finds_the_best_index(layout, table, scale, np.array(indices))


@each_layout
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_classes", "scale"), [(2, 200), (5, 30)])
def test_finds_the_best_index_over_many_rows(layout, kind, n_classes, scale):
    rng = np.random.default_rng(4)
    p = random_probabilities(rng, 200, n_classes, kind)
    table = (p, rng.integers(n_classes, size=200), rng.integers(0, 3, 200))
    for _ in range(2):
        indices = rng.integers(1, scale + 1, n_classes)
        assert_finds_the_best_index(layout, table, scale, indices)


@each_layout
@pytest.mark.parametrize(("start", "end"), [(1, 2), (2, 2), (3, 3), (4, 4), (5, 2)])
def test_stays_among_the_best_and_else_goes_to_the_lowest(layout, start, end):
    # class 1 wins row 0 from index 5 on, and row 1 from 2 on; only 2 to 4 get both rows right
    p = np.array([[0.8, 0.19], [0.6, 0.4]])
    table = (p, np.array([0, 1]), np.array([1, 1]))
    rows = lay_out_as(layout, *table, 10)
    here = np.array([1.0, start])
    confusion = oracles.confusion_at(p, table[1], here)
    state = (here, confusion, confusion.sum(axis=0))
    memo = new_memo(np.array([1, 1]), 1.0)
    z = line_search(rows, new_workspace(rows, 10), TERMS, memo, *state, 1, 10)
    assert here.tolist() == [1, end]
    assert z == pytest.approx(oracles.objective(np.eye(2, dtype=int)))
