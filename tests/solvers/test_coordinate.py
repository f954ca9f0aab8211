"""Coordinate search: the optimum, wherever it is known."""

import math

import numpy as np
import pytest

import oracles
from dnip import Objective, solve
from dnip.errors import InvalidInputError
from dnip.solvers import Coordinate
from problems import KNOWN
from strategies import random_probabilities


@pytest.mark.parametrize("name", KNOWN)
def test_reaches_the_optimum(name):
    known = KNOWN[name]
    for seed in range(3):
        solution = solve(known.p, known.labels, scale=known.scale, seed=seed)
        assert solution.value == pytest.approx(known.optimum, abs=1e-12)


@pytest.mark.parametrize("ablation", Objective().ablations())
def test_reaches_the_optimum_of_every_ablation(ablation):
    known = KNOWN["three classes"]
    objective = Objective().ablations()[ablation]
    optimum = oracles.optimum(
        known.p, known.labels, known.scale, lambda c: oracles.objective(c, terms=objective.terms)
    )
    solution = solve(known.p, known.labels, objective, scale=known.scale)
    assert solution.value == pytest.approx(optimum, abs=1e-12)


def test_ends_where_no_class_can_improve_by_itself():
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, 300, 6)
    labels = np.where(rng.random(300) < 0.6, p.argmax(axis=1), rng.integers(6, size=300))
    solution = solve(p, labels, scale=10)
    for c in range(6):
        for k in range(1, 11):
            there = solution.weight_indices.copy()
            there[c] = k
            z = oracles.objective(oracles.confusion_at(p, labels, there))
            assert z >= solution.value - 1e-12


def test_effort_is_the_work_done():
    rng = np.random.default_rng(0)
    p, labels = random_probabilities(rng, 100, 5), rng.integers(5, size=100)
    little, much = (solve(p, labels, solver=Coordinate(effort=effort)) for effort in (0.1, 1.0))
    assert little.evaluations < much.evaluations / 5
    assert much.value <= little.value


@pytest.mark.parametrize("effort", [0, -1, math.nan, math.inf, "1"])
def test_refuses_bad_settings(effort):
    with pytest.raises(InvalidInputError, match="effort must be a finite number above 0"):
        Coordinate(effort=effort)
