"""Class probabilities by estimators that have not seen the row."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from dnip.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dnip.base.typing import Floats, Integers

#: Folds where `cv` is None, as everywhere in scikit-learn.
N_FOLDS = 5


def predict_out_of_fold(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    *,
    classes: NDArray[Any],
    cv: Any = None,
    n_jobs: int | None = None,
    fit_params: Mapping[str, Any] | None = None,
    split_params: Mapping[str, Any] | None = None,
) -> tuple[Floats, Integers]:
    """Return probabilities by clones fitted without the row, and which row each one is.

    Unlike scikit-learn's ``cross_val_predict``, splits need not cover the data or test a row
    once, estimators see the labels themselves, and an example whose class its fold has not
    trained on is left out.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Cloned for each fold.
    X : array-like, sparse matrix or DataFrame of shape (M, n_features)
    y : ndarray of shape (M,)
        Class labels.
    classes : ndarray of shape (N,)
        The class of each column to return; all classes of y are among them.
    cv : int, splitter or iterable of splits, default=None
        None is 5 stratified folds. A number of folds shrinks to the smallest class of two or
        more examples.
    n_jobs : int, default=None
        Folds fitted at the same time.
    fit_params, split_params : mapping, default=None
        For the ``fit`` of the clones, with arrays of length M cut to the fold, and for the
        splitter's ``split``.

    Returns
    -------
    p : ndarray of shape (M', N)
        What ``predict_proba`` said, 0 for a class that the fold has not seen.
    rows : ndarray of shape (M',)
        The row of X that each row of `p` belongs to.

    Raises
    ------
    InvalidInputError
        If the folds cannot compare at least 2 classes.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> y = np.array(["a", "a", "b", "b", "b", "b"])
    >>> p, rows = predict_out_of_fold(DummyClassifier(), y[:, None], y, classes=np.unique(y))
    >>> rows
    array([0, 2, 3, 1, 4, 5])
    >>> p[0].round(2)
    array([0.33, 0.67])
    """
    splits = _splitter(cv, y).split(X, y, **(split_params or {}))
    folds = Parallel(n_jobs=n_jobs)(
        delayed(_predict_fold)(clone(estimator), X, y, train, test, classes, fit_params or {})
        for train, test in splits
    )
    p, rows = (np.concatenate(parts) for parts in zip(*folds, strict=True))
    if len(np.unique(y[rows])) < 2:
        raise InvalidInputError(
            "the splits of cv train on fewer than 2 of the classes that they then test",
            hint="Stratify the splits, or shuffle them",
        )
    return p, rows


def _splitter(cv: Any, y: NDArray[Any]) -> Any:
    if cv is not None and not isinstance(cv, Integral):
        return check_cv(cv)
    sizes = np.unique(y, return_counts=True)[1]
    sizes = sizes[sizes > 1]
    if len(sizes) < 2:
        raise InvalidInputError(
            f"y has {len(sizes)} classes of two or more examples, but cross-validation "
            "compares at least 2",
            hint="Give more examples, or a fitted estimator with cv='prefit'",
        )
    return check_cv(min(N_FOLDS if cv is None else cv, sizes.min()), y, classifier=True)


def _predict_fold(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    train: Integers,
    test: Integers,
    classes: NDArray[Any],
    fit_params: Mapping[str, Any],
) -> tuple[Floats, Integers]:
    """Return probabilities of the test rows whose class is among the train rows."""
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, y_test = _safe_split(estimator, X, y, test, train)
    estimator.fit(X_train, y_train, **_check_method_params(X, fit_params, indices=train))
    columns = [classes.tolist().index(label) for label in np.asarray(estimator.classes_).tolist()]
    p = np.zeros((len(y_test), len(classes)))
    p[:, columns] = estimator.predict_proba(X_test)
    seen = np.isin(y_test, y_train)
    return p[seen], np.arange(len(y))[test][seen]
