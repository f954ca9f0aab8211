"""The classifier for scikit-learn: class coefficients around any classifier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import DNIPWarning, InvalidInputError, MissingDependencyError, listed, warn
from dnip.base.typing import Floats, Integers, Probabilities
from dnip.base.validation import check_choice, check_integer
from dnip.fitting.fit import fit_rows, prepare, sample_of
from dnip.fitting.refits import LEVEL, NO_SIGNAL
from dnip.fitting.settings import FitSettings
from dnip.method.constraints import Constraints, by_label
from dnip.method.objective import Costs, Goal
from dnip.method.scales import WeightScale
from dnip.metrics.confusion import cobias_score
from dnip.priors.target import PriorLike, check_prior
from dnip.solvers import Solver
from dnip.tables import ProbabilityTable
from dnip.tables.cells import check_sample_weight
from dnip.tables.labels import check_classes

try:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
    from sklearn.frozen import FrozenEstimator
    from sklearn.metrics import make_scorer
    from sklearn.utils import indexable
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d

    from dnip.sklearn.predicting import ReweightingMixin, encode, predict_out_of_fold
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        "scikit-learn 1.6 or newer", purpose="use DNIPClassifier", extra="sklearn"
    ) from error

_RESPONSES = "predict_proba", "decision_function"
# A loss of accuracy that is worth a warning.
_TWO_POINTS = 0.02

#: COBias for `cross_validate` and `GridSearchCV`: lower is better, so scores are negative.
cobias_scorer = make_scorer(cobias_score, greater_is_better=False)


class DNIPClassifier(ReweightingMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
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
    objective : {"balanced-accuracy", "macro-f1"}, Objective or callable, default=None
        What to maximise instead, by its name; or what to minimise, also any function of a confusion
        matrix (N, N), rows true.
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
        Whether to judge the fit by five refits of the coefficients, each without a fold of the
        labels; None: if that is quick.
    only_if_better : bool, default=False
        Unless the verdict is "apply", leave weights of 1, which decide as the raw argmax does, and
        warn. Not with ``evidence=False``.
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
        only_if_better: bool = False,
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
        self.only_if_better = only_if_better
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
            For classes that cannot be fitted, and an estimator that takes no `sample_weight`.
        """
        settings = self._settings()
        check_classification_targets(y)
        X, y = indexable(X, y)
        labels = column_or_1d(y, warn=True)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, n_examples=len(labels))
        if len(present := np.unique(labels)) == 1:
            raise InvalidInputError(
                f"y: only one class, {present[0]}, has labelled rows, but COBias compares at least "
                "2 classes",
                hint="Label rows of other classes too",
            )
        p, rows = self._unseen_probabilities(X, labels, weight, fit_params)
        table = ProbabilityTable(p, classes=check_classes(self.classes_.tolist()), source="X")
        indices = encode(labels, self.classes_)[rows]
        table = ProbabilityTable(replace(table.rows, labels=indices))
        more = None
        if unlabelled is not None:
            more = ProbabilityTable(
                self._probabilities(unlabelled), classes=table.classes, source="unlabelled"
            )
        target = self.target_prior
        if isinstance(target, dict):
            target = {str(label): share for label, share in target.items()}
        settings = replace(
            settings,
            target_prior=None if target is None else check_prior(target, table.classes),
            constraints=by_label(self.constraints, self.classes_.tolist()) or Constraints(),
        )
        sample, count = sample_of(table)
        with warnings.catch_warnings():
            if alone := np.setdiff1d(labels, labels[rows]).tolist():
                warn(
                    f"no fold could both learn and test class {listed(list(map(str, alone)))}: the "
                    "estimator knows it, but its weight is not fitted, it is the geometric middle "
                    "of the others. A class needs two rows, and folds that divide them"
                )
                warnings.filterwarnings("ignore", "no labelled example", DNIPWarning)
            prepared = prepare(
                sample,
                count,
                settings,
                weight=None if weight is None else weight[rows],
                more=more,
                finds_copies=False,  # to repeat an example is to weigh it, in scikit-learn
                evidence=self.only_if_better or self.evidence,
            )
            self.fit_ = fit_rows(prepared)
        self.solution_, self.decision_ = self.fit_.solution, self.fit_.decision
        self.evidence_, self.verdict_ = self.fit_.evidence, self.fit_.verdict
        coefficients = self.fit_.coefficients
        if self.only_if_better and self.verdict_ != "apply":
            coefficients = self.fit_.unweighted()
        self.coefficients_, self.weights_ = coefficients, coefficients.weights
        self.weight_indices_ = coefficients.weight_indices
        self._warn_of_verdict()
        return self

    def _warn_of_verdict(self) -> None:
        """Warn where it is followed, or accuracy is sure to fall by more than two points."""
        evidence = self.evidence_
        if self.only_if_better and self.verdict_ != "apply":
            why = " ".join(self.fit_.reason.split())
            warn(f"the verdict is {self.verdict_!r}, so the raw argmax stays: {why}")
        elif self.verdict_ == "no signal":
            warn(" ".join(NO_SIGNAL.split()))
        elif evidence is None or evidence.accuracy_change >= -_TWO_POINTS:
            return
        elif evidence.evaluation.accuracy_change(LEVEL)[1] < 0:
            before, after = evidence.accuracies
            gaps = evidence.raw.cobias, evidence.reweighted.cobias
            smaller = "a smaller beta, or " if self.objective is None else ""
            warn(
                f"the verdict is {self.verdict_!r}: on rows left out, accuracy falls from "
                f"{before:.3f} to {after:.3f}, and COBias from {gaps[0]:.3f} to {gaps[1]:.3f}. To "
                f"lose less, give {smaller}constraints=dnip.Constraints("
                "max_accuracy_loss=0.01). With only_if_better=True, the raw argmax stays unless "
                "the verdict is 'apply'"
            )

    def _settings(self) -> FitSettings:
        """Return the settings of the fit, checked."""
        fits, *responds = [hasattr(self.estimator, method) for method in ("fit", *_RESPONSES)]
        if self.estimator is not None and not (fits and any(responds)):
            raise InvalidInputError(
                f"estimator must have fit, and {' or '.join(_RESPONSES)}; got {self.estimator!r}",
                hint="Give a classifier that scores every class, or None for a matrix as X",
            )
        if self.only_if_better and self.evidence is False:
            raise InvalidInputError(
                "only_if_better follows the verdict of refits, but evidence is off",
                hint="Leave evidence=False out",
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
        return FitSettings(
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
        self, X: Any, labels: NDArray[Any], weight: Floats | None, fit_params: dict[str, Any]
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
        fitting, splitting = self._route(weight, fit_params)
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
