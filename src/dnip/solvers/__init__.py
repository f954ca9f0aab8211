"""Solvers: one driver, one file per algorithm."""

from dnip.solvers.anneal import Anneal
from dnip.solvers.coordinate import Coordinate
from dnip.solvers.driver import Progress, Proposal, Solver
from dnip.solvers.exact import Exact
from dnip.solvers.exhaustive import Exhaustive
from dnip.solvers.landscape import Landscape, Position
from dnip.solvers.registry import SOLVERS
from dnip.solvers.search import find_optimum
from dnip.solvers.settings import SearchKeywords, SearchSettings
from dnip.solvers.shared import PackedFlips, ShareCounts, SharedProblem
from dnip.solvers.solve import solve
from dnip.solvers.streamed import StreamedProblem

__all__ = [
    "SOLVERS",
    "Anneal",
    "Coordinate",
    "Exact",
    "Exhaustive",
    "Landscape",
    "PackedFlips",
    "Position",
    "Progress",
    "Proposal",
    "SearchKeywords",
    "SearchSettings",
    "ShareCounts",
    "SharedProblem",
    "Solver",
    "StreamedProblem",
    "find_optimum",
    "solve",
]
