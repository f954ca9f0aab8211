"""Figure 6: which class each class is taken for, and class accuracies, before and after."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnip.metrics import accuracy, cobias
from dnip.presenting.artefacts import Column, Row, Statement, Table
from dnip.presenting.drawing import FlowSide, flow_figure
from dnip.presenting.drawing.style import colours
from dnip.studies.reproduction.experiment import Experiment
from dnip.studies.reproduction.methods import (
    OURS,
    PUBLISHED,
    RAW,
    TITLES,
    WAYS,
    debias_cells,
    in_percent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact, Value
    from dnip.studies.reproduction.cell import Cell
    from dnip.studies.reproduction.results import Results
    from dnip.studies.reproduction.sources import Sources

# Flows of more classes cannot be read side by side.
_MOST_CLASSES = 8


class Overview(Experiment):
    """Odd classes and class accuracies of the task that the paper shows, or of the most unequal."""

    name = "overview"
    title = "Odd classes and class accuracies"
    paper = "Figure 6"

    class Options(Experiment.Options):
        """The task that is shown in full, where the plan has it."""

        task: str = "trec"

    options: Options

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return both methods on each source of the first seed."""
        first = sources.first_seed()
        return [cell for source in first for cell in debias_cells(self, source, {})]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return a line for each source, and one source in full."""
        tasks = _gather(results)
        if not tasks:
            return []
        columns = [
            Column("Task"),
            Column("Odd class of most"),
            Column("of classes", percent=True, digits=0),
            Column("Worst class"),
            *(Column(TITLES[way], percent=True, group="Its accuracy") for way in WAYS),
        ]
        table = Table(
            self.name,
            f"{self.title}: the wrong class that most classes are taken for, and the worst class "
            "of the raw argmax (%)",
            columns,
            [Row((task.title, *_summary(task))) for task in tasks],
            paper=self.paper,
        )
        artefacts: list[Artefact] = [table]
        shown = _most_telling(tasks, self.options.task)
        if shown is not None:
            artefacts += self._in_full(shown)
        return [*artefacts, *_judge(tasks)]

    def _in_full(self, task: _Task) -> list[Artefact]:
        columns = [Column("Class")]
        for way in WAYS:
            columns.append(Column("accuracy", percent=True, group=TITLES[way]))
            columns.append(Column("taken for", group=TITLES[way]))
        rows = []
        for c, name in enumerate(task.classes):
            values: list[Value] = [name]
            for way in WAYS:
                odd = task.scores[way]["odd_classes"][c]
                values.append(task.scores[way]["class_accuracies"][c])
                values.append(None if odd is None else task.classes[odd])
            rows.append(Row(tuple(values)))
        return [
            Table(
                f"{self.name}-classes",
                f"{self.title} of {task.title} (%)",
                columns,
                rows,
                paper=self.paper,
            ),
            flow_figure(
                f"{self.name}-flows",
                f"Odd classes of {task.title}",
                _flow_sides(task),
                task.classes,
                caption="Bars: class accuracy. Arrows: the wrong class that a class's examples are "
                "predicted as most often, as thick as the share of its examples.",
                paper=self.paper,
            ),
        ]


class _Task(NamedTuple):
    """One source: its classes, and the scores of the test table by way."""

    title: str
    task: str
    classes: list[str]
    scores: dict[str, dict[str, Any]]

    @property
    def worst(self) -> int:
        """The class with the lowest raw accuracy."""
        rates = self.scores[RAW]["class_accuracies"]
        return min((c for c, rate in enumerate(rates) if rate is not None), key=rates.__getitem__)


def _gather(results: Results) -> list[_Task]:
    """Join the cells of both methods; a source that lacks one of them is left out."""
    tasks: dict[str, _Task] = {}
    for title, row in results.titled():
        found = row.result
        new = _Task(title, row.labels["task"], found["classes"], {RAW: found["raw"]})
        tasks.setdefault(title, new).scores[row.labels["method"]] = found["reweighted"]
    return [task for task in tasks.values() if PUBLISHED in task.scores and OURS in task.scores]


def _summary(task: _Task) -> list[Value]:
    odd = [c for c in task.scores[RAW]["odd_classes"] if c is not None]
    values: list[Value] = [None, None]
    if odd:
        most, count = Counter(odd).most_common(1)[0]
        values = [task.classes[most], count / len(task.classes)]
    rates: list[Value] = [task.scores[way]["class_accuracies"][task.worst] for way in WAYS]
    return [*values, task.classes[task.worst], *rates]


def _most_telling(tasks: Sequence[_Task], asked: str) -> _Task | None:
    """Return the task that is asked for, else the one of few classes that is most unequal."""
    few = [task for task in tasks if 2 < len(task.classes) <= _MOST_CLASSES]
    named = [task for task in few if task.task == asked]
    return max(named or few, key=lambda task: task.scores[RAW]["cobias"], default=None)


def _judge(tasks: Sequence[_Task]) -> list[Statement]:
    rates = {
        way: fmean(task.scores[way]["class_accuracies"][task.worst] for task in tasks)
        for way in WAYS
    }
    return [
        Statement(
            "DNIP lifts the class that the raw argmax starves most",
            "Entity of TREC 0 % to 66 %",
            f"accuracy of the raw argmax's worst class, mean over tasks (%): {in_percent(rates)}",
            rates[PUBLISHED] > rates[RAW],
        )
    ]


def _flow_sides(task: _Task) -> list[FlowSide]:
    looks = colours(TITLES[way] for way in WAYS)
    sides = []
    for way in WAYS:
        counts = np.array(task.scores[way]["confusion"])
        heading = f"{TITLES[way]}: accuracy {accuracy(counts):.3f}, COBias {cobias(counts):.3f}"
        sides.append(FlowSide(heading, counts, looks[TITLES[way]]))
    return sides
