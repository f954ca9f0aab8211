"""Lay rows out in a layout of the test's choice, where the package would take the cheaper one."""

import numpy as np
import pytest

from dnip.method.scales import WeightScale
from dnip.solvers.kernels import rows
from dnip.solvers.landscape import _levels_of

#: What a dense row costs, and how many cells of a tally are worth a row: their flips are tallied or
#: listed.
LAYOUTS = {"dense": (-1e300, 1e300), "dense, listed": (-1e300, 0), "sparse": (1e300, 0)}

each_layout = pytest.mark.parametrize("layout", list(LAYOUTS))


def take_layout(patch, layout):
    """Make the package lay all rows out in a layout."""
    dense_row, cells_per_row = LAYOUTS[layout]
    patch.setattr(rows, "DENSE_ROW", dense_row)
    patch.setattr(rows, "CELLS_PER_ROW", cells_per_row)


def lay_out_as(layout, p, labels, mass, scale):
    """Return rows in a layout."""
    with pytest.MonkeyPatch.context() as patch:
        take_layout(patch, layout)
        found = rows.Rows(p, labels, mass, _levels_of(scale))
    if found.n_rows:
        assert found.layout == layout
    return found


def weights_of(scale, indices):
    """What indices multiply probabilities by, for the oracles."""
    return WeightScale.of(scale).multipliers(np.asarray(indices, np.int64))
