"""Fits without labels, in the class mix that they assume and in another: `docs/class-mixes.md`.

    python -m benchmarks unlabelled

Tables of four classes. Fitted on draws of the opt halves, scored on draws of the test halves in the
same mix, its shares shuffled over the classes.
"""

from __future__ import annotations

import numpy as np

from benchmarks.mixes import MIXES
from benchmarks.tables import Table, print_markdown
from dnip import fit
from dnip.base.typing import Floats, Integers, Labels
from dnip.method.prediction import decide
from dnip.metrics import accuracy, cobias, confusion_matrix, worst_class_accuracy

FITTED, SCORED, DRAWS = 1_000, 3_000, 8
N_CLASSES = 4


def run(tables: list[Table]) -> None:
    """Print accuracy, COBias and worst class, and what assuming equal shares costs."""
    few = [table for table in tables if table.opt.n_classes == N_CLASSES]
    rows = []
    for name, shares in MIXES.items():
        rng = np.random.default_rng(0)
        mix = np.full(N_CLASSES, 1 / N_CLASSES) if shares is None else np.array(shares)
        scores = np.array([[_draw(table, rng.permutation(mix), rng) for _ in range(DRAWS)]
                           for table in few]).mean(axis=1)  # fmt: skip
        raw, equal, true = scores.transpose(1, 0, 2)
        sides = raw, equal, true, equal - raw, equal - true
        rows.append([name, *map(_shown, sides)])
    print_markdown(
        f"No labels, {FITTED:,} rows: {len(few)} tables of {N_CLASSES} classes, standard errors "
        "over tables",
        [
            "accuracy / COBias / worst class",
            "raw argmax",
            "`--no-labels`",
            "and the true `--target-prior`",
            "equal shares less raw",
            "equal shares less true ones",
        ],
        rows,
    )


def _draw(table: Table, mix: Floats, rng: np.random.Generator) -> list[list[float]]:
    """Return the scores of the raw argmax, of equal shares and of the true ones."""
    opt, test = table.opt.labelled(), table.test.labelled()
    assert opt.labels is not None
    assert test.labels is not None
    p = opt.probabilities[_rows(opt.labels, mix, FITTED, rng)]
    scored = _rows(test.labels, mix, SCORED, rng)
    weights = [np.ones(N_CLASSES)]
    weights += [fit(p, no_labels=True, target_prior=prior).weights for prior in (None, mix)]
    found = []
    for each in weights:
        predicted = decide(test.probabilities[scored], each).astype(np.int64)
        counts = confusion_matrix(test.labels[scored], predicted, N_CLASSES)
        found.append([accuracy(counts), cobias(counts), worst_class_accuracy(counts)])
    return found


def _rows(labels: Labels, mix: Floats, size: int, rng: np.random.Generator) -> Integers:
    """Draw rows with replacement, so that classes have the shares of a mix."""
    counts = np.rint(mix * size).astype(int)
    return np.concatenate(
        [rng.choice(np.flatnonzero(labels == c), n) for c, n in enumerate(counts)]
    )


def _shown(scores: Floats) -> str:
    error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    return " / ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(scores.mean(axis=0), error, strict=True))
