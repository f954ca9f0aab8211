"""Probabilities that a service rounded: how far, and what stands for the zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dnip.base.typing import Probabilities

# Numbers of more decimals are not taken for rounded.
_MOST_DECIMALS = 6


def decimals(probabilities: Probabilities) -> int | None:
    """Return to how many decimals all probabilities are rounded, None if they are not.

    Examples
    --------
    >>> decimals(np.array([[0.25, 0.7, 0.05]])), decimals(np.array([[1 / 3, 2 / 3]]))
    (2, None)
    """
    for places in range(_MOST_DECIMALS + 1):
        if np.allclose(probabilities, np.round(probabilities, places), rtol=0, atol=1e-9):
            return places
    return None


def raise_zeros(probabilities: Probabilities, places: int) -> Probabilities:
    """Return probabilities in which zeros are half a unit of the last decimal.

    A rounded zero stands for anything up to that. Left at zero, no weight could ever decide for
    the class.

    Examples
    --------
    >>> raise_zeros(np.array([[0.0, 0.4, 0.6]]), 1)
    array([[0.05, 0.4 , 0.6 ]])
    """
    return np.maximum(probabilities, 0.5 * 10.0**-places)
