"""Arrays at the door: probabilities, labels, weights and classes."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from cases import cases
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.tables.cells import ROW_SUM_TOLERANCE, check_probabilities, check_sample_weight
from dnip.tables.labels import check_classes, read_indices

labels_of = partial(read_indices, n_rows=3, n_classes=2, name="labels")


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
        np.testing.assert_allclose(checked.sum(axis=1), 1, atol=ROW_SUM_TOLERANCE)


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
    (labels_of, [0, 1], "shape (2,), but 3 examples"),
    (labels_of, [0, 1, 2], "labels[2]: '2' is a class index outside 0..1"),
    (labels_of, [0, -1, 1], "labels[1]: the row has no label"),
    (labels_of, [0, math.nan, 1], "labels[1]: the row has no label"),
    (labels_of, [0, math.inf, 1], "labels[1]: 'inf' is neither"),
    (labels_of, [0, 1, 2**63], "labels[2]: '9.22"),
    (check_classes, "ab", "a sequence of names"),
    (check_classes, {"a", "b"}, "a sequence of names"),
    (check_classes, 2, "a sequence of names; got 2"),
    (check_classes, [], "got 0: none"),
    (check_classes, ["a", " "], "must not be empty"),
    (check_classes, ["a", "\udc80"], "valid Unicode"),
    (partial(check_sample_weight, n_examples=2), [1], "shape (1,), but 2 examples"),
    (
        partial(check_sample_weight, n_examples=2),
        [0, 0],
        "the weights of all labelled rows are zero",
    ),
    (
        partial(check_sample_weight, n_examples=2),
        [1, math.nan],
        "sample_weight[1]: nan is no weight",
    ),
)
def test_what_is_no_table_is_refused_with_its_place(check, bad, told):
    with pytest.raises(InvalidInputError) as caught:
        check(bad)
    assert told in str(caught.value)
