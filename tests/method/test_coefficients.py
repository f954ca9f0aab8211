"""The artefact: applied as NumPy would, written without loss, and refused when damaged."""

import json
import math
import pickle
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import oracles
from cases import cases
from dnip import Coefficients, CoefficientsFormatError, InvalidInputError, OutputError, solve
from dnip.method.coefficients import Deferral
from dnip.method.scales import WeightScale
from strategies import KINDS, random_probabilities, seeded

#: What JSON can carry in the two free parts.
jsonable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("aé", max_size=3), inner),
    max_leaves=6,
)
letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
names = st.text(letters, min_size=1).filter(str.strip)

SOUND = json.loads(Coefficients(["a", "b", "c"], [30, 30, 30], 30).to_json())
LINEAR = json.loads(Coefficients(["a", "b", "c"], [7, 30, 12], 30).to_json())
SPACED = json.loads(Coefficients(["a", "b", "c"], [1, 15, 30], "log:30").to_json())
QUARTER = Coefficients([*"abc"], [], "continuous", weights=[1.0, 0.5, 0.25])
CONTINUOUS = json.loads(QUARTER.to_json())
SPANNED = json.loads(Coefficients([*"abc"], [1, 5_000, 10_000], "span:60.5").to_json())
DEFERRING = Deferral([0.9, 0.0, 0.5], 0.3, 0.9)
DEFER = json.loads(Coefficients([*"abc"], [30, 20, 30], 30, defer=DEFERRING).to_json())
ALONE = DEFER["defer"]


@st.composite
def coefficients(draw):
    classes = draw(st.lists(names, min_size=2, max_size=6, unique=True))
    parts = st.dictionaries(st.sampled_from(["value", "terms", "remark"]), jsonable)
    stored = draw(parts), draw(parts)
    defer = None
    if draw(st.booleans()):
        share, helper = draw(st.floats(0.01, 0.99)), draw(st.none() | st.floats(0, 1))
        defer = Deferral([draw(st.floats(0, 1)) for _ in classes], share, helper)
    if draw(st.booleans()):
        weights = [draw(st.floats(1e-6, 1)) for _ in classes]
        return Coefficients(classes, [], "continuous", *stored, weights, defer)
    size = draw(st.integers(1, 10_000))
    indices = [draw(st.integers(1, size)) for _ in classes]
    scale = draw(st.sampled_from([size, f"log:{size}", WeightScale.spanning(60.5, size)]))
    return Coefficients(classes, indices, scale, *stored, defer=defer)


def test_a_file_always_holds_spacing_weights_and_thresholds():
    for content in (LINEAR, SPACED, CONTINUOUS, SPANNED, DEFER):
        assert content["version"] == 1
        assert len(content["weights"]) == 3
        assert "defer" in content
    assert (LINEAR["spacing"], LINEAR["scale"]) == ("linear", 30)
    assert (SPACED["spacing"], SPACED["scale"], SPACED.get("span")) == ("log", 30, None)
    assert (SPANNED["spacing"], SPANNED["scale"], SPANNED["span"]) == ("log", 10_000, 60.5)
    assert CONTINUOUS["spacing"] == "continuous"
    assert CONTINUOUS["scale"] is CONTINUOUS["weight_indices"] is LINEAR["defer"] is None
    assert ALONE == {"share": 0.3, "helper_accuracy": 0.9, "thresholds": [0.9, 0.0, 0.5]}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_below_the_threshold_of_their_decision_are_deferred(kind):
    p = random_probabilities(np.random.default_rng(0), 200, 3, kind)
    fitted = Coefficients.from_json(json.dumps(DEFER))
    q, chosen = fitted.apply(p), oracles.predict(p, DEFER["weight_indices"])
    expected = [row[c] < ALONE["thresholds"][c] for row, c in zip(q, chosen, strict=True)]
    assert fitted.deferred(p).tolist() == expected
    assert fitted.defer.deferred(q, chosen).tolist() == expected
    at = q[np.arange(200), chosen]
    assert not replace(fitted, defer=Deferral([at.min()] * 3, 0.3)).deferred(p).any()
    without = replace(fitted, defer=None)
    assert not without.deferred(p).any()
    assert without.digest == fitted.digest  # what is corrected has the same mark
    assert json.loads(without.to_json())["defer"] is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", [LINEAR, SPACED, SPANNED, CONTINUOUS])
