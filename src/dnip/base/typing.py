"""Array aliases that carry their shapes.

M is the number of examples, N the number of classes, K the weight scale.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

#: (M, N) class probabilities, float64, rows summing to 1.
Probabilities: TypeAlias = NDArray[np.float64]
#: (M,) class indices 0..N-1; in tables, -1 for a row without a label.
Labels: TypeAlias = NDArray[np.int64]
#: (N,) weight indices 1..K, one per class.
WeightIndices: TypeAlias = NDArray[np.int64]
#: (N, N) counts, rows true classes, columns predicted classes.
Confusion: TypeAlias = NDArray[np.int64]
#: (N, N) counts of examples: whole numbers, or sums of fractional sample weights.
Counts: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
#: A vector of rates, weights or values.
Floats: TypeAlias = NDArray[np.float64]
#: A vector of whole numbers.
Integers: TypeAlias = NDArray[np.int64]
#: A vector of yes and no.
Booleans: TypeAlias = NDArray[np.bool_]
