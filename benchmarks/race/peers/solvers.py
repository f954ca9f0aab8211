"""The solvers of the package itself, from raw arrays to their last proposal."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from dnip.method.problem import Problem
from dnip.solvers import SOLVERS, Anneal, Coordinate, Landscape, Solver

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.race.arena import Arena

#: Enough line searches for any time limit; the course of the search is that of the default effort.
_ENDLESS = 1e9


#: The solvers with their usual settings, and annealing with the chains of the paper.
RACED: dict[str, Solver] = {name: solver() for name, solver in SOLVERS.items()}
RACED |= {Coordinate.name: Coordinate(_ENDLESS), "anneal-paper": Anneal.paper()}


def searcher(solver: Solver) -> Callable[[Arena, int], None]:
    """Return the search of a solver."""

    def search(arena: Arena, seed: int) -> None:
        problem = Problem.of(arena.probabilities, arena.labels)
        landscape = Landscape(problem, arena.objective, arena.scale, held={})
        landscape.deadline = time.perf_counter() + arena.remaining
        raw = landscape.evaluate(landscape.equal_weights())
        arena.note(raw.point, raw.value)
        counted = landscape.evaluations
        for proposal in solver.search(landscape, np.random.default_rng(seed)):
            new = landscape.evaluations - counted
            counted = landscape.evaluations
            if proposal.lower_bound > -math.inf:
                arena.prove(proposal.lower_bound)
            arena.note(proposal.point, proposal.value, evaluations=new)

    return search
