"""The geometric scale, against trying all weights there are."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from dnip import Status, solve
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.method.scales import WeightScale
from dnip.solvers import SOLVERS
from strategies import KINDS, random_probabilities, seeded

SIZES = {2: 12, 3: 6, 4: 4}


def random_problem(seed, n_classes, kind, n_rows=40):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, n_rows, n_classes, kind)
    labels = np.append(np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes))
    return p, labels


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
        size = SIZES[n_classes]
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

    def test_annealing_walks_on_it(self):
        p, labels = random_problem(0, 3, "random")
        solution = solve(p, labels, scale="log:9", solver="anneal")
        assert solution.value <= value_at(p, labels, np.ones(3))
        assert solution.value == pytest.approx(value_at(p, labels, solution.weights))


@pytest.mark.parametrize("scale", ["log:30"])
def test_a_class_without_examples_has_the_middle_weight(scale):
    p, labels = random_problem(7, 4, "random", n_rows=200)
    rows = labels != 2
    with pytest.warns(DNIPWarning, match="class 2"):
        solution = solve(p[rows], labels[rows], scale=scale)
    middle = np.exp(np.log(np.delete(solution.weights, 2)).mean())
    assert solution.weights[2] == pytest.approx(middle, rel=0.06)  # half a step of log:30
    assert solution.status is Status.FINISHED


@pytest.mark.parametrize("solver", list(SOLVERS))
def test_continuous_weights_are_refused_with_what_to_take_instead(solver):
    with pytest.raises(InvalidInputError, match=r"no longer searched\. Take log:1000"):
        solve([[0.9, 0.1], [0.6, 0.4]], [0, 1], scale="continuous", solver=solver)
