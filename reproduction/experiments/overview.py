"""Figure 6: a prompt, odd classes, the course of the optimisation, differences of classes."""

from __future__ import annotations

from statistics import fmean
from textwrap import indent
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.escaping import markdown, printable
from dnip.presenting.drawing.flows import FlowSide, flow_figure
from dnip.presenting.drawing.style import colours
from dnip.prompting.prompt import PromptBuilder
from dnip.prompting.task_files import load_task
from reproduction.comparison import standard_error
from reproduction.curves import Curve, Look, Panel, curve_figure
from reproduction.degenerate import is_constant
from reproduction.experiment import Artefact, Claim, Text
from reproduction.experiments.confusion import Matrix, ShownTask, matrix_figures
from reproduction.methods import PAPER, PICTURED, RAW, TITLES, in_percent
from reproduction.results import Results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Figure
    from reproduction.results import CellResult


class Overview(ShownTask):
    """The prompt, odd classes, course and differences of one task: the paper's, if it is there."""

    name = "overview"
    title = "Odd classes and class accuracies"
    paper = "Figure 6"

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return one task in full, and what the paper says of all."""
        if not len(results):
            return []
        task, row = self.shown(results)
        return [self._prompt(task, row), *self._pictures(task, row), self._judge(results)]

    def _prompt(self, title: str, row: CellResult) -> Text:
        """Return a prompt of the task, with names in place of the texts."""
        if not row.labels["order"]:
            return Text("Saved tables do not tell what their prompts were.")
        (task,) = [t for t in map(load_task, self.plan.tasks) if t.name == row.labels["task"]]
        training, test = (
            {name: f"[{name} of {what}]" for name in task.fields}
            for what in ("a training row", "the test row")
        )
        shown = [(training, label) for label in row.labels["order"]]
        prompt = PromptBuilder(task, shown).prompt(test).text
        return Text(
            f"The prompt of {markdown(title)}; its wording is ours, as that of all tasks:\n\n"
            + indent(printable(prompt), "    ")
        )

    def _pictures(self, task: str, row: CellResult) -> list[Figure]:
        """Return odd classes, differences between classes, and the course of the optimisation."""
        classes, looks = row.result["classes"], colours(TITLES.values())
        shown = {title: row.result[way] for way, title in PICTURED.items()}
        evaluations, at_each, best = zip(*row.result["course"], strict=True)
        course = {"at each temperature": at_each, "best so far": best}
        return [
            flow_figure(
                f"{self.name}-flows",
                f"Odd classes of {task}",
                [
                    FlowSide(
                        f"{title}: accuracy {found['accuracy']:.3f}, COBias {found['cobias']:.3f}",
                        np.array(found["confusion"]),
                        looks[title],
                    )
                    for title, found in shown.items()
                ],
                classes,
                caption="Bars: class accuracy. Arrows: the wrong class that a class's examples are "
                "predicted as most often, as thick as the share of its examples; the number is the "
                "share of the class's errors.",
            ),
            curve_figure(
                f"{self.name}-course",
                "Course of the optimisation",
                [Panel(task, {name: Curve(evaluations, z) for name, z in course.items()})],
                x_label="objective values computed",
                y_label="Z",
                look=Look(),
                caption="Of the paper's annealing.",
            ),
            *matrix_figures(
                f"{self.name}-differences",
                f"Differences between class accuracies: {task}",
                {title: _differences(found) for title, found in shown.items()},
                classes,
                "Points between the accuracies of two classes; their mean is COBias. Below a "
                "class: its accuracy.",
            ),
        ]

    def _judge(self, results: Results) -> Claim:
        """Judge all tasks on which DNIP answers with more than one class."""
        kept = Results(tuple(row for row in results if not is_constant(row.result[PAPER])))
        words, holds = "it always answers with one class", None
        if len(kept):
            of_worst = {way: [_of_worst(row, way) for row in kept] for way in TITLES}
            lifts = np.subtract(of_worst[PAPER], of_worst[RAW]).tolist()
            gaps = np.subtract(kept.numbers(PAPER, "cobias"), kept.numbers(RAW, "cobias")).tolist()
            gap, lift = kept.over_datasets(gaps), kept.over_datasets(lifts)
            rates = {way: fmean(kept.over_datasets(found)) for way, found in of_worst.items()}
            words = (
                f"the class that was worst rises on {sum(one > 0 for one in lifts)} of {len(kept)} "
                f"tasks; its mean accuracy (%): {in_percent(rates)}"
            )
            holds = fmean(gap) < -standard_error(gap) and fmean(lift) > standard_error(lift)
        return Claim(
            "DNIP greatly reduces class accuracy differences, above all by lifting the worst class",
            "Entity of TREC 0 % to 66 %",
            words,
            holds,
        )


def _of_worst(row: CellResult, way: str) -> float:
    """Return the accuracy of the class that is the raw argmax's worst."""
    rates = row.result[RAW]["class_accuracies"]
    worst = min((c for c, rate in enumerate(rates) if rate is not None), key=rates.__getitem__)
    return float(row.result[way]["class_accuracies"][worst])


def _differences(scored: dict[str, Any]) -> Matrix:
    """Return the differences between class accuracies."""
    rates = np.array(scored["class_accuracies"], dtype=float)
    gaps = np.nan_to_num(abs(rates[:, None] - rates))
    return Matrix(100 * gaps, gaps, [f"{rate:.0%}" for rate in rates])
