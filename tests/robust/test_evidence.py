import numpy as np
import pytest

from dnip.robust.evidence import Evidence
from populations import biased_rows


@pytest.fixture
def rows():
    return biased_rows(np.random.default_rng(0), 4_000, bias=[0.5, 0, -0.5], noise=1.2)


@pytest.fixture
def labelled(rows):
    return Evidence(rows.probabilities[:30], rows.labels[:30], np.ones(30))


def test_expected_rows_count_as_80_labels_of_each_class(rows, labelled):
    evidence = labelled.and_expected(rows.probabilities, rows.posterior, np.random.default_rng(1))
    before = np.bincount(labelled.labels, labelled.mass)
    after = np.bincount(evidence.labels, evidence.mass)
    np.testing.assert_allclose(after - before, 80)


def test_expected_accuracies_are_those_of_the_memberships(rows, labelled):
    evidence = labelled.and_expected(rows.probabilities, rows.posterior, np.random.default_rng(1))
    added = Evidence(
        *(part[30:] for part in (evidence.probabilities, evidence.labels, evidence.mass))
    )
    indices = np.array([10, 20, 30])
    right = (indices * added.probabilities).argmax(axis=1) == added.labels
    predicted = (indices * rows.probabilities).argmax(axis=1)
    hits = np.array([rows.posterior[predicted == c, c].sum() for c in range(3)])
    expected = hits / rows.posterior.sum(axis=0)
    np.testing.assert_allclose(added.class_means(right.astype(float), 3), expected, atol=0.02)


def test_a_class_without_labels_gets_no_expected_rows(rows):
    only_two = rows.labels[:30] < 2
    labelled = Evidence(
        rows.probabilities[:30][only_two], rows.labels[:30][only_two], np.ones(only_two.sum())
    )
    evidence = labelled.and_expected(rows.probabilities, rows.posterior, np.random.default_rng(1))
    assert set(evidence.labels) == {0, 1}


def test_slopes_are_what_accuracies_move_by(rows):
    evidence = Evidence(rows.probabilities, rows.labels, np.ones(4_000))
    log_odds = np.log(rows.probabilities)
    slopes = evidence.slopes(log_odds)
    for c in range(3):
        up, down = log_odds.copy(), log_odds.copy()
        up[:, c] += 1
        down[:, c] -= 1
        of_class = rows.labels == c
        moved = (up.argmax(axis=1) == c)[of_class].mean() - (down.argmax(axis=1) == c)[
            of_class
        ].mean()
        assert slopes[c] == pytest.approx(moved / 2, abs=1e-3)


def test_the_gain_in_accuracy_and_its_error(rows):
    evidence = Evidence(rows.probabilities, rows.labels, np.ones(4_000))
    indices = np.array([18, 24, 30])
    shares = np.array([0.2, 0.3, 0.5])
    right = (indices * rows.probabilities).argmax(axis=1) == rows.labels
    raw = rows.probabilities.argmax(axis=1) == rows.labels
    rates, gains, variances = [], [], []
    for c in range(3):
        of_class = rows.labels == c
        gain = right[of_class].astype(float) - raw[of_class]
        rates.append(right[of_class].mean())
        gains.append(gain.mean())
        variances.append(gain.var() / of_class.sum())
    found = evidence.accuracy_gain(indices, shares)
    expected = (shares @ rates, shares @ gains, np.sqrt(shares**2 @ variances))
    np.testing.assert_allclose(found, expected)


def test_known_shares_make_the_mass_of_each_class_in_a_problem():
    rng = np.random.default_rng(5)
    p, labels, mass = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60), rng.random(60)
    target = np.array([0.7, 0.3, 0.0])
    evidence = Evidence(p, labels, mass, target)
    problem = evidence.as_problem(["a", "b", "c"])
    counted = problem.class_mass * problem.unit
    np.testing.assert_allclose(counted, target * mass.sum(), atol=1e-6)
    within = problem.mass[labels == 0] / mass[labels == 0]
    np.testing.assert_allclose(within, within[0], rtol=1e-6)
    plain = Evidence(p, labels, mass).as_problem(["a", "b", "c"])
    np.testing.assert_allclose(plain.class_mass * plain.unit, np.bincount(labels, mass), atol=1e-6)
