"""Table 1: a confusion matrix, with over- and under-predicted classes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.escaping import literal
from dnip.presenting.artefacts import Column, Figure, Table
from dnip.presenting.drawing.style import INK
from reproduction.degenerate import never_predicted
from reproduction.experiment import Artefact, Claim, Experiment
from reproduction.methods import PICTURED, RAW, TITLES, debias_cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from dnip.presenting.artefacts import Row, Value
    from reproduction.cell import Cell
    from reproduction.results import CellResult, Results
    from reproduction.sources import Sources


# Above this share of a row of the picture the ink is white.
_DARK = 0.55
# A matrix of more classes cannot be read.
_MOST_CLASSES = 10
# Ratios of predicted to true that count as over- and under-prediction.
_OVER, _UNDER = 1.25, 0.8


class ConfusionMatrix(Experiment):
    """Confusion matrices, raw and reweighted; that of one task is shown."""

    name = "confusion"
    title = "Confusion matrix: over- and under-predicted classes"
    paper = "Table 1"

    class Options(Experiment.Options):
        """The task whose matrix is shown, where the plan has it."""

        task: str = "agnews"

    options: Options

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return a cell for each source of the first seed."""
        return [debias_cell(self, source) for source in sources.first_seed()]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return one matrix of the raw argmax, and one for each method."""
        if not len(results):
            return []
        row = self._shown(results)
        classes = row.result["classes"]
        about = f"{row.labels['model']} on {row.labels['task']}"
        artefacts: list[Artefact] = []
        for way, title in TITLES.items():
            name = self.name if way == RAW else f"{self.name}-{way}"
            artefacts.append(_table(name, f"{about}, {title}", classes, row.result[way]))
        if len(classes) <= _MOST_CLASSES:
            counts = {t: row.result[way]["confusion"] for way, t in PICTURED.items()}
            artefacts.append(confusion_figure(self.name, f"{self.title}: {about}", counts, classes))
        return [*artefacts, _judge(row, results)]

    def _shown(self, results: Results) -> CellResult:
        """Return the task that is asked for, else one whose matrix can be read."""
        rows = list(results.where(task=self.options.task))
        return (rows or sorted(results, key=_is_unreadable))[0]


def _is_unreadable(row: CellResult) -> bool:
    return not 2 < len(row.result["classes"]) <= _MOST_CLASSES


def _table(name: str, what: str, classes: Sequence[str], scored: dict[str, Any]) -> Table:
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
        name,
        f"{ConfusionMatrix.title}: {what}",
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


def confusion_figure(
    name: str,
    title: str,
    matrices: Mapping[str, ArrayLike],
    classes: Sequence[str],
    *,
    caption: str = "",
) -> Figure:
    """Return confusion counts, each on a shade for its share of the true class.

    Rows are true classes, columns predicted ones. Below each column stands how often the class is
    predicted relative to how often it is true.

    Parameters
    ----------
    name, title, caption : str
        As for :class:`~dnip.presenting.artefacts.Figure`.
    matrices : mapping of str to array-like of shape (N, N)
        By the heading of the panel.
    classes : sequence of str
    """
    side = max(2.9, 0.55 * len(classes))
    size = (0.9 + side * len(matrices), 1.2 + side)
    draw = partial(_draw, matrices=matrices, classes=classes)
    return Figure(name, title, draw, size, caption)


def _draw(
    figure: Any,  # noqa: ANN401 - the library's own type
    matrices: Mapping[str, ArrayLike],
    classes: Sequence[str],
) -> None:
    n = len(classes)
    classes = [literal(name) for name in classes]
    panels = figure.subplots(1, len(matrices), sharey=True, squeeze=False)[0]
    for axes, (heading, matrix) in zip(panels, matrices.items(), strict=True):
        counts = np.asarray(matrix)
        true = counts.sum(axis=1)
        shares = counts / np.maximum(true, 1)[:, None]
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for (i, j), count in np.ndenumerate(counts):
            ink = "white" if shares[i, j] > _DARK else INK
            axes.text(j, i, f"{count:,}", ha="center", va="center", fontsize=8, color=ink)
        ratios = counts.sum(axis=0) / np.maximum(true, 1)
        ticks = [f"{name}\n{ratio:.2f}×" for name, ratio in zip(classes, ratios, strict=True)]
        axes.set_xticks(range(n), ticks, fontsize=8, rotation=0 if n <= 6 else 90)
        axes.set_yticks(range(n), classes, fontsize=8)
        axes.set_xlabel("predicted, and how often relative to true")
        axes.set_title(literal(heading), fontsize=9.5, loc="left")
    panels[0].set_ylabel("true")
