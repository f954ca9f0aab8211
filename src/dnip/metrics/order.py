"""Which class each column of probabilities is, where only the labels can tell."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.arrays import ArrayLocation, check_vector
from dnip.base.classes import UNLABELLED, read_labels, sorted_labels
from dnip.base.errors import InvalidInputError, listed, warn
from dnip.base.typing import Integers, Labels, Probabilities

#: The probability that chance alone speaks for another order, at most.
_CHANCE = 1e-6
# What of all that can be gained beyond chance another order must reach; twice as much with two or
# three classes, for a model that mistakes one for another in most rows looks like another order.
_LEAST = 0.3
# What this order may reach of that.
_LEFT = 0.25
# So many classes and rows are looked at.
_MOST_CLASSES, _MOST_ROWS = 300, 50_000
_TINY = 1e-9


def labels_of_columns(
    probabilities: Probabilities,
    labels: ArrayLike,
    classes: Sequence[str] | None,
    name: str = "labels",
    *,
    unlabelled: bool = True,
) -> tuple[Labels, tuple[str, ...]]:
    """Return the class index of each row, and the class of each column.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : array-like of shape (M,)
        As for :func:`dnip.base.classes.read_labels`.
    classes : sequence of str or None
        None where the columns have no names: then they are numbers, or the sorted labels.
    name : str, default="labels"
        What messages call the labels.
    unlabelled : bool, default=True
        Whether there may be rows without a label.

    Raises
    ------
    InvalidInputError
        For labels of another length, or of no class, and for columns that could be any, or for
        whose order the labels do not speak at all.

    Warns
    -----
    DNIPWarning
        Where columns without names are taken for labels that are names.

    Examples
    --------
    >>> labels_of_columns(np.array([[0.75, 0.25], [0.5, 0.5]]), [7, None], ["5", "7"])
    (array([ 1, -1]), ('5', '7'))
    """
    n_rows, n_columns = probabilities.shape
    location = ArrayLocation(name)
    # a list may hold None beside texts, which numpy would make a text
    cells = check_vector(name, labels, n_rows, None if hasattr(labels, "dtype") else np.object_)
    names = sorted_labels(cells, n_columns, location) if classes is None else tuple(classes)
    indices = read_labels(cells, names, location, unlabelled=unlabelled)
    if classes is None and any(isinstance(label, str) and label for label in cells.tolist()):
        known = indices != UNLABELLED
        check_order(probabilities[known], indices[known], names)
    return indices, names


def check_order(probabilities: Probabilities, labels: Labels, classes: Sequence[str]) -> None:
    """Say that columns without names are taken for the sorted labels, or refuse that.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.
    classes : sequence of str
        The sorted labels.

    Raises
    ------
    InvalidInputError
        Where the labels speak overwhelmingly for another order, as `better_order` says.
    """
    taken = f"the columns of probabilities are taken for the sorted labels, {listed(classes, 20)}"
    better = better_order(probabilities, labels)
    if better is None:
        warn(f"{taken}, as in scikit-learn; classes=[...] gives another order")
        return
    order = [classes[c] for c in better]
    raise InvalidInputError(
        f"{taken}, as in scikit-learn, but the labels speak for the order {listed(order, 20)}",
        hint="Give classes=[...], the class of each column in order",
    )


def better_order(probabilities: Probabilities, labels: Labels) -> Integers | None:
    """Return the class that each column speaks for, where that is overwhelmingly another.

    Columns are first made equally probable on average, as weights would make them, and each row is
    decided. The mean class accuracy of the best order, and that of this one, are compared with
    chance, 1/N. The best must be far above it, by Hoeffding's inequality over all N! orders, and
    by so much that no model is as wrong; this one must be no better than chance.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.

    Returns
    -------
    ndarray of shape (N,) or None
        None where the labels do not speak for another order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.5, 0.5, 0.5], 200)
    >>> y = p.argmax(axis=1)
    >>> better_order(p, y) is None, better_order(p[:, [2, 0, 1]], y)
    (True, array([2, 0, 1]))
    """
    step = max(1, -(-len(labels) // _MOST_ROWS))
    probabilities, labels = probabilities[::step], labels[::step]
    n_classes = probabilities.shape[1]
    sizes = np.bincount(labels, minlength=n_classes)
    if n_classes > _MOST_CLASSES or not sizes.all():
        return None
    scores = np.log(np.maximum(probabilities, _TINY))
    decided = (scores - scores.mean(axis=0)).argmax(axis=1)
    counts = np.bincount(labels * n_classes + decided, minlength=n_classes**2)
    rates = counts.reshape(n_classes, n_classes) / sizes[:, None]
    class_of = best_assignment(rates)
    gained, own = (
        (rates[order, np.arange(n_classes)].mean() * n_classes - 1) / (n_classes - 1)
        for order in (class_of, np.arange(n_classes))
    )
    spread = math.sqrt((1 / sizes).sum() / 2) / n_classes
    unlikely = spread * math.sqrt(math.lgamma(n_classes + 1) - math.log(_CHANCE))
    least = max(_LEAST * (1 + (n_classes < 4)), unlikely * n_classes / (n_classes - 1))
    return class_of if gained >= least and own <= _LEFT * gained else None


def best_assignment(rates: Probabilities) -> Integers:
    """Return the class for each column, so that the sum of their rates is as large as swaps find.

    Parameters
    ----------
    rates : ndarray of shape (N, N)
        Of each class, by column.
    """
    n_classes = len(rates)
    class_of = np.arange(n_classes)
    for _ in range(n_classes**2):
        moved = rates[class_of].T  # by column, and by the column whose class it would take
        own = np.diag(moved)
        gains = moved + moved.T - own[:, None] - own
        best = int(gains.argmax())
        if gains.flat[best] <= _TINY:
            break
        a, b = divmod(best, n_classes)
        class_of[[a, b]] = class_of[[b, a]]
    return class_of
