"""Contextual Oddity Bias: how unequal the class accuracies are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats, Integers
from dnip.metrics.confusion import as_counts, class_accuracies


def cobias(confusion: ArrayLike) -> float:
    """Mean gap ``|A_i - A_j|`` over unordered pairs of classes (equation 1).

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.

    Returns
    -------
    float
        0 (all classes equally accurate) to 1; ``nan`` if fewer than two classes have examples.

    References
    ----------
    Lin and You, "Optimizing Class-Level Probability Reweighting Coefficients for Equitable
    Prompting Accuracy", section 3.

    Examples
    --------
    >>> round(cobias([[8, 2], [4, 6]]), 6)
    0.2
    """
    a = class_accuracies(confusion)
    a = a[~np.isnan(a)]
    return float(cobias_of(a)) if len(a) > 1 else float("nan")


def cobias_of(accuracies: Floats) -> Floats:
    """Return the COBias of class accuracies, of many sets of them at once.

    Parameters
    ----------
    accuracies : ndarray of shape (..., N)
        One set of class accuracies per row.

    Returns
    -------
    ndarray of shape (...,)
        0 for a single class, which has no gap.

    Examples
    --------
    >>> cobias_of(np.array([[0.8, 0.6], [0.5, 0.5]])).round(6)
    array([0.2, 0. ])
    """
    a = np.sort(accuracies, axis=-1)
    n = a.shape[-1]
    # over ascending A, Σ_{i<j} (A_j - A_i) = Σ_i (2i - n + 1) A_i; equal ones may give -1e-17
    return np.asarray(abs(a @ (2 * np.arange(n) - n + 1)) / max(n * (n - 1) / 2, 1))


def cobias_score(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the COBias of predictions, as scikit-learn's metrics take them.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (M,)
        Labels of any kind. A prediction that is no label is wrong.

    Returns
    -------
    float
        0 to 1; ``nan`` if `y_true` holds fewer than two classes.

    Raises
    ------
    InvalidInputError
        If there are not as many predictions as labels.

    Examples
    --------
    >>> cobias_score(["ham", "ham", "spam", "spam"], ["ham", "ham", "ham", "spam"])
    0.5
    """
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if true.shape != predicted.shape or true.ndim != 1:
        raise InvalidInputError(
            f"y_true has shape {true.shape}, but y_pred has {predicted.shape}",
            hint="Give one label and one prediction for each row",
        )
    classes, places = np.unique(true, return_inverse=True)
    if len(classes) < 2:
        return float("nan")
    rates = np.bincount(places, true == predicted) / np.bincount(places)
    return float(cobias_of(rates))


def odd_classes(confusion: ArrayLike) -> Integers:
    """Return the odd class of each class: the wrong class predicted most often for it.

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.

    Returns
    -------
    ndarray of shape (N,)
        Class indices, the lowest one on a tie; -1 for a class without an error.

    References
    ----------
    Appendix A.1 of the paper cited in :func:`cobias`.

    Examples
    --------
    >>> odd_classes([[5, 0, 0], [1, 5, 3], [2, 2, 5]])
    array([-1,  2,  0])
    """
    errors = as_counts(confusion).copy()
    np.fill_diagonal(errors, 0)
    odd = errors.argmax(axis=1)
    return np.where(errors[np.arange(len(odd)), odd] > 0, odd, -1)


def cobias_single(confusion: ArrayLike) -> float:
    """Mean over classes of the gap to their odd class; 0 where there is none.

    A class whose odd class has no examples is left out of the mean.

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.

    Returns
    -------
    float
        0 to 1.

    References
    ----------
    Appendix A.2 of the paper cited in :func:`cobias`.

    Examples
    --------
    >>> round(cobias_single([[8, 2], [4, 6]]), 6)
    0.2
    """
    a = class_accuracies(confusion)
    odd = odd_classes(confusion)
    gaps = np.where(odd < 0, 0.0, np.abs(a[odd] - a))
    gaps = gaps[~np.isnan(a) & ~np.isnan(gaps)]
    return float(gaps.mean()) if len(gaps) else 0.0
