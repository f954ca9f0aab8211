"""Counts equal those of the NumPy twin exactly, in both layouts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip.method.scales import WeightScale
from dnip.solvers.kernels.counting import count
from layouts import each_layout, lay_out_as, weights_of
from strategies import KINDS, random_probabilities, scales, seeded, tables


@each_layout
@seeded
@given(table=tables(), scale=scales(40), data=st.data())
def test_counts_equal_the_twin(layout, table, scale, data):
    n_classes = table.p.shape[1]
    index = st.integers(1, WeightScale.of(scale).size)
    indices = data.draw(st.lists(index, min_size=n_classes, max_size=n_classes))
    weights = weights_of(scale, indices)
    rows, _ = lay_out_as(layout, *table, scale)
    np.testing.assert_array_equal(
        count(rows, weights), oracles.confusion_at(table.p, table.labels, weights, table.mass)
    )


@each_layout
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_classes", "scale"), [(2, 30), (4, 1000), (12, 7)])
def test_counts_of_many_rows_equal_the_twin(layout, kind, n_classes, scale):
    rng = np.random.default_rng(1)
    p = random_probabilities(rng, 400, n_classes, kind)
    labels = rng.integers(n_classes, size=400)
    mass = rng.integers(0, 4, 400)
    rows, _ = lay_out_as(layout, p, labels, mass, scale)
    for _ in range(5):
        indices = rng.integers(1, scale + 1, n_classes)
        np.testing.assert_array_equal(
            count(rows, indices.astype(np.float64)),
            oracles.confusion_at(p, labels, indices, mass),
        )


@each_layout
def test_a_tie_goes_to_the_lowest_class(layout):
    p = np.array([[0.2, 0.4, 0.4], [0.25, 0.25, 0.5]])
    rows, _ = lay_out_as(layout, p, np.array([2, 2]), np.array([1, 1]), 10)
    assert count(rows, np.array([1.0, 1.0, 1.0]))[2].tolist() == [0, 1, 1]
    assert count(rows, np.array([2.0, 1.0, 1.0]))[2].tolist() == [2, 0, 0]
