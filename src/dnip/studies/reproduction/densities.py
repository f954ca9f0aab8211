"""Figures 1 and 2: densities of the probability that each class's own examples give it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dnip.presenting.artefacts import Column, Row, Statement, Table
from dnip.presenting.drawing import Curve, Look, Panel, curve_figure
from dnip.studies.reproduction.cell import Cell
from dnip.studies.reproduction.comparison import task_titles
from dnip.studies.reproduction.measures.densities import measure_densities
from dnip.studies.reproduction.measures.kernel_density import POINTS
from dnip.studies.reproduction.measures.variants import RAW, TITLES
from dnip.studies.reproduction.protocol import METHODS, PUBLISHED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact, Figure, Value
    from dnip.studies.reproduction.experiment import CellResult, Results
    from dnip.studies.reproduction.plan import Plan
    from dnip.studies.reproduction.sources import Sources

_WAYS = (RAW, *METHODS)


class Densities:
    """How sure the model is of the true class, class by class, before and after."""

    name: ClassVar[str] = "kde"
    title: ClassVar[str] = "Probability of the true class"
    paper: ClassVar[str] = "Figures 1 and 2"
    prompts: ClassVar[bool] = False
    options: ClassVar[Mapping[str, Any]] = {"max_classes": 6}

    def cells(self, plan: Plan, sources: Sources) -> Sequence[Cell]:
        """Return one cell for each source of the first seed, of those with few classes."""
        seed = plan.seeds[0]
        return [
            Cell(
                self.name,
                source.labels,
                measure_densities,
                {"opt": source.opt, "test": source.test},
                {"dev_share": plan.dev_share, "seed": seed if source.seed is None else source.seed},
            )
            for source in sources.first_seed()
            if len(source.classes) <= plan.of(self)["max_classes"]
        ]

    def present(self, plan: Plan, results: Results) -> Sequence[Artefact]:
        """Return a figure for each source, a table of what it shows, and the statement."""
        if not len(results):
            return []
        artefacts: list[Artefact] = []
        rows: list[Row] = []
        for number, (task, row) in enumerate(zip(task_titles(results), results, strict=True)):
            artefacts.append(self._figure(f"{self.name}-{number + 1}", task, row))
            rows.append(Row((task, *_numbers(row))))
        columns = [
            Column(TITLES[way], percent=True, group=group)
            for group in ("Gap of medians", "Worst class accuracy")
            for way in _WAYS
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
        for way in _WAYS:
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
        *(_gap(row.result[way]["medians"]) for way in _WAYS),
        *(row.result[way]["worst_class_accuracy"] for way in _WAYS),
    ]


def _gap(medians: Sequence[float | None]) -> float:
    """Return the mean gap between two of the medians that there are."""
    known = [median for median in medians if median is not None]
    return fmean(abs(a - b) for a, b in combinations(known, 2))


def _judge(results: Results) -> list[Statement]:
    gaps = {w: fmean(_gap(row.result[w]["medians"]) for row in results) for w in _WAYS}
    worst = {w: fmean(row.result[w]["worst_class_accuracy"] for row in results) for w in _WAYS}

    def told(what: str, of: Mapping[str, float]) -> str:
        return what + ", ".join(f" {TITLES[w]} {100 * of[w]:.1f}" for w in _WAYS)

    return [
        Statement(
            "After DNIP the probabilities of the true class are more alike between classes",
            "figures 1 and 2, no numbers",
            told("mean gap of class medians (%):", gaps),
            gaps[PUBLISHED] < gaps[RAW],
        ),
        Statement(
            "The starved class gains accuracy",
            "Tech of AG News 19 % to 84 %",
            told("worst class accuracy (%):", worst),
            worst[PUBLISHED] > worst[RAW],
        ),
    ]
