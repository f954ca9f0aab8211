"""What each setting does: averages over the test halves of the 4-class language-model tables."""

from __future__ import annotations

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Objective, ProbabilityTable
from dnip.fitting.fit import fit_table
from dnip.fitting.record import Fit
from dnip.method.scales import DEFAULT_SCALE
from dnip.metrics import scores
from dnip.tables.evaluation import evaluate

LABELS = 500
DRAWS = 5


def run(tables: list[Table]) -> None:
    """Print the table: one setting changed at a time, on all labels and on draws of 500."""
    chosen = [table for table in tables if table.opt.n_classes == 4]
    variants: dict[str, tuple[Objective, int | str]] = {"default": (Objective(), DEFAULT_SCALE)}
    for beta in (0.0, 0.5, 1.0, 10.0):
        variants[f"β = {beta:g}"] = (Objective(beta=beta), DEFAULT_SCALE)
    for tau in (0.2, 1.0):
        variants[f"τ = {tau:g}"] = (Objective(tau=tau), DEFAULT_SCALE)
    variants["published, μ = 4000"] = (Objective.published(), DEFAULT_SCALE)
    variants["COBias_single"] = (Objective(gap="single"), DEFAULT_SCALE)
    for k in (10, 30, 300):
        variants[f"K = {k}"] = (Objective(), k)
    raw = np.mean([_scores(test, None) for _, _, test in chosen], axis=0)
    rows = [["raw argmax", *[f"{value:.3f}" for value in (*raw, *raw)]]]
    for name, (objective, scale) in variants.items():
        whole, drawn = [], []
        for _, opt, test in chosen:
            whole.append(_scores(test, fit_table(opt, objective, scale=scale, robust="off")))
            for seed in range(DRAWS):
                few = opt.draw(LABELS, seed)
                drawn.append(_scores(test, fit_table(few, objective, scale=scale, robust="off")))
        rows.append(
            [name, *[f"{v:.3f}" for v in (*np.mean(whole, axis=0), *np.mean(drawn, axis=0))]]
        )
    print_markdown(
        f"Settings, averages over {len(chosen)} tables of 4 classes (test halves)",
        ["setting", "accuracy, all labels", "COBias", "accuracy, 500 labels", "COBias"],
        rows,
    )


def _scores(test: ProbabilityTable, fitted: Fit | None) -> tuple[float, float]:
    evaluation = evaluate([test], coefficients=None if fitted is None else fitted.coefficients)
    confusion = evaluation.raw if evaluation.reweighted is None else evaluation.reweighted
    summary = scores(confusion)
    return summary["accuracy"], summary["cobias"]
