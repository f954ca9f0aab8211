"""Array aliases that carry their shapes in their names' documentation.

M is the number of examples, N the number of classes, K the weight scale.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

#: (M, N) class probabilities, float64, rows summing to 1.
Probabilities: TypeAlias = NDArray[np.float64]
#: (M,) class indices 0..N-1, or -1 for a row without a label.
Labels: TypeAlias = NDArray[np.int64]
#: (N,) weight indices 1..K, one per class.
WeightIndices: TypeAlias = NDArray[np.int64]
#: (N, N) counts, rows true classes, columns predicted classes.
Confusion: TypeAlias = NDArray[np.int64]
#: (N,) or (K,) rates and weights.
Floats: TypeAlias = NDArray[np.float64]
#: Any vector of integers.
Integers: TypeAlias = NDArray[np.int64]

__all__ = [
    "Confusion",
    "Floats",
    "Integers",
    "Labels",
    "Probabilities",
    "WeightIndices",
]
