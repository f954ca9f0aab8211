"""Accuracy overall and by class."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.typing import Floats
from dnip.metrics.confusion import as_counts, per_example


def accuracy(confusion: ArrayLike) -> float:
    """Share of correct predictions, 0 to 1.

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.

    Examples
    --------
    >>> accuracy([[8, 2], [4, 6]])
    0.7
    """
    counts = as_counts(confusion)
    return float(np.trace(counts) / counts.sum())


def class_accuracies(confusion: ArrayLike) -> Floats:
    """Share of each class's examples that are predicted right: A_i, the class's recall.

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.

    Returns
    -------
    ndarray of shape (N,)
        0 to 1; ``nan`` for a class without examples.

    Examples
    --------
    >>> class_accuracies([[8, 2], [4, 6]])
    array([0.8, 0.6])
    """
    counts = as_counts(confusion)
    return per_example(counts.diagonal(), counts)


def balanced_accuracy(confusion: ArrayLike) -> float:
    """Mean of the class accuracies.

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.

    Examples
    --------
    >>> balanced_accuracy([[9, 1], [1, 1]])
    0.7
    """
    return float(np.nanmean(class_accuracies(confusion)))


def worst_class_accuracy(confusion: ArrayLike) -> float:
    """Return the smallest class accuracy.

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.

    Examples
    --------
    >>> worst_class_accuracy([[9, 1], [1, 1]])
    0.5
    """
    return float(np.nanmin(class_accuracies(confusion)))


def macro_f1(confusion: ArrayLike) -> float:
    """Mean over classes of F1 = 2·correct / (predicted + true).

    A class that is neither true nor predicted anywhere is left out.

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.

    Examples
    --------
    >>> macro_f1([[8, 2], [2, 8]])
    0.8
    """
    counts = as_counts(confusion)
    seen = counts.sum(axis=0) + counts.sum(axis=1)
    return float(np.mean(2 * np.diag(counts)[seen > 0] / seen[seen > 0]))
