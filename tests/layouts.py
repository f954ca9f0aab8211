"""Lay rows out in a layout of the test's choice, where the package would take the cheaper one."""

import numpy as np
import pytest

from dnip.method.scales import WeightScale
from dnip.solvers.kernels import rows
from dnip.solvers.landscape import _levels_of

#: What a dense row costs.
LAYOUTS = {"dense": -1e300, "sparse": 1e300}

each_layout = pytest.mark.parametrize("layout", list(LAYOUTS))


def take_layout(patch, layout):
    """Make the package lay all rows out in a layout."""
    patch.setattr(rows, "DENSE_ROW", LAYOUTS[layout])


def lay_out_as(layout, p, labels, mass, scale):
    """Return rows in a layout."""
    with pytest.MonkeyPatch.context() as patch:
        take_layout(patch, layout)
        found = rows.Rows(p, labels, mass, _levels_of(scale))
    if found.n_rows:
        assert found.is_dense == (layout == "dense")
    return found


def walk(flips, origin, target, confusion, predicted):
    """Change the counts, in place, as the class of the line goes from one index to another."""
    sign = 1 if origin < target else -1
    low, high = sorted((origin, target))
    for position, true, rival, winner, size in zip(
        *(a[: flips.n] for a in flips.fields), strict=True
    ):
        if low < position <= high:
            leaves, enters = (rival, winner) if sign > 0 else (winner, rival)
            for counts in (confusion[true], predicted):
                counts[leaves] -= size
                counts[enters] += size


def weights_of(scale, indices):
    """What indices multiply probabilities by, for the oracles."""
    return WeightScale.of(scale).multipliers(np.asarray(indices, np.int64))
