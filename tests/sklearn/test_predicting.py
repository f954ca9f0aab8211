"""Probabilities out of fold against scikit-learn's; predictions, and what holds them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from sklearn.datasets import load_wine
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB

from dnip import DNIPClassifier, InvalidInputError
from dnip.sklearn.classifier import predict_out_of_fold

X, TARGET = load_wine(return_X_y=True)
WINES = np.array(["red", "rosé", "white"])
Y = WINES[TARGET]


def out_of_fold(estimator=None, X=X, y=Y, classes=WINES, **settings):
    return predict_out_of_fold(estimator or GaussianNB(), X, y, classes=classes, **settings)


@pytest.mark.parametrize(("cv", "n_folds"), [(None, 5), (3, 3), (KFold(4, shuffle=True), 4)])
def test_a_partition_gives_what_cross_val_predict_gives(cv, n_folds):
    if isinstance(cv, KFold):
        cv.random_state = 0
    few = np.r_[np.flatnonzero(Y != "rosé"), np.flatnonzero(Y == "rosé")[:3]]
    for own, folds in ((np.arange(len(Y)), n_folds), *[(few, 3)] * (cv is None)):
        p, rows = out_of_fold(X=X[own], y=Y[own], cv=cv)  # as many as the smallest class allows
        settings = {"cv": cv or folds, "method": "predict_proba"}
        expected = cross_val_predict(GaussianNB(), X[own], Y[own], **settings)
        np.testing.assert_array_equal(np.sort(rows), np.arange(len(own)))
        np.testing.assert_array_equal(p, expected[rows])


@pytest.mark.parametrize("y", [["a"] * 10, ["a"] * 9 + ["b"], list("abcdefghij")])
def test_too_few_examples_for_two_folds_are_refused(y):
    with pytest.raises(InvalidInputError, match="compares at least 2"):
        out_of_fold(X=np.eye(10), y=np.array(y), classes=np.unique(y))


def test_splits_need_not_cover_the_data():
    splitter = ShuffleSplit(1, test_size=50, random_state=0)
    train, test = next(splitter.split(X))
    expected = GaussianNB().fit(X[train], Y[train]).predict_proba(X[test])
    for cv in (splitter, [(train, test)], [(train, np.isin(np.arange(len(Y)), test))]):
        p, rows = out_of_fold(cv=cv)
        np.testing.assert_array_equal(p[np.argsort(rows)], expected[np.argsort(test)])
        np.testing.assert_array_equal(np.sort(rows), np.sort(test))


def test_splits_that_never_see_what_they_test_are_refused():
    order = np.argsort(Y)
    with pytest.raises(InvalidInputError, match="Stratify the splits"):
        out_of_fold(X=X[order], y=Y[order], cv=KFold(3))


def test_fit_parameters_are_cut_to_the_fold_and_split_parameters_reach_the_splitter():
    class Splitter:
        def split(self, X, y, start):
            yield np.arange(start, len(y), 2), np.arange(1 - start, len(y), 2)

        def get_n_splits(self, X=None, y=None):
            return 1

    weight = np.random.default_rng(0).uniform(size=len(Y))
    parameters = {"fit_params": {"sample_weight": weight}, "split_params": {"start": 1}}
    p, rows = out_of_fold(cv=Splitter(), **parameters)
    fitted = GaussianNB().fit(X[1::2], Y[1::2], sample_weight=weight[1::2])
    np.testing.assert_array_equal(p, fitted.predict_proba(X[::2]))
    np.testing.assert_array_equal(rows, np.arange(0, len(Y), 2))


def test_parallel_folds_are_the_same_folds_and_the_estimator_stays_as_it_was():
    estimator = GaussianNB()
    with parallel_config(backend="threading"):
        parallel = out_of_fold(n_jobs=2)
    for alone, together in zip(out_of_fold(estimator), parallel, strict=True):
        np.testing.assert_array_equal(alone, together)
    assert not hasattr(estimator, "classes_")


P = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]])
Y_OF_P = ["ham", "spam"] * 2


def test_a_tie_goes_to_the_first_class():
    classifier = DNIPClassifier(classes=["spam", "ham"])
    classifier.fit([[0.75, 0.25], [0.25, 0.75]], ["spam", "ham"])
    assert classifier.weights_.tolist() == [1, 1]
    assert classifier.predict([[0.5, 0.5]]).tolist() == ["spam"]


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("fitted_on_a_frame", [True, False])
def test_probabilities_in_another_order_of_classes_are_taken_by_name(library, fitted_on_a_frame):
    frame = library.DataFrame({"ham": P[:, 0], "spam": P[:, 1]})
    classifier = DNIPClassifier().fit(frame if fitted_on_a_frame else P, Y_OF_P)
    # scikit-learn tells a frame with names from the array of the fit
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names", UserWarning)
        assert classifier.predict(frame).tolist() == Y_OF_P
        for method in (classifier.predict, classifier.predict_proba):
            np.testing.assert_array_equal(method(frame[["spam", "ham"]]), method(frame))
