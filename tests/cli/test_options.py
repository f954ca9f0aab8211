"""What the command line lists without loading the library, against the library."""

from typing import get_args

from dnip import Objective
from dnip.base.option import SolverName
from dnip.cli.commands.fit import FitOptions
from dnip.fitting.settings import FitSettings
from dnip.solvers import SOLVERS


def test_every_solver_can_be_named():
    assert [SOLVERS[name].name for name in get_args(SolverName)] == list(SOLVERS)


def test_the_defaults_of_fit_are_those_of_the_library():
    assert vars(FitOptions().settings()) == vars(FitSettings())


def test_the_published_settings_are_those_of_the_library():
    assert FitOptions(preset="paper").settings().objective == Objective.published()
