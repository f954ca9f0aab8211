"""The scikit-learn surface: class coefficients around any probabilistic classifier."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from dnip.coefficients import Coefficients
from dnip.errors import DNIPWarning, InvalidInputError, MissingDependencyError
from dnip.objective import Objective
from dnip.optional import load_optional
from dnip.solvers import SOLVERS, solve
from dnip.validation import (
    MAX_SCALE,
    ArrayPlace,
    check_choice,
    check_classes,
    check_probabilities,
    check_sample_weight,
)

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import StratifiedKFold, check_cv
    from sklearn.utils import get_tags, indexable
    from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.metaestimators import _safe_split
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import (
        _check_method_params,
        check_is_fitted,
        column_or_1d,
        has_fit_parameter,
        validate_data,
    )
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        "scikit-learn 1.6 or newer", purpose="use DNIPClassifier", extra="sklearn"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from dnip.objective import ConfusionFunction, ObjectiveLike
    from dnip.solution import Solution
    from dnip.solvers import Solver
    from dnip.typing import Floats, Integers, Labels, Probabilities, WeightIndices

# scikit-learn carries no types, and takes many kinds of table, estimator and splitter
Table: TypeAlias = Any
Estimator: TypeAlias = Any
Splitter: TypeAlias = Any

#: Folds where `cv` is None, as everywhere in scikit-learn.
N_FOLDS = 5

_CONTAINERS = ("default", "pandas", "polars")
_COLUMNS = "X needs one column per class; this check has more features or fewer"
_ZERO_ROW = "a row of X holds zeros only, which are no probabilities"

#: The scikit-learn checks that ``DNIPClassifier()`` fails because its X is a matrix of
#: probabilities, with the reasons, for ``check_estimator(..., expected_failed_checks=)``. Around
#: an estimator it passes them all.
EXPECTED_FAILED_CHECKS: dict[str, str] = {
    "check_classifiers_classes": _COLUMNS,
    "check_classifiers_train": _COLUMNS,
    "check_dtype_object": _COLUMNS,
    "check_estimators_dtypes": _COLUMNS,
    "check_estimators_fit_returns_self": _COLUMNS,
    "check_estimators_nan_inf": _COLUMNS,
    "check_estimators_overwrite_params": _COLUMNS,
    "check_estimators_pickle": _COLUMNS,
    "check_n_features_in_after_fitting": _COLUMNS,
    "check_pipeline_consistency": _COLUMNS,
    "check_positive_only_tag_during_fit": "the error names the cell and the remedy in other words",
    "check_readonly_memmap_input": _COLUMNS,
    "check_sample_weight_equivalence_on_dense_data": _COLUMNS,
    "check_sample_weights_not_an_array": _ZERO_ROW,
    "check_sample_weights_pandas_series": _ZERO_ROW,
}


class DNIPClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Correct a classifier with one learned coefficient per class, so that no class starves.

    Predicts argmax_n ξ_n·p_mn, the first class on a tie: p are the class probabilities of
    `estimator`, ξ the weight indices 1..K that minimise error + β·COBias - τ·Σ PMI [1]_. They are
    fitted on out-of-fold probabilities, as an estimator is too sure of what it was fitted on;
    then the estimator is fitted on all data. Without an estimator, X itself is the matrix of
    class probabilities, such as an LLM's.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, default=None
        Fitted as a clone; a ``FrozenEstimator`` is used as it is. None: X holds probabilities.
    beta, tau, smoothing : float, default=2.7, 0.2, 1.0
        β and τ, at least 0, and μ, above 0, of :class:`~dnip.Objective`.
    scale : int, default=30
        K.
    solver : {"coordinate", "anneal", "exhaustive"} or Solver, default="coordinate"
        Name of a solver, or a solver with settings of its own.
    objective : Objective or callable, default=None
        What to minimise instead, also any function of a confusion matrix (N, N), rows true.
        `beta`, `tau` and `smoothing` are then not read.
    classes : sequence of length N, default=None
        Without an estimator: the class of each column of X, in order, also of those that y
        lacks. None: the sorted labels of y. Some scorers, such as log loss, need sorted classes.
    cv : int, splitter, iterable of splits or "prefit", default=None
        Where out-of-fold probabilities come from; None is 5 stratified folds. A number of folds
        shrinks to the smallest class of two or more examples. Splits need not cover the data; an
        example whose class its fold's estimator has not seen is left out. "prefit": the fitted
        estimator is used as it is, and the data should be new to it. Best for estimators that
        change much between folds, such as a single tree.
    n_jobs : int, default=None
        Folds fitted at the same time.
    random_state : int, default=0
        Seed of the solver; the same seed gives the same coefficients.

    Attributes
    ----------
    estimator_ : classifier or None
        Fitted on all data. Ask its ``predict_proba`` for probabilities.
    coefficients_ : Coefficients
        The deployable artefact; applying it needs no scikit-learn.
    solution_ : Solution
        What the solver found, on the out-of-fold probabilities.
    weight_indices_, weights_ : ndarray of shape (N,)
        ξ, whole numbers 1..K, and ω = ξ / K, in the order of `classes_`.
    classes_ : ndarray of shape (N,)
        The class labels.
    n_features_in_ : int
        Number of features seen in `fit`, if the estimator knows it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen in `fit`, if they had any.

    References
    ----------
    .. [1] Lin and You, "Optimizing Class-Level Probability Reweighting Coefficients for Equitable
       Prompting Accuracy", section 3.

    Examples
    --------
    >>> from dnip.metrics import class_accuracies
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.metrics import confusion_matrix
    >>> from sklearn.naive_bayes import ComplementNB
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = DNIPClassifier(ComplementNB()).fit(X[:900], y[:900])
    >>> for model in (classifier.estimator_, classifier):  # the worst class, before and after
    ...     counts = confusion_matrix(y[900:], model.predict(X[900:]))
    ...     print(class_accuracies(counts).min().round(2))
    0.12
    0.58

    The matrix itself as X:

    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> DNIPClassifier().fit(p, ["ham", "spam", "ham", "spam"]).predict(p).tolist()
    ['ham', 'spam', 'ham', 'spam']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "beta": [Interval(Real, 0, None, closed="left")],
        "tau": [Interval(Real, 0, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "scale": [Interval(Integral, 1, MAX_SCALE, closed="both")],
        "solver": [StrOptions(set(SOLVERS)), HasMethods(["search"])],
        "objective": [callable, None],
        "classes": ["array-like", None],
        "cv": ["cv_object", StrOptions({"prefit"})],
        "n_jobs": [Integral, None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    estimator_: Estimator | None
    coefficients_: Coefficients
    solution_: Solution
    classes_: NDArray[Any]

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        beta: float = 2.7,
        tau: float = 0.2,
        smoothing: float = 1.0,
        scale: int = 30,
        solver: str | Solver = "coordinate",
        objective: ObjectiveLike | ConfusionFunction | None = None,
        classes: Sequence[Any] | None = None,
        cv: Splitter | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.beta = beta
        self.tau = tau
        self.smoothing = smoothing
        self.scale = scale
        self.solver = solver
        self.objective = objective
        self.classes = classes
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the coefficients, and the estimator unless it is used as it is.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (M, n_features)
            What the estimator takes; without one, class probabilities of shape (M, N).
        y : array-like of shape (M,)
            Class labels.
        sample_weight : array-like of shape (M,), default=None
            How much each example counts, for the coefficients and for an estimator that takes it.
        **fit_params : dict
            For the estimator's ``fit``; with metadata routing, also for the splitter.

        Returns
        -------
        self : DNIPClassifier

        Raises
        ------
        InvalidInputError
            For probabilities, labels, weights or classes that break their contract.

        Warns
        -----
        DNIPWarning
            For classes that cannot be fitted, and an estimator that takes no `sample_weight`.
        """
        self._validate_params()
        check_classification_targets(y)
        X, y = indexable(X, y)
        labels = column_or_1d(y, warn=True)
        weight = _check_weight(sample_weight, len(labels))
        rows = np.arange(len(labels))
        prefit = isinstance(self.cv, str) or isinstance(self.estimator, FrozenEstimator)
        if fit_params and (prefit or self.estimator is None):
            raise InvalidInputError(
                f"fit got {', '.join(fit_params)}, but there is no estimator to fit",
                hint="Leave these parameters out",
            )
        if self.estimator is None:
            p, codes = self._take_matrix(X, labels)
        elif prefit:
            check_is_fitted(self.estimator)
            codes = self._take_estimator(self.estimator, labels)
            p = self._probabilities(X)
        else:
            own, splitting = self._route(weight, fit_params)
            codes = self._take_estimator(clone(self.estimator).fit(X, labels, **own), labels)
            p, rows = self._out_of_fold(X, labels, codes, own, splitting)

        names = check_classes(self.classes_.tolist())
        objective = self.objective
        self.solution_ = solve(
            p,
            codes[rows],
            Objective(self.beta, self.tau, self.smoothing) if objective is None else objective,
            scale=self.scale,
            solver=self.solver,
            seed=self.random_state,
            sample_weight=None if weight is None else weight[rows],
            classes=names,
        )
        self.coefficients_ = Coefficients.from_solution(self.solution_, names)
        return self

    @property
    def weight_indices_(self) -> WeightIndices:
        """ξ, in the order of `classes_`."""
        return self.coefficients_.weight_indices

    @property
    def weights_(self) -> Floats:
        """ω = ξ / K, in the order of `classes_`."""
        return self.coefficients_.weights

    def predict(self, X: Table) -> Table:
        """Predict argmax_n ξ_n·p_mn, the first class on a tie.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (M, n_features)

        Returns
        -------
        ndarray of shape (M,), or the Series that `set_output` asked for
            Class labels.
        """
        check_is_fitted(self)
        indices = self.coefficients_.predict(self._probabilities(X))
        return self._deliver("predict", self.classes_[indices], X)

    def predict_proba(self, X: Table) -> Table:
        """Return the scores that `predict` compares: ω_n·p_mn, normalised to sum 1 per row.

        They are no calibrated probabilities; ask `estimator_` for these.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (M, n_features)

        Returns
        -------
        ndarray of shape (M, N), or the DataFrame that `set_output` asked for
            One column per class, in the order of `classes_`.
        """
        check_is_fitted(self)
        scores = self.coefficients_.apply(self._probabilities(X))
        return self._deliver("predict_proba", scores, X)

    def set_output(self, *, predict: str | None = None, predict_proba: str | None = None) -> Self:
        """Choose what `predict` and `predict_proba` return; clones keep the choice.

        Parameters
        ----------
        predict : {"default", "pandas", "polars"}, default=None
            An array, or a Series named "prediction". None leaves the choice as it is.
        predict_proba : {"default", "pandas", "polars"}, default=None
            An array, or a DataFrame with the class names as columns. Scikit-learn's own scorers
            need the array.

        Returns
        -------
        self : DNIPClassifier

        Examples
        --------
        >>> classifier = DNIPClassifier().set_output(predict_proba="polars")
        >>> p = [[0.9, 0.1], [0.6, 0.4]]
        >>> classifier.fit(p, ["ham", "spam"]).predict_proba(p).columns
        ['ham', 'spam']
        """
        config = dict(getattr(self, "_sklearn_output_config", {}))
        for method, container in (("predict", predict), ("predict_proba", predict_proba)):
            if container is not None:
                config[method] = check_choice(method, container, _CONTAINERS)
        self._sklearn_output_config = config  # clone() copies the attribute of this name
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata `fit` hands to the estimator and to the splitter."""
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=fit).add(
            splitter=self.cv, method_mapping=split
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is None:
            tags.input_tags.positive_only = True
        else:
            inner = get_tags(self.estimator)
            tags.input_tags = inner.input_tags
            tags.non_deterministic = inner.non_deterministic
        return tags

    def _probabilities(self, X: Table, *, reset: bool = False) -> Probabilities:
        """Return the class probabilities that the coefficients weigh."""
        if self.estimator_ is None:
            p = validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_features=2)
            return check_probabilities(p, place=ArrayPlace("X"))
        return _check_estimated(self.estimator_.predict_proba(X))

    def _deliver(self, method: str, values: NDArray[Any], X: Table) -> Table:
        """Return an array in the container that `set_output` asked for."""
        library = getattr(self, "_sklearn_output_config", {}).get(method, "default")
        if library == "default":
            return values
        frames = load_optional(library, purpose=f"return {library} objects", extra=library)
        names = list(self.coefficients_.classes)
        if library == "polars":
            if values.ndim == 1:
                return frames.Series("prediction", values.tolist())
            return frames.DataFrame(values, schema=names)
        index = X.index if isinstance(X, frames.DataFrame) else None
        if values.ndim == 1:
            return frames.Series(values, index=index, name="prediction")
        return frames.DataFrame(values, index=index, columns=names)

    def _take_matrix(self, X: Table, y: NDArray[Any]) -> tuple[Probabilities, Labels]:
        """Take X as probabilities, and settle which class each column is."""
        self.estimator_ = None
        p = self._probabilities(X, reset=True)
        source = "y" if self.classes is None else "classes"
        self.classes_ = np.unique(y) if self.classes is None else np.asarray(self.classes)
        names = [str(c) for c in self.classes_.tolist()]
        if p.shape[1] != len(names):
            raise InvalidInputError(
                f"X has {p.shape[1]} columns of probabilities, but {source} holds {len(names)} "
                f"{'class' if len(names) == 1 else 'classes'} ({', '.join(names)})",
                hint="Pass classes=, the class of each column in order, also those that y lacks",
            )
        columns = list(getattr(self, "feature_names_in_", names))
        if columns != names and sorted(columns) == sorted(names):
            raise InvalidInputError(
                f"the columns of X are {', '.join(columns)}, but {source} has the classes in the "
                f"order {', '.join(names)}",
                hint="Pass classes=list(X.columns), or reorder the columns",
            )
        return p, _encode(y, self.classes_)

    def _take_estimator(self, estimator: Estimator, y: NDArray[Any]) -> Labels:
        """Take a fitted estimator, and what it knows of classes and features."""
        if self.classes is not None:
            raise InvalidInputError(
                "classes names the columns of a probability matrix, but there is an estimator",
                hint="Leave classes out: the estimator takes its classes from y",
            )
        self.estimator_ = estimator
        self.classes_ = np.asarray(estimator.classes_)
        if len(self.classes_) < 2:
            raise InvalidInputError(
                f"y holds 1 class ({self.classes_[0]}), but a fit compares at least 2",
                hint="Give examples of other classes too",
            )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return _encode(y, self.classes_)

    def _route(
        self, weight: Floats | None, fit_params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters of the estimator's ``fit`` and of the splitter's ``split``."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=weight, **fit_params)
            return routed.estimator.fit, routed.splitter.split
        if weight is None:
            return fit_params, {}
        if has_fit_parameter(self.estimator, "sample_weight"):
            return {**fit_params, "sample_weight": weight}, {}
        warnings.warn(
            f"{type(self.estimator).__name__}.fit takes no sample_weight: the weights count for "
            "the coefficients only",
            DNIPWarning,
            stacklevel=3,
        )
        return fit_params, {}

    def _out_of_fold(
        self,
        X: Table,
        y: NDArray[Any],
        codes: Labels,
        fit_params: dict[str, Any],
        split_params: dict[str, Any],
    ) -> tuple[Probabilities, Integers]:
        """Return probabilities by estimators that have not seen the row, and which row it is."""
        folds = Parallel(n_jobs=self.n_jobs)(
            delayed(_predict_fold)(self.estimator, X, y, train, test, self.classes_, fit_params)
            for train, test in self._splitter(codes).split(X, y, **split_params)
        )
        p, rows = (np.concatenate(parts) for parts in zip(*folds, strict=True))
        if len(np.unique(codes[rows])) < 2:
            raise InvalidInputError(
                "the splits of cv train on fewer than 2 of the classes that they then test",
                hint="Stratify the splits, or shuffle them",
            )
        return _check_estimated(p), rows

    def _splitter(self, codes: Labels) -> Splitter:
        if self.cv is not None and not isinstance(self.cv, Integral):
            return check_cv(self.cv)
        sizes = np.bincount(codes)
        sizes = sizes[sizes > 1]
        if len(sizes) < 2:
            raise InvalidInputError(
                f"y has {len(sizes)} classes of two or more examples, but cross-validation "
                "compares at least 2",
                hint="Give more examples, or a fitted estimator with cv='prefit'",
            )
        return StratifiedKFold(min(N_FOLDS if self.cv is None else self.cv, *sizes.tolist()))


def _predict_fold(
    estimator: Estimator,
    X: Table,
    y: NDArray[Any],
    train: Integers,
    test: Integers,
    classes: NDArray[Any],
    fit_params: dict[str, Any],
) -> tuple[Probabilities, Integers]:
    """Return probabilities of the test rows whose class is among the train rows."""
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, y_test = _safe_split(estimator, X, y, test, train)
    params = _check_method_params(X, fit_params, indices=train)
    fitted = clone(estimator).fit(X_train, y_train, **params)
    p = np.zeros((len(y_test), len(classes)))
    p[:, _encode(fitted.classes_, classes)] = fitted.predict_proba(X_test)
    seen = np.isin(y_test, y_train)
    return p[seen], np.arange(len(y))[test][seen]


def _encode(labels: ArrayLike, classes: NDArray[Any]) -> Labels:
    """Return the index of each label among the classes."""
    index = {c: i for i, c in enumerate(classes.tolist())}
    try:
        return np.array([index[label] for label in np.asarray(labels).tolist()], np.int64)
    except KeyError as error:
        raise InvalidInputError(
            f"y holds the label {error.args[0]!r}, but the classes are "
            f"{', '.join(map(repr, index))}",
            hint="Give labels of these classes only",
        ) from None


def _check_weight(sample_weight: ArrayLike | None, n_examples: int) -> Floats | None:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight)
    if not weight.any():
        raise InvalidInputError("every sample_weight is zero", hint="Leave it out to count all")
    return check_sample_weight(weight, n_examples=n_examples)


def _check_estimated(p: ArrayLike) -> Probabilities:
    return check_probabilities(p, place=ArrayPlace("estimator.predict_proba(X)"), warn=False)
