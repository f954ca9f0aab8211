"""What coefficients are likely to reach on other rows, judged by rows that were left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dnip.base.typing import Counts, Floats
from dnip.metrics.cobias import cobias_of
from dnip.metrics.confusion import class_accuracies
from dnip.metrics.gaps import draw_accuracies
from dnip.metrics.intervals import SingleGap, central

# κ is estimated from five refits, to about a quarter: the draws are shared by five values of it,
# which cut a normal variable of that deviation into equal parts.
_DOUBTS = 0.25 * np.array([-1.28, -0.52, 0.0, 0.52, 1.28])
_DRAWS, _CELLS = 4_000, 100_000
_SEED = 0


def followed_chance(on_all: Sequence[Counts], left_out: Sequence[Counts]) -> float:
    """Return κ: how far weights follow the chance of the rows that they are fitted on.

    Weights that make labelled rows equally right err by the chance of these rows. Each refit lacks
    one fold, so it does not follow the chance of that fold: a class that was lucky there is left
    too strong. The regression of the class accuracies of a refit, on all rows, on the luck of its
    own fold tells κ. Levels that all classes share do not matter for gaps and are taken out.

    Parameters
    ----------
    on_all, left_out : sequence of ndarray of shape (N, N)
        Counts of each refit: on all labelled rows, and on those that it has not seen.

    Returns
    -------
    float
        0, for weights that do not depend on the rows, to 1, for an optimum of them.

    Examples
    --------
    >>> same = [np.array([[8, 2], [3, 7]])] * 2
    >>> followed_chance(same, [np.array([[5, 0], [3, 2]]), np.array([[3, 2], [0, 5]])])
    0.0
    """
    present = on_all[0].sum(axis=1) > 0
    rates = np.array([class_accuracies(counts)[present] for counts in on_all])
    luck = np.array([class_accuracies(counts)[present] for counts in left_out]) - rates
    luck[np.isnan(luck)] = 0.0
    moved, luck = (_centred(each) for each in (rates, luck))
    power = float((luck**2).sum())
    # refits share all folds but one: the mean of k - 1 folds moves by 1/(k - 1) of one fold
    slope = (len(rates) - 1) * float((moved * luck).sum()) / power if power > 0 else 0.0
    return min(max(slope, 0.0), 1.0)


def _centred(values: Floats) -> Floats:
    values = values - values.mean(axis=1, keepdims=True)
    return np.asarray(values - values.mean(axis=0))


class Expectation:
    """What other rows are likely to show, judged by rows that the weights have not seen.

    Weights that make measured accuracies equal leave the true ones apart by about as much as the
    measured ones vary by chance. So gaps are computed from draws of what the true accuracies may
    be, and the numbers here are means of these.

    Parameters
    ----------
    confusion : ndarray of shape (N, N)
        Counts of rows, rows true, each predicted by weights that have not seen it.
    followed : float, default=1.0
        κ of these weights; see `followed_chance`. An optimum follows chance altogether.

    Attributes
    ----------
    drawn : dict of str to ndarray
        Draws of the metrics that depend on gaps, by their names in ``METRICS``. The same draws at
        every call.
    followed : float

    Examples
    --------
    >>> few, many = np.array([[6, 4], [4, 6]]), np.array([[600, 400], [400, 600]])
    >>> round(Expectation(few).cobias, 2), round(Expectation(many).cobias, 2)
    (0.15, 0.02)
    >>> [round(bound, 2) for bound in Expectation(many).intervals(0.9)["cobias"]]
    [0.0, 0.04]
    """

    def __init__(self, confusion: Counts, followed: float = 1.0) -> None:
        self.followed = followed
        sizes = confusion.sum(axis=1)
        present = np.flatnonzero(sizes)
        hits, n = np.diag(confusion)[present].astype(np.float64), sizes[present].astype(np.float64)
        each = min(_DRAWS, max(_CELLS // len(n), 500)) // len(_DOUBTS)
        rng = np.random.default_rng(_SEED)
        parts = [
            draw_accuracies(hits, n, each, rng, followed=min(max(followed + doubt, 0.0), 1.0))
            for doubt in _DOUBTS
        ]
        rates = np.concatenate(parts)
        self.drawn = {
            "cobias": cobias_of(rates),
            "cobias_single": SingleGap(confusion, present)(rates),
            "worst_class_accuracy": rates.min(axis=1),
        }

    @property
    def cobias(self) -> float:
        """The COBias to expect."""
        return float(self.drawn["cobias"].mean())

    @property
    def worst_class_accuracy(self) -> float:
        """The accuracy to expect of the class that will be worst."""
        return float(self.drawn["worst_class_accuracy"].mean())

    def to_dict(self) -> dict[str, float]:
        """Return each metric."""
        return {name: float(values.mean()) for name, values in self.drawn.items()}

    def intervals(self, level: float) -> dict[str, list[float]]:
        """Return the interval of each metric, of a level between 0 and 1."""
        return {name: central(values, level) for name, values in self.drawn.items()}
