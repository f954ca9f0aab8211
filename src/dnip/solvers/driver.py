"""The one loop of all solvers: it holds clock, incumbent, trace and random generator."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from dnip.method.solution import Status, TraceEntry
from dnip.solvers.kernels.values import MISSED

if TYPE_CHECKING:
    from dnip.base.typing import Floats
    from dnip.solvers.landscape import Landscape


@dataclass(frozen=True)
class Proposal:
    """What a solver yields: a point, and optionally numbers on its own state.

    Attributes
    ----------
    point : ndarray of shape (N,)
        As in :class:`~dnip.solvers.landscape.Position`.
    value : float
        The objective there.
    statistics : dict
        Such as a temperature, for the trace.
    lower_bound : float
        A proven bound: no point has a lower value.
    """

    point: Floats
    value: float
    statistics: dict[str, float] = field(default_factory=dict)
    lower_bound: float = -math.inf


class Solver(Protocol):
    """An algorithm: a stream of proposals over a landscape.

    The driver takes proposals until the stream ends, time is up or the user interrupts. It keeps
    the best one, which is optimal if a proposal has a lower bound that the best value reaches.

    The other attributes say what a solver can do. Derive a solver from this class to start with
    the values below.

    Attributes
    ----------
    name : str
        What users call it.
    searches_continuous : bool
        Whether it can search any weights, not only weight indices.
    searches_in_passes : bool
        Whether it needs no rows but those that the landscape reads, so that the table may be larger
        than memory.
    takes_any_objective : bool
        Whether it can minimise any function of the confusion matrix.
    is_directed : bool
        Whether it always moves toward lower values, so that it finds the points that keep
        constraints even where there are few.
    proves : bool
        Whether it may prove an optimum, which takes long.
    """

    name: ClassVar[str]
    searches_continuous: ClassVar[bool] = False
    searches_in_passes: ClassVar[bool] = True
    takes_any_objective: ClassVar[bool] = True
    is_directed: ClassVar[bool] = False
    proves: ClassVar[bool] = False

    @abstractmethod
    def search(self, landscape: Landscape, rng: np.random.Generator) -> Iterator[Proposal]:
        """Yield points, often enough that the driver can watch the clock between two."""
        ...


#: Called with every trace entry; printing is up to the caller.
Progress = Callable[[TraceEntry], None]


@dataclass(frozen=True)
class Outcome:
    """The result of one run of a solver."""

    point: Floats  # (N,)
    status: Status
    lower_bound: float  # -inf if nothing is proven
    trace: tuple[TraceEntry, ...]


def run(
    solver: Solver,
    landscape: Landscape,
    *,
    rng: np.random.Generator,
    deadline: float | None = None,
    progress: Progress | None = None,
    start: Floats | None = None,
) -> Outcome:
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
    start : ndarray of shape (N,), optional
        A point; the end of a descent from it becomes the first incumbent.
    """
    began = time.perf_counter()
    landscape.deadline = deadline
    raw = landscape.stand(landscape.equal_weights())
    incumbent, best = raw.point.copy(), raw.value
    if start is not None:
        incumbent, best = landscape.descend(start, landscape.free)
    trace: list[TraceEntry] = []

    def note(proposal_value: float, statistics: dict[str, float]) -> None:
        seconds = time.perf_counter() - began
        # the value of a point that misses a floor only says by how much: it is shown as infinite
        here, reached = (z if z < MISSED else math.inf for z in (proposal_value, best))
        trace.append(TraceEntry(seconds, landscape.evaluations, here, reached, statistics))
        if progress is not None:
            progress(trace[-1])

    note(raw.value, {})
    bound = -math.inf
    status = Status.FINISHED
    try:
        for proposal in solver.search(landscape, rng):
            bound = max(bound, proposal.lower_bound)
            improved = proposal.value < best
            if improved:
                incumbent, best = proposal.point.copy(), proposal.value
            if improved or proposal.statistics:
                note(proposal.value, proposal.statistics)
            if deadline is not None and time.perf_counter() >= deadline:
                status = Status.TIME_LIMIT
                break
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    if bound >= best:
        status = Status.OPTIMAL
    elif bound > -math.inf and status is Status.FINISHED:
        status = Status.WITHIN_GAP
    return Outcome(incumbent, status, min(bound, best), tuple(trace))
