"""Scales by name, and the weights on them."""

import numpy as np
import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.method.scales import Spacing, WeightScale


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
