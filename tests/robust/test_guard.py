import numpy as np

from dnip.robust.evidence import Evidence
from dnip.robust.guard import go_as_far_as_harmless, is_harmless
from dnip.scales import WeightScale
from populations import biased_rows

SHARES = np.array([0.85, 0.05, 0.05, 0.05])


def skewed_evidence(n_rows=4_000):
    rows = biased_rows(
        np.random.default_rng(0), n_rows, bias=[0.5, 0, 0, -1.0], shares=SHARES, noise=1.5
    )
    return Evidence(rows.probabilities, rows.labels, np.ones(n_rows))


def accuracy(evidence, indices):
    return ((indices * evidence.probabilities).argmax(axis=1) == evidence.labels).mean()


def test_equal_classes_at_the_price_of_the_frequent_one_are_harm():
    evidence = skewed_evidence()
    indices = np.array([5, 20, 20, 30])
    assert accuracy(evidence, indices) < accuracy(evidence, np.ones(4)) - 0.1
    assert not is_harmless(evidence, indices, SHARES)


def test_a_loss_is_no_harm_where_no_class_is_frequent():
    assert is_harmless(skewed_evidence(), np.array([5, 20, 20, 30]), np.full(4, 0.25))


def test_the_way_is_gone_until_accuracy_falls():
    evidence = skewed_evidence()
    target = np.log([0.8, 1.0, 1.0, 1.0])
    weights, kept = go_as_far_as_harmless(evidence, target, SHARES, WeightScale.of(30))
    assert 0 < kept < 1
    assert accuracy(evidence, weights.multipliers) > accuracy(evidence, np.ones(4)) - 0.01
    assert is_harmless(evidence, weights.multipliers, SHARES)


def test_nothing_is_changed_where_any_change_does_harm():
    p = np.array([[0.51, 0.49]] * 90 + [[0.4, 0.6]] * 10)
    evidence = Evidence(p, np.repeat([0, 1], [90, 10]), np.ones(100))
    target = np.array([-1.0, 0.0])
    weights, kept = go_as_far_as_harmless(
        evidence, target, np.array([0.9, 0.1]), WeightScale.of(30)
    )
    assert weights.indices.tolist() == [30, 30]
    assert kept == 0
