"""The headline: what the model can do, and all methods there, beside the paper's average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.metrics.intervals import wilson
from dnip.presenting.artefacts import Column, Estimate, Table
from reproduction.comparison import ALL, VariantComparison
from reproduction.degenerate import is_constant, never_predicted
from reproduction.methods import METHODS, PAPER, RAW, TITLES
from reproduction.naming import COMPARED, HEADINGS
from reproduction.published import table_2
from reproduction.results import Results, dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dnip.presenting.artefacts import Row
    from reproduction.results import CellResult


TASKS, HEADLINE = "main-tasks", "main-headline"
_LEVEL = 0.95


def majority_share(results: Results) -> float:
    """Return the share of the largest class among the test rows."""
    sizes = np.sum(results.rows[0].result[RAW]["confusion"], axis=1)
    return float(sizes.max() / sizes.sum())


def best_accuracy(results: Results) -> Estimate:
    """Return the highest mean accuracy of raw argmax and methods, with its 95 % interval."""
    best = max(results.mean(way, "accuracy") for way in TITLES)
    n = results.mean("n")
    low, high = wilson([best * n], [n], _LEVEL)[0].tolist()
    return Estimate(best, low, high)


def is_able(results: Results) -> bool:
    """Say whether the model does better on a task than its majority answer.

    Its accuracy, raw or after the best of the methods, has to be above the share of the largest
    class by more than the 95 % interval on the test rows.
    """
    return best_accuracy(results).low > majority_share(results)


def divided(results: Results) -> tuple[Results, Results]:
    """Return the cells of tasks that their model can do, and those of the others."""
    able = {key for key, cells in _by_task(results) if is_able(cells)}
    rows = {
        can: tuple(row for row in results if (_key(row.labels) in able) == can)
        for can in (True, False)
    }
    return Results(rows[True]), Results(rows[False])


def counted(results: Results) -> tuple[Results, int]:
    """Return the cells in which no method is a constant classifier, and how many are left out."""
    kept = tuple(
        row for row in results if not any(is_constant(row.get(method)) for method in METHODS)
    )
    return Results(kept), len(results) - len(kept)


def tasks_table(results: Results) -> Table:
    """Return how many rows each task has, and whether its model can do it."""
    rows: list[Row] = []
    for (model, task), cells in _by_task(results):
        found = cells.rows[0].result
        rows.append(
            (
                model,
                task,
                len(found["classes"]),
                *(found.get(name) for name in ("n_opt", "n_dev", "n")),
                majority_share(cells),
                cells.mean(RAW, "accuracy"),
                best_accuracy(cells),
                "yes" if is_able(cells) else "no",
            )
        )
    columns = [Column("Model"), Column("Task"), Column("N")]
    columns += [Column(part, group="Rows") for part in ("opt", "dev", "test")]
    columns += [Column("Majority answer", percent=True), Column("Raw argmax", percent=True)]
    columns += [Column("Best", percent=True), Column("Above majority")]
    return Table(
        TASKS,
        "Tasks: rows, and what their model can do (accuracy, %)",
        columns,
        rows,
        caption="Best: the highest accuracy of the raw argmax and all methods, with its 95 % "
        "interval on the test rows. A task where it is not above the majority answer by this "
        "interval is at chance.",
    )


def headline_table(results: Results) -> Table:
    """Return means over the tasks that the model can do, over the others, and over all."""
    able, unable = divided(results)
    paper, titles = table_2(), {RAW: TITLES[RAW], PAPER: "DNIP"}
    theirs, mine = paper.paper_rows(), set(map(_cell, results))
    shared = Results(tuple(cell for cell in paper if _cell(cell) in mine))
    rows: list[Row] = [f"The paper: mean of its {len(theirs)} rows", *_lines(paper, titles)]
    if 0 < len(shared) < len(paper):
        n_rows = len(shared.paper_rows())
        rows.append(f"The paper: mean of the {n_rows} of its rows that were run, on the same tasks")
        rows += _lines(shared, titles)
    for heading, part in (
        ("Tasks that the model can do", able),
        ("Tasks at chance", unable),
        ("All tasks", results),
    ):
        if len(part) and (part is not results or (len(able) and len(unable))):
            rows.append(
                f"{heading}: {_named(part)}; mean of {len(part.paper_rows())} rows, "
                f"{len(theirs.keys() & part.paper_rows().keys()) or 'none'} of them in the paper"
            )
            rows += _lines(part, TITLES)
            if len(_datasets(part)) < len(part.values("task")):
                rows.append(f"{heading}: mean of {len(_datasets(part))} datasets, which is ours")
                rows += _lines(part, TITLES, _over_datasets)
    return Table(
        HEADLINE,
        "Before and after, all methods (%)",
        [
            Column("Method"),
            *(Column(title, percent=True) for title in COMPARED.values()),
            *(
                Column(title, percent=True, signed=True, group="Change")
                for title in ("acc.", "COB.")
            ),
            Column("Never predicted", right=True),
        ],
        rows,
        caption="A row is a model and a setting, as in table 2, and is itself a mean over tasks. "
        "Means are of test rows, over cells in which no method is a constant classifier. Change: "
        "relative to the raw argmax. Never predicted: classes that no test row is predicted as, "
        "mean over all cells, or how many cells have a constant classifier.",
    )


def _named(results: Results) -> str:
    """Return the tasks, by dataset where several tables are of the same texts."""
    tasks, datasets = results.values("task"), _datasets(results)
    if len(datasets) == len(tasks):
        return ", ".join(map(str, tasks))
    return f"{len(tasks)} tables of {len(datasets)} datasets"


def _cell(row: CellResult) -> tuple[Any, ...]:
    return tuple(row.labels.get(name) for name in ("model", "shots", "task"))


def _datasets(results: Results) -> set[str]:
    return set(map(dataset, results))


def _over_datasets(results: Results, way: str, metric: str) -> float:
    return VariantComparison.of(results, {way: (way,)}).mean(way, ALL, metric)


def _lines(
    results: Results,
    titles: Mapping[str, str],
    mean: Callable[[Results, str, str], float] = Results.over_rows,
) -> Iterator[Row]:
    """Yield means and relative changes of each method; None where cells lack the metric."""
    kept, _ = counted(results)
    for way, title in titles.items():
        there = [m for m in COMPARED if len(kept) and m in kept.rows[0].result[way]]
        means = {metric: mean(kept, way, metric) for metric in there}
        before = {metric: mean(kept, RAW, metric) for metric in there if way != RAW}
        change = [means[m] / before[m] - 1 if before.get(m) else None for m in HEADINGS]
        silent = never_predicted([row.result[way] for row in results])
        yield (title, *map(means.get, COMPARED), *change, silent if titles is TITLES else None)


def _key(labels: Any) -> tuple[str, str]:  # noqa: ANN401 - the mapping of labels
    return str(labels.get("model")), str(labels["task"])


def _by_task(results: Results) -> Iterator[tuple[tuple[str, str], Results]]:
    for key in dict.fromkeys(_key(row.labels) for row in results):
        yield key, Results(tuple(row for row in results if _key(row.labels) == key))
