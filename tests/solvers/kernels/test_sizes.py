"""Sizes at the edges of what compiled code reads and writes.

With the kernels of `make sanitize`, a step beside an array ends these tests.
"""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracles
from dnip import solve
from layouts import each_layout, take_layout, weights_of
from strategies import KINDS, random_probabilities

#: Rows, classes and scale: few and many of each, and blocks of 512 rows that are full or not.
SIZES = [(2, 2, 1), (2, 2, 10_000), (3, 130, "log:2"), (511, 3, "log:500"), (512, 2, "log:10000")]
SIZES += [(513, 17, 2), (1025, 65, 30)]
each_size = pytest.mark.parametrize(("n_rows", "n_classes", "scale"), SIZES)
few = settings(derandomize=True, deadline=None, max_examples=4)
each_table = given(kind=st.sampled_from(KINDS), seed=st.integers(0, 99))
pytestmark = pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")  # classes without rows


def random_table(n_rows, n_classes, kind, seed):
    rng = np.random.default_rng(seed)
    labels, mass = rng.integers(n_classes, size=n_rows), rng.integers(0, 3, n_rows)
    labels[:2], mass[:2] = [0, n_classes - 1], 1
    return random_probabilities(rng, n_rows, n_classes, kind), labels, mass


@each_size
@each_layout
@pytest.mark.parametrize("solver", ["coordinate", "anneal", "exact"])
@few
@each_table
def test_solutions_count_what_their_weights_predict(
    layout, solver, n_rows, n_classes, scale, kind, seed
):
    p, labels, mass = random_table(n_rows, n_classes, kind, seed)
    with pytest.MonkeyPatch.context() as patch:
        take_layout(patch, layout)
        found = solve(p, labels, scale=scale, solver=solver, sample_weight=mass, time_limit=0.01)
    weights = weights_of(scale, found.weight_indices)
    recount = oracles.confusion_at(p, labels, weights, mass)
    np.testing.assert_array_equal(found.confusion, recount)
