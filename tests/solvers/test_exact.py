"""Branch and bound against trying all weights: the optimum, the bound, the gap."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracles
from cases import cases
from dnip import Objective, Status, solve
from dnip.method.objective import as_objective
from dnip.method.scales import WeightScale
from dnip.solvers import Exact, exact
from layouts import weights_of
from strategies import KINDS, OBJECTIVES, SEEDS, random_problem, seeded

SIZES = {2: 30, 3: 12, 4: 6, 6: 3}
#: On the geometric scales of three classes; 2, 5 and a span of ln 8: steps that tie with eighths.
SCALES = st.one_of(
    st.sampled_from([2, 3, 4, 6]).map(lambda n: (n, SIZES[n])),
    st.sampled_from([1, 2, 3, 5, 9]).map(lambda size: (3, f"log:{size}")),
    st.just((3, WeightScale.spanning(math.log(8), 4))),
)


@pytest.mark.usefixtures("blind")
@pytest.mark.parametrize("objective", [*OBJECTIVES, "balanced-accuracy"], ids=str)
@settings(seeded, max_examples=15)
@given(seed=SEEDS, scale=SCALES, kind=st.sampled_from(KINDS))
def test_equals_enumeration(objective, seed, scale, kind):
    n_classes, scale = scale
    p, labels = random_problem(seed, n_classes, kind, n_rows=60)
    solution = solve(p, labels, objective, scale=scale, solver="exact")
    optimum = oracles.optimum(
        p,
        labels,
        WeightScale.of(scale).levels,
        as_objective(objective),
        may_silence=getattr(objective, "smoothing", None) is not None,
    )
    assert solution.status is Status.OPTIMAL
    assert solution.value == pytest.approx(optimum, abs=1e-9)
    assert (solution.lower_bound, solution.gap) == (solution.value, 0.0)
    counted = oracles.confusion_at(p, labels, weights_of(scale, solution.weight_indices))
    np.testing.assert_array_equal(solution.confusion, counted)


@pytest.mark.usefixtures("blind")
def test_an_optimum_whose_largest_index_is_not_the_top_is_reached():
    p = np.array([[1000.5 / 1002.5, 1.0], [999.5 / 1001.5, 1.0]])  # 500/501 lies between, alone
    solution = solve(p / p.sum(axis=1, keepdims=True), [0, 1], scale=1000, solver="exact")
    assert (solution.weight_indices.tolist(), solution.value) == ([501, 500], 0.0)


def hard_problem(n_rows, n_classes):
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=n_rows)
    z = rng.normal(size=(n_rows, n_classes)) + rng.normal(size=n_classes)
    z[np.arange(n_rows), labels] += 1.0
    p = np.exp(z)
    return p / p.sum(axis=1, keepdims=True), labels


def test_a_search_cut_short_keeps_its_best_and_a_bound(ticking):
    p, labels = hard_problem(500, 8)
    best = solve(p, labels).value
    solution = solve(p, labels, solver="exact", time_limit=100)
    assert solution.status is Status.TIME_LIMIT
    assert solution.lower_bound < solution.value
    assert solution.gap == solution.value - solution.lower_bound
    assert solution.value <= best


def test_the_search_ends_within_the_gap_that_is_asked_for():
    p, labels = hard_problem(300, 5)
    best = solve(p, labels, Objective(tau=0), scale="log:1000", solver=Exact())
    near = solve(p, labels, Objective(tau=0), scale="log:1000", solver=Exact(gap=0.05))
    assert best.status is Status.OPTIMAL
    assert near.status is Status.WITHIN_GAP
    assert 0 < near.gap <= 0.05
    assert near.lower_bound <= best.value <= near.value
    assert near.evaluations < best.evaluations


def test_a_short_queue_finds_the_same(blind, monkeypatch):
    p, labels = random_problem(1, 4, "random", n_rows=300)
    usual = solve(p, labels, scale="log:1000", solver="exact")
    monkeypatch.setattr(exact, "_MOST_OPEN", 2)
    short = solve(p, labels, scale="log:1000", solver="exact")
    assert short.value == usual.value
    assert short.evaluations != usual.evaluations


def test_the_number_of_threads_changes_nothing(monkeypatch):
    p, labels = random_problem(2, 4, "random", n_rows=300)
    several = solve(p, labels, scale="log:1000", solver="exact")
    monkeypatch.setattr(exact, "n_cores", lambda: 1)
    alone = solve(p, labels, scale="log:1000", solver="exact")
    assert several.weight_indices.tolist() == alone.weight_indices.tolist()
    assert several.evaluations == alone.evaluations


@cases(
    np.tile([0.5, 0.3, 0.2], (30, 1)),
    np.full((30, 3), 1 / 3),
    np.tile([1 - 1e-16, 5e-324, 1e-16], (30, 1)),
)
def test_degenerate_tables(p):
    labels = np.arange(30) % 3
    solution = solve(p, labels, scale=12, solver="exact")
    assert solution.value == pytest.approx(oracles.optimum(p, labels, 12), abs=1e-12)
