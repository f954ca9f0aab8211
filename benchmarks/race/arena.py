"""One run of a contestant: an objective that records its values, and a deadline."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnip.base.typing import Floats, Integers, Labels, Probabilities, WeightIndices
    from dnip.method.objective import Objective

    #: Z at weight indices of shape (N,).
    ObjectiveFunction = Callable[[WeightIndices | Floats], float]

#: Values that differ by less are the same: sums of rates in another order.
TOLERANCE = 1e-12


class Stop(Exception):  # noqa: N818 - an event, no error
    """The run is over: time is up, or nothing better exists."""


class Improvement(NamedTuple):
    """A new best of a run."""

    seconds: float  # since the run began
    evaluations: int  # objective values computed until then
    value: float
    indices: tuple[int, ...]


class Arena:
    """One run of one contestant: the task, the clock and the record.

    The clock starts when the arena is made, so a contestant's own preparation counts.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices; every class has examples.
    objective : Objective
        With all terms, COBias over pairs.
    scale : int
        K.
    raw : float
        The objective of the raw argmax, where every run starts.
    evaluate : callable or None
        Makes the evaluation that `value` and `values` use; None where the search has its own.
    time_limit : float
        Seconds until :class:`Stop` is raised.
    floor : float, optional
        A proven lower bound of the objective; a run that reaches it is over.

    Attributes
    ----------
    course : list of Improvement
        The raw argmax, then every new best within the time limit, in order.
    evaluations : int
        Objective values computed so far.
    lower_bound : float or None
        What the contestant has proven.
    """

    def __init__(
        self,
        probabilities: Probabilities,
        labels: Labels,
        objective: Objective,
        scale: int,
        *,
        raw: float,
        evaluate: Callable[[Arena], ObjectiveFunction] | None,
        time_limit: float,
        floor: float | None = None,
    ) -> None:
        self._began = time.perf_counter()
        self.probabilities = probabilities
        self.labels = labels
        self.objective = objective
        self.scale = scale
        self.time_limit = time_limit
        self.course = [Improvement(0.0, 0, raw, (scale,) * probabilities.shape[1])]
        self.evaluations = 0
        self.lower_bound: float | None = None
        self._floor = -np.inf if floor is None else floor
        self._evaluate = evaluate

    @cached_property
    def _evaluation(self) -> ObjectiveFunction:
        """The evaluation, made when first used, as the time for that counts too."""
        assert self._evaluate is not None
        return self._evaluate(self)

    @property
    def n_classes(self) -> int:
        """N."""
        return int(self.probabilities.shape[1])

    @property
    def start(self) -> Integers:
        """The raw argmax, ξ = (K, …, K): where every search may begin."""
        return np.full(self.n_classes, self.scale)

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.perf_counter() - self._began

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(self.time_limit - self.seconds, 0.0)

    @property
    def best(self) -> float:
        """The best value so far."""
        return self.course[-1].value

    def value(self, indices: WeightIndices | Floats) -> float:
        """Evaluate and record weight indices of shape (N,), whole numbers 1..K."""
        z = self._evaluation(indices)
        self.note(indices, z)
        return z

    def values(self, batch: Integers | Floats) -> Floats:
        """Evaluate and record weight indices of shape (B, N).

        One by one, which is faster in NumPy than one large array: (B, M, N) products leave the
        processor's cache.
        """
        return np.array([self.value(indices) for indices in batch])

    def note(
        self, indices: WeightIndices | Floats | Sequence[int], value: float, *, evaluations: int = 1
    ) -> None:
        """Record a value that the contestant computed itself, or raise Stop.

        Parameters
        ----------
        indices : array-like of shape (N,)
        value : float
            The objective there.
        evaluations : int
            Objective values that it took since the last record.
        """
        seconds = self.seconds
        self.evaluations += evaluations
        if value < self.best - TOLERANCE and seconds <= self.time_limit:
            whole = tuple(int(index) for index in indices)
            self.course.append(Improvement(seconds, self.evaluations, float(value), whole))
        floor = self._floor if self.lower_bound is None else max(self._floor, self.lower_bound)
        if seconds >= self.time_limit or self.best <= floor + TOLERANCE:
            raise Stop

    def check_time(self) -> None:
        """Raise Stop if time is up: for long work between two records."""
        if self.remaining == 0.0:
            raise Stop

    def prove(self, lower_bound: float) -> None:
        """Record that nothing lies below a bound; a run whose best is recorded there is over."""
        known = -np.inf if self.lower_bound is None else self.lower_bound
        self.lower_bound = max(lower_bound, known)
