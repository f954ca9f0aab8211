"""Predictions of a fitted DNIPClassifier, and the containers that hold them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dnip import DNIPClassifier
from dnip.base.errors import InvalidInputError

WINES = np.array(["red", "rosé", "white"])


@pytest.fixture(scope="module")
def frame():
    return load_wine(as_frame=True).data[["alcohol", "ash", "hue", "flavanoids"]]


@pytest.fixture(scope="module")
def y():
    return WINES[load_wine().target]


@pytest.fixture
def shy():
    """Pull so strongly to the class frequencies that a class starves."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=1e-3))


def test_predictions_are_the_argmax_of_weighted_probabilities(frame, y, shy):
    X = frame.to_numpy()
    classifier = DNIPClassifier(shy, scale=30).fit(X, y)
    scores = classifier.weight_indices_ * classifier.estimator_.predict_proba(X)
    np.testing.assert_array_equal(classifier.predict(X), WINES[np.argmax(scores, axis=1)])
    np.testing.assert_allclose(
        classifier.predict_proba(X), scores / scores.sum(axis=1, keepdims=True)
    )
    np.testing.assert_array_equal(classifier.weights_, classifier.weight_indices_ / 30)


def test_a_tie_goes_to_the_first_class():
    classifier = DNIPClassifier(classes=["spam", "ham"])
    classifier.fit([[0.75, 0.25], [0.25, 0.75]], ["spam", "ham"])
    assert classifier.weights_.tolist() == [1, 1]
    assert classifier.predict([[0.5, 0.5]]).tolist() == ["spam"]


def test_pandas_out_keeps_the_index(frame, y, shy):
    table = frame.set_index(np.arange(1000, 1000 + len(frame)))
    classifier = DNIPClassifier(shy).set_output(predict="pandas", predict_proba="pandas")
    classifier.fit(table, y)
    labels, scores = classifier.predict(table), classifier.predict_proba(table)
    assert labels.name == "prediction"
    assert scores.columns.tolist() == WINES.tolist()
    pd.testing.assert_index_equal(labels.index, table.index)
    pd.testing.assert_series_equal(scores.idxmax(axis=1), labels, check_names=False)


def test_polars_out_names_the_classes(frame, y, shy):
    table = pl.from_pandas(frame)
    classifier = DNIPClassifier(shy).set_output(predict="polars", predict_proba="polars")
    classifier.fit(table, y)
    labels = classifier.predict(table)
    assert isinstance(labels, pl.Series)
    assert labels.name == "prediction"
    assert set(labels) <= set(WINES.tolist())
    assert classifier.predict_proba(table).columns == WINES.tolist()


def test_output_is_chosen_per_method_and_survives_clone(frame, y, shy):
    classifier = clone(DNIPClassifier(shy).set_output(predict="pandas")).fit(frame, y)
    assert isinstance(classifier.predict(frame), pd.Series)
    assert isinstance(classifier.predict_proba(frame), np.ndarray)
    assert isinstance(classifier.set_output(predict="default").predict(frame), np.ndarray)
    with pytest.raises(InvalidInputError, match="predict must be one of"):
        classifier.set_output(predict="spark")


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("fitted_on_a_frame", [True, False])
def test_probabilities_in_another_order_of_classes_are_refused(library, fitted_on_a_frame):
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]])
    frame = library.DataFrame({"ham": p[:, 0], "spam": p[:, 1]})
    classifier = DNIPClassifier().fit(frame if fitted_on_a_frame else p, ["ham", "spam"] * 2)
    # scikit-learn tells a frame with names from the array of the fit
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names", UserWarning)
        assert classifier.predict(frame).tolist() == ["ham", "spam"] * 2
        for method in (classifier.predict, classifier.predict_proba):
            with pytest.raises(ValueError, match=r"feature names|columns of X are spam, ham"):
                method(frame[["spam", "ham"]])
