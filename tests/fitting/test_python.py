"""What Python users meet: verdicts, frames, paths, columns by name, scorers, and messages."""

import numpy as np
import pandas as pd
import pytest

import dnip
from dnip import Coefficients, DNIPClassifier, DNIPWarning, InvalidInputError
from populations import biased_rows

NAMES = ["ham", "spam", "other"]
ROWS = biased_rows(np.random.default_rng(7), 240, bias=[1.5, 0.0, -1.5])
P, Y = ROWS.probabilities, np.array(NAMES)[ROWS.labels]
FRAME = pd.DataFrame(P, columns=NAMES)


def test_the_classifier_says_what_a_fit_says():
    fitted, classifier = dnip.fit(P, Y, classes=NAMES), DNIPClassifier(classes=NAMES).fit(P, Y)
    assert (classifier.verdict_, fitted.verdict) == ("apply", "apply")
    assert classifier.evidence_.after == fitted.evidence.after
    unjudged = DNIPClassifier(classes=NAMES, evidence=False).fit(P, Y)
    assert (unjudged.verdict_, unjudged.evidence_) == ("not judged", None)
    assert unjudged.weights_.tolist() == classifier.weights_.tolist()


def test_it_warns_where_accuracy_is_lost_and_where_nothing_is_known():
    y = np.repeat([0, 1, 2], [800, 60, 40])
    rng = np.random.default_rng(0)
    z = np.eye(3)[y] * 0.8 + rng.normal(size=(900, 3)) + [1.5, 0, 0]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    with pytest.warns(DNIPWarning, match=r"accuracy falls from 0\.\d+ to 0\.\d+.*smaller beta"):
        DNIPClassifier(beta=2.7).fit(p, y)
    with pytest.warns(DNIPWarning, match="tell nothing about the class"):
        noise = DNIPClassifier().fit(p, rng.permutation(y))
    assert noise.verdict_ == "no signal"


def test_frames_have_a_row_for_each_class():
    fitted = dnip.fit(FRAME, Y)
    for library in ("pandas", "polars"):
        frame = fitted.to_frame(library)
        assert frame["class"].to_list() == NAMES
        assert frame["weight"].to_list() == fitted.coefficients.weights.tolist()
    frame = dnip.evaluate(FRAME, Y).to_frame()
    assert list(frame) == ["class", "rows", "before", "taken_for"]
    assert frame["rows"].sum() == len(Y)
    with pytest.raises(InvalidInputError, match="library must be one of"):
        fitted.to_frame("excel")


def test_coefficients_may_be_paths(tmp_path):
    path = tmp_path / "c.json"
    Coefficients(NAMES, [30, 20, 10], 30).save(path)
    for given in (path, str(path)):
        assert dnip.evaluate(FRAME, Y, given).reweighted.sum() == len(Y)
        assert dnip.report(FRAME, Y, coefficients=given).coefficients.scale.size == 30
    with pytest.raises(InvalidInputError, match="got a dict"):
        dnip.evaluate(FRAME, Y, coefficients={})


def test_columns_are_taken_by_their_names():
    shuffled = FRAME.assign(text="hi")[["text", "other", "ham", "spam"]]
    coefficients = Coefficients(NAMES, [30, 20, 10], 30)
    expected = coefficients.predict(P).tolist()
    assert coefficients.predict(shuffled).tolist() == expected
    classifier = DNIPClassifier(classes=NAMES).fit(FRAME, Y)
    assert classifier.predict(shuffled).tolist() == classifier.predict(FRAME).tolist()


def test_cobias_of_predictions_and_as_a_scorer():
    model_selection = pytest.importorskip("sklearn.model_selection")
    confusion = dnip.metrics.confusion_matrix(ROWS.labels, P.argmax(axis=1), 3)
    predicted = np.array(NAMES)[P.argmax(axis=1)]
    assert dnip.cobias_score(Y, predicted) == pytest.approx(dnip.metrics.cobias(confusion))
    assert np.isnan(dnip.cobias_score(["a", "a"], ["a", "b"]))
    with pytest.raises(InvalidInputError, match=r"y_pred has \(1,\)"):
        dnip.cobias_score(["a", "b"], ["a"])
    classifier = DNIPClassifier(classes=NAMES, evidence=False)
    found = model_selection.cross_validate(classifier, P, Y, scoring=dnip.cobias_scorer, cv=3)
    assert ((found["test_score"] >= -1) & (found["test_score"] <= 0)).all()


def test_messages_speak_of_what_was_typed():
    told = r"fit\(\) got an unexpected keyword argument 'max_accuracy_loss'; give constraints="
    with pytest.raises(TypeError, match=told):
        dnip.fit(P, Y, max_accuracy_loss=0.01)
    with pytest.raises(TypeError, match=r"fit\(\) got an unexpected keyword argument 'speed'"):
        dnip.fit(P, Y, speed=1)
    with pytest.warns(DNIPWarning, match="did not sum to 1") as caught:
        dnip.fit(2 * P, Y, classes=NAMES)
    assert caught[0].filename == __file__
