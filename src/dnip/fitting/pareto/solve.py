"""From probabilities and labels to the front of accuracy and COBias."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.typing import Counts, Floats, WeightIndices
from dnip.base.validation import check_integer, check_number
from dnip.fitting.pareto.search import Explorer, fill, sweep
from dnip.method.objective import Objective, term_values
from dnip.method.problem import Problem
from dnip.method.scales import DEFAULT_SCALE, Spacing, WeightScale
from dnip.method.solution import Status
from dnip.metrics import class_accuracies
from dnip.solvers import Settings, find_optimum

#: Called with lines visited, lines in all, and points on the front.
FrontProgress = Callable[[int, int, int], None]

# Lines that a search visits: so many, and so many more for each class.
_LINES, _LINES_PER_CLASS = 2_000, 500
# Part of the time limit that the default optimum may take.
_FOR_THE_OPTIMUM = 0.25


@dataclass(frozen=True, eq=False)
class Point:
    """Weight indices and what they do on the opt set.

    Attributes
    ----------
    weight_indices : ndarray of shape (N,)
        ξ, whole numbers 1..K.
    confusion : ndarray of shape (N, N)
        Counts on the opt set, rows true.
    terms : dict
        ``error``, ``cobias``, ``cobias_single`` and ``pmi``.
    """

    weight_indices: WeightIndices
    confusion: Counts
    terms: dict[str, float]

    @property
    def accuracy(self) -> float:
        """Share of correct predictions."""
        return 1 - self.terms["error"]

    @property
    def cobias(self) -> float:
        """Mean gap between the accuracies of two classes."""
        return self.terms["cobias"]

    @property
    def class_accuracies(self) -> Floats:
        """Accuracy of each class, (N,)."""
        return class_accuracies(self.confusion)

    def __str__(self) -> str:
        return f"accuracy {self.accuracy:.4f}, COBias {abs(self.cobias):.4f}"


@dataclass(frozen=True, eq=False)
class Front:
    """The points that no other beats in accuracy and COBias, of all that a search visited.

    Attributes
    ----------
    points : tuple of Point
        From the most accurate to the one of lowest COBias, in both strictly descending.
    raw : Point
        The plain argmax.
    optimum : Point
        The optimum of the objective at its default settings.
    scale : WeightScale
    status : Status
        ``OPTIMAL`` where all weight indices were tried, so that the front is proven.
    n_lines : int
        Lines visited, each of K points.
    seconds : float
    seed : int
    unfitted : tuple of int
        Classes without examples: they have the index of the default optimum everywhere.
    """

    points: tuple[Point, ...]
    raw: Point
    optimum: Point
    scale: WeightScale
    status: Status
    n_lines: int
    seconds: float
    seed: int
    unfitted: tuple[int, ...] = ()

    @property
    def support(self) -> Counts:
        """Labelled examples of each class, (N,)."""
        return np.asarray(self.raw.confusion.sum(axis=1))

    @property
    def sentence(self) -> str:
        """Why the search ended, and what that means."""
        return _SENTENCES[self.status]


_SENTENCES = {
    Status.OPTIMAL: "Proven: all weight indices on this scale were tried.",
    Status.FINISHED: "The search ran to its end. That is no proof: more effort may find better.",
    Status.TIME_LIMIT: "Stopped at the time limit with the front found so far.",
    Status.INTERRUPTED: "Interrupted; this is the front found so far.",
}


def front(
    probabilities: ArrayLike,
    labels: ArrayLike,
    *,
    scale: int | str | WeightScale = DEFAULT_SCALE,
    smoothing: float | None = None,
    effort: float = 1.0,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = None,
    classes: Sequence[str] | None = None,
    progress: FrontProgress | None = None,
) -> Front:
    """Find the weight indices that no others beat in both accuracy and COBias on an opt set.

    Descents under weights of the terms from error alone to COBias alone, each from where its
    neighbour ended; then lines through all points found, and kicks into the gaps between them.
    Every point of every line that is visited counts.

    Parameters
    ----------
    probabilities : array-like of shape (M, N)
        Class probabilities.
    labels : array-like of shape (M,)
        Class indices 0..N-1, of at least two classes.
    scale : int, str or WeightScale, default="log:1000"
        K or ``"log:K"``.
    smoothing : float, optional
        μ of the PMI term, which the sweep uses and the default optimum.
    effort : float, default=1.0
        Multiplies the lines visited, 2,000 + 500·N. All weight indices are tried, and the front is
        proven, where that takes no more lines: K^(N-1).
    seed : int, default=0
        Of the random choices; the same seed gives the same front.
    sample_weight : array-like of shape (M,), optional
        How much each example counts.
    time_limit : float, optional
        Seconds after which the front found so far is returned.
    classes : sequence of str, optional
        Class names, for messages.
    progress : callable, optional
        Receives lines visited, lines in all and points on the front.

    Returns
    -------
    Front
        Accuracies differ by more than a ten-thousandth where M is above 10,000.

    Raises
    ------
    InvalidInputError
        For input or settings that break their contract.

    Warns
    -----
    DNIPWarning
        For classes without examples.

    Examples
    --------
    >>> p = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.75, 0.25], [0.6, 0.4]]
    >>> found = front(p, [0, 0, 0, 1, 1])
    >>> [(round(point.accuracy, 2), round(point.cobias, 2)) for point in found.points]
    [(0.8, 0.33), (0.6, 0.17)]
    >>> found.status.value
    'optimal'
    """
    began = time.perf_counter()
    weights = WeightScale.of(scale)
    check_number("effort", effort, above=0)
    check_integer("seed", seed, at_least=0)
    problem = Problem.of(probabilities, labels, sample_weight=sample_weight, classes=classes)
    objective = Objective(smoothing=smoothing)
    share = None if time_limit is None else time_limit * _FOR_THE_OPTIMUM
    settings = Settings(objective, scale=weights, seed=seed, time_limit=share)
    solution = find_optimum(problem, settings, began)
    budget = max(1, int(effort * (_LINES + _LINES_PER_CLASS * problem.n_classes)))
    held = {c: int(solution.weight_indices[c]) for c in solution.unfitted}
    explorer = Explorer(problem, weights, smoothing, held, budget)
    if time_limit is not None:
        explorer.deadline = began + time_limit
    explorer.offer(explorer.equal_weights())
    explorer.offer(solution.weight_indices.astype(np.float64))

    n_every = weights.size ** (len(explorer.free) - 1)
    if solution.status is Status.INTERRUPTED:
        status = Status.INTERRUPTED
    elif n_every <= budget:
        status = _walk(_every_line(explorer), explorer, n_every, progress)
        status = Status.OPTIMAL if status is Status.FINISHED else status
    else:
        rng = np.random.default_rng(seed)
        search = itertools.chain(sweep(explorer, rng), fill(explorer, rng))
        status = _walk(search, explorer, budget, progress)

    # multiplied by exactly 1, so that no product is rounded
    raw = np.full(problem.n_classes, 1 if weights.spacing is Spacing.LINEAR else weights.size)

    def point(indices: WeightIndices) -> Point:
        confusion = problem.in_examples(explorer.confusion(indices))
        return Point(indices, confusion, term_values(confusion, smoothing))

    return Front(
        points=tuple(point(explorer.indices(cell)) for cell in explorer.front()[::-1].tolist()),
        raw=point(raw),
        optimum=point(solution.weight_indices),
        scale=weights,
        status=status,
        n_lines=explorer.n_lines,
        seconds=time.perf_counter() - began,
        seed=seed,
        unfitted=solution.unfitted,
    )


def _every_line(explorer: Explorer) -> Iterator[None]:
    """Visit the lines of the last class from all places of the others: all weight indices."""
    *leading, last = explorer.free.tolist()
    here = explorer.equal_weights()
    for choice in itertools.product(range(1, explorer.scale.size + 1), repeat=len(leading)):
        here[leading] = choice
        explorer.visit(here, np.array([last], np.int64))
        yield


def _walk(
    search: Iterator[None], explorer: Explorer, budget: int, progress: FrontProgress | None
) -> Status:
    """Take steps of a search until it ends, lines or time are used up, or the user interrupts."""
    reported = 0.0
    try:
        for _ in search:
            now = time.perf_counter()
            if progress is not None and now - reported > 0.1:
                progress(explorer.n_lines, budget, len(explorer.front()))
                reported = now
            if explorer.deadline is not None and now >= explorer.deadline:
                return Status.TIME_LIMIT
            if explorer.n_lines >= budget:
                break
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    return Status.FINISHED
