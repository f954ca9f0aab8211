"""More labels: enough, no more than needed, and where they count."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dnip.bootstrap.plan import more_labels

COUNTS = st.lists(st.integers(1, 500), min_size=2, max_size=6)


@given(COUNTS, st.randoms(use_true_random=False), st.floats(0.005, 0.3))
def test_a_plan_reaches_its_goal_with_as_few_as_can_be(sizes, random, deviation):
    n = np.array(sizes, float)
    v = np.array([random.uniform(0.001, 0.5) for _ in sizes])
    more = more_labels(n, v, deviation)
    if more is None:
        return
    assert (more >= 0).all()
    assert (v / (n + more)).sum() <= deviation**2 * (1 + 1e-9)
    # one label fewer of every class that gets some would not do
    fewer = n + more - (more > 0) * 1.0
    if more.any():
        assert (v / np.maximum(fewer, 0.5)).sum() > deviation**2 * (1 - 1e-9)


def test_labels_go_where_they_are_missing():
    more = more_labels(np.array([10.0, 1000.0, 10.0]), np.array([0.2, 0.2, 0.002]), 0.06)
    assert more[0] > 40
    assert more[1] == 0
    assert more[2] <= 5


def test_enough_is_enough_and_too_much_is_no_advice():
    assert more_labels(np.array([10.0, 10.0]), np.array([0.1, 0.1]), 0.5).tolist() == [0, 0]
    assert more_labels(np.array([10.0, 10.0]), np.array([0.1, 0.1]), 1e-4) is None
