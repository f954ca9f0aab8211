"""Accuracy and COBias on the test half, before and after a default fit on the opt half."""

from __future__ import annotations

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip.fitting.fit import fit
from dnip.metrics import scores
from dnip.using.evaluation import evaluate


def run(tables: list[Table]) -> None:
    """Print the table, and check the prediction rule on every row of both halves."""
    rows = []
    for name, opt, test in tables:
        coefficients = fit(opt).coefficients
        for half in (opt, test):
            expected = np.argmax(coefficients.multipliers * half.probabilities, axis=1)
            predicted = coefficients.predict(half.probabilities)
            assert (predicted == np.array(half.classes)[expected]).all()
        evaluation = evaluate([test], coefficients=coefficients)
        assert evaluation.reweighted is not None
        before, after = scores(evaluation.raw), scores(evaluation.reweighted)
        row = [name, f"{test.n_classes}"]
        for metric in ("accuracy", "cobias", "worst_class_accuracy"):
            row += [f"{before[metric]:.3f}", f"{after[metric]:.3f}"]
        rows.append(row)
    print_markdown(
        "Test half, before and after (default settings)",
        ["table", "N", "accuracy", "after", "COBias", "after", "worst class", "after"],
        rows,
    )
