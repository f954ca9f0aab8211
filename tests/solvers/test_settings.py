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
    solver = SOLVERS[name]()
    asked = {
        "searches_continuous": lambda: SearchSettings(solver=solver, scale="continuous"),
        "takes_any_objective": lambda: SearchSettings(
            CustomObjective(lambda c: 0.0), solver=solver
        ),
        "searches_in_passes": lambda: SearchSettings(solver=solver).check_in_passes(),
    }
    for ability, ask in asked.items():
        if getattr(solver, ability):
            ask()
        else:
            with pytest.raises(InvalidInputError, match=f"the {name} solver"):
                ask()


def test_the_continuous_scale_is_not_searched_in_passes():
    with pytest.raises(InvalidInputError, match="scale continuous needs the whole table"):
        SearchSettings(scale="continuous").check_in_passes()


def test_a_solver_of_ones_own_declares_itself():
    assert SearchSettings(solver=Plain()).solver.name == "plain"
    with pytest.raises(InvalidInputError, match=r"does not declare searches_continuous.*Derive"):
        SearchSettings(solver=Undeclared())


def test_the_published_objective_allows_silence():
    assert SearchSettings(Objective.published()).constraints.allow_silence
    assert not SearchSettings().constraints.allow_silence
