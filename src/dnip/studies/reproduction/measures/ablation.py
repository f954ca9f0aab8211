"""Scores after each of the seven objectives."""

from __future__ import annotations

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


def measure_ablation(
    opt: ProbabilityTable, test: ProbabilityTable, *, dev_share: float, seed: int
) -> dict[str, Any]:
    """Return scores of the test table: raw, and after each objective by both methods.

    Examples
    --------
    >>> from dnip.studies.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(300, seed=0), bundled_table("test")
    >>> found = measure_ablation(opt, test, dev_share=0.05, seed=0)
    >>> list(found["published"])
    ['z1', 'z2', 'z3', 'z1+z2', 'z1-z3', 'z2-z3', 'z1+z2-z3']
    """
    rows, _ = cut(opt, dev_share)
    found: dict[str, Any] = {RAW: raw_scores(test)}
    for method in METHODS:
        found[method] = {
            name: scores_after(fit_by(method, rows, seed, objective), test)
            for name, objective in usual_objective(method).ablations().items()
        }
    return found
