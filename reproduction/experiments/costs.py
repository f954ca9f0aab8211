"""What a search costs: kernels are compiled before a clock runs, and cost grows with size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dnip.fitting.settings import AUTHORS, PAPER
from dnip.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.tables import ProbabilityTable

#: An exponent needs as many different sizes.
LEAST_SIZES = 3
# Rows and seconds of a rehearsal: enough to reach every kernel of the exact solver.
_FEW_ROWS, _FEW_SECONDS = 60, 5.0


def rehearse(rows: ProbabilityTable) -> None:
    """Run every solver on a few rows, so that nothing is loaded while a clock runs.

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> rehearse(bundled_table("opt"))
    """
    few = rows.draw(min(len(rows), max(_FEW_ROWS, rows.n_classes)), seed=0)
    assert few.labels is not None
    for solver in (AUTHORS.solver, PAPER.solver, "coordinate", "exact"):
        solve(
            few.probabilities,
            few.labels,
            PAPER.objective,
            scale=PAPER.scale,
            solver=solver,
            time_limit=_FEW_SECONDS,
            classes=rows.classes,
        )


def power_law(sizes: Sequence[float], costs: Sequence[float]) -> tuple[float, float]:
    """Return exponent and correlation of a line through the logarithms; nan where there is none.

    Examples
    --------
    >>> exponent, correlation = power_law([1, 10, 100], [3, 300, 30000])
    >>> round(exponent, 6), round(correlation, 6)
    (2.0, 1.0)
    """
    if len(set(sizes)) < 2 or min(costs) <= 0:
        return math.nan, math.nan
    x, y = np.log(sizes), np.log(costs)
    exponent = float(np.polyfit(x, y, 1)[0])
    return exponent, float(np.corrcoef(x, y)[0, 1]) if np.ptp(y) > 0 else math.nan
