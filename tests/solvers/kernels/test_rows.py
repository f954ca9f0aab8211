"""Laying rows out: what is settled is settled for every weight vector, and nothing is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip.solvers.kernels.rows import DenseRows, SparseRows, lay_out
from layouts import each_layout, lay_out_as
from strategies import random_probabilities, seeded, tables


def is_settled(p, scale):
    rows = lay_out(p[None], np.array([0]), np.array([1]), scale)
    return rows.settled.sum() == 1


@seeded
@given(table=tables(max_rows=6, max_classes=4), scale=st.integers(1, 5))
def test_a_settled_row_is_predicted_alike_at_every_point(table, scale):
    points = np.array(list(oracles.every_point(table.p.shape[1], scale)))
    for p in table.p:
        predictions = np.unique(oracles.predict(p, points))
        products = scale * np.delete(p, p.argmax())
        if is_settled(p, scale):
            assert len(predictions) == 1
        elif not (products == p.max()).any():  # a product that only ties may win nowhere
            assert len(predictions) > 1


@each_layout
@seeded
@given(table=tables(), scale=st.integers(1, 40))
def test_all_mass_is_settled_or_open(layout, table, scale):
    rows, _ = lay_out_as(layout, *table, scale)
    by_class = np.zeros(table.p.shape[1], np.int64)
    np.add.at(by_class, table.labels, table.mass)
    opened = np.zeros_like(by_class)
    np.add.at(opened, rows.label, rows.mass)
    np.testing.assert_array_equal(rows.settled.sum(axis=1) + opened, by_class)


def test_rows_without_mass_are_not_kept():
    rows = lay_out(np.array([[0.6, 0.4], [0.6, 0.4]]), np.array([0, 1]), np.array([0, 3]), 30)
    assert rows.mass.tolist() == [3]


@pytest.mark.parametrize(
    ("n_classes", "scale", "layout"),
    [(4, 30, DenseRows), (60, 3, SparseRows), (100, 30, DenseRows)],
)
def test_the_cheaper_layout_is_chosen(n_classes, scale, layout):
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, 300, n_classes)
    rows = lay_out(p, rng.integers(n_classes, size=300), np.ones(300, np.int64), scale)
    assert isinstance(rows, layout)
