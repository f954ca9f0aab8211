"""Densities of the probability that each class's own examples give it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.deploying.evaluation import evaluate
from dnip.metrics import confusion_matrix, scores
from dnip.studies.reproduction.measures.kernel_density import density
from dnip.studies.reproduction.measures.variants import RAW, fit_by
from dnip.studies.reproduction.protocol import METHODS, cut

if TYPE_CHECKING:
    from dnip.base.typing import Labels, Probabilities
    from dnip.tables import ProbabilityTable


def measure_densities(
    opt: ProbabilityTable, test: ProbabilityTable, *, dev_share: float, seed: int
) -> dict[str, Any]:
    """Return a density, a median and an accuracy per class: raw, published and ours.

    Reweighted probabilities are normalised to sum 1 per row. The densities are counted at 201
    even points from 0 to 1.

    Examples
    --------
    >>> from dnip.studies.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(300, seed=0), bundled_table("test")
    >>> found = measure_densities(opt, test, dev_share=0.05, seed=0)
    >>> [len(curve) for curve in found["raw"]["densities"]]
    [201, 201, 201, 201]
    """
    fitted_on, _ = cut(opt, dev_share)
    rows = test.labelled()
    evaluate([rows])  # which refuses rows of a single class
    p = rows.probabilities
    found: dict[str, Any] = {"classes": list(rows.classes)}
    found[RAW] = _by_class(rows, p, p.argmax(axis=1))
    for method in METHODS:
        fitted = fit_by(method, fitted_on, seed)
        after = _by_class(rows, fitted.coefficients.apply(p), fitted.coefficients.predict(p))
        found[method] = {**after, "weight_indices": fitted.solution.weight_indices.tolist()}
    return found


def _by_class(
    rows: ProbabilityTable, probabilities: Probabilities, predictions: Labels
) -> dict[str, Any]:
    labels = rows.labels
    assert labels is not None
    true = probabilities[np.arange(len(rows)), labels]
    of_class = [true[labels == c] for c in range(rows.n_classes)]
    return {
        "densities": [density(p).round(4).tolist() if len(p) else None for p in of_class],
        "medians": [float(np.median(p)) if len(p) else None for p in of_class],
        **scores(confusion_matrix(labels, predictions, rows.n_classes)),
    }
