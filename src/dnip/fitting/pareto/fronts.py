"""From probabilities and labels to the front of accuracy and COBias, and rules to pick a point."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.typing import Counts, Floats, WeightIndices
from dnip.base.validation import check_integer, check_number
from dnip.method.constraints import Demands
from dnip.method.objective import Objective, term_values
from dnip.method.problem import Problem
from dnip.method.scales import Spacing, WeightScale
from dnip.method.solution import Status
from dnip.metrics import class_accuracies
from dnip.solvers import Coordinate, Landscape, Settings, find_optimum
from dnip.solvers.driver import run
from dnip.solvers.landscape import is_over

#: Called with fits done, fits in all, and points on the front.
FrontProgress = Callable[[int, int, int], None]

# Fits under weights of COBias from low to high, and fits of the lowest COBias above accuracies.
_BETAS, _ACCURACIES = 16, 30
_BETAS_BETWEEN = 2.0**-6, 2.0**6
# β that asks for the lowest COBias; accuracy only decides between equals.
_COBIAS_ALONE = 1e4
# Effort of a fit, and for each class: where these are few, the points help one another out.
_EFFORT, _EFFORT_PER_CLASS = 0.1, 0.003
# Part of the time limit that the default optimum may take.
_FOR_THE_OPTIMUM = 0.25
# COBias is a sum of rounded numbers: lower means lower by more than this.
_SAME = 1e-12


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
    """The points that no other beats in accuracy and COBias, of all that were fitted.

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
    evaluations : int
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
    evaluations: int
    seconds: float
    seed: int
    unfitted: tuple[int, ...] = ()

    def multipliers(self, place: int) -> Floats:
        """Return what probabilities are multiplied by at a point, (N,)."""
        return self.scale.multipliers(self.points[place].weight_indices)

    @property
    def support(self) -> Counts:
        """Labelled examples of each class, (N,)."""
        return np.asarray(self.raw.confusion.sum(axis=1))

    @property
    def sentence(self) -> str:
        """Why the search ended, and what that means."""
        return _SENTENCES[self.status]


_SENTENCES = {
    Status.FINISHED: "The search ran to its end; it proves nothing, more effort may find better.",
    Status.TIME_LIMIT: "Stopped at the time limit with the front found so far.",
    Status.INTERRUPTED: "Interrupted; this is the front found so far.",
}


def front(
    probabilities: ArrayLike,
    labels: ArrayLike,
    *,
    scale: int | str | WeightScale | None = None,
    smoothing: float | None = None,
    effort: float = 1.0,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = None,
    classes: Sequence[str] | None = None,
    progress: FrontProgress | None = None,
) -> Front:
    """Find the weight indices that no others beat in both accuracy and COBias on an opt set.

    The ordinary search finds the points one by one: under weights β of COBias from error alone to
    COBias alone, then of the lowest COBias above accuracies between these ends, which also finds
    points that are the best of no weighted sum.

    Parameters
    ----------
    probabilities : array-like of shape (M, N)
        Class probabilities.
    labels : array-like of shape (M,)
        Class indices 0..N-1, of at least two classes.
    scale : int, str or WeightScale, optional
        K, ``"log:K"`` or ``"span:S"``; by default over the spread of the probabilities.
    smoothing : float, optional
        μ of the PMI term, for the points' terms.
    effort : float, default=1.0
        Multiplies the number of fits, 46.
    seed : int, default=0
        Of the random choices; the same seed gives the same front.
    sample_weight : array-like of shape (M,), optional
        How much each example counts.
    time_limit : float, optional
        Seconds after which the front found so far is returned.
    classes : sequence of str, optional
        Class names, for messages.
    progress : callable, optional
        Receives fits done, fits in all and points on the front.

    Returns
    -------
    Front

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
    'finished'
    """
    began = time.perf_counter()
    check_number("effort", effort, above=0)
    check_integer("seed", seed, at_least=0)
    problem = Problem.of(probabilities, labels, sample_weight=sample_weight, classes=classes)
    default = WeightScale.over(problem.probabilities, problem.counts)
    weights = default if scale is None else WeightScale.of(scale)
    objective = Objective(smoothing=smoothing)
    deadline = None if time_limit is None else began + time_limit
    share = None if time_limit is None else time_limit * _FOR_THE_OPTIMUM
    settings = Settings(objective, scale=weights, seed=seed, time_limit=share)
    solution = find_optimum(problem, settings, began)
    held = {c: float(solution.weight_indices[c]) for c in solution.unfitted}

    def point(indices: WeightIndices, confusion: Counts) -> Point:
        return Point(indices, confusion, term_values(confusion, smoothing))

    # multiplied by exactly 1, so that no product is rounded
    one = 1 if weights.spacing is Spacing.LINEAR else weights.size
    counts = problem.in_examples(problem.confusion(np.ones(problem.n_classes)))
    raw = point(np.full(problem.n_classes, one), counts)
    optimum = point(solution.weight_indices, solution.confusion)
    points, evaluations, status = [raw, optimum], solution.evaluations, solution.status
    n_betas, n_accuracies = max(3, round(effort * _BETAS)), round(effort * _ACCURACIES)
    betas = [0.0, *np.geomspace(*_BETAS_BETWEEN, n_betas - 2).tolist(), _COBIAS_ALONE]
    solver = Coordinate(min(_EFFORT + _EFFORT_PER_CLASS * problem.n_classes, 1.0))
    try:
        for fit in range(n_betas + n_accuracies):
            if status is Status.INTERRUPTED or is_over(deadline):
                break
            beta, demands = betas[min(fit, n_betas - 1)], None
            if fit >= n_betas:  # the lowest COBias above an accuracy between the ends
                place = (fit - n_betas + 1) / (n_accuracies + 1)
                least = (1 - place) * points[0].accuracy + place * points[-1].accuracy
                every = np.zeros(problem.n_classes)
                demands = Demands(
                    problem.classes, raw.accuracy - least, every, (), no_silence=False
                )
            landscape = Landscape(problem, Objective(beta=beta), weights, held, demands)
            rng = np.random.default_rng(seed)
            best, status, _ = run(solver, landscape, rng=rng, deadline=deadline)
            evaluations += landscape.evaluations
            if landscape.keeps_floors(best.point):
                reached = point(best.point.astype(np.int64), landscape.confusion(best.point))
                points = _unbeaten([*points, reached])
            if progress is not None:
                progress(fit + 1, n_betas + n_accuracies, len(points))
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    if status is not Status.INTERRUPTED:
        status = Status.TIME_LIMIT if is_over(deadline) else Status.FINISHED

    return Front(
        points=tuple(_unbeaten(points)),
        raw=raw,
        optimum=optimum,
        scale=weights,
        status=status,
        evaluations=evaluations,
        seconds=time.perf_counter() - began,
        seed=seed,
        unfitted=solution.unfitted,
    )


def _unbeaten(points: list[Point]) -> list[Point]:
    """Return the points that no other beats, from the most accurate to the lowest COBias."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda point: (-point.accuracy, point.cobias)):
        if not kept or point.cobias < kept[-1].cobias - _SAME:
            kept.append(point)
    return kept
