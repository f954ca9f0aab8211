"""Settings chosen by cross-validation beside the default ones, on few and on more labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable
from dnip.base.errors import DNIPWarning
from dnip.base.typing import Floats, Labels
from dnip.fitting.settings import FitSettings
from dnip.fitting.tuning import Criterion, Grid, Settings
from dnip.fitting.tuning.choice import choose
from dnip.fitting.tuning.trials import Fold, choose_dev_rows, cut, run_trials
from dnip.metrics import accuracy, cobias, confusion_matrix

ALL = 0  # labels: every row of the opt half
DRAWS = {30: 5, 100: 5, 500: 2, ALL: 1}

CRITERIA = {
    "accuracy, then COBias": Criterion("accuracy"),
    "accuracy - 2.7·COBias": Criterion("weighted", {"accuracy": 1, "cobias": 2.7}),
}
# On all labels robust fits hardly differ from plain ones, and take long.
PLAIN = Grid(robust_modes=("off",))
CONFIDENCES = {"": 0.9, ", --confidence 0": 0.0}


class Drawn(NamedTuple):
    """One draw: what all candidates predict on folds, and how their fits do on the test half."""

    labels: tuple[Labels, ...]
    predictions: dict[Settings, tuple[Labels, ...]]
    scores: dict[Settings, Floats]  # accuracy and COBias
    seed: int


def run(tables: list[Table]) -> None:
    """Print what `dnip tune` makes of draws of 4-class tables, less what `dnip fit` does."""
    chosen = [table for table in tables if table.opt.n_classes == 4]
    shared = [table for table in chosen if "bundled" not in table.name] or chosen
    for size, n_draws in DRAWS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DNIPWarning)
            drawn_from = chosen if size == ALL else shared
            draws = [_draw(table, size, seed) for table in drawn_from for seed in range(n_draws)]
        title = f"{'All' if size == ALL else size} labels: {len(drawn_from)} tables of 4 classes"
        grid = PLAIN if size == ALL else Grid()
        how = "--robust off" if size == ALL else f"{n_draws} draws of each"
        _print(draws, f"{title}, {how}", grid)


def _draw(table: Table, size: int, seed: int) -> Drawn:
    few = table.opt if size == ALL else table.opt.draw(size, seed)
    p, y = few.probabilities, few.labels
    assert y is not None
    folds = cut(p, y, choose_dev_rows(y, few.classes, seed))
    grid = PLAIN if size == ALL else Grid()
    candidates = grid.candidates()

    def predict(parts: Sequence[Fold]) -> dict[Settings, tuple[Labels, ...]]:
        none = np.empty((0, few.n_classes))
        return run_trials(candidates, parts, FitSettings(), none).predictions

    assert table.test.labels is not None
    final = predict([Fold(p, y, table.test.probabilities, table.test.labels)])
    return Drawn(
        tuple(fold.dev_labels for fold in folds),
        predict(folds),
        {settings: _scores(table.test, predicted) for settings, (predicted,) in final.items()},
        seed,
    )


def _scores(test: ProbabilityTable, predicted: Labels) -> Floats:
    assert test.labels is not None
    confusion = confusion_matrix(test.labels, predicted, test.n_classes)
    return np.array([accuracy(confusion), cobias(confusion)])


def _print(draws: list[Drawn], title: str, grid: Grid) -> None:
    usual = grid.candidates()[0]
    plain = np.array([drawn.scores[usual] for drawn in draws])
    rows = [["default settings", *[f"{value:.3f}" for value in plain.mean(axis=0)], "", ""]]
    for name, criterion in CRITERIA.items():
        for confidence_name, confidence in CONFIDENCES.items():
            picked = [_choose(drawn, criterion, grid, confidence) for drawn in draws]
            found = np.array([d.scores[s] for d, s in zip(draws, picked, strict=True)])
            weights = criterion.steps[0]
            worth = [weights.get("accuracy", 0.0), -weights.get("cobias", 0.0)]
            gains = (found - plain) @ worth
            error = gains.std() / np.sqrt(len(gains))
            left = np.mean([settings != usual for settings in picked])
            rows.append(
                [
                    f"{name}{confidence_name}",
                    *[f"{value:.3f}" for value in found.mean(axis=0)],
                    f"{gains.mean():+.4f} ± {error:.4f}",
                    f"{left:.0%}",
                ]
            )
    print_markdown(
        f"{title} (test halves)",
        ["criterion", "accuracy", "COBias", "gain in the criterion", "defaults left"],
        rows,
    )


def _choose(drawn: Drawn, criterion: Criterion, grid: Grid, confidence: float) -> Settings:
    offered = {settings: drawn.predictions[settings] for settings in grid.candidates()}
    return choose(
        drawn.labels, offered, criterion, 4, seed=drawn.seed, confidence=confidence
    ).chosen
