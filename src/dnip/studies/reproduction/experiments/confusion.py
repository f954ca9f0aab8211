"""Table 1: a confusion matrix, with over- and under-predicted classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.presenting.artefacts import Column, Row, Statement, Table
from dnip.presenting.drawing import confusion_figure
from dnip.studies.reproduction.experiment import Experiment
from dnip.studies.reproduction.methods import debias_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact, Figure, Value
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
        """Return both methods on 1-shot prompts of the first seed."""
        rows = sources.first_seed()
        chosen = [row for row in rows if row.task == self.options.task]
        if not chosen:  # a matrix that can be read, if there is one
            chosen = sorted(rows, key=lambda row: not 2 < len(row.classes) <= _MOST_CLASSES)[:1]
        return [cell for source in chosen for cell in debias_cells(self, source, {})]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return one matrix of the raw argmax, and one for each method."""
        tables: list[Artefact] = []
        for name, found in results.by_model(self.name):
            first = found.rows[0]
            tables.append(self._matrix(first, "raw", name, "raw argmax"))
            for row in found:
                method = str(row.labels["method"])
                of_method = name.replace(self.name, f"{self.name}-{method}")
                tables.append(self._matrix(row, "reweighted", of_method, f"after DNIP, {method}"))
            if len(first.result["classes"]) <= _MOST_CLASSES:
                tables.append(self._picture(found, name))
            tables.append(_judge(first))
        return tables

    def _picture(self, found: Results, name: str) -> Figure:
        first = found.rows[0]
        matrices = {"raw argmax": first.result["raw"]["confusion"]}
        for row in found:
            method = row.labels["method"]
            matrices[f"after DNIP, {method}"] = row.result["reweighted"]["confusion"]
        title = f"{self.title}: {first.labels['model']} on {first.labels['task']}"
        classes = first.result["classes"]
        return confusion_figure(name, title, matrices, classes, paper=self.paper)

    def _matrix(self, row: CellResult, when: str, name: str, what: str) -> Table:
        classes, scored = row.result["classes"], row.result[when]
        counts = scored["confusion"]
        predicted = [sum(column) for column in zip(*counts, strict=True)]
        right = [counts[i][i] for i in range(len(classes))]
        lines: list[tuple[Value, ...]] = [
            (label, *of_class, sum(of_class), scored["class_accuracies"][i])
            for i, (label, of_class) in enumerate(zip(classes, counts, strict=True))
        ]
        lines.append(("All", *predicted, sum(predicted), None))
        lines.append(
            (
                "Prec.",
                *(r / n if n else None for r, n in zip(right, predicted, strict=True)),
                None,
                None,
            )
        )
        lines.append(("Predicted / true", *scored["prediction_ratios"], None, None))
        return Table(
            name,
            f"{self.title}, {what}",
            [
                Column("True"),
                *(Column(label, digits=2, group="Predicted") for label in classes),
                Column("All"),
                Column("Acc.", digits=2),
            ],
            [Row(values) for values in lines],
            caption=f"{row.labels['model']} on {row.labels['task']}, {what}: "
            f"accuracy {scored['accuracy']:.3f}, COBias {scored['cobias']:.3f}.",
            paper=self.paper,
        )


def _judge(row: CellResult) -> Statement:
    """Say whether some class is over-predicted while another starves."""
    ratios = {
        name: ratio
        for name, ratio in zip(
            row.result["classes"], row.result["raw"]["prediction_ratios"], strict=True
        )
        if ratio is not None
    }
    most, least = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
    return Statement(
        "The raw argmax over-predicts some class and under-predicts another",
        "predicted / true: Business 1.77, Tech 0.20",
        f"predicted / true: {most} {ratios[most]:.2f}, {least} {ratios[least]:.2f} "
        f"({row.labels['task']})",
        ratios[most] > _OVER and ratios[least] < _UNDER,
    )
