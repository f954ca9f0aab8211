"""Resamples of labelled rows, class by class, and how many of them a fit is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dnip.typing import Integers, Labels

#: Fewer resamples say too little of how a fit follows chance.
LEAST = 10
# More are made only by who gives them more time: of each second at most these.
_MOST = 24

# What a fit takes, from its size: one look at a row for one line search, and what any fit takes.
# It is rough, and only decides how many refits are made.
_LOOK = 4.5e-9
_PLAIN, _ROBUST = 0.004, 0.025
# Line searches of the coordinate solver, and what eight resamples inside a robust fit add.
_SEARCHES, _PER_CLASS, _INNER = 250, 40, 3.4
# Rows that a robust fit adds for each that it reads, and those that it reads at most.
_EXPECTED, _MOST_READ = 2.5, 4_000


def draw_resample(labels: Labels, rng: np.random.Generator) -> Integers:
    """Draw rows with replacement, as many of each class as there are.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([0, 0, 1, 0])
    >>> rows = draw_resample(labels, np.random.default_rng(0))
    >>> labels[rows]
    array([0, 0, 1, 0])
    """
    rows = np.empty(len(labels), np.int64)
    for c in np.unique(labels):
        of_class = np.flatnonzero(labels == c)
        rows[of_class] = rng.choice(of_class, len(of_class))
    return rows


def n_affordable(
    n_rows: int, n_classes: int, n_unlabelled: int, seconds: float, *, robust: bool
) -> int:
    """Return how many refits a time allows, from the size alone: the same on every machine.

    Parameters
    ----------
    n_rows : int
        Labelled rows.
    n_classes : int
    n_unlabelled : int
        Rows without a label that every fit uses, too.
    seconds : float
        About how long they may take.
    robust : bool
        Whether the fit is a robust one.

    Returns
    -------
    int
        0 where it is too little for the fewest that say something.

    Examples
    --------
    >>> n_affordable(100, 4, 0, 1.0, robust=False), n_affordable(10**6, 4, 0, 1.0, robust=False)
    (24, 0)
    """
    looks = float(n_rows)
    if robust:
        looks += _EXPECTED * min(n_rows + n_unlabelled, _MOST_READ)
        looks *= _INNER
    looks *= (_SEARCHES + _PER_CLASS * n_classes) * max(n_classes / 4, 1)
    affordable = int(seconds / (looks * _LOOK + (_ROBUST if robust else _PLAIN)))
    return min(affordable, max(int(_MOST * seconds), LEAST)) if affordable >= LEAST else 0
