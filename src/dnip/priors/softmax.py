"""The softmax, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Probabilities


def softmax(scores: Floats) -> Probabilities:
    """Return exp(scores) normalised to sum 1 per row, shape (M, N).

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))
