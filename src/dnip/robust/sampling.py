"""Which rows of a large opt set are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dnip.typing import Integers, Labels


def draw_per_class(labels: Labels, n_classes: int, rng: np.random.Generator, most: int) -> Integers:
    """Return ascending row numbers: all of a class, or a sample of so many.

    Examples
    --------
    >>> draw_per_class(np.array([0, 1, 1, 1]), 2, np.random.default_rng(0), most=1).size
    2
    """
    drawn = []
    for c in range(n_classes):
        rows = np.flatnonzero(labels == c)
        if len(rows) > most:
            rows = rng.choice(rows, most, replace=False)
        drawn.append(rows)
    return np.sort(np.concatenate(drawn))
