"""Scales by name, and the same decisions and sums in every memory layout, as numpy's argmax."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from cases import cases
from dnip.base.arrays import row_sums
from dnip.base.errors import InvalidInputError
from dnip.method.prediction import decide, reweight
from dnip.method.scales import Spacing, WeightScale
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


# --- scales ---
@pytest.mark.parametrize("size", [1, 2, 10, 30, 1000, 10_000])
def test_geometric_weights_go_from_one_over_k_to_one_in_equal_ratios(size):
    weights = WeightScale.of(f"log:{size}").levels
    assert (len(weights), weights[0], weights[-1]) == (size, 1 / size, 1.0)
    exponents = (np.arange(1, size + 1) - size) / max(size - 1, 1)
    np.testing.assert_allclose(weights, float(size) ** exponents, rtol=1e-14)
    assert (np.diff(weights) > 0).all()


def test_geometric_weights_are_the_same_numbers_everywhere():
    # 2^(-4/3) and 2^(-2/3), correctly rounded
    levels = WeightScale.of("log:4").levels.tolist()
    assert levels == [0.25, 0.3968502629920499, 0.6299605249474366, 1.0]


def test_linear_multipliers_are_whole_and_weights_are_their_share_of_k():
    scale = WeightScale.of("30")
    assert scale == WeightScale.of(30) == WeightScale(Spacing.LINEAR, 30)
    indices = np.array([1, 7, 30])
    assert scale.multipliers(indices).tolist() == [1.0, 7.0, 30.0]
    assert scale.weights(indices).tolist() == [1 / 30, 7 / 30, 1.0]


@cases(
    ("log", "scale is 'log'"),
    ("log:3.5", "scale is 'log:3.5'"),
    ("Log:30", "scale is 'Log:30'"),
    ("", "scale is ''"),
    ("log:" + "9" * 5000, "scale is"),
    ("log:0", "at least 1 and at most 10000; got 0"),
    ("-3", "got -3"),
    ("log:10001", "got 10001"),
    (0, "got 0"),
    (2.5, "got 2.5"),
)
def test_other_scales_are_refused(scale, told):
    with pytest.raises(InvalidInputError, match=told):
        WeightScale.of(scale)
