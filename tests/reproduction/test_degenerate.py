"""Constant classifiers and silent classes, against counting by hand."""

import numpy as np
import pytest

from reproduction.degenerate import is_constant, never_predicted, score
from results import scored


@pytest.mark.parametrize(
    ("confusion", "silent", "constant"),
    [
        ([[9, 1], [1, 9]], 0, None),
        ([[9, 0], [1, 0]], 1, "x"),
        ([[0, 9, 0], [0, 1, 0], [0, 3, 0]], 2, "y"),
        ([[5, 4, 0], [1, 3, 0], [0, 3, 0]], 1, None),
        ([[5, 4, 0], [1, 3, 0], [0, 0, 0]], 0, None),  # a class without rows is not starved
    ],
)
def test_silent_classes_are_those_with_rows_that_no_row_is_predicted_as(
    confusion, silent, constant
):
    found = scored(confusion)
    assert (found["never_predicted"], found["constant"]) == (silent, constant)
    assert is_constant(found) == (constant is not None)


def test_cost_is_the_error_and_2_7_times_the_mean_gap():
    found = score(np.array([[8, 2, 0], [4, 6, 0], [0, 0, 10]]), "abc")
    gap = (abs(0.8 - 0.6) + abs(0.8 - 1) + abs(0.6 - 1)) / 3
    assert found["cost"] == pytest.approx(1 - 24 / 30 + 2.7 * gap)


def test_runs_in_a_cell_of_a_table():
    fine, one, always = scored([[9, 1], [1, 9]]), scored([[5, 4, 0], [1, 3, 0], [0, 3, 0]]), None
    always = scored([[9, 0], [1, 0]])
    assert never_predicted([fine, fine]) == 0
    assert never_predicted([fine, one]) == "0.5"
    assert never_predicted([always, always]) == "constant: x"
    assert never_predicted([always, scored([[0, 9], [0, 1]])]) == "constant in 2 of 2"
    assert never_predicted([always, fine]) == "constant in 1 of 2"
    assert never_predicted([]) is None
