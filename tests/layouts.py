"""Lay rows out in a layout of the test's choice, where `lay_out` would take the cheaper one."""

import numpy as np
import pytest

from dnip.method.scales import WeightScale
from dnip.solvers.kernels import flips, rows
from dnip.solvers.kernels.rows import DenseRows, SparseRows
from dnip.solvers.levels import levels_of

#: Whether rows are dense, and how many cells of a tally are worth a row: their flips are tallied
#: or listed.
LAYOUTS = {"dense": (True, 1e300), "dense, listed": (True, 0), "sparse": (False, 0)}

each_layout = pytest.mark.parametrize("layout", list(LAYOUTS))


def lay_out_as(layout, p, labels, mass, scale):
    """Return rows in a layout, and a workspace for them."""
    levels = levels_of(scale)
    with pytest.MonkeyPatch.context() as patch:
        dense, cells_per_row = LAYOUTS[layout]
        patch.setattr(rows, "prefers_dense", lambda _: dense)
        patch.setattr(flips, "_CELLS_PER_ROW", cells_per_row)
        laid_out = rows.lay_out(p, labels, mass, levels.span)
        workspace = flips.new_workspace(laid_out, levels.size)
    assert isinstance(laid_out, DenseRows if dense else SparseRows)
    assert (len(workspace.tally) > 0) == (layout == "dense" and len(laid_out.label) > 0)
    return laid_out, workspace


def weights_of(scale, indices):
    """What indices multiply probabilities by, for the oracles."""
    return WeightScale.of(scale).multipliers(np.asarray(indices, np.int64))
