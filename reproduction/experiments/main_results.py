"""Table 2: accuracy and COBias before and after DNIP, over tasks, settings and seeds."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from dnip.presenting.artefacts import Column, Spread, Table
from reproduction.degenerate import never_predicted
from reproduction.experiment import Artefact, Experiment
from reproduction.experiments.main_claims import claims
from reproduction.headline import headline_table, tasks_table
from reproduction.methods import TITLES, debias_cell
from reproduction.naming import COMPARED, HEADINGS, columns_by_metric, short_task, shots_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Row, Value
    from reproduction.cell import Cell
    from reproduction.results import Results
    from reproduction.sources import Sources


# How each method was fitted.
_CAPTION = (
    "Paper's annealing, and authors' schedule of a few moves: {}. Plain optimum: the best value "
    "found of the published objective, K = 30. DNIP, ours: the defaults of dnip fit. All fit on "
    "the same rows."
)


class MainResults(Experiment):
    """Accuracy and COBias of every model, task, setting and seed."""

    name = "main"
    title = "Accuracy and COBias before and after DNIP"
    paper = "Table 2"

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return a cell for every source."""
        return [debias_cell(self, source) for source in sources]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return the headline, the paper's table, and what the paper says of them."""
        if not len(results):
            return []
        saved, fitted = results.values("shots") == (None,), _CAPTION.format(self.plan.grid.in_words)
        return [
            tasks_table(results),
            headline_table(results),
            (_saved_tables if saved else _paper_table)(results, fitted),
            *claims(results, self.plan),
        ]


def _paper_table(results: Results, fitted: str) -> Table:
    tasks = results.values("task")
    rows: list[Row] = []
    for way, title in TITLES.items():
        rows.append(title)
        for model in results.values("model"):
            for shots in results.where(model=model).values("shots"):
                cells = results.where(model=model, shots=shots)
                values = (
                    value for metric in HEADINGS for value in _over_tasks(cells, tasks, way, metric)
                )
                rows.append((f"{model}, {shots_title(shots)}", *values))
    return Table(
        "main",
        MainResults.title,
        [Column("Model"), *columns_by_metric(["All", *map(short_task, tasks)])],
        rows,
        caption="Test accuracy and COBias (%), mean and standard deviation over the seeds of the "
        f"demonstrations; All is the mean over tasks. {fitted}",
    )


def _over_tasks(cells: Results, tasks: Sequence[str], way: str, metric: str) -> list[Value]:
    """Return the mean over tasks and each task's value, all over seeds; None where one failed."""
    by_task = [cells.where(task=task).numbers(way, metric) for task in tasks]
    by_seed = [cells.where(seed=seed).numbers(way, metric) for seed in cells.values("seed")]
    whole = [fmean(values) for values in by_seed if len(values) == len(tasks)]
    return [Spread.of(values) if values else None for values in (whole, *by_task)]


def _saved_tables(results: Results, fitted: str) -> Table:
    rows: list[Row] = []
    for way, title in TITLES.items():
        rows.append(title)
        rows += [
            (
                row.labels["task"],
                len(row.result["classes"]),
                row.result["n"],
                *(row.result[way][metric] for metric in COMPARED),
                never_predicted([row.result[way]]),
            )
            for row in results
        ]
    return Table(
        "main",
        MainResults.title,
        [
            *map(Column, ("Table", "N", "Test rows")),
            *(Column(heading, percent=True) for heading in COMPARED.values()),
            Column("Never predicted", right=True),
        ],
        rows,
        caption=f"Test scores (%) on saved tables. {fitted}",
    )