def test_prediction_reweighting_and_biases_equal_numpy(kind, content):
    p = random_probabilities(np.random.default_rng(0), 200, 3, kind)
    fitted = Coefficients.from_json(json.dumps(content))
    predicted = oracles.predict(p, content["weight_indices" if content is LINEAR else "weights"])
    assert fitted.predict(p).tolist() == [fitted.classes[c] for c in predicted]
    products = np.array(content["weights"]) * p
    expected, reweighted = products / products.sum(axis=1, keepdims=True), fitted.apply(p)
    np.testing.assert_allclose(reweighted, expected, rtol=1e-12, atol=1e-300)
    chosen = reweighted[np.arange(200), predicted]
    np.testing.assert_array_equal(chosen, reweighted.max(axis=1))
    biases = [math.log(weight) for weight in content["weights"]]
    assert fitted.logit_bias() == dict(zip(fitted.classes, biases, strict=True))


@seeded
@given(coefficients())
def test_json_and_back_loses_nothing(before):
    after = Coefficients.from_json(before.to_json())
    assert after.classes == before.classes
    assert after.scale == before.scale
    np.testing.assert_array_equal(after.weight_indices, before.weight_indices)
    np.testing.assert_array_equal(after.multipliers, before.multipliers)
    assert after.weights.tolist() == before.weights.tolist()
    assert after.objective == before.objective
    assert after.fit.to_dict() == before.fit.to_dict()
    deferring = [each.defer and each.defer.to_dict() for each in (after, before)]
    assert deferring[0] == deferring[1]
    assert after.to_json() == before.to_json()


def test_the_file_says_what_the_interface_promises():
    solution = solve([[0.9, 0.1], [0.6, 0.4]], [0, 1], scale=5, seed=2)
    made = Coefficients.from_solution(solution, ["no", "yes"])
    content = json.loads(made.to_json())
    assert (content["format"], content["version"]) == ("dnip-coefficients", 1)
    assert content["classes"] == ["no", "yes"]
    assert content["weights"] == [index / 5 for index in content["weight_indices"]]
    assert content["objective"]["value"] == solution.value
    assert content["objective"]["beta"] == 0.5
    assert (content["fit"]["seed"], content["fit"]["solver"]) == (2, "coordinate")


PETS = ("cat", "dog", "owl")


def frame_of(columns, frames=pd):
    p = random_probabilities(np.random.default_rng(0), 20, len(columns), "mixed")
    return frames.DataFrame(dict(zip(columns, p.T, strict=True)))


def test_weights_far_below_any_rounding_are_in_the_file_and_decide():
    smallest = Coefficients(["no", "yes"], [10_000, 1], "span:200")
    read = Coefficients.from_json(smallest.to_json())
    assert read.weights.tolist() == smallest.weights.tolist()
    assert read.weights.tolist() == pytest.approx([1.0, math.exp(-200)], rel=1e-14, abs=0)
    p = [[math.exp(-201), 1.0], [math.exp(-199), 1.0]]
    assert read.predict(p).tolist() == ["yes", "no"]
    free = Coefficients(["no", "yes"], [], "continuous", weights=smallest.weights)
    assert Coefficients.from_json(free.to_json()).predict(p).tolist() == ["yes", "no"]


@cases(
    (PETS, PETS),
    (PETS, ("p0", "p1", "p2")),
    (PETS, (0, 1, 2)),
    (("0", "1", "2"), (0, 1, 2)),
    (("0", "1", "2"), PETS),
    (("0", "1", "2"), ("p1", "p0", "p2")),
)
def test_columns_without_a_name_are_taken_by_position(classes, columns):
    fitted, frame = Coefficients(classes, [30, 12, 7], 30), frame_of(columns)
    p = frame.to_numpy()[:, [1, 0, 2] if columns[0] == "p1" else [0, 1, 2]]
    np.testing.assert_array_equal(fitted.predict(frame), fitted.predict(p))
    np.testing.assert_array_equal(fitted.apply(frame), fitted.apply(p))


