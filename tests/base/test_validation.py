import functools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from cases import cases
from dnip.base import arrays as of_tables
from dnip.base.arrays import check_probabilities, check_sample_weight
from dnip.base.classes import check_classes, read_indices
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.base.validation import (
    check_choice,
    check_integer,
    check_number,
    check_scale,
    check_weight_indices,
)

labels_of = functools.partial(read_indices, n_rows=3, n_classes=2, name="labels")


def test_rows_off_are_normalised_and_told():
    p = np.array([[0.5, 0.5], [30.0, 10.0]])
    with pytest.warns(DNIPWarning, match=r"1 of 2 rows .* probabilities\[1\], sum 40"):
        checked = check_probabilities(p)
    np.testing.assert_array_equal(checked, [[0.5, 0.5], [0.75, 0.25]])
    np.testing.assert_array_equal(p[1], [30, 10])


SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=2)


@given(arrays(np.float64, SHAPES, elements=st.floats(0, 1e300, exclude_min=True)))
def test_normalised_rows_sum_to_one(p):
    for row in p:
        checked = check_probabilities(row[None], warn=False)
        np.testing.assert_allclose(checked.sum(axis=1), 1, atol=of_tables.ROW_SUM_TOLERANCE)


def test_numbers_that_share_nothing_are_refused_and_others_are_normalised():
    rng = np.random.default_rng(0)
    logits = 12 + rng.normal(0, 2, (50, 3))
    with pytest.raises(
        InvalidInputError, match=r"probabilities\[\d+\]: .* sum to .* elsewhere to .* softmax"
    ):
        check_probabilities(logits)
    shares = rng.dirichlet(np.ones(3), 50)
    for scaled in (100 * shares.round(3), np.floor(255 * shares), rng.poisson(4, (50, 3)) + 1):
        expected = scaled / scaled.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(check_probabilities(scaled, warn=False), expected)


@cases(
    (check_probabilities, [0.5, 0.5], "shape (2,)"),
    (check_probabilities, [["a", "b"]], "not a matrix of numbers"),
    (check_probabilities, [[0.5], [0.5, 0.5]], "not a matrix of numbers"),
    (check_probabilities, [[1j, 1]], "complex"),
    (check_probabilities, [[0.5, 0.5], [math.nan, 1]], "[1, 0]: the number is missing"),
    (check_probabilities, [[math.inf, 1]], "probabilities[0, 0]: the probability is infinite"),
    (check_probabilities, [[1, -0.5]], "[0, 1]: the probability is negative (-0.5)"),
    (check_probabilities, [[1, 0], [0, 0]], "probabilities[1]: all class probabilities are 0"),
    (check_probabilities, [[1e308, 1e308]], "[0]: the sum of the class probabilities overflows"),
    (labels_of, [0, 1], "shape (2,), but 3 examples"),
    (labels_of, [0, 1, 2], "labels[2]: '2' is a class index outside 0..1"),
    (labels_of, [0, -1, 1], "labels[1]: the row has no label"),
    (labels_of, [0, math.nan, 1], "labels[1]: the row has no label"),
    (labels_of, [0, math.inf, 1], "labels[1]: 'inf' is neither"),
    (labels_of, [0, 1, 2**63], "labels[2]: '9.22"),
    (check_classes, "ab", "a sequence of names"),
    (check_classes, [], "got 0: none"),
    (check_classes, ["a", " "], "must not be empty"),
    (check_classes, ["a", "\udc80"], "valid Unicode"),
)
def test_what_is_no_table_is_refused_with_its_place(check, bad, told):
    with pytest.raises(InvalidInputError) as caught:
        check(bad)
    assert told in str(caught.value)


@cases(
    (lambda: check_number("beta", -1, at_least=0), "beta must be a finite number at least 0"),
    (lambda: check_number("beta", 0, above=0), "above 0; got 0"),
    (lambda: check_number("beta", 2, at_most=1), "at most 1; got 2"),
    (lambda: check_number("beta", math.nan), "beta must be a finite number; got nan"),
    (lambda: check_number("beta", 10**400), "beta must be a finite number"),
    (lambda: check_number("beta", 1e308), "beta must be a finite number at most 1e+12"),
    (lambda: check_number("beta", "1"), "got '1'"),
    (lambda: check_number("beta", True), "got True"),
    (lambda: check_number("beta", math.inf), "got inf"),
    (lambda: check_integer("seed", 1.0, at_least=0), "whole number of at least 0; got 1.0"),
    (lambda: check_integer("seed", -1, at_least=0), "got -1"),
    (lambda: check_scale(0), "scale must be a whole number of at least 1"),
    (lambda: check_scale(10**6), "at most 10000; got 1000000"),
    (lambda: check_choice("solver", "x", ["a", "b"]), "one of a, b; got 'x'"),
    (lambda: check_weight_indices([1], n_classes=2, scale=30), "must be 2 whole numbers"),
    (lambda: check_weight_indices([1.0, 2.0], n_classes=2, scale=30), "got float64"),
    (lambda: check_weight_indices([1, 31], n_classes=2, scale=30), "[1] is 31, outside 1..30"),
    (lambda: check_sample_weight([1], n_examples=2), "shape (1,), but 2 examples"),
    (lambda: check_sample_weight([0, 0], n_examples=2), "not all zero"),
    (lambda: check_sample_weight([1, math.nan], n_examples=2), "finite"),
)
def test_a_setting_out_of_range_is_told_with_name_range_and_value(call, told):
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert told in str(caught.value)
