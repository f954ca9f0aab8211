"""The one loop of all solvers: it holds clock, incumbent, trace and random generator."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from dnip.method.solution import Status, TraceEntry
from dnip.solvers.kernels.values import MISSED
from dnip.solvers.landscape import Landscape, Proposal, is_over


class Solver(ABC):
    """An algorithm: a stream of proposals over a landscape.

    The driver takes proposals until the stream ends, time is up or the user interrupts. It keeps
    the best one, which is optimal if a proposal has a lower bound that the best value reaches.

    The other attributes say what a solver can do. A solver of one's own is derived from this class.

    Attributes
    ----------
    name : str
        What users call it.
    takes_any_objective : bool
        Whether it can minimise any function of the confusion matrix.
    proves : bool
        Whether it may prove an optimum, which takes long.
    """

    name: ClassVar[str]
    takes_any_objective: ClassVar[bool] = True
    proves: ClassVar[bool] = False

    @abstractmethod
    def search(self, landscape: Landscape, rng: np.random.Generator) -> Iterator[Proposal]:
        """Yield points, often enough that the driver can watch the clock between two."""
        ...


#: Called with every trace entry; printing is up to the caller.
Progress = Callable[[TraceEntry], None]


def run(
    solver: Solver,
    landscape: Landscape,
    *,
    rng: np.random.Generator,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> tuple[Proposal, Status, tuple[TraceEntry, ...]]:
    """Run a solver on a landscape, starting from the raw argmax as the first incumbent.

    Parameters
    ----------
    solver : Solver
    landscape : Landscape
    rng : numpy.random.Generator
        The only source of randomness.
    deadline : float, optional
        A ``time.perf_counter`` reading at which to stop.
    progress : callable, optional
        Called with each trace entry.

    Returns
    -------
    best : Proposal
        With the highest bound that was proven, minus infinity if none was.
    status : Status
    trace : tuple of TraceEntry
    """
    began = time.perf_counter()
    landscape.deadline = deadline
    best = landscape.settle(landscape.evaluate(landscape.equal_weights()))
    bound = -math.inf
    status = Status.FINISHED
    trace: list[TraceEntry] = []

    def note(proposal: Proposal) -> None:
        seconds = time.perf_counter() - began
        # the value of a point that misses a floor only says by how much: it is shown as infinite
        here, reached = (z if z < MISSED else math.inf for z in (proposal.value, best.value))
        entry = TraceEntry(seconds, landscape.evaluations, here, reached, proposal.statistics)
        trace.append(entry)
        if progress is not None:
            progress(entry)

    note(best)
    try:
        for proposed in solver.search(landscape, rng):
            bound = max(bound, proposed.lower_bound)
            proposal = landscape.settle(proposed)
            improved = proposal.value < best.value
            if improved:
                best = replace(proposal, point=proposal.point.copy())
            if improved or proposal.statistics:
                note(proposal)
            if is_over(deadline):
                status = Status.TIME_LIMIT
                break
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    if bound >= best.value:
        status = Status.OPTIMAL
    elif bound > -math.inf and status is Status.FINISHED:
        status = Status.WITHIN_GAP
    return replace(best, lower_bound=min(bound, best.value)), status, tuple(trace)
