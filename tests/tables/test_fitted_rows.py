"""Rows of a fit are known again, and other rows are not taken for them."""

import json

import numpy as np
import pytest

import dnip
from cases import cases
from dnip import ProbabilityTable
from dnip.tables.groups import FittedRows, Overlap

RNG = np.random.default_rng(0)


def table(n, digits=16, seed=0, ids=False):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.6] * 3, n).round(digits) + 10.0**-digits
    names = [str(i) for i in range(n)] if ids else None
    return ProbabilityTable(p / p.sum(axis=1, keepdims=True), rng.integers(3, size=n), names)


def overlap(fitted, rows):
    found = Overlap(FittedRows.from_dict(json.loads(json.dumps(fitted.to_dict()))))
    for block in np.array_split(np.arange(len(rows)), 3):
        part = rows.take(block)
        found.add(part.probabilities, part.ids)
    return found


@cases((300, 300, 1.0, 0), (300, 150, 0.5, 0), (300, 0, 0.0, 0), (20_000, 10_000, 0.5, 0.15))
def test_the_share_of_fitted_rows_is_told(n, shared, share, within):
    mine, others = table(n, seed=1), table(n, seed=2)
    p = np.concatenate([mine.probabilities[:shared], others.probabilities[shared:]])
    found = overlap(FittedRows.of(mine.probabilities, None), ProbabilityTable(p))
    assert found.share == pytest.approx(share, abs=within)
    assert bool(found.sentence) == (share > 0)


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_rows_that_rounding_makes_equal_are_not_taken_for_fitted_ones(digits):
    for seed in range(5):
        mine, others = (table(400, digits, seed) for seed in (10 + seed, 50 + seed))
        assert overlap(FittedRows.of(mine.probabilities, None), others).share <= 0.08
        numbered, other = (table(400, digits, s, ids=True) for s in (10 + seed, 50 + seed))
        fitted = FittedRows.of(numbered.probabilities, numbered.ids)
        assert overlap(fitted, other).share <= 0.02
        assert overlap(fitted, numbered).share == 1


def test_what_rounding_makes_equal_is_taken_off_the_share():
    first = np.random.default_rng(0).integers(1, 1000, 600) / 1000  # of so few, many are equal
    p = np.column_stack([first, 1 - first])
    fitted = FittedRows.of(p[:300], None)
    assert 0.2 < fitted.chance < 0.35
    found = overlap(fitted, ProbabilityTable(p[150:450]))
    assert found.found > 180
    assert found.share == pytest.approx(0.5, abs=0.06)


def test_running_numbers_as_ids_make_no_row_a_fitted_one():
    mine, others = table(200, seed=3, ids=True), table(200, seed=4, ids=True)
    assert overlap(FittedRows.of(mine.probabilities, mine.ids), others).share == 0


def test_coefficients_know_the_rows_of_their_fit(tmp_path):
    mine, others = table(300, seed=5), table(300, seed=6)
    dnip.fit(mine, evidence=False).save(tmp_path / "c.json")
    loaded = dnip.Coefficients.load(tmp_path / "c.json")
    assert "fitted" in json.loads((tmp_path / "c.json").read_text())["fit"]
    assert dnip.evaluate(mine, coefficients=loaded).to_dict()["fitted"] == 1
    assert dnip.evaluate(others, coefficients=loaded).to_dict()["fitted"] == 0
    assert dnip.evaluate(others).to_dict()["fitted"] is None
    told = dnip.evaluate(mine, coefficients=loaded).overlap.sentence
    assert told.startswith("100% of these rows (300 of 300 compared) are rows of the fit")


@cases(
    {"hashes": "AAAA", "below": "1", "by_id": False, "chance": 0},
    {"hashes": "!", "below": "1", "by_id": False, "chance": 0},
    {"hashes": "AQAAAAAAAAA=", "below": "1", "by_id": False, "chance": 0},
    {"hashes": "AQAAAAAAAAA=", "below": "2", "by_id": False, "chance": 7},
    {"hashes": "", "below": "2", "by_id": False, "chance": 0},
    {"below": "2", "by_id": False, "chance": 0},
)
def test_damaged_hashes_are_refused(content):
    record = {"fit": {"fitted": content}}
    text = json.dumps({**json.loads(dnip.Coefficients(["a", "b"], [1, 2], 2).to_json()), **record})
    with pytest.raises(dnip.CoefficientsFormatError, match=r"fit\.fitted is damaged"):
        dnip.Coefficients.from_json(text)


def test_weights_of_rows_count_in_a_fit_as_the_classifier_counts_them(tmp_path):
    rng = np.random.default_rng(7)
    p = rng.dirichlet([1, 1, 1], 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    w = rng.integers(1, 5, 200).astype(float)
    quick = {"robust": "off", "evidence": False}
    weighed = dnip.fit(p, y, weights=w, **quick).weights
    assert weighed.tolist() != dnip.fit(p, y, **quick).weights.tolist()
    classifier = dnip.DNIPClassifier(**quick).fit(p, y, sample_weight=w)
    assert weighed.tolist() == classifier.weights_.tolist()
    again = dnip.fit(np.repeat(p, w.astype(int), axis=0), np.repeat(y, w.astype(int)), **quick)
    assert again.weights == pytest.approx(weighed)
    half = np.where(np.arange(200) % 2, y.astype(float), np.nan)
    of_half = dnip.fit(p, half, weights=w, **quick)
    rest = np.arange(200) % 2 == 1
    alone = dnip.fit(p[rest], y[rest], weights=w[rest], **quick)
    assert of_half.weights == pytest.approx(alone.weights, abs=1e-3)
    with pytest.raises(dnip.InvalidInputError, match="the weights of all labelled rows are zero"):
        dnip.fit(p, y, weights=np.zeros(200), **quick)
