"""Fits on small draws of the opt rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.fitting.fit import fit_table
from dnip.method.objective import Objective
from dnip.solvers import Anneal
from dnip.studies.reproduction.protocol import PUBLISHED, cut, score_before_and_after

if TYPE_CHECKING:
    from dnip.tables import ProbabilityTable

#: The size of the whole pool.
FULL = 0
# Unlabelled rows beside a small set that ours may look at.
_UNLABELLED = 1000


def debias_on_draw(
    opt: ProbabilityTable,
    test: ProbabilityTable,
    *,
    method: str,
    size: int,
    dev_share: float,
    seed: int,
) -> dict[str, Any]:
    """Fit on a draw of the opt rows and score the test table before and after.

    Up to 100 rows are drawn class-balanced, more uniformly. "published" is annealing under the
    published settings, for choosing them would take more labels than the draw has; "ours" also sees
    the probabilities of other rows of the pool, without their labels.
    """
    whole, _ = cut(opt, dev_share)
    drawn, others = (whole, None) if size == FULL else _draw(whole, size, seed)
    if method == PUBLISHED:
        fitted = fit_table(drawn, Objective.published(), robust="off", solver=Anneal(), seed=seed)
    else:
        fitted = fit_table(drawn, unlabelled=others, seed=seed)
    return {
        **score_before_and_after(test, fitted.coefficients),
        "n_opt": len(drawn),
        "weight_indices": fitted.solution.weight_indices.tolist(),
    }


def _draw(
    whole: ProbabilityTable, size: int, seed: int
) -> tuple[ProbabilityTable, ProbabilityTable]:
    """Return a draw, and up to 1,000 of the other rows."""
    drawn = whole.draw(size, seed)
    ids = set(drawn.ids.tolist()) if drawn.ids is not None else set()
    others = [row for row in range(len(whole)) if whole.ids is None or whole.ids[row] not in ids]
    chosen = np.random.default_rng(seed).permutation(others)[:_UNLABELLED]
    return drawn, whole.take(np.sort(chosen))
