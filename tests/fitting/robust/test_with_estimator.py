"""A robust fit around a scikit-learn classifier."""

import pytest

pytest.importorskip("sklearn")

from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from dnip import DNIPClassifier

X, y = make_classification(600, n_classes=3, n_informative=6, weights=[0.6, 0.3], random_state=0)
FEW, REST = slice(0, 60), slice(60, 600)


def fit(**settings):
    unlabelled = settings.pop("unlabelled", None)
    return DNIPClassifier(GaussianNB(), **settings).fit(X[FEW], y[FEW], unlabelled=unlabelled)


def test_unlabelled_examples_serve_the_coefficients():
    classifier = fit(robust="auto", unlabelled=X[REST])
    assert classifier.decision_.n_unlabelled == 540
    assert fit(robust="auto").decision_.n_unlabelled == 0


def test_a_robust_fit_is_the_default():
    assert fit().weight_indices_.tolist() == fit(robust="auto").weight_indices_.tolist()
    assert fit(robust="off").decision_ is None
    assert fit(beta=0).decision_ is None


def test_unlabelled_probabilities_go_beside_a_matrix_of_them():
    p = GaussianNB().fit(X[FEW], y[FEW]).predict_proba(X)
    classifier = DNIPClassifier(robust="on").fit(p[FEW], y[FEW], unlabelled=p[REST])
    assert classifier.decision_.n_unlabelled == 540
