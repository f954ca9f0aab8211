"""What Python users meet: verdicts, frames, paths, columns by name, scorers, and messages."""

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

import dnip
from dnip import Coefficients, DNIPClassifier, DNIPWarning, InvalidInputError, ProbabilityTable
from dnip.llm.decisions import correct
from dnip.using.application import apply
from dnip.using.drift import check
from dnip.using.exports import FORMATS
from populations import biased_rows

NAMES = ["ham", "spam", "other"]
ROWS = biased_rows(np.random.default_rng(7), 240, bias=[1.5, 0.0, -1.5])
P, Y = ROWS.probabilities, np.array(NAMES)[ROWS.labels]
FRAME = pd.DataFrame(P, columns=NAMES)


def test_it_warns_where_nothing_is_known():
    y = np.repeat([0, 1, 2], [800, 60, 40])
    rng = np.random.default_rng(0)
    z = np.eye(3)[y] * 0.8 + rng.normal(size=(900, 3)) + [1.5, 0, 0]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    with pytest.warns(DNIPWarning, match="say nothing about the class"):
        noise = DNIPClassifier().fit(p, rng.permutation(y))
    assert noise.verdict_ == "no signal"


def test_frames_have_a_row_for_each_class():
    fitted = dnip.fit(FRAME, Y)
    for library in ("pandas", "polars"):
        frame = fitted.to_frame(library)
        assert frame["class"].to_list() == NAMES
        assert frame["weight"].to_list() == fitted.coefficients.weights.tolist()
    frame = dnip.evaluate(FRAME, Y).to_frame()
    assert list(frame) == ["class", "rows", "before", "precision", "f1", "taken_for"]
    assert frame["rows"].sum() == len(Y)
    with pytest.raises(InvalidInputError, match="library must be one of"):
        fitted.to_frame("excel")


def test_a_fit_stands_for_its_coefficients_everywhere(tmp_path):
    fitted = dnip.fit(FRAME, Y, evidence=False)
    coefficients = fitted.coefficients
    fitted.save(tmp_path / "c.json")
    assert Coefficients.load(tmp_path / "c.json").digest == coefficients.digest
    assert fitted.predict(P).tolist() == coefficients.predict(P).tolist()
    table = ProbabilityTable(P, ROWS.labels, classes=NAMES)
    bias = FORMATS["json-bias"]
    answer = {"type": "choice", "choice": "ham", "probabilities": dict.fromkeys(NAMES, 1 / 3)}
    doors = [
        lambda given: dnip.evaluate(FRAME, Y, given).reweighted.tolist(),
        lambda given: dnip.report(FRAME, Y, coefficients=given).coefficients.digest,
        lambda given: check([table], given).changed,
        lambda given: apply([table], given, tmp_path / "out.csv").n_changed,
        lambda given: bias().render(given),
        lambda given: correct({"answers": {"q": answer}}, {"q": given})[0]["answers"],
        lambda given: repr(dnip.ClassAccuracyDisplay.from_predictions(Y, P, given).evaluation),
    ]
    for door in doors:
        assert door(fitted) == door(coefficients) == door(tmp_path / "c.json")
    with pytest.raises(InvalidInputError, match="got a dict"):
        dnip.evaluate(FRAME, Y, coefficients={})


@pytest.mark.parametrize("make", [pd.DataFrame, polars.from_pandas, pyarrow.Table.from_pandas])
def test_a_frame_may_hold_texts_and_labels_of_another_name(make):
    expected = dnip.evaluate(FRAME, Y).raw.tolist()
    frame = FRAME.assign(text="hi", truth=Y)
    assert dnip.evaluate(make(frame), Y).raw.tolist() == expected
    frame = make(frame.drop(columns="text"))
    assert dnip.evaluate(frame, label="truth").raw.tolist() == expected
    fitted = dnip.fit(frame, label="truth", evidence=False)
    assert fitted.evaluation.raw.tolist() == expected
    page = dnip.report(frame, label="truth", coefficients=fitted)
    assert page.data["choices"][0]["accuracy"] == np.trace(expected) / len(Y)


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
    with pytest.raises(InvalidInputError, match=r"y_pred has shape \(1,\)"):
        dnip.cobias_score(["a", "b"], ["a"])
    classifier = DNIPClassifier(classes=NAMES, evidence=False)
    found = model_selection.cross_validate(classifier, P, Y, scoring=dnip.cobias_scorer, cv=3)
    assert ((found["test_score"] >= -1) & (found["test_score"] <= 0)).all()


def test_messages_speak_of_what_was_typed():
    for door in (dnip.fit, lambda *rows, **asked: DNIPClassifier(**asked).fit(*rows)):
        with pytest.raises(InvalidInputError, match=r"must be a dnip.Constraints; got {'max_"):
            door(P, Y, constraints={"max_accuracy_loss": 0.01})
    with pytest.warns(DNIPWarning, match="did not sum to 1") as caught:
        dnip.fit(2 * P, Y, classes=NAMES)
    assert caught[0].filename == __file__
