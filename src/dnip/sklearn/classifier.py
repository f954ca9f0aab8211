"""The classifier for scikit-learn: class coefficients around any classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import DNIPWarning, InvalidInputError, MissingDependencyError, listed, warn
from dnip.base.typing import Booleans, Floats, Integers, Probabilities
from dnip.base.validation import check_choice, check_integer
from dnip.fitting.fit import FitRows, fit_rows, prepare
from dnip.fitting.settings import FitSettings, fit_settings
from dnip.method.constraints import Constraints
from dnip.method.objective import Costs, Goal
from dnip.method.prediction import decide
from dnip.method.scales import WeightScale
from dnip.metrics.confusion import cobias_score
from dnip.priors import PriorLike, check_prior
from dnip.solvers import Solver
from dnip.tables import ProbabilityTable
from dnip.tables.cells import Location, check_probabilities, check_sample_weight
from dnip.tables.frames import take_columns
from dnip.tables.groups import check_groups
from dnip.tables.labels import (
    check_classes,
    check_order,
    check_several_classes,
    default_classes,
    names_of,
    read_labels,
)
from dnip.tables.sampling import Sample

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.frozen import FrozenEstimator
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import StratifiedGroupKFold, check_cv
    from sklearn.utils import _safe_indexing, get_tags, indexable
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import (
        check_is_fitted,
        column_or_1d,
        has_fit_parameter,
        validate_data,
    )

    from sklearn import get_config
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        "scikit-learn 1.6 or newer", purpose="use DNIPClassifier", extra="sklearn"
    ) from error

_RESPONSES = "predict_proba", "decision_function"

#: COBias for `cross_validate` and `GridSearchCV`: lower is better, so scores are negative.
cobias_scorer = make_scorer(cobias_score, greater_is_better=False)


class DNIPClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Correct a classifier with one learned coefficient per class, so that no class starves.

    It does for any number of classes what ``TunedThresholdClassifierCV`` does for two: a
    coefficient is the inverse of a threshold. By default it evens out the recalls of the classes
    (their accuracies, here); `objective` makes it maximise balanced accuracy or macro-F1 instead.

    Predicts argmax_n ξ_n·p_mn, the first class on a tie: p are the class probabilities of
    `estimator`, ξ one weight per class, such that error + β·COBias - τ·Σ PMI is low. COBias is the
    mean gap between the recalls of two classes. Weights are fitted on out-of-fold probabilities, as
    an estimator is too sure of what it was fitted on; then the estimator is fitted on all data.
    Without an estimator, X itself is the matrix of class probabilities, such as an LLM's.

    An estimator with ``decision_function`` alone, such as ``LinearSVC``, is taken as scikit-learn's
    ``response_method="auto"`` does: p is the softmax of its scores, for two classes the sigmoid.
    A coefficient is then a shift of a score.

    Parameters
    ----------
    estimator : classifier with ``predict_proba`` or ``decision_function``, default=None
        Fitted as a clone; a ``FrozenEstimator`` is used as it is. None: X holds probabilities.
    objective : {"cobias", "balanced-accuracy", "macro-f1"}, Objective or callable, default=None
        None is "cobias": error + β·COBias is minimised, where COBias is the mean gap between the
        recalls of two classes. The other names are maximised. Any function of a confusion matrix
        (N, N), rows true, is minimised.
    beta, costs, preset, scale, solver, time_limit, robust : default as for :func:`dnip.fit`
        The same words, with the same meaning.
    constraints : Constraints, default=None
        What the coefficients must keep on the probabilities that they are fitted on. Its classes
        are labels of `classes_`.
    target_prior : "uniform", dict or array-like of shape (N,), default=None
        The class mix to fit for, by class label or in the order of `classes_`: an example counts by
        target over observed share of its class. None: the mix of y.
    defer : float, default=None
        The share of examples to defer to a person or a larger model, above 0 and below 1;
        :meth:`deferred` says which.
    helper_accuracy : float or None, default=0.9
        How often that helper is right; None: serve the examples that remain best.
    classes : sequence of length N, default=None
        Without an estimator: the class of each column of X, in order, also of those that y
        lacks. None: the sorted labels of y. Some scorers, such as log loss, need sorted classes.
    cv : int, splitter, iterable of splits or "prefit", default=None
        How out-of-fold probabilities are made; None is 5 stratified folds. There are no more folds
        than examples in the smallest class of two or more. Splits need not cover the data. An
        example is left out if its fold's estimator has not seen its class. "prefit": the fitted
        estimator is used as it is, and the data should be new to it. That is best for estimators
        that change much between folds, such as a single tree.
    n_jobs : int, default=None
        Folds fitted at the same time.
    evidence : bool, default=None
        Whether to judge the fit by refits of the coefficients, each without a fold of the labels,
        and to choose by them; None: if that is quick. Where nothing is expected to gain, weights
        are 1, which decides as the raw argmax does.
    random_state : int, default=0
        Seed of the solver; the same seed gives the same coefficients.

    Attributes
    ----------
    estimator_ : classifier or None
        Fitted on all data. Ask it for probabilities.
    coefficients_ : Coefficients
        The deployable artefact; applying it needs no scikit-learn.
    fit_ : Fit
        All of the fit, as :func:`dnip.fit` returns it: record, evidence, verdict and notes.
    solution_ : Solution
        What the solver found, on the out-of-fold probabilities.
    verdict_ : {"apply", "keep", "no signal", "not judged"}
        Whether to use the coefficients; see :attr:`dnip.Fit.verdict`.
    evidence_ : dnip.fitting.refits.FitEvidence or None
        What refits say of other rows; None if the fit was not judged.
    decision_ : dnip.fitting.fit.Blend or None
        What a robust fit decided, and on which numbers.
    weight_indices_, weights_ : ndarray of shape (N,)
        ξ, whole numbers 1..K, and ω, which is ξ / K on a linear scale, in the order of `classes_`.
    classes_ : ndarray of shape (N,)
        The class labels.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features_in_,)
        The columns seen in `fit`, if the estimator knows them and if they had names.

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
    0.75

    The matrix itself as X:

    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> DNIPClassifier().fit(p, ["ham", "spam", "ham", "spam"]).predict(p).tolist()
    ['ham', 'spam', 'ham', 'spam']
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        objective: Goal = None,
        beta: float | None = None,
        costs: ArrayLike | Costs | None = None,
        preset: str | None = None,
        scale: int | str | WeightScale | None = None,
        solver: str | Solver | None = None,
        random_state: int = 0,
        time_limit: float | None = None,
        constraints: Constraints | None = None,
        robust: str = "auto",
        target_prior: PriorLike | None = None,
        defer: float | None = None,
        helper_accuracy: float | None = 0.9,
        evidence: bool | None = None,
        classes: Sequence[Any] | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.beta = beta
        self.costs = costs
        self.preset = preset
        self.scale = scale
        self.solver = solver
        self.random_state = random_state
        self.time_limit = time_limit
        self.constraints = constraints
        self.robust = robust
        self.target_prior = target_prior
        self.defer = defer
        self.helper_accuracy = helper_accuracy
        self.evidence = evidence
        self.classes = classes
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        unlabelled: Any = None,
        groups: ArrayLike | None = None,
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
        unlabelled : like X, of shape (U, n_features), default=None
            Examples without a label, from where the classifier will be used, for a robust fit.
        groups : array-like of shape (M,), default=None
            What each example belongs to, such as a user. Those of a group lie in one fold, of the
            estimator and of every refit, and count as one label. A splitter as `cv` gets them, too.
        **fit_params : dict
            For the estimator's ``fit``; with metadata routing, also for the splitter.

        Returns
        -------
        self : DNIPClassifier

        Raises
        ------
        InvalidInputError
            For probabilities, labels, weights or classes that break their contract.
        InfeasibleError
            If no coefficients satisfy the constraints, or none were found.

        Warns
        -----
        DNIPWarning
            For classes that cannot be fitted, probabilities that tell nothing of the class, and an
            estimator that takes no `sample_weight`.
        """
        settings = self._settings()
        check_classification_targets(y)
        X, y = indexable(X, y)
        labels = column_or_1d(y, warn=True)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, n_examples=len(labels))
        present = np.unique(labels)
        check_several_classes(np.ones(len(present), np.bool_), list(map(str, present)), "y")
        members = None if groups is None else check_groups(groups, len(labels))
        p, rows = self._unseen_probabilities(X, labels, weight, members, fit_params)
        table = ProbabilityTable(p, classes=check_classes(self.classes_.tolist()), source="X")
        indices = read_labels(labels, table.classes, Location("y"), unlabelled=False)
        table = ProbabilityTable(table.changed(labels=indices[rows]))
        more = None
        if unlabelled is not None:
            more = ProbabilityTable(
                self._probabilities(unlabelled), classes=table.classes, source="unlabelled"
            )
        target = self.target_prior
        if isinstance(target, dict):
            target = {str(label): share for label, share in target.items()}
        settings = replace(
            settings, target_prior=None if target is None else check_prior(target, table.classes)
        )
        opt = FitRows(
            Sample.whole(table),
            more,
            None if weight is None else weight[rows],
            None if members is None else members[rows],
            finds_copies=False,  # to repeat an example is to weigh it, in scikit-learn
        )
        alone = np.setdiff1d(labels, labels[rows]).tolist()
        with warnings.catch_warnings() if alone else nullcontext():
            if alone:
                warn(
                    f"no fold could both learn and test class {listed(list(map(str, alone)))}: its "
                    "weight is the geometric middle of the others. A class needs two rows, and "
                    "folds that divide them"
                )
                warnings.filterwarnings("ignore", "no labelled example", DNIPWarning)
            self.fit_ = fit_rows(prepare(opt, settings, self.evidence))
        self.solution_, self.decision_ = self.fit_.solution, self.fit_.decision
        self.evidence_, self.verdict_ = self.fit_.evidence, self.fit_.verdict
        self.coefficients_, self.weights_ = self.fit_.coefficients, self.fit_.weights
        self.weight_indices_ = self.coefficients_.weight_indices
        if self.verdict_ == "no signal":
            warn(" ".join(self.fit_.evaluation.no_signal.split()))
        return self

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

    def _settings(self) -> FitSettings:
        """Return the settings of the fit, checked."""
        fits, *responds = [hasattr(self.estimator, method) for method in ("fit", *_RESPONSES)]
        if self.estimator is not None and not (fits and any(responds)):
            raise InvalidInputError(
                f"estimator must have fit, and {' or '.join(_RESPONSES)}; got {self.estimator!r}",
                hint="Give a classifier that scores every class, or None for a matrix as X",
            )
        if self.estimator is not None and self.classes is not None:
            raise InvalidInputError(
                "classes names the columns of a probability matrix, but there is an estimator",
                hint="Leave classes out: the estimator takes its classes from y",
            )
        if isinstance(self.cv, str):
            check_choice("cv", self.cv, ["prefit"])
        elif isinstance(self.cv, Integral):
            check_integer("cv", int(self.cv), at_least=2)
        return fit_settings(
            self.objective,
            beta=self.beta,
            costs=self.costs,
            preset=self.preset,
            scale=self.scale,
            solver=self.solver,
            seed=check_integer("random_state", self.random_state, at_least=0),
            time_limit=self.time_limit,
            constraints=self.constraints,
            robust=self.robust,
            defer=self.defer,
            helper_accuracy=self.helper_accuracy,
        )

    def _unseen_probabilities(
        self,
        X: Any,
        labels: NDArray[Any],
        weight: Floats | None,
        groups: Integers | None,
        fit_params: dict[str, Any],
    ) -> tuple[Probabilities, Integers]:
        """Return probabilities by estimators that have not seen the row, and the rows' numbers."""
        prefit = isinstance(self.cv, str) or isinstance(self.estimator, FrozenEstimator)
        if fit_params and (prefit or self.estimator is None):
            raise InvalidInputError(
                f"fit got {', '.join(fit_params)}, but there is no estimator to fit",
                hint="Leave these parameters out",
            )
        rows = np.arange(len(labels))
        if self.estimator is None:
            return self._take_matrix(X, labels), rows
        if prefit:
            check_is_fitted(self.estimator)
            self._take_estimator(self.estimator)
            return self._probabilities(X), rows
        fitting, splitting = self._route(weight, groups, fit_params)
        self._take_estimator(clone(self.estimator).fit(X, labels, **fitting))
        return predict_out_of_fold(
            self.estimator,
            X,
            labels,
            classes=self.classes_,
            cv=self.cv,
            n_jobs=self.n_jobs,
            fit_params=fitting,
            split_params=splitting,
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

    def _take_matrix(self, X: Any, y: NDArray[Any]) -> Probabilities:
        """Take X as probabilities, and decide which class each column is."""
        self.estimator_ = None
        p = self._probabilities(X, reset=True)
        self.classes_ = np.unique(y) if self.classes is None else np.asarray(self.classes)
        names = tuple(str(c) for c in self.classes_.tolist())
        names_of(p.shape[1], names, "X")
        if self.classes is not None:
            return p
        columns = take_columns(X, None, "X")[1]
        if columns is None and isinstance(y[0], str):
            check_order(p, np.searchsorted(self.classes_, y), names)
        elif columns not in (None, names) and names != default_classes(len(names)):
            raise InvalidInputError(
                f"the columns of X are {listed(columns or ())}, but the sorted labels are "
                f"{listed(names)}",
                hint="Pass classes=list(X.columns)",
            )
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
            try:
                return check_probabilities(p, location=Location("X"))
            except InvalidInputError as error:
                if reset:
                    error.hint = f"{error.hint}. If X holds features, give a classifier for them"
                raise
        return _check_estimated(probabilities_of(self.estimator_, X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata `fit` passes to the estimator and to the splitter."""
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=fit)
        return router.add(splitter=self.cv, method_mapping=split)

    def _route(
        self, weight: Floats | None, groups: Integers | None, fit_params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters of the estimator's ``fit`` and of the splitter's ``split``."""
        known = {} if groups is None else {"groups": groups}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=weight, **known, **fit_params)
            own = known if self.cv is None or isinstance(self.cv, Integral) else {}
            return routed.estimator.fit, {**own, **routed.splitter.split}
        if weight is not None and has_fit_parameter(self.estimator, "sample_weight"):
            fit_params = {**fit_params, "sample_weight": weight}
        elif weight is not None:
            warn(
                f"{type(self.estimator).__name__}.fit takes no sample_weight: the weights count "
                "for the coefficients only"
            )
        return fit_params, known


# --- Probabilities out of fold, and of an estimator ---
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
    params = split_params or {}
    splits = _splitter(cv, y, grouped="groups" in params).split(X, y, **params)
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


def _splitter(cv: Any, y: NDArray[Any], *, grouped: bool) -> Any:
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
    n_folds = min(N_FOLDS if cv is None else cv, sizes.min())
    return StratifiedGroupKFold(n_folds) if grouped else check_cv(n_folds, y, classifier=True)


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


def _check_estimated(probabilities: ArrayLike) -> Probabilities:
    """Return the probabilities that an estimator gave, checked.

    Examples
    --------
    >>> _check_estimated([[1.0, 3.0]])
    array([[0.25, 0.75]])
    """
    location = Location("estimator.predict_proba(X)")
    return check_probabilities(probabilities, location=location, warn=False)


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
