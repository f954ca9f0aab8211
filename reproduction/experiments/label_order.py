"""Table 4: the order of demonstration labels, and accuracy by class."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pydantic import Field

from dnip.base.escaping import markdown
from dnip.presenting.artefacts import Column, Table
from reproduction.degenerate import never_predicted
from reproduction.experiment import Artefact, Claim, Experiment, Text
from reproduction.methods import PAPER, RAW, TITLES, debias_cell
from reproduction.naming import shots_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Row
    from reproduction.cell import Cell
    from reproduction.results import Results
    from reproduction.sources import Sources


class LabelOrder(Experiment):
    """Whether the labels of demonstrations, and their order, decide which class is strong."""

    name = "label-order"
    title = "Label order of demonstrations"
    paper = "Table 4"
    prompts = True

    class Options(Experiment.Options):
        """The task and the number of demonstrations."""

        task: str = "agnews"
        shots: int = Field(5, ge=0)

    options: Options

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return a cell for every seed of the task."""
        wanted = (self.options.task, self.options.shots)
        return [
            debias_cell(self, source, {"order": list(source.shown)})
            for source in sources
            if (source.task, source.shots) == wanted
        ]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return the paper's table for each model, and what the paper says of it."""
        if not len(results):
            shots, task = shots_title(self.options.shots), markdown(self.options.task)
            return [Text(f"The plan has no {shots} prompts of {task}, which this table is about.")]
        found: list[Artefact] = []
        for name, cells in results.by_model(self.name):
            found += [_table(cells, name), *_judge(cells)]
        return found


def _table(cells: Results, name: str) -> Table:
    first = cells.rows[0]
    rows: list[Row] = []
    for way, title in TITLES.items():
        rows.append(f"{shots_title(first.labels['shots'])} {title}")
        for cell in cells:
            scored = cell.result[way]
            rows.append(
                (
                    f"seed{cell.labels['seed']}",
                    ", ".join(map(str, cell.labels["order"])) if way == RAW else None,
                    scored["accuracy"],
                    scored["cobias"],
                    *scored["class_accuracies"],
                    never_predicted([scored]),
                )
            )
    classes = [f"{label} ({number})" for number, label in enumerate(first.result["classes"])]
    return Table(
        name,
        f"{LabelOrder.title}, {first.labels['model']} on {first.labels['task']}",
        [
            Column("Seed"),
            Column("Label order"),
            *(Column(title, percent=True) for title in ("Acc.", "COBias", *classes)),
            Column("Never predicted", right=True),
        ],
        rows,
        caption="Labels of the demonstrations in the order of the prompt; test accuracy, COBias "
        "and class accuracies (%).",
    )


def _judge(cells: Results) -> list[Claim]:
    """Say whether one class is the strongest under all seeds, whatever the prompt shows."""
    n = len(cells)
    strongest, majority, latest = _strongest(cells, RAW)
    after, majority_after, latest_after = _strongest(cells, PAPER)
    return [
        Claim(
            "The strongest class is one and the same under all seeds, and it follows neither the "
            "most frequent label of the demonstrations nor the last one",
            "class 1 is the strongest of AG News under all three seeds",
            f"strongest by seed: {', '.join(strongest)}; it is the majority label under "
            f"{majority} of {n} seeds, the most recent one under {latest}",
            majority < n and latest < n and len(set(strongest)) == 1 if n > 1 else None,
        ),
        Claim(
            "After DNIP, too, the strongest class does not follow the order of labels",
            "Sports is the strongest class after DNIP under all three seeds",
            f"strongest by seed after DNIP: {', '.join(after)}; it is the majority label under "
            f"{majority_after} of {n} seeds, the most recent one under {latest_after}",
            majority_after < n and latest_after < n if n > 1 else None,
        ),
    ]


def _strongest(cells: Results, way: str) -> tuple[list[str], int, int]:
    """Return the strongest class by seed, and how often it was shown most, and shown last."""
    strongest, majority, latest = [], 0, 0
    for cell in cells:
        accuracies = [-1.0 if a is None else a for a in cell.result[way]["class_accuracies"]]
        best = accuracies.index(max(accuracies))
        order = cell.labels["order"]
        counts = Counter(order)
        strongest.append(cell.result["classes"][best])
        majority += counts[best] == max(counts.values())
        latest += order[-1] == best
    return strongest, majority, latest
