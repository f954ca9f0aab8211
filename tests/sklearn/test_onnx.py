"""A converted classifier, run by ONNX Runtime, predicts as the classifier does."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cases import cases
from dnip import Coefficients, DNIPClassifier, InvalidInputError
from dnip.sklearn.onnx import register_converter

runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")

# Models that know next to nothing do here: DNIP warns of them.
pytestmark = pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")

NAMES = np.array(["zéro", "one", "two", "three", "four", "'", "six", "seven\n", "<b>", "nine"])


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def converted(model, X):
    register_converter()
    content = skl2onnx.to_onnx(model, X[:1]).SerializeToString()
    return runtime.InferenceSession(content).run(None, {"X": X})


def classifier(estimator=None, **options):
    return DNIPClassifier(estimator, robust="off", scale=30, cv=2, **options)


@cases(
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=20, tol=1)),
    RandomForestClassifier(9, max_depth=4, random_state=0),  # few trees: many ties
)
@pytest.mark.parametrize("names", [np.arange(10), NAMES], ids=["numbers", "texts"])
def test_around_an_estimator(digits, names, estimator):
    X, y = digits
    model = classifier(estimator).fit(X[:300], names[y[:300]])
    labels, probabilities = converted(model, X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-6)


def test_thresholds_and_scores_alone_are_refused(digits):
    X, y = digits
    with pytest.raises(InvalidInputError, match="without predict_proba is not converted"):
        converted(classifier(RidgeClassifier()).fit(X, y), X)
    p, y = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.1, 0.9]]), [0, 0, 1, 1]
    with pytest.raises(InvalidInputError, match="ONNX cannot hold the thresholds"):
        converted(classifier(defer=0.3).fit(p, y), p)


def test_as_a_step_of_a_pipeline(digits):
    X, y = digits
    model = make_pipeline(StandardScaler(), classifier(LogisticRegression(max_iter=20, tol=1)))
    labels, _ = converted(model.fit(X[:300], y[:300]), X)
    np.testing.assert_array_equal(labels, model.predict(X))


def test_a_matrix_itself_with_ties():
    rng = np.random.default_rng(0)
    p = rng.multinomial(8, [0.5, 0.3, 0.2], 500) / 8
    model = classifier().fit(p, np.array(["a", "b", "c"])[rng.integers(0, 3, 500)])
    model.coefficients_ = Coefficients(["a", "b", "c"], [10, 20, 30], 30)
    products = np.sort(p * [10, 20, 30], axis=1)
    assert (products[:, 2] == products[:, 1]).sum() > 20
    np.testing.assert_array_equal(converted(model, p)[0], model.predict(p))