@pytest.mark.parametrize("frames", [pd, pl])
@cases(
    (PETS, ("cat", "dog", "bat"), "column owl of the classes cat, dog, owl is missing"),
    (PETS, ("red", "green", "blue"), "column cat of the classes cat, dog, owl is missing"),
    (PETS, ("p1", "p2", "p3"), "column p0 is missing; the columns are p1, p2, p3"),
    (PETS, ("1", "2", "3"), "column cat of the classes cat, dog, owl is missing"),
    (("0", "1", "2"), ("1", "2", "3"), "there are no class columns p0, p1, ...; the columns"),
)
def test_columns_of_other_classes_are_refused(frames, classes, columns, message):
    fitted, frame = Coefficients(classes, [30, 12, 7], 30), frame_of(columns, frames)
    for use in (fitted.predict, fitted.apply, fitted.estimate_prior):
        with pytest.raises(InvalidInputError) as caught:
            use(frame)
        assert str(caught.value).startswith(f"probabilities: {message}")


@pytest.mark.parametrize("method", ["apply", "predict"])
@cases(
    ([[0.5, 0.25, 0.25]], "3 columns of probabilities, but 2 classes: a, b"),
    ([[0.5, -0.5]], r"probabilities\[0, 1\]: the probability is negative"),
    ("x", "not a matrix of numbers"),
)
def test_bad_probabilities_are_refused(method, p, told):
    with pytest.raises(InvalidInputError, match=told):
        getattr(Coefficients(["a", "b"], [1, 2], 2), method)(p)


def deferring(thresholds, share=0.3, helper=0.9):
    return ["a", "b", "c"], [1, 1, 1], 1, {}, {}, None, Deferral(thresholds, share, helper)


@cases(
    (lambda: (["a", "b"], [30, 31], 30), r"weight_indices\[1\] is 31, outside 1..30"),
    (lambda: (["a", "b"], [1, 2, 3], 30), "2 whole numbers, one per class"),
    (lambda: (["a", "b"], [True, 2], 30), "got bool"),
    (lambda: (["a", "b"], [1.0, 2.0], 30), "got float64"),
    (lambda: (["a"], [1], 30), "at least 2 classes"),
    (lambda: (["a", "b"], [1, 1], 0), "scale"),
    (lambda: deferring([0.5] * 3, 1.1), "share must be .* at least 0 and at most 1; got 1.1"),
    (lambda: deferring([0.5] * 3, 0.3, 1.5), "helper_accuracy must be .* at most 1; got 1.5"),
    (lambda: deferring([0.5, 0.5, -0.1]), "one number from 0 to 2 for each class"),
    (lambda: deferring([50, 60, 70]), "one number from 0 to 2 for each class"),
    (lambda: deferring([0.5, 0.5, np.nan]), "one number from 0 to 2 for each class"),
    (lambda: deferring([0.5, 0.5]), "2 thresholds of deferring, but 3 classes"),
)
def test_bad_coefficients_are_refused(arguments, told):
    with pytest.raises(InvalidInputError, match=told):
        Coefficients(*arguments())


def without(key):
    return {name: value for name, value in SOUND.items() if name != key}


