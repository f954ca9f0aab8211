"""Problems whose optimum is known, because all K^N weight vectors can be tried."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import oracles
from dnip.base.typing import Labels, Probabilities
from strategies import random_probabilities


@dataclass(frozen=True)
class Known:
    """A small problem: most labels follow the probabilities under hidden weights."""

    n_classes: int
    scale: int
    n_rows: int
    kind: str
    seed: int

    @cached_property
    def p(self) -> Probabilities:
        return random_probabilities(self._rng(), self.n_rows, self.n_classes, self.kind)

    @cached_property
    def labels(self) -> Labels:
        rng = self._rng()
        hidden = rng.integers(1, self.scale + 1, self.n_classes)
        anyone = rng.integers(self.n_classes, size=self.n_rows)
        follow = rng.random(self.n_rows) < 0.8
        labels = np.where(follow, oracles.predict(self.p, hidden), anyone)
        labels[: self.n_classes] = np.arange(self.n_classes)
        return labels

    @cached_property
    def optimum(self) -> float:
        """The lowest Z at the default settings."""
        return oracles.optimum(self.p, self.labels, self.scale)

    @property
    def raw(self) -> float:
        """Z of the plain argmax."""
        return oracles.objective(oracles.confusion_at(self.p, self.labels, [1] * self.n_classes))

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


KNOWN = {
    "two classes": Known(n_classes=2, scale=30, n_rows=60, kind="random", seed=0),
    "two classes, ties": Known(n_classes=2, scale=20, n_rows=40, kind="tied", seed=1),
    "three classes": Known(n_classes=3, scale=9, n_rows=80, kind="random", seed=2),
    "three classes, ties": Known(n_classes=3, scale=8, n_rows=50, kind="tied", seed=3),
    "three classes, near ties": Known(n_classes=3, scale=8, n_rows=50, kind="decimal", seed=4),
    "three classes, tiny": Known(n_classes=3, scale=8, n_rows=50, kind="tiny", seed=5),
    "four classes": Known(n_classes=4, scale=5, n_rows=80, kind="random", seed=6),
    "four classes, mixed": Known(n_classes=4, scale=5, n_rows=60, kind="mixed", seed=7),
    "nothing to choose": Known(n_classes=3, scale=1, n_rows=30, kind="tied", seed=8),
    "nothing to change": Known(n_classes=3, scale=6, n_rows=30, kind="one-hot", seed=9),
}
