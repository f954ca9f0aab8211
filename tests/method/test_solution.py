"""Solutions: frozen, and explained in sentences."""

import dataclasses

import numpy as np
import pytest

from dnip import Status, solve
from dnip.base.errors import DNIPWarning

P = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]])
Y = [0, 1, 0, 1]


def test_only_a_proof_is_called_one():
    assert [s for s in Status if "optimal" in s.sentence] == [Status.OPTIMAL]


def test_classes_at_the_end_of_the_scale_are_told():
    p = np.array([[0.999, 0.001, 0.0], [0.998, 0.002, 0.0], [0.5, 0.3, 0.2]])
    with pytest.warns(DNIPWarning, match="class 0"):
        solution = solve(p, [1, 1, 2], scale=5)
    ends = dataclasses.replace(solution, weight_indices=np.array([1, 5, 1]))
    assert ends.unfitted == (0,)
    assert ends.at_the_end == (2,)
    assert solve(P, Y, scale=1).at_the_end == ()
