"""Table 1: a confusion matrix, with over- and under-predicted classes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnip.base.escaping import literal
from dnip.presenting.artefacts import Column, Figure, Table
from dnip.presenting.drawing.style import INK
from reproduction.degenerate import never_predicted
from reproduction.experiment import Artefact, Claim, Experiment
from reproduction.methods import PICTURED, RAW, debias_cell
from reproduction.published import published

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnip.base.typing import Floats
    from dnip.presenting.artefacts import Row, Value
    from reproduction.cell import Cell
    from reproduction.results import CellResult, Results
    from reproduction.sources import Sources

# Above this share the ink on a shade is white.
_DARK = 0.55
# Pictures of more classes cannot be read.
_MOST_CLASSES = 10
# Sizes of a picture: its sides at least, a cell, a letter.
_LEAST_INCHES, _CELL_INCHES, _LETTER_INCHES = 2.9, 0.55, 0.068
# Ratios of predicted to true that count as over- and under-prediction.
_OVER, _UNDER = 1.25, 0.8


class ShownTask(Experiment):
    """Raw and reweighted answers of the first seed, those of one task shown in full."""

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return a cell for each source of the first seed."""
        return [
            debias_cell(self, source, {"order": list(source.shown)})
            for source in sources.first_seed()
        ]

    def shown(self, results: Results) -> tuple[str, CellResult]:
        """Return the paper's task, else the most unequal one that can be read."""
        paper = published(self.name).numbers["task"]

        def worth(titled: tuple[str, CellResult]) -> tuple[bool, bool, float]:
            _, row = titled
            readable = 2 < len(row.result["classes"]) <= _MOST_CLASSES
            return row.labels["task"] == paper, readable, row.result[RAW]["cobias"]

        return max(results.titled(), key=worth)


class ConfusionMatrix(ShownTask):
    """Confusion matrices, raw and reweighted; that of one task is shown."""

    name = "confusion"
    title = "Confusion matrix: over- and under-predicted classes"
    paper = "Table 1"

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return the matrix of the raw argmax, and its picture beside those of methods."""
        if not len(results):
            return []
        task, row = self.shown(results)
        about = f"{self.title}: {row.labels['model']} on {task}"
        matrices = {t: _matrix(row.result[way]["confusion"]) for way, t in PICTURED.items()}
        caption = "Below a class: how often it is predicted, relative to how often it is true."
        figures = matrix_figures(self.name, about, matrices, row.result["classes"], caption)
        return [_table(f"{about}, raw argmax", row), *figures, _judge(row, results)]


def _table(title: str, row: CellResult) -> Table:
    classes, scored = row.result["classes"], row.result[RAW]
    counts = scored["confusion"]
    predicted = [sum(column) for column in zip(*counts, strict=True)]
    precisions: list[Value] = [counts[c][c] / n if n else None for c, n in enumerate(predicted)]
    rows: list[Row] = [
        (label, *of_class, sum(of_class), accuracy)
        for label, of_class, accuracy in zip(
            classes, counts, scored["class_accuracies"], strict=True
        )
    ]
    rows += [
        ("All", *predicted, sum(predicted), None),
        ("Prec.", *precisions, None, None),
        ("Predicted / true", *scored["prediction_ratios"], None, None),
    ]
    return Table(
        ConfusionMatrix.name,
        title,
        [
            Column("True"),
            *(Column(label, digits=2, group="Predicted") for label in classes),
            Column("All"),
            Column("Acc.", digits=2),
        ],
        rows,
        caption=f"Accuracy {scored['accuracy']:.3f}, COBias {scored['cobias']:.3f}; never "
        f"predicted: {never_predicted([scored])}.",
    )


def _judge(shown: CellResult, results: Results) -> Claim:
    """Say on how many tasks some class is over-predicted while another starves."""
    (most, over), (least, under) = _extremes(shown)
    found = [_extremes(row) for row in results]
    uneven = sum(high > _OVER and low < _UNDER for (_, high), (_, low) in found)
    return Claim(
        "The raw argmax over-predicts some class and under-predicts another",
        "predicted / true: Business 1.77, Tech 0.20",
        f"predicted / true: {most} {over:.2f}, {least} {under:.2f} ({shown.labels['task']}). "
        f"One above {_OVER} and one below {_UNDER} on {uneven} of {len(found)} tasks; more than "
        "half is asked for",
        uneven > len(found) / 2,
    )


def _extremes(row: CellResult) -> list[tuple[str, float]]:
    """Return the class with the highest ratio of predicted to true, and that with the lowest."""
    named = zip(row.result["classes"], row.result[RAW]["prediction_ratios"], strict=True)
    ratios = [(str(name), ratio) for name, ratio in named if ratio is not None]
    return [pick(ratios, key=lambda one: one[1]) for pick in (max, min)]


class Matrix(NamedTuple):
    """What stands in the cells of a picture, their shades from 0 to 1, and words below columns."""

    values: Floats
    shades: Floats
    below: Sequence[str]


def _matrix(confusion: Sequence[Sequence[int]]) -> Matrix:
    """Return confusion counts, shaded by their share of the true class."""
    counts = np.asarray(confusion)
    true = np.maximum(counts.sum(axis=1), 1)
    return Matrix(counts, counts / true[:, None], [f"{r:.2f}×" for r in counts.sum(axis=0) / true])


def matrix_figures(
    name: str, title: str, matrices: Mapping[str, Matrix], classes: Sequence[str], caption: str
) -> list[Figure]:
    """Return a picture of numbers by pairs of classes, or none of more than can be read."""
    if len(classes) > _MOST_CLASSES:
        return []
    side = max(_LEAST_INCHES, _CELL_INCHES * len(classes))
    longest = _LETTER_INCHES * max(map(len, classes))
    turned = longest > side / len(classes)
    size = (0.9 + side * len(matrices), 1.2 + side + turned * longest)
    draw = partial(_draw, matrices=matrices, classes=list(map(literal, classes)), turned=turned)
    return [Figure(name, title, draw, size, caption)]


def _draw(
    figure: Any,  # noqa: ANN401 - the library's own type
    matrices: Mapping[str, Matrix],
    classes: Sequence[str],
    *,
    turned: bool,
) -> None:
    n = len(classes)
    panels = figure.subplots(1, len(matrices), sharey=True, squeeze=False)[0]
    for axes, (heading, (values, shades, below)) in zip(panels, matrices.items(), strict=True):
        axes.imshow(shades, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for (i, j), value in np.ndenumerate(values):
            ink = "white" if shades[i, j] > _DARK else INK
            axes.text(j, i, f"{value:,.0f}", ha="center", va="center", fontsize=8, color=ink)
        ticks = [f"{name}\n{words}" for name, words in zip(classes, below, strict=True)]
        axes.set_xticks(range(n), ticks, fontsize=8, rotation=90 if turned else 0)
        axes.set_yticks(range(n), classes, fontsize=8)
        axes.set_title(literal(heading), fontsize=9.5, loc="left")
