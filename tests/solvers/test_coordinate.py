"""Coordinate search: the optimum, wherever it is known."""

import numpy as np
import pytest

import oracles
from dnip import Objective, solve
from dnip.solvers import Coordinate
from problems import KNOWN
from strategies import random_probabilities


@pytest.mark.parametrize("name", KNOWN)
def test_reaches_the_optimum(name):
    known = KNOWN[name]
    for seed in range(3):
        solution = solve(known.p, known.labels, scale=known.scale, seed=seed)
        assert solution.value == pytest.approx(known.optimum, abs=1e-12)


@pytest.mark.parametrize(
    "terms",
    [("error",), ("pmi",), ("error", "cobias"), ("cobias", "pmi"), Objective.TERMS],
    ids=str,
)
def test_reaches_the_optimum_whatever_terms_are_kept(terms):
    known = KNOWN["three classes"]
    objective = Objective(tau=0.2, terms=terms)
    optimum = oracles.optimum(
        known.p,
        known.labels,
        known.scale,
        lambda c: oracles.objective(c, tau=0.2, terms=objective.terms),
    )
    solution = solve(known.p, known.labels, objective, scale=known.scale)
    assert solution.value == pytest.approx(optimum, abs=1e-12)


@pytest.mark.parametrize("instance", range(3))
def test_many_skewed_classes_come_to_the_same_with_every_seed(instance):
    # Weights far apart on the geometric scale: a class at its top must still be able to rise.
    rng = np.random.default_rng(instance)
    labels = rng.integers(14, size=3000)
    p = rng.dirichlet(np.full(14, 0.3), 3000) + 0.6 * np.eye(14)[labels] * rng.random((3000, 1))
    p *= np.exp(0.7 * rng.normal(size=14))
    p /= p.sum(axis=1, keepdims=True)
    values = [solve(p, labels, seed=seed).value for seed in range(4)]
    assert max(values) - min(values) < 0.005


def test_effort_is_the_work_done():
    rng = np.random.default_rng(0)
    p, labels = random_probabilities(rng, 100, 5), rng.integers(5, size=100)
    little, much = (solve(p, labels, solver=Coordinate(effort=effort)) for effort in (0.1, 1.0))
    assert little.evaluations < much.evaluations / 5
    assert much.value <= little.value
