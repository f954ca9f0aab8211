"""A time limit holds inside one descent, and for all that surrounds a search."""

import time

import numpy as np
import pytest

from cases import cases
from dnip import Objective, ProbabilityTable, Status, solve
from dnip.fitting.fit import fit_table
from dnip.solvers import passes
from dnip.solvers.anneal import Anneal

# Far more than a limit of half a second needs, far less than the search would take.
_SECONDS = 10.0

pytestmark = pytest.mark.filterwarnings("ignore:no labelled example")


def draw(n_rows, n_classes):
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(n_classes), n_rows), rng.integers(0, n_classes, n_rows)


@cases(
    {"scale": 30},
    {"scale": "log:1000"},
    {"solver": "exact", "scale": 30},
    {"solver": Anneal(t_min=1e-9, cooling=0.9999)},
    {"objective": Objective(gap="single")},
    {"objective": lambda confusion: 1 - np.trace(confusion) / confusion.sum()},
)
def test_a_descent_over_many_classes_ends_in_time(settings):
    p, y = draw(300, 1_500)
    began = time.perf_counter()
    found = solve(p, y, **settings, time_limit=0.5)
    assert time.perf_counter() - began < _SECONDS
    assert found.status is Status.TIME_LIMIT
    assert found.value <= found.trace[0].value


@pytest.mark.parametrize("robust", ["off", "auto", "on"])
def test_a_fit_of_many_classes_ends_in_time(robust):
    table = ProbabilityTable(*draw(60, 3_000))
    began = time.perf_counter()
    found = fit_table(table, robust=robust, time_limit=0.5)
    assert time.perf_counter() - began < _SECONDS
    assert found.solution.status is Status.TIME_LIMIT


def test_a_descent_in_steps_is_the_descent_in_one(monkeypatch):
    p, y = draw(200, 12)
    whole = solve(p, y)
    monkeypatch.setattr(passes, "_CELLS", 1)
    stepwise = solve(p, y)
    np.testing.assert_array_equal(stepwise.weight_indices, whole.weight_indices)
    assert (stepwise.value, stepwise.evaluations) == (whole.value, whole.evaluations)
