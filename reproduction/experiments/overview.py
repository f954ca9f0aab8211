"""Figure 6: which class each class is taken for, and class accuracies, before and after."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from dnip.metrics import accuracy, cobias
from dnip.presenting.artefacts import Column, Table
from dnip.presenting.drawing import FlowSide, flow_figure
from dnip.presenting.drawing.style import colours
from reproduction.comparison import standard_error
from reproduction.degenerate import is_constant
from reproduction.experiment import Artefact, Claim, Experiment
from reproduction.methods import PAPER, PICTURED, RAW, TITLES, debias_cell, in_percent
from reproduction.results import Results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Row, Value
    from reproduction.cell import Cell
    from reproduction.results import CellResult
    from reproduction.sources import Sources

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
        """Return a cell for each source of the first seed."""
        return [debias_cell(self, source) for source in sources.first_seed()]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return a line for each source, and one source in full."""
        if not len(results):
            return []
        columns = [
            Column("Task"),
            Column("Odd class of most"),
            Column("of classes", percent=True, digits=0),
            Column("Worst class"),
            *(Column(title, percent=True, group="Its accuracy") for title in TITLES.values()),
        ]
        table = Table(
            self.name,
            f"{self.title}: the wrong class that most classes are taken for, and the worst class "
            "of the raw argmax (%)",
            columns,
            [_summary(title, row) for title, row in results.titled()],
        )
        return [table, *self._in_full(results), self._judge(results)]

    def _shown(self, results: Results) -> tuple[str, CellResult] | None:
        """Return the task that is asked for, else the one of few classes that is most unequal."""
        few = [
            (title, row)
            for title, row in results.titled()
            if 2 < len(row.result["classes"]) <= _MOST_CLASSES
        ]
        named = [(title, row) for title, row in few if row.labels["task"] == self.options.task]
        if not few:
            return None
        return max(named or few, key=lambda shown: shown[1].result[RAW]["cobias"])

    def _in_full(self, results: Results) -> list[Artefact]:
        """Show one task in full."""
        shown = self._shown(results)
        if shown is None:
            return []
        title, row = shown
        classes = row.result["classes"]
        columns = [Column("Class")]
        for way in TITLES.values():
            columns.append(Column("accuracy", percent=True, group=way))
            columns.append(Column("taken for", group=way))
        rows: list[Row] = []
        for c, name in enumerate(classes):
            values: list[Value] = [name]
            for way in TITLES:
                odd = row.result[way]["odd_classes"][c]
                values.append(row.result[way]["class_accuracies"][c])
                values.append(None if odd is None else classes[odd])
            rows.append(values)
        return [
            Table(f"{self.name}-classes", f"{self.title} of {title} (%)", columns, rows),
            flow_figure(
                f"{self.name}-flows",
                f"Odd classes of {title}",
                _flow_sides(row),
                classes,
                caption="Bars: class accuracy. Arrows: the wrong class that a class's examples are "
                "predicted as most often, as thick as the share of its examples; the number is the "
                "share of the class's errors.",
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
    return float(row.result[way]["class_accuracies"][_worst(row)])


def _worst(row: CellResult) -> int:
    """Return the class with the lowest raw accuracy."""
    rates = row.result[RAW]["class_accuracies"]
    return min((c for c, rate in enumerate(rates) if rate is not None), key=rates.__getitem__)


def _summary(title: str, row: CellResult) -> list[Value]:
    classes, worst = row.result["classes"], _worst(row)
    odd = Counter(c for c in row.result[RAW]["odd_classes"] if c is not None).most_common(1)
    most: list[Value] = [None, None]
    if odd:
        most = [classes[odd[0][0]], odd[0][1] / len(classes)]
    rates = (row.result[way]["class_accuracies"][worst] for way in TITLES)
    return [title, *most, classes[worst], *rates]


def _flow_sides(row: CellResult) -> list[FlowSide]:
    looks = colours(TITLES.values())
    sides = []
    for way, title in PICTURED.items():
        counts = np.array(row.result[way]["confusion"])
        heading = f"{title}: accuracy {accuracy(counts):.3f}, COBias {cobias(counts):.3f}"
        sides.append(FlowSide(heading, counts, looks[title]))
    return sides
