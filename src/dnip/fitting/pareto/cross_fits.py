"""A front scored on rows that it has not seen: fronts without each fold of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Self

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Confusion, Integers, Labels, Probabilities
from dnip.fitting.pareto.fronts import Front, front
from dnip.fitting.pareto.rules import Rule, place_on
from dnip.fitting.refits import USUAL_FOLDS, refit_without
from dnip.method.problem import Problem
from dnip.method.solution import Status


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Scores on rows that were left out: each fold's front is scored on the other rows.

    Attributes
    ----------
    refits : list of tuple
        The rows that each front has not seen, and the front.
    confusions : tuple of ndarray of shape (N, N)
        For each point of the whole front: counts of all rows, each under the point that stands at
        the same place of the front found without it.
    """

    refits: list[tuple[Problem, Front]]
    confusions: tuple[Confusion, ...]

    @classmethod
    def of(cls, refits: list[tuple[Problem, Front]], found: Front) -> Self:
        """Score every point of a front."""
        at, nearest = place_on(found.points), []
        for _, without in refits:
            apart = at[:, None, :] - place_on(without.points)[None, :, :]
            nearest.append((apart**2).sum(axis=2).argmin(axis=1).tolist())
        places = zip(*nearest, strict=True)
        return cls(refits, tuple(_count_left_out(refits, each) for each in places))

    def score(self, rule: Rule) -> Confusion:
        """Return the counts of all rows when a rule chooses on each fold's front.

        Where no point of a fold's front obeys the rule, the nearest one is used.
        """
        return _count_left_out(self.refits, [rule.nearest(found) for _, found in self.refits])


def _count_left_out(refits: list[tuple[Problem, Front]], places: Iterable[int]) -> Confusion:
    counts = [
        rows.confusion(found.multipliers(place))
        for (rows, found), place in zip(refits, places, strict=True)
    ]
    return np.asarray(np.sum(counts, axis=0))


def cross_fit(
    probabilities: Probabilities,
    labels: Labels,
    found: Front,
    *,
    smoothing: float | None = None,
    effort: float = 1.0,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CrossFit:
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

    Raises
    ------
    KeyboardInterrupt
        If the user interrupts a front.
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
    numbers = count(1)

    def without_fold(rows: Integers) -> Front:
        if progress is not None:
            progress(next(numbers), n_folds)
        without = front(
            probabilities[rows],
            labels[rows],
            scale=found.scale,
            smoothing=smoothing,
            effort=effort,
            seed=found.seed,
            time_limit=None if time_limit is None else time_limit / n_folds,
        )
        if without.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return without

    classes = tuple(map(str, range(len(found.support))))
    refits = [
        (Problem.trusted(probabilities[left_out], labels[left_out], classes), without)
        for left_out, without in refit_without(labels, n_folds, found.seed, without_fold)
    ]
    return CrossFit.of(refits, found)
