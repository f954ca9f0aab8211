"""Rules that pick one point of a front, and what each scores on rows that were left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dnip.base.errors import InvalidInputError, unwarned
from dnip.base.typing import Confusion, Floats, Integers, Labels, Probabilities
from dnip.base.validation import check_number
from dnip.fitting.pareto.solve import Front, Point, front
from dnip.fitting.refits import USUAL_FOLDS, deal_folds
from dnip.method.prediction import decide
from dnip.method.solution import Status
from dnip.metrics.confusion import count_pairs

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


#: A front over-fits where some class has fewer labelled examples than this: its accuracy is then
#: known to 0.05 at best.
FEW = 100


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Scores on rows that were left out: each fold's front is scored on the other rows.

    Attributes
    ----------
    fronts : tuple of Front
        The front without each fold.
    folds : ndarray of shape (M,)
        The fold of each row.
    """

    fronts: tuple[Front, ...]
    folds: Integers
    _probabilities: Probabilities
    _labels: Labels
    _nearest: list[list[int]]

    @cached_property
    def confusions(self) -> tuple[Confusion, ...]:
        """For each point of the front: counts of all rows.

        Each row is under the point that stands at the same place of the front found without its
        fold.
        """
        return tuple(self._count(places) for places in zip(*self._nearest, strict=True))

    def score(self, rule: Rule) -> Confusion:
        """Return the counts of all rows when a rule chooses on each fold's front.

        Where no point of a fold's front obeys the rule, the nearest one is used.
        """
        return self._count([rule.nearest(found) for found in self.fronts])

    def _count(self, places: Iterable[int]) -> Confusion:
        n_classes = self._probabilities.shape[1]
        counts = np.zeros((n_classes, n_classes), np.int64)
        for fold, (found, place) in enumerate(zip(self.fronts, places, strict=True)):
            left_out = self.folds == fold
            multipliers = found.scale.multipliers(found.points[place].weight_indices)
            predictions = decide(self._probabilities[left_out], multipliers)
            counts += count_pairs(self._labels[left_out], predictions, n_classes, n_classes)
        return counts


def cross_fit(
    probabilities: Probabilities,
    labels: Labels,
    found: Front,
    *,
    smoothing: float | None = None,
    effort: float = 1.0,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CrossFit | None:
    """Find the front again without each fold, and score every point on the rows left out.

    A point of the whole front is compared with the one of a fold's front that stands at the same
    place between its ends.

    Parameters
    ----------
    probabilities, labels : ndarray
        What `found` was found on; each row counts once.
    found : Front
    smoothing, effort
        As for :func:`front`.
    time_limit : float, optional
        Seconds for all folds together.
    progress : callable, optional
        Receives the fold and the number of folds.

    Returns
    -------
    CrossFit or None
        None if the user interrupted.

    Raises
    ------
    InvalidInputError
        If some class has a single example: it cannot be fitted and scored.

    Examples
    --------
    >>> from dnip.metrics import accuracy
    >>> rng = np.random.default_rng(0)
    >>> p, labels = rng.dirichlet([1, 1, 1], 60), np.arange(60) % 3
    >>> found = front(p, labels)
    >>> checked = cross_fit(p, labels, found)
    >>> accuracy(checked.score(Rule.of("max-accuracy"))) < found.points[0].accuracy
    True
    """
    sizes = found.support[found.support > 0]
    if sizes.min() < 2:
        raise InvalidInputError(
            "a class has a single labelled row, which cannot be left out and fitted on both",
            hint="Label more rows, or leave cross-fitting off",
        )
    n_folds = int(min(USUAL_FOLDS, sizes.min()))
    folds = deal_folds(labels, n_folds, found.seed)
    fronts = []
    for fold in range(n_folds):
        if progress is not None:
            progress(fold + 1, n_folds)
        kept = folds != fold
        with unwarned():  # of classes without examples: given already
            without = front(
                probabilities[kept],
                labels[kept],
                scale=found.scale,
                smoothing=smoothing,
                effort=effort,
                seed=found.seed,
                time_limit=None if time_limit is None else time_limit / n_folds,
            )
        if without.status is Status.INTERRUPTED:
            return None
        fronts.append(without)
    nearest = [_nearest(found, without) for without in fronts]
    return CrossFit(tuple(fronts), folds, probabilities, labels, nearest)


def _nearest(found: Front, without: Front) -> list[int]:
    """Return, for each point of a front, the place of the one at the same place on another."""
    apart = place_on(found.points)[:, None, :] - place_on(without.points)[None, :, :]
    return [int(place) for place in (apart**2).sum(axis=2).argmin(axis=1)]
