"""The settings of a fit: what a solver declares is checked against them, once."""

import pytest

from cases import cases
from dnip import CustomObjective, Objective
from dnip.base.errors import InvalidInputError
from dnip.solvers import SOLVERS, Anneal, Coordinate, Exact, Exhaustive, SearchSettings, Solver


class Undeclared:
    """Says nothing of what it can do."""

    name = "plain"

    def search(self, landscape, rng):
        yield from ()


class Plain(Undeclared, Solver):
    """Declares nothing beyond its name."""


@pytest.mark.parametrize("name", SOLVERS)
def test_only_what_a_solver_declares_is_allowed(name):
    solver, called = SOLVERS[name](), CustomObjective(lambda confusion: 0.0)
    if solver.takes_any_objective:
        SearchSettings(called, solver=solver)
    else:
        with pytest.raises(InvalidInputError, match=f"the {name} solver"):
            SearchSettings(called, solver=solver)


def test_a_solver_of_ones_own_declares_itself():
    assert SearchSettings(solver=Plain()).solver.name == "plain"
    with pytest.raises(InvalidInputError, match=r"does not declare takes_any_objective.*Derive"):
        SearchSettings(solver=Undeclared())


def test_the_published_objective_allows_silence():
    assert SearchSettings(Objective.published()).constraints.allow_silence
    assert not SearchSettings().constraints.allow_silence


@pytest.mark.parametrize("solver", [None, 1, object(), Coordinate])
def test_what_is_no_solver_is_refused(solver):
    with pytest.raises(InvalidInputError, match=r"solver must be the name.*Exact\(\)"):
        SearchSettings(solver=solver)


@cases(
    (Anneal, {"t_max": 100, "t_min": 200}, "t_min must be .* at most 100; got 200"),
    (Anneal, {"t_min": 0}, "t_min must be .* above 0"),
    (Anneal, {"cooling": 0}, "cooling must be .* above 0"),
    (Anneal, {"cooling": 1}, "cooling must be below 1; got 1"),
    (Anneal, {"chain": 0}, "chain must be a finite number above 0; got 0"),
    (Anneal, {"max_accepted": 2.5}, "max_accepted must be a whole number"),
    (Coordinate, {"effort": 0}, "effort must be a finite number above 0"),
    (Exact, {"gap": -0.1}, "gap"),
    (Exact, {"max_open": 0}, "max_open"),
    (Exhaustive, {"max_points": 0}, "max_points must be a whole number"),
)
def test_refuses_bad_settings(solver, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        solver(**settings)
