"""Table 1: a confusion matrix, with over- and under-predicted classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.presenting.artefacts import Column, Statement, Table
from dnip.presenting.drawing import confusion_figure
from dnip.studies.reproduction.degenerate import never_predicted
from dnip.studies.reproduction.experiment import Experiment
from dnip.studies.reproduction.methods import PICTURED, RAW, TITLES, debias_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact, Row, Value
    from dnip.studies.reproduction.cell import Cell
    from dnip.studies.reproduction.results import CellResult, Results
    from dnip.studies.reproduction.sources import Sources


# A matrix of more classes cannot be read.
_MOST_CLASSES = 10
# Ratios of predicted to true that count as over- and under-prediction.
_OVER, _UNDER = 1.25, 0.8


class ConfusionMatrix(Experiment):
    """The confusion matrix of one task, raw and reweighted."""

    name = "confusion"
    title = "Confusion matrix: over- and under-predicted classes"
    paper = "Table 1"

    class Options(Experiment.Options):
        """The task whose matrix is shown, where the plan has it."""

        task: str = "agnews"

    options: Options

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return a cell on 1-shot prompts of the first seed."""
        rows = sources.first_seed()
        chosen = [row for row in rows if row.task == self.options.task]
        if not chosen:  # a matrix that can be read, if there is one
            chosen = sorted(rows, key=lambda row: not 2 < len(row.classes) <= _MOST_CLASSES)[:1]
        return [debias_cell(self, source) for source in chosen]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return one matrix of the raw argmax, and one for each method."""
        artefacts: list[Artefact] = []
        for number, row in enumerate(results, start=1):
            suffix = "" if number == 1 else f"-{number}"
            classes = row.result["classes"]
            about = f"{row.labels['model']} on {row.labels['task']}"
            for way, title in TITLES.items():
                name = self.name if way == RAW else f"{self.name}-{way}"
                what = f"{about}, {title}"
                artefacts.append(_table(f"{name}{suffix}", what, classes, row.result[way]))
            if len(classes) <= _MOST_CLASSES:
                counts = {t: row.result[way]["confusion"] for way, t in PICTURED.items()}
                title = f"{self.title}: {about}"
                artefacts.append(confusion_figure(f"{self.name}{suffix}", title, counts, classes))
            artefacts.append(_judge(row))
        return artefacts


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


def _judge(row: CellResult) -> Statement:
    """Say whether some class is over-predicted while another starves."""
    named = zip(row.result["classes"], row.result[RAW]["prediction_ratios"], strict=True)
    ratios = {name: ratio for name, ratio in named if ratio is not None}
    most, least = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
    return Statement(
        "The raw argmax over-predicts some class and under-predicts another",
        "predicted / true: Business 1.77, Tech 0.20",
        f"predicted / true: {most} {ratios[most]:.2f}, {least} {ratios[least]:.2f} "
        f"({row.labels['task']})",
        ratios[most] > _OVER and ratios[least] < _UNDER,
    )
