"""DNIPClassifier against plain NumPy, and against what scikit-learn asks of a classifier."""

import re
import sys
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import sklearn
from cases import cases
from dnip import Constraints, DNIPClassifier, DNIPWarning, InvalidInputError, fit, solve
from dnip.metrics import class_accuracies
from dnip.sklearn.classifier import predict_out_of_fold
from populations import biased_rows
from processes import ran

WINES = np.array(["red", "rosé", "white"])  # sorted, as scikit-learn sorts classes

#: Without refits, which say nothing of the estimator.
quick = partial(DNIPClassifier, evidence=False)

# An X of class probabilities needs one column per class, and most checks have other tables
_WIDTH = (
    "classifiers_classes classifiers_train dtype_object estimators_dtypes estimators_nan_inf "
    "estimators_fit_returns_self estimators_overwrite_params estimators_pickle "
    "n_features_in_after_fitting pipeline_consistency readonly_memmap_input "
    "sample_weight_equivalence_on_dense_data"
)
_ZEROS = "a row of X holds zeros only, which are no probabilities"
_NO_SHARES = (
    "dont_overwrite_parameters f_contiguous_array_estimator methods_sample_order_invariance "
    "methods_subset_invariance dict_unchanged fit_idempotent fit_check_is_fitted n_features_in "
    "fit2d_predict1d"
)
EXPECTED_FAILED_CHECKS = {
    **{f"check_{name}": "X has more columns than classes, or fewer" for name in _WIDTH.split()},
    "check_sample_weights_not_an_array": _ZEROS,
    "check_sample_weights_pandas_series": _ZEROS,
    "check_positive_only_tag_during_fit": "the error names the cell and the remedy in other words",
    **{f"check_{name}": "X holds numbers that share no whole" for name in _NO_SHARES.split()},
}


FRAME = load_wine(as_frame=True).data[["alcohol", "ash", "hue", "flavanoids"]]
X, y = FRAME.to_numpy(), WINES[load_wine().target]


