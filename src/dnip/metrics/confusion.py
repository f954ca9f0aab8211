"""The confusion matrix itself, and how often each class is predicted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.arrays import ArrayLocation, check_labels
from dnip.base.errors import InvalidInputError
from dnip.base.typing import Confusion, Counts, Floats, Labels


def confusion_matrix(labels: Labels, predictions: Labels, n_classes: int) -> Confusion:
    """Count examples by true and by predicted class.

    Parameters
    ----------
    labels, predictions : ndarray of shape (M,)
        Class indices 0..N-1.
    n_classes : int
        N.

    Returns
    -------
    ndarray of shape (N, N)
        Counts, rows true, columns predicted.

    Raises
    ------
    InvalidInputError
        For lengths that differ, or an index outside 0..N-1, such as -1 for a row without a label.

    Examples
    --------
    >>> import numpy as np
    >>> confusion_matrix(np.array([0, 0, 1]), np.array([0, 1, 1]), n_classes=2)
    array([[1, 1],
           [0, 1]])
    """
    m = len(labels)
    true, predicted = (
        check_labels(values, n_examples=m, n_classes=n_classes, location=ArrayLocation(name))
        for name, values in (("labels", labels), ("predictions", predictions))
    )
    return count_pairs(true, predicted, n_classes, n_classes)


def count_pairs(
    first: Labels, second: NDArray[np.integer], n_first: int, n_second: int
) -> Confusion:
    """Count how often each value of one column comes with each value of another.

    Parameters
    ----------
    first, second : ndarray of shape (M,)
        Whole numbers from 0 to below `n_first` and `n_second`; not checked.

    Returns
    -------
    ndarray of shape (n_first, n_second)

    Examples
    --------
    >>> import numpy as np
    >>> count_pairs(np.array([0, 1, 1]), np.array([0, 0, 0]), 2, 1).tolist()
    [[1], [2]]
    """
    pairs = first * n_second + second
    return np.bincount(pairs, minlength=n_first * n_second).reshape(n_first, n_second)


def as_counts(confusion: ArrayLike) -> Counts:
    """Return a confusion matrix as int64 or float64, or refuse what is not one."""
    try:
        counts = np.asarray(confusion)
        if counts.dtype != np.int64:
            counts = counts.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"a confusion matrix holds numbers: {error}") from error
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise InvalidInputError(
            f"a confusion matrix is square (classes, classes); got shape {counts.shape}"
        )
    if not counts.size or not counts.min() >= 0 or not counts.max() > 0:
        raise InvalidInputError("a confusion matrix holds counts of 0 or more, and some example")
    return counts


def prediction_ratios(confusion: ArrayLike) -> Floats:
    """How often each class is predicted, relative to how often it is true.

    Above 1 a class is over-predicted, below 1 under-predicted; ``nan`` without examples.

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.

    Returns
    -------
    ndarray of shape (N,)

    Examples
    --------
    >>> prediction_ratios([[8, 2], [4, 6]])
    array([1.2, 0.8])
    """
    counts = as_counts(confusion)
    return per_example(counts.sum(axis=0), counts)


def per_example(numbers: Counts, counts: Counts) -> Floats:
    """Return numbers of the classes, (N,), over their examples; ``nan`` without examples."""
    true = counts.sum(axis=1)
    none = np.full(len(counts), np.nan)
    return np.asarray(np.divide(numbers, true, out=none, where=true > 0))
