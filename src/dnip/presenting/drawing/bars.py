"""Bars: the accuracy of every class, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnip.base.escaping import literal
from dnip.base.typing import Confusion
from dnip.metrics import accuracy, class_accuracies, cobias
from dnip.presenting.artefacts import Figure
from dnip.presenting.drawing.style import FIXED, INK, tidy
from dnip.tables.evaluation import Evaluation

# Bars above which their values are not written.
_MOST_LABELLED = 24


def class_accuracy_figure(evaluation: Evaluation) -> Figure:
    """Return the accuracy of every class before and after, with accuracy and COBias above."""
    width = min(15.0, max(7.0, 2.0 + 0.6 * len(evaluation.classes)))

    def draw(figure: Any) -> None:  # noqa: ANN401 - the library's own type
        axes = figure.subplots()
        draw_class_accuracies(axes, evaluation)
        handles, sides = axes.get_legend_handles_labels()
        figure.legend(handles, sides, loc="outside lower center", frameon=False, ncols=len(sides))

    return Figure("class-accuracies", "", draw, (width, 3.6))


def draw_class_accuracies(axes: Any, evaluation: Evaluation) -> None:  # noqa: ANN401
    """Draw a bar for each class and side into one set of axes."""
    sides, names = evaluation.sides, [literal(name) for name in evaluation.classes]
    at, share = np.arange(len(names), dtype=float), 0.84 / len(sides)
    for place, (side, counts) in enumerate(sides.items()):
        shift = (place - (len(sides) - 1) / 2) * share
        rates = 100 * class_accuracies(counts)
        bars = axes.bar(at + shift, rates, share * 0.92, color=FIXED[side], label=side)
        if len(sides) * len(names) <= _MOST_LABELLED:
            shown = ["" if np.isnan(rate) else f"{rate:.1f}" for rate in rates]
            axes.bar_label(bars, shown, fontsize=7, padding=2, color=INK)
            axes.margins(y=0.12)
    axes.set_ylabel("class accuracy, %")
    is_crowded = 0.06 * max(map(len, names)) * len(names) > axes.figure.get_figwidth()
    axes.set_xticks(at, names, fontsize=7.5, rotation=90 if is_crowded else 0)
    axes.set_xlim(-0.6, len(names) - 0.4)
    lines = [score_line(evaluation, side, counts) for side, counts in sides.items()]
    axes.set_title("\n".join(lines), fontsize=10, loc="left")
    tidy(axes)


def score_line(evaluation: Evaluation, side: str, counts: Confusion) -> str:
    """Return accuracy and COBias of one side of an evaluation."""
    right = accuracy(evaluation.in_population(counts))
    name = f"{side}: " if len(evaluation.sides) > 1 else ""
    return f"{name}accuracy {right:.3f}, COBias {cobias(counts):.3f}"
