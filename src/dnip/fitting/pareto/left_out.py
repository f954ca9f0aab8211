"""A front scored on rows that it was not found on: cross-fitting."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.fitting.evidence import USUAL_FOLDS, deal_folds
from dnip.fitting.pareto.rules import Rule, place_on
from dnip.fitting.pareto.solve import Front, front
from dnip.method.prediction import decide
from dnip.method.solution import Status
from dnip.metrics.confusion import count_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnip.base.typing import Confusion, Integers, Labels, Probabilities

#: A front over-fits where some class has fewer labelled examples than this: its accuracy is then
#: known to 0.05 at best.
FEW = 100


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Scores on rows that were left out: each fold's front is scored on the other rows.

    Attributes
    ----------
    confusions : tuple of ndarray of shape (N, N)
        For each point of the front: counts of all rows, each under the point that stands at the
        same place of the front found without the row's fold.
    fronts : tuple of Front
        The front without each fold.
    folds : ndarray of shape (M,)
        The fold of each row.
    """

    confusions: tuple[Confusion, ...]
    fronts: tuple[Front, ...]
    folds: Integers
    _probabilities: Probabilities
    _labels: Labels

    def score(self, rule: Rule) -> Confusion:
        """Return the counts of all rows when a rule chooses on each fold's front.

        Where no point of a fold's front obeys the rule, the nearest one is used.
        """
        return self._count([rule.nearest(found) for found in self.fronts])

    def _count(self, places: list[int]) -> Confusion:
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
        with warnings.catch_warnings():  # of classes without examples: given already
            warnings.simplefilter("ignore", DNIPWarning)
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
    whole = CrossFit((), tuple(fronts), folds, probabilities, labels)
    nearest = [_nearest(found, without) for without in fronts]
    confusions = tuple(
        whole._count([places[number] for places in nearest]) for number in range(len(found.points))
    )
    return CrossFit(confusions, whole.fronts, folds, probabilities, labels)


def _nearest(found: Front, without: Front) -> list[int]:
    """Return, for each point of a front, the place of the one at the same place on another."""
    apart = place_on(found.points)[:, None, :] - place_on(without.points)[None, :, :]
    return [int(place) for place in (apart**2).sum(axis=2).argmin(axis=1)]
