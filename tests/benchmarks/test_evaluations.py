"""Both evaluations that contestants are given, against the definition."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracles
from benchmarks.race.arena import Arena
from benchmarks.race.evaluations import evaluate_in_numpy, evaluate_on_kernels
from dnip import Objective
from strategies import KINDS, labelled_rows, seeded


@pytest.mark.parametrize("evaluate", [evaluate_in_numpy, evaluate_on_kernels])
@seeded
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 6),
    kind=st.sampled_from(KINDS),
    mu=st.sampled_from([0.5, 1.0, 4000.0]),
)
def test_equal_the_definition(evaluate, seed, n_classes, kind, mu):
    rng = np.random.default_rng(seed)
    p, labels = labelled_rows(rng, 30, n_classes, kind)
    objective = Objective(beta=1.5, tau=0.4, smoothing=mu)
    arena = Arena(p, labels, objective, 30, raw=9.0, evaluate=evaluate, time_limit=60.0)
    for indices in rng.integers(1, 31, (5, n_classes)):
        confusion = oracles.confusion_at(p, labels, indices)
        expected = oracles.objective(confusion, beta=1.5, tau=0.4, mu=mu)
        assert arena.value(indices) == pytest.approx(expected, abs=1e-12)
        assert arena.value(indices.astype(float)) == pytest.approx(expected, abs=1e-12)
