"""Folds of labelled rows, dealt class by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dnip.base.typing import Integers, Labels

#: Folds where nothing else is asked for.
USUAL_FOLDS = 5


def deal_folds(labels: Labels, n_folds: int, seed: int) -> Integers:
    """Return the fold of each row; every fold gets an even share of each class.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    n_folds : int
    seed : int

    Returns
    -------
    ndarray of shape (M,)
        Fold numbers from 0. A fold lacks a class only if the class has fewer rows than folds.

    Examples
    --------
    >>> deal_folds(np.array([0, 0, 1, 1, 1, 1]), 2, seed=0)
    array([1, 0, 1, 0, 0, 1])
    """
    rng = np.random.default_rng(seed)
    fold = np.empty(len(labels), np.int64)
    for c in np.unique(labels):
        rows = np.flatnonzero(labels == c)
        fold[rows] = (rng.permutation(len(rows)) + rng.integers(n_folds)) % n_folds
    return fold
