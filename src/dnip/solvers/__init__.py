"""Solvers: one driver, one file per algorithm."""

from dnip.solvers.anneal import Anneal
from dnip.solvers.coordinate import Coordinate
from dnip.solvers.driver import Progress, Proposal, Solver
from dnip.solvers.exact import Exact
from dnip.solvers.exhaustive import Exhaustive
from dnip.solvers.landscape import Landscape, Position
from dnip.solvers.solve import SOLVERS, Search, may_silence, solve
from dnip.solvers.spaced import not_in_passes
from dnip.solvers.streamed import StreamedProblem

__all__ = [
    "SOLVERS",
    "Anneal",
    "Coordinate",
    "Exact",
    "Exhaustive",
    "Landscape",
    "Position",
    "Progress",
    "Proposal",
    "Search",
    "Solver",
    "StreamedProblem",
    "may_silence",
    "not_in_passes",
    "solve",
]
