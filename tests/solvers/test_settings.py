"""The settings of a fit: what a solver declares is checked against them, once."""

from dataclasses import replace

import pytest

from dnip import Constraints, CustomObjective, Objective
from dnip.base.errors import InvalidInputError
from dnip.solvers import SOLVERS, Coordinate, SearchSettings, Solver


class Plain(Solver):
    """Declares nothing beyond its name."""

    name = "plain"

    def search(self, landscape, rng):
        yield from ()


class Undeclared:
    """Says nothing of what it can do."""

    name = "undeclared"

    def search(self, landscape, rng):
        yield from ()


def test_settings_hold_what_their_forms_stand_for():
    settings = SearchSettings(scale=30)
    assert isinstance(settings.objective, Objective)
    assert settings.scale.size == 30
    assert settings.solver == Coordinate()
    assert settings.constraints == Constraints()
    assert replace(settings, seed=3).scale == settings.scale


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


def test_constraints_are_of_their_own_kind():
    with pytest.raises(InvalidInputError, match="constraints must be a Constraints; got"):
        SearchSettings(constraints={"max_accuracy_loss": 0.1})
