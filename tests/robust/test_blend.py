import numpy as np
import pytest

from dnip.robust.blend import blend, trust_labels


def trust_by_loop(accuracies, support, slopes):
    """The posterior mean, written out one standard deviation at a time."""
    weights, trusts = [], []
    present = [i for i, n in enumerate(support) if n]
    typical = (sum(accuracies[i] for i in present) + 0.5) / (len(present) + 1)
    for sigma in np.geomspace(0.15, 1.0, 25):
        real = {i: (slopes[i] * sigma) ** 2 for i in present}
        variance = {i: real[i] + typical * (1 - typical) / support[i] for i in present}
        middle = sum(accuracies[i] / variance[i] for i in present) / sum(
            1 / variance[i] for i in present
        )
        # integrating the unknown middle out of the normal densities
        density = np.prod([variance[i] ** -0.5 for i in present])
        density *= np.exp(
            -sum((accuracies[i] - middle) ** 2 / variance[i] for i in present) / 2
        ) / np.sqrt(sum(1 / variance[i] for i in present))
        weights.append(density)
        trusts.append([real[i] / variance[i] if i in present else 0.0 for i in range(len(support))])
    return np.average(trusts, axis=0, weights=weights)


def test_trust_is_the_posterior_mean():
    rng = np.random.default_rng(0)
    for n_classes in (2, 4, 9):
        accuracies = rng.random(n_classes)
        support = rng.integers(1, 60, n_classes).astype(float)
        support[rng.integers(n_classes)] = 0 if n_classes > 2 else 5
        slopes = rng.uniform(0.02, 0.25, n_classes)
        expected = trust_by_loop(accuracies, support, slopes)
        np.testing.assert_allclose(trust_labels(accuracies, support, slopes), expected)


def test_gaps_beyond_chance_are_trusted_sooner():
    support, slopes = np.full(4, 40.0), np.full(4, 0.2)
    alike = trust_labels(np.array([0.5, 0.52, 0.48, 0.5]), support, slopes)
    apart = trust_labels(np.array([0.2, 0.8, 0.3, 0.7]), support, slopes)
    assert (apart > alike + 0.1).all()


def test_the_class_with_more_labels_goes_farther():
    trust = trust_labels(np.full(3, 0.5), np.array([5.0, 50, 500]), np.full(3, 0.2))
    assert trust[0] < trust[1] < trust[2] < 1


@pytest.mark.parametrize(("part", "end"), [(0.0, "smooth"), (1.0, "optimum")])
def test_a_blend_begins_and_ends_where_it_should(part, end):
    estimates = {"smooth": np.array([0.3, -0.2, -0.1]), "optimum": np.array([1.0, 2.0, 3.0])}
    found = blend(**estimates, trust=np.full(3, part), present=np.ones(3, bool))
    difference = found - estimates[end]
    np.testing.assert_allclose(difference, difference.mean(), atol=1e-12)


def test_a_common_factor_of_the_weights_changes_nothing():
    smooth, optimum = np.array([0.3, -0.2, -0.1]), np.array([1.0, 2.0, 3.0])
    trust, present = np.array([0.1, 0.5, 0.9]), np.ones(3, bool)
    here, there = blend(smooth, optimum, trust, present), blend(smooth, optimum + 7, trust, present)
    np.testing.assert_allclose(here, there, atol=1e-12)
