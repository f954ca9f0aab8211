"""Lay rows out in a layout of the test's choice, where `lay_out` would take the cheaper one."""

import pytest

from dnip.kernels import rows
from dnip.kernels.rows import DenseRows, SparseRows

LAYOUTS = {"dense": DenseRows, "sparse": SparseRows}

each_layout = pytest.mark.parametrize("layout", list(LAYOUTS))


def lay_out_as(layout, p, labels, mass, scale):
    """`lay_out` with the price of the other layout raised out of reach."""
    with pytest.MonkeyPatch.context() as patch:
        if layout == "dense":
            patch.setattr(rows, "_SPARSE_ROW", 1e300)
        else:
            patch.setattr(rows, "_LARGEST_TALLY", 0)
        laid_out = rows.lay_out(p, labels, mass, scale)
    assert isinstance(laid_out, LAYOUTS[layout])
    return laid_out