@cases(
    ("", "not valid JSON"),
    ("[" * 100_000, "not valid JSON"),
    ("1" * 5000, "not valid JSON"),
    (json.dumps(SOUND)[:-1] + ', "fit": {"x": 1e999}}', "1e999 is not a finite number"),
    (json.dumps(SOUND)[:-1] + ', "classes": []}', "a key is there twice"),
    ("null", '"format" is not "dnip-coefficients"'),
    (without("version"), "version None is unknown; this package reads version 1"),
    (SOUND | {"version": 2}, "version 2 is unknown.*Install the newer package"),
    (DEFER | {"spacing": "even"}, "spacing is 'even', not linear, log, continuous"),
    (SPANNED | {"span": 0}, "span must be .* at least 1e-06 and at most 340; got 0"),
    (SPANNED | {"span": 60.4}, "weights do not equal those of weight_indices"),
    (DEFER | {"defer": []}, r"\[\] is not an object"),
    (DEFER | {"defer": {"share": 0.3}}, "thresholds missing"),
    (DEFER | {"defer": ALONE | {"helper_accuracy": "x"}}, "helper_accuracy is 'x', not a number"),
    (DEFER | {"defer": ALONE | {"thresholds": [1.0]}}, "1 thresholds .* but 3 classes"),
    (DEFER | {"defer": ALONE | {"thresholds": [[1], 1, 2]}}, "inhomogeneous"),
    (SPACED | {"weight_indices": None}, "weight_indices must be 3 whole numbers"),
    (CONTINUOUS | {"weights": [1.0, 0.5]}, "weights must be 3 numbers"),
    (CONTINUOUS | {"weights": [1.0, 0.5, 0.0]}, "outside 1e-300..1"),
    (CONTINUOUS | {"weights": None}, "weights must be 3 numbers"),
    (CONTINUOUS | {"weight_indices": [1, 1, 1]}, "free weights have no weight_indices"),
    (without("weight_indices"), "weight_indices missing"),
    (SOUND | {"classes": "abc"}, "classes is 'abc', not a list"),
    (SOUND | {"classes": [1, 2, 3]}, "classes is 1, not a text"),
    (SOUND | {"classes": ["a", "b"]}, "2 whole numbers"),
    (SOUND | {"classes": ["a", "b", "b"]}, "b appear twice"),
    (SOUND | {"weight_indices": [0, 30, 30]}, "outside 1..30"),
    (SOUND | {"weight_indices": [30, 30, 10**30]}, "whole numbers"),
    (SOUND | {"weight_indices": {"a": 30}}, "weight_indices is .*, not a list"),
    (SOUND | {"weights": [1, 1, 0.5]}, "weights do not equal those of weight_indices"),
    (SOUND | {"weights": [[1.0, 1.0, 1.0]]}, "weights is .*, not a number"),
    (SOUND | {"weights": [1, 1, math.nan]}, "NaN is not a finite number"),
    (SOUND | {"objective": "x"}, "objective is 'x', not an object"),
    (SOUND | {"fit": ["x"]}, "fit is .*, not an object"),
    (SOUND | {"fit": None}, "fit is None, not an object"),
)
def test_damaged_content_is_refused(tmp_path, content, told):
    path = tmp_path / "coefficients.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(CoefficientsFormatError, match=told) as caught:
        Coefficients.load(path)
    assert str(path) in caught.value.message
    assert caught.value.hint


def test_a_byte_order_mark_is_no_damage(tmp_path):
    path = tmp_path / "coefficients.json"
    path.write_text("\ufeff" + json.dumps(SOUND), encoding="utf-8")
    assert Coefficients.load(path).classes == tuple(SOUND["classes"])


def test_parts_that_no_prediction_needs_may_be_absent_or_new():
    bare = {key: SOUND[key] for key in ("format", "version", "classes", "weight_indices", "scale")}
    read = Coefficients.from_json(json.dumps(bare | {"comment": "by hand"}))
    assert read.weight_indices.tolist() == [30, 30, 30]
    assert (read.objective, read.fit.to_dict()) == ({}, {})


def test_files_that_cannot_be_read_or_written(tmp_path):
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe")
    for path, reason in [(tmp_path, "Is a directory"), (binary, "no UTF-8 text")]:
        with pytest.raises(CoefficientsFormatError, match=reason):
            Coefficients.load(path)
    with pytest.raises(CoefficientsFormatError, match=r"no\.json: there is no such file"):
        Coefficients.load(tmp_path / "no.json")
    table = tmp_path / "opt.csv"
    table.write_text("label,p0,p1\n0,0.5,0.5\n")
    with pytest.raises(CoefficientsFormatError, match="is a table, but a file of coefficients"):
        Coefficients.load(table)
    with pytest.raises(OutputError, match="does not exist"):
        Coefficients(["a", "b"], [1, 1], 1).save(tmp_path / "no" / "coefficients.json")


def test_a_value_that_json_cannot_hold_leaves_the_old_file(tmp_path):
    path = tmp_path / "coefficients.json"
    Coefficients(["a", "b"], [1, 1], 1).save(path)
    old = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        Coefficients(["a", "b"], [1, 1], 1, {"value": math.nan}).save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("copy", [lambda c: pickle.loads(pickle.dumps(c)), deepcopy])
def test_copies_are_read_only_and_the_same(copy):
    first = Coefficients(["a", "b"], [15, 30], 30)
    second = copy(first)
    assert second.predict([[0.5, 0.5]]).tolist() == ["b"]
    for array in (second.weight_indices, second.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
