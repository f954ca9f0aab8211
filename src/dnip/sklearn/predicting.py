"""Class probabilities out of fold, for a fit, and predictions with fitted coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from dnip.base.errors import InvalidInputError, listed, warn
from dnip.base.typing import Booleans, Floats, Integers, Labels, Probabilities
from dnip.method.coefficients import Coefficients
from dnip.method.prediction import decide
from dnip.tables.cells import Location, check_probabilities
from dnip.tables.columns import take_columns
from dnip.tables.labels import (
    check_label_count,
    check_order,
    default_classes,
    names_of,
    read_labels,
)
from sklearn import get_config

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

    There are three differences from scikit-learn's ``cross_val_predict``. Splits need not cover the
    data or test a row once. Estimators see the labels themselves. An example is left out if its
    fold has not trained on its class.

    Parameters
    ----------
    estimator : classifier with ``predict_proba`` or ``decision_function``
        Cloned for each fold.
    X : array-like, sparse matrix or DataFrame of shape (M, n_features)
    y : ndarray of shape (M,)
        Class labels.
    classes : ndarray of shape (N,)
        The class of each column to return; all classes of y are among them.
    cv : int, splitter or iterable of splits, default=None
        None is 5 stratified folds. There are no more folds than examples in the smallest class of
        two or more.
    n_jobs : int, default=None
        Folds fitted at the same time.
    fit_params, split_params : mapping, default=None
        For the ``fit`` of the clones, with arrays of length M cut to the fold, and for the
        splitter's ``split``.

    Returns
    -------
    p : ndarray of shape (M', N)
        Class probabilities, 0 for a class that the fold has not seen.
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
    return _check_estimated(p), rows


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
    every_row = np.arange(len(y))
    train, test = every_row[train], every_row[test]  # splits may be row numbers or truth values
    y_train, y_test = y[train], y[test]
    X_train, X_test = _safe_indexing(X, train), _safe_indexing(X, test)
    if get_tags(estimator).input_tags.pairwise:  # X holds what each row is to each other one
        X_train, X_test = X_train[:, train], X_test[:, train]
    params = {
        name: _safe_indexing(value, train) if _length(value) == len(y) else value
        for name, value in fit_params.items()
    }
    estimator.fit(X_train, y_train, **params)
    columns = [classes.tolist().index(label) for label in np.asarray(estimator.classes_).tolist()]
    p = np.zeros((len(y_test), len(classes)))
    p[:, columns] = probabilities_of(estimator, X_test)
    seen = np.isin(y_test, y_train)
    return p[seen], test[seen]


def _length(values: Any) -> int:
    """Return how many rows an array, a frame or a list has; -1 for anything else."""
    alone = (len(values),) if isinstance(values, list | tuple) else ()
    return int((*getattr(values, "shape", alone), -1)[0])


class ReweightingMixin(ClassifierMixin):  # type: ignore[misc]
    """Predict with `coefficients_` on the probabilities of `estimator_`, or on X where it is None.

    The class that uses this mixin sets the first in its ``fit``, and takes the other there.
    """

    estimator: Any
    cv: Any
    classes: Sequence[Any] | None
    estimator_: Any
    coefficients_: Coefficients
    classes_: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict argmax_n ξ_n·p_mn, the first class on a tie.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (M, n_features)

        Returns
        -------
        ndarray of shape (M,)
            Class labels.
        """
        check_is_fitted(self)
        chosen = decide(self._probabilities(X), self.coefficients_.multipliers)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: Any) -> Floats:
        """Return the scores that `predict` compares: ω_n·p_mn, normalised to sum 1 per row.

        They are no calibrated probabilities; ask `estimator_` for these.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (M, n_features)

        Returns
        -------
        ndarray of shape (M, N)
            One column per class, in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.coefficients_.apply(self._probabilities(X))

    def deferred(self, X: Any) -> Booleans:
        """Return which examples to defer; none, if `defer` was not given.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (M, n_features)

        Returns
        -------
        ndarray of bool, shape (M,)

        Examples
        --------
        >>> from dnip import DNIPClassifier
        >>> p, y = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.1, 0.9]], ["ham", "ham", "spam", "spam"]
        >>> DNIPClassifier(defer=0.25).fit(p, y).deferred(p)
        array([False,  True, False, False])
        """
        check_is_fitted(self)
        return self.coefficients_.deferred(self._probabilities(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is None:
            tags.input_tags.positive_only = True
        else:
            inner = get_tags(self.estimator)
            tags.input_tags = inner.input_tags
            tags.non_deterministic = inner.non_deterministic
        return tags

    def _take_matrix(self, X: Any, y: NDArray[Any]) -> Probabilities:
        """Take X as probabilities, and decide which class each column is."""
        self.estimator_ = None
        p = self._probabilities(X, reset=True)
        self.classes_ = np.unique(y) if self.classes is None else np.asarray(self.classes)
        names = [str(c) for c in self.classes_.tolist()]
        if self.classes is None:
            check_label_count(names, p.shape[1])
        else:
            names_of(p.shape[1], names, "X")
        columns = take_columns(X, None, "X")[1] if self.classes is None else None
        if columns not in (None, tuple(names)) and tuple(names) != default_classes(len(names)):
            raise InvalidInputError(
                f"the columns of X are {listed(columns or ())}, but the sorted labels are "
                f"{listed(names)}",
                hint="Pass classes=list(X.columns)",
            )
        if self.classes is None and columns is None and isinstance(y[0], str):
            check_order(p, np.searchsorted(self.classes_, y), names)
        return p

    def _take_estimator(self, estimator: Any) -> None:
        """Take a fitted estimator with its classes and features."""
        self.estimator_ = estimator
        self.classes_ = np.asarray(estimator.classes_)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))

    def _probabilities(self, X: Any, *, reset: bool = False) -> Probabilities:
        """Return the class probabilities that the coefficients weigh."""
        if self.estimator_ is None:
            names = self.classes if reset else self.classes_.tolist()
            if names is not None:
                X = take_columns(X, [str(c) for c in names], "X")[0]
            kind = {"dtype": np.float64, "ensure_min_features": 2, "ensure_all_finite": False}
            p = validate_data(self, X, reset=reset, **kind)
            return check_probabilities(p, location=Location("X"))
        return _check_estimated(probabilities_of(self.estimator_, X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata `fit` passes to the estimator and to the splitter."""
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=fit)
        return router.add(splitter=self.cv, method_mapping=split)

    def _route(
        self, weight: Floats | None, fit_params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters of the estimator's ``fit`` and of the splitter's ``split``."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=weight, **fit_params)
            return routed.estimator.fit, routed.splitter.split
        if weight is not None and has_fit_parameter(self.estimator, "sample_weight"):
            fit_params = {**fit_params, "sample_weight": weight}
        elif weight is not None:
            warn(
                f"{type(self.estimator).__name__}.fit takes no sample_weight: the weights count "
                "for the coefficients only"
            )
        return fit_params, {}


def _check_estimated(probabilities: ArrayLike) -> Probabilities:
    """Return the probabilities that an estimator gave, checked.

    Examples
    --------
    >>> _check_estimated([[1.0, 3.0]])
    array([[0.25, 0.75]])
    """
    location = Location("estimator.predict_proba(X)")
    return check_probabilities(probabilities, location=location, warn=False)


def encode(labels: NDArray[Any], classes: NDArray[Any]) -> Labels:
    """Return the index of each label among the classes.

    Examples
    --------
    >>> encode(np.array(["spam", "ham"]), np.array(["ham", "spam"]))
    array([1, 0])
    """
    names = [str(c) for c in classes.tolist()]
    return read_labels(labels, names, Location("y"), unlabelled=False)


def probabilities_of(estimator: Any, X: Any) -> Any:
    """Return ``predict_proba``, or where there is none the softmax of ``decision_function``.

    Of one score for two classes it is the sigmoid. To multiply these is to shift scores.

    Raises
    ------
    InvalidInputError
        If there is not one score for each class.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> ridge = RidgeClassifier().fit([[0.0], [1.0]], ["ham", "spam"])
    >>> probabilities_of(ridge, [[0.5]])
    array([[0.5, 0.5]])
    """
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(X)
    scores = np.asarray(estimator.decision_function(X), np.float64)
    if scores.ndim == 1:
        scores = np.stack([np.zeros(len(scores)), scores], axis=1)
    if scores.shape[1] != len(estimator.classes_):
        raise InvalidInputError(
            f"decision_function gives {scores.shape[1]} scores for {len(estimator.classes_)} "
            "classes",
            hint="Give an estimator with one score per class: decision_function_shape='ovr'",
        )
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)