@pytest.fixture
def shy():
    """Pull so strongly to the class frequencies that a class starves."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=1e-3))


@pytest.fixture(scope="module")
def matrix():
    """Probabilities of four classes, of which the first is favoured, and labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 300)
    logits = rng.normal(size=(300, 4)) + 1.5 * np.eye(4)[labels] + [1.5, 0.0, 0.0, -0.5]
    p = np.exp(logits)
    return p / p.sum(axis=1, keepdims=True), labels


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers the weights that it was fitted with, and predicts class frequencies."""

    weights = []  # noqa: RUF012 - shared by clones on purpose

    def fit(self, X, y, sample_weight=None):
        self.weights.append(sample_weight)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.frequencies_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        return np.tile(self.frequencies_, (len(X), 1))


# --- What scikit-learn asks of every classifier ---
@parametrize_with_checks([quick(LogisticRegression())])
@pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")
def test_every_check_passes_around_an_estimator(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_a_matrix_fails_the_declared_checks_and_no_other():
    results = check_estimator(
        quick(), expected_failed_checks=EXPECTED_FAILED_CHECKS, on_fail=None, on_skip=None
    )
    by_status = {status: set() for status in ("passed", "failed", "xfail", "skipped")}
    for result in results:
        by_status[result["status"]].add(result["check_name"])
    assert by_status["failed"] == set()
    assert by_status["xfail"] == set(EXPECTED_FAILED_CHECKS)
    assert all(EXPECTED_FAILED_CHECKS.values())


# --- The rule, and where the probabilities come from ---
def test_coefficients_are_fitted_out_of_fold_and_the_estimator_on_all_data(shy):
    codes = np.searchsorted(WINES, y)
    p = cross_val_predict(shy, X, y, cv=5, method="predict_proba")
    classifier = quick(shy, robust="off").fit(X, y)
    solution = solve(p, codes)
    np.testing.assert_array_equal(classifier.weight_indices_, solution.weight_indices)
    np.testing.assert_array_equal(classifier.solution_.confusion, solution.confusion)
    raw = classifier.estimator_.predict_proba(X)
    np.testing.assert_array_equal(raw, shy.fit(X, y).predict_proba(X))


@pytest.mark.parametrize("make", [FrozenEstimator, lambda fitted: fitted])
def test_a_fitted_estimator_is_used_as_it_is(shy, make):
    fitted = make(shy.fit(X[::2], y[::2]))
    cv = None if isinstance(fitted, FrozenEstimator) else "prefit"
    classifier = quick(fitted, cv=cv, robust="off").fit(X[1::2], y[1::2])
    assert classifier.estimator_ is fitted
    solution = solve(shy.predict_proba(X[1::2]), np.searchsorted(WINES, y[1::2]))
    np.testing.assert_array_equal(classifier.weight_indices_, solution.weight_indices)
    one_of_each = np.unique(y, return_index=True)[1]  # too few for any fold
    assert quick(fitted, cv=cv).fit(X[one_of_each], y[one_of_each]).score(X, y) > 0.3


def test_a_fitted_estimator_may_know_more_classes_than_y(shy):
    shy.fit(X, y)
    few = y != "white"
    with pytest.warns(DNIPWarning, match="white"):
        classifier = quick(shy, cv="prefit").fit(X[few], y[few])
    assert classifier.classes_.tolist() == WINES.tolist()
    assert classifier.solution_.unfitted == (2,)


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_of_one_example_cannot_be_fitted_and_is_named(shy):
    rows = np.r_[np.flatnonzero(y != "rosé"), np.flatnonzero(y == "rosé")[:1]]
    with pytest.warns(DNIPWarning) as told:
        classifier = quick(shy).fit(X[rows], y[rows])
    (said,) = [str(each.message) for each in told if each.category is DNIPWarning]
    assert said.startswith("no fold could both learn and test class rosé: its weight is")
    assert classifier.solution_.unfitted == (1,)
    assert classifier.solution_.confusion.sum() == len(rows) - 1


@pytest.mark.parametrize("names", [WINES, WINES[1:]])
def test_a_coefficient_shifts_the_scores_of_a_decision_function(names):
    kept = np.isin(y, names)
    classifier = quick(LinearSVC(C=1e-3)).fit(X[kept], y[kept])
    scores = classifier.estimator_.decision_function(X)
    if len(names) == 2:
        scores = np.column_stack([-scores / 2, scores / 2])
    shifted = scores + np.log(classifier.weights_)
    assert (classifier.predict(X) == names[shifted.argmax(axis=1)]).all()
    assert (classifier.predict(X) != classifier.estimator_.predict(X)).any()
    odds = np.exp(shifted)
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_proba(X), expected)


@cases(
    (LinearRegression(), "must have fit, and predict_proba or decision_function"),
    (SVC(decision_function_shape="ovo"), "gives 6 scores for 4 classes"),
)
def test_what_scores_no_classes_is_refused(matrix, estimator, message):
    with pytest.raises(InvalidInputError, match=message):
        quick(estimator).fit(*matrix)


# --- X as the matrix ---
def test_the_matrix_form_is_solve(matrix):
    p, labels = matrix
    settings = {"scale": 12, "solver": "anneal"}
    classifier = quick(robust="off", random_state=3, **settings).fit(p, labels)
    solution = solve(p, labels, seed=3, **settings)
    np.testing.assert_array_equal(classifier.weight_indices_, solution.weight_indices)
    assert (classifier.solution_.value, classifier.solution_.seed) == (solution.value, 3)
    assert classifier.coefficients_.classes == ("0", "1", "2", "3")
    assert classifier.estimator_ is None
    chosen = np.argmax(solution.weight_indices * p, axis=1)
    np.testing.assert_array_equal(classifier.predict(p), chosen)


def test_classes_names_the_columns_in_their_own_order(matrix):
    p, labels = matrix
    names = np.array(["world", "sports", "business", "tech"])
    classifier = quick(classes=names.tolist()).fit(p, names[labels])
    by_index = quick().fit(p, labels)
    np.testing.assert_array_equal(classifier.weight_indices_, by_index.weight_indices_)
    assert classifier.classes_.tolist() == names.tolist()
    np.testing.assert_array_equal(classifier.predict(p), names[by_index.predict(p)])


def test_classes_may_hold_what_y_lacks(matrix):
    p, labels = matrix
    few = labels != 2
    with pytest.warns(DNIPWarning, match="class 2"):
        classifier = quick(classes=range(4)).fit(p[few], labels[few])
    assert classifier.solution_.unfitted == (2,)
    assert classifier.predict_proba(p).shape == p.shape


HALVES = [[0.5, 0.5]] * 2


@cases(
    ({}, [[0.5, 0.3, 0.2]] * 2, "ab", "3 columns of probabilities, but .* a, b.*classes="),
    ({}, pd.DataFrame({"b": [0.5, 0.5], "a": [0.5, 0.5]}), "ab", "columns of X are b, a"),
    ({}, pd.DataFrame({"a": [0.5, 0.5], "c": [0.5, 0.5]}), "ab", "columns of X are a, c"),
    ({}, [[1.5, -2.0], [0.3, 0.1]], "ab", "is negative .* features, give a classifier for them"),
    ({"random_state": None}, HALVES, "ab", "random_state must be a whole number"),
    ({"constraints": Constraints(freeze=["x"])}, HALVES, "ab", "unknown class 'x'"),
    *(
        ({"target_prior": mix}, HALVES, "ab", r"target.prior")
        for mix in ([0.2, 0.3, 0.5], {"a": 1.0}, "estimate", {"x": 1.0}, 3)
    ),
)
def test_what_no_matrix_can_be_is_refused(settings, X, y, message):
    with pytest.raises(InvalidInputError, match=message):
        quick(**settings).fit(X, list(y))


# --- Sample weights and metadata ---
@pytest.mark.filterwarnings("ignore:The probabilities say nothing")
def test_the_estimator_gets_the_weights_of_its_rows():
    Recorder.weights.clear()
    weight = np.arange(1.0, len(y) + 1)
    classifier = quick(Recorder(), cv=[(np.arange(0, 178, 2), np.arange(1, 178, 2))])
    classifier.fit(X, y, sample_weight=weight)
    everything, fold = Recorder.weights
    np.testing.assert_array_equal(everything, weight)
    np.testing.assert_array_equal(fold, weight[::2])
    assert classifier.solution_.confusion.sum() == weight[1::2].sum()


def test_an_estimator_without_weights_is_fitted_without_and_named():
    with pytest.warns(DNIPWarning, match="KNeighborsClassifier"):
        quick(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.filterwarnings("ignore:The probabilities say nothing")
def test_metadata_reaches_the_estimator_and_the_splitter():
    Recorder.weights.clear()
    weight, groups = np.arange(1.0, len(y) + 1), np.arange(len(y)) % 7
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Recorder().set_fit_request(sample_weight=True)
        classifier = quick(estimator, cv=GroupKFold(3))
        classifier.fit(X, y, sample_weight=weight, groups=groups)
    assert len(Recorder.weights) == 4
    folds = GroupKFold(3).split(X, y, groups)
    for got, (train, _) in zip(Recorder.weights[1:], folds, strict=True):
        np.testing.assert_array_equal(got, weight[train])


def test_a_kernel_is_cut_to_the_rows_that_a_fold_is_fitted_on():
    kernel = quick(SVC(kernel="precomputed")).fit(X @ X.T, y)
    linear = quick(SVC(kernel="linear")).fit(X, y)
    np.testing.assert_allclose(kernel.weights_, linear.weights_)
    assert (kernel.predict(X @ X.T) == linear.predict(X)).all()


@pytest.mark.parametrize(("routing", "cv"), [(False, None), (True, GroupKFold(4))])
def test_groups_lie_in_one_fold_and_count_as_one_label(routing, cv):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=40)
    few = rng.normal(size=(40, 4)) + np.eye(4)[labels]
    often, y, users = (np.repeat(part, 6, axis=0) for part in (few, labels, np.arange(40)))
    noisy = often + rng.normal(0, 1e-3, often.shape)
    with sklearn.config_context(enable_metadata_routing=routing):
        grouped = DNIPClassifier(LogisticRegression(), cv=cv).fit(noisy, y, groups=users)
        alone = DNIPClassifier(LogisticRegression()).fit(noisy, y)
    width = [
        np.subtract(*each.evidence_.evaluation.to_dict(0.9)["raw"]["intervals"]["accuracy"][::-1])
        for each in (alone, grouped)
    ]
    assert width[1] > 1.5 * width[0]
    with pytest.raises(InvalidInputError, match=r"groups has shape \(3,\)"):
        DNIPClassifier(LogisticRegression()).fit(noisy, y, groups=[1, 2, 3])
    p = LogisticRegression().fit(noisy, y).predict_proba(noisy)
    matrix, by_hand = DNIPClassifier().fit(p, y, groups=users), fit(p, y, groups=users)
    assert matrix.weights_.tolist() == by_hand.weights.tolist()


# --- Frames in and out ---
@cases(
    (lambda frame: frame, lambda y: pd.Series(y, dtype="category")),
    (pl.from_pandas, lambda y: pl.Series(y.tolist())),
)
def test_frames_in(shy, to_frame, to_series):
    table = to_frame(FRAME)
    classifier = quick(shy).fit(table, to_series(y))
    expected = quick(shy).fit(X, y)
    assert classifier.feature_names_in_.tolist() == list(FRAME.columns)
    np.testing.assert_array_equal(classifier.weight_indices_, expected.weight_indices_)
    np.testing.assert_array_equal(classifier.predict(table), expected.predict(X))
    assert isinstance(classifier.predict(table), np.ndarray)


def test_the_default_goal_has_a_name(matrix):
    named, usual = (DNIPClassifier(objective=goal).fit(*matrix) for goal in ("cobias", None))
    assert named.fit_.choice == usual.fit_.choice
    assert len(named.fit_.alternatives) > 1  # β is chosen
    assert named.weights_.tolist() == usual.weights_.tolist()
    both = (DNIPClassifier(objective=goal, beta=2.7).fit(*matrix) for goal in ("cobias", None))
    assert len({tuple(one.weights_) for one in both}) == 1


# --- What an import loads ---
def test_scikit_learn_is_loaded_last_and_named_where_it_is_missing():
    hidden = "import sys, dnip; assert 'sklearn' not in sys.modules; sys.modules['sklearn'] = None"
    done = ran(sys.executable, "-c", f"{hidden}; dnip.DNIPClassifier")
    assert re.search(r"MissingDependencyError: .*\.\[sklearn\]", done.stderr)


@pytest.fixture(scope="module")
def biased():
    return biased_rows(np.random.default_rng(0), 600, bias=[0.8, 0, -0.8])


@pytest.mark.parametrize("mix", [[0.1, 0.2, 0.7], {"c": 0.7, "a": 0.1, "b": 0.2}])
def test_a_target_prior_by_label_or_in_order_is_that_of_a_fit(biased, mix):
    y = np.array(["a", "b", "c"])[biased.labels]
    fitted = quick(target_prior=mix).fit(biased.probabilities, y)
    settings = {"target_prior": [0.1, 0.2, 0.7], "evidence": False}
    expected = fit(biased.probabilities, biased.labels, **settings)
    np.testing.assert_array_equal(fitted.weights_, expected.solution.weights)
    np.testing.assert_array_equal(fitted.coefficients_.class_shares, [0.1, 0.2, 0.7])


@pytest.mark.parametrize(("helper", "mix"), [(0.9, None), (None, "uniform")])
def test_examples_are_deferred_as_a_fit_of_the_same_rows_would(biased, helper, mix):
    p, y = biased.probabilities, biased.labels
    settings = {"defer": 0.25, "helper_accuracy": helper, "target_prior": mix}
    classifier = quick(**settings).fit(p, y)
    fitted = fit(p, y, evidence=False, **settings).coefficients
    assert classifier.coefficients_.defer.to_dict() == fitted.defer.to_dict()
    deferred = classifier.deferred(p)
    assert deferred.tolist() == fitted.deferred(p).tolist()
    assert mix or deferred.mean() == pytest.approx(0.25, abs=0.02)
    assert not clone(classifier).set_params(defer=None).fit(p, y).deferred(p).any()


def test_constraints_name_classes_by_their_labels(shy):
    free = quick(shy).fit(X, y)
    label = free.classes_.tolist()[np.argmin(free.weights_)]
    accuracies = class_accuracies(free.solution_.confusion)
    reached = float(accuracies[list(free.classes_).index(label)])
    asked = Constraints(min_class_accuracies={label: min(1.0, reached + 0.01)}, freeze=[label])
    bound = quick(shy, constraints=asked).fit(X, y)
    place = list(bound.classes_).index(label)
    assert class_accuracies(bound.solution_.confusion)[place] >= reached + 0.01 - 1e-9
    assert bound.weights_[place] == 1.0


# --- Probabilities out of fold, and predictions ---
def out_of_fold(estimator=None, X=X, y=y, classes=WINES, **settings):
    return predict_out_of_fold(estimator or GaussianNB(), X, y, classes=classes, **settings)


@pytest.mark.parametrize(("cv", "n_folds"), [(None, 5), (3, 3), (KFold(4, shuffle=True), 4)])
def test_a_partition_gives_what_cross_val_predict_gives(cv, n_folds):
    if isinstance(cv, KFold):
        cv.random_state = 0
    few = np.r_[np.flatnonzero(y != "rosé"), np.flatnonzero(y == "rosé")[:3]]
    for own, folds in ((np.arange(len(y)), n_folds), *[(few, 3)] * (cv is None)):
        p, rows = out_of_fold(X=X[own], y=y[own], cv=cv)  # as many as the smallest class allows
        settings = {"cv": cv or folds, "method": "predict_proba"}
        expected = cross_val_predict(GaussianNB(), X[own], y[own], **settings)
        np.testing.assert_array_equal(np.sort(rows), np.arange(len(own)))
        np.testing.assert_array_equal(p, expected[rows])


@pytest.mark.parametrize("y", [["a"] * 10, ["a"] * 9 + ["b"], list("abcdefghij")])
def test_too_few_examples_for_two_folds_are_refused(y):
    with pytest.raises(InvalidInputError, match="compares at least 2"):
        out_of_fold(X=np.eye(10), y=np.array(y), classes=np.unique(y))


def test_splits_need_not_cover_the_data():
    splitter = ShuffleSplit(1, test_size=50, random_state=0)
    train, test = next(splitter.split(X))
    expected = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
    for cv in (splitter, [(train, test)], [(train, np.isin(np.arange(len(y)), test))]):
        p, rows = out_of_fold(cv=cv)
        np.testing.assert_array_equal(p[np.argsort(rows)], expected[np.argsort(test)])
        np.testing.assert_array_equal(np.sort(rows), np.sort(test))


def test_splits_that_never_see_what_they_test_are_refused():
    order = np.argsort(y)
    with pytest.raises(InvalidInputError, match="Stratify the splits"):
        out_of_fold(X=X[order], y=y[order], cv=KFold(3))


def test_fit_parameters_are_cut_to_the_fold_and_split_parameters_reach_the_splitter():
    class Splitter:
        def split(self, X, y, start):
            yield np.arange(start, len(y), 2), np.arange(1 - start, len(y), 2)

        def get_n_splits(self, X=None, y=None):
            return 1

    weight = np.random.default_rng(0).uniform(size=len(y))
    parameters = {"fit_params": {"sample_weight": weight}, "split_params": {"start": 1}}
    p, rows = out_of_fold(cv=Splitter(), **parameters)
    fitted = GaussianNB().fit(X[1::2], y[1::2], sample_weight=weight[1::2])
    np.testing.assert_array_equal(p, fitted.predict_proba(X[::2]))
    np.testing.assert_array_equal(rows, np.arange(0, len(y), 2))


def test_parallel_folds_are_the_same_folds_and_the_estimator_stays_as_it_was():
    estimator = GaussianNB()
    with parallel_config(backend="threading"):
        parallel = out_of_fold(n_jobs=2)
    for alone, together in zip(out_of_fold(estimator), parallel, strict=True):
        np.testing.assert_array_equal(alone, together)
    assert not hasattr(estimator, "classes_")
