"""Table 2: accuracy and COBias before and after DNIP, over tasks, settings and seeds."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

from dnip.presenting.artefacts import Column, Row, Spread, Statement, Table
from dnip.prompting.demonstrations import BALANCED
from dnip.studies.reproduction.experiment import Experiment
from dnip.studies.reproduction.methods import METHOD_TITLES, METHODS, debias_cells
from dnip.studies.reproduction.naming import HEADINGS, columns_by_metric, short_task, shots_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact, Value
    from dnip.studies.reproduction.cell import Cell
    from dnip.studies.reproduction.results import Results
    from dnip.studies.reproduction.sources import Sources

_ACCURACY, _COBIAS = "accuracy", "cobias"
# Whole percentages of the paper's abstract and section 5.1.
_PAPER_REDUCTION, _PAPER_INCREASE = 0.61, 0.18


class MainResults(Experiment):
    """Accuracy and COBias of every model, task, setting and seed."""

    name = "main"
    title = "Accuracy and COBias before and after DNIP"
    paper = "Table 2"

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return both methods on every source."""
        return [cell for source in sources for cell in debias_cells(self, source, {})]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return the paper's table, relative changes, and what the paper says of them."""
        if not len(results):
            return []
        if results.values("shots") == (None,):
            return [_saved_tables(results), _changes(results, "task"), *_overall(results)]
        return [
            _paper_table(results),
            _changes(results, "task"),
            _changes(results, "shots"),
            *_overall(results),
            *_of_settings(results),
        ]


def _paper_table(results: Results) -> Table:
    tasks = results.values("task")
    rows: list[Row] = []
    for when, title in (("raw", "ICL"), *METHOD_TITLES.items()):
        rows.append(Row((), heading=title))
        for model in results.values("model"):
            for shots in results.where(model=model).values("shots"):
                cells = results.where(
                    model=model, shots=shots, method=METHODS[0] if when == "raw" else when
                )
                if len(cells):
                    values = [
                        value
                        for metric in HEADINGS
                        for value in _over_tasks(cells, tasks, when, metric)
                    ]
                    rows.append(Row((f"{model}, {shots_title(shots)}", *values)))
    return Table(
        "main",
        MainResults.title,
        [Column("Model"), *columns_by_metric(["All", *map(short_task, tasks)])],
        rows,
        caption="Test accuracy and COBias (%), mean and standard deviation over the seeds of the "
        "demonstrations; All is the mean over tasks. ICL: raw argmax. DNIP as published: "
        "annealing, with β, τ, K and μ chosen on dev. DNIP, ours: the defaults of dnip fit, on the "
        "same rows.",
        paper=MainResults.paper,
    )


def _over_tasks(cells: Results, tasks: Sequence[str], when: str, metric: str) -> list[Value]:
    """Return the mean over tasks and each task's value, all over seeds; None where one failed."""
    key = "raw" if when == "raw" else "reweighted"
    spreads: list[Value] = []
    for task in tasks:
        found = cells.where(task=task).numbers(key, metric)
        spreads.append(Spread.of(found) if found else None)
    by_seed = [cells.where(seed=seed).numbers(key, metric) for seed in cells.values("seed")]
    whole = [fmean(values) for values in by_seed if len(values) == len(tasks)]
    return [Spread.of(whole) if whole else None, *spreads]


def _saved_tables(results: Results) -> Table:
    rows = []
    for task in results.values("task"):
        raw = results.where(task=task).rows[0]
        values: list[Value] = [task, len(raw.result["classes"]), raw.result["n"]]
        for metric in HEADINGS:
            values.append(raw.result["raw"][metric])
            for method in METHODS:
                found = results.where(task=task, method=method).numbers("reweighted", metric)
                values.append(found[0] if found else None)
        rows.append(Row(tuple(values)))
    return Table(
        "main",
        MainResults.title,
        [
            *map(Column, ("Table", "N", "Test rows")),
            *columns_by_metric(("raw", *METHODS)),
        ],
        rows,
        caption="Test accuracy and COBias (%) on saved tables.",
        paper=MainResults.paper,
    )


