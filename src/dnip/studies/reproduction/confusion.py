"""Table 1: a confusion matrix, with over- and under-predicted classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from dnip.presenting.artefacts import Column, Row, Statement, Table
from dnip.presenting.drawing import confusion_figure
from dnip.studies.reproduction.cell import Cell
from dnip.studies.reproduction.protocol import METHODS, debias, debias_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact, Figure, Value
    from dnip.studies.reproduction.experiment import CellResult, Results
    from dnip.studies.reproduction.plan import Plan
    from dnip.studies.reproduction.sources import Sources


# Classes beyond which a matrix cannot be read.
_MOST_CLASSES = 10
# How far from 1 the ratio of predicted to true has to be to count as over- or under-prediction.
_OVER, _UNDER = 1.25, 0.8


class ConfusionMatrix:
    """The confusion matrix of one task, raw and reweighted."""

    name: ClassVar[str] = "confusion"
    title: ClassVar[str] = "Confusion matrix: over- and under-predicted classes"
    paper: ClassVar[str] = "Table 1"
    prompts: ClassVar[bool] = False
    options: ClassVar[Mapping[str, Any]] = {"task": "agnews"}

    def cells(self, plan: Plan, sources: Sources) -> Sequence[Cell]:
        """Return both methods on 1-shot prompts of the first seed."""
        rows = sources.first_seed()
        chosen = [row for row in rows if row.task == plan.of(self)["task"]]
        if not chosen:  # a matrix that can be read, if there is one
            chosen = sorted(rows, key=lambda row: not 2 < len(row.classes) <= _MOST_CLASSES)[:1]
        return [
            Cell(
                self.name,
                {**source.labels, "method": method},
                debias,
                {"opt": source.opt, "test": source.test},
                debias_settings(plan, method, source.seed),
            )
            for source in chosen
            for method in METHODS
        ]

    def present(self, plan: Plan, results: Results) -> Sequence[Artefact]:
        """Return one matrix of the raw argmax, and one for each method."""
        tables: list[Artefact] = []
        for number, model in enumerate(results.values("model")):
            found = results.where(model=model)
            suffix = f"-{number + 1}" if number else ""
            for place, row in enumerate(found):
                if place == 0:
                    tables.append(self._matrix(row, "raw", f"confusion{suffix}", "raw argmax"))
                method = str(row.labels["method"])
                name = f"confusion-{method}{suffix}"
                tables.append(self._matrix(row, "reweighted", name, f"after DNIP, {method}"))
            if len(found) and len(found.rows[0].result["classes"]) <= _MOST_CLASSES:
                tables.append(self._picture(found, f"confusion{suffix}"))
            tables += [_judge(row) for row in found.rows[:1]]
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
