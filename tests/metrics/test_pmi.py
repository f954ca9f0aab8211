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


@pytest.mark.parametrize("mu", [0, -1, math.nan, math.inf, "1", True])
def test_refuses_a_smoothing_not_above_0(mu):
    with pytest.raises(InvalidInputError, match=r"smoothing .* above 0.*; got"):
        pmi(np.eye(2), mu)
