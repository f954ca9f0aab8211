"""Figures 1 and 2: densities of the probability that each class's own examples give it."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from dnip.deploying.evaluation import evaluate
from dnip.method.prediction import decide
from dnip.metrics import confusion_matrix, scores
from dnip.presenting.artefacts import Column, Row, Statement, Table
from dnip.presenting.drawing import Curve, Look, Panel, curve_figure
from dnip.studies.reproduction.experiment import Experiment
from dnip.studies.reproduction.experiments.kernel_density import POINTS, density
from dnip.studies.reproduction.methods import (
    METHODS,
    PUBLISHED,
    RAW,
    TITLES,
    WAYS,
    cut,
    fit_by,
    in_percent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Labels, Probabilities
    from dnip.presenting.artefacts import Artefact, Figure, Value
    from dnip.studies.reproduction.cell import Cell
    from dnip.studies.reproduction.results import CellResult, Results
    from dnip.studies.reproduction.sources import Sources
    from dnip.tables import ProbabilityTable


def measure_densities(
    opt: ProbabilityTable, test: ProbabilityTable, *, dev_share: float, seed: int
) -> dict[str, Any]:
    """Return a density, a median and an accuracy per class: raw, published and ours.

    Reweighted probabilities are normalised to sum 1 per row. A density has 201 even points from 0
    to 1.

    Examples
    --------
    >>> from dnip.studies.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(300, seed=0), bundled_table("test")
    >>> found = measure_densities(opt, test, dev_share=0.05, seed=0)
    >>> [len(curve) for curve in found["raw"]["densities"]]
    [201, 201, 201, 201]
    """
    fitted_on, _ = cut(opt, dev_share)
    rows = test.labelled()
    evaluate([rows])  # which refuses rows of a single class
    p = rows.probabilities
    found: dict[str, Any] = {"classes": list(rows.classes)}
    found[RAW] = _by_class(rows, p, decide(p).astype(np.int64))
    for method in METHODS:
        fitted = fit_by(method, fitted_on, seed)
        after = _by_class(rows, fitted.coefficients.apply(p), fitted.coefficients.predict(p))
        found[method] = {**after, "weight_indices": fitted.solution.weight_indices.tolist()}
    return found


def _by_class(
    rows: ProbabilityTable, probabilities: Probabilities, predictions: Labels
) -> dict[str, Any]:
    labels = rows.labels
    assert labels is not None
    true = probabilities[np.arange(len(rows)), labels]
    of_class = [true[labels == c] for c in range(rows.n_classes)]
    return {
        "densities": [density(p).round(4).tolist() if len(p) else None for p in of_class],
        "medians": [float(np.median(p)) if len(p) else None for p in of_class],
        **scores(confusion_matrix(labels, predictions, rows.n_classes)),
    }


class Densities(Experiment):
    """How sure the model is of the true class, class by class, before and after."""

    name = "kde"
    title = "Probability of the true class"
    paper = "Figures 1 and 2"

    class Options(Experiment.Options):
        """The most classes of a task that is shown."""

        max_classes: int = Field(6, ge=0)

    options: Options

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return one cell for each source of the first seed that has few classes."""
        return [
            self.cell(measure_densities, source, {}, {"seed": self.plan.seeds[0]})
            for source in sources.first_seed()
            if len(source.classes) <= self.options.max_classes
        ]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return a figure for each source, a table of what it shows, and the statement."""
        if not len(results):
            return []
        artefacts: list[Artefact] = []
        rows: list[Row] = []
        for number, (task, row) in enumerate(results.titled(), start=1):
            artefacts.append(self._figure(f"{self.name}-{number}", task, row))
            rows.append(Row((task, *_numbers(row))))
        columns = [
            Column(TITLES[way], percent=True, group=group)
            for group in ("Gap of medians", "Worst class accuracy")
            for way in WAYS
        ]
        table = Table(
            self.name,
            f"{self.title} (%): mean gap between the medians of two classes, and the accuracy of "
            "the worst class",
            [Column("Task"), *columns],
            rows,
            paper=self.paper,
        )
        return [table, *artefacts, *_judge(results)]

    def _figure(self, name: str, task: str, row: CellResult) -> Figure:
        grid = np.linspace(0, 1, POINTS).tolist()
        panels, highest = [], 0.0
        for way in WAYS:
            found = row.result[way]
            curves, notes = {}, {}
            for label, curve, rate in zip(
                row.result["classes"], found["densities"], found["class_accuracies"], strict=True
            ):
                if curve is not None:
                    curves[str(label)] = Curve(grid, curve)
                    notes[str(label)] = f"accuracy {rate:.2f}"
                    highest = max(highest, float(np.quantile(curve, 0.99)))
            panels.append(Panel(TITLES[way], curves, notes))
        return curve_figure(
            name,
            f"{self.title}: {task}",
            [panels],
            x_label="probability of the true class",
            y_label="density",
            look=Look(top=1.1 * highest),
            paper=self.paper,
        )


def _numbers(row: CellResult) -> list[Value]:
    return [
        *(_gap(row.result[way]["medians"]) for way in WAYS),
        *(row.result[way]["worst_class_accuracy"] for way in WAYS),
    ]


def _gap(medians: Sequence[float | None]) -> float:
    """Return the mean gap between two of the medians that there are."""
    known = [median for median in medians if median is not None]
    return fmean(abs(a - b) for a, b in combinations(known, 2))


def _judge(results: Results) -> list[Statement]:
    gaps = {w: fmean(_gap(row.result[w]["medians"]) for row in results) for w in WAYS}
    worst = {w: fmean(row.result[w]["worst_class_accuracy"] for row in results) for w in WAYS}

    return [
        Statement(
            "After DNIP the probabilities of the true class are more alike between classes",
            "figures 1 and 2, no numbers",
            f"mean gap of class medians (%): {in_percent(gaps)}",
            gaps[PUBLISHED] < gaps[RAW],
        ),
        Statement(
            "The starved class gains accuracy",
            "Tech of AG News 19 % to 84 %",
            f"worst class accuracy (%): {in_percent(worst)}",
            worst[PUBLISHED] > worst[RAW],
        ),
    ]
