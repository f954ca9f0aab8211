"""Scores after COBias_single in place of COBias."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dnip.studies.reproduction.measures.variants import (
    RAW,
    fit_by,
    raw_scores,
    scores_after,
    usual_objective,
)
from dnip.studies.reproduction.protocol import METHODS, cut

if TYPE_CHECKING:
    from dnip.tables import ProbabilityTable

#: COBias over odd classes, and over all pairs.
GAPS = ("single", "pairwise")


def measure_single(
    opt: ProbabilityTable, test: ProbabilityTable, *, dev_share: float, seed: int
) -> dict[str, Any]:
    """Return scores of the test table: raw, and after either objective by both methods.

    Examples
    --------
    >>> from dnip.studies.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(300, seed=0), bundled_table("test")
    >>> found = measure_single(opt, test, dev_share=0.05, seed=0)
    >>> list(found), list(found["ours"])
    (['raw', 'published', 'ours'], ['single', 'pairwise'])
    """
    rows, _ = cut(opt, dev_share)
    found: dict[str, Any] = {RAW: raw_scores(test)}
    for method in METHODS:
        found[method] = {
            gap: scores_after(
                fit_by(method, rows, seed, replace(usual_objective(method), gap=gap)), test
            )
            for gap in GAPS
        }
    return found