class _Change:
    """Mean accuracy and COBias over some cells of one method, before and after."""

    def __init__(self, cells: Results) -> None:
        self.before = {metric: cells.mean("raw", metric) for metric in HEADINGS}
        self.after = {metric: cells.mean("reweighted", metric) for metric in HEADINGS}

    def relative(self, metric: str) -> float | None:
        """Return the change in parts of the value before, None where that is 0."""
        before = self.before[metric]
        return (self.after[metric] - before) / before if before else None


def _changes(results: Results, label: str) -> Table:
    """Return average changes by task or by setting, and over all."""
    rows = []
    for value in (*results.values(label), None):
        some = results if value is None else results.where(**{label: value})
        values: list[Value] = ["All" if value is None else _name(label, value)]
        for method in METHODS:
            cells = some.where(method=method)
            if not len(cells):
                values += [None] * 6
                continue
            change = _Change(cells)
            for metric in HEADINGS:
                values += [change.before[metric], change.after[metric], change.relative(metric)]
        rows.append(Row(tuple(values), strong=value is None))
    columns = [
        Column(name, percent=True, group=f"{METHOD_TITLES[method]}: {group}")
        for method in METHODS
        for group in HEADINGS.values()
        for name in ("before", "after", "change")
    ]
    what = "task" if label == "task" else "setting"
    return Table(
        f"main-by-{what}",
        f"Relative changes by {what}",
        [Column(what.capitalize()), *columns],
        rows,
        caption=f"Means over all cells of a {what}, in %, test rows only; change is relative to "
        "before, below 0 for a reduction.",
    )


def _name(label: str, value: Any) -> str:  # noqa: ANN401
    return short_task(value) if label == "task" else shots_title(value)


def _overall(results: Results) -> list[Artefact]:
    """Compare average changes with the paper's."""
    found: list[Artefact] = []
    for method in METHODS:
        cells = results.where(method=method)
        if not len(cells):
            continue
        change = _Change(cells)
        reduction, increase = change.relative(_COBIAS), change.relative(_ACCURACY)
        if reduction is None or increase is None:
            continue
        found.append(
            Statement(
                f"DNIP lowers average COBias and raises average accuracy ({METHOD_TITLES[method]})",
                "COBias 37.6 % → 14.7 %, a relative reduction of 61 %; accuracy 57.2 % → 67.6 %, a "
                "relative increase of 18 %, over 7 tasks and 7 settings of five models",
                f"COBias {change.before[_COBIAS]:.1%} → {change.after[_COBIAS]:.1%}, relative "
                f"{reduction:+.0%}; accuracy {change.before[_ACCURACY]:.1%} → "
                f"{change.after[_ACCURACY]:.1%}, relative {increase:+.0%}",
                reduction < 0 < increase,
                {
                    "method": method,
                    "relative_cobias": reduction,
                    "relative_accuracy": increase,
                    "paper_relative_cobias": -_PAPER_REDUCTION,
                    "paper_relative_accuracy": _PAPER_INCREASE,
                },
            )
        )
    return found


def _of_settings(results: Results) -> list[Artefact]:
    """Return what the paper says of 1-shot and N-shot prompts."""
    found: list[Artefact] = []
    raw = results.where(method=METHODS[0])
    means = {shots: raw.where(shots=shots).mean("raw", _COBIAS) for shots in raw.values("shots")}
    one, balanced = means.get(1), means.get(BALANCED)
    if one is not None:
        found.append(
            Statement(
                "Language models show a large COBias under 1-shot prompts",
                "above 32 % for all models, 37.6 % on average",
                f"{one:.1%}",
                one > 0.32,
            )
        )
    if one is not None and balanced is not None:
        found.append(
            Statement(
                "One demonstration of each class mitigates COBias only in part",
                "Llama-2-13B: 40.5 % with 1-shot, 25.6 % with N-shot prompts",
                f"{one:.1%} with 1-shot, {balanced:.1%} with N-shot prompts",
                0.5 * one < balanced < one,
            )
        )
    for method, title in METHOD_TITLES.items():
        cells = results.where(method=method, shots=1)
        if len(cells):
            after = cells.mean("reweighted", _COBIAS)
            found.append(
                Statement(
                    f"After DNIP, COBias is below 20 % under 1-shot prompts ({title})",
                    "14.3 % to 19.9 %, by model",
                    f"{after:.1%}",
                    after < 0.2,
                )
            )
    return found
