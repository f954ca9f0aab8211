"""PMI against its definition."""

import math

import numpy as np
import pytest

import oracles
from dnip.base.errors import InvalidInputError
from dnip.metrics import pmi
from strategies import random_confusion


@pytest.mark.parametrize("mu", [1e-3, 1.0, 4000.0])
@pytest.mark.parametrize("n_missing", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_definition(seed, n_missing, mu):
    confusion = random_confusion(np.random.default_rng(seed), 6, n_missing)
    np.testing.assert_allclose(pmi(confusion, mu), oracles.pmi(confusion, mu), atol=1e-12)


def test_by_hand():
    # joint (8 + 1)/(20 + 4), predicted and true (10 + 1)/(20 + 2)
    np.testing.assert_allclose(pmi([[8, 2], [2, 8]], 1.0), math.log(9 / 24 / (1 / 2) ** 2))


def test_much_smoothing_makes_it_nearly_constant():
    good, bad = np.diag([50, 50]), np.array([[0, 50], [50, 0]])
    assert pmi(good, 1.0).sum() - pmi(bad, 1.0).sum() > 5
    assert pmi(good, 4000.0).sum() - pmi(bad, 4000.0).sum() < 0.05


@pytest.mark.parametrize("mu", [0, -1, math.nan, math.inf, "1", True])
def test_refuses_a_smoothing_not_above_0(mu):
    with pytest.raises(InvalidInputError, match=r"smoothing .* above 0.*; got"):
        pmi(np.eye(2), mu)
