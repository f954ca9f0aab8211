"""Class mixes: as users name them, as weights move to them, and as they are estimated."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.priors import (
    Calibration,
    TargetPrior,
    adjust,
    check_prior,
    estimate_prior,
    is_estimate,
    weigh_rows,
)
from populations import biased_rows

CLASSES = ("ham", "spam", "a=b")


@cases(
    ("uniform", [1 / 3, 1 / 3, 1 / 3]),
    ("spam=0.25,ham=0.5,a=b=0.25", [0.5, 0.25, 0.25]),
    ("spam=0.25, ham = 0.75, a=b=0", [0.75, 0.25, 0]),
    ("ham=0.333,spam=0.333,a=b=0.333", [1 / 3, 1 / 3, 1 / 3]),
)
def test_what_a_command_line_may_say(text, shares):
    np.testing.assert_allclose(check_prior(text, CLASSES), shares, rtol=1e-12)


def test_a_file(tmp_path):
    path = tmp_path / "mix.JSON"
    path.write_text(json.dumps({"spam": 0.3, "a=b": 0.2, "ham": 0.5}))
    np.testing.assert_allclose(check_prior(str(path), CLASSES), [0.5, 0.3, 0.2])


@cases(
    ("ham=0.5,spam=0.3,a=b=0.1", "sum to 0.9, not 1"),
    ("ham=0.6,spam=0.5,a=b=-0.1", "share of class a=b is -0.1"),
    ("ham=0.5,spam=nan,a=b=0.5", "share of class spam is nan"),
    ("ham=0.5,spam=0.5", "shares are of ham, spam, but the classes are ham, spam, a=b"),
    ("ham=0.5,ham=0.5", "class ham appears twice"),
    ("ham=0.5,0.5", "'0.5' is not NAME=SHARE"),
    ("ham=half,spam=0.5", "'ham=half' is not NAME=SHARE"),
    ("=0.5,ham=0.5", "'=0.5' is not NAME=SHARE"),
    ("ham=1,spam=0,a=b=0", "all rows are of class ham"),
    ("ham=0,spam=0,a=b=0", "sum to 0"),
    ("no.json", "no mix can be read from no.json: No such file"),
)
def test_what_it_may_not(text, told):
    with pytest.raises(InvalidInputError, match="target prior") as refused:
        check_prior(text, CLASSES)
    assert told in refused.value.message
    assert refused.value.hint


@cases(
    ("{", "no mix can be read from .*: Expecting property name"),
    ("0.5", "no mix"),
    ("[0.5, 0.3, 0.2]", "no mix can be read from .*: it holds"),
    ('{"ham": [1], "spam": 0, "a=b": 0}', "not numbers"),
    (f'{{"ham": {"9" * 400}, "spam": 0, "a=b": 0}}', "not numbers"),
)
def test_files_that_hold_no_mix(tmp_path, content, told):
    path = tmp_path / "mix.json"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=told):
        check_prior(str(path), CLASSES)


def test_python_takes_mappings_arrays_and_a_word():
    np.testing.assert_array_equal(check_prior("uniform", ["a", "b"]), [0.5, 0.5])
    np.testing.assert_array_equal(check_prior({"b": 0.75, "a": 0.25}, ["a", "b"]), [0.25, 0.75])
    given_shares = np.array([0.25, 0.75])
    assert check_prior(given_shares, ["a", "b"]) is not given_shares
    with pytest.raises(InvalidInputError, match="'estimate' is not NAME=SHARE"):
        check_prior("estimate", ["a", "b"])
    assert is_estimate("estimate")
    assert not any(map(is_estimate, (None, "uniform", {"a": 1.0}, given_shares)))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_shares_sum_to_1_whatever_is_accepted(shares):
    names = [f"c{i}" for i in range(len(shares))]
    try:
        found = check_prior(shares, names)
    except InvalidInputError:
        assert abs(sum(shares) - 1) > 1.9e-3 or sum(share > 0 for share in shares) < 2
    else:
        assert found.sum() == pytest.approx(1)
        np.testing.assert_array_equal(found > 0, np.array(shares) > 0)


def test_a_line_names_all_of_few_classes_and_the_most_frequent_of_many():
    few = TargetPrior(np.array([0.25, 0.75]), effective_rows=8.5)
    assert few.sentence(["a", "b"]) == "target prior: a 0.250, b 0.750"
    shares = {"a": 0.25, "b": 0.75}
    expected = {"source": "given", "shares": shares, "effective_rows": 8.5}
    assert few.to_dict(["a", "b"]) == expected
    many = TargetPrior(np.r_[np.full(9, 0.05), 0.55])
    said = many.sentence([f"c{i}" for i in range(10)])
    assert said.startswith("target prior: c9 0.550, c0 0.050")
    assert said.endswith(", and 2 more")


def population(rng, n_classes, n_kinds=400):
    """Kinds of rows: how probable each is within each class, and what a model says of it."""
    likelihood = rng.dirichlet(np.full(n_kinds, 0.3), n_classes).T + 1e-9
    bias, sharpness = rng.normal(0, 0.5, n_classes), rng.uniform(0.5, 2)
    p = likelihood ** (1 / sharpness) * np.exp(-bias)
    calibration = Calibration(bias, sharpness, np.full(n_classes, 100.0))
    return likelihood, p / p.sum(axis=1, keepdims=True), calibration


def accuracy(likelihood, p, weights, shares):
    chosen = (weights * p).argmax(axis=1)
    return (likelihood * shares)[np.arange(len(p)), chosen].sum()


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_no_step_of_the_way_lowers_accuracy_in_the_target_mix(n_classes):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        likelihood, p, calibration = population(rng, n_classes)
        weights = np.exp(rng.normal(0, 1, n_classes))
        fitted_for, target = rng.dirichlet(np.ones(n_classes), 2)
        moved = adjust(weights, calibration, fitted_for, target)
        assert 0 <= moved.way <= 1
        before = accuracy(likelihood, p, weights, target)
        after = accuracy(likelihood, p, moved.weights, target)
        assert after >= before - 1e-12
        best = (likelihood * target).max(axis=1).sum()  # Bayes
        if moved.way == 1:
            assert after == pytest.approx(best)


def test_the_same_mix_changes_nothing_and_the_common_factor_does_not_matter():
    rng = np.random.default_rng(1)
    _, _, calibration = population(rng, 3)
    weights, shares = rng.uniform(0.1, 1, 3), np.array([0.6, 0.3, 0.1])
    same = adjust(weights, calibration, shares, shares)
    assert same.way == 0
    np.testing.assert_allclose(same.weights, weights / weights.max())
    other = np.array([0.2, 0.3, 0.5])
    one, many = (adjust(n * weights, calibration, shares, other).weights for n in (1, 30))
    np.testing.assert_allclose(one, many)


def test_a_class_without_a_share_gets_next_to_nothing_and_an_unfitted_one_moves_along():
    flat = Calibration(np.zeros(3), 1.0, np.full(3, 100.0))
    gone = adjust(np.ones(3), flat, np.full(3, 1 / 3), np.array([0.5, 0.5, 0]))
    np.testing.assert_allclose(gone.weights, [1, 1, 1e-300])
    new = adjust(np.ones(3), flat, np.array([0.5, 0.5, 0]), np.array([0.6, 0.2, 0.2]))
    np.testing.assert_allclose(new.weights, [1, 1 / 3, 1 / 3])


def test_weights_are_those_that_scikit_learn_gives_for_class_weights():
    sklearn = pytest.importorskip("sklearn.utils.class_weight")
    labels = np.array([0] * 6 + [1] * 3 + [2])
    target = np.array([0.2, 0.3, 0.5])
    ratio = dict(enumerate(target * 10 / np.bincount(labels)))
    for shares, weights in ((target, ratio), (np.full(3, 1 / 3), "balanced")):
        expected = sklearn.compute_sample_weight(weights, labels)
        np.testing.assert_allclose(weigh_rows(labels, shares, ("a", "b", "c")), expected)


SHARES = np.array([0.7, 0.2, 0.1])
BIAS = np.array([1.0, 0.0, -1.0])
KNOWN = Calibration(BIAS, 0.5, np.full(3, 1e9))


def rows_of(seed, n_rows):
    """Rows of a model whose probabilities the known calibration mends."""
    rng = np.random.default_rng(seed)
    return biased_rows(rng, n_rows, bias=-BIAS, sharpness=2.0, shares=SHARES)


def test_the_shares_of_a_known_population_are_recovered():
    p, labels, _ = rows_of(0, 20_000)
    found = estimate_prior(p, KNOWN)
    np.testing.assert_allclose(found.shares, np.bincount(labels) / len(labels), atol=0.01)
    assert found.n_rows == 20_000
    uncalibrated = estimate_prior(p, Calibration(np.zeros(3), 1.0, np.full(3, 1e9)))
    assert np.abs(uncalibrated.shares - SHARES).max() > 0.15


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_shares_are_the_most_probable_ones(n_classes):
    rng = np.random.default_rng(n_classes)
    p = rng.dirichlet(np.ones(n_classes), 60)
    calibration = Calibration(rng.normal(0, 1, n_classes), 0.7, np.full(n_classes, 50.0))
    likelihood = (p * np.exp(calibration.log_weights)) ** 0.7

    def loss(z):
        shares = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        return -np.log(likelihood @ shares).sum() - 0.5 * np.log(shares).sum()

    best = np.exp(minimize(loss, np.zeros(n_classes), method="BFGS").x)
    found = estimate_prior(p, calibration)
    np.testing.assert_allclose(found.shares, best / best.sum(), atol=1e-4)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    held, n = np.zeros(3), 300
    for seed in range(n):
        found = estimate_prior(rows_of(seed, 300).probabilities, KNOWN)
        held += (found.low <= SHARES) & (found.high >= SHARES)
    assert (held / n > 0.90).all()
    assert (held / n < 0.99).all()


def test_no_class_is_ruled_out_and_one_row_will_do():
    found = estimate_prior([[1.0, 0.0, 0.0]], Calibration(np.zeros(3), 1.0, np.full(3, 9.0)))
    assert (found.shares > 0).all()
    assert found.shares.sum() == pytest.approx(1)
    assert np.isfinite(found.low).all()


@cases(
    ([[0.5, 0.5]], "2 columns, but the calibration has 3"),
    (np.empty((0, 3)), "no rows"),
    ([[0.5, 0.6, -0.1]], "negative"),
)
def test_bad_rows(rows, told):
    with pytest.raises(InvalidInputError, match=told):
        estimate_prior(rows, KNOWN)
