"""Counts and flips: each row leaves its rival at exactly the index where the products say so."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip.method.scales import WeightScale
from dnip.solvers.kernels.flips import count, find_flips, walk
from dnip.solvers.landscape import levels_of
from layouts import each_layout, lay_out_as, weights_of
from strategies import scales, seeded, tables


def assert_walks_to_recounts(layout, table, scale, indices, c, stops):
    """Count, then walk class c from stop to stop, and recount at each."""
    p, labels, mass = table
    rows, workspace = lay_out_as(layout, p, labels, mass, scale)
    find_flips(rows, weights_of(scale, indices), c, levels_of(scale), workspace)
    here = indices.copy()
    confusion = count(rows, weights_of(scale, here))
    recount = oracles.confusion_at(p, labels, weights_of(scale, here), mass)
    np.testing.assert_array_equal(confusion, recount)
    predicted = confusion.sum(axis=0)
    for stop in stops:
        walk(workspace.flips, c, here[c], stop, confusion, predicted, len(here))
        here[c] = stop
        recount = oracles.confusion_at(p, labels, weights_of(scale, here), mass)
        np.testing.assert_array_equal(confusion, recount)
        np.testing.assert_array_equal(predicted, recount.sum(axis=0))


@each_layout
@seeded
@given(table=tables(), scale=scales(40), data=st.data())
def test_walking_equals_recounting(layout, table, scale, data):
    n_classes = table.p.shape[1]
    index = st.integers(1, WeightScale.of(scale).size)
    indices = np.array(data.draw(st.lists(index, min_size=n_classes, max_size=n_classes)))
    stops = data.draw(st.lists(index, min_size=1, max_size=5))
    c = data.draw(st.integers(0, n_classes - 1))
    assert_walks_to_recounts(layout, table, scale, indices, c, stops)
