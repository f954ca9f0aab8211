"""Exhaustive search, and all solvers on the geometric scale, against trying all weights."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from dnip import Objective, Status, solve
from dnip.base.errors import InvalidInputError
from dnip.method.scales import WeightScale
from dnip.solvers import Exhaustive
from problems import KNOWN
from strategies import KINDS, random_problem, seeded

SCALES = {2: 12, 3: 6, 4: 4}


@pytest.mark.parametrize("gap", ["pairwise", "single"])
@seeded
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.sampled_from([2, 3, 4]),
    kind=st.sampled_from(KINDS),
)
def test_equals_enumeration(gap, seed, n_classes, kind):
    p, labels = random_problem(seed, n_classes, kind, n_rows=20)
    scale = SCALES[n_classes]
    solution = solve(p, labels, Objective(gap=gap), scale=scale, solver="exhaustive")
    optimum = oracles.optimum(p, labels, scale, lambda c: oracles.objective(c, gap=gap))
    assert solution.value == pytest.approx(optimum, abs=1e-12)
    assert solution.lower_bound == solution.value


def test_refuses_more_points_than_it_may_try():
    known = KNOWN["four classes"]
    with pytest.raises(InvalidInputError, match=r"5\^4 = 625 .*max_points = 624.*coordinate"):
        solve(known.p, known.labels, scale=5, solver=Exhaustive(max_points=624))
    solve(known.p, known.labels, scale=5, solver=Exhaustive(max_points=625))


def value_at(p, labels, weights):
    return oracles.objective(oracles.confusion_at(p, labels, weights))


class TestGeometric:
    @settings(seeded, max_examples=15)
    @given(
        seed=st.integers(0, 2**32 - 1),
        n_classes=st.sampled_from([2, 3, 4]),
        kind=st.sampled_from(KINDS),
    )
    def test_solvers_equal_enumeration(self, seed, n_classes, kind):
        p, labels = random_problem(seed, n_classes, kind)
        size = SCALES[n_classes]
        levels = WeightScale.of(f"log:{size}").levels
        optimum = min(
            value_at(p, labels, weights) for weights in itertools.product(levels, repeat=n_classes)
        )
        for solver in ("exhaustive", "exact", "coordinate"):
            solution = solve(p, labels, scale=f"log:{size}", solver=solver)
            assert solution.value == pytest.approx(optimum, abs=1e-9)
            assert solution.weights.tolist() == levels[solution.weight_indices - 1].tolist()
            counted = oracles.confusion_at(p, labels, solution.weights)
            np.testing.assert_array_equal(solution.confusion, counted)

    @pytest.mark.usefixtures("blind")
    @settings(seeded, max_examples=25)
    @given(
        seed=st.integers(0, 2**32 - 1),
        kind=st.sampled_from(KINDS),
        size=st.sampled_from([1, 2, 3, 5, 9]),  # 2 and 5: steps that tie with eighths
    )
    def test_branch_and_bound_proves_the_optimum_by_itself(self, seed, kind, size):
        p, labels = random_problem(seed, 3, kind)
        solution = solve(p, labels, scale=f"log:{size}", solver="exact")
        oracle = solve(p, labels, scale=f"log:{size}", solver="exhaustive")
        assert solution.status is Status.OPTIMAL
        assert solution.value == pytest.approx(oracle.value, abs=1e-9)
