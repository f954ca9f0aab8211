"""What is kept of a distribution tells as much as its rows."""

import json

import numpy as np
import pytest
from scipy import stats

from cases import cases
from dnip.base.errors import CoefficientsFormatError
from dnip.method.coefficients import FitRecord
from dnip.method.kept import ColumnSketch, Sketch

RNG = np.random.default_rng
CLASSES = ("a", "b", "c")


def rows(seed, n=400, concentration=(2, 1, 1)):
    return RNG(seed).dirichlet(concentration, n)


@pytest.mark.parametrize("seed", range(5))
def test_distances_are_nearly_those_of_all_rows(seed):
    x, y = RNG(seed).normal(size=500), RNG(seed + 100).normal(0.2, 1.2, 300)
    found = ColumnSketch.of(x, np.ones(500)).distance(y)
    whole = stats.ks_2samp(x, y).statistic
    assert whole - 0.04 < found <= whole + 1e-6


def test_equal_values_and_their_last_digits_do_not_matter():
    x = np.repeat([0.0, 1.0, 2.5], [70, 20, 10])
    sketch = ColumnSketch.of(x, np.ones(100))
    assert sketch.distance(x + 1e-9) == 0
    assert sketch.distance(np.repeat([0.0, 1.0, 2.5], [60, 30, 10])) == pytest.approx(0.1)
    constant = ColumnSketch.of(np.ones(10), np.ones(10))
    assert (constant.mean, len(constant.knots), constant.distance(np.zeros(5))) == (1, 0, 0)


def test_a_sketch_comes_back_from_json():
    sketch = Sketch.of(rows(0), mass=RNG(0).random(400), changed=0.25)
    content = FitRecord(sketch=sketch).to_dict()
    text = json.dumps(content)
    assert FitRecord.from_dict(json.loads(text), 3).to_dict() == content
    assert len(text) < 2_000


@cases(
    lambda p: p ** np.array([1, 1, 1.6]),  # one class is more extreme
    lambda p: p * [1, 1, 1.6],  # one class is more probable
    lambda p: p**1.4,  # all are surer
    lambda p: p[:, [0, 2, 1]] * [1, 1.5, 1],
)
def test_changes_are_noticed(change):
    noticed = []
    for seed in range(20):
        moved = change(rows(seed + 1_000, 500))
        p_value = Sketch.of(rows(seed, 1_000)).compare(moved / moved.sum(axis=1, keepdims=True))
        noticed.append(p_value.p_value <= 0.05)
    assert np.mean(noticed) >= 0.9


@cases(
    (lambda s: s.pop("classes"), "classes"),
    (lambda s: s["classes"].pop(), "2 columns for 3 classes"),
    (lambda s: s.update(rows=0), "above 0"),
    (lambda s: s.update(rows="many"), "many"),
    (lambda s: s["classes"][1]["knots"].reverse(), "knots do not rise"),
    (lambda s: s["classes"][1]["shares"].reverse(), "shares do not rise"),
    (lambda s: s["classes"][1]["shares"].pop(), "a share for every knot"),
    (lambda s: s["classes"][0].update(mean=None), "mean is None"),
    (lambda s: s.update(mass=[1]), "not an object"),
)
def test_a_damaged_sketch_is_refused(damage, told):
    content = FitRecord(sketch=Sketch.of(rows(0))).to_dict()
    damage(content["sketch"])
    with pytest.raises(CoefficientsFormatError, match=f"fit.sketch is damaged: .*{told}"):
        FitRecord.from_dict(content, 3)
