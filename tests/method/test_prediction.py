"""The same decisions and sums in every memory layout, by the rule of numpy's argmax."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dnip.base.arrays import row_sums
from dnip.method.prediction import decide, reweight
from strategies import KINDS, random_probabilities, seeded, tables


@seeded
@given(tables(), st.data())
def test_columns_decide_as_numpy_does_ties_included(table, data):
    n = table.p.shape[1]
    indices = np.array(data.draw(st.lists(st.integers(1, 12), min_size=n, max_size=n)))
    columns = np.asfortranarray(table.p)
    for weights in (None, indices):
        expected = np.argmax(table.p if weights is None else weights * table.p, axis=1)
        np.testing.assert_array_equal(decide(table.p, weights), expected)
        np.testing.assert_array_equal(decide(columns, weights), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 5, 9, 300])
def test_no_layout_changes_a_bit(kind, n_classes):
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, 200, n_classes, kind)
    indices = rng.integers(1, 31, n_classes)
    columns = np.asfortranarray(p)
    np.testing.assert_array_equal(row_sums(columns), row_sums(p))
    np.testing.assert_array_equal(reweight(columns, indices), reweight(p, indices))
    np.testing.assert_array_equal(decide(columns, indices), decide(p, indices))


def test_sums_are_added_from_the_first_class_to_the_last():
    p = np.array([[1.0] + [2.0**-53] * 20, [2.0**-53] * 20 + [1.0]])
    expected = [sum(row) for row in p.tolist()]
    assert expected[0] != expected[1]
    for layout in (p, np.asfortranarray(p)):
        np.testing.assert_array_equal(row_sums(layout), expected)


def test_blocks_of_rows_are_all_summed(monkeypatch):
    monkeypatch.setattr("dnip.base.arrays._MAX_ENTRIES", 7)
    p = np.arange(33.0).reshape(11, 3)
    np.testing.assert_array_equal(row_sums(p), p.sum(axis=1))
