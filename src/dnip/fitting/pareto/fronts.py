"""From probabilities and labels to the front of accuracy and COBias, and rules to pick a point."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Counts, Floats, WeightIndices
from dnip.base.validation import check_integer, check_number
from dnip.method.constraints import Demands
from dnip.method.objective import Objective, term_values
from dnip.method.problem import Problem
from dnip.method.scales import DEFAULT_SCALE, Spacing, WeightScale
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

    The ordinary search finds the points one by one: under weights β of COBias from error alone to
    COBias alone, then of the lowest COBias above accuracies between these ends, which also finds
    points that are the best of no weighted sum.

    Parameters
    ----------
    probabilities : array-like of shape (M, N)
        Class probabilities.
    labels : array-like of shape (M,)
        Class indices 0..N-1, of at least two classes.
    scale : int, str or WeightScale, default="log:1000"
        K or ``"log:K"``.
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
    weights = WeightScale.of(scale)
    check_number("effort", effort, above=0)
    check_integer("seed", seed, at_least=0)
    problem = Problem.of(probabilities, labels, sample_weight=sample_weight, classes=classes)
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


#: What a rule may look like, for messages and help.
FORMS = (
    "knee, max-accuracy, min-cobias, 'accuracy>=0.7', 'cobias<=0.05', 'loss<=0.01', or the number "
    "of a point"
)

_NAMES = ("knee", "max-accuracy", "min-cobias")
_BOUND = re.compile(r"(accuracy|cobias|loss)\s*(>=|<=)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)")
_SENSES = {"accuracy": ">=", "cobias": "<=", "loss": "<="}
# Rates are rounded sums: a bound that is reached but for this is reached.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Rule:
    """How to pick a point.

    ``knee``: where the sum of what is gained over both ends is greatest, each as a part of the
    front's span. ``max-accuracy``, ``min-cobias``: the ends. ``accuracy>=A``: the lowest COBias
    with at least that accuracy. ``cobias<=C``: the highest accuracy with at most that COBias.
    ``loss<=L``: the lowest COBias at an accuracy at most L below that of the raw argmax. A number
    counts the points from 1, the most accurate.

    Parameters
    ----------
    kind : str
        One of the names, or ``"accuracy"``, ``"cobias"``, ``"loss"``, ``"number"``.
    bound : float, default=0
        Of the last four.

    Examples
    --------
    >>> Rule.of("accuracy >= 0.7"), str(Rule.of("12"))
    (Rule(kind='accuracy', bound=0.7), '12')
    """

    kind: str
    bound: float = 0.0

    @classmethod
    def of(cls, text: str | int | Rule) -> Rule:
        """Read a rule.

        Raises
        ------
        InvalidInputError
            For a text that is no rule, or a bound out of range.
        """
        if isinstance(text, Rule):
            return text
        name = str(text).strip().lower()
        if name in _NAMES:
            return cls(name)
        if re.fullmatch(r"[0-9]{1,9}", name):
            return cls("number", int(name))
        match = _BOUND.fullmatch(name)
        if match is None:
            hint = f"Give {FORMS}"
            if name in _SENSES:
                hint = (
                    f"Put quotes around it, as in '{name}{_SENSES[name]}0.1': > and < steer files"
                )
            raise InvalidInputError(f"{str(text)!r} is no rule to choose a point by", hint=hint)
        kind, sense, number = match.groups()
        if sense != _SENSES[kind]:
            raise InvalidInputError(
                f"{str(text)!r} is no rule: {kind} takes {_SENSES[kind]}", hint=f"Give {FORMS}"
            )
        least = -1 if kind == "loss" else 0
        return cls(
            kind, check_number(f"the bound of {kind}", float(number), at_least=least, at_most=1)
        )

    def __str__(self) -> str:
        if self.kind in _NAMES:
            return self.kind
        if self.kind == "number":
            return f"{self.bound:g}"
        return f"{self.kind}{_SENSES[self.kind]}{self.bound:g}"

    def choose(self, front: Front) -> int:
        """Return the place of the chosen point among the points of a front, from 0.

        Raises
        ------
        InvalidInputError
            If no point obeys the rule; the message names the nearest.
        """
        points = front.points
        place = self._best(front)
        if place is not None:
            return place
        if self.kind == "number":
            raise InvalidInputError(
                f"there is no point {self}: the front has {len(points)}",
                hint=f"Give a number from 1, the most accurate, to {len(points)}",
            )
        nearest, since = self.nearest(front), ""
        if self.kind == "loss":
            since = f", measured from the raw argmax with accuracy {front.raw.accuracy:.4f}"
        raise InvalidInputError(
            f"no point of the front obeys {self}{since}; the nearest is point {nearest + 1}: "
            f"{points[nearest]}",
            hint=f"Take it with {nearest + 1}, or loosen the bound",
        )

    def nearest(self, front: Front) -> int:
        """Return the place of the chosen point, or of the one nearest to obeying the rule."""
        place = self._best(front)
        if place is not None:
            return place
        return len(front.points) - 1 if self.kind in ("number", "cobias") else 0

    def _best(self, front: Front) -> int | None:
        """Return the place of the point that the rule asks for, if there is one."""
        points = front.points
        if self.kind == "max-accuracy":
            return 0
        if self.kind == "min-cobias":
            return len(points) - 1
        if self.kind == "knee":
            return knee(points)
        if self.kind == "number":
            return int(self.bound) - 1 if 1 <= self.bound <= len(points) else None
        if self.kind == "cobias":
            obeying = [n for n, p in enumerate(points) if p.cobias <= self.bound + _ROUNDING]
            return obeying[0] if obeying else None
        least = front.raw.accuracy - self.bound if self.kind == "loss" else self.bound
        obeying = [n for n, p in enumerate(points) if p.accuracy >= least - _ROUNDING]
        return obeying[-1] if obeying else None


def knee(points: tuple[Point, ...]) -> int:
    """Return the place of the point that gains most over both ends of a front.

    Gains are parts of the front's span in accuracy and in COBias. The point is the one farthest
    from the line between the ends, on the better side; of equal ones that of lower COBias.
    """
    gained = place_on(points).sum(axis=1)
    return int(np.flatnonzero(gained >= gained.max() - _ROUNDING)[-1])


def place_on(points: tuple[Point, ...]) -> Floats:
    """Return where each point stands between the ends of a front, (P, 2).

    The accuracy gained over the last point and the COBias gained over the first, as parts of the
    front's span; 1 for a front of one point.
    """
    accuracy = np.array([point.accuracy for point in points])
    cobias = np.array([point.cobias for point in points])
    if len(points) == 1:
        return np.ones((1, 2))
    return np.column_stack(
        [
            (accuracy - accuracy[-1]) / (accuracy[0] - accuracy[-1]),
            (cobias[0] - cobias) / (cobias[0] - cobias[-1]),
        ]
    )
