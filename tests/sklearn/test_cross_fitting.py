"""Out-of-fold probabilities against scikit-learn's, and against folds fitted by hand."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from dnip.base.errors import InvalidInputError
from dnip.sklearn.cross_fitting import predict_out_of_fold

X, TARGET = load_wine(return_X_y=True)
WINES = np.array(["red", "rosé", "white"])
Y = WINES[TARGET]


def out_of_fold(estimator=None, X=X, y=Y, classes=WINES, **settings):
    return predict_out_of_fold(estimator or GaussianNB(), X, y, classes=classes, **settings)


@pytest.mark.parametrize(("cv", "n_folds"), [(None, 5), (3, 3), (KFold(4, shuffle=True), 4)])
def test_a_partition_gives_what_cross_val_predict_gives(cv, n_folds):
    if isinstance(cv, KFold):
        cv.random_state = 0
    p, rows = out_of_fold(cv=cv)
    expected = cross_val_predict(GaussianNB(), X, Y, cv=cv or n_folds, method="predict_proba")
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(Y)))
    np.testing.assert_array_equal(p, expected[rows])


def test_columns_follow_the_classes_that_are_asked_for():
    p, rows = out_of_fold()
    backwards, same = out_of_fold(classes=WINES[::-1])
    np.testing.assert_array_equal(backwards, p[:, ::-1])
    np.testing.assert_array_equal(same, rows)


def test_folds_shrink_to_the_smallest_class():
    few = np.r_[np.flatnonzero(Y != "rosé"), np.flatnonzero(Y == "rosé")[:3]]
    p, rows = out_of_fold(X=X[few], y=Y[few])
    expected = cross_val_predict(GaussianNB(), X[few], Y[few], cv=3, method="predict_proba")
    np.testing.assert_array_equal(p, expected[rows])


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_of_one_example_shrinks_no_fold_and_is_left_out():
    few = np.r_[np.flatnonzero(Y != "rosé"), np.flatnonzero(Y == "rosé")[:1]]
    p, rows = out_of_fold(X=X[few], y=Y[few])
    assert sorted(rows) == list(range(len(few) - 1))
    tested_with_it = (p[:, 1] == 0).sum()  # its fold knows two classes only
    assert tested_with_it >= len(few) // 5 - 1


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


def test_folds_see_the_labels_themselves():
    weights = {"red": 1, "rosé": 9, "white": 1}
    p, rows = out_of_fold(DecisionTreeClassifier(class_weight=weights, random_state=0))
    assert (WINES[p.argmax(axis=1)] == Y[rows]).mean() > 0.8


def test_fit_parameters_are_cut_to_the_fold_and_split_parameters_reach_the_splitter():
    class Splitter:
        def split(self, X, y, start):
            yield np.arange(start, len(y), 2), np.arange(1 - start, len(y), 2)

        def get_n_splits(self, X=None, y=None):
            return 1

    weight = np.random.default_rng(0).uniform(size=len(Y))
    p, rows = out_of_fold(
        cv=Splitter(), fit_params={"sample_weight": weight}, split_params={"start": 1}
    )
    fitted = GaussianNB().fit(X[1::2], Y[1::2], sample_weight=weight[1::2])
    np.testing.assert_array_equal(p, fitted.predict_proba(X[::2]))
    np.testing.assert_array_equal(rows, np.arange(0, len(Y), 2))


def test_parallel_folds_are_the_same_folds_and_the_estimator_stays_as_it_was():
    estimator = GaussianNB()
    for alone, together in zip(out_of_fold(estimator), out_of_fold(n_jobs=2), strict=True):
        np.testing.assert_array_equal(alone, together)
    assert not hasattr(estimator, "classes_")
