"""Solvers: one driver, one file per algorithm."""

from dnip.solvers.anneal import Anneal
from dnip.solvers.coordinate import Coordinate
from dnip.solvers.driver import Progress, Solver
from dnip.solvers.exact import Exact
from dnip.solvers.landscape import Landscape, Proposal
from dnip.solvers.search import SOLVERS, Settings, find_optimum, settings_of, solve, solver_of

__all__ = [
    "SOLVERS",
    "Anneal",
    "Coordinate",
    "Exact",
    "Landscape",
    "Progress",
    "Proposal",
    "Settings",
    "Solver",
    "find_optimum",
    "settings_of",
    "solve",
    "solver_of",
]
