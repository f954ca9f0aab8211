"""Exhaustive search against itertools."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip import Objective, solve
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.solvers import Exhaustive
from problems import KNOWN
from strategies import KINDS, random_probabilities, seeded

SCALES = {2: 12, 3: 6, 4: 4}


@pytest.mark.parametrize("gap", ["pairwise", "single"])
@seeded
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.sampled_from([2, 3, 4]),
    kind=st.sampled_from(KINDS),
)
def test_equals_enumeration(gap, seed, n_classes, kind):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, 20, n_classes, kind)
    labels = np.append(np.arange(n_classes), rng.integers(n_classes, size=20 - n_classes))
    scale = SCALES[n_classes]
    solution = solve(p, labels, Objective(gap=gap), scale=scale, solver="exhaustive")
    optimum = oracles.optimum(p, labels, scale, lambda c: oracles.objective(c, gap=gap))
    assert solution.value == pytest.approx(optimum, abs=1e-12)
    assert solution.lower_bound == solution.value


@seeded
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS))
def test_with_a_class_missing_equals_enumeration_of_the_others(seed, kind):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, 20, 4, kind)
    labels = np.append([0, 1, 3], rng.choice([0, 1, 3], 17))
    with pytest.warns(DNIPWarning, match="class 2"):
        solution = solve(p, labels, scale=5, solver="exhaustive")
    held = solution.weight_indices[2]
    optimum = min(
        oracles.objective(oracles.confusion_at(p, labels, indices))
        for indices in oracles.every_point(4, 5)
        if indices[2] == held
    )
    if solution.status == "optimal":
        assert solution.value == pytest.approx(optimum, abs=1e-12)
    else:  # index 2 and the others kept moving each other
        assert solution.value >= optimum - 1e-12


def test_refuses_more_points_than_it_may_try():
    known = KNOWN["four classes"]
    with pytest.raises(InvalidInputError, match=r"5\^4 = 625 .*max_points = 624.*coordinate"):
        solve(known.p, known.labels, scale=5, solver=Exhaustive(max_points=624))
    solve(known.p, known.labels, scale=5, solver=Exhaustive(max_points=625))
