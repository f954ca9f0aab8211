"""Every metric is a function of a confusion matrix: rows true, columns predicted, of N classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Confusion, Counts, Floats, Integers, Labels
from dnip.base.validation import check_number
from dnip.tables.cells import check_vector
from dnip.tables.labels import read_indices

# μ as a part of the examples: 4000, as in the authors' code, at the paper's 10,000.
_SMOOTHING = 0.4


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
    >>> confusion_matrix(np.array([0, 0, 1]), np.array([0, 1, 1]), n_classes=2)
    array([[1, 1],
           [0, 1]])
    """
    m = len(labels)
    true, predicted = (
        read_indices(values, m, n_classes, name)
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


def in_mix(confusion: Counts, target: Floats) -> Counts:
    """Return counts of the same number of rows in another class mix, as fractions.

    Class accuracies, and so COBias, do not change; accuracy and F1 do.

    Parameters
    ----------
    confusion : ndarray of shape (N, N)
        Counts, rows true, columns predicted.
    target : ndarray of shape (N,)
        Class shares; classes without rows have none.

    Examples
    --------
    >>> in_mix(np.array([[8, 2], [4, 6]]), np.array([0.9, 0.1]))
    array([[14.4,  3.6],
           [ 0.8,  1.2]])
    """
    true = confusion.sum(axis=1)
    shares = target * (true > 0)
    share = shares / shares.sum() / np.maximum(true, 1)
    return np.asarray(confusion * (share * true.sum())[:, None])


def prediction_ratios(confusion: ArrayLike) -> Floats:
    """How often each class is predicted, relative to how often it is true.

    Above 1 a class is over-predicted, below 1 under-predicted; ``nan`` without examples.

    Returns
    -------
    ndarray of shape (N,)

    Examples
    --------
    >>> prediction_ratios([[8, 2], [4, 6]])
    array([1.2, 0.8])
    """
    counts = as_counts(confusion)
    return _shares(counts.sum(axis=0), counts.sum(axis=1))


def _shares(numbers: Counts, totals: Counts) -> Floats:
    """Return numbers of the classes, (N,), over totals; ``nan`` where these are 0."""
    none = np.full(len(totals), np.nan)
    return np.asarray(np.divide(numbers, totals, out=none, where=totals > 0))


def accuracy(confusion: ArrayLike) -> float:
    """Share of correct predictions, 0 to 1.

    Examples
    --------
    >>> accuracy([[8, 2], [4, 6]])
    0.7
    """
    counts = as_counts(confusion)
    return float(np.trace(counts) / counts.sum())


def class_accuracies(confusion: ArrayLike) -> Floats:
    """Share of each class's examples that are predicted right: A_i, the class's recall.

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
    return _shares(counts.diagonal(), counts.sum(axis=1))


def class_precisions(confusion: ArrayLike) -> Floats:
    """Share of each class's predictions that are right; ``nan`` for one that is never predicted.

    Examples
    --------
    >>> class_precisions([[8, 2], [2, 3]])
    array([0.8, 0.6])
    """
    counts = as_counts(confusion)
    return _shares(counts.diagonal(), counts.sum(axis=0))


def class_f1(confusion: ArrayLike) -> Floats:
    """F1 of each class, 2·right / (predicted + true); ``nan`` where both are 0.

    Examples
    --------
    >>> class_f1([[8, 2], [2, 8]])
    array([0.8, 0.8])
    """
    counts = as_counts(confusion)
    return _shares(2 * counts.diagonal(), counts.sum(axis=0) + counts.sum(axis=1))


def balanced_accuracy(confusion: ArrayLike) -> float:
    """Mean of the class accuracies, which is the mean recall.

    Examples
    --------
    >>> balanced_accuracy([[9, 1], [1, 1]])
    0.7
    """
    return float(np.nanmean(class_accuracies(confusion)))


def worst_class_accuracy(confusion: ArrayLike) -> float:
    """Return the smallest class accuracy.

    Examples
    --------
    >>> worst_class_accuracy([[9, 1], [1, 1]])
    0.5
    """
    return float(np.nanmin(class_accuracies(confusion)))


def macro_f1(confusion: ArrayLike) -> float:
    """Mean F1 of the classes, without those that are neither true nor predicted anywhere.

    Examples
    --------
    >>> macro_f1([[8, 2], [2, 8]])
    0.8
    """
    return float(np.nanmean(class_f1(confusion)))


def smoothing_over(n_examples: float) -> float:
    """Return the μ that smooths M examples as 4000 smooths 10,000.

    Examples
    --------
    >>> smoothing_over(500)
    200.0
    """
    return _SMOOTHING * n_examples


def pmi(confusion: ArrayLike, smoothing: float | None = None) -> Floats:
    """PMI_j of predicting class j and being class j, natural logarithm (section 4.1).

    With add-μ smoothing on counts, N classes and M examples: joint ``(n_jj + μ)/(M + μN²)``,
    predicted ``(n_·j + μ)/(M + μN)``, true ``(n_j· + μ)/(M + μN)``.

    A class that is never predicted gets about log(M/n_j) where μ is small beside M: as much as one
    that is always right. So PMI alone does not tell a good class from a silent one.

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.
    smoothing : float, optional
        μ, above 0; 0.4·M if left out.

    Returns
    -------
    ndarray of shape (N,)

    Raises
    ------
    InvalidInputError
        If `smoothing` is not above 0: a class that is never predicted right has no logarithm.

    Examples
    --------
    >>> pmi([[8, 2], [2, 8]], smoothing=1.0).round(3)
    array([0.405, 0.405])
    """
    counts = as_counts(confusion)
    n = len(counts)
    m = counts.sum()
    mu = smoothing_over(m) if smoothing is None else check_number("smoothing", smoothing, above=0)
    joint = (np.diag(counts) + mu) / (m + mu * n**2)
    predicted = (counts.sum(axis=0) + mu) / (m + mu * n)
    true = (counts.sum(axis=1) + mu) / (m + mu * n)
    return np.asarray(np.log(joint / (predicted * true)))


def cobias(confusion: ArrayLike) -> float:
    """Mean gap ``|A_i - A_j|`` over unordered pairs of classes (equation 1).

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
        Labels of any kind. A prediction that is not a label is wrong.

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
    true = check_vector("y_true", y_true, np.size(y_true))
    predicted = check_vector("y_pred", y_pred, len(true))
    classes, indices = np.unique(true, return_inverse=True)
    if len(classes) < 2:
        return float("nan")
    rates = np.bincount(indices, true == predicted) / np.bincount(indices)
    return float(cobias_of(rates))


def odd_classes(confusion: ArrayLike) -> Integers:
    """Return the odd class of each class: the wrong one predicted most often (appendix A.1).

    Returns
    -------
    ndarray of shape (N,)
        Class indices, the lowest one on a tie; -1 for a class without an error.

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
    """Mean over classes of the gap to their odd class (appendix A.2); 0 where there is none.

    A class whose odd class has no examples is left out of the mean.

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
