"""Where probabilities say nothing of the class, the slip that makes them so is named."""

import numpy as np
import pytest

import dnip


def spoken(n_classes, seed=0):
    """Probabilities, and labels that are mostly the most probable class."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.5), 300)
    return p, np.where(rng.random(300) < 0.8, p.argmax(axis=1), rng.integers(n_classes, size=300))


@pytest.mark.parametrize("seed", range(3))
def test_slips_are_named(seed):
    p, labels = spoken(4, seed)
    assert dnip.evaluate(p, labels).cause is None

    moved = dnip.evaluate(p[:, [2, 3, 1, 0]], labels)
    assert moved.signal is False
    assert "the labels speak for 2, 3, 1, 0" in moved.cause

    few = labels < 3
    assert "counted from 1" in dnip.evaluate(p[few], labels[few] + 1).cause

    distances = 1 / np.maximum(p, 1e-3)
    distances /= distances.sum(axis=1, keepdims=True)
    assert "as distances do" in dnip.evaluate(distances, labels).cause

    pair, swapped = spoken(2, seed)
    assert "swapped" in dnip.evaluate(pair, 1 - swapped).cause


def test_noise_has_no_cause():
    rng = np.random.default_rng(0)
    noise = dnip.evaluate(rng.dirichlet([1, 1, 1], 300), np.arange(300) % 3)
    assert noise.signal is False
    assert noise.cause is None
    assert "say nothing about the class" in noise.no_signal
