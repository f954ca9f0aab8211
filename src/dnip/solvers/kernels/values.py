"""The objective Z (equation 2) as a function of confusion counts, for the inner loops.

:class:`dnip.method.objective.Objective` computes the same from rates; tests compare the two.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dnip.base.typing import Confusion, Floats, Integers
from dnip.solvers.kernels.door import kernel

#: A point that misses a floor has the value MISSED·(1 + shortfall). That is far above any
#: objective, and the values of all other points are not changed by a single bit.
MISSED = 2.0**1000


class Floors(NamedTuple):
    """Correct counts that must be reached, 0 where none is asked for."""

    correct: Annotated[
        Integers, "n_floors"
    ]  # (N,) of each class; (0,) where nothing at all is asked for
    total: int  # of all classes together


def no_floors() -> Floors:
    """Return floors that ask for nothing."""
    return Floors(np.zeros(0, np.int64), 0)


class Terms(NamedTuple):
    """The numbers that turn counts into Z; a factor of 0 leaves its term out."""

    error: float  # factor of the error rate: 1 or 0
    cobias: float  # factor of the mean over pairs of classes: β or 0
    single: float  # factor of the mean over odd classes: β or 0
    tau: float  # factor of ΣPMI
    smoothing: float  # μ, in the unit of the counts
    costs: Annotated[Floats, "n_costs"] = np.zeros(
        (0, 0)
    )  # (N, N) of true and predicted class; (0, 0): none
    floors: Floors = no_floors()


class Memo(NamedTuple):
    """What one evaluation can reuse from the one before, because few classes change between two."""

    true: Annotated[Integers, "n_classes"]  # (N,) examples of each class
    total: float  # of all classes
    pmi_constant: Floats  # (N,) the part of PMI_j that no prediction changes
    correct: Integers  # (N,) correct counts that `accuracy` and `pmi` were computed for
    predicted: Integers  # (N,) predicted counts that `pmi` was computed for
    accuracy: Floats  # (N,)
    pmi: Floats  # (N,)
    ranking: Annotated[
        Integers, "n_present"
    ]  # (classes with examples,) in ascending order of accuracy


def new_memo(true: Integers, smoothing: float) -> Memo:
    """Make an empty memo for class counts `true` of shape (N,)."""
    n_classes = len(true)
    total = true.sum()
    pmi_constant = (
        2 * np.log(total + smoothing * n_classes)
        - np.log(total + smoothing * n_classes**2)
        - np.log(true + smoothing)
    )
    unseen = np.full(n_classes, -1, np.int64)
    zeros = np.zeros(n_classes)
    return Memo(
        true,
        float(total),
        pmi_constant,
        unseen,
        unseen.copy(),
        zeros,
        zeros.copy(),
        np.flatnonzero(true),
    )


#: Z of confusion counts of shape (N, N), whose column sums are given, too.
value = kernel("value", float, Confusion, Integers, Terms, Memo)


#: By how much correct counts of shape (N,) miss their floors, given the class counts.
shortfall = kernel("shortfall", float, Integers, Floors, Integers)
