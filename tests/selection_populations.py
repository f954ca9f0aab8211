"""Tables whose raw argmax starves a class."""

import numpy as np

from dnip import ProbabilityTable


def skewed(n, seed=0, *, n_classes=3, unlabelled=0, ids=False, source="opt"):
    """Draw rows of equally many examples per class, with the first class overrated."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    scores = rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[y]
    scores += np.linspace(1.5, 0, n_classes)
    p = np.exp(scores)
    labels = y.copy()
    labels[n - unlabelled :] = -1
    names = np.array([f"{source}-{seed}-{row}" for row in range(n)], object) if ids else None
    return ProbabilityTable(p / p.sum(axis=1, keepdims=True), labels, names, source=source)
